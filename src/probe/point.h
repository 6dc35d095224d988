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
/*
 * The same for a place that event/ has found already: a symbol and offset of the kernel or a module, an offset in a binary. p->point is
 * not set. -EINVAL: the kernel has no way to write this path in a definition.
 */
int probe_point_plain(const struct event_probe *p, const char *group, struct probe_defs *defs,
		      struct diag *d) must_check;
