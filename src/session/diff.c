#include "session/diff.h"

#include "stream/replay_perf.h"
#include "view/text_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "10%/1:10%/2" is a range for each file. */
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
	int err = in->src->ops->prepare(in->src, 0, d->tell.diag);
	if (!err)
		err = d->choose(&in->choose, &o, in->src, d->tell.diag);
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
	struct diag *diag = d->tell.diag;
	struct profile_config cfg = d->cfg;
	choose_init(&in->choose);
	machine_env_init(&in->env, NULL);
	symbols_recorded(d->names, in->path);
	int err = replay_perf_open(in->path, &in->src, diag);
	if (!err)
		err = symbols_unwind(d->names, in->src, &d->opts->symbols);
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
		&(struct named_run_opts){ .symbols = d->names,
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
			order = strcmp(x.str + 4, y.str + 4); /* after "[k] " */
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
	json_begin(&j, d->tell.out, JSON_PRETTY);
	if (d->tell.json)
		json_array(&j);
	bool common = false;
	for (u32 i = 0; i < c->events.nr; i++)
		for (u32 f = 1; f < d->nr; f++)
			common |= find_event(&d->inputs[f], &c->events.at[i]) != UINT32_MAX;
	/* What only the first file has is shown as its baseline. */
	for (u32 i = 0; i < c->events.nr && !err && common; i++)
		err = compare_event(d, &c->events.at[i], d->tell.json ? &j : NULL);
	if (d->tell.json) {
		json_array_end(&j);
		int end = json_end(&j);
		err = err ? err : end;
	}
	if (!err && !d->any)
		diag_warn(d->tell.diag,
			  "the recordings have no event in common: nothing to compare");
	return err;
}

int diff_files(struct diff *d)
{
	int err = 0;
	u32 loaded = 0;
	arena_init(&d->words);
	for (; loaded < d->nr && !err; loaded++)
		err = load(d, &d->inputs[loaded]);
	if (!err)
		err = compare_all(d);
	for (u32 i = 0; i < loaded; i++)
		unload(&d->inputs[i]);
	arena_done(&d->words);
	vec_free(&d->rows);
	return err;
}
