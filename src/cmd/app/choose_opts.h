/* What a user is told about the options that choose samples: --time, --cpu, --comms, --pid, --tid, --switch-on, --switch-off. */
#pragma once

#include "cmd/app/app.h"
#include "session/choose.h"

/* What needs no recording, so that a mistake is told before one is opened. 0, or a usage status. */
int choose_check(const struct choose_opts *o, struct app *app) must_check;
/* Whether samples of virtual machines are shown, unless the command chose: perf shows them only when asked to. */
void choose_sides(struct choose_opts *o, const struct app *app);
/* The source is opened, and prepared if it is a stream. 0 or negative errno with a diag. */
int choose_parse(struct choose *c, const struct choose_opts *o, const struct source *src,
		 struct diag *d) must_check;
/* Nothing fits: says so, and what there would have been. only: further options that choose, NULL: none were given. */
void choose_say_none(const struct choose_opts *o, const char *only, const struct source *src,
		     struct diag *d);
/* The source is prepared. 0, or -EINVAL with a diag: there is no such event, which is wrong usage. */
int choose_gate(const struct gate_opts *o, const struct source *src, struct sample_gate *ret,
		struct diag *d) must_check;
