/*
 * What trace-cmd's record, start, set, stream and profile have in common: options whose order counts, checked names, and the
 * writes to tracefs that follow from them, all through the journal.
 *
 * -B NAME begins another buffer; what follows belongs to it. -f and -R belong to the -e before them.
 */
#pragma once

#include "cmd/app.h"
#include "kern/journal.h"
#include "kern/sysroot.h"

struct ftrace_event_opt {
	const char *text; /* "sched:sched_switch", "sched", "sched_wak*", "all", "sched:sched_switch/next_pid==0/+stacktrace" */
	const char *filter;
	VEC(const char *) triggers;
	bool off; /* behind -v */
	bool probe; /* of a probe that this run has defined */
};

struct ftrace_buffer_opt {
	const char *name; /* NULL: ours, or the top one */
	const char *tracer, *clock, *cpumask, *size;
	VEC(struct ftrace_event_opt) events;
	VEC(const char *) functions, no_functions, graph, no_graph, options;
	bool negate; /* -v was seen */
	bool stacks, func_stack;

	/* Found out. */
	char folder[300]; /* in tracefs: "" or "instances/x/" */
	bool made; /* by this run */
	VEC(const char *) systems; /* with events that are on */
};

struct ftrace_setup {
	VEC(struct ftrace_buffer_opt) buffers; /* the first is the unnamed one */
	const char *pids; /* -P, comma separated */
	VEC(const char *) pid_list;
	const char *module, *user, *max_depth, *thresh, *title;
	bool children; /* -c */
	bool only_command; /* -F */
	bool top; /* --top: in the top buffer */
	bool ignore_missing; /* -i */
	bool no_filter; /* also trace ourselves */
	bool no_function_trace; /* -d */
	bool force;
	bool dry_run;
	bool quiet;
	u64 cmdlines_size;

	/* Of the session. */
	struct app *app;
	struct tracing tracing;
	struct sysroot root;
	struct journal *journal;
	struct arena arena;
	struct strbuf functions; /* available_filter_functions, read once */
	bool has_functions;
	int lock_fd;
	char *cmdline;
};

/* Options whose order counts go through these. */
typedef int ftrace_take(void *opts, const char *value, bool negated, struct diag *d);
ftrace_take ftrace_take_buffer, ftrace_take_clock, ftrace_take_cpumask, ftrace_take_event,
	ftrace_take_filter, ftrace_take_func_stack, ftrace_take_function, ftrace_take_graph,
	ftrace_take_negate, ftrace_take_no_function, ftrace_take_no_graph, ftrace_take_option,
	ftrace_take_size, ftrace_take_stacks, ftrace_take_tracer, ftrace_take_trigger;

