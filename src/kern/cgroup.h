/* Control groups as the kernel's performance events know them: a directory of v1's perf_event hierarchy, or of v2. */
#pragma once

#include "base/diag.h"
#include "base/vec.h"
#include "kern/sysroot.h"

/*
 * The folder the groups are below, without a leading slash ("sys/fs/cgroup"), into to. v1's perf_event hierarchy when it is
 * mounted (then only it counts), else v2. -ENOENT with a diag: neither is.
 */
int cgroup_root(const struct sysroot *r, struct strbuf *to, struct diag *d) must_check;
/* name: a path below the root, "/" for the root itself. A file descriptor, or negative errno with a diag. */
int cgroup_open(const struct sysroot *r, const char *name, struct diag *d) must_check;

struct cgroup_names {
	VEC(char *) list;
};
/* Adds the groups whose path (without the leading slash) fits the glob, parents before children. */
int cgroup_match(const struct sysroot *r, const char *glob, struct cgroup_names *to,
		 struct diag *d) must_check;
void cgroup_names_done(struct cgroup_names *n);
/* All groups, parents first: the number that samples have, and the path ("/" for the root). 0, fn's result, or negative errno. */
int cgroup_each(const struct sysroot *r, int (*fn)(void *ctx, u64 id, const char *path),
		void *ctx) must_check;

/* A group of the unified hierarchy (v2) as BPF programs know it. */
struct cgroup_place {
	u64 id;
	u32 level; /* 0: the root */
};
/*
 * name: a path below where the hierarchy is mounted, or of a directory in it ("/sys/fs/cgroup/system.slice"). Negative errno with a
 * diag. In a cgroup namespace levels count from its own root, as names do.
 */
int cgroup_find_v2(const struct sysroot *r, const char *name, struct cgroup_place *ret,
		   struct diag *d) must_check;
