/* sonde diff: what became heavier and what lighter from one recording to the next. */
#include "cmd/report/diff.h"
#include "cmd/app/choose_opts.h"
#include "cmd/app/opt_rows.h"
#include "cmd/app/commands.h"
#include "session/recording.h"
#include "session/symbols.h"
#include "stream/replay_perf.h"
#include "view/text_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt diff_rows[] = {
	OPT_STR('c', "compute", struct diff_opts, compute, "HOW",
		"delta, delta-abs (usual), ratio, wdiff:W1,W2"),
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

/* --time 10%/1:10%/2 is a range for each file. */
static const char *time_of_file(struct diff *d, u32 file)
{
	const char *at = d->opts->choose.time;
	if (!at || !strchr(at, ':'))
		return at;
	for (u32 i = 0; i < file && at; i++)
		at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL;
	return at && strcspn(at, ":") ? arena_strndup(&d->words, at, strcspn(at, ":")) : NULL;
}

static int choose_samples(struct diff *d, struct diff_input *in, struct profile_config *cfg)
{
	struct choose_opts o = d->opts->choose;
	o.time = time_of_file(d, (u32)(in - d->inputs));
	int err = in->src->ops->prepare(in->src, 0, &d->app->diag);
	if (!err)
		err = choose_parse(&in->choose, &o, in->src, &d->app->diag);
	if (!err)
		err = choose_words(&in->choose, d->opts->dsos, &in->dsos);
	if (!err)
		err = choose_words(&in->choose, d->opts->only, &in->symbols);
	cfg->filter = (struct profile_filter){
		.choice = in->choose.when,
		.rows = in->choose.who,
		.dsos = in->dsos.at.at,
		.nr_dsos = in->dsos.at.nr,
		.symbols = in->symbols.at.at,
		.nr_symbols = in->symbols.at.nr,
		.relative = d->opts->percentage && !strcmp(d->opts->percentage, "relative"),
	};
	return err;
}

static bool wants_lines(const struct profile_config *cfg)
{
	for (u32 i = 0; i < cfg->nr_keys; i++)
		if (cfg->keys[i] == PROFILE_KEY_SRCLINE || cfg->keys[i] == PROFILE_KEY_SRCFILE)
			return true;
	return false;
}

static int load(struct diff *d, struct diff_input *in)
{
	struct diag *diag = &d->app->diag;
	struct profile_config cfg = d->cfg;
	choose_init(&in->choose);
	machine_env_init(&in->env, NULL);
	symbols_recorded(app_symbols(d->app), in->path);
	int err = replay_perf_open(in->path, &in->src, diag);
	if (!err)
		err = symbols_unwind(app_symbols(d->app), in->src, &d->opts->symbols);
	if (!err)
		err = choose_samples(d, in, &cfg);
	if (err)
		return err;
	machine_env_init(&in->env, in->src);
	err = machine_env_read(&in->env, &cfg, false);
	if (err)
		return err;
	in->profile = profile_new(&cfg);
	if (!in->profile)
		return -ENOMEM;
	err = named_run(
		&in->run, in->src, profile_sink(in->profile),
		&(struct named_run_opts){ .symbols = app_symbols(d->app),
					  .names = &d->opts->symbols,
					  .want = WANT_SYMBOL | (wants_lines(&cfg) ? WANT_LINE : 0),
					  .split_reads = true });
	return err ? err
		   : profile_fold(in->profile, &in->src->catalog, &in->run.tables, &in->run.named);
}

static void unload(struct diff_input *in)
{
	profile_free(in->profile);
	named_run_done(&in->run);
	machine_env_done(&in->env);
	if (in->src)
		in->src->ops->close(in->src);
	choose_done(&in->choose);
	vec_free(&in->dsos.at);
	vec_free(&in->symbols.at);
}

