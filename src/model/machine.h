/*
 * The machine a recording was made on: what the head of a perf.data file says about it. kern/machine fills it from the
 * running system, file/perfdata_write stores it. Strings belong to the arena; a field that could not be found is NULL or 0.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

struct machine_cpu {
	s32 core_id; /* -1: unknown */
	s32 socket_id;
	s32 die_id;
};

struct machine_cache {
	u32 level;
	u32 line_bytes;
	u32 sets;
	u32 ways;
	const char *type; /* "Data", "Instruction", "Unified" */
	const char *size; /* "32K" */
	const char *cpus; /* "0-1" */
};

struct machine_node {
	u32 node;
	u64 mem_total_kb;
	u64 mem_free_kb;
	const char *cpus;
	u64 *blocks; /* bitmap of memory blocks; NULL: none seen */
	u64 nr_block_bits;
};

struct machine_pmu {
	u32 type;
	const char *name;
};

struct machine {
	struct arena arena;
	const char *hostname;
	const char *release;
	const char *arch;
	const char *cpu_desc;
	const char *cpu_id;
	u32 nr_cpus_present;
	u32 nr_cpus_online;
	u64 mem_total_kb;
	u64 mem_block_bytes;
	VEC(struct machine_cpu) cpus; /* by CPU number, nr_cpus_present of them */
	VEC(const char *) packages; /* distinct sibling lists, in order of appearance */
	VEC(const char *) dies;
	VEC(const char *) cores;
	VEC(struct machine_cache) caches;
	VEC(struct machine_node) nodes;
	VEC(struct machine_pmu) pmus;
	u8 kernel_build_id[20];
	u8 kernel_build_id_size;
};
