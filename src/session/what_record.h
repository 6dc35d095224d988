/*
 * A history of counters: `sonde what --record` writes the columns of each interval as rounds of counts into a perf.data (file/statdata), which
 * `what FILE` and `how FILE` replay, and which `perf stat report` can read.
 *
 * An event of the file is a column: "disk/vda/read", with what its fields have grown since the start. Shares and ratios have a second one, with
 * "/per" at its end, for what they are divided by. States are in thousandths. A count with a running time of 0 stands for a value that was not known.
 * The busiest processes of each interval are states, too: "processes/cpu-1/pid" and "processes/cpu-1/amount" (percent of a CPU), and the same of
 * "io-1" (bytes per second); COMM records say what the processes are called.
 * A count that has not changed is not written again. When a file has reached its size it becomes FILE.old, and a new one begins: both together
 * are the history.
 */
#pragma once

#include "session/what.h"
#include "session/what_top.h"

struct what_recording;

enum { WHAT_PROCESSES_MAX = 32 };

struct what_record_opts {
	const char *path;
	u64 max_bytes; /* of a file */
	u64 interval_ms;
	const struct what_top *top; /* read with io before each round; NULL: no processes */
	u32 processes; /* of each kind, at most WHAT_PROCESSES_MAX */
};

/* Of the columns that the engine has now. What the options point to is borrowed. NULL: see the diag. */
struct what_recording *what_record_open(struct what_engine *w, const struct what_record_opts *o,
					struct diag *d);
/* After each what_read(). 0, or negative errno with a diag. */
int what_record_round(struct what_recording *r, struct diag *d) must_check;
int what_record_finish(struct what_recording *r, struct diag *d) must_check;
/* Size of the file that is being written. */
u64 what_record_bytes(const struct what_recording *r);
void what_record_close(struct what_recording *r);

/* ---- replay ---- */

struct what_replay;

/* The engine gets the columns of the file; it must have been initialised, and nothing chosen. NULL: see the diag. */
struct what_replay *what_replay_open(struct what_engine *w, const char *path, struct diag *d);
void what_replay_close(struct what_replay *r);
/* A row for the next interval: 1, 0 at the end, or negative errno (-EBADMSG: the file is cut off here). */
int what_replay_next(struct what_replay *r) must_check;
/* The processes that were busiest in the interval of the last row, in that order. Their number. */
struct what_was_busy {
	s32 pid;
	u32 name; /* for what_replay_name() */
	double amount; /* as in struct what_process */
};
size_t what_replay_busy(const struct what_replay *r, enum what_busy by,
			struct what_was_busy to[WHAT_PROCESSES_MAX]);
/* Borrowed until the replay is closed or goes on. */
const char *what_replay_name(const struct what_replay *r, u32 name);
/* When the recording began, of the wall clock; 0: it does not say. */
u64 what_replay_began(const struct what_replay *r);
/* When it ended: looks through the whole file. */
u64 what_replay_ends(const struct what_replay *r);

/*
 * A moment of a recording: "-10m" (before its end), "14:05", "14:05:30" (of the day it ended, local time), or seconds since 1970. 0 or -EINVAL.
 */
int what_moment(const char *text, u64 end_ns, u64 *ret_ns) must_check;