/* A row's keys as one text: what rows of different files are matched by. */
static void key_text(const struct table *t, size_t row, struct strbuf *to)
{
	strbuf_reset(to);
	for (size_t c = DIFF_KEY_CELL; c < t->columns.nr; c++) {
		text_cell(&t->columns.at[c], &table_cells(t, row)[c], to);
		strbuf_char(to, '\n');
	}
}

static int add_rows(struct diff *d, u32 file, struct strbuf *key)
{
	const struct table *t = &d->inputs[file].table;
	for (size_t i = 0; i < t->nr_rows; i++) {
		key_text(t, i, key);
		s64 id = strtab_add(&d->keys, strbuf_cstr(key), key->len);
		if (id < 0)
			return (int)id;
		size_t at = (size_t)id - 1; /* id 0 is the empty string, and keys never are */
		if (at == d->rows.nr) {
			struct diff_row *r = vec_push(&d->rows);
			struct diff_cell *of = arena_array(&d->arena, d->nr, sizeof(*of));
			if (!r || !of)
				return -ENOMEM;
			*r = (struct diff_row){ .table = t, .index = i, .of = of };
		}
		struct diff_cell *c = &d->rows.at[at].of[file];
		c->period += table_cells(t, i)[1].u;
		c->there = true;
	}
	return 0;
}

double diff_percent(u64 period, u64 total)
{
	return total ? 100.0 * (double)period / (double)total : 0;
}

double diff_value(const struct diff *d, const struct diff_row *r, u32 file)
{
	const struct diff_cell *old = &r->of[0], *new = &r->of[file];
	switch (d->compute) {
	case DIFF_RATIO: return (double)new->period / (old->period ? (double)old->period : 1);
	case DIFF_WDIFF: return (double)((s64) new->period * d->w2 - (s64)old->period * d->w1);
	default:
		return diff_percent(new->period, d->inputs[file].total) -
		       diff_percent(old->period, d->inputs[0].total);
	}
}

static int compare_keys(const struct diff_row *a, const struct diff_row *b)
{
	for (size_t c = DIFF_KEY_CELL; c < a->table->columns.nr; c++) {
		union cell x = table_cells(a->table, a->index)[c],
			   y = table_cells(b->table, b->index)[c];
		int order;
		if (a->table->columns.at[c].type != CELL_STR)
			order = (x.s > y.s) - (x.s < y.s);
		else if (!strcmp(a->table->columns.at[c].key, "symbol"))
			order = strcmp(x.str + 4, y.str + 4); /* behind "[k] " */
		else
			order = strcmp(x.str, y.str);
		if (order)
			return order;
	}
	return 0;
}

/* Rows that the file has come first; a ratio without a baseline counts less than any with one. */
static int compare_file(const struct diff *d, const struct diff_row *a, const struct diff_row *b,
			u32 file)
{
	if (a->of[file].there != b->of[file].there)
		return a->of[file].there ? -1 : 1;
	if (!a->of[file].there)
		return 0;
	if (d->compute >= DIFF_RATIO && a->of[0].there != b->of[0].there)
		return a->of[0].there ? -1 : 1;
	double x = diff_value(d, a, file), y = diff_value(d, b, file);
	if (d->compute == DIFF_DELTA_ABS) {
		x = fabs(x);
		y = fabs(y);
	}
	return x > y ? -1 : x < y;
}

static int compare(const void *l, const void *r, void *ctx)
{
	const struct diff *d = ctx;
	const struct diff_row *a = l, *b = r;
	int order = d->order ? compare_file(d, a, b, d->order) : 0;
	if (order)
		return order;
	if (a->of[0].period != b->of[0].period)
		return a->of[0].period > b->of[0].period ? -1 : 1;
	for (u32 f = 1; f < d->nr && !order; f++)
		order = compare_file(d, a, b, f);
	return order ? order : compare_keys(a, b);
}

/* ---- one event ---- */

