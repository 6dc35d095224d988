/*
 * Where tasks spend their time (analysis/event_times), as trace-cmd profile tells it, or with a table first and times with units:
 *
 *	task: sleep-1121
 *	  On CPU: 1200345 (3) Blocked: 1000513242 (1) Preempted: 234559 (2) Woken: 43405 (1)
 *	  Event: sched_switch:S (1) Total: 1000513242 Avg: 1000513242 Max: 1000513242(ts:12.345678) Min:1000513242(ts:12.345678)
 *	          |
 *	          + schedule (0xffffffff816c23b9)
 *	              100% (1) time:1000513242 max:1000513242(ts:12.345678) min:1000513242(ts:12.345678) avg:1000513242
 *	               do_nanosleep (0xffffffff816c4f1c)
 */
#pragma once

#include "analysis/event_times.h"
#include "base/strbuf.h"

struct event_times_view {
	const struct event_times *times; /* finished */
	struct strbuf *to;
	bool json;
	bool human; /* a table first, times with units */
	u32 nr_cpus;
	/* Only these tasks, and with children those that have events of their own; NULL: all. */
	const s32 *pids;
	size_t nr_pids;
	bool children;
	void *ctx;
	const char *(*comm_of)(void *ctx, s64 task); /* never NULL */
	const char *(*symbol)(void *ctx, u64 addr); /* NULL: not known */
};

int times_text(const struct event_times_view *v) must_check;
