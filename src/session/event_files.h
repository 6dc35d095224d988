/* script --per-event-dump: the lines of each event in a file of its own, INPUT.EVENT.dump. */
#pragma once

#include "base/diag.h"
#include "model/catalog.h"
#include "view/text_samples.h"

struct event_files;

/* Nothing is left on failure. */
int event_files_open(struct event_files **ret, const struct catalog *c, const char *input,
		     struct diag *d) must_check;
const struct text_samples_outs *event_files_outs(const struct event_files *s);
/*
 * The files get their names, and a line about each goes to `to`; with err, what was written is thrown away. title: who has
 * written them. err, or what went wrong.
 */
int event_files_close(struct event_files *s, int err, const char *title, struct strbuf *to,
		      struct diag *d) must_check;
