/* sonde report: a recording as a table of who spent how much where, with call graphs. */
#include "cmd/app.h"
#include "analysis/profile.h"
#include "base/num.h"
#include "cmd/commands.h"
#include "cmd/mapped.h"
#include "cmd/perf_header.h"
#include "cmd/report_side.h"
#include "cmd/symbols.h"
#include "stream/replay_perf.h"
#include "stream/run.h"
#include "view/json_table.h"
#include "view/text_table.h"
#include "view/tui_table.h"

#include <errno.h>
#include <string.h>

struct graph_opts {
	bool off;
	bool given;
	bool fractal;
	bool order_given;
	enum profile_order order;
	double min_percent;
};

struct report_opts {
	const char *input;
	struct opt_list sort;
	struct graph_opts graph;
	bool stdio;
	bool tui;
	bool children;
	bool no_children;
	bool show_count;
	bool header;
	bool header_only;
	bool header_full;
	bool quiet;
	bool stats;
	bool tasks;
	bool mmaps;
	const char *separator;
	const char *percent_limit;
	u64 workers;
	struct symbol_opts symbols;
};

static const char *const key_words[] = {
	[PROFILE_KEY_COMM] = "comm", [PROFILE_KEY_PID] = "pid", [PROFILE_KEY_CPU] = "cpu",
	[PROFILE_KEY_DSO] = "dso",   [PROFILE_KEY_SYM] = "sym",
};

static int parse_percent(const char *word, double *ret)
{
	char *end;
	double v = strtod(word, &end);
	if (end == word || (*end && strcmp(end, "%")) || v < 0 || v > 100)
		return -EINVAL;
	*ret = v;
	return 0;
}

static int graph_word(struct graph_opts *g, const char *word, struct diag *d)
{
	static const char *const later[] = { "flat",  "folded",	 "address", "period",
					     "count", "srcline", "branch" };
	g->off = false;
	if (!strcmp(word, "none"))
		g->off = true;
	else if (!strcmp(word, "graph") || !strcmp(word, "function") || !strcmp(word, "percent"))
		;
	else if (!strcmp(word, "fractal"))
		g->fractal = true;
	else if (!strcmp(word, "caller") || !strcmp(word, "callee")) {
		g->order = word[5] == 'r' ? PROFILE_CALLER : PROFILE_CALLEE;
		g->order_given = true;
	} else if (parse_percent(word, &g->min_percent)) {
		for (size_t i = 0; i < ARRAY_SIZE(later); i++)
			if (!strcmp(word, later[i]))
				return diag_error(d, -EINVAL, "-g %s is not there yet", word);
		(void)diag_error(d, -EINVAL, "-g: '%s' is not a way to draw a call graph", word);
		diag_hint(d, "graph, fractal, none; caller, callee; a percentage below which "
			     "branches are left out");
		return -EINVAL;
	}
	return 0;
}

/* -g graph,0.5,caller: words in any order. */
static int graph_call(void *opts, const char *value, bool negated, struct diag *d)
{
	struct graph_opts *g = &((struct report_opts *)opts)->graph;
	g->given = true;
	g->off = negated;
	while (value && *value && !negated) {
		char word[32];
		size_t len = strcspn(value, ",");
		if (len >= sizeof(word))
			return diag_error(d, -EINVAL, "-g: '%s' is not a way to draw a call graph",
					  value);
		memcpy(word, value, len);
		word[len] = '\0';
		int err = len ? graph_word(g, word, d) : 0;
		if (err)
			return err;
		value += len + (value[len] == ',');
	}
	return 0;
}

