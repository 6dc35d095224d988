/*
 * What `sonde stat` counts, and where: options become counters (stat_plan.c), formulae (stat_metrics.c, stat_topdown.c), slots and the keys
 * by which they are added up (stat_places.c).
 */
#pragma once

#include "analysis/stat.h"
#include "base/arena.h"
#include "base/cpuset.h"
#include "base/opts.h"
#include "event/metric.h"
#include "kern/procfs.h"
#include "model/machine.h"
#include "session/run_probes.h"
#include "stream/counters.h"

/* What messages call the options. */
struct stat_labels {
	const char *by[STAT_BY_THREAD + 1];
	const char *all, *cpus, *pids, *tids;
	const char *metric, *metric_file, *metric_only;
	const char *transaction, *topdown, *td_level;
	const char *pre, *post, *control, *log_fd;
};

/* Events, filters and cgroups in the order they were given. */
enum stat_word_kind { STAT_WORD_EVENT, STAT_WORD_FILTER, STAT_WORD_CGROUP };
struct stat_word {
	enum stat_word_kind kind;
	const char *text;
};

struct stat_opts {
	const struct stat_labels *labels;
	struct stat_words {
		VEC(struct stat_word) list;
	} words;
	struct opt_list metrics;
	const char *each_cgroup;
	const char *cpus, *pids, *tids;
	const char *output, *separator;
	const char *pre, *post, *control;
	const char *input; /* of `stat report` */
	bool streams_unnamed; /* `stat report`: what a stream says of the command is not shown */
	bool record; /* `stat record`: the output is where the counts are kept */
	unsigned detailed;
	bool all, no_aggr, no_inherit, null_run, json, append, table, summary, no_csv_summary;
	bool per_thread, per_core, per_die, per_socket, per_node;
	bool metric_only, no_merge, big_num, quiet, sync_first, only_user, only_kernel;
	bool scale, transaction, topdown, metric_only_given, group_all, interval_clear,
		log_fd_given, ignored;
	s64 log_fd, delay_ms;
	u64 td_level; /* 0: the deepest there is */
	u64 repeat, interval_ms, interval_count, timeout_ms;
};

/* One that was named; counters borrow both. */
struct stat_cgroup {
	const char *name;
	int fd;
};

/* What is counted and how it is shown; constant during the runs. */
struct stat_plan {
	struct arena arena;
	const struct stat_opts *opts;
	const struct sysroot *root; /* while it is made; NULL: of counts that lie in a file */
	struct event_env env;
	struct run_probes probes; /* of this run alone; p must stay where it is */
	struct event_list list;
	struct metric_set metric_set;
	VEC(struct metric_prog *) progs;
	VEC(struct stat_cgroup) cgroups;
	VEC(struct counter) counters;
	VEC(struct stat_event) events; /* one a counter */
	VEC(struct counter_slot) slots;
	VEC(u32) slot_key;
	VEC(u32) slot_package;
	VEC(struct stat_key) keys;
	VEC(struct stat_formula) formulae;
	VEC(s32) pids, tids;
	struct cpuset cpus;
	struct stat_spec spec;
	enum stat_by by;
	bool system_wide; /* whole CPUs, not tasks */
	bool of_command; /* the command is what is counted */
	const char *target; /* "'true'", "process id '12'" */
};

/* What metrics were asked for: their formulae become progs, their events are counted. What cannot be computed here is a note. */
int stat_metrics_add(struct stat_plan *p, struct diag *d) must_check;
int stat_metrics_prog(struct stat_plan *p, const struct metric *m, struct metric_prog **ret,
		      struct diag *d) must_check;
/* metric_prog_next_event(), with duration_time for a formula that needs none. */
const char *stat_metrics_event(const struct metric_prog *prog, u32 *at);

/* The events of top-down analysis. -EOPNOTSUPP: this machine has none. */
int stat_topdown_add(struct stat_plan *p, struct diag *d) must_check;

int stat_plan_init(struct stat_plan *p, const struct stat_opts *o);
void stat_plan_done(struct stat_plan *p);
/* -EINVAL: a mistake on the command line, said in the diag. */
int stat_plan_make(struct stat_plan *p, const struct sysroot *root, int argc, char **argv,
		   struct diag *d) must_check;
/*
 * For counts that somebody else made: counters, slots, `by` and target are filled by the caller (with `target` in the arena);
 * this adds what is shown and how it is added up. m: the topology of that machine.
 */
int stat_plan_finish(struct stat_plan *p, const struct machine *m, struct diag *d) must_check;
/* Before each run: the command's process id is the place. */
void stat_plan_set_command(struct stat_plan *p, s32 pid);
/* After counters_open(): what is supported, names that got a :u. 0 or -ENOMEM. */
int stat_plan_opened(struct stat_plan *p) must_check;

/* Parts of stat_plan_make(), in this order: who is counted; how it is added up; the slots; their keys. */
int stat_places_target(struct stat_plan *p, int argc, char **argv, struct diag *d) must_check;
int stat_places_by(struct stat_plan *p, struct diag *d) must_check;
int stat_places_slots(struct stat_plan *p, const struct sysroot *root, struct diag *d) must_check;
int stat_places_keys(struct stat_plan *p, const struct sysroot *root) must_check;
/* The same with a topology that is known; threads get no names. */
int stat_places_keys_of(struct stat_plan *p, const struct machine *m) must_check;
