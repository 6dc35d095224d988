/* Where each CPU's copy of the per-CPU section is, for kernels whose symbol list does not have it. */
#pragma once

#include "memory/kspace.h"

/* Of a variable in the section; false: BTF does not say. */
bool percpu_offset(struct kspace *k, const char *name, u64 *ret);
/* A CPU's copy of the section. -ENOENT: not found (offline, or BTF lacks what is needed). */
int percpu_base(struct kspace *k, u32 cpu, u64 *ret) must_check;
/* Which variable has a byte of the section. false: none, or BTF does not say. The name is borrowed from BTF. */
struct percpu_variable {
	const char *name;
	u64 offset, size; /* in the section */
};
bool percpu_variable_at(struct kspace *k, u64 offset, struct percpu_variable *ret);
/* Of the section; 0: BTF does not say. */
u64 percpu_section_bytes(struct kspace *k);
