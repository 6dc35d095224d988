/* `sonde ftrace graph`: what the function graph tracer recorded, added up: a row for each function, or the tree of calls. */
#include "cmd/ftrace/graph.h"

#include "analysis/graph_time.h"
#include "base/cpuset.h"
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "stream/replay_ftrace.h"
#include "stream/run.h"
#include "view/csv_table.h"
#include "view/json_table.h"
#include "view/text_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum sort_key { SORT_TOTAL, SORT_SELF, SORT_CALLS, SORT_AVERAGE, SORT_MAX, SORT_NAME };
static const char *const sort_words[] = { "total", "self", "calls", "avg", "max", "name", NULL };

struct graph_opts {
	const char *input;
	const char *cpus;
	int sort; /* enum sort_key */
	bool tree;
	bool csv;
	bool perf; /* perf's table */
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

struct graph {
	struct app *app;
	const struct graph_opts *opts;
	struct source *src;
	struct graph_time *times;
	size_t *order; /* rows, as sorted */
	const char **names; /* [func] */
	struct arena arena;
};

static int name_funcs(struct graph *g)
{
	size_t nr = graph_time_nr_funcs(g->times);
	g->names = calloc(nr + 1, sizeof(*g->names));
	g->order = calloc(nr + 1, sizeof(*g->order));
	if (!g->names || !g->order)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		u64 addr = graph_time_func(g->times, i)->addr, offset;
		const char *name = ftrace_env_symbol(replay_ftrace_env(g->src, 0), addr, &offset);
		g->order[i] = i;
		if (name && (g->names[i] = name))
			continue;
		struct strbuf s;
		strbuf_init(&s);
		strbuf_str(&s, "0x");
		strbuf_hex(&s, addr);
		g->names[i] = arena_strdup(&g->arena, strbuf_cstr(&s));
		strbuf_done(&s);
		if (!g->names[i])
			return -ENOMEM;
	}
	return 0;
}

static u64 average(const struct graph_func *f)
{
	return f->calls ? f->total_ns / f->calls : 0;
}

static u64 weight(const struct graph *g, size_t i)
{
	const struct graph_func *f = graph_time_func(g->times, i);
	switch ((enum sort_key)g->opts->sort) {
	case SORT_TOTAL: return f->total_ns;
	case SORT_SELF: return f->self_ns;
	case SORT_CALLS: return f->calls;
	case SORT_AVERAGE: return average(f);
	case SORT_MAX: return f->max_ns;
	case SORT_NAME: break;
	}
	return 0;
}

/* Heaviest first; what is equal by name. */
static int compare_rows(const void *pa, const void *pb, void *ctx)
{
	const struct graph *g = ctx;
	size_t a = *(const size_t *)pa, b = *(const size_t *)pb;
	u64 wa = weight(g, a), wb = weight(g, b);
	if (wa != wb)
		return wa > wb ? -1 : 1;
	return strcmp(g->names[a], g->names[b]);
}

static int make_table(const struct graph *g, struct table *t)
{
	static const struct {
		const char *name, *key;
		enum cell_type type;
	} columns[] = {
		{ "Calls", "calls", CELL_U64 },	   { "Total ns", "total_ns", CELL_NS },
		{ "Self ns", "self_ns", CELL_NS }, { "Avg ns", "avg_ns", CELL_NS },
		{ "Max ns", "max_ns", CELL_NS },   { "Function", "function", CELL_STR },
	};
	for (unsigned i = 0; i < ARRAY_SIZE(columns); i++) {
		struct column *c = table_column(t, columns[i].name, columns[i].key, columns[i].type);
		if (!c)
			return -ENOMEM;
		c->min_width = columns[i].type == CELL_NS ? 12 : 0;
		c->last = i + 1 == ARRAY_SIZE(columns);
	}
	for (size_t i = 0; i < graph_time_nr_funcs(g->times); i++) {
		const struct graph_func *f = graph_time_func(g->times, g->order[i]);
		union cell *cells = f->calls ? table_row(t) : NULL;
		if (!f->calls)
			continue;
		if (!cells)
			return -ENOMEM;
		cells[0].u = f->calls;
		cells[1].u = f->total_ns;
		cells[2].u = f->self_ns;
		cells[3].u = average(f);
		cells[4].u = f->max_ns;
		cells[5].str = g->names[g->order[i]];
	}
	return 0;
}

