/*
 * The processes that were busiest between two readings: the one that used most CPU time is what `what --top-process` shows at the end of a line;
 * a history (what_record.h) has several of each interval.
 */
#pragma once

#include "base/json.h"
#include "kern/sysroot.h"
#include "model/task.h"
#include "view/series_lines.h"

struct what_top;

enum what_busy {
	WHAT_BUSY_CPU, /* percent of one CPU */
	WHAT_BUSY_IO, /* bytes read from and written to disks, per second */
	WHAT_BUSY_NR,
};

/* "cpu", "io". */
extern const char *const what_busy_words[WHAT_BUSY_NR];

struct what_process {
	const struct task *task; /* valid until the next reading */
	double amount;
};

/* Reads for the first time. The root is borrowed. io: also what disks are used. NULL and errno: no memory, or no /proc. */
struct what_top *what_top_new(const struct sysroot *root, bool io);
void what_top_free(struct what_top *t);
/* Since the reading before; valid until the next one. 0 or negative errno. */
int what_top_read(struct what_top *t) must_check;
/* Those that used most, at most `max`, in that order. Their number. */
size_t what_top_list(const struct what_top *t, enum what_busy by, struct what_process *to,
		     size_t max);
const struct series_process *what_top_process(const struct what_top *t);

/* The same for a page: processes are read only while a client asks for them. */
struct what_watch {
	const struct sysroot *root;
	u64 delay_ns; /* between two readings */
	struct what_top *top; /* NULL: not asked for yet, or not for a long time */
	u64 asked_ns; /* CLOCK_MONOTONIC of the last time; 0: there was none */
};

/* Member "processes" of an object that is open: the busiest. Counts as being asked for. */
void what_watch_json(struct what_watch *w, struct json *j);
/* Once an interval. 0 or negative errno. */
int what_watch_read(struct what_watch *w) must_check;
void what_watch_done(struct what_watch *w);
