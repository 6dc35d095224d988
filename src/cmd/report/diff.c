/* sonde diff: what became heavier and what lighter from one recording to the next. */
#include "cmd/app/choose_opts.h"
#include "cmd/app/opt_rows.h"
#include "cmd/app/commands.h"
#include "session/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt diff_rows[] = {
	OPT_STR('c', "compute", struct diff_opts, compute, "HOW",
		"delta, delta-abs (default), ratio, wdiff:W1,W2"),
	OPT_STR('s', "sort", struct diff_opts, sort, "KEYS",
		"sort keys: comm pid cpu socket cgroup dso sym srcline srcfile parent ... as in "
		"report (dso,sym)"),
	OPT_UINT('o', "order", struct diff_opts, order, "N",
		 "sort by the difference to the N-th file (1); 0: by the baseline",
		 OPT_SEEN(struct diff_opts, order_given)),
	OPT_FLAG('b', "baseline-only", struct diff_opts, baseline_only,
		 "only rows that are in the baseline"),
	OPT_FLAG('p', "period", struct diff_opts, period, "show the compared periods"),
	OPT_FLAG('F', "formula", struct diff_opts, formula, "show how each value is computed"),
	OPT_STR('t', "field-separator", struct diff_opts, separator, "SEP",
		"separate columns by SEP instead of spaces; SEP in names becomes a dot"),
	OPT_FLAG('q', "quiet", struct diff_opts, quiet, "no comment lines above the table"),
	OPT_STR(0, "percentage", struct diff_opts, percentage, "relative|absolute",
		"what 100% means when rows are filtered: relative (what is shown) or absolute "
		"(everything, default)"),
	OPT_STR('C', "comms", struct diff_opts, choose.comms, "LIST",
		"only samples of these commands"),
	OPT_STR('d', "dsos", struct diff_opts, dsos, "LIST", "only in these libraries"),
	OPT_STR('S', "symbols", struct diff_opts, only, "LIST", "only in these functions"),
	OPT_STR(0, "pid", struct diff_opts, choose.pids, "LIST", "only samples of these processes"),
	OPT_STR(0, "tid", struct diff_opts, choose.tids, "LIST", "only samples of these threads"),
	OPT_STR(0, "cpu", struct diff_opts, choose.cpus, "LIST",
		"only samples from these CPUs: 0,2-3"),
	OPT_STR(0, "time", struct diff_opts, choose.time, "RANGES",
		"only samples in the time range FROM,UNTIL in seconds, or a part of the recording: "
		"10%/2; separate ranges for each file with :"),
	OPT_FLAG('f', "force", struct diff_opts, force, "accepted; file ownership is never checked",
		 .hidden = true),
	OPT_FLAG('m', "modules", struct diff_opts, modules,
		 "accepted; module symbols are always read", .hidden = true),
	OPT_FLAG('D', "dump-raw-trace", struct diff_opts, force,
		 "use sonde report -D to dump a file", .refused = true),
	OPT_FLAG(0, "cycles-hist", struct diff_opts, force,
		 "Cycles of basic blocks cannot be compared", .refused = true),
	OPT_FLAG(0, "stream", struct diff_opts, force,
		 "Branch streams cannot be compared: use sonde diff -s sym to compare functions",
		 .refused = true),
	SYMBOL_OPT_ROWS(struct diff_opts, symbols),
	OPT_END(),
};

static const struct opt_example diff_examples[] = {
	{ "diff", "./perf.data.old against ./perf.data: what the last change did" },
	{ "diff before.data after.data", "the biggest changes first" },
	{ "diff -c ratio -s dso A B C", "each against A, as ratios, by library" },
	{ "diff -q -t , -p A B", "for a spreadsheet, with periods" },
	{ 0 },
};

static int parse_compute(struct diff *d, const char *word)
{
	static const struct {
		const char *word;
		enum diff_compute compute;
	} ways[] = { { "delta", DIFF_DELTA },
		     { "delta-abs", DIFF_DELTA_ABS },
		     { "ratio", DIFF_RATIO },
		     { "wdiff", DIFF_WDIFF } };
	size_t len = strcspn(word, ":");
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (strlen(ways[i].word) != len || strncmp(ways[i].word, word, len))
			continue;
		d->compute = ways[i].compute;
		if (d->compute != DIFF_WDIFF)
			return word[len] ? -EINVAL : 0;
		char *end;
		if (!word[len])
			return -EINVAL;
		d->w1 = strtoll(word + len + 1, &end, 10);
		if (*end != ',')
			return -EINVAL;
		d->w2 = strtoll(end + 1, &end, 10);
		return *end || !d->w1 || !d->w2 ? -EINVAL : 0;
	}
	return -EINVAL;
}

