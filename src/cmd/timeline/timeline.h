/* `sonde timeline`, and what `timechart` shares with it. */
#pragma once

#include "cmd/app/app.h"
#include "cmd/record/record.h"
#include "model/timeline.h"

/* What is recorded for a timeline: the scheduler's events, as far as the kernel has them. Returns their number; events ends with NULL. */
enum { TIMELINE_EVENTS_MAX = 8 };
size_t timeline_events(const char *events[TIMELINE_EVENTS_MAX + 1], bool samples);

struct timeline_draw {
	const char *output; /* "-": standard output */
	const char *title; /* NULL: what was recorded */
	const char *path; /* of the recording; NULL: it was made for this */
	s32 pid; /* what the page shows first; 0: everything */
	s32 family; /* the command's process: it and what it started come first; 0: none */
};

/* Writes the page, or with --json the data; a line on standard error says what. 0 or negative errno. */
int timeline_draw(struct app *app, const struct timeline *t,
		  const struct timeline_draw *d) must_check;
