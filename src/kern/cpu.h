/* CPUs of the system: which exist, which are online. The rest of the topology is in kern/machine. */
#pragma once

#include "base/cpuset.h"
#include "kern/sysroot.h"

/* Those that run now. Where /sys is not mounted: 0..n-1 by sysconf(). */
int cpu_online(const struct sysroot *r, struct cpuset *ret) must_check;
/* Highest CPU number that is or may be plugged in, plus one. */
u32 cpu_nr_present(const struct sysroot *r);

/*
 * Going to a CPU before asking its counters something spares it an interrupt each time, and the kernel a case it gets wrong
 * (6.18: a cgroup's event that is switched on from afar while the group runs there has run "since boot"). Where a cpuset
 * forbids it we stay; the interrupts then do it.
 */
struct cpu_visit {
	struct cpuset home;
	bool away;
};
/* cpu -1: nowhere in particular. */
void cpu_visit(struct cpu_visit *v, int cpu);
void cpu_visit_end(struct cpu_visit *v);
