/*
 * One thing that happened: what every source delivers and every analysis eats. Strings and payloads are borrowed from the
 * source until the next batch is asked for; ids are small integers of the shard's tables.
 */
#pragma once

#include "model/frame.h"
#include "model/schema.h"

/* What a sink needs of each sample; a source skips the work for the rest. */
enum sample_needs {
	NEED_CHAIN = 1 << 0, /* sample.chain and sample.leaf */
	NEED_LEAF = 1 << 1, /* sample.leaf only */
	NEED_RAW = 1 << 2, /* raw payload and schema */
	NEED_COMM = 1 << 3, /* task name at that time */
	NEED_ORDER = 1 << 4, /* time order, over all CPUs */
	NEED_BRANCH = 1 << 5, /* branches, each with its frames */
	NEED_READ =
		1 << 6, /* a sample for each event of a group that was read together; one worker */
	NEED_PLACES = 1 << 7, /* the chain as addresses, each with its frame */
	NEED_NEIGHBOURS =
		1 << 8, /* with NEED_ORDER: the records before and after it on its own CPU */
	/* Not a need: samples may come before all of the side-band was read, and all over again if that was too early. */
	MAY_START_EARLY = 1 << 9,
	NEED_DATA = 1 << 10, /* the frame of addr */
	NEED_EXTRA = 1 << 11, /* what only some hardware tells */
	/* Not of samples: ids of frames and chains are to mean the same in all rounds. */
	KEEP_IDS = 1 << 12,
	/* Not of samples: the table of frames has every frame of their chains, for sinks that need no chain. */
	NEED_FRAMES = 1 << 13,
};

/* A task whose name was never recorded: perf shows ":TID". */
#define COMM_UNNAMED(tid)     (0x80000000u | (u32)(tid))
#define COMM_IS_UNNAMED(comm) ((comm)&0x80000000u)
#define COMM_TID(comm)                                                                             \
	((s32)((comm) << 1) >> 1) /* of an unnamed one; -1 is one that is gone already */

/* Bits of sample_branch.flags, as a little-endian machine has them. */
enum sample_branch_flag {
	BRANCH_MISPREDICTED = 1 << 0,
	BRANCH_PREDICTED = 1 << 1,
	BRANCH_IN_TX = 1 << 2,
	BRANCH_ABORT = 1 << 3,
};
#define BRANCH_CYCLES(flags) ((u32)((flags) >> 4 & 0xffff))
#define BRANCH_TYPE(flags)   ((u32)((flags) >> 20 & 15))

#define BRANCH_NEW_TYPE(flags) ((u32)((flags) >> 26 & 15))

/* How perf calls its kind: "COND", "CALL" ...; "" when it is not known. Kinds after the first 15 are counted on in BRANCH_NEW_TYPE. */
const char *branch_type_word(u32 type, u32 new_type);

struct sample_branch {
	u64 from;
	u64 to;
	u64 flags;
	u32 from_frame, to_frame;
};

struct sample_place {
	u64 addr;
	u32 frame;
};

struct sample_value {
	u64 id;
	u64 value;
	u64 lost;
};

/* Registers at the sample: one value for each bit of the mask, lowest first. */
struct sample_regs {
	u64 abi; /* PERF_SAMPLE_REGS_ABI_*; 0: there are none */
	u64 mask;
	const u64 *values;
	u32 nr;
};

struct sample_extra {
	u64 transaction; /* PERF_TXN_* */
	u64 data_page, code_page; /* bytes; 0: not known */
	u32 ins_lat, stage_cycles; /* cycles */
	struct sample_regs user_regs, intr_regs;
};

struct sample {
	u64 time_ns; /* on the source's timebase; 0 when the source has no times */
	u64 period; /* what the sample stands for: 1 when the source does not say */
	u64 weight;
	u64 ip;
	u64 addr;
	u64 data_src;
	u64 phys_addr;
	u64 id;
	u64 cgroup;
	u32 event; /* index into catalog.events */
	s32 cpu; /* -1: unknown */
	s32 pid;
	s32 tid;
	u32 comm; /* catalog.strings id, or COMM_UNNAMED */
	u32 data; /* frame of addr */
	u32 leaf; /* frame of ip, FRAME_NONE when there is none */
	u32 chain; /* of shard.chains; CHAIN_NONE: no chain */
	u32 mode; /* enum frame_mode of ip */
	u32 raw_size;
	u32 missed; /* records lost before this one in its buffer; UINT32_MAX: lost, number unknown */
	const void *raw; /* payload; NULL: none */
	const struct schema *schema;
	const struct sample_place
		*places; /* innermost first; without a chain: the sample's own address alone */
	u32 nr_places;
	const struct sample_branch *branches;
	const struct sample_extra *extra; /* NULL: not asked for */
	const struct sample_value *values; /* group read, leader first */
	u64 time_enabled_ns;
	u64 time_running_ns;
	u32 nr_branches;
	u32 nr_values;
	const void *prev_raw; /* payloads next to this one in its CPU's buffer, across blocks too; NULL: none */
	const void *next_raw;
	u32 prev_size;
	u32 next_size;
	u32 buffer; /* which buffer of the source (ftrace instance); 0: the first or only one */
};

struct batch {
	const struct sample *samples;
	size_t nr;
};
