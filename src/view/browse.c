/*
 * Lines are made again after every change: a walk over the rows and over the graphs that are open. A row's graph is asked for
 * when it is first opened, and copied: the table's own is only valid until the next one is asked for.
 */
#include "view/browse.h"

#include "base/dict.h"
#include "view/text_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ZOOMS_MAX = 4, OPEN_MAX = 4096, DEPTH_MAX = 512 };

struct graph {
	struct tree tree; /* labels lie in the browser's arena */
	bool *open; /* [node] */
};

struct view_browse_line {
	u32 row;
	u32 node;
	u32 label; /* of the node */
	u32 depth;
	double percent;
};

struct zoom {
	size_t column;
	const char *key;
	const char *value; /* in the browser's arena */
};

struct browse {
	const struct table *t;
	bool fractal;
	struct arena arena; /* labels */
	struct graph **graphs; /* [row]; NULL: never opened */
	bool *open; /* [row] */
	u32 *order; /* of rows */
	size_t sorted; /* by which column */
	struct zoom zooms[ZOOMS_MAX];
	u32 nr_zooms;
	char *text; /* searched for */
	double shown_percent;
	size_t nr_rows;
	VEC(struct view_browse_line) lines;
};

static void graph_free(struct graph *g)
{
	if (!g)
		return;
	tree_done(&g->tree);
	free(g->open);
	free(g);
}

void browse_free(struct browse *b)
{
	if (!b)
		return;
	for (size_t i = 0; b->graphs && i < b->t->nr_rows; i++)
		graph_free(b->graphs[i]);
	free(b->graphs);
	free(b->open);
	free(b->order);
	free(b->text);
	vec_free(&b->lines);
	arena_done(&b->arena);
	free(b);
}

/* ---- lines ---- */

static bool has_text(const char *in, const char *text)
{
	return in && strcasestr(in, text);
}

static bool row_has_text(const struct browse *b, size_t row)
{
	for (size_t i = 0; i < b->t->columns.nr; i++)
		if (b->t->columns.at[i].type == CELL_STR &&
		    has_text(table_cells(b->t, row)[i].str, b->text))
			return true;
	const struct graph *g = b->graphs[row];
	for (size_t i = 0; g && i < g->tree.labels.nr; i++)
		if (has_text(g->tree.labels.at[i], b->text))
			return true;
	return false;
}

static bool row_shown(const struct browse *b, size_t row)
{
	for (u32 i = 0; i < b->nr_zooms; i++) {
		const struct zoom *z = &b->zooms[i];
		const char *cell = table_cells(b->t, row)[z->column].str;
		if (!cell || strcmp(cell, z->value))
			return false;
	}
	return !b->text || row_has_text(b, row);
}

/* The column that adds up to the whole, what a row has itself; columns.nr: none. */
static size_t self_column(const struct table *t)
{
	size_t first = t->columns.nr;
	for (size_t i = 0; i < t->columns.nr; i++) {
		if (t->columns.at[i].type != CELL_PERCENT)
			continue;
		if (!strcmp(t->columns.at[i].key, "self"))
			return i;
		first = min(first, i);
	}
	return first;
}

static int push_line(struct browse *b, struct view_browse_line l)
{
	struct view_browse_line *to = vec_push(&b->lines);
	if (!to)
		return -ENOMEM;
	*to = l;
	return 0;
}

static int node_lines(struct browse *b, u32 row, u32 first, u32 depth, u64 whole)
{
	const struct graph *g = b->graphs[row];
	for (u32 at = first; at != TREE_NONE && depth < DEPTH_MAX; at = g->tree.nodes.at[at].next) {
		const struct tree_node *n = &g->tree.nodes.at[at];
		double percent = whole ? 100.0 * (double)n->total / (double)whole : 0;
		u32 shown = g->open[at] ? n->nr_labels : min(n->nr_labels, 1u);
		for (u32 i = 0; i < shown; i++) {
			int err = push_line(b, (struct view_browse_line){
						       row, at, i, depth + (i > 0), percent });
			if (err)
				return err;
		}
		if (!g->open[at])
			continue;
		int err = node_lines(b, row, n->first_child, depth + 1,
				     b->fractal ? n->total - n->self : whole);
		if (err)
			return err;
	}
	return 0;
}

