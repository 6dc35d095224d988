#include "session/calls_text.h"

#include "base/json.h"
#include "view/csv_table.h"
#include "view/json_table.h"
#include "view/text_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int name_funcs(struct calls_view *g)
{
	size_t nr = graph_time_nr_funcs(g->times);
	g->names = calloc(nr + 1, sizeof(*g->names));
	g->order = calloc(nr + 1, sizeof(*g->order));
	if (!g->names || !g->order)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		u64 addr = graph_time_func(g->times, i)->addr, offset;
		const char *name = g->symbol(g->ctx, addr, &offset);
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

static u64 weight(const struct calls_view *g, size_t i)
{
	const struct graph_func *f = graph_time_func(g->times, i);
	switch (g->sort) {
	case CALLS_BY_TOTAL: return f->total_ns;
	case CALLS_BY_SELF: return f->self_ns;
	case CALLS_BY_CALLS: return f->calls;
	case CALLS_BY_AVERAGE: return average(f);
	case CALLS_BY_MAX: return f->max_ns;
	case CALLS_BY_NAME: break;
	}
	return 0;
}

/* Heaviest first; what is equal by name. */
static int compare_rows(const void *pa, const void *pb, void *ctx)
{
	const struct calls_view *g = ctx;
	size_t a = *(const size_t *)pa, b = *(const size_t *)pb;
	u64 wa = weight(g, a), wb = weight(g, b);
	if (wa != wb)
		return wa > wb ? -1 : 1;
	return strcmp(g->names[a], g->names[b]);
}

static int make_table(const struct calls_view *g, struct table *t)
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
static int link_nodes(const struct calls_view *g, struct branches *b)
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
		qsort_r(b->sorted + 1, nr - 1, sizeof(u32), compare_nodes,
			(void *)(uintptr_t)g->times);
	for (size_t i = nr; i-- > 1;) {
		u32 node = b->sorted[i], parent = graph_time_node(g->times, node)->parent;
		b->next[node] = b->first[parent];
		b->first[parent] = node;
	}
	return 0;
}

static u64 below(const struct calls_view *g, const struct branches *b, u32 node)
{
	u64 sum = 0;
	for (u32 at = b->first[node]; at; at = b->next[at])
		sum += graph_time_node(g->times, at)->total_ns;
	return sum;
}

static void put_node(const struct calls_view *g, u32 node, u32 depth, u64 whole)
{
	const struct graph_node *n = graph_time_node(g->times, node);
	strbuf_printf(g->to, "%7.2f%% %10llu %14llu %14llu  ",
		      whole ? 100.0 * (double)n->total_ns / (double)whole : 0,
		      (unsigned long long)n->calls, (unsigned long long)n->total_ns,
		      (unsigned long long)n->self_ns);
	strbuf_fill(g->to, ' ', (size_t)depth * 2);
	strbuf_printf(g->to, "%s\n", g->names[n->func]);
}

static void put_tree(const struct calls_view *g, const struct branches *b, u64 whole, double limit)
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

static void json_nodes(const struct calls_view *g, const struct branches *b, struct json *j)
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

static int print_tree(struct calls_view *g)
{
	struct branches b = { 0 };
	int err = link_nodes(g, &b);
	if (!err) {
		strbuf_printf(g->to, "# %6s %10s %14s %14s  %s\n", "Share", "Calls", "Total ns",
			      "Self ns", "Function");
		put_tree(g, &b, below(g, &b, 0), g->limit);
	}
	free(b.first);
	free(b.next);
	free(b.sorted);
	return err;
}

static int print_json(struct calls_view *g, const struct table *t)
{
	struct json j;
	struct branches b = { 0 };
	int err = g->tree ? link_nodes(g, &b) : 0;
	json_begin(&j, g->to, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "unfinished", graph_time_nr_open(g->times));
	json_put_u64(&j, "without_start", graph_time_nr_headless(g->times));
	json_put_u64(&j, "gaps", graph_time_nr_gaps(g->times));
	json_key(&j, "functions");
	if (!err)
		err = json_table(t, 0, &j);
	if (!err && g->tree)
		json_nodes(g, &b, &j);
	json_object_end(&j);
	free(b.first);
	free(b.next);
	free(b.sorted);
	int end = json_end(&j);
	return err ? err : end;
}

static int print_rows(struct calls_view *g)
{
	struct table t;
	table_init(&t);
	int err = make_table(g, &t);
	if (!err && g->json)
		err = print_json(g, &t);
	else if (!err && g->csv)
		err = csv_table(&t, 0, g->to);
	else if (!err)
		err = text_table(&t, &(struct text_table_style){ .header = true }, g->to);
	table_done(&t);
	return err;
}

/* ---- as perf has it ---- */

static int print_perf(const struct calls_view *g)
{
	struct strbuf *to = g->to;
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

static int print(struct calls_view *g)
{
	if (g->json)
		return print_rows(g);
	if (g->perf)
		return print_perf(g);
	return g->tree ? print_tree(g) : print_rows(g);
}

int text_calls(struct calls_view *g)
{
	arena_init(&g->arena);
	int err = name_funcs(g);
	if (!err) {
		qsort_r(g->order, graph_time_nr_funcs(g->times), sizeof(*g->order), compare_rows, g);
		err = print(g);
	}
	free(g->names);
	free(g->order);
	arena_done(&g->arena);
	return err;
}
