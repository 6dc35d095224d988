/* Physical addresses of the kernel's linear mapping. */
#pragma once

#include "memory/kspace.h"

/*
 * Of the running kernel by the distance between the two, for which /sys/kernel/vmcoreinfo says where a text lies that is easy to
 * recognise; of a dump by its page tables. false: not found. addr must be in the linear mapping: only the caller knows.
 */
bool kphys_find(struct kspace *k, u64 addr, u64 *ret);