/* The rows that fill it: the struct ftrace_setup must come first in the options struct. */
/* clang-format off */
#define FTRACE_SETUP_ROWS \
	OPT_HEADING("What to trace"), \
	OPT_CALL('e', "event", "EVENT", "Events: SYSTEM:NAME, SYSTEM, NAME, patterns, all; function:GLOB and graph:GLOB are tracers; kprobe:FUNC, kretprobe:FUNC, fprobe:FUNC, fretprobe:FUNC and call:FUNC (entry and return) are probes with arguments and results; EVENT/FILTER/+TRIGGER in one", ftrace_take_event), \
	OPT_CALL('f', "filter", "FILTER", "Only where this holds, for the -e before", ftrace_take_filter), \
	OPT_CALL('R', "trigger", "TRIGGER", "A trigger of the -e before: stacktrace, traceoff:1, hist:keys=..., with 'if FILTER'", ftrace_take_trigger), \
	OPT_CALL('v', "exclude", NULL, "From here on, -e names events that are not to be traced", ftrace_take_negate), \
	OPT_CALL('p', "tracer", "TRACER", "Use this tracer: function, function_graph, wakeup ...", ftrace_take_tracer), \
	OPT_CALL('l', "function", "FUNC", "Only these functions (patterns; FUNC:mod:MODULE; FUNC:traceoff:1)", ftrace_take_function), \
	OPT_CALL('n', "no-function", "FUNC", "Not these functions", ftrace_take_no_function), \
	OPT_CALL('g', "graph", "FUNC", "function_graph: these functions and what they call", ftrace_take_graph), \
	OPT_CALL(0, "no-graph", "FUNC", "function_graph: not these functions and what they call", ftrace_take_no_graph), \
	OPT_STR(0, "max-graph-depth", struct ftrace_setup, max_depth, "N", "function_graph: so many levels"), \
	OPT_STR(0, "thresh", struct ftrace_setup, thresh, "US", "function_graph, latency tracers: only what took as many microseconds"), \
	OPT_STR(0, "module", struct ftrace_setup, module, "NAME", "Only functions of this module"), \
	OPT_CALL('T', "stacktrace", NULL, "A kernel stack with every event", ftrace_take_stacks), \
	OPT_CALL(0, "func-stack", NULL, "A kernel stack with every function (filter them!)", ftrace_take_func_stack), \
	OPT_CALL('O', "option", "OPTION", "A trace option (`ftrace list -o`): NAME or noNAME", ftrace_take_option), \
	OPT_HEADING("Of what"), \
	OPT_STR('P', "pid", struct ftrace_setup, pids, "PID", "Only these tasks, separated by commas"), \
	OPT_FLAG('c', "children", struct ftrace_setup, children, "And their children (with -F or -P)"), \
	OPT_FLAG('F', "only-command", struct ftrace_setup, only_command, "Only the command"), \
	OPT_CALL('M', "cpumask", "MASK", "Only these CPUs: a mask in hex, or -1 for all", ftrace_take_cpumask), \
	OPT_FLAG(0, "no-filter", struct ftrace_setup, no_filter, "Also the recorder itself"), \
	OPT_HEADING("How"), \
	OPT_CALL('B', "buffer", "NAME", "What follows goes to this instance", ftrace_take_buffer), \
	OPT_CALL('b', "buffer-size", "KB", "Buffer of each CPU, in kilobytes or with a unit (64M); total:SIZE for all together", ftrace_take_size), \
	OPT_CALL('C', "clock", "CLOCK", "Times by this clock (`ftrace list -C`)", ftrace_take_clock), \
	OPT_FLAG('d', "no-function-trace", struct ftrace_setup, no_function_trace, "Latency tracers: no functions in between"), \
	OPT_FLAG('i', "ignore-missing", struct ftrace_setup, ignore_missing, "Go on when an event does not exist"), \
	OPT_FLAG(0, "top", struct ftrace_setup, top, "Use the kernel's top buffer, not an instance of our own"), \
	OPT_UINT(0, "cmdlines-size", struct ftrace_setup, cmdlines_size, "N", "Let the kernel remember the names of N tasks"), \
	OPT_FLAG(0, "force", struct ftrace_setup, force, "Do it although it is dangerous (mmiotrace)"), \
	OPT_FLAG(0, "dry-run", struct ftrace_setup, dry_run, "Only print what would be written to tracefs")
/* clang-format on */

void ftrace_setup_defaults(void *opts);
/* Opens tracefs (mounts it where it is not and may be). 0 or negative errno with a diag. */
int ftrace_setup_open(struct ftrace_setup *s, struct app *app) must_check;
/* Takes the lock if need be, and opens the journal. */
int ftrace_setup_begin(struct ftrace_setup *s, bool private,
		       void (*rescue)(const char *folder)) must_check;
/* Chooses where each buffer is (instances are made), and sets everything up with tracing off. pid: the command's, or 0. */
int ftrace_setup_apply(struct ftrace_setup *s, bool private, int pid) must_check;
/* The formats of this system's events belong in the file. */
int ftrace_setup_note_system(struct ftrace_setup *s, struct ftrace_buffer_opt *b,
			     const char *system) must_check;
int ftrace_setup_switch(struct ftrace_setup *s, bool on) must_check;
/* Undoes (unless the journal is kept) and frees. */
void ftrace_setup_end(struct ftrace_setup *s);

/* tracefs for a command that only reads or pokes; 0 or negative errno with a diag. */
int ftrace_open(struct tracing *t, struct diag *d) must_check;
/* "instances/NAME/" for a name that exists, "" for NULL; -ENOENT with a diag that names those there are. */
int ftrace_folder(const struct tracing *t, const char *name, char *to, size_t size,
		  struct diag *d) must_check;
/* "sonde ftrace record -e sched": our own command line; the caller's. */
char *ftrace_own_cmdline(void);