/* ---- the tree ---- */

struct branches {
	u32 *first, *next; /* [node]; children of a node are a list; 0: none */
	u32 *sorted; /* scratch */
};

static int compare_nodes(const void *pa, const void *pb, void *ctx)
{
	const struct graph_time *times = ctx;
	const struct graph_node *a = graph_time_node(times, *(const u32 *)pa),
				*b = graph_time_node(times, *(const u32 *)pb);
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	return *(const u32 *)pa < *(const u32 *)pb ? -1 : 1;
}

/* Lists of children, heaviest first. */
static int link_nodes(const struct graph *g, struct branches *b)
{
	size_t nr = graph_time_nr_nodes(g->times);
	b->first = calloc(nr, sizeof(u32));
	b->next = calloc(nr, sizeof(u32));
	b->sorted = calloc(nr, sizeof(u32));
	if (!b->first || !b->next || !b->sorted)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++)
		b->sorted[i] = i;
	if (nr > 1)
		qsort_r(b->sorted + 1, nr - 1, sizeof(u32), compare_nodes, g->times);
	for (size_t i = nr; i-- > 1;) {
		u32 node = b->sorted[i], parent = graph_time_node(g->times, node)->parent;
		b->next[node] = b->first[parent];
		b->first[parent] = node;
	}
	return 0;
}

static u64 below(const struct graph *g, const struct branches *b, u32 node)
{
	u64 sum = 0;
	for (u32 at = b->first[node]; at; at = b->next[at])
		sum += graph_time_node(g->times, at)->total_ns;
	return sum;
}

static void put_node(const struct graph *g, u32 node, u32 depth, u64 whole)
{
	const struct graph_node *n = graph_time_node(g->times, node);
	strbuf_printf(&g->app->out, "%7.2f%% %10llu %14llu %14llu  ",
		      whole ? 100.0 * (double)n->total_ns / (double)whole : 0,
		      (unsigned long long)n->calls, (unsigned long long)n->total_ns,
		      (unsigned long long)n->self_ns);
	strbuf_fill(&g->app->out, ' ', (size_t)depth * 2);
	strbuf_printf(&g->app->out, "%s\n", g->names[n->func]);
}

static void put_tree(const struct graph *g, const struct branches *b, u64 whole, double limit)
{
	u32 at = b->first[0], depth = 0;
	u64 least = (u64)((double)whole * limit / 100);
	while (at) {
		const struct graph_node *n = graph_time_node(g->times, at);
		bool shown = n->total_ns >= least;
		if (shown)
			put_node(g, at, depth, whole);
		if (shown && b->first[at]) {
			at = b->first[at];
			depth++;
			continue;
		}
		while (at && !b->next[at]) {
			at = graph_time_node(g->times, at)->parent;
			depth--;
		}
		at = at ? b->next[at] : 0;
	}
}

static void json_nodes(const struct graph *g, const struct branches *b, struct json *j)
{
	json_key(j, "tree");
	json_array(j);
	for (size_t i = 1; i < graph_time_nr_nodes(g->times); i++) {
		const struct graph_node *n = graph_time_node(g->times, b->sorted[i]);
		json_object(j);
		json_put_u64(j, "id", b->sorted[i]);
		json_put_u64(j, "parent", n->parent);
		json_put_str(j, "function", g->names[n->func]);
		json_put_u64(j, "calls", n->calls);
		json_put_u64(j, "total_ns", n->total_ns);
		json_put_u64(j, "self_ns", n->self_ns);
		json_object_end(j);
	}
	json_array_end(j);
}

static int print_tree(struct graph *g, double limit)
{
	struct branches b = { 0 };
	int err = link_nodes(g, &b);
	if (!err) {
		strbuf_printf(&g->app->out, "# %6s %10s %14s %14s  %s\n", "Share", "Calls",
			      "Total ns", "Self ns", "Function");
		put_tree(g, &b, below(g, &b, 0), limit);
	}
	free(b.first);
	free(b.next);
	free(b.sorted);
	return err;
}