static int remake(struct browse *b)
{
	b->lines.nr = 0;
	b->shown_percent = 0;
	b->nr_rows = 0;
	size_t self = self_column(b->t);
	for (size_t i = 0; i < b->t->nr_rows; i++) {
		size_t row = b->order[i];
		if (!row_shown(b, row))
			continue;
		if (self < b->t->columns.nr)
			b->shown_percent += table_cells(b->t, row)[self].f;
		b->nr_rows++;
		int err = push_line(
			b, (struct view_browse_line){ .row = (u32)row, .node = TREE_NONE });
		if (!err && b->open[row])
			err = node_lines(b, (u32)row, b->graphs[row]->tree.first_root, 1,
					 b->fractal ? b->graphs[row]->tree.total : b->t->total);
		if (err)
			return err;
	}
	return 0;
}

struct browse *browse_new(const struct table *t, bool fractal)
{
	struct browse *b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->t = t;
	b->fractal = fractal;
	arena_init(&b->arena);
	b->graphs = calloc(t->nr_rows + 1, sizeof(struct graph *));
	b->open = calloc(t->nr_rows + 1, sizeof(*b->open));
	b->order = calloc(t->nr_rows + 1, sizeof(*b->order));
	b->sorted = t->columns.nr;
	for (size_t i = 0; b->order && i < t->nr_rows; i++)
		b->order[i] = (u32)i;
	if (!b->graphs || !b->open || !b->order || t->nr_rows > UINT32_MAX || remake(b)) {
		browse_free(b);
		return NULL;
	}
	return b;
}

size_t browse_nr_lines(const struct browse *b)
{
	return b->lines.nr;
}

size_t browse_nr_rows(const struct browse *b)
{
	return b->nr_rows;
}

double browse_shown_percent(const struct browse *b)
{
	return b->shown_percent;
}

const char *browse_shown_column(const struct browse *b)
{
	size_t self = self_column(b->t);
	return self < b->t->columns.nr ? b->t->columns.at[self].name : "";
}

static char sign_of(const struct browse *b, const struct view_browse_line *l)
{
	const struct graph *g = b->graphs[l->row];
	if (l->node == TREE_NONE) {
		/* Whether there is a graph shows when it is asked for; until then every row promises one. */
		if (!b->t->tree_of || (g && g->tree.first_root == TREE_NONE))
			return ' ';
		return b->open[l->row] ? '-' : '+';
	}
	const struct tree_node *n = &g->tree.nodes.at[l->node];
	if (l->label || (n->nr_labels < 2 && n->first_child == TREE_NONE))
		return ' ';
	return g->open[l->node] ? '-' : '+';
}

struct browse_line browse_line(const struct browse *b, size_t line)
{
	const struct view_browse_line *l = &b->lines.at[line];
	struct browse_line ret = { .row = l->row, .node = l->node, .depth = l->depth };
	ret.sign = sign_of(b, l);
	if (l->node == TREE_NONE)
		return ret;
	const struct tree *t = &b->graphs[l->row]->tree;
	const struct tree_node *n = &t->nodes.at[l->node];
	ret.label = t->labels.at[n->first_label + l->label];
	ret.has_percent = !l->label;
	ret.percent = l->percent;
	return ret;
}

size_t browse_find_row(const struct browse *b, size_t row)
{
	for (size_t i = 0; i < b->lines.nr; i++)
		if (b->lines.at[i].row == row && b->lines.at[i].node == TREE_NONE)
			return i;
	return b->lines.nr;
}

/* ---- opening ---- */

