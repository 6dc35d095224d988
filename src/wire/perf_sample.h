/*
 * PERF_RECORD_SAMPLE, decoded. The order of its parts is fixed by the kernel (kernel/events/core.c, perf_output_sample());
 * which of them are there is said by the attr. One decoder serves rings and files, of either byte order.
 */
#pragma once

#include "base/types.h"
#include "wire/perf_record.h"

/* What an attr says about its samples, boiled down once. */
struct perf_layout {
	u64 sample_type;
	u64 read_format;
	u64 branch_sample_type;
	u64 regs_user;
	u64 regs_intr;
	u64 fixed_period; /* when the sample does not carry one */
	u8 id_slot; /* which u64 after the head holds the id; 0xff: none */
	u8 time_slot;
	u8 nr_words; /* u64s after the head before the first part of variable length */
};

void perf_layout_init(struct perf_layout *l, const struct perf_event_attr *attr);

/* Scratch for parts that must be copied: swapped or unaligned call chains. One a worker. */
struct perf_scratch {
	u64 *words;
	size_t cap;
};

struct perf_regs {
	u64 abi;
	u64 mask;
	const u64 *values; /* may be unaligned: read with memcpy */
	u32 nr;
};

struct perf_sample_view {
	u64 ip, time, addr, id, stream_id, period;
	u64 weight, data_src, transaction, phys_addr, cgroup;
	u64 data_page, code_page; /* sizes in bytes */
	u16 ins_lat, stage_cycles; /* what a weight says besides */
	u32 pid, tid, cpu;
	u16 misc;
	bool has_time;
	const u64 *chain; /* host byte order, aligned; context markers included */
	u64 nr_chain;
	const void *raw;
	u32 raw_size;
	const u8 *branches; /* nr_branches of {from, to, flags}, file byte order */
	u64 nr_branches;
	const u8 *read; /* by read_format, file byte order */
	size_t read_size;
	struct perf_regs user_regs, intr_regs;
	const u8 *stack;
	u64 stack_size; /* bytes that the kernel could copy */
	u32 chain_at; /* where the chain's length stands in the record, and ... */
	u32 regs_at,
		stack_end; /* ... registers and stack of user space, one after the other; 0: not there */
};

/* rec: a whole record of `size` bytes. 0, -EBADMSG when its parts do not fit, -ENOMEM. */
int perf_sample_decode(const struct perf_layout *l, const u8 *rec, u16 size, bool swap,
		       struct perf_scratch *scratch, struct perf_sample_view *ret) must_check;
void perf_scratch_done(struct perf_scratch *s);

/* The id of a sample without decoding the rest; 0 when it has none. */
u64 perf_sample_id(const struct perf_layout *l, const u8 *rec, u16 size, bool swap);
/* Its time; 0 when it has none. */
u64 perf_sample_time(const struct perf_layout *l, const u8 *rec, u16 size, bool swap);

/*
 * The record with another call chain, and without registers and stack of user space. v: of this record, in our byte order and with a
 * chain. A chain that makes it longer than max or than a record may be is cut. Returns its size.
 */
size_t perf_sample_rechain(const u8 *rec, const struct perf_sample_view *v, const u64 *chain,
			   u32 nr_chain, u8 *to, size_t max);

/* The record without the part of the stack's copy that the kernel could not fill. v: of this record, with a stack. Returns its size, never more than before. */
size_t perf_sample_trim_stack(const u8 *rec, const struct perf_sample_view *v, u8 *to);
