#include "session/graph_calls.h"

#include <errno.h>

static const char *symbol(void *ctx, u64 addr, u64 *offset)
{
	return source_symbol(ctx, 0, addr, offset);
}

static int make_sink(void *ctx, struct source *src, struct sink **ret)
{
	struct graph_calls *g = ctx;
	(void)src;
	g->times = graph_time_new();
	if (!g->times)
		return -ENOMEM;
	*ret = graph_time_sink(g->times);
	return 0;
}

/* What the numbers do not hold. */
static void say_missing(const struct graph_calls *g)
{
	struct diag *d = g->to.diag;
	if (!graph_time_nr_funcs(g->times)) {
		diag_warn(d, "the file has no function graph events");
		diag_hint(d, "record them: sonde ftrace record -p function_graph COMMAND");
	}
	if (graph_time_nr_gaps(g->times))
		diag_warn(d, "events were lost %llu times: calls across a gap are not counted",
			  (unsigned long long)graph_time_nr_gaps(g->times));
	if (graph_time_nr_headless(g->times))
		diag_note(
			d, "%llu calls began before the recording: they are counted, but are not in the tree",
			(unsigned long long)graph_time_nr_headless(g->times));
	if (graph_time_nr_open(g->times))
		diag_note(d, "%llu calls did not end during the recording: they are not counted",
			  (unsigned long long)graph_time_nr_open(g->times));
}

static int show(void *ctx, struct source *src)
{
	struct graph_calls *g = ctx;
	g->view.times = g->times;
	g->view.to = g->to.out;
	g->view.json = g->to.json;
	g->view.symbol = symbol;
	g->view.ctx = src;
	int err = text_calls(&g->view);
	if (!err)
		say_missing(g);
	return err;
}

struct trace_answer graph_calls_answer(struct graph_calls *g)
{
	return (struct trace_answer){ .sink = make_sink, .show = show, .ctx = g };
}

void graph_calls_done(struct graph_calls *g)
{
	graph_time_free(g->times);
	g->times = NULL;
}
