/*
 * Histograms that the kernel makes (hist triggers), in an instance of our own; all writes go through the journal. The time between two
 * events is a synthetic event.
 */
#pragma once

#include "base/strbuf.h"
#include "kern/journal.h"
#include "tracing/sql.h"

struct ftrace_hists {
	const struct tracing *t; /* borrowed */
	struct diag *diag; /* borrowed */
	struct journal *j; /* NULL: not open */
	char folder[300], name[128]; /* of the instance */
	char shown[600]; /* the file with the result */
};

/* As the kernel's triggers have them; NULL: not said. */
struct ftrace_hist_words {
	const char *event, *keys, *values, *sort, *filter, *size;
	const char *trigger; /* instead of keys and the rest */
	const char *latency, *by; /* instead of an event: "A,B", and the field that both share */
};

/* title: our command line. dry: takes what would be written; NULL: it is written. ftrace_hists_close() undoes. */
int ftrace_hists_open(struct ftrace_hists *h, const struct tracing *t, const char *title,
		      struct strbuf *dry, struct diag *d) must_check;
/* Behind it, counting has begun. */
int ftrace_hists_begin(struct ftrace_hists *h, const struct ftrace_hist_words *o) must_check;
int ftrace_hists_stop(struct ftrace_hists *h) must_check;
void ftrace_hists_close(struct ftrace_hists *h);

/* What a query says exists: its events, which get their whole names, and their fields. Only h->t and h->diag are used. */
int ftrace_hists_check(const struct ftrace_hists *h, struct ftrace_sql *q) must_check;
/* The triggers of a query, instead of ftrace_hists_begin(). name: of the synthetic event. */
int ftrace_hists_query(struct ftrace_hists *h, const struct ftrace_sql *q,
		       const char *name) must_check;
/* The one event that a text names. Only h->t and h->diag are used. */
int ftrace_hists_event(const struct ftrace_hists *h, const char *text, char *system, char *event,
		       size_t size) must_check;
