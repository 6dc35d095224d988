/*
 * Samples to a profile: who spent how much where. A sink that adds up (group, leaf, chain) triples per shard, then folds chains
 * from addresses to functions and yields rows and, for each row, its call graph. Works on ids only; names are looked at when a
 * table is made.
 */
#pragma once

#include "model/choice.h"
#include "model/names.h"
#include "model/source.h"
#include "model/table.h"

/* What rows are told apart by, and what is measured of them. profile_keys.c has a row for each. */
enum profile_key {
	/* of a sample */
	PROFILE_KEY_COMM,
	PROFILE_KEY_PID,
	PROFILE_KEY_TGID,
	PROFILE_KEY_CPU,
	PROFILE_KEY_SOCKET,
	PROFILE_KEY_TIME,
	PROFILE_KEY_WEIGHT,
	PROFILE_KEY_LOCAL_WEIGHT,
	PROFILE_KEY_CGROUP,
	PROFILE_KEY_CGROUP_ID,
	/* of a branch (profile_hw.c) */
	PROFILE_KEY_MISPREDICT,
	PROFILE_KEY_ABORT,
	PROFILE_KEY_IN_TX,
	PROFILE_KEY_CYCLES,
	PROFILE_KEY_ADDR_FROM,
	PROFILE_KEY_ADDR_TO,
	PROFILE_KEY_SRCLINE_FROM,
	PROFILE_KEY_SRCLINE_TO,
	PROFILE_KEY_DSO_FROM,
	PROFILE_KEY_DSO_TO,
	PROFILE_KEY_SYM_FROM,
	PROFILE_KEY_SYM_TO,
	/* of an access to memory (the same) */
	PROFILE_KEY_DSO_DADDR,
	PROFILE_KEY_PLACE, /* not a person's: what an address of another key is called */
	PROFILE_KEY_SYM_DADDR,
	PROFILE_KEY_SYM_IADDR,
	PROFILE_KEY_DCACHELINE,
	PROFILE_KEY_MEM,
	PROFILE_KEY_SNOOP,
	PROFILE_KEY_TLB,
	PROFILE_KEY_LOCKED,
	PROFILE_KEY_BLOCKED,
	PROFILE_KEY_PHYS_DADDR,
	PROFILE_KEY_DATA_PAGE,
	/* of any sample, where the hardware tells it (the same) */
	PROFILE_KEY_CODE_PAGE,
	PROFILE_KEY_TRANSACTION,
	PROFILE_KEY_INS_LAT,
	PROFILE_KEY_LOCAL_INS_LAT,
	PROFILE_KEY_STAGE_CYCLES,
	PROFILE_KEY_LOCAL_STAGE_CYCLES,
	PROFILE_KEY_ADDR,
	PROFILE_KEY_TRACE, /* the text of a tracepoint */
	PROFILE_KEY_FIELD, /* one field of it */
	PROFILE_KEY_PARENT, /* the caller whose name fits an expression */
	/* of the place it was in */
	PROFILE_KEY_DSO,
	PROFILE_KEY_SYM,
	PROFILE_KEY_SYM_SIZE,
	PROFILE_KEY_DSO_SIZE,
	PROFILE_KEY_SRCLINE,
	PROFILE_KEY_SRCFILE,
	/* measured */
	PROFILE_OVERHEAD_CHILDREN,
	PROFILE_OVERHEAD,
	PROFILE_OVERHEAD_SYS,
	PROFILE_OVERHEAD_US,
	PROFILE_OVERHEAD_GUEST_SYS,
	PROFILE_OVERHEAD_GUEST_US,
	PROFILE_SAMPLES,
	PROFILE_PERIOD,
	PROFILE_KEY_MAX,
};

enum { PROFILE_FIELDS_MAX = 48, PROFILE_VALUES_MAX = 16 };

/* A key as it stands in a list: PROFILE_KEY_FIELD needs to know which. */
struct profile_field {
	enum profile_key key;
	u32 event; /* FIELD: whose; other events do not have the column. PLACE: of which key */
	const struct schema_field *field;
	bool raw; /* the number, not the text that the event makes of it */
	u32 level; /* of a hierarchy */
};

enum profile_order {
	PROFILE_CALLEE, /* a row's graph starts at the row's function and goes to its callers */
	PROFILE_CALLER, /* it starts at the outermost caller */
};

/* What names and numbers of the recording's machine are; each may be NULL. */
struct profile_env {
	const struct catalog *catalog; /* of the source that will be run; needed for filters by name */
	const s32 *socket_of; /* [cpu] */
	u32 nr_cpus;
	const char *(*cgroup_name)(void *ctx, u64 id);
	/* The cgroup namespace a task was in: a number, in the order of namespaces, 0 where none was recorded; and its text. */
	u64 (*cgroup_ns)(void *ctx, u32 tid, u64 time_ns);
	const char *(*cgroup_ns_name)(void *ctx, u64 number, struct arena *a);
	u64 (*image_size)(void *ctx, u32 image);
	void *ctx;
};

