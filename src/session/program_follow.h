/*
 * Which process has mapped what, for a script that prints addresses of processes: followed from its start on, so that stacks of processes
 * that have ended get their names. Records of forks, execs and mappings of all CPUs come through rings of perf.
 */
#pragma once

#include "base/loop.h"
#include "bpf/naming.h"
#include "kern/sysroot.h"
#include "model/program.h"

struct program_follow;

/* Whether the program sends or stores an address or a stack of a process. */
bool program_follow_is_needed(const struct program *p);

/* naming is told from now on, and what processes have mapped already. It has to outlive ret. -EACCES, -EPERM: not allowed. */
int program_follow_open(struct program_follow **ret, const struct sysroot *root,
			struct naming *naming, struct loop *l) must_check;
void program_follow_close(struct program_follow *f); /* before the loop is freed; NULL is allowed */
/* Tells all that has come so far. */
int program_follow_round(struct program_follow *f) must_check;