/* The keys of report that rows of two files can be matched by. */
static int parse_sort(struct profile_config *cfg, const char *text)
{
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ", ");
		char word[32];
		if (len >= sizeof(word) || cfg->nr_keys + 4 >= PROFILE_FIELDS_MAX)
			return -EINVAL;
		memcpy(word, at, len);
		word[len] = '\0';
		int key = len ? profile_key_find(word) : 0;
		if (key < 0 || profile_key_is_measure((enum profile_key)key) ||
		    profile_key_is_branch((enum profile_key)key))
			return -EINVAL;
		if (len)
			cfg->keys[cfg->nr_keys++] = (enum profile_key)key;
		at += len + (at[len] != '\0');
	}
	return cfg->nr_keys ? 0 : -EINVAL;
}

/* Whether every row would say the same in this column. */
static bool says_nothing(const struct diff_opts *o, enum profile_key key)
{
	const char *list = key == PROFILE_KEY_COMM  ? o->choose.comms
			   : key == PROFILE_KEY_DSO ? o->dsos
			   : key == PROFILE_KEY_SYM ? o->only
						    : NULL;
	return list && !strchr(list, ',') && strncmp(list, "file:", 5) != 0;
}

/* Such columns are left out, unless none would remain. */
static void elide(struct profile_config *cfg, const struct diff_opts *o)
{
	enum profile_key kept[PROFILE_FIELDS_MAX];
	u32 nr = 0;
	for (u32 i = 0; i < cfg->nr_keys; i++)
		if (!says_nothing(o, cfg->keys[i]))
			kept[nr++] = cfg->keys[i];
	if (!nr)
		return;
	memcpy(cfg->keys, kept, nr * sizeof(*kept));
	cfg->nr_keys = nr;
}

static int diff_run(struct app *app, void *opts, int argc, char **argv)
{
	struct diff_opts *o = opts;
	struct diff d = { .tell = app_tell(app),
			  .names = app_symbols(app),
			  .choose = choose_parse,
			  .opts = o,
			  .compute = DIFF_DELTA_ABS,
			  .order = 1,
			  .cfg = { .show_period = true } };
	choose_sides(&o->choose, app);
	static const char *const usual[] = { "perf.data.old", "perf.data" };
	if (o->compute && parse_compute(&d, o->compute))
		return app_usage(app,
				 "-c: invalid method '%s' (delta, delta-abs, ratio or wdiff:W1,W2)",
				 o->compute);
	if (parse_sort(&d.cfg, o->sort ? o->sort : "dso,sym"))
		return app_usage(app, "-s: invalid sort key '%s' (comm, pid, cpu, dso, sym ...)",
				 o->sort);
	if (o->percentage && strcmp(o->percentage, "relative") && strcmp(o->percentage, "absolute"))
		return app_usage(app, "--percentage: expected relative or absolute, not '%s'",
				 o->percentage);
	if (o->separator && (!*o->separator || *o->separator == '.'))
		return app_usage(app,
				 "-t: '%s' cannot separate columns because it occurs in numbers",
				 o->separator);
	elide(&d.cfg, o);
	if (argc > DIFF_FILES_MAX)
		return app_usage(app, "at most %d recordings can be compared", DIFF_FILES_MAX);
	if (argc == 1 && access(usual[0], F_OK))
		return app_usage(app, "no second recording: there is no ./%s to compare '%s' with",
				 usual[0], argv[0]);
	d.nr = argc < 2 ? 2 : (u32)argc;
	d.inputs[0].path = argc > 1 ? argv[0] : usual[0];
	d.inputs[1].path = argc > 1 ? argv[1] : argc ? argv[0] : usual[1];
	for (u32 i = 2; i < d.nr; i++)
		d.inputs[i].path = argv[i];
	if (o->order_given && o->order >= d.nr)
		return app_usage(app, "-o %llu: valid files are 0 to %u",
				 (unsigned long long)o->order, d.nr - 1);
	if (o->order_given)
		d.order = (u32)o->order;
	int err = diff_files(&d);
	return err ? app_fail(app, err) : APP_DONE;
}

const struct command command_diff = {
	.name = "diff",
	.group = "How did it develop",
	.summary = "compare two or more recordings",
	.usage = "[OPTIONS] [OLD] [NEW...]",
	.about = "Reads perf.data files (ours or perf's) and prints, for each function, its share "
		 "in the first one (the baseline) and how that changed in the others, biggest "
		 "change first. Without arguments it compares perf.data.old and perf.data.",
	.examples = diff_examples,
	.opts = diff_rows,
	.opts_size = sizeof(struct diff_opts),
	.mixed_words = true,
	.run = diff_run,
};