/* By name; else what is the same event under another one: perf's cpu-clock:ppp is our cpu-clock. */
static u32 find_event(const struct diff_input *in, const struct event_info *e)
{
	const struct catalog *c = &in->src->catalog;
	for (u32 i = 0; i < c->events.nr; i++)
		if (!strcmp(c->events.at[i].name, e->name))
			return i;
	for (u32 i = 0; i < c->events.nr; i++)
		if (c->events.at[i].type == e->type && c->events.at[i].config == e->config)
			return i;
	return UINT32_MAX;
}

static void keep_common(struct diff *d)
{
	size_t kept = 0;
	d->base_total = 0;
	for (size_t i = 0; i < d->rows.nr; i++) {
		const struct diff_row *r = &d->rows.at[i];
		bool other = false;
		for (u32 f = 1; f < d->nr; f++)
			other |= r->of[f].there;
		if (!r->of[0].there || !other)
			continue;
		d->base_total += r->of[0].period;
		d->rows.at[kept++] = *r;
	}
	d->rows.nr = kept;
}

static int compare_event(struct diff *d, const struct event_info *e, struct json *j)
{
	struct strbuf key;
	int err = 0;
	strtab_init(&d->keys);
	arena_init(&d->arena);
	strbuf_init(&key);
	d->rows.nr = 0;
	for (u32 f = 0; f < d->nr; f++)
		table_init(&d->inputs[f].table);
	for (u32 f = 0; f < d->nr && !err; f++) {
		struct diff_input *in = &d->inputs[f];
		u32 event = find_event(in, e);
		in->total = 0;
		if (event == UINT32_MAX)
			continue;
		in->total = profile_totals(in->profile, event).period;
		err = profile_table(in->profile, event, &in->table);
		if (!err)
			err = add_rows(d, f, &key);
	}
	d->base_total = d->inputs[0].total;
	if (d->opts->baseline_only)
		keep_common(d);
	if (!err) {
		if (d->rows.nr)
			qsort_r(d->rows.at, d->rows.nr, sizeof(*d->rows.at), compare, d);
		if (j)
			diff_print_json(d, e->name, j);
		else
			err = diff_print_text(d, e->name);
		d->any = true;
	}
	for (u32 f = 0; f < d->nr; f++)
		table_done(&d->inputs[f].table);
	strbuf_done(&key);
	strtab_done(&d->keys);
	arena_done(&d->arena);
	return err;
}

static int compare_all(struct diff *d)
{
	struct json j;
	const struct catalog *c = &d->inputs[0].src->catalog;
	int err = 0;
	json_begin(&j, &d->app->out, JSON_PRETTY);
	if (d->app->json)
		json_array(&j);
	bool common = false;
	for (u32 i = 0; i < c->events.nr; i++)
		for (u32 f = 1; f < d->nr; f++)
			common |= find_event(&d->inputs[f], &c->events.at[i]) != UINT32_MAX;
	/* What only the first file has is shown as its baseline. */
	for (u32 i = 0; i < c->events.nr && !err && common; i++)
		err = compare_event(d, &c->events.at[i], d->app->json ? &j : NULL);
	if (d->app->json) {
		json_array_end(&j);
		int end = json_end(&j);
		err = err ? err : end;
	}
	if (!err && !d->any)
		diag_warn(&d->app->diag,
			  "the recordings have no event in common: nothing to compare");
	return err;
}

static int diff_run(struct app *app, void *opts, int argc, char **argv)
{
	struct diff_opts *o = opts;
	struct diff d = { .app = app,
			  .opts = o,
			  .compute = DIFF_DELTA_ABS,
			  .order = 1,
			  .cfg = { .show_period = true } };
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
	int err = 0;
	u32 loaded = 0;
	arena_init(&d.words);
	for (; loaded < d.nr && !err; loaded++)
		err = load(&d, &d.inputs[loaded]);
	if (!err)
		err = compare_all(&d);
	for (u32 i = 0; i < loaded; i++)
		unload(&d.inputs[i]);
	arena_done(&d.words);
	vec_free(&d.rows);
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
