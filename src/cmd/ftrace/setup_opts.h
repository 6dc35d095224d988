/*
 * The options that say what is traced, for the commands that trace: their order counts. -B NAME begins another buffer; what follows
 * belongs to it. -f and -R belong to the -e before them.
 */
#pragma once

#include "cmd/app/app.h"
#include "tracing/setup.h"

/* Where options of trace-cmd go that are refused, or have nothing to do here. */
struct ftrace_refused {
	const char *text;
	bool flag;
	u64 number;
};

void ftrace_setup_defaults(void *opts); /* of an options struct that begins with a struct ftrace_setup */

/* opts begins with a struct ftrace_setup. */
typedef int ftrace_take(void *opts, const char *value, bool negated, struct diag *d);
ftrace_take ftrace_take_buffer, ftrace_take_clock, ftrace_take_cpumask, ftrace_take_event,
	ftrace_take_filter, ftrace_take_func_stack, ftrace_take_function, ftrace_take_graph,
	ftrace_take_negate, ftrace_take_no_function, ftrace_take_no_graph, ftrace_take_option,
	ftrace_take_size, ftrace_take_stacks, ftrace_take_tracer, ftrace_take_trigger;

/* The rows that fill it: the struct ftrace_setup must come first in the options struct. */
/* clang-format off */
#define FTRACE_SETUP_ROWS \
	OPT_HEADING("What to trace"), \
	OPT_CALL('e', "event", "EVENT", "Events, as described in sonde-events(7): SYSTEM:NAME, SYSTEM, NAME, patterns, all, !EVENT; functions and probes by prefix; EVENT/FILTER/+TRIGGER in one", ftrace_take_event), \
	OPT_CALL('f', "filter", "FILTER", "Filter for the preceding -e", ftrace_take_filter), \
	OPT_CALL('R', "trigger", "TRIGGER", "Trigger for the preceding -e: stacktrace, traceoff:1, hist:keys=..., with 'if FILTER'", ftrace_take_trigger), \
	OPT_CALL('v', "exclude", NULL, "Following -e options name events to exclude", ftrace_take_negate), \
	OPT_CALL('p', "tracer", "TRACER", "Use this tracer: function, function_graph, wakeup ...", ftrace_take_tracer), \
	OPT_CALL('l', "function", "FUNC", "Only these functions (patterns; FUNC:mod:MODULE; FUNC:traceoff:1 acts on a call, whoever makes it)", ftrace_take_function), \
	OPT_CALL('n', "no-function", "FUNC", "Exclude these functions", ftrace_take_no_function), \
	OPT_CALL('g', "graph", "FUNC", "function_graph: these functions and their callees", ftrace_take_graph), \
	OPT_CALL(0, "no-graph", "FUNC", "function_graph: exclude these functions and their callees", ftrace_take_no_graph), \
	OPT_STR(0, "max-graph-depth", struct ftrace_setup, max_depth, "N", "function_graph: maximum depth"), \
	OPT_STR(0, "thresh", struct ftrace_setup, thresh, "US", "function_graph, latency tracers: only durations of at least this many microseconds"), \
	OPT_STR(0, "module", struct ftrace_setup, module, "NAME", "Only functions of this module"), \
	OPT_CALL('T', "stacktrace", NULL, "Record a kernel stack with every event", ftrace_take_stacks), \
	OPT_CALL(0, "func-stack", NULL, "Record a kernel stack with every function (use a filter!)", ftrace_take_func_stack), \
	OPT_CALL('O', "option", "OPTION", "Trace option (`ftrace list -o`): NAME or noNAME", ftrace_take_option), \
	OPT_HEADING("What to trace: tasks and CPUs"), \
	OPT_STR('P', "pid", struct ftrace_setup, pids, "PID", "Only these tasks, separated by commas"), \
	OPT_FLAG('c', "children", struct ftrace_setup, children, "Include their children (with -F or -P)"), \
	OPT_FLAG('F', "only-command", struct ftrace_setup, only_command, "Only the command"), \
	OPT_CALL('M', "cpumask", "MASK", "Only these CPUs: a hexadecimal mask, or -1 for all", ftrace_take_cpumask), \
	OPT_FLAG(0, "no-filter", struct ftrace_setup, no_filter, "Include the recorder itself"), \
	OPT_HEADING("How"), \
	OPT_CALL('B', "buffer", "NAME", "Following options apply to this instance", ftrace_take_buffer), \
	OPT_CALL('b', "buffer-size", "KB", "Buffer size per CPU, in kilobytes or with a unit (64M); total:SIZE for all CPUs together", ftrace_take_size), \
	OPT_CALL('C', "clock", "CLOCK", "Trace clock (`ftrace list -C`)", ftrace_take_clock), \
	OPT_FLAG('d', "no-function-trace", struct ftrace_setup, no_function_trace, "Latency tracers: do not record functions"), \
	OPT_FLAG('i', "ignore-missing", struct ftrace_setup, ignore_missing, "Continue when an event does not exist"), \
	OPT_FLAG(0, "top", struct ftrace_setup, top, "Use the kernel's top-level buffer, not a private instance"), \
	OPT_UINT(0, "cmdlines-size", struct ftrace_setup, cmdlines_size, "N", "Number of task names the kernel remembers"), \
	OPT_FLAG(0, "force", struct ftrace_setup, force, "Allow dangerous tracers (mmiotrace)"), \
	OPT_FLAG(0, "dry-run", struct ftrace_setup, dry_run, "Only print what would be written to tracefs")
