/* CPUs of the system: which exist, which are online. The rest of the topology is in kern/machine. */
#pragma once

#include "base/cpuset.h"
#include "kern/sysroot.h"

/* Those that run now. Where /sys is not mounted: 0..n-1 by sysconf(). */
int cpu_online(const struct sysroot *r, struct cpuset *ret) must_check;
/* Highest CPU number that is or may be plugged in, plus one. */
u32 cpu_nr_present(const struct sysroot *r);