static const struct opt report_rows[] = {
	OPT_STR('i', "input", struct report_opts, input, "FILE",
		"recording to read (perf.data); - is standard input"),
	OPT_LIST('s', "sort", struct report_opts, sort, "KEYS",
		 "rows by these: comm, pid, cpu, dso, sym (comm,dso,sym)"),
	OPT_CALL('g', "call-graph", "HOW",
		 "call graphs: graph|fractal|none, caller|callee, least percentage", graph_call,
		 .optional = true, .greedy = true),
	OPT_FLAG(0, "children", struct report_opts, children,
		 "count callers too (as perf does when there are call chains)"),
	OPT_FLAG(0, "self-only", struct report_opts, no_children, "the same as --no-children",
		 .hidden = true),
	OPT_FLAG('n', "show-nr-samples", struct report_opts, show_count,
		 "a column with the number of samples"),
	OPT_STR(0, "percent-limit", struct report_opts, percent_limit, "PERCENT",
		"leave out rows below"),
	OPT_STR('t', "field-separator", struct report_opts, separator, "SEP",
		"columns separated by SEP, no call graphs"),
	OPT_FLAG(0, "header", struct report_opts, header,
		 "where, when and how it was recorded, before the table"),
	OPT_FLAG(0, "header-only", struct report_opts, header_only, "only that"),
	OPT_FLAG('I', "show-info", struct report_opts, header_full,
		 "with the topology of CPUs and memory"),
	OPT_FLAG(0, "stats", struct report_opts, stats,
		 "how many records of which type, instead of the table"),
	OPT_FLAG(0, "tasks", struct report_opts, tasks,
		 "which tasks there were, as a tree, instead of the table"),
	OPT_FLAG(0, "mmaps", struct report_opts, mmaps,
		 "the same, with what each of them had mapped"),
	OPT_FLAG('q', "quiet", struct report_opts, quiet, "no comment lines above the table"),
	OPT_FLAG(0, "stdio", struct report_opts, stdio,
		 "plain text, also on a terminal (where a browser opens otherwise)"),
	OPT_FLAG(0, "tui", struct report_opts, tui, "the browser; the usual form on a terminal"),
	OPT_UINT(0, "workers", struct report_opts, workers, "N", "threads to use (all CPUs)"),
	SYMBOL_OPT_ROWS(struct report_opts, symbols),
	OPT_END(),
};

static const struct opt_example report_examples[] = {
	{ "report", "the recording in ./perf.data" },
	{ "report -i FILE --no-children -g caller",
	  "each function with the paths that lead to it" },
	{ "report -g none --sort dso", "which libraries, without call graphs" },
	{ "report --stats", "what is in the file, by type of record" },
	{ "report --header-only", "where, when and how it was recorded" },
	{ "report --json -g none", "for programs" },
	{ 0 },
};

static void report_defaults(void *opts)
{
	struct report_opts *o = opts;
	o->input = "perf.data";
	o->children = true;
	o->graph.min_percent = 0.5;
}

static int add_key(struct profile_config *cfg, const char *word, struct app *app)
{
	static const struct {
		const char *word;
		enum profile_key key;
	} other[] = { { "symbol", PROFILE_KEY_SYM }, { "tid", PROFILE_KEY_PID } };
	int key = -1;
	for (size_t i = 0; i < ARRAY_SIZE(key_words); i++)
		if (!strcmp(word, key_words[i]))
			key = (int)i;
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		if (!strcmp(word, other[i].word))
			key = (int)other[i].key;
	if (key < 0) {
		(void)diag_error(&app->diag, -EINVAL, "--sort: unknown key '%s'", word);
		const char *near = str_closest(word, key_words, ARRAY_SIZE(key_words));
		diag_hint(&app->diag,
			  near ? "did you mean '%s'?" : "there are comm, pid, cpu, dso and sym%s",
			  near ? near : "");
		return -EINVAL;
	}
	for (u32 i = 0; i < cfg->nr_keys; i++)
		if (cfg->keys[i] == (enum profile_key)key)
			return 0;
	cfg->keys[cfg->nr_keys++] = (enum profile_key)key;
	return 0;
}

