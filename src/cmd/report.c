/* sonde report: a recording as a table of who spent how much where, with call graphs. */
#include "cmd/annotate.h"
#include "cmd/app.h"
#include "analysis/profile.h"
#include "base/num.h"
#include "cmd/choose.h"
#include "cmd/commands.h"
#include "cmd/dump_raw.h"
#include "cmd/perf_header.h"
#include "cmd/recording.h"
#include "cmd/report_env.h"
#include "cmd/report_keys.h"
#include "cmd/report_side.h"
#include "cmd/symbols.h"
#include "stream/replay_ftrace.h"
#include "stream/replay_perf.h"
#include "stream/run.h"
#include "view/csv_table.h"
#include "view/json_table.h"
#include "view/text_table.h"
#include "view/tui_screen.h"
#include "view/tui_table.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 64 };

struct graph_opts {
	bool off;
	bool given;
	bool order_given;
	bool percent_given;
	bool by_address;
	bool by_line;
	enum text_tree_form form;
	enum text_tree_value value;
	enum profile_order order;
	double min_percent;
	u32 limit;
};

struct report_opts {
	const char *input;
	struct opt_list inputs; /* -i, all of them */
	struct opt_list sort;
	const char *fields;
	struct graph_opts graph;
	bool stdio;
	bool tui;
	bool children;
	bool no_children;
	bool show_count;
	bool show_period;
	bool by_level;
	bool header;
	bool header_only;
	bool header_full;
	bool quiet;
	bool full_path;
	bool stats;
	bool dump;
	bool tasks;
	bool mmaps;
	bool csv;
	bool inverted;
	bool hide_unresolved;
	bool exclude_other;
	bool hierarchy;
	bool branches; /* usual, where there are some */
	bool mem_mode;
	bool group;
	bool force;
	bool raw_trace;
	const char *separator;
	const char *percent_limit;
	const char *percentage;
	const char *widths;
	const char *dsos;
	const char *symbols_only;
	const char *symbol_part;
	const char *parent;
	const char *quantum;
	u64 max_stack;
	u64 workers;
	struct choose_opts choose;
	struct symbol_opts symbols;
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

/* A first number is the least percentage, a second one how many branches of a place are shown. */
static int graph_number(struct graph_opts *g, const char *word)
{
	if (!g->percent_given) {
		g->percent_given = !parse_percent(word, &g->min_percent);
		return g->percent_given ? 0 : -EINVAL;
	}
	char *end;
	unsigned long limit = strtoul(word, &end, 10);
	if (end == word || *end || limit > 1000000)
		return -EINVAL;
	g->limit = (u32)limit;
	return 0;
}

static int graph_word(struct graph_opts *g, const char *word, struct diag *d)
{
	static const struct {
		const char *word;
		enum text_tree_form form;
	} forms[] = { { "graph", TEXT_TREE_GRAPH },
		      { "fractal", TEXT_TREE_FRACTAL },
		      { "flat", TEXT_TREE_FLAT },
		      { "folded", TEXT_TREE_FOLDED } };
	static const struct {
		const char *word;
		enum text_tree_value value;
	} values[] = { { "percent", TEXT_TREE_PERCENT },
		       { "period", TEXT_TREE_PERIOD },
		       { "count", TEXT_TREE_COUNT } };
	g->off = !strcmp(word, "none");
	if (g->off)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (!strcmp(word, forms[i].word)) {
			g->form = forms[i].form;
			return 0;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		if (!strcmp(word, values[i].word)) {
			g->value = values[i].value;
			return 0;
		}
	}
	if (!strcmp(word, "caller") || !strcmp(word, "callee")) {
		g->order = word[5] == 'r' ? PROFILE_CALLER : PROFILE_CALLEE;
		g->order_given = true;
	} else if (!strcmp(word, "function") || !strcmp(word, "address")) {
		g->by_address = *word == 'a';
	} else if (!strcmp(word, "srcline")) {
		g->by_line = true;
	} else if (!strcmp(word, "branch")) {
		return diag_error(d, -EINVAL, "-g %s is not there yet", word);
	} else if (graph_number(g, word)) {
		(void)diag_error(d, -EINVAL, "-g: '%s' is not a way to draw a call graph", word);
		diag_hint(d, "graph, fractal, flat, folded, none; caller, callee; function, "
			     "address, srcline; "
			     "percent, period, count; a percentage below which branches are left "
			     "out, then how many branches of a place are shown");
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
	OPT_LIST('i', "input", struct report_opts, inputs, "FILE",
		 "recording to read (perf.data), or a trace.dat (several are merged by time); - is "
		 "standard input"),
	OPT_LIST('s', "sort", struct report_opts, sort, "KEYS",
		 "rows by these: comm pid tgid cpu socket time cgroup dso sym parent trace weight "
		 "local_weight symbol_size dso_size srcline srcfile overhead overhead_children "
		 "overhead_sys "
		 "overhead_us overhead_guest_sys overhead_guest_us sample period, or [EVENT.]FIELD "
		 "of tracepoints; of branches: dso_from dso_to symbol_from symbol_to mispredict "
		 "in_tx abort cycles; of accesses: mem snoop tlb locked blocked dso_daddr "
		 "phys_daddr; +KEY: besides the usual comm,dso,sym"),
	OPT_STR('F', "fields", struct report_opts, fields,
		"KEYS", "columns, in this order; rows are then sorted by them; +KEY: besides the usual ones"),
	OPT_CALL('g', "call-graph", "HOW",
		 "call graphs: graph|fractal|flat|folded|none, caller|callee, "
		 "function|address|srcline, "
		 "percent|period|count, least percentage, most branches",
		 graph_call, .optional = true, .greedy = true),
	OPT_FLAG('G', "inverted", struct report_opts, inverted, "the same as -g caller"),
	OPT_FLAG(0, "children", struct report_opts, children,
		 "count callers too (as perf does when there are call chains)"),
	OPT_FLAG(0, "self-only", struct report_opts, no_children, "the same as --no-children",
		 .hidden = true),
	OPT_FLAG('n', "show-nr-samples", struct report_opts, show_count,
		 "a column with the number of samples"),
	OPT_FLAG(0, "show-total-period", struct report_opts, show_period,
		 "a column with the sum of the periods"),
	OPT_FLAG(0, "showcpuutilization", struct report_opts, by_level,
		 "columns with the parts spent in the kernel and in user code"),
	OPT_FLAG('b', "branch-stack", struct report_opts, branches,
		 "rows of branches, where there are some (usual); --no-branch-stack: of samples"),
	OPT_FLAG(0, "mem-mode", struct report_opts, mem_mode,
		 "rows of accesses to memory (record -d), by what they cost"),
	OPT_FLAG(0, "hierarchy", struct report_opts, hierarchy,
		 "rows within rows: a level for each key, those in {braces} together"),
	OPT_FLAG(0, "group", struct report_opts, group,
		 "events of a group side by side (usual); --no-group: one after the other"),
	OPT_STR(0, "percent-limit", struct report_opts, percent_limit, "PERCENT",
		"leave out rows below, and branches of call graphs"),
	OPT_STR(0, "percentage", struct report_opts, percentage, "relative|absolute",
		"what 100 % is when rows are filtered: what is shown, or everything (usual)"),
	OPT_UINT(0, "max-stack", struct report_opts, max_stack, "N",
		 "only N frames of call chains, from the end where graphs begin"),
	OPT_STR(0, "time-quantum", struct report_opts, quantum, "TIME",
		"width of a slice of --sort time: 10ms, 1s (100ms)"),
	OPT_STR('p', "parent", struct report_opts, parent, "REGEX",
		"the caller whose name fits, as a column"),
	OPT_FLAG('x', "exclude-other", struct report_opts, exclude_other,
		 "only rows that have such a caller"),
	OPT_STR('w', "column-widths", struct report_opts, widths, "WIDTHS",
		"widths of columns, with commas; 0: as wide as needed"),
	OPT_STR('t', "field-separator", struct report_opts, separator, "SEP",
		"columns separated by SEP, no call graphs"),
	OPT_FLAG(0, "csv", struct report_opts, csv,
		 "values separated by commas, quoted where needed; names of columns first"),
	OPT_FLAG(0, "header", struct report_opts, header,
		 "where, when and how it was recorded, before the table"),
	OPT_FLAG(0, "header-only", struct report_opts, header_only, "only that"),
	OPT_FLAG('I', "show-info", struct report_opts, header_full,
		 "with the topology of CPUs and memory"),
	OPT_FLAG('D', "dump-raw-trace", struct report_opts, dump,
		 "every record of the file as bytes and text, instead of the table"),
	OPT_FLAG(0, "stats", struct report_opts, stats,
		 "how many records of which type, instead of the table"),
	OPT_FLAG(0, "tasks", struct report_opts, tasks,
		 "which tasks there were, as a tree, instead of the table"),
	OPT_FLAG(0, "mmaps", struct report_opts, mmaps,
		 "the same, with what each of them had mapped"),
	OPT_FLAG(0, "full-source-path", struct report_opts, full_path,
		 "whole paths of source files (--sort srcline, -g srcline)"),
	OPT_FLAG('q', "quiet", struct report_opts, quiet, "no comment lines above the table"),
	OPT_FLAG(0, "stdio", struct report_opts, stdio,
		 "plain text, also on a terminal (where a browser opens otherwise)"),
	OPT_FLAG(0, "tui", struct report_opts, tui, "the browser; the usual form on a terminal"),
	OPT_FLAG(0, "raw-trace", struct report_opts, raw_trace,
		 "fields of tracepoints as plain numbers", .hidden = true),
	OPT_FLAG('f', "force", struct report_opts, force,
		 "accepted; whose file it is never matters", .hidden = true),
	OPT_UINT(0, "workers", struct report_opts, workers, "N", "threads to use (all CPUs)"),
	CHOOSE_OPT_ROWS(struct report_opts, choose),
	OPT_STR('d', "dsos", struct report_opts, dsos, "LIST", "only in these libraries"),
	OPT_STR(0, "dso", struct report_opts, dsos, "LIST", "the same", .hidden = true),
	OPT_STR('S', "symbols", struct report_opts, symbols_only, "LIST", "only in these functions"),
	OPT_STR(0, "symbol-filter", struct report_opts, symbol_part, "TEXT",
		"only rows whose function's name holds TEXT"),
	OPT_FLAG('U', "hide-unresolved", struct report_opts, hide_unresolved,
		 "leave out what has no name"),
	SYMBOL_OPT_ROWS(struct report_opts, symbols),
	OPT_END(),
};

static const struct opt_example report_examples[] = {
	{ "report", "the recording in ./perf.data" },
	{ "report -i FILE --no-children -g caller",
	  "each function with the paths that lead to it" },
	{ "report -g none --sort dso", "which libraries, without call graphs" },
	{ "report --sort cpu,comm --time 10%/2", "who ran where in the second tenth of the time" },
	{ "report --sort next_comm,next_pid", "samples of a tracepoint by its fields" },
	{ "report --hierarchy --sort comm,dso,sym", "rows that can be read level by level" },
	{ "report -i trace.dat",
	  "where kernel functions spent their time (ftrace record -p function_graph)" },
	{ "report --stats", "what is in the file, by type of record" },
	{ "report --header-only", "where, when and how it was recorded" },
	{ "report --json -g none", "for programs" },
	{ "report --csv -F overhead,sample,comm,sym", "for spreadsheets" },
	{ 0 },
};

static void report_defaults(void *opts)
{
	struct report_opts *o = opts;
	o->input = "perf.data";
	o->children = true;
	o->branches = true;
	o->group = true;
	o->graph.min_percent = 0.5;
}

/* A column in which every row says the same is a line above the table. */
struct elided {
	const char *what, *word;
};

struct report {
	struct app *app;
	const struct report_opts *opts;
	struct source *src;
	struct profile *profile;
	struct profile_config cfg;
	struct report_env env;
	struct choose choose;
	struct word_list dsos, symbols;
	VEC(struct elided) elided;
	const char *sort; /* all of --sort as one text */
	struct json *json;
	struct pages *pages; /* of the browser, while they are found */
	double min_percent;
	bool own_first; /* the first key is the function: a graph need not repeat it */
};

/* Branches that were asked for; not those that are a call stack (--call-graph lbr). */
static bool has_branches(const struct report *r)
{
	const struct catalog *c = &r->src->catalog;
	for (size_t i = 0; i < c->events.nr; i++)
		if (c->events.at[i].sample_type & PERF_SAMPLE_BRANCH_STACK &&
		    !(replay_perf_file(r->src)->attrs.at[i].attr.branch_sample_type &
		      PERF_SAMPLE_BRANCH_CALL_STACK))
			return true;
	return false;
}

static void configure(struct report *r)
{
	const struct report_opts *o = r->opts;
	struct profile_config *cfg = &r->cfg;
	bool chains = false;
	vec_for_each (&r->src->catalog.events, e)
		chains |= (e->sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
	cfg->branches = o->branches && !o->mem_mode && has_branches(r);
	cfg->by_weight = o->mem_mode;
	chains = chains && !cfg->branches;
	if (!chains && o->graph.given && !o->graph.off) {
		diag_warn(&r->app->diag,
			  "the recording has no call chains: there are no call graphs to draw");
		diag_hint(&r->app->diag, "record them: %s",
			  replay_ftrace_is(r->src)
				  ? "sonde ftrace record -T -e EVENT, or -p function_graph"
				  : "sonde record -g -- COMMAND");
	}
	cfg->children = chains && o->children && !o->no_children && !o->hierarchy;
	cfg->graph = chains && !o->graph.off && !o->separator && !o->csv;
	cfg->min_percent =
		o->percent_limit && !o->graph.percent_given ? r->min_percent : o->graph.min_percent;
	cfg->fractal = o->graph.form == TEXT_TREE_FRACTAL;
	cfg->count = o->graph.value == TEXT_TREE_COUNT;
	cfg->by_address = o->graph.by_address;
	cfg->by_line = o->graph.by_line;
	cfg->full_path = o->full_path;
	cfg->max_stack = (u32)o->max_stack;
	cfg->order = o->graph.order_given			  ? o->graph.order
		     : o->inverted				  ? PROFILE_CALLER
		     : (chains && o->children && !o->no_children) ? PROFILE_CALLER
								  : PROFILE_CALLEE;
	cfg->filter = (struct profile_filter){
		.choice = r->choose.when,
		.rows = r->choose.who,
		.dsos = r->dsos.at.at,
		.nr_dsos = r->dsos.at.nr,
		.symbols = r->symbols.at.at,
		.nr_symbols = r->symbols.at.nr,
		.symbol_part = o->symbol_part,
		.parent = o->parent,
		.only_with_parent = o->exclude_other,
		.hide_unresolved = o->hide_unresolved,
		.relative = o->percentage && !strcmp(o->percentage, "relative"),
	};
}

static bool elided(const struct report *r, enum profile_key key, const char **what,
		   const char **word)
{
	const struct {
		enum profile_key key;
		const char *name;
		const struct word_list *list;
	} lists[] = {
		{ PROFILE_KEY_COMM, "comm", &r->choose.comms },
		{ PROFILE_KEY_DSO, "dso", &r->dsos },
		{ PROFILE_KEY_SYM, "symbol", &r->symbols },
	};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (lists[i].key != key || lists[i].list->at.nr != 1)
			continue;
		*what = lists[i].name;
		*word = lists[i].list->at.at[0];
		return true;
	}
	return false;
}

/* At least one column with names remains. */
static bool elides(const struct report *r)
{
	const struct profile_config *c = &r->cfg;
	const char *what, *word;
	u32 names = 0, gone = 0;
	for (u32 i = 0; i < c->nr_fields; i++) {
		names += !profile_key_is_measure(c->fields[i].key);
		gone += elided(r, c->fields[i].key, &what, &word);
	}
	return gone < names;
}

static void say_elided(struct report *r)
{
	vec_for_each (&r->elided, line)
		if (!r->opts->quiet && !r->opts->csv)
			strbuf_printf(&r->app->out, "# %s: %s\n", line->what, line->word);
}

/* They are told above the table, also where they have to remain. */
static int elide_columns(struct report *r)
{
	struct profile_config *c = &r->cfg;
	bool gone = elides(r);
	u32 kept = 0;
	for (u32 i = 0; i < c->nr_fields; i++) {
		struct elided line;
		bool here = elided(r, c->fields[i].key, &line.what, &line.word);
		if (here && !vec_push(&r->elided))
			return -ENOMEM;
		if (here)
			r->elided.at[r->elided.nr - 1] = line;
		if (!here || !gone)
			c->fields[kept++] = c->fields[i];
	}
	c->nr_fields = kept;
	return 0;
}

/* perf has symbol_daddr, local_ins_lat and local_p_stage_cyc besides. */
static const char mem_keys[] = "local_weight,mem,sym,dso,dso_daddr,snoop,tlb,locked,blocked";

static int set_keys(struct report *r)
{
	const struct report_opts *o = r->opts;
	struct report_keys k = {
		.sort = r->sort,
		.usual = o->mem_mode	   ? mem_keys
			 : r->cfg.branches ? "comm,dso_from,symbol_from,symbol_to,cycles"
					   : NULL,
		.branches = r->cfg.branches,
		.fields = o->fields,
		.parent = o->parent || o->exclude_other,
		.by_level = o->by_level,
		.count = o->show_count,
		.period = o->show_period,
		.children = r->cfg.children,
	};
	int err = report_keys(&k, &r->src->catalog, &r->cfg, &r->app->diag);
	for (u32 i = 0; i < r->cfg.nr_sort && !err && r->sort; i++) {
		if (profile_key_is_measure(r->cfg.sort[i].key))
			continue;
		r->own_first = r->cfg.sort[i].key == PROFILE_KEY_SYM;
		break;
	}
	for (u32 i = 0; i < r->cfg.nr_sort && o->raw_trace; i++)
		r->cfg.sort[i].raw = true;
	return err;
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

/* An event or the events of a group, and what is to be shown of them. */
struct shown {
	u32 events[EVENTS_MAX];
	u32 nr;
	const char *group; /* its name; NULL: none, or none was given */
};

static struct profile_totals shown_totals(const struct report *r, const struct shown *e)
{
	struct profile_totals sum = { 0 };
	for (u32 i = 0; i < e->nr; i++) {
		struct profile_totals t = profile_totals(r->profile, e->events[i]);
		sum.nr_samples += t.nr_samples;
		sum.period += t.period;
	}
	return sum;
}

/* "240  of event 'cycles'", or of events. */
static void shown_text(const struct report *r, const struct shown *e, struct strbuf *to)
{
	short_count(to, shown_totals(r, e).nr_samples);
	strbuf_printf(to, " of event%s '", e->nr > 1 ? "s" : "");
	if (e->nr > 1)
		strbuf_printf(to, "%s { ", e->group && *e->group ? e->group : "anon group");
	for (u32 i = 0; i < e->nr; i++)
		strbuf_printf(to, "%s%s", i ? ", " : "",
			      r->src->catalog.events.at[e->events[i]].name);
	strbuf_printf(to, "%s'", e->nr > 1 ? " }" : "");
}

static void shown_title(const struct report *r, const struct shown *e, struct strbuf *to)
{
	strbuf_str(to, "Samples: ");
	shown_text(r, e, to);
	strbuf_printf(to, ", event count (approx.): %llu",
		      (unsigned long long)shown_totals(r, e).period);
}

static void event_header(const struct report *r, const struct shown *e, struct strbuf *to)
{
	strbuf_str(to, "# Samples: ");
	shown_text(r, e, to);
	if (r->opts->choose.time)
		strbuf_printf(to, " (time slices: %s)", r->opts->choose.time);
	unsigned long long sum = shown_totals(r, e).period;
	if (r->opts->mem_mode)
		strbuf_printf(to, "\n# Total weight : %llu\n# Sort order   : %s\n#\n", sum,
			      r->sort ? r->sort : mem_keys);
	else
		strbuf_printf(to, "\n# Event count (approx.): %llu\n#\n", sum);
}

static int make_table(struct report *r, const struct shown *e, struct table *t)
{
	int err = r->opts->hierarchy ? profile_hierarchy(r->profile, e->events, e->nr, t)
		  : e->nr > 1	     ? profile_group_table(r->profile, e->events, e->nr, t)
				     : profile_table(r->profile, e->events[0], t);
	const char *at = r->opts->widths;
	for (size_t i = 0; at && *at && i < t->columns.nr; i++) {
		u32 width = (u32)strtoul(at, NULL, 10);
		if (width)
			t->columns.at[i].fixed_width = width;
		at += strcspn(at, ",");
		at += *at == ',';
	}
	return err;
}

static int print_event(struct report *r, const struct shown *e)
{
	struct strbuf *to = &r->app->out;
	const struct report_opts *o = r->opts;
	struct table t;
	table_init(&t);
	int err = make_table(r, e, &t);
	struct text_table_style style = {
		.separator = o->separator,
		.header = !o->quiet,
		.min_percent = r->min_percent,
		.graph = o->graph.form,
		.value = o->graph.value,
		.graph_limit = o->graph.limit,
		.hide_own = r->own_first,
	};
	if (!o->quiet && !o->csv)
		event_header(r, e, to);
	if (!err)
		err = o->csv ? csv_table(&t, r->min_percent, to) : text_table(&t, &style, to);
	strbuf_str(to, o->csv ? "" : "\n\n");
	table_done(&t);
	return err;
}

/* Calls back for each event, or each group of them. */
static int each_shown(struct report *r, int (*fn)(struct report *r, const struct shown *e))
{
	const struct perfdata *file = replay_perf_file(r->src);
	u32 nr = (u32)r->src->catalog.events.nr;
	int err = 0;
	for (u32 i = 0; i < nr && !err;) {
		struct shown e = { .events = { i }, .nr = 1 };
		struct perfdata_group g;
		if (r->opts->group && file && perfdata_group_led_by(file, i, &g)) {
			e.group = g.name;
			for (e.nr = 0; e.nr < min(g.nr, (u32)EVENTS_MAX); e.nr++)
				e.events[e.nr] = i + e.nr;
		}
		bool any = false;
		for (u32 k = 0; k < e.nr; k++)
			any |= profile_totals(r->profile, e.events[k]).nr_samples > 0;
		if (any || nr == 1)
			err = fn(r, &e);
		i += e.nr;
	}
	return err;
}

static int print_head(struct report *r)
{
	if (r->opts->header || r->opts->header_only)
		return perf_header_text(replay_perf_file(r->src), r->opts->input,
					r->opts->header_full, &r->app->out);
	if (!r->opts->quiet && !r->opts->csv && replay_perf_file(r->src))
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
	if (r->opts->dump)
		return dump_raw(replay_perf_file(r->src), r->opts->input, &app->out);
	return r->opts->stats ? report_stats(r->src, &app->out)
			      : report_tasks(r->src, r->opts->mmaps, &app->out);
}

static int print_text(struct report *r)
{
	int err = print_head(r);
	if (err)
		return err;
	say_elided(r);
	if (!r->opts->quiet && !r->opts->csv)
		strbuf_printf(&r->app->out, "#\n# Total Lost Samples: %llu\n#\n",
			      (unsigned long long)r->src->catalog.nr_lost);
	return each_shown(r, print_event);
}

static int json_event(struct report *r, const struct shown *e)
{
	struct json *j = r->json;
	const struct catalog *c = &r->src->catalog;
	struct profile_totals totals = shown_totals(r, e);
	struct table t;
	table_init(&t);
	int err = make_table(r, e, &t);
	json_object(j);
	json_put_str(j, "event", c->events.at[e->events[0]].name);
	if (e->nr > 1) {
		json_key(j, "group");
		json_array(j);
		for (u32 i = 0; i < e->nr; i++)
			json_str(j, c->events.at[e->events[i]].name);
		json_array_end(j);
	}
	json_put_u64(j, "samples", totals.nr_samples);
	json_put_u64(j, "period", totals.period);
	json_key(j, "rows");
	if (!err)
		err = json_table(&t, r->min_percent, j);
	json_object_end(j);
	table_done(&t);
	return err;
}

static int print_json(struct report *r)
{
	struct json j;
	json_begin(&j, &r->app->out, JSON_PRETTY);
	r->json = &j;
	json_object(&j);
	json_put_u64(&j, "lost", r->src->catalog.nr_lost);
	json_key(&j, "events");
	json_array(&j);
	int err = each_shown(r, json_event);
	json_array_end(&j);
	json_object_end(&j);
	int end = json_end(&j);
	return err ? err : end;
}

/* ---- the browser ---- */

struct pages {
	struct report *r;
	VEC(struct shown) shown;
};

static struct pages *pages_of(void *ctx)
{
	return ctx;
}

static int open_page(void *ctx, u32 page, struct table *ret, struct strbuf *title)
{
	struct pages *p = pages_of(ctx);
	const struct shown *e = &p->shown.at[page];
	shown_title(p->r, e, title);
	if (p->shown.nr > 1)
		strbuf_printf(title, " (%u of %zu, Tab: next)", page + 1, p->shown.nr);
	if (p->r->src->catalog.nr_lost)
		strbuf_printf(title, ", lost: %llu", (unsigned long long)p->r->src->catalog.nr_lost);
	return make_table(p->r, e, ret);
}

static int page_header(void *ctx, u32 page, size_t row, struct strbuf *to)
{
	struct report *r = pages_of(ctx)->r;
	if (!replay_perf_file(r->src))
		return -ENOENT;
	return perf_header_text(replay_perf_file(r->src), r->opts->input, true, to);
}

static int page_annotate(void *ctx, u32 page, size_t row, struct strbuf *to)
{
	struct pages *p = pages_of(ctx);
	const struct name_func *f = profile_row_func(p->r->profile, row);
	/* What came through a pipe is gone. */
	if (!f || !f->name || !strcmp(p->r->opts->input, "-") || !replay_perf_file(p->r->src))
		return -ENOENT;
	return annotate_function(p->r->app, p->r->opts->input, &p->r->opts->symbols, f,
				 p->shown.at[page].events[0], to);
}

static int add_page(struct report *r, const struct shown *e)
{
	struct shown *page = vec_push(&r->pages->shown);
	if (!page)
		return -ENOMEM;
	*page = *e;
	return 0;
}

static int browse_pages(struct report *r)
{
	static const struct tui_action actions[] = {
		{ 'a', "annotate the function: instructions and source", page_annotate },
		{ 'i', "where, when and how it was recorded", page_header },
		{ 0 },
	};
	struct pages p = { .r = r };
	r->pages = &p;
	int err = each_shown(r, add_page);
	struct tui_config c = {
		.nr_pages = (u32)p.shown.nr,
		.open = open_page,
		.actions = actions,
		.ctx = &p,
		.fractal = r->cfg.fractal,
		.colour = r->app->colour,
	};
	if (!err)
		err = p.shown.nr ? tui_tables(&c) : -ENOTTY;
	vec_free(&p.shown);
	return err;
}

static bool wants_browser(const struct report *r)
{
	const struct report_opts *o = r->opts;
	bool plain = o->stdio || o->separator || o->csv || o->header || o->quiet || r->app->json ||
		     o->hierarchy || o->graph.form > TEXT_TREE_FRACTAL;
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

static bool needs_lines(const struct profile_config *cfg)
{
	bool needs = cfg->by_address || cfg->by_line;
	for (u32 i = 0; i < cfg->nr_fields; i++)
		needs |= cfg->fields[i].key == PROFILE_KEY_SRCLINE ||
			 cfg->fields[i].key == PROFILE_KEY_SRCFILE;
	for (u32 i = 0; i < cfg->nr_sort; i++)
		needs |= cfg->sort[i].key == PROFILE_KEY_SRCLINE ||
			 cfg->sort[i].key == PROFILE_KEY_SRCFILE;
	return needs;
}

static int profile_source(struct report *r)
{
	r->profile = profile_new(&r->cfg);
	struct names *names = recording_names(r->app, r->src, &r->opts->symbols);
	struct run_tables run = { 0 };
	struct names_result named;
	int err = r->profile && names ? 0 : -ENOMEM;
	bool reads = replay_perf_has_reads(r->src);
	if (!err && reads)
		profile_sink(r->profile)->needs |= NEED_READ;
	if (!err)
		err = stream_run(r->src, profile_sink(r->profile),
				 reads ? 1 : (unsigned)r->opts->workers, &run, &r->app->diag);
	if (!err)
		err = names->ops->resolve(names, &r->src->catalog, &run.frames,
					  symbols_want(&r->opts->symbols) |
						  (needs_lines(&r->cfg) ? WANT_LINE : 0),
					  &named);
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

/* 0, a failure's errno in *err, or a usage status. */
static int report_source(struct report *r, int *err)
{
	const struct report_opts *o = r->opts;
	/* Keys may ask about all that was mapped, and times about all of the recording. */
	bool plain = !r->sort && !o->fields && !o->choose.time;
	*err = r->src->ops->prepare(r->src, plain ? MAY_START_EARLY : 0, &r->app->diag);
	if (*err)
		return 0;
	int status = choose_parse(&r->choose, &o->choose, r->src, r->app);
	if (status)
		return status;
	*err = choose_words(&r->choose, o->dsos, &r->dsos);
	if (!*err)
		*err = choose_words(&r->choose, o->symbols_only, &r->symbols);
	if (*err)
		return 0;
	configure(r);
	/* Events without a stack have no place: rows by it would be one row. */
	if (!r->sort && !o->fields && replay_ftrace_is(r->src) && !replay_ftrace_has_chains(r->src))
		r->sort = "comm,trace";
	if (set_keys(r))
		return app_usage_said(r->app);
	report_env_init(&r->env, r->src);
	*err = report_env_read(&r->env, &r->cfg);
	if (!*err)
		*err = elide_columns(r);
	if (!*err)
		*err = profile_source(r);
	report_env_done(&r->env);
	return 0;
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

/* All of --sort as one text: "-s comm -s dso" and "comm, dso" are lists like any other. */
static int join_sort(struct report *r, struct strbuf *to)
{
	vec_for_each (&r->opts->sort.items, item)
		strbuf_printf(to, "%s%s", to->len ? "," : "", *item);
	if (r->opts->sort.items.nr)
		r->sort = strbuf_cstr(to);
	return to->err;
}

/* "10ms"; what has no unit is seconds. */
static int parse_quantum(const char *text, u64 *ret)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 } };
	char *end;
	double v = strtod(text, &end);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (end == text || strcmp(end, units[i].unit) || v <= 0 || v * units[i].ns > 1e18)
			continue;
		*ret = (u64)(v * units[i].ns);
		return *ret ? 0 : -EINVAL;
	}
	return -EINVAL;
}

/* Mistakes that can be told before the recording is opened. 0, or a usage status. */
static int check_options(struct report *r)
{
	const struct report_opts *o = r->opts;
	struct app *app = r->app;
	regex_t regex;
	if (o->percent_limit && parse_percent(o->percent_limit, &r->min_percent))
		return app_usage(app, "--percent-limit: '%s' is not a percentage", o->percent_limit);
	if (o->percentage && strcmp(o->percentage, "relative") && strcmp(o->percentage, "absolute"))
		return app_usage(app, "--percentage is relative or absolute, not '%s'",
				 o->percentage);
	if (o->quantum && parse_quantum(o->quantum, &r->cfg.quantum_ns))
		return app_usage(app, "--time-quantum: '%s' is not a time such as 10ms", o->quantum);
	if (o->hierarchy && o->fields)
		return app_usage(app,
				 "--hierarchy has its own columns: --fields does not go with it");
	if (o->parent) {
		if (regcomp(&regex, o->parent, REG_EXTENDED | REG_NOSUB))
			return app_usage(app, "--parent: '%s' is not a regular expression",
					 o->parent);
		regfree(&regex);
	}
	return choose_check(&o->choose, app);
}

/* What a trace.dat has not. */
static int check_trace(struct report *r)
{
	const struct report_opts *o = r->opts;
	const char *what = o->header || o->header_only ? "--header"
			   : o->dump		       ? "--dump-raw-trace"
			   : o->stats		       ? "--stats"
			   : o->tasks		       ? "--tasks"
			   : o->mmaps		       ? "--mmaps"
						       : NULL;
	return what ? recording_needs_perf(r->app, r->src, o->input, what) : 0;
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
	o->input = recording_input(&o->inputs, o->input);
	if (argc == 1)
		o->input = argv[0];
	if (argc == 1 && o->inputs.items.nr > 1)
		return app_usage(app, "files stand behind -i, or alone: '%s' is left over", argv[0]);
	int status = check_options(&r);
	if (status)
		return status;
	struct strbuf sort;
	strbuf_init(&sort);
	choose_init(&r.choose);
	int err = join_sort(&r, &sort);
	if (!err)
		err = recording_open_inputs(app, &o->inputs, o->input, RECORDING_TIME, &o->symbols,
					    &r.src);
	if (!err)
		err = check_trace(&r);
	if (err)
		;
	else if (o->header_only)
		err = print_head_only(&r);
	else if (o->stats || o->tasks || o->mmaps || o->dump)
		err = print_side(&r);
	else
		status = report_source(&r, &err);
	if (r.src)
		r.src->ops->close(r.src);
	choose_done(&r.choose);
	vec_free(&r.dsos.at);
	vec_free(&r.symbols.at);
	vec_free(&r.elided);
	strbuf_done(&sort);
	return err ? app_fail(app, err) : status;
}

const struct command command_report = {
	.name = "report",
	.group = "Why",
	.summary = "show where the time of a recording went",
	.usage = "[OPTIONS] [FILE]",
	.about = "Reads a perf.data file (ours or perf's) and prints one row for each command, "
		 "library and function, heaviest "
		 "first, weighted by period. With call chains, callers are counted too and each "
		 "row shows its call graph.\n"
		 "Of a trace.dat, each event is a sample with the stacks recorded with it; calls "
		 "of the function graph tracer weigh the time they took themselves, in "
		 "nanoseconds.",
	.examples = report_examples,
	.opts = report_rows,
	.opts_size = sizeof(struct report_opts),
	.defaults = report_defaults,
	.mixed_words = true,
	.run = report_run,
};
