/*
 * `sonde top`: the report of a recording that goes on. The recorder puts what it reads into a source with rounds; samples of all rounds
 * add up in a profile whose older part fades (analysis/profile_live), and every few seconds a copy of it is folded and shown by
 * the report's own views: as text or JSON (top_run.c), or in its browser (top_screen.c).
 *
 *	recorder ─► rounds ─step─► profile_live ──copy, names──► report ─► text | JSON | browser
 *	                └────────► top_keep: the last seconds, as they came
 */
#pragma once

#include "analysis/profile_live.h"
#include "session/annotate_run.h"
#include "session/report.h"
#include "session/top_keep.h"
#include "stream/recorder.h"
#include "stream/run.h"

struct top_opts {
	u64 delay_ns; /* between two looks */
	u64 updates; /* the end comes after so many; 0: not by itself */
	u64 keep_ns; /* seconds that can be written to a file */
	bool zero; /* nothing fades: every look shows what came since the last one */
	bool perf_lines; /* as perf prints them */
	bool guests; /* their share is told, too */
	const char *target; /* "all", "process 12": for the first line */
};

struct top {
	struct tell tell;
	struct report *report; /* settled; its source is the one of the recorder */
	struct report_opts *report_opts; /* the same that the report has: keys change some of them */
	struct top_opts *o;
	struct recorder *rec;
	/* For the browser: code of a function. As annotate_browse(). */
	int (*annotate)(void *ctx, const struct annotate_given *given, const struct name_func *f,
			u32 event, struct strbuf *why);
	void *ctx;

	/* Of top*.c. */
	struct profile_live *live;
	struct stream_steps *steps;
	struct run_tables tables;
	struct names *names;
	struct names_result named;
	struct profile *before; /* the profile that was shown last: tables borrow from it until the next one is there */
	u64 generation; /* that names are of */
	u64 next_ns, last_ns; /* when the next look is due, and when the last one was */
	u64 seen_samples, seen_lost; /* by the recorder at the last look, and at this one: */
	u64 nr_samples, interval_ns;
	u64 nr_looks;
	double kernel_percent, user_percent, guest_kernel_percent, guest_user_percent;
	bool over; /* no more samples will come */
	bool frozen; /* what is shown stays */
	struct top_keep *keep; /* NULL: nothing is kept */
	struct annotate *hits; /* of a function that is looked at */
};

/* With everything above filled in, and the source prepared. 0, or negative errno with a diag. */
int top_begin(struct top *t, bool keeps) must_check;
void top_end(struct top *t);

/* Text or JSON, until `updates` or a signal. */
int top_print(struct top *t) must_check;
/* The browser, until the person leaves; -ENOTTY: there is no terminal. */
int top_browse(struct top *t) must_check;

/* Takes in what has come; waits for nothing. */
int top_step(struct top *t) must_check;
/* Whether it is time to look, or ids are others than those of the last look. */
bool top_is_due(const struct top *t);
/* What is shown becomes what is known now. fade: the older part weighs less afterwards. */
int top_look(struct top *t, bool fade) must_check;
/* In place of top_look(), to fold stacks: calls fn for each one since the last time, once all have names, and forgets them. */
int top_stacks(struct top *t, int (*fn)(void *ctx, const struct profile_live_stack *s),
	       void *ctx) must_check;
/* "99 Hz cpu-clock" */
void top_events_text(const struct top *t, struct strbuf *to);
