/* Where each CPU's copy of the per-CPU section is, for kernels whose symbol list does not have it. */
#pragma once

#include "memory/kspace.h"

/* Of a variable in the section; false: BTF does not say. */
bool percpu_offset(struct kspace *k, const char *name, u64 *ret);
/* A CPU's copy of the section. -ENOENT: not found (offline, or BTF lacks what is needed). */
int percpu_base(struct kspace *k, u32 cpu, u64 *ret) must_check;
