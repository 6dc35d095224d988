/*
 * A history of counters: `sonde what --record` writes the columns of each interval as rounds of counts into a perf.data (file/statdata), which
 * `what FILE` and `how FILE` replay, and which `perf stat report` can read.
 *
 * An event of the file is a column: "disk/vda/read", with what its fields have grown since the start. Shares and ratios have a second one, with
 * "/per" at its end, for what they are divided by. States are in thousandths. A count with a running time of 0 stands for a value that was not known.
 * A count that has not changed is not written again. When a file has reached its size it becomes FILE.old, and a new one begins: both together
 * are the history.
 */
#pragma once

#include "session/what.h"

struct what_recording;

/* Of the columns that the engine has now; max_bytes: of a file. NULL: see the diag. */
struct what_recording *what_record_open(struct what_engine *w, const char *path, u64 max_bytes,
					u64 interval_ms, struct diag *d);
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
/* When the recording began, of the wall clock; 0: it does not say. */
u64 what_replay_began(const struct what_replay *r);
/* When it ended: looks through the whole file. */
u64 what_replay_ends(const struct what_replay *r);

/*
 * A moment of a recording: "-10m" (before its end), "14:05", "14:05:30" (of the day it ended, local time), or seconds since 1970. 0 or -EINVAL.
 */
int what_moment(const char *text, u64 end_ns, u64 *ret_ns) must_check;
