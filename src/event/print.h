/* Events as text: the canonical spelling, and the key=value form that perf's attr tests read (PERF_TEST_ATTR). */
#pragma once

#include "event/event.h"

/*
 * Appends a spelling that means the same event on this machine, whatever the person wrote: "cpu-cycles:u",
 * "cpu/config=0x13c/u", "sched:sched_switch/next_pid==0/", "mem:0x1000/4:rw".
 */
void event_print(const struct event_desc *e, struct strbuf *to);

/* How an event was opened, for the dump. */
struct event_opened {
	int fd;
	int group_fd;
	int cpu;
	int pid;
	unsigned long flags;
};
/* The text of the file that perf writes into $PERF_TEST_ATTR as event-TYPE-CONFIG-FD, byte for byte. */
void event_print_attr(const struct perf_event_attr *a, const struct event_opened *o,
		      struct strbuf *to);
