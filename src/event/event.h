/*
 * Events as commands use them: what was written after -e, resolved against this machine into descriptors that can be
 * opened (perf_event_attr), measured (tool events) or handed to whoever makes probes.
 *
 *	struct event_env env;                 the machine: PMUs, tracefs
 *	struct event_list list;               what was asked for, in order
 *	event_env_open(&env, "");
 *	event_list_init(&list);
 *	event_list_add(&list, &env, "cycles:u,{faults,cs}:S,sched:sched_*", EVENT_USE_COUNT, diag);   once per -e
 *	for (i = 0; i < list.events.nr; i++) ... list.events.at[i]
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "event/legacy.h"
#include "event/provider.h"
#include "kern/sysfs_pmu.h"
#include "kern/tracefs.h"

#include <linux/perf_event.h>

/* How an event is brought to life. */
enum event_open {
	EVENT_OPEN_PERF, /* perf_event_open(&attr) as it is */
	EVENT_OPEN_TOOL, /* not opened: .tool says what to measure */
	EVENT_OPEN_FTRACE, /* a tracer with a function filter: .probe.symbol is the pattern */
	EVENT_OPEN_TRACEFS, /* switched on in tracefs: .system, .event */
	EVENT_OPEN_DEFINE, /* defined first, by .probe */
};

/* Terms between slashes that concern the way an event is recorded. -1, 0 or NULL: not written. */
struct event_terms {
	s8 time; /* time=0|1 */
	s8 inherit;
	s8 overwrite;
	bool percore;
	bool aux_output;
	bool has_period, has_freq; /* attr.sample_period / sample_freq hold the term's value */
	u32 max_stack;
	u32 aux_sample_size;
	u64 stack_size;
	u64 nr; /* max events */
	const char *call_graph;
	const char *branch_type;
	const char *driver; /* "@name=value", comma-separated: for AUX PMUs */
};

struct event_probe {
	const char *binary;
	const char *module; /* kprobes: or NULL */
	const char *symbol; /* function; glob of function: and graph:, in tracefs of kprobe: and its relatives too */
	const char *provider; /* USDT */
	u64 offset; /* kprobe: after the symbol; uprobe: in the file */
	u64 ref_ctr_offset; /* USDT semaphore in the file, 0: none */
	bool is_return;
	bool is_usdt; /* with a point */
	const char *point; /* place and arguments as `probe` takes them, where a symbol does not say it all; NULL: it does */
};

/* Who defines probes that perf_event_open() alone cannot make: with arguments, at lines. The command sets it up; event/ knows nothing of it. */
struct event_probe_ops {
	/*
	 * Defines p (binary or module, point, is_return) for as long as the command runs, and calls each for every event that came of
	 * it. Negative errno with a diag.
	 */
	int (*define)(void *ctx, const struct event_probe *p,
		      int (*each)(void *each_ctx, const char *system, const char *event),
		      void *each_ctx, struct diag *d);
	void *ctx;
};

struct event_desc {
	const char *name; /* as written, or name=; one of a glob: its own name */
	enum event_kind kind; /* never EVENT_KIND_NAME */
	enum event_open open;
	/*
	 * type, config, config1, config2, exclude_*, precise_ip, pinned, exclusive, bp_*; sample_period or sample_freq when
	 * a term or the kind asks for it (tracepoints, breakpoints: 1). size is set. Everything else is the command's.
	 */
	struct perf_event_attr attr;
	u64 config3, config4; /* newer than this attr; not 0: the kernel must take a larger one */
	u32 leader; /* index into the list; its own when alone or leading */
	u32 nr_members; /* on a leader: members with itself; else 1 */
	const char *group_name; /* or NULL */
	const char *pmu; /* its name in sysfs, NULL: not of a PMU there */
	const char *cpus; /* list of CPUs to open it on, NULL: any */
	const char *unit; /* "Joules", NULL: none */
	double scale; /* counts are multiplied by it */
	bool per_pkg, snapshot;
	bool is_uncore; /* only system-wide, on .cpus */
	bool sample_read; /* S */
	bool weak; /* W */
	bool precise_max; /* P: try 3, 2, 1, 0 */
	bool has_exclude; /* u, k or h was written: no fallback to :u behind the person's back */
	u32 merge; /* instances of one written event share it (uncore_imc_0..3, cpu_core and cpu_atom), counting from 1;
			     0: single */
	enum event_tool tool;
	const char *filter; /* tracepoint or probe: for PERF_EVENT_IOC_SET_FILTER or tracefs; or NULL */
	const char *system, *event; /* tracepoints */
	/* In tracefs. */
	const char **triggers; /* "stacktrace", "hist:keys=pid" */
	u32 nr_triggers;
	bool off; /* not to be traced */
	bool whole; /* all events of its system are meant */
	struct event_terms terms;
	struct event_probe probe;
	const char *why_not; /* why this machine cannot, when that is known without trying; NULL: it may */
	const char *text; /* the -e argument, for later messages with a caret: */
	struct event_span span;
};

struct event_list {
	struct arena arena; /* of all strings */
	VEC(struct event_desc) events;
	u32 nr_merges;
};

/* Whose events those without the letters G and H are. */
enum event_side {
	EVENT_HOST,
	EVENT_GUEST,
	EVENT_BOTH,
};

struct event_env {
	struct pmu_set pmus;
	struct tracing tracing;
	const char *root; /* borrowed */
	const struct event_probe_ops *probes; /* NULL: nobody defines any; borrowed */
	enum event_side side;
	s32 pid; /* a bare file name is first looked up among its mappings; 0: no process */
};

/* root: "" or a test's folder. -ENOMEM only; what is missing is said when an event needs it. */
int event_env_open(struct event_env *env, const char *root) must_check;
void event_env_close(struct event_env *env);

void event_list_init(struct event_list *l);
void event_list_done(struct event_list *l);

/*
 * Parses text and appends what it means. use: one of enum event_use, or several when the command does both. 0, or
 * -EINVAL/-ENOENT/-EACCES/-EOPNOTSUPP with a diag (place, what is close, why not here); the list is then as before.
 */
int event_list_add(struct event_list *l, struct event_env *env, const char *text, u32 use,
		   struct diag *d) must_check;

/*
 * Adds a filter to tracepoints and probes from index first on (--filter after -e); with one already there: "(old) && (new)".
 * -EINVAL with a diag: no event before it, one that takes none, or a field that an event has not.
 */
int event_list_filter(struct event_list *l, struct event_env *env, u32 first, const char *filter,
		      struct diag *d) must_check;
