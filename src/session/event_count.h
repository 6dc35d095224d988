/* Histograms of one event where the kernel makes none: the event is traced and counted here. */
#pragma once

#include "analysis/event_hist.h"
#include "session/tell.h"
#include "session/trace_answer.h"

struct event_count {
	struct event_hist_opts
		opts; /* the event, keys and the rest; who names symbols and tasks is set here */
	struct tell to;

	/* Of event_count.c. */
	struct source *src;
	struct event_hist *hist;
};

/* What is wrong with the words is told before anything is traced. 0 or negative errno with a diag. */
int event_count_check(const struct event_count *c) must_check;
/* The kernel's text, or JSON. */
struct trace_answer event_count_answer(struct event_count *c);
void event_count_done(struct event_count *c);
