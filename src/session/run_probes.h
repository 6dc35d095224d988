/*
 * Probes for the time of a run: what -e 'kprobe:tcp_sendmsg size' defines before the events are opened, and takes away after they are
 * closed; also after SIGKILL, by the journal's watchdog.
 */
#pragma once

#include "event/event.h"
#include "kern/journal.h"
#include "probe/kernel.h"
#include "probe/misses.h"

struct run_probes {
	struct event_probe_ops ops; /* for event_env.probes */
	const char *title; /* the command, for who finds the journal */
	struct tracing tracing; /* opened with the first */
	struct journal *journal; /* NULL: nothing was defined */
	struct probe_defs defs;
	char group[80];
	struct probe_misses missed_before; /* by the probes that are watched */
};

/* p must stay where it is. */
void run_probes_init(struct run_probes *p, const char *title);
/*
 * Prepares probes for tasks that will hand them on to their children. perf_event_open() is told the place of a probe by a pointer to its
 * name, which the kernel follows once more for every child, in the memory of the program that forks: fork() then fails with EFAULT. So
 * such probes are defined by name. Where that is not possible, children are left out, with a warning. Before the events are opened.
 */
int run_probes_inherit(struct run_probes *p, struct event_list *l, struct diag *d) must_check;
/* Remembers what the probes among the events have missed so far. */
void run_probes_watch(struct run_probes *p, struct event_list *l);
/* Warns of what they missed since. Before run_probes_close(). */
void run_probes_report(const struct run_probes *p, struct event_list *l, struct diag *d);
/* Undoes all. The events must be closed. */
void run_probes_close(struct run_probes *p, struct diag *d);
