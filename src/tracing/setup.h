/*
 * A tracing session: what is to be traced in which buffers, checked against what the kernel has, and the writes to tracefs that
 * follow from it, all through the journal.
 *
 *	ftrace_setup_init(&s);             then fill it: ftrace_setup_buffer(), ftrace_setup_event(), fields
 *	ftrace_setup_open(&s, diag, out);
 *	ftrace_setup_begin(&s, ...);       names are checked, the journal is open
 *	ftrace_setup_apply(&s, ...);       everything is written, tracing is off
 *	ftrace_setup_switch(&s, true);
 *	ftrace_setup_end(&s);              undone, and freed
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/num.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "event/event.h"
#include "kern/journal.h"
#include "kern/perf_tsc.h"
#include "kern/sysroot.h"
#include "probe/misses.h"
#include "stream/ftrace_meta.h"

/* As it was asked for. */
struct ftrace_event_opt {
	const char *text; /* in the event language (event/spec.h): "sched:sched_switch", "sched", "kprobe:vfs_read/count>1/+stacktrace" */
	const char *filter;
	VEC(const char *) triggers;
	bool off; /* not to be traced */
};

/* What it means: an event of tracefs, or a probe that is to become one. */
struct ftrace_traced {
	u32 from; /* number of the ftrace_event_opt */
	enum event_kind kind;
	const char *system, *name; /* NULL: not defined yet */
	const char *filter;
	VEC(const char *) triggers;
	struct event_probe probe;
	bool off;
	bool whole; /* with all others of its system */
	bool defined; /* by this run */
};

struct ftrace_buffer_opt {
	const char *name; /* NULL: ours, or the top one */
	const char *tracer, *clock, *cpumask, *size;
	VEC(struct ftrace_event_opt) events;
	VEC(const char *) functions, no_functions, graph, no_graph, options;
	bool negate; /* the next event is not to be traced */
	bool stacks, func_stack;

	/* Found out. */
	VEC(struct ftrace_traced) traced;
	char folder[300]; /* in tracefs: "" or "instances/x/" */
	bool made; /* by this run */
	VEC(const char *) systems; /* with events that are on */
};

/* What the person who started it calls these settings: for messages. */
struct ftrace_option_names {
	const char *tasks, *command, *size, *cpus, *option, *functions, *graph, *tracer, *clock;
	const char *func_stack, *force, *top, *date;
};

struct ftrace_setup {
	const struct ftrace_option_names *names;
	VEC(struct ftrace_buffer_opt) buffers; /* the first is the unnamed one */
	const char *pids; /* comma separated */
	VEC(const char *) pid_list;
	const char *module, *max_depth, *thresh;
	bool children; /* of the tasks, too */
	bool only_command;
	bool top; /* in the top buffer */
	bool ignore_missing; /* events */
	bool no_filter; /* also trace ourselves */
	bool no_function_trace;
	bool force;
	bool dry_run;
	bool tsc2nsec; /* the counter as clock, and in the file how it becomes nanoseconds */
	struct perf_tsc tsc;
	u64 cmdlines_size;

	/* Of the session. */
	const char *root_path; /* "", or a folder that a test takes for the root */
	const char *run_dir; /* NULL: RUN_DIR */
	struct diag *diag;
	struct strbuf *dry; /* takes what would be written, with dry_run */
	struct tracing tracing;
	struct sysroot root;
	struct journal *journal;
	struct arena arena;
	struct event_list events; /* of all buffers, resolved */
	struct strbuf functions; /* available_filter_functions, read once */
	bool has_functions;
	int lock_fd;
	s32 own_pid, command_pid; /* as the kernel knows them; 0: unknown, or none */
	char *cmdline;
	bool counts_misses;
	struct probe_misses missed_before; /* by its probes, when it was switched on */
};

void ftrace_setup_init(struct ftrace_setup *s);
/* The buffer that options belong to now: the last one; the first is made when it is needed. NULL: no memory. */
struct ftrace_buffer_opt *ftrace_setup_buffer(struct ftrace_setup *s);
/* Another event of that buffer. NULL: no memory. */
struct ftrace_event_opt *ftrace_setup_event(struct ftrace_setup *s, const char *text);
/* Another word at the end of a list. list: a VEC(const char *). */
int ftrace_add_word(void *list, const char *value) must_check;
/*
 * Opens tracefs (mounts it where it is not and may be). d and dry are borrowed until ftrace_setup_end(). 0 or negative errno with a
 * diag.
 */
int ftrace_setup_open(struct ftrace_setup *s, struct diag *d, struct strbuf *dry) must_check;
/* With tsc2nsec: how the clock becomes nanoseconds, among the options of a file. */
int ftrace_setup_note_tsc(const struct ftrace_setup *s, struct ftrace_meta *m) must_check;
/*
 * What a file of this session says beside its pages; after ftrace_setup_apply(). all_formats: also of events that are off. 0 or
 * negative errno with a diag; ftrace_meta_done() only after 0.
 */
int ftrace_setup_meta(struct ftrace_setup *s, bool all_formats, bool no_symbols,
		      struct ftrace_meta *ret) must_check;
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
/* Undoes (unless the journal is kept) and frees. Warns of what probes have missed. */
void ftrace_setup_end(struct ftrace_setup *s);

/* tracefs for a command that only reads or pokes; 0 or negative errno with a diag. */
int ftrace_open(struct tracing *t, struct diag *d) must_check;
/* "instances/NAME/" for a name that exists, "" for NULL; -ENOENT with a diag that names those there are. */
int ftrace_folder(const struct tracing *t, const char *name, char *to, size_t size,
		  struct diag *d) must_check;
/* "sonde ftrace record -e sched": our own command line; the caller's. */
char *ftrace_own_cmdline(void);
