/*
 * What trace-cmd's record, start, set, stream and profile have in common: options whose order counts, checked names, and the
 * writes to tracefs that follow from them, all through the journal.
 *
 * -B NAME begins another buffer; what follows belongs to it. -f and -R belong to the -e before them.
 */
#pragma once

#include "cmd/app/app.h"
#include "kern/journal.h"
#include "kern/perf_tsc.h"
#include "kern/sysroot.h"
#include "stream/ftrace_meta.h"

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
	bool tsc2nsec; /* the counter as clock, and in the file how it becomes nanoseconds */
	struct perf_tsc tsc;
	u64 cmdlines_size;
	/* Options of trace-cmd that are refused, or have nothing to do here. */
	const char *ignored;
	bool unused;
	u64 unused_number;

	/* Of the session. */
	struct app *app;
	struct tracing tracing;
	struct sysroot root;
	struct journal *journal;
	struct arena arena;
	struct strbuf functions; /* available_filter_functions, read once */
	bool has_functions;
	int lock_fd;
	s32 own_pid, command_pid; /* as the kernel knows them; 0: unknown, or none */
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
	OPT_CALL('l', "function", "FUNC", "Only these functions (patterns; FUNC:mod:MODULE; FUNC:traceoff:1 does something at a call, whoever makes it)", ftrace_take_function), \
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

/* What trace-cmd takes wherever it traces, and nothing here can do. */
/* clang-format off */
#define FTRACE_NEVER_ROWS \
	OPT_STR('N', NULL, struct ftrace_setup, ignored, "HOST:PORT", "Nothing is sent over a network: record there and copy the file", .refused = true), \
	OPT_STR('V', NULL, struct ftrace_setup, ignored, "CID:PORT", "Nothing is sent to another machine: record there and copy the file", .refused = true), \
	OPT_STR('A', NULL, struct ftrace_setup, ignored, "AGENT", "Guests are not reached from here: record there; 'ftrace report -i A -i B' merges files", .refused = true), \
	OPT_STR(0, "proxy", struct ftrace_setup, ignored, "VSOCK", "Guests are not reached from here: record there", .refused = true), \
	OPT_STR(0, "name", struct ftrace_setup, ignored, "NAME", "Belongs to -A, which is not here", .refused = true), \
	OPT_STR(0, "tsync-interval", struct ftrace_setup, ignored, "MS", "Belongs to -A, which is not here", .refused = true), \
	OPT_FLAG('D', NULL, struct ftrace_setup, unused, "It would stop everybody's function tracing; -d is for this run alone", .refused = true), \
	OPT_FLAG('t', "tcp", struct ftrace_setup, unused, "Nothing is sent over a network here", .hidden = true), \
	OPT_FLAG(0, "nosplice", struct ftrace_setup, unused, "Pages are read, never spliced", .hidden = true), \
	OPT_FLAG(0, "nofifos", struct ftrace_setup, unused, "Guests are not reached from here", .hidden = true), \
	OPT_FLAG(0, "notimeout", struct ftrace_setup, unused, "Nobody else is waited for", .hidden = true), \
	OPT_FLAG(0, "debug", struct ftrace_setup, unused, "-v says more", .hidden = true)
/* What it takes there because its verbs share one table, but has to do with files and their readers only. */
#define FTRACE_NO_FILE_ROWS \
	OPT_UINT('m', NULL, struct ftrace_setup, unused_number, "KB", "There is no file here: 'ftrace record -m' keeps the newest of each CPU", .refused = true), \
	OPT_FLAG(0, "date", struct ftrace_setup, unused, "There is no file here: 'ftrace record --date'", .refused = true), \
	OPT_STR(0, "ts-offset", struct ftrace_setup, ignored, "N", "There is no file here: 'ftrace record --ts-offset'", .refused = true), \
	OPT_FLAG(0, "tsc2nsec", struct ftrace_setup, unused, "There is no file here: 'ftrace record --tsc2nsec'", .refused = true), \
	OPT_STR(0, "compression", struct ftrace_setup, ignored, "HOW", "There is no file here: 'ftrace record --compression'", .refused = true), \
	OPT_STR(0, "file-version", struct ftrace_setup, ignored, "N", "There is no file here: 'ftrace record --file-version'", .refused = true), \
	OPT_STR(0, "temp", struct ftrace_setup, ignored, "DIR", "There is no file here: 'ftrace record --temp'", .refused = true), \
	OPT_FLAG(0, "proc-map", struct ftrace_setup, unused, "There is no file here: 'ftrace record --proc-map'", .refused = true), \
	OPT_FLAG(0, "poll", struct ftrace_setup, unused, "There is no reader of pages here", .hidden = true), \
	OPT_UINT('s', NULL, struct ftrace_setup, unused_number, "US", "There is no reader of pages here", .hidden = true), \
	OPT_UINT('r', NULL, struct ftrace_setup, unused_number, "PRIO", "There is no reader of pages here: 'chrt -f PRIO' in front does it", .refused = true), \
	OPT_FLAG('a', NULL, struct ftrace_setup, unused, "Formats are kept in files only", .hidden = true), \
	OPT_STR(0, "user", struct ftrace_setup, ignored, "USER", "Put 'setpriv --reuid USER --init-groups' in front of the command", .refused = true)
#define FTRACE_NO_PROFILE_ROWS \
	OPT_STR('o', NULL, struct ftrace_setup, ignored, "FILE", "No file is written: 'ftrace record' does, and 'ftrace extract' saves what 'ftrace start' collects", .refused = true), \
	OPT_FLAG('q', "quiet", struct ftrace_setup, quiet, "No closing line", .hidden = true), \
	OPT_FLAG(0, "profile", struct ftrace_setup, unused, "'ftrace profile', or 'ftrace record --profile'", .refused = true), \
	OPT_STR('H', NULL, struct ftrace_setup, ignored, "HOOK", "Belongs to 'ftrace profile'", .refused = true), \
	OPT_FLAG('S', NULL, struct ftrace_setup, unused, "Belongs to 'ftrace profile'", .refused = true), \
	OPT_FLAG('G', NULL, struct ftrace_setup, unused, "Belongs to 'ftrace profile'", .refused = true), \
	OPT_FLAG(0, "by-comm", struct ftrace_setup, unused, "Belongs to 'ftrace profile'", .refused = true), \
	OPT_FLAG(0, "stderr", struct ftrace_setup, unused, "'>&2' behind the command does it", .refused = true)
/* clang-format on */

void ftrace_setup_defaults(void *opts);
/* Opens tracefs (mounts it where it is not and may be). 0 or negative errno with a diag. */
int ftrace_setup_open(struct ftrace_setup *s, struct app *app) must_check;
/* With -C tsc2nsec: how the clock becomes nanoseconds, among the options of a file. */
int ftrace_setup_note_tsc(const struct ftrace_setup *s, struct ftrace_meta *m) must_check;
/* One that keeps the worst case as text: wakeup and the like. NULL is none. */
bool ftrace_is_latency(const char *tracer);
/* Takes the lock if need be, and opens the journal. */
int ftrace_setup_begin(struct ftrace_setup *s, bool private, journal_rescue_fn *rescue) must_check;
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
