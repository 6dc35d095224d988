/*
 * Probes in the running kernel: kprobe_events, uprobe_events, dynamic_events and their counts. Files are opened for appending only:
 * opened otherwise, they lose everybody's probes.
 */
#pragma once

#include "kern/tracefs.h"
#include "probe/probe.h"

struct probe_listed {
	char letter; /* p r f t e; 's' (synthetic) is not listed */
	const char *group, *event;
	const char *place; /* "vfs_read+5", "/bin/bash:0x4710", as the kernel prints it */
	const char *args; /* " a=%di", with the blank; "" for none */
	const char *file; /* that lists it: what a removal is written to */
	bool has_hits, has_misses;
	u64 hits, misses;
};

struct probe_listing {
	struct arena arena;
	VEC(struct probe_listed) at;
};

/* Everything that dynamic_events (or the two older files) lists, in the kernel's order. -ENOTSUP: a kernel without probes. */
int probe_list(const struct tracing *t, struct probe_listing *ret) must_check;
void probe_listing_done(struct probe_listing *l);
const struct probe_listed *probe_listing_find(const struct probe_listing *l, const char *group,
					      const char *event);
/* Events that a pattern of --del means: "GROUP:EVENT", "GROUP/EVENT", "EVENT" of any group, all with globs. */
bool probe_listed_matches(const struct probe_listed *p, const char *pattern);

/* The file that takes this definition; NULL: this kernel has none for it. */
const char *probe_file_for(const struct tracing *t, char letter, bool in_binary);
/* The same of a line; -: finds the probe that it names. */
const char *probe_file_for_line(const struct tracing *t, const struct probe_listing *now,
				const char *line);

/*
 * Adds all or none. title: the command line, for who finds the journal. On failure the diag says which was refused, and why; a run that is
 * killed half-way is undone by its watchdog.
 */
int probe_add(const struct tracing *t, const struct probe_defs *defs, const char *title,
	      struct diag *d) must_check;
/* Removes one. -EBUSY: somebody uses it; -ENOENT: it has gone. With a diag. */
int probe_delete(const struct tracing *t, const struct probe_listed *p, struct diag *d) must_check;

struct journal;
/* One definition through a journal of the caller's; the undoing line is in it. def has names, or is a raw line that has. */
int probe_define(struct journal *j, const struct tracing *t, const struct probe_def *def,
		 struct diag *d) must_check;
