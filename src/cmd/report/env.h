/* What a recording says about its machine, as a profile needs it: sockets of CPUs, names of cgroups, sizes of what was mapped. */
#pragma once

#include "analysis/profile.h"
#include "base/dict.h"
#include "base/vec.h"

struct report_env {
	const struct source *src;
	VEC(s32) sockets;
	struct dict cgroup_of; /* id -> index into cgroups */
	VEC(const char *) cgroups;
	VEC(u64) sizes; /* [image] */
	struct arena arena;
};

void report_env_init(struct report_env *e, const struct source *src);
void report_env_done(struct report_env *e);
/* Reads what the keys need (sockets: these in any case), and nothing for others. The source is prepared. */
int report_env_read(struct report_env *e, struct profile_config *cfg, bool sockets) must_check;
