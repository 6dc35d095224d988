/*
 * Which system calls are shown, by what they were called with and how they ended:
 *
 *	filename ~ "*.conf"            count > 4096 && ret < count            ret == -ENOENT || duration > 10
 *	flags & CREAT                  fd ~ "socket:*"                        COMM == "nginx"
 *
 * Expressions of base/expr over the arguments of a call, by the kernel's names, and over ret, error ("ENOENT"; "": none), duration
 * (milliseconds), CALL, COMM, PID, TID. A comparison with what a call does not have is false. An argument that is compared with a string is the
 * string that it points to, the file that a descriptor refers to, or flags as they are printed; names of flags and errors stand for their values.
 *
 * A call is asked about when it has ended.
 */
#pragma once

#include "base/expr.h"
#include "session/syscall_table.h"

struct call_filter {
	struct expr expr;
	bool *as_text; /* [ident] */
	struct syscall_set of; /* these calls */
	bool all; /* every call */
};

struct call_filters {
	VEC(struct call_filter) list; /* all that are for a call must hold */
	VEC(const char *) paths; /* patterns: one must match a path or descriptor */
};

/* What is known of calls besides themselves. */
struct call_filter_env {
	const char *(*fd_name)(const void *ctx, s32 pid, s32 fd); /* NULL: not known */
	const void *ctx;
};

void call_filters_done(struct call_filters *f);
/* of: the calls it is for; NULL: all. -EINVAL with a diag that points into the text, -ENOMEM. */
int call_filters_add(struct call_filters *f, struct syscall_table *t, const struct syscall_set *of,
		     const char *text, struct diag *d) must_check;
/* A glob pattern for files; borrowed. */
int call_filters_add_path(struct call_filters *f, const char *pattern) must_check;
/* Whether they need what arguments point to (bpf/capture), and which name does. NULL: they do not. */
const char *call_filters_need_strings(const struct call_filters *f, struct syscall_table *t);
/* Whether it depends on them if a call is shown. */
bool call_filters_concern(const struct call_filters *f, u64 nr);
/* ended: its result is known. */
bool call_filters_keep(const struct call_filters *f, u64 nr, const struct syscall_thread *c,
		       bool ended, const struct call_filter_env *env);
