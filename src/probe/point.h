/* Probes of the event language ("uprobe:./a.out:main.c:42 i") as definitions with names: for who runs them for a while. */
#pragma once

#include "event/event.h"
#include "probe/probe.h"

/*
 * Appends a definition for each place, in this group. p->point is set. fprobe: by ftrace (f) instead of a breakpoint. Errors as
 * probe_find().
 */
int probe_point_find(const struct event_probe *p, bool fprobe, const char *group, const char *root,
		     struct probe_defs *defs, struct diag *d) must_check;
