/* The options of `sonde report`; session/report.h does what they ask for. */
#pragma once

#include "cmd/app/app.h"
#include "session/report.h"

extern const struct opt report_rows[];
extern const struct opt_example report_examples[];
void report_defaults(void *opts);
/* Words after "--sort comm," that belong to it: how many, or -ENOMEM. */
int report_take_sort(struct report_opts *o, int argc, char **argv) must_check;
/* -g graph,0.5,caller: words in any order. */
int report_graph_words(struct report_graph_opts *g, const char *value, struct diag *d) must_check;
/* All of --sort as one text, in `to` and as r->sort. */
int report_join_sort(struct report *r, struct strbuf *to) must_check;
/* Mistakes that can be told before the recording is opened. 0, or a usage status. */
int report_check(struct app *app, struct report *r) must_check;
