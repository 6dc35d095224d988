/* sonde diff: what became heavier and what lighter from one recording to the next. */
#include "analysis/profile.h"
#include "base/json.h"
#include "cmd/app.h"
#include "cmd/choose.h"
#include "cmd/commands.h"
#include "cmd/report_env.h"
#include "cmd/symbols.h"
#include "stream/replay_perf.h"
#include "stream/run.h"
#include "view/text_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum compute { DELTA, DELTA_ABS, RATIO, WDIFF };
enum {
	FILES_MAX = 64,
	KEY_CELL = 2,
	PERCENT_COLUMNS = 8,
	VALUE_COLUMNS = 14,
	FORMULA_COLUMNS = 70
};

struct diff_opts {
	const char *compute;
	const char *sort;
	u64 order;
	bool order_given;
	bool baseline_only;
	bool period;
	bool formula;
	bool quiet;
	bool force;
	bool modules;
	const char *separator;
	const char *percentage;
	const char *dsos;
	const char *only;
	struct choose_opts choose;
	struct symbol_opts symbols;
};

static const struct opt diff_rows[] = {
	OPT_STR('c', "compute", struct diff_opts, compute, "HOW",
		"delta, delta-abs (usual), ratio, wdiff:W1,W2"),
	OPT_STR('s', "sort", struct diff_opts, sort, "KEYS",
		"rows by these: comm pid cpu socket cgroup dso sym srcline srcfile parent ... as "
		"in report (dso,sym)"),
	OPT_UINT('o', "order", struct diff_opts, order, "N",
		 "sort by the N-th file's difference (1); 0: by the baseline",
		 OPT_SEEN(struct diff_opts, order_given)),
	OPT_FLAG('b', "baseline-only", struct diff_opts, baseline_only,
		 "only rows that the baseline has too"),
	OPT_FLAG('p', "period", struct diff_opts, period, "with the periods that were compared"),
	OPT_FLAG('F', "formula", struct diff_opts, formula, "with how each value is computed"),
	OPT_STR('t', "field-separator", struct diff_opts, separator, "SEP",
		"columns separated by SEP, not by blanks; SEP in names becomes a dot"),
	OPT_FLAG('q', "quiet", struct diff_opts, quiet, "no comment lines above the table"),
	OPT_STR(0, "percentage", struct diff_opts, percentage, "relative|absolute",
		"what 100 % is when rows are filtered: what is shown, or everything (usual)"),
	OPT_STR('C', "comms", struct diff_opts, choose.comms, "LIST", "only of these commands"),
	OPT_STR('d', "dsos", struct diff_opts, dsos, "LIST", "only in these libraries"),
	OPT_STR('S', "symbols", struct diff_opts, only, "LIST", "only in these functions"),
	OPT_STR(0, "pid", struct diff_opts, choose.pids, "LIST", "only of these processes"),
	OPT_STR(0, "tid", struct diff_opts, choose.tids, "LIST", "only of these threads"),
	OPT_STR(0, "cpu", struct diff_opts, choose.cpus, "LIST", "only of these CPUs: 0,2-3"),
	OPT_STR(0, "time", struct diff_opts, choose.time, "RANGES",
		"only between FROM,UNTIL seconds, or a part of the whole: 10%/2; with : between "
		"them, another one for each file"),
	OPT_FLAG('f', "force", struct diff_opts, force, "accepted; whose file it is never matters",
		 .hidden = true),
	OPT_FLAG('m', "modules", struct diff_opts, modules, "accepted; modules have names anyway",
		 .hidden = true),
	OPT_FLAG('D', "dump-raw-trace", struct diff_opts, force,
		 "A file is dumped by sonde report -D", .refused = true),
	OPT_FLAG(0, "cycles-hist", struct diff_opts, force,
		 "Cycles of basic blocks are not compared", .refused = true),
	OPT_FLAG(0, "stream", struct diff_opts, force,
		 "Streams of branches are not compared: sonde diff -s sym compares functions",
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

/* One recording, summed up. What the tables hold is borrowed from all of it. */
struct input {
	const char *path;
	struct source *src;
	struct profile *profile;
	struct names *names;
	struct names_result named;
	struct run_tables run;
	struct report_env env;
	struct choose choose;
	struct word_list dsos, symbols;
	struct table table; /* of the event being compared */
	u64 total;
};

struct cell_pair {
	u64 period;
	bool there;
};

struct row {
	const struct table *table; /* where its keys stand */
	size_t index;
	struct cell_pair *of; /* [file] */
};

struct diff {
	struct app *app;
	const struct diff_opts *opts;
	enum compute compute;
	s64 w1, w2;
	u32 order;
	struct profile_config cfg;
	struct input inputs[FILES_MAX];
	u32 nr;
	bool any; /* something was printed */
	VEC(struct row) rows;
	struct strtab keys; /* of the rows, in the same order */
	struct arena arena;
	struct arena words; /* of options */
	u64 base_total;
};

static int parse_compute(struct diff *d, const char *word)
{
	static const struct {
		const char *word;
		enum compute compute;
	} ways[] = { { "delta", DELTA },
		     { "delta-abs", DELTA_ABS },
		     { "ratio", RATIO },
		     { "wdiff", WDIFF } };
	size_t len = strcspn(word, ":");
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (strlen(ways[i].word) != len || strncmp(ways[i].word, word, len))
			continue;
		d->compute = ways[i].compute;
		if (d->compute != WDIFF)
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

/* 0, a failure, or a usage status in *status. */
static int choose_samples(struct diff *d, struct input *in, struct profile_config *cfg, int *status)
{
	struct choose_opts o = d->opts->choose;
	o.time = time_of_file(d, (u32)(in - d->inputs));
	int err = in->src->ops->prepare(in->src, 0, &d->app->diag);
	if (err)
		return err;
	*status = choose_parse(&in->choose, &o, in->src, d->app);
	if (*status)
		return -EINVAL;
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

static int load(struct diff *d, struct input *in, int *status)
{
	struct diag *diag = &d->app->diag;
	struct profile_config cfg = d->cfg;
	choose_init(&in->choose);
	report_env_init(&in->env, NULL);
	int err = replay_perf_open(in->path, &in->src, diag);
	if (!err)
		err = symbols_unwind(in->src, &d->opts->symbols);
	if (!err)
		err = choose_samples(d, in, &cfg, status);
	if (err)
		return err;
	report_env_init(&in->env, in->src);
	err = report_env_read(&in->env, &cfg, false);
	if (err)
		return err;
	in->profile = profile_new(&cfg);
	in->names = symbols_open(d->app, &d->opts->symbols);
	if (!in->profile || !in->names)
		return -ENOMEM;
	err = stream_run(in->src, profile_sink(in->profile), 0, &in->run, diag);
	if (!err)
		err = in->names->ops->resolve(in->names, &in->src->catalog, &in->run.frames,
					      WANT_SYMBOL | (wants_lines(&cfg) ? WANT_LINE : 0),
					      &in->named);
	return err ? err : profile_fold(in->profile, &in->src->catalog, &in->run, &in->named);
}

static void unload(struct input *in)
{
	profile_free(in->profile);
	run_tables_done(&in->run);
	if (in->names)
		in->names->ops->free(in->names);
	report_env_done(&in->env);
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
	for (size_t c = KEY_CELL; c < t->columns.nr; c++) {
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
			struct row *r = vec_push(&d->rows);
			struct cell_pair *of = arena_array(&d->arena, d->nr, sizeof(*of));
			if (!r || !of)
				return -ENOMEM;
			*r = (struct row){ .table = t, .index = i, .of = of };
		}
		struct cell_pair *c = &d->rows.at[at].of[file];
		c->period += table_cells(t, i)[1].u;
		c->there = true;
	}
	return 0;
}

static double percent(u64 period, u64 total)
{
	return total ? 100.0 * (double)period / (double)total : 0;
}

static double value_of(const struct diff *d, const struct row *r, u32 file)
{
	const struct cell_pair *old = &r->of[0], *new = &r->of[file];
	switch (d->compute) {
	case RATIO: return (double)new->period / (old->period ? (double)old->period : 1);
	case WDIFF: return (double)((s64) new->period * d->w2 - (s64)old->period * d->w1);
	default:
		return percent(new->period, d->inputs[file].total) -
		       percent(old->period, d->inputs[0].total);
	}
}

static int compare_keys(const struct row *a, const struct row *b)
{
	for (size_t c = KEY_CELL; c < a->table->columns.nr; c++) {
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
static int compare_file(const struct diff *d, const struct row *a, const struct row *b, u32 file)
{
	if (a->of[file].there != b->of[file].there)
		return a->of[file].there ? -1 : 1;
	if (!a->of[file].there)
		return 0;
	if (d->compute >= RATIO && a->of[0].there != b->of[0].there)
		return a->of[0].there ? -1 : 1;
	double x = value_of(d, a, file), y = value_of(d, b, file);
	if (d->compute == DELTA_ABS) {
		x = fabs(x);
		y = fabs(y);
	}
	return x > y ? -1 : x < y;
}

static int compare(const void *l, const void *r, void *ctx)
{
	const struct diff *d = ctx;
	const struct row *a = l, *b = r;
	int order = d->order ? compare_file(d, a, b, d->order) : 0;
	if (order)
		return order;
	if (a->of[0].period != b->of[0].period)
		return a->of[0].period > b->of[0].period ? -1 : 1;
	for (u32 f = 1; f < d->nr && !order; f++)
		order = compare_file(d, a, b, f);
	return order ? order : compare_keys(a, b);
}

/* ---- text ---- */

struct layout {
	u32 baseline, value, period, base_period;
	u32 *keys;
	char suffix[FILES_MAX][NUM_DIGITS_MAX + 2]; /* "/1" when there are more than two files */
};

static const struct {
	const char *name;
	u32 width;
} compute_columns[] = {
	[DELTA] = { "Delta", 7 },
	[DELTA_ABS] = { "Delta Abs", 7 },
	[RATIO] = { "Ratio", VALUE_COLUMNS },
	[WDIFF] = { "Weighted diff", VALUE_COLUMNS },
};

/* A separator inside a cell would make two of it. */
static void add_separated(const struct diff *d, const char *text, struct strbuf *to)
{
	for (; *text; text++)
		strbuf_char(to, *text == *d->opts->separator ? '.' : *text);
}

/* before: what stands between it and the cell to its left. */
static void add_cell(const struct diff *d, const char *before, const char *text, u32 width,
		     bool left, struct strbuf *to)
{
	strbuf_str(to, before);
	if (d->opts->separator)
		add_separated(d, text, to);
	else if (left)
		strbuf_left(to, text, width);
	else
		strbuf_right(to, text, width);
}

static const char *between(const struct diff *d)
{
	return d->opts->separator ? d->opts->separator : "  ";
}

static void add_title(const struct diff *d, const struct layout *y, bool dots, const char *name,
		      u32 file, u32 width, struct strbuf *to)
{
	struct strbuf s;
	strbuf_init(&s);
	if (dots)
		strbuf_fill(&s, '.', width);
	else
		strbuf_printf(&s, "%s%s", name, y->suffix[file]);
	/* A name is the same in every table, whatever separates it. */
	strbuf_str(to, between(d));
	if (d->opts->separator)
		strbuf_str(to, strbuf_cstr(&s));
	else
		strbuf_right(to, strbuf_cstr(&s), width);
	strbuf_done(&s);
}

static void add_heading(const struct diff *d, const struct layout *y, bool dots, struct strbuf *to)
{
	const struct table *t = &d->inputs[0].table;
	const struct diff_opts *o = d->opts;
	struct strbuf line;
	strbuf_init(&line);
	add_title(d, y, dots, "Baseline", 0, y->baseline, &line);
	if (o->period)
		add_title(d, y, dots, "Base period", 0, y->base_period, &line);
	for (u32 f = 1; f < d->nr; f++) {
		add_title(d, y, dots, compute_columns[d->compute].name, f, y->value, &line);
		if (o->formula)
			add_title(d, y, dots, "Formula", f, FORMULA_COLUMNS, &line);
		if (o->period)
			add_title(d, y, dots, "Period", f, y->period, &line);
	}
	for (size_t c = KEY_CELL; c < t->columns.nr; c++) {
		strbuf_str(&line, between(d));
		if (dots)
			strbuf_fill(&line, '.', y->keys[c]);
		else
			strbuf_left(&line, t->columns.at[c].name, o->separator ? 0 : y->keys[c]);
	}
	strbuf_str(to, "# ");
	strbuf_str(to, strbuf_cstr(&line) + strlen(between(d)));
	strbuf_char(to, '\n');
	strbuf_done(&line);
}

static void value_text(const struct diff *d, const struct row *r, u32 file, struct strbuf *to)
{
	if (!r->of[file].there)
		return;
	double v = value_of(d, r, file);
	if (d->compute >= RATIO && !r->of[0].there)
		strbuf_str(to, "N/A");
	else if (d->compute == RATIO && v > 0)
		strbuf_printf(to, "%.6f", v);
	else if (d->compute == WDIFF)
		strbuf_printf(to, "%lld", (long long)v);
	else if (d->compute <= DELTA_ABS)
		strbuf_printf(to, "%+4.2f%%", v);
}

/* The numbers that value_of() takes, and what it does with them. */
static void formula_text(const struct diff *d, const struct row *r, u32 file, struct strbuf *to)
{
	typedef unsigned long long ull;
	ull old = r->of[0].period, new = r->of[file].period;
	if (!r->of[file].there)
		return;
	if (d->compute == RATIO)
		strbuf_printf(to, "%llu / %llu", new, old);
	else if (d->compute == WDIFF)
		strbuf_printf(to, "(%llu * %lld) - (%llu * %lld)", new, (long long)d->w2, old,
			      (long long)d->w1);
	else
		strbuf_printf(to, "(%llu * 100 / %llu) - (%llu * 100 / %llu)", new,
			      (ull)d->inputs[file].total, old, (ull)d->inputs[0].total);
}

static void add_number(const struct diff *d, u64 v, bool there, u32 width, struct strbuf *to)
{
	char text[NUM_DIGITS_MAX + 1];
	text[num_u64(text, v)] = '\0';
	add_cell(d, between(d), there ? text : "", width, false, to);
}

static void add_file(const struct diff *d, const struct layout *y, const struct row *r, u32 file,
		     struct strbuf *s, struct strbuf *to)
{
	strbuf_reset(s);
	value_text(d, r, file, s);
	add_cell(d, between(d), strbuf_cstr(s), y->value, false, to);
	if (d->opts->formula) {
		strbuf_reset(s);
		formula_text(d, r, file, s);
		add_cell(d, between(d), strbuf_cstr(s), FORMULA_COLUMNS, false, to);
	}
	if (d->opts->period)
		add_number(d, r->of[file].period, r->of[file].there, y->period, to);
}

static void add_row(const struct diff *d, const struct layout *y, const struct row *r,
		    struct strbuf *to)
{
	struct strbuf s;
	bool separated = d->opts->separator;
	strbuf_init(&s);
	if (r->of[0].there)
		strbuf_printf(&s, separated ? "%.2f" : "%.2f%%",
			      percent(r->of[0].period, d->base_total));
	add_cell(d, separated ? "" : between(d), strbuf_cstr(&s), y->baseline, false, to);
	if (d->opts->period)
		add_number(d, r->of[0].period, true, y->base_period, to);
	for (u32 f = 1; f < d->nr; f++)
		add_file(d, y, r, f, &s, to);
	for (size_t c = KEY_CELL; c < r->table->columns.nr; c++) {
		const struct column *col = &r->table->columns.at[c];
		bool left = col->type == CELL_STR;
		strbuf_reset(&s);
		text_cell(col, &table_cells(r->table, r->index)[c], &s);
		add_cell(d, between(d), strbuf_cstr(&s), left && col->last ? 0 : y->keys[c], left,
			 to);
	}
	strbuf_char(to, '\n');
	strbuf_done(&s);
}

static int measure(const struct diff *d, struct layout *y)
{
	const struct table *t = &d->inputs[0].table;
	struct strbuf s;
	y->keys = calloc(t->columns.nr + 1, sizeof(*y->keys));
	if (!y->keys)
		return -ENOMEM;
	for (u32 f = 0; d->nr > 2 && f < d->nr; f++) {
		y->suffix[f][0] = '/';
		y->suffix[f][1 + num_u64(y->suffix[f] + 1, f)] = '\0';
	}
	u32 more = (u32)strlen(y->suffix[d->nr - 1]);
	y->baseline = PERCENT_COLUMNS + more;
	y->value = max((u32)strlen(compute_columns[d->compute].name) + more,
		       compute_columns[d->compute].width);
	y->period = y->base_period = VALUE_COLUMNS;
	strbuf_init(&s);
	for (size_t c = KEY_CELL; c < t->columns.nr; c++)
		y->keys[c] = (u32)strlen(t->columns.at[c].name);
	vec_for_each (&d->rows, r)
		for (size_t c = KEY_CELL; c < t->columns.nr; c++) {
			strbuf_reset(&s);
			text_cell(&t->columns.at[c], &table_cells(r->table, r->index)[c], &s);
			y->keys[c] = max(y->keys[c], (u32)s.len);
		}
	int err = s.err;
	strbuf_done(&s);
	return err;
}

static int print_text(struct diff *d, const char *event)
{
	struct strbuf *to = &d->app->out;
	struct layout y = { 0 };
	int err = measure(d, &y);
	if (d->any && !d->opts->quiet)
		strbuf_char(to, '\n');
	if (!err && !d->opts->quiet) {
		strbuf_printf(to, "# Event '%s'\n#\n", event);
		if (d->nr > 2) {
			strbuf_str(to, "# Data files:\n");
			for (u32 f = 0; f < d->nr; f++)
				strbuf_printf(to, "#  [%u] %s %s\n", f, d->inputs[f].path,
					      f ? "" : "(Baseline)");
			strbuf_str(to, "#\n");
		}
		add_heading(d, &y, false, to);
		if (!d->opts->separator) {
			add_heading(d, &y, true, to);
			strbuf_str(to, "#\n");
		}
	}
	for (size_t i = 0; i < d->rows.nr && !err; i++)
		add_row(d, &y, &d->rows.at[i], to);
	free(y.keys);
	return err ? err : to->err;
}

static void json_row(const struct diff *d, const struct row *r, struct json *j)
{
	json_object(j);
	for (size_t c = KEY_CELL; c < r->table->columns.nr; c++) {
		const struct column *col = &r->table->columns.at[c];
		union cell v = table_cells(r->table, r->index)[c];
		if (col->type == CELL_STR)
			json_put_str(j, col->key, v.str);
		else
			json_put_s64(j, col->key, v.s);
	}
	json_key(j, "periods");
	json_array(j);
	for (u32 f = 0; f < d->nr; f++)
		json_u64(j, r->of[f].period);
	json_array_end(j);
	json_key(j, "values");
	json_array(j);
	for (u32 f = 1; f < d->nr; f++) {
		bool known = r->of[f].there && (r->of[0].there || d->compute <= DELTA_ABS);
		json_double(j, known ? value_of(d, r, f) : (double)NAN);
	}
	json_array_end(j);
	json_object_end(j);
}

static void print_json(const struct diff *d, const char *event, struct json *j)
{
	json_object(j);
	json_put_str(j, "event", event);
	json_key(j, "rows");
	json_array(j);
	vec_for_each (&d->rows, r)
		json_row(d, r, j);
	json_array_end(j);
	json_object_end(j);
}

/* ---- one event ---- */

/* By name; else what is the same event under another one: perf's cpu-clock:ppp is our cpu-clock. */
static u32 find_event(const struct input *in, const struct event_info *e)
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
		const struct row *r = &d->rows.at[i];
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
		struct input *in = &d->inputs[f];
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
			print_json(d, e->name, j);
		else
			err = print_text(d, e->name);
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
	for (u32 i = 0; i < c->events.nr && !err; i++) {
		bool other = false;
		for (u32 f = 1; f < d->nr; f++)
			other |= find_event(&d->inputs[f], &c->events.at[i]) != UINT32_MAX;
		if (other)
			err = compare_event(d, &c->events.at[i], d->app->json ? &j : NULL);
	}
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
			  .compute = DELTA_ABS,
			  .order = 1,
			  .cfg = { .show_period = true } };
	static const char *const usual[] = { "perf.data.old", "perf.data" };
	if (o->compute && parse_compute(&d, o->compute))
		return app_usage(app, "-c: '%s' is not delta, delta-abs, ratio or wdiff:W1,W2",
				 o->compute);
	if (parse_sort(&d.cfg, o->sort ? o->sort : "dso,sym"))
		return app_usage(app,
				 "-s: '%s' is not a list of keys such as comm, pid, cpu, dso, sym",
				 o->sort);
	if (o->percentage && strcmp(o->percentage, "relative") && strcmp(o->percentage, "absolute"))
		return app_usage(app, "--percentage is relative or absolute, not '%s'",
				 o->percentage);
	if (o->separator && (!*o->separator || *o->separator == '.'))
		return app_usage(app, "-t: '%s' cannot separate columns: it stands in numbers",
				 o->separator);
	elide(&d.cfg, o);
	if (argc > FILES_MAX)
		return app_usage(app, "at most %d recordings at a time", FILES_MAX);
	if (argc == 1 && access(usual[0], F_OK))
		return app_usage(
			app, "a second recording is missing: there is no ./%s to compare '%s' with",
			usual[0], argv[0]);
	d.nr = argc < 2 ? 2 : (u32)argc;
	d.inputs[0].path = argc > 1 ? argv[0] : usual[0];
	d.inputs[1].path = argc > 1 ? argv[1] : argc ? argv[0] : usual[1];
	for (u32 i = 2; i < d.nr; i++)
		d.inputs[i].path = argv[i];
	if (o->order_given && o->order >= d.nr)
		return app_usage(app, "-o %llu: there are files 0 to %u",
				 (unsigned long long)o->order, d.nr - 1);
	if (o->order_given)
		d.order = (u32)o->order;
	int err = 0, status = 0;
	u32 loaded = 0;
	arena_init(&d.words);
	for (; loaded < d.nr && !err; loaded++)
		err = load(&d, &d.inputs[loaded], &status);
	if (!err)
		err = compare_all(&d);
	for (u32 i = 0; i < loaded; i++)
		unload(&d.inputs[i]);
	arena_done(&d.words);
	vec_free(&d.rows);
	return status ? status : err ? app_fail(app, err) : APP_DONE;
}

const struct command command_diff = {
	.name = "diff",
	.group = "How did it develop",
	.summary = "compare two or more recordings",
	.usage = "[OPTIONS] [OLD] [NEW...]",
	.about = "Reads perf.data files (ours or perf's) and prints, for each function, its share "
		 "in the first one (the baseline) and "
		 "what became of it in the others, the biggest change first. Without names: "
		 "perf.data.old and perf.data.",
	.examples = diff_examples,
	.opts = diff_rows,
	.opts_size = sizeof(struct diff_opts),
	.mixed_words = true,
	.run = diff_run,
};
