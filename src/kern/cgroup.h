/* Cgroups by name, wherever they are mounted: the perf_event hierarchy of version 1, else version 2. */
#pragma once

#include "base/diag.h"
#include "kern/sysroot.h"

/* A descriptor of the folder of the group ("" or "/": of all), or negative errno with a diag. */
int cgroup_open(const struct sysroot *r, const char *name, struct diag *d) must_check;
