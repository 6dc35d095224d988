/* What the parts of tracing/setup share: names, events, probes, pids. */
#pragma once

#include "tracing/setup.h"

/* A file of a buffer, in tracefs; "" when memory is out. */
const char *ftrace_path_in(struct ftrace_setup *s, const struct ftrace_buffer_opt *b,
			   const char *fmt, ...) printf_like(3, 4);

/* A word of a list like available_tracers; -ENOENT with a diag that names those there are. */
int ftrace_check_word(struct ftrace_setup *s, const char *file, const char *word,
		      const char *what) must_check;
/* Fills s->functions. */
int ftrace_load_functions(struct ftrace_setup *s) must_check;
/*
 * GLOB[:mod:MODULE][:COMMAND...]: something must fit, for the kernel takes a filter that fits nothing as no filter at all and
 * traces everything.
 */
int ftrace_check_function(struct ftrace_setup *s, const char *text) must_check;

/*
 * Finds out what the events of a buffer are (event/): those of tracefs and probes go to b->traced, function: and graph: become the
 * buffer's tracer with its functions. use: EVENT_USE_FTRACE or EVENT_USE_START.
 */
int ftrace_resolve_events(struct ftrace_setup *s, struct ftrace_buffer_opt *b, u32 use) must_check;
int ftrace_apply_events(struct ftrace_setup *s, struct ftrace_buffer_opt *b) must_check;

/*
 * Probes among b->traced are defined, those on kernel functions with the arguments that BTF knows of, and become events. Before any
 * instance is made: those must be gone when probes are taken away.
 */
int ftrace_define_probes(struct ftrace_setup *s) must_check;
/* What the probes that are traced have missed, from now on, and since. */
void ftrace_watch_misses(struct ftrace_setup *s);
void ftrace_report_misses(struct ftrace_setup *s);

/* Sets a trace option of a buffer where the kernel has it. */
int ftrace_set_flag(struct ftrace_setup *s, const struct ftrace_buffer_opt *b, const char *name,
		    bool on) must_check;
/* Our own PID and the command's as the kernel knows them; inside a PID namespace they are not those that fork() returns. */
int ftrace_find_pids(struct ftrace_setup *s, int pid) must_check;
/* Those named, the command, and ourselves left out. */
int ftrace_apply_pids(struct ftrace_setup *s, struct ftrace_buffer_opt *b) must_check;