/* Which of the samples make rows. Samples that `choice` leaves out do not exist; those that the rest leaves out still count for 100 %. */
struct profile_filter {
	struct sample_choice choice;
	struct sample_choice rows; /* by name, process, thread */
	const char *const *dsos, *const *symbols;
	size_t nr_dsos, nr_symbols;
	struct sample_gate gate; /* samples before it opens and after it do not exist; one worker */
	const char *ignore_callees; /* extended regular expression: functions that fit count for all they called */
	const char *symbol_part; /* rows whose function's name holds this text */
	const char *parent; /* extended regular expression; NULL: what perf takes */
	bool only_with_parent;
	bool hide_unresolved;
	bool hide_kernel, hide_user; /* samples of that level do not exist */
	bool relative; /* 100 % is what is shown */
};

struct profile_config {
	/* Either the usual layout for these keys ... */
	enum profile_key keys[PROFILE_FIELDS_MAX];
	u32 nr_keys;
	bool show_count;
	bool show_period;
	/* ... or all of it: columns, and what rows are ordered by. */
	struct profile_field fields[PROFILE_FIELDS_MAX];
	struct profile_field sort[PROFILE_FIELDS_MAX];
	u32 nr_fields, nr_sort;
	bool self; /* the column of a row's own part is called so, beside one with children */
	bool children; /* rows also for functions that were only on the way */
	bool graph; /* call graphs are wanted: chains are needed */
	enum profile_order order;
	double min_percent; /* branches below this share of the total (fractal: of their parent) are not drawn */
	bool fractal;
	bool count; /* branches know how many samples they are of */
	bool by_address; /* call graphs tell addresses apart, not functions */
	bool by_line; /* they tell lines apart, as they do where rows go by line */
	bool full_path; /* of source files */
	u64 min_count; /* rows need more samples of their own than this; 0: any */
	bool own_names; /* tables may outlive the catalogue */
	bool nanoseconds; /* PROFILE_KEY_TIME with nine digits */
	u32 max_stack; /* frames of a chain that count, from the end where graphs begin; 0: all */
	bool branches; /* every branch of a sample is a row's, not the sample; there are no chains then */
	bool by_weight; /* rows weigh what accesses cost */
	u32 group_sort; /* which event of a group its rows are ordered by; beyond the last one: the leader's alone counts */
	u64 quantum_ns; /* PROFILE_KEY_TIME: width of a slice */
	unsigned workers; /* for folding and drawing; 0: one for each CPU */
	u32 worker_least; /* entries or nodes that a worker is worth starting for; 0: the usual number */
	struct profile_filter filter;
	struct profile_env env;
};

struct profile;

struct profile *profile_new(const struct profile_config *cfg);
void profile_free(struct profile *p);
struct sink *profile_sink(struct profile *p);

/*
 * After stream_run(): resolves and folds. catalog, run and names are borrowed until profile_free().
 */
int profile_fold(struct profile *p, const struct catalog *c, const struct run_tables *run,
		 const struct names_result *names) must_check;

/* Of branches: what kinds there were, and how far they went. */
struct profile_branches {
	u64 nr; /* those whose kind is known */
	u64 kinds[16]; /* [BRANCH_TYPE] */
	u64 more[16]; /* [BRANCH_NEW_TYPE] of the last of them */
	u64 forward, backward; /* of conditional ones */
	u64 cross_4k, cross_2m; /* into another page; a small one only where it is not a large one */
};
const struct profile_branches *profile_branches(const struct profile *p);

/* Whether no sample is left by the filters. */
bool profile_is_empty(const struct profile *p);

struct profile_totals {
	u64 period;
	u64 nr_samples;
};
/* Of one event of the catalogue: what 100 % is. */
struct profile_totals profile_totals(const struct profile *p, u32 event);
/* The event's rows in order, into an initialised table. Its trees borrow from the profile. */
int profile_table(struct profile *p, u32 event, struct table *ret) must_check;
/* One table for several events, row by row side by side; the first one is the group's leader. */
int profile_group_table(struct profile *p, const u32 *events, u32 nr, struct table *ret) must_check;
/* Rows within rows: a level for each key (those of one level stand together). */
int profile_hierarchy(struct profile *p, const u32 *events, u32 nr, struct table *ret) must_check;

/* The function of a row of the table made last; NULL: the row has none. */
const struct name_func *profile_row_func(const struct profile *p, size_t row);

/* What a person types: the word of a key ("sym" and every other beginning will do), or -ENOENT. */
int profile_key_find(const char *word);
/* The words, for a hint; NULL after the last one. */
const char *profile_key_word(u32 index);
bool profile_key_is_measure(enum profile_key key);
/* Whether it tells branches apart. */
bool profile_key_is_branch(enum profile_key key);