static int sort_keys(struct profile_config *cfg, const struct report_opts *o, struct app *app)
{
	vec_for_each (&o->sort.items, item) {
		for (const char *at = *item; *at;) {
			char word[32];
			at += strspn(at, ", ");
			size_t len = strcspn(at, ", ");
			if (len >= sizeof(word))
				len = sizeof(word) - 1;
			memcpy(word, at, len);
			word[len] = '\0';
			at += len;
			int err = len ? add_key(cfg, word, app) : 0;
			if (err)
				return err;
		}
	}
	static const enum profile_key usual[] = { PROFILE_KEY_COMM, PROFILE_KEY_DSO,
						  PROFILE_KEY_SYM };
	for (size_t i = 0; !o->sort.items.nr && i < ARRAY_SIZE(usual); i++)
		cfg->keys[cfg->nr_keys++] = usual[i];
	return 0;
}

static void configure(struct profile_config *cfg, const struct report_opts *o,
		      const struct source *src, struct diag *d)
{
	bool chains = perfdata_has_sample_type(replay_perf_file(src), PERF_SAMPLE_CALLCHAIN);
	if (!chains && o->graph.given && !o->graph.off) {
		diag_warn(d, "the recording has no call chains: there are no call graphs to draw");
		diag_hint(d, "record them: sonde record -g -- COMMAND");
	}
	cfg->children = chains && o->children && !o->no_children;
	cfg->graph = chains && !o->graph.off && !o->separator;
	cfg->show_count = o->show_count;
	cfg->min_percent = o->graph.min_percent;
	cfg->fractal = o->graph.fractal;
	cfg->order = o->graph.order_given ? o->graph.order
		     : cfg->children	  ? PROFILE_CALLER
					  : PROFILE_CALLEE;
}

/* 148461 -> "148K", as perf shortens it. */
static void short_count(struct strbuf *to, u64 v)
{
	static const char units[] = " KMG";
	unsigned unit = 0;
	while (v > 1000 && unit < 3) {
		v /= 1000;
		unit++;
	}
	strbuf_u64(to, v);
	strbuf_char(to, units[unit]); /* a blank for single ones, as in perf */
}

static void event_header(struct strbuf *to, const struct source *src, const struct profile *p,
			 u32 event)
{
	struct profile_totals t = profile_totals(p, event);
	strbuf_str(to, "# Samples: ");
	short_count(to, t.nr_samples);
	strbuf_printf(to, " of event '%s'\n# Event count (approx.): %llu\n#\n",
		      src->catalog.events.at[event].name, (unsigned long long)t.period);
}

struct report {
	struct app *app;
	const struct report_opts *opts;
	struct source *src;
	struct profile *profile;
	struct profile_config cfg;
	double min_percent;
	enum profile_key first_key;
};

static int print_event(struct report *r, u32 event, struct strbuf *to)
{
	struct table t;
	table_init(&t);
	int err = profile_table(r->profile, event, &t);
	struct text_table_style style = {
		.separator = r->opts->separator,
		.header = !r->opts->quiet,
		.min_percent = r->min_percent,
		.fractal = r->opts->graph.fractal,
		.hide_own = r->opts->sort.items.nr && r->first_key == PROFILE_KEY_SYM,
	};
	if (!r->opts->quiet)
		event_header(to, r->src, r->profile, event);
	if (!err)
		err = text_table(&t, &style, to);
	strbuf_str(to, "\n\n");
	table_done(&t);
	return err;
}

static int print_head(struct report *r)
{
	if (r->opts->header || r->opts->header_only)
		return perf_header_text(replay_perf_file(r->src), r->opts->input,
					r->opts->header_full, &r->app->out);
	if (!r->opts->quiet)
		strbuf_str(&r->app->out, "# To display the perf.data header info, please use "
					 "--header/--header-only options.\n#\n");
	return 0;
}

static int print_head_only(struct report *r)
{
	int err = replay_perf_file(r->src)->is_pipe ? r->src->ops->prepare(r->src, 0, &r->app->diag)
						    : 0;
	return err ? err : print_head(r);
}

