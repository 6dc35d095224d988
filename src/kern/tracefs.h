/*
 * The tracing file system: where it is, which events, tracers and formats it has, and plain writes. Who changes what others see
 * goes through kern/journal.
 * The functions are called tracing_: tracefs_ belongs to libtracefs.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/strbuf.h"

struct tracing {
	char *path; /* its mount point, root included; NULL when it was not found */
	int dir; /* open folder, -1 */
	int err; /* why it is not usable: -ENOENT not mounted, -EACCES not for us; 0: it is */
};

struct tracing_event {
	const char *system;
	const char *name;
};

struct tracing_events {
	struct arena arena;
	VEC(struct tracing_event) items;
};

/*
 * Looks at ROOT/sys/kernel/tracing and ROOT/sys/kernel/debug/tracing for a file system of tracefs' kind (under another root
 * than "": for a folder with events/ in it). 0 also when there is none: t->err says why, and everything below returns it.
 */
int tracing_open(struct tracing *t, const char *root) must_check;
void tracing_close(struct tracing *t);
/* Adds what is wrong (t->err) and what helps; returns t->err. */
int tracing_explain(const struct tracing *t, struct diag *d);

/* Appends a whole file ("README", "events/sched/sched_switch/format"); 0 or negative errno. */
int tracing_read(const struct tracing *t, const char *file, struct strbuf *to) must_check;
/* The first line without its end; borrowed from to, "" when the file is empty or cannot be read. */
const char *tracing_line(const struct tracing *t, const char *file, struct strbuf *to);
bool tracing_has(const struct tracing *t, const char *file);
/*
 * One write. truncate empties a list first (set_ftrace_filter, trace); it is refused for files where that would remove other
 * people's probes. A path that starts with '/' is taken as it is (sysctls). 0 or negative errno.
 */
int tracing_write(const struct tracing *t, const char *file, const char *text,
		  bool truncate) must_check;
/*
 * What the kernel says about a write it refused: error_log's newest entry, if it is about this text. folder: "" or
 * "instances/NAME/". Adds message and caret to d. false: it says nothing.
 */
bool tracing_error(const struct tracing *t, const char *folder, const char *text, struct diag *d);
/* The number in events/SYSTEM/NAME/id; -ENOENT: no such event, -EACCES. */
int tracing_event_id(const struct tracing *t, const char *system, const char *name,
		     u64 *ret) must_check;

/*
 * All events that have an id and match the globs, sorted. system_glob, name_glob: NULL for all. One system's events come
 * from its folder; the whole list from available_events.
 */
int tracing_list_events(const struct tracing *t, const char *system_glob, const char *name_glob,
			struct tracing_events *ret) must_check;
void tracing_events_done(struct tracing_events *l);
/* The folders of events/, sorted, with name NULL. */
int tracing_list_systems(const struct tracing *t, struct tracing_events *ret) must_check;