static int print_json(struct graph *g, const struct table *t)
{
	struct json j;
	struct branches b = { 0 };
	int err = g->opts->tree ? link_nodes(g, &b) : 0;
	json_begin(&j, &g->app->out, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "unfinished", graph_time_nr_open(g->times));
	json_put_u64(&j, "without_start", graph_time_nr_headless(g->times));
	json_put_u64(&j, "gaps", graph_time_nr_gaps(g->times));
	json_key(&j, "functions");
	if (!err)
		err = json_table(t, 0, &j);
	if (!err && g->opts->tree)
		json_nodes(g, &b, &j);
	json_object_end(&j);
	free(b.first);
	free(b.next);
	free(b.sorted);
	int end = json_end(&j);
	return err ? err : end;
}

static int print_rows(struct graph *g)
{
	struct table t;
	table_init(&t);
	int err = make_table(g, &t);
	if (!err && g->app->json)
		err = print_json(g, &t);
	else if (!err && g->opts->csv)
		err = csv_table(&t, 0, &g->app->out);
	else if (!err)
		err = text_table(&t, &(struct text_table_style){ .header = true }, &g->app->out);
	table_done(&t);
	return err;
}

/* ---- as perf has it ---- */

static int print_perf(const struct graph *g)
{
	struct strbuf *to = &g->app->out;
	strbuf_printf(to, "# %10s %10s %10s %10s   %s\n", "Total (us)", "Avg (us)", "Max (us)",
		      "Count", "Function");
	for (size_t i = 0; i < graph_time_nr_funcs(g->times); i++) {
		const struct graph_func *f = graph_time_func(g->times, g->order[i]);
		if (f->calls)
			strbuf_printf(to, "%12.3f %10.3f %6llu.%03llu %10llu   %s\n",
				      (double)f->total_ns / 1000,
				      (double)f->total_ns / 1000 / (double)f->calls,
				      (unsigned long long)(f->max_ns / 1000),
				      (unsigned long long)(f->max_ns % 1000),
				      (unsigned long long)f->calls, g->names[g->order[i]]);
	}
	return 0;
}

/* What the numbers do not hold. */
static void say_missing(struct graph *g)
{
	struct diag *d = &g->app->diag;
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

static int summarise(struct graph *g, double limit)
{
	struct run_tables result = { 0 };
	g->times = graph_time_new();
	if (!g->times)
		return -ENOMEM;
	int err = stream_run(g->src, graph_time_sink(g->times), (unsigned)g->opts->workers, &result,
			     &g->app->diag);
	run_tables_done(&result);
	if (!err)
		err = name_funcs(g);
	if (!err) {
		qsort_r(g->order, graph_time_nr_funcs(g->times), sizeof(*g->order), compare_rows, g);
		err = g->app->json    ? print_rows(g)
		      : g->opts->perf ? print_perf(g)
		      : g->opts->tree ? print_tree(g, limit)
				      : print_rows(g);
		say_missing(g);
	}
	graph_time_free(g->times);
	free(g->names);
	free(g->order);
	return err;
}

int ftrace_graph_as_perf(struct app *app, const char *path, const char *sort)
{
	static const struct {
		const char *name;
		enum sort_key key;
	} keys[] = { { "total", SORT_TOTAL },
		     { "avg", SORT_AVERAGE },
		     { "max", SORT_MAX },
		     { "count", SORT_CALLS },
		     { "name", SORT_NAME } };
	struct graph_opts o = { .perf = true };
	struct graph g = { .app = app, .opts = &o };
	struct replay_ftrace_opts replay = { .style = PRINT_STYLE_KERNEL };
	for (unsigned i = 0; sort && i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].name, sort))
			o.sort = keys[i].key;
	int err = replay_ftrace_open(path, &replay, &g.src, &app->diag);
	if (err)
		return err;
	arena_init(&g.arena);
	err = summarise(&g, 0);
	arena_done(&g.arena);
	g.src->ops->close(g.src);
	return err;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct graph_opts *o = opts;
	struct graph g = { .app = app, .opts = o };
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
	struct replay_ftrace_opts replay = { .style = PRINT_STYLE_KERNEL,
					     .cpus = o->cpus ? &cpus : NULL };
	int err = replay_ftrace_open(path, &replay, &g.src, &app->diag);
	if (err)
		return app_fail(app, err);
	arena_init(&g.arena);
	err = summarise(&g, limit);
	arena_done(&g.arena);
	g.src->ops->close(g.src);
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