static int keep_labels(struct browse *b, struct tree *t)
{
	for (size_t i = 0; i < t->labels.nr; i++) {
		t->labels.at[i] = arena_strdup(&b->arena, t->labels.at[i]);
		if (!t->labels.at[i])
			return -ENOMEM;
	}
	return 0;
}

static int load_graph(struct browse *b, size_t row)
{
	if (b->graphs[row] || !b->t->tree_of)
		return 0;
	struct graph *g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	tree_init(&g->tree);
	int err = b->t->tree_of(b->t->ctx, row, &g->tree);
	if (!err)
		err = keep_labels(b, &g->tree);
	if (!err && !(g->open = calloc(g->tree.nodes.nr + 1, sizeof(*g->open))))
		err = -ENOMEM;
	if (err) {
		graph_free(g);
		return err;
	}
	/* A single root is the way into the graph: it is open from the start. */
	if (g->tree.first_root != TREE_NONE && g->tree.nodes.at[g->tree.first_root].next == TREE_NONE)
		g->open[g->tree.first_root] = true;
	b->graphs[row] = g;
	return 0;
}

static int open_row(struct browse *b, size_t row)
{
	int err = load_graph(b, row);
	if (err)
		return err;
	b->open[row] = b->graphs[row] && b->graphs[row]->tree.first_root != TREE_NONE;
	return 0;
}

int browse_toggle(struct browse *b, size_t line)
{
	if (line >= b->lines.nr)
		return 0;
	const struct view_browse_line l = b->lines.at[line];
	char sign = sign_of(b, &l);
	if (sign == ' ')
		return 0;
	int err = 0;
	if (l.node != TREE_NONE)
		b->graphs[l.row]->open[l.node] = sign == '+';
	else if (sign == '+')
		err = open_row(b, l.row);
	else
		b->open[l.row] = false;
	if (!err)
		err = remake(b);
	return err ? err : 1;
}

static void open_nodes(struct graph *g, u32 first, bool open, u32 depth)
{
	for (u32 at = first; at != TREE_NONE && depth < DEPTH_MAX; at = g->tree.nodes.at[at].next) {
		g->open[at] = open;
		open_nodes(g, g->tree.nodes.at[at].first_child, open, depth + 1);
	}
}

static int open_whole_row(struct browse *b, size_t row, bool open)
{
	int err = open ? open_row(b, row) : 0;
	if (err || !b->graphs[row])
		return err;
	b->open[row] = open && b->graphs[row]->tree.first_root != TREE_NONE;
	open_nodes(b->graphs[row], b->graphs[row]->tree.first_root, open, 0);
	return 0;
}

int browse_open(struct browse *b, size_t line, bool open)
{
	if (line >= b->lines.nr)
		return 0;
	const struct view_browse_line l = b->lines.at[line];
	int err = 0;
	if (l.node == TREE_NONE) {
		err = open_whole_row(b, l.row, open);
	} else {
		struct graph *g = b->graphs[l.row];
		g->open[l.node] = open;
		open_nodes(g, g->tree.nodes.at[l.node].first_child, open, 0);
	}
	if (!err)
		err = remake(b);
	return err ? err : 1;
}

int browse_open_all(struct browse *b, bool open)
{
	u32 nr = 0;
	bool more = false;
	for (size_t row = 0; row < b->t->nr_rows; row++) {
		if (!row_shown(b, row) || (!open && !b->open[row]))
			continue;
		more = open && nr++ == OPEN_MAX;
		if (more)
			break;
		int err = open_whole_row(b, row, open);
		if (err)
			return err;
	}
	int err = remake(b);
	return err ? err : more;
}

/* ---- order ---- */

