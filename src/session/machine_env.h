/* What a recording says about its machine, as a profile needs it: sockets of CPUs, names of cgroups, cgroup namespaces of
 * tasks, sizes of what was mapped. */
#pragma once

#include "analysis/profile.h"
#include "base/dict.h"
#include "base/vec.h"

/* A cgroup namespace, by the file that stands for it. */
struct cgroup_ns {
	u64 dev, ino;
};

/* From this time on, a task is in this one. */
struct cgroup_ns_change {
	u32 tid, ns; /* index into namespaces */
	u64 time;
	u64 place; /* among changes of one time */
};

struct machine_env {
	const struct source *src;
	VEC(s32) sockets;
	struct dict cgroup_of; /* id -> index into cgroups */
	VEC(const char *) cgroups;
	VEC(struct cgroup_ns) namespaces; /* sorted; the first one stands for none */
	VEC(struct cgroup_ns_change) ns_changes; /* by task, then time */
	VEC(u64) sizes; /* [image] */
	struct arena arena;
};

void machine_env_init(struct machine_env *e, const struct source *src);
void machine_env_done(struct machine_env *e);
/* Reads what the keys need (sockets: these in any case), and nothing for others. The source is prepared. */
int machine_env_read(struct machine_env *e, struct profile_config *cfg, bool sockets) must_check;
