/* Which tracing buffers are meant: the top one, or those named, or all; the top one may be added to those. */
#pragma once

#include "base/opts.h"
#include "tracing/setup.h"

struct ftrace_which {
	struct opt_list names;
	bool all, top;
};

/* fn(ctx, folder, name) for each; folder is "" or "instances/NAME/", name "" for the top one. Stops at a negative result. */
int ftrace_which_each(const struct ftrace_which *w, const struct tracing *t,
		      int (*fn)(void *ctx, const char *folder, const char *name), void *ctx,
		      struct diag *d) must_check;
/* Names of all instances, sorted, in the arena; negative errno. */
struct ftrace_names {
	struct arena arena;
	VEC(const char *) list;
};
int ftrace_instances(const struct tracing *t, struct ftrace_names *ret) must_check;
void ftrace_names_done(struct ftrace_names *n);