/* Negative: l comes first. */
static int compare_cells(const struct column *c, const union cell *l, const union cell *r)
{
	if (c->type == CELL_STR)
		return strcmp(l->str ? l->str : "", r->str ? r->str : "");
	if (c->type == CELL_PERCENT) {
		double a = c->nr_values ? l->fs[0] : l->f, b = c->nr_values ? r->fs[0] : r->f;
		return (a < b) - (a > b);
	}
	if (c->type == CELL_FLOAT) /* what is not known comes last */
		return isnan(l->f) - isnan(r->f) + ((l->f < r->f) - (l->f > r->f));
	if (c->type == CELL_S64)
		return (l->s < r->s) - (l->s > r->s);
	u64 a = c->nr_values ? l->us[0] : l->u, b = c->nr_values ? r->us[0] : r->u;
	return (a < b) - (a > b);
}

static int compare_rows(const void *l, const void *r, void *ctx)
{
	const struct browse *b = ctx;
	u32 x = *(const u32 *)l, y = *(const u32 *)r;
	int ret = b->sorted < b->t->columns.nr ? compare_cells(&b->t->columns.at[b->sorted],
							       &table_cells(b->t, x)[b->sorted],
							       &table_cells(b->t, y)[b->sorted])
					       : 0;
	return ret ? ret : (x > y) - (x < y);
}

int browse_sort(struct browse *b, size_t column)
{
	b->sorted = min(column, b->t->columns.nr);
	qsort_r(b->order, b->t->nr_rows, sizeof(*b->order), compare_rows, b);
	return remake(b);
}

size_t browse_sorted(const struct browse *b)
{
	return b->sorted;
}

/* ---- filters ---- */

int browse_zoom(struct browse *b, const char *key, size_t line)
{
	if (line >= b->lines.nr || b->nr_zooms == ZOOMS_MAX)
		return 0;
	for (u32 i = 0; i < b->nr_zooms; i++)
		if (!strcmp(b->zooms[i].key, key))
			return 0;
	for (size_t i = 0; i < b->t->columns.nr; i++) {
		const struct column *c = &b->t->columns.at[i];
		const char *value = table_cells(b->t, b->lines.at[line].row)[i].str;
		if (c->type != CELL_STR || strcmp(c->key, key) || !value)
			continue;
		value = arena_strdup(&b->arena, value);
		if (!value)
			return -ENOMEM;
		b->zooms[b->nr_zooms++] =
			(struct zoom){ .column = i, .key = c->key, .value = value };
		int err = remake(b);
		return err ? err : 1;
	}
	return 0;
}

int browse_search(struct browse *b, const char *text)
{
	char *copy = NULL;
	if (text && *text && !(copy = strdup(text)))
		return -ENOMEM;
	free(b->text);
	b->text = copy;
	int err = remake(b);
	return err ? err : 1;
}

bool browse_back(struct browse *b)
{
	if (b->nr_zooms)
		b->nr_zooms--;
	else if (b->text) {
		free(b->text);
		b->text = NULL;
	} else
		return false;
	return !remake(b);
}

const char *browse_text(const struct browse *b)
{
	return b->text ? b->text : "";
}

void browse_filters(const struct browse *b, struct strbuf *to)
{
	for (u32 i = 0; i < b->nr_zooms; i++)
		strbuf_printf(to, "%s%s: %s", i ? ", " : "", b->zooms[i].key, b->zooms[i].value);
	if (b->text)
		strbuf_printf(to, "%s'%s'", b->nr_zooms ? ", " : "", b->text);
}

static bool line_matches(const struct browse *b, size_t line)
{
	struct browse_line l = browse_line(b, line);
	if (l.label)
		return has_text(l.label, b->text);
	for (size_t i = 0; i < b->t->columns.nr; i++)
		if (b->t->columns.at[i].type == CELL_STR &&
		    has_text(table_cells(b->t, l.row)[i].str, b->text))
			return true;
	return false;
}

size_t browse_next_match(const struct browse *b, size_t line, bool backwards)
{
	size_t nr = b->lines.nr;
	for (size_t step = 1; b->text && step <= nr; step++) {
		size_t at = (line + (backwards ? nr - step : step)) % nr;
		if (line_matches(b, at))
			return at;
	}
	return line;
}