/* What needs no samples. */
static int print_side(struct report *r)
{
	struct app *app = r->app;
	int err = r->src->ops->prepare(r->src, 0, &app->diag);
	if (err)
		return err;
	return r->opts->stats ? report_stats(r->src, &app->out)
			      : report_tasks(r->src, r->opts->mmaps, &app->out);
}

static int print_text(struct report *r)
{
	struct strbuf *to = &r->app->out;
	int err = print_head(r);
	if (!r->opts->quiet)
		strbuf_printf(to, "#\n# Total Lost Samples: %llu\n#\n",
			      (unsigned long long)r->src->catalog.nr_lost);
	for (u32 i = 0; i < r->src->catalog.events.nr && !err; i++)
		if (profile_totals(r->profile, i).nr_samples || r->src->catalog.events.nr == 1)
			err = print_event(r, i, to);
	return err;
}

static int print_json(struct report *r)
{
	struct json j;
	json_begin(&j, &r->app->out, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "lost", r->src->catalog.nr_lost);
	json_key(&j, "events");
	json_array(&j);
	int err = 0;
	for (u32 i = 0; i < r->src->catalog.events.nr && !err; i++) {
		struct profile_totals totals = profile_totals(r->profile, i);
		struct table t;
		table_init(&t);
		err = profile_table(r->profile, i, &t);
		json_object(&j);
		json_put_str(&j, "event", r->src->catalog.events.at[i].name);
		json_put_u64(&j, "samples", totals.nr_samples);
		json_put_u64(&j, "period", totals.period);
		json_key(&j, "rows");
		if (!err)
			err = json_table(&t, &j);
		json_object_end(&j);
		table_done(&t);
	}
	json_array_end(&j);
	json_object_end(&j);
	int end = json_end(&j);
	return err ? err : end;
}

/* ---- the browser ---- */

struct pages {
	struct report *r;
	VEC(u32) events; /* that have samples */
};

static int open_page(void *ctx, u32 page, struct table *ret, struct strbuf *title)
{
	struct pages *p = ctx;
	u32 event = p->events.at[page];
	struct profile_totals totals = profile_totals(p->r->profile, event);
	strbuf_str(title, "Samples: ");
	short_count(title, totals.nr_samples);
	strbuf_printf(title, " of event '%s', event count (approx.): %llu",
		      p->r->src->catalog.events.at[event].name, (unsigned long long)totals.period);
	if (p->events.nr > 1)
		strbuf_printf(title, " (%u of %zu, Tab: next)", page + 1, p->events.nr);
	if (p->r->src->catalog.nr_lost)
		strbuf_printf(title, ", lost: %llu", (unsigned long long)p->r->src->catalog.nr_lost);
	return profile_table(p->r->profile, event, ret);
}

static int page_header(void *ctx, u32 page, size_t row, struct strbuf *to)
{
	struct report *r = ((struct pages *)ctx)->r;
	return perf_header_text(replay_perf_file(r->src), r->opts->input, true, to);
}

static int browse_pages(struct report *r)
{
	static const struct tui_action actions[] = {
		{ 'i', "where, when and how it was recorded", page_header },
		{ 0 },
	};
	struct pages p = { .r = r };
	for (u32 i = 0; i < r->src->catalog.events.nr; i++) {
		if (!profile_totals(r->profile, i).nr_samples)
			continue;
		u32 *event = vec_push(&p.events);
		if (!event) {
			vec_free(&p.events);
			return -ENOMEM;
		}
		*event = i;
	}
	struct tui_config c = {
		.nr_pages = (u32)p.events.nr,
		.open = open_page,
		.actions = actions,
		.ctx = &p,
		.fractal = r->cfg.fractal,
		.colour = r->app->colour,
	};
	int err = p.events.nr ? tui_tables(&c) : -ENOTTY;
	vec_free(&p.events);
	return err;
}

static bool wants_browser(const struct report *r)
{
	const struct report_opts *o = r->opts;
	bool plain = o->stdio || o->separator || o->header || o->quiet || r->app->json;
	return !plain && tui_possible();
}

