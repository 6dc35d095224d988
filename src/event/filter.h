/*
 * A tracepoint's filter is the kernel's to parse, but the kernel only says EINVAL: the names of fields and the shape are
 * checked here first, so that the fault can be pointed at. Grammar: Documentation/trace/events.rst, "Event filtering".
 */
#pragma once

#include "event/spec.h"
#include "kern/tracefs.h"

struct filter_fault {
	struct event_span at; /* in the filter's text */
	char message[160];
	char meant[64]; /* "": nothing close */
};

/*
 * 0: nothing wrong that can be seen from here (also when the format cannot be read). -ENOENT: the event has no such field;
 * -EINVAL: not a filter; both with *fault. -ENOMEM.
 */
int filter_check(const struct tracing *t, const char *system, const char *event, const char *filter,
		 struct filter_fault *fault) must_check;
