/* How long functions took, from the function graph tracer's events of a trace. */
#pragma once

#include "session/tell.h"
#include "session/trace_answer.h"
#include "session/calls_text.h"

struct graph_calls {
	struct tell to;
	struct calls_view view; /* how it is shown; the rest is set here */
	struct graph_time *times; /* of graph_calls.c */
};

struct trace_answer graph_calls_answer(struct graph_calls *g);
void graph_calls_done(struct graph_calls *g);
