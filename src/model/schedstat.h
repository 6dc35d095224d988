/*
 * /proc/schedstat: what the scheduler has counted, per CPU and per scheduling domain of a CPU (Documentation/scheduler/sched-stats.rst), versions 15 to
 * 17. What analysis/schedstat reads and subtracts, and view/text_schedstat prints.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

enum { SCHEDSTAT_CPU_FIELDS = 9, SCHEDSTAT_DOMAIN_FIELDS = 45, SCHEDSTAT_KINDS = 3 };

struct schedstat_cpu {
	s32 cpu;
	u64 v[SCHEDSTAT_CPU_FIELDS];
};

struct schedstat_domain {
	s32 cpu;
	u32 number;
	const char *name; /* "MC"; NULL: not told, before version 17 */
	const char *cpus; /* a mask */
	u64 v[SCHEDSTAT_DOMAIN_FIELDS];
};

struct schedstat {
	u32 version;
	u64 jiffies;
	VEC(struct schedstat_cpu) cpus;
	VEC(struct schedstat_domain) domains; /* of one CPU after the other */
	struct arena arena;
};

struct schedstat_field {
	const char *key; /* the kernel's name */
	const char *text; /* of balancing: with %s for its kind */
	bool rate; /* how far apart is of interest, too */
	s8 of; /* of CPUs: it is a share of that one; -1: of none */
};

/* Load balancing happens in three situations; their order depends on the version. */
struct schedstat_kind {
	const char *key, *title, *text;
};

extern const struct schedstat_field schedstat_cpu_fields[SCHEDSTAT_CPU_FIELDS];
/* Those of one kind of balancing, which come three times, and the rest. */
const struct schedstat_field *schedstat_balance_fields(u32 version, u32 *nr);
extern const struct schedstat_field schedstat_rest_fields[];
enum { SCHEDSTAT_REST = 12 };
const struct schedstat_kind *schedstat_kind(u32 version, u32 i);

/* CPUs are in the order of their numbers, and so are the domains of each. NULL: it has none. */
const struct schedstat_cpu *schedstat_cpu_of(const struct schedstat *s, s32 cpu);
const struct schedstat_domain *schedstat_domain_of(const struct schedstat *s, s32 cpu, u32 number);
/* The index of the first domain of a CPU, or of one after it. */
size_t schedstat_first_domain(const struct schedstat *s, s32 cpu);