static int show(struct report *r)
{
	if (r->app->json)
		return print_json(r);
	int err = wants_browser(r) ? browse_pages(r) : -ENOTTY;
	if (err == -ENOTTY && r->opts->tui)
		diag_warn(&r->app->diag, "there is no terminal to draw the browser on: plain text");
	return err == -ENOTTY ? print_text(r) : err;
}

static int report_source(struct report *r)
{
	configure(&r->cfg, r->opts, r->src, &r->app->diag);
	r->first_key = r->cfg.keys[0];
	r->profile = profile_new(&r->cfg);
	struct names *names = symbols_open(r->app, &r->opts->symbols);
	struct run_tables run = { 0 };
	struct names_result named;
	int err = r->profile && names ? 0 : -ENOMEM;
	if (!err)
		err = stream_run(r->src, profile_sink(r->profile), (unsigned)r->opts->workers, &run,
				 &r->app->diag);
	if (!err)
		err = names->ops->resolve(names, &r->src->catalog, &run.frames,
					  symbols_want(&r->opts->symbols), &named);
	if (!err)
		err = names_expand(&named, &run.frames, &run.chains);
	if (!err)
		err = profile_fold(r->profile, &r->src->catalog, &run, &named);
	if (!err)
		err = show(r);
	if (!err && r->src->catalog.nr_lost)
		diag_warn(&r->app->diag, "%llu samples were lost while recording",
			  (unsigned long long)r->src->catalog.nr_lost);
	profile_free(r->profile);
	run_tables_done(&run);
	if (names)
		names->ops->free(names);
	return err;
}

/* "--sort comm, dso, symbol" of old texts: a list that ends in a comma goes on in the next word. */
static int take_sort_words(struct report_opts *o, int argc, char **argv)
{
	int taken = 0;
	while (taken < argc && o->sort.items.nr) {
		const char *last = o->sort.items.at[o->sort.items.nr - 1];
		if (!*last || last[strlen(last) - 1] != ',')
			break;
		const char **item = vec_push(&o->sort.items);
		if (!item)
			return -ENOMEM;
		*item = argv[taken++];
	}
	return taken;
}

static int report_run(struct app *app, void *opts, int argc, char **argv)
{
	struct report_opts *o = opts;
	struct report r = { .app = app, .opts = o };
	int taken = take_sort_words(o, argc, argv);
	if (taken < 0)
		return app_fail(app, taken);
	argc -= taken;
	argv += taken;
	if (argc > 1)
		return app_usage(app, "one recording at a time: '%s' is left over", argv[1]);
	if (argc == 1)
		o->input = argv[0];
	if (o->percent_limit && parse_percent(o->percent_limit, &r.min_percent))
		return app_usage(app, "--percent-limit: '%s' is not a percentage", o->percent_limit);
	if (sort_keys(&r.cfg, o, app))
		return app_usage_said(app);
	mapped_guard(o->input);
	int err = replay_perf_open(o->input, &r.src, &app->diag);
	if (err)
		return app_fail(app, err);
	err = symbols_unwind(r.src, &o->symbols);
	if (err)
		;
	else if (o->header_only)
		err = print_head_only(&r);
	else if (o->stats || o->tasks || o->mmaps)
		err = print_side(&r);
	else
		err = report_source(&r);
	r.src->ops->close(r.src);
	return err ? app_fail(app, err) : APP_DONE;
}

const struct command command_report = {
	.name = "report",
	.group = "Why",
	.summary = "show where the time of a recording went",
	.usage = "[OPTIONS] [FILE]",
	.about = "Reads a perf.data file (ours or perf's) and prints one row for each command, "
		 "library and function, heaviest "
		 "first, weighted by period. With call chains, callers are counted too and each "
		 "row shows its call graph.",
	.examples = report_examples,
	.opts = report_rows,
	.opts_size = sizeof(struct report_opts),
	.defaults = report_defaults,
	.mixed_words = true,
	.run = report_run,
};
