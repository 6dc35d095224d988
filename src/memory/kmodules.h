/* The kernel's list of modules, as its memory has it. */
#pragma once

#include "memory/walk.h"

struct kmodule {
	u64 addr; /* of its struct module */
	char name[64];
	u64 text;
	u64 size; /* of all its parts */
};

typedef int (*kmodule_fn)(void *ctx, const struct kmodule *module);
/* Each one; fn as a walk_fn. -ENOENT with a diag: the symbol list has no `modules`, or BTF lacks a member. */
int kmodules_each(struct kspace *k, kmodule_fn fn, void *ctx, struct walk_result *ret) must_check;
