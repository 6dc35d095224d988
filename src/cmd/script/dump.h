/* script --per-event-dump: the lines of each event in a file of its own, INPUT.EVENT.dump. */
#pragma once

#include "base/diag.h"
#include "model/catalog.h"
#include "view/text_samples.h"

struct script_dump;

/* Nothing is left on failure. */
int script_dump_open(struct script_dump **ret, const struct catalog *c, const char *input,
		     struct diag *d) must_check;
const struct text_samples_outs *script_dump_outs(const struct script_dump *s);
/*
 * The files get their names, and a line about each goes to `to`; with err, what was written is thrown away. title: who has
 * written them. err, or what went wrong.
 */
int script_dump_close(struct script_dump *s, int err, const char *title, struct strbuf *to,
		      struct diag *d) must_check;
