/* Which tracing buffers a command is about: the top one, or those of -B, or all (-a); -t adds the top one to those. */
#pragma once

#include "cmd/ftrace/setup.h"

struct ftrace_which {
	struct opt_list names;
	bool all, top;
};

#define FTRACE_WHICH_ROWS(T, f)                                                                    \
	OPT_LIST('B', "buffer", T, f.names, "NAME", "An instance, instead of the top buffer"),     \
		OPT_FLAG('a', "all", T, f.all, "All instances, but not the top buffer"),           \
		OPT_FLAG('t', "top", T, f.top, "The top buffer too (with -B or -a)")

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
