/*
 * What happens at the top-level buffer while a run traces in an instance of its own. Programs know only the top-level files: they
 * write 0 to its tracing_on when they have seen enough, and text to its trace_marker. The switch is followed; markers arrive
 * through the instance's option copy_trace_marker, and where the kernel lacks it a warning says how many entries are missing.
 */
#pragma once

#include "base/cpuset.h"
#include "base/loop.h"
#include "tracing/setup.h"

struct ftrace_top_watch {
	struct ftrace_setup *s; /* borrowed; NULL: not opened */
	const struct cpuset *cpus;
	struct loop *loop;
	struct loop_source *timer; /* only while the switch is off */
	int fd; /* of the top-level tracing_on; -1: it cannot be read */
	bool on; /* at the last look */
	bool has_command;
	bool stopped; /* it was switched off and the run ended, or waited */
	bool counts; /* markers do not reach us */
	u64 written; /* to the top-level buffer, before we began */
};

/* When tracing is on and before the command starts. has_command: the run ends with it, else with the switch. */
void ftrace_top_watch_open(struct ftrace_top_watch *w, struct ftrace_setup *s,
			   const struct cpuset *cpus, struct loop *loop, bool has_command);
/* To be called now and then: follows the switch. 1: the run ends, 0, or negative errno with a diag. */
int ftrace_top_watch_poll(struct ftrace_top_watch *w) must_check;
/* Says what was missed. */
void ftrace_top_watch_close(struct ftrace_top_watch *w);
