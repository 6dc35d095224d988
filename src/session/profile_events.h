/* What is traced for a profile of tasks (analysis/event_times). */
#pragma once

#include "base/opts.h"
#include "tracing/setup.h"

/*
 * The events that a profile is made of, as far as this kernel has them, become part of the first buffer of f; stacks with those of the
 * scheduler; one level of function_graph, unless a tracer is chosen. only_given: the hooks' events alone.
 * names: of the hooks' events, until f is used up.
 */
int profile_events(struct ftrace_setup *f, const struct opt_list *hooks, bool only_given,
		   struct arena *names, struct diag *d) must_check;
