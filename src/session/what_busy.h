/*
 * Who was busy when: the processes of a history's intervals (session/what_record.h), added up over any stretch of it, so that `how` can name
 * those that were at work while a column was far from its usual value.
 */
#pragma once

#include "base/strtab.h"
#include "base/vec.h"
#include "model/series.h"
#include "session/what_record.h"

struct what_busy_entry {
	u64 from_ns, to_ns; /* the interval */
	struct what_was_busy who; /* name: of the log */
	u8 by;
};

struct what_busy_log {
	VEC(struct what_busy_entry) entries; /* by time */
	struct strtab names;
	size_t max; /* entries; the first ones are kept */
	bool has[WHAT_BUSY_NR]; /* disk I/O of others is not for everybody to see */
};

struct what_busy_found {
	s32 pid;
	const char *name; /* borrowed from the log; "": not known */
	double mean; /* over the whole stretch, in the unit of its kind */
};

void what_busy_init(struct what_busy_log *l);
void what_busy_done(struct what_busy_log *l);
/* The interval that what_replay_next() has just read. 0 or -ENOMEM. */
int what_busy_add(struct what_busy_log *l, const struct what_replay *r, u64 from_ns,
		  u64 to_ns) must_check;
/* Those that were busiest from one moment to another, at most `max`: their number, or -ENOMEM. */
s64 what_busy_find(const struct what_busy_log *l, enum what_busy by, u64 from_ns, u64 to_ns,
		   struct what_busy_found *to, size_t max) must_check;
/* What kind of work moves a column, of those that the log has. */
enum what_busy what_busy_of(const struct what_busy_log *l, const struct series_column *c);
