/* The kernel's clock: of the running one as it is told to programs, of a dump as its memory has it. */
#pragma once

#include "memory/kspace.h"

/* A number of 8 bytes of a dump's struct timekeeper, "offs_real". false: it is not there. */
bool kclock_member(struct kspace *k, const char *member, u64 *ret);
/* Monotonic nanoseconds; of a dump those of its last tick. false: not known. */
bool kclock_monotonic(struct kspace *k, u64 *ret);
/* false: not known. */
bool kclock_jiffies(struct kspace *k, u64 *ret);
