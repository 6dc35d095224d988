/* Cache lines that CPUs share: what loads and stores of them cost, counted by analysis/c2c_lines, printed by view/text_c2c. */
#pragma once

#include "base/types.h"

/* What accesses have in common; counted as perf counts them, by the data_src of each sample. */
struct c2c_stats {
	u32 nr_entries; /* samples */
	u32 locks;
	u32 store, st_uncache, st_noaddr, st_l1hit, st_l1miss, st_na;
	u32 load, ld_excl, ld_shared, ld_uncache, ld_io, ld_miss, ld_noaddr;
	u32 ld_fbhit, ld_l1hit, ld_l2hit, ld_llchit;
	u32 lcl_hitm, rmt_hitm, tot_hitm; /* found in another cache, changed there */
	u32 lcl_peer, rmt_peer, tot_peer; /* answered by another cache, changed or not */
	u32 rmt_hit, lcl_dram, rmt_dram;
	u32 blk_data, blk_addr;
	u32 nomap, noparse;
};

/* The mean is taken along the way, as perf does: a half may be rounded either way. */
struct c2c_cost {
	double mean; /* cycles */
	u64 nr;
};

/* Of what makes a line expensive: the order of lines, and which of them are shown. */
enum c2c_display { C2C_TOTAL, C2C_LOCAL, C2C_REMOTE, C2C_PEER };

/* What rows of a line are told apart by, besides the offset in it. */
enum c2c_key { C2C_PID, C2C_TID, C2C_IADDR, C2C_DSO };
enum { C2C_KEYS_MAX = 8 };

/* What one NUMA node had of a row. */
struct c2c_node {
	u32 node;
	u32 lcl_hitm, rmt_hitm, tot_hitm, tot_peer, store;
};

/* How an access came about, of the accesses of a place. */
struct c2c_chain {
	u32 place, chain;
	u64 period;
};

/* Which of 64 CPUs had a row. */
struct c2c_cpus {
	u32 first;
	u64 bits;
};

/* A line, or a place in one. */
struct c2c_entry {
	u64 address; /* of the first access: of the line, or the offset in it */
	u64 place; /* by which lines are told apart: addresses of the file, where it is one */
	u64 iaddr;
	s32 pid, tid;
	u32 mode; /* enum frame_mode of the code */
	u32 image; /* of the data; IMAGE_NONE: not known */
	u32 code_image;
	u32 leaf; /* frame of the code of the first access */
	u32 line; /* of a place: index of its line */
	u32 first, nr; /* of a line, when sorted: its places */
	u32 number; /* of a place: what chains call it */
	u64 period;
	struct c2c_stats stats;
	struct c2c_cost rmt_hitm_cost, lcl_hitm_cost, rmt_peer_cost, lcl_peer_cost, load_cost;
	struct c2c_cpus *cpus; /* by their numbers, without those of 64 that did not */
	struct c2c_node *nodes; /* those that had something, as they came; none if none was asked for */
	u32 nr_cpus, nr_nodes; /* of these two */
	u64 mem_nodes; /* bits of the first 64 nodes whose memory it is in */
	u64 paddr, nr_paddrs; /* the last physical address, and how often it changed */
	bool shown; /* of a place: it has stores, or what lines are ordered by */
};

/* What is known of the machine. */
struct c2c_machine {
	u32 nr_nodes;
	s32 *node_of; /* [cpu]; -1: not known */
	u32 nr_cpus;
	/* The node of a physical address, or -1. */
	s32 (*memory_node)(const struct c2c_machine *m, u64 address);
};

static inline u32 c2c_cpu_count(const struct c2c_entry *e)
{
	u32 nr = 0;
	for (u32 i = 0; i < e->nr_cpus; i++)
		nr += (u32)__builtin_popcountll(e->cpus[i].bits);
	return nr;
}

/* Loads and stores whose level is known, as perf counts records of a line. */
static inline u32 c2c_loads(const struct c2c_stats *s)
{
	return s->lcl_dram + s->rmt_dram + s->rmt_hitm + s->rmt_hit + s->ld_fbhit + s->ld_l1hit +
	       s->ld_l2hit + s->ld_llchit + s->lcl_hitm;
}

static inline u32 c2c_stores(const struct c2c_stats *s)
{
	return s->st_l1hit + s->st_l1miss + s->st_na;
}
