/* sonde stat report: counts that `stat record` kept. */
#include "cmd/stat/stat.h"

#include "cmd/app/commands.h"

static int report_run(struct app *app, void *opts, int argc, char **argv)
{
	struct stat_opts *o = opts;
	const struct tell to = app_tell(app);
	if (argc > 1) {
		vec_free(&o->words.list);
		return app_usage(app, "unexpected argument '%s': only one file at a time", argv[1]);
	}
	if (argc)
		o->input = argv[0];
	o->labels = &stat_option_names;
	o->json |= app->json;
	o->streams_unnamed = app->dialect->streams_unnamed;
	int err = stat_file_show(o, &to);
	vec_free(&o->words.list);
	return err ? app_fail(app, err) : APP_DONE;
}

/* clang-format off */
static const struct opt report_rows[] = {
	OPT_STR('i', "input", struct stat_opts, input, "FILE", "Read FILE (default: perf.data; '-': standard input)"),
	OPT_FLAG('A', "no-aggr", struct stat_opts, no_aggr, "One row per CPU"),
	OPT_FLAG(0, "per-core", struct stat_opts, per_core, "Aggregate by core"),
	OPT_FLAG(0, "per-die", struct stat_opts, per_die, "Aggregate by die"),
	OPT_FLAG(0, "per-socket", struct stat_opts, per_socket, "Aggregate by socket"),
	OPT_FLAG(0, "per-node", struct stat_opts, per_node, "Aggregate by NUMA node"),
	OPT_FLAG(0, "no-merge", struct stat_opts, no_merge, "One row per PMU instance"),
	OPT_STR('x', "field-separator", struct stat_opts, separator, "SEP", "Separate fields by this, for programs"),
	OPT_FLAG('j', "json-output", struct stat_opts, json, "One JSON object per row"),
	OPT_STR('o', "output", struct stat_opts, output, "FILE", "Write FILE instead of standard error"),
	OPT_FLAG(0, "metric-only", struct stat_opts, metric_only, "Only metrics, as columns"),
	OPT_FLAG('B', "big-num", struct stat_opts, big_num, "Group digits as in the locale (default)"),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example report_examples[] = {
	{ "stat report", "the counts in perf.data" },
	{ "stat report -i day.data --per-socket", "aggregated differently" },
	{ "stat report -i day.data -x,", "for a spreadsheet" },
	{ 0 },
};

const struct command command_stat_report = {
	.name = "report",
	.summary = "show the counts recorded by `stat record`",
	.usage = "[OPTIONS] [FILE]",
	.about = "Shows what `sonde stat record` or `perf stat record` wrote, on standard error "
		 "like stat itself. Counts per CPU can be aggregated differently than when they "
		 "were recorded.",
	.examples = report_examples,
	.opts = report_rows,
	.opts_size = sizeof(struct stat_opts),
	.mixed_words = true,
	.same_opts = true,
	.run = report_run,
};
