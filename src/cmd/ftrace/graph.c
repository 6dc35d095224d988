/* `sonde ftrace graph`: what the function graph tracer recorded, added up: a row for each function, or the tree of calls. */
#include "base/cpuset.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "session/graph_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* By enum calls_sort. */
static const char *const sort_words[] = { "total", "self", "calls", "avg", "max", "name", NULL };

struct graph_opts {
	const char *input;
	const char *cpus;
	int sort; /* enum calls_sort */
	bool tree;
	bool csv;
	const char *percent;
	u64 workers;
};

static const struct opt rows[] = {
	OPT_STR('i', "input", struct graph_opts, input, "FILE", "read FILE instead of trace.dat"),
	OPT_ENUM('s', "sort", struct graph_opts, sort, "KEY",
		 "sort rows by: total, self, calls, avg, max, name", sort_words),
	OPT_FLAG('T', "tree", struct graph_opts, tree, "call tree with the time spent on each path"),
	OPT_STR(0, "percent-limit", struct graph_opts, percent, "PERCENT",
		"hide branches of the tree below this percentage (0.5)"),
	OPT_FLAG(0, "csv", struct graph_opts, csv, "comma-separated values"),
	OPT_STR(0, "cpu", struct graph_opts, cpus, "LIST", "only these CPUs: 0,2-5"),
	OPT_UINT(0, "threads", struct graph_opts, workers, "N",
		 "number of threads (default: one per CPU)", .hidden = true),
	OPT_END(),
};

static const struct opt_example examples[] = {
	{ "ftrace graph", "how long each function in trace.dat took" },
	{ "ftrace graph -s self boot.dat", "by time in the function itself" },
	{ "ftrace graph --tree", "the call tree" },
	{ "ftrace graph --json | jq '.functions[0]'", "machine-readable output" },
	{ 0 },
};

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct graph_opts *o = opts;
	struct cpuset cpus;
	double limit = 0.5;
	char *end = NULL;
	if (argc > 1 || (argc && o->input))
		return app_usage(app, "unexpected argument '%s': only one file at a time",
				 argv[argc - 1]);
	if (o->cpus && cpuset_parse_list(o->cpus, &cpus, &app->diag))
		return app_usage_said(app);
	if (o->percent &&
	    ((limit = strtod(o->percent, &end)) < 0 || limit > 100 || *end || end == o->percent))
		return app_usage(app, "--percent-limit: invalid percentage '%s'", o->percent);
	const char *path = o->input ? o->input : argc ? argv[0] : "trace.dat";
	struct graph_calls g = { .to = { &app->out, &app->diag, app->json },
				 .view = { .sort = (enum calls_sort)o->sort,
					   .csv = o->csv,
					   .tree = o->tree,
					   .limit = limit } };
	struct trace_answer a = graph_calls_answer(&g);
	a.cpus = o->cpus ? &cpus : NULL;
	int err = trace_answer_file(&a, path, (unsigned)o->workers, &app->diag);
	graph_calls_done(&g);
	return err ? app_fail(app, err) : APP_DONE;
}

const struct command command_ftrace_graph = {
	.name = "graph",
	.summary = "show how long functions took, from the function graph tracer",
	.usage = "[OPTIONS] [FILE]",
	.about = "Adds up what the function graph tracer recorded: calls, time with and without "
		 "callees, average and longest call. For recursive functions, total counts the "
		 "outermost call.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct graph_opts),
	.mixed_words = true,
	.run = run,
};