/* ---- another table in its place ---- */

/* A row by its names. */
static u64 row_hash(const struct table *t, size_t row)
{
	u64 hash = 0;
	for (size_t i = 0; i < t->columns.nr; i++) {
		const char *text =
			t->columns.at[i].type == CELL_STR ? table_cells(t, row)[i].str : NULL;
		if (text)
			hash = hash_u64(hash ^ hash_bytes(text, strlen(text)));
	}
	return hash;
}

/* Nodes that were open and are there again, below nodes that are the same. */
static void take_nodes(struct graph *to, u32 first, const struct graph *from, u32 other, u32 depth)
{
	for (u32 at = first; at != TREE_NONE && depth < DEPTH_MAX; at = to->tree.nodes.at[at].next) {
		const struct tree_node *n = &to->tree.nodes.at[at], *o;
		for (u32 k = other; k != TREE_NONE; k = o->next) {
			o = &from->tree.nodes.at[k];
			if (!n->nr_labels || !o->nr_labels ||
			    strcmp(to->tree.labels.at[n->first_label],
				   from->tree.labels.at[o->first_label]))
				continue;
			to->open[at] = from->open[k];
			take_nodes(to, n->first_child, from, o->first_child, depth + 1);
			break;
		}
	}
}

static int take_rows(struct browse *b, const struct browse *from, const struct dict *rows)
{
	for (size_t i = 0; i < from->t->nr_rows; i++) {
		u32 row = from->open[i] ? dict_get(rows, row_hash(from->t, i)) : DICT_NONE;
		if (row == DICT_NONE)
			continue;
		int err = open_row(b, row);
		if (err)
			return err;
		if (b->open[row])
			take_nodes(b->graphs[row], b->graphs[row]->tree.first_root, from->graphs[i],
				   from->graphs[i]->tree.first_root, 0);
	}
	return 0;
}

static int take_filters(struct browse *b, const struct browse *from)
{
	if (from->text && !(b->text = strdup(from->text)))
		return -ENOMEM;
	for (u32 i = 0; i < from->nr_zooms; i++) {
		struct zoom z = from->zooms[i];
		if (z.column >= b->t->columns.nr ||
		    strcmp(b->t->columns.at[z.column].key, z.key) != 0)
			continue;
		z.key = b->t->columns.at[z.column].key;
		z.value = arena_strdup(&b->arena, z.value);
		if (!z.value)
			return -ENOMEM;
		b->zooms[b->nr_zooms++] = z;
	}
	return 0;
}

/* As many lines below its row as before, if the graph still has so many. */
static size_t same_line(const struct browse *b, const struct browse *from, const struct dict *rows,
			size_t line)
{
	if (line >= from->lines.nr)
		return line;
	size_t old = from->lines.at[line].row;
	u32 row = dict_get(rows, row_hash(from->t, old));
	size_t at = row == DICT_NONE ? b->lines.nr : browse_find_row(b, row);
	size_t below = line - browse_find_row(from, old);
	if (at >= b->lines.nr)
		return line;
	return at + below < b->lines.nr && b->lines.at[at + below].row == row ? at + below : at;
}

int browse_take_over(struct browse *b, const struct browse *from, size_t *line)
{
	struct dict rows;
	dict_init(&rows);
	int err = 0;
	for (size_t i = 0; i < b->t->nr_rows && !err; i++)
		err = dict_put(&rows, row_hash(b->t, i), (u32)i);
	if (!err)
		err = take_filters(b, from);
	if (!err)
		err = take_rows(b, from, &rows);
	if (!err)
		err = browse_sort(b, from->sorted >= from->t->columns.nr ? b->t->columns.nr
									 : from->sorted);
	if (!err)
		*line = same_line(b, from, &rows, *line);
	dict_done(&rows);
	return err;
}