/* clang-format on */

/* What trace-cmd takes wherever it traces, and nothing here can do. T has a struct ftrace_refused refused. */
/* clang-format off */
#define FTRACE_NEVER_ROWS(T) \
	OPT_STR('N', NULL, T, refused.text, "HOST:PORT", "Network recording is not supported: record there and copy the file", .refused = true), \
	OPT_STR('V', NULL, T, refused.text, "CID:PORT", "Recording on another machine is not supported: record there and copy the file", .refused = true), \
	OPT_STR('A', NULL, T, refused.text, "AGENT", "Guests are not supported: record there; 'ftrace report -i A -i B' merges files", .refused = true), \
	OPT_STR(0, "proxy", T, refused.text, "VSOCK", "Guests are not supported: record there", .refused = true), \
	OPT_STR(0, "name", T, refused.text, "NAME", "Only for -A, which is not supported", .refused = true), \
	OPT_STR(0, "tsync-interval", T, refused.text, "MS", "Only for -A, which is not supported", .refused = true), \
	OPT_FLAG('D', NULL, T, refused.flag, "It would stop everybody's function tracing; -d applies to this run only", .refused = true), \
	OPT_FLAG('t', "tcp", T, refused.flag, "Network recording is not supported", .hidden = true), \
	OPT_FLAG(0, "nosplice", T, refused.flag, "Pages are read, never spliced", .hidden = true), \
	OPT_FLAG(0, "nofifos", T, refused.flag, "Guests are not supported", .hidden = true), \
	OPT_FLAG(0, "notimeout", T, refused.flag, "There is nobody to wait for", .hidden = true), \
	OPT_FLAG(0, "debug", T, refused.flag, "use -v for more output", .hidden = true)
/* What it takes there because its verbs share one table, but has to do with files and their readers only. */
#define FTRACE_NO_FILE_ROWS(T) \
	OPT_UINT('m', NULL, T, refused.number, "KB", "No file is written: 'ftrace record -m' keeps the newest data of each CPU", .refused = true), \
	OPT_FLAG(0, "date", T, refused.flag, "No file is written: use 'ftrace record --date'", .refused = true), \
	OPT_STR(0, "ts-offset", T, refused.text, "N", "No file is written: use 'ftrace record --ts-offset'", .refused = true), \
	OPT_FLAG(0, "tsc2nsec", T, refused.flag, "No file is written: use 'ftrace record --tsc2nsec'", .refused = true), \
	OPT_STR(0, "compression", T, refused.text, "HOW", "No file is written: use 'ftrace record --compression'", .refused = true), \
	OPT_STR(0, "file-version", T, refused.text, "N", "No file is written: use 'ftrace record --file-version'", .refused = true), \
	OPT_STR(0, "temp", T, refused.text, "DIR", "No file is written: use 'ftrace record --temp'", .refused = true), \
	OPT_FLAG(0, "proc-map", T, refused.flag, "No file is written: use 'ftrace record --proc-map'", .refused = true), \
	OPT_FLAG(0, "poll", T, refused.flag, "No pages are read here", .hidden = true), \
	OPT_UINT('s', NULL, T, refused.number, "US", "No pages are read here", .hidden = true), \
	OPT_UINT('r', NULL, T, refused.number, "PRIO", "No pages are read here: run it under 'chrt -f PRIO'", .refused = true), \
	OPT_FLAG('a', NULL, T, refused.flag, "Formats are stored in files only", .hidden = true), \
	OPT_STR(0, "user", T, refused.text, "USER", "Put 'setpriv --reuid USER --init-groups' in front of the command", .refused = true)
#define FTRACE_NO_PROFILE_ROWS(T) \
	OPT_STR('o', NULL, T, refused.text, "FILE", "No file is written: use 'ftrace record', or 'ftrace extract' to save what 'ftrace start' collects", .refused = true), \
	OPT_FLAG('q', "quiet", T, refused.flag, "No summary line", .hidden = true), \
	OPT_FLAG(0, "profile", T, refused.flag, "use 'ftrace profile' or 'ftrace record --profile'", .refused = true), \
	OPT_STR('H', NULL, T, refused.text, "HOOK", "Only for 'ftrace profile'", .refused = true), \
	OPT_FLAG('S', NULL, T, refused.flag, "Only for 'ftrace profile'", .refused = true), \
	OPT_FLAG('G', NULL, T, refused.flag, "Only for 'ftrace profile'", .refused = true), \
	OPT_FLAG(0, "by-comm", T, refused.flag, "Only for 'ftrace profile'", .refused = true), \
	OPT_FLAG(0, "stderr", T, refused.flag, "put '>&2' after the command instead", .refused = true)
/* clang-format on */
