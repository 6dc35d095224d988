#include "view/json_table.h"

static void cell(const struct column *c, const union cell *v, struct json *j)
{
	json_key(j, c->key);
	if (c->nr_values) {
		json_array(j);
		for (u32 i = 0; i < c->nr_values; i++) {
			if (c->type == CELL_PERCENT)
				json_double(j, v->fs[i]);
			else
				json_u64(j, v->us[i]);
		}
		json_array_end(j);
		return;
	}
	switch (c->type) {
	case CELL_STR: json_str(j, v->str); break;
	case CELL_U64:
	case CELL_NUMBER:
	case CELL_TIME:
	case CELL_NS:
	case CELL_HEX: json_u64(j, v->u); break;
	case CELL_S64: json_s64(j, v->s); break;
	case CELL_PERCENT: json_double(j, v->f); break;
	}
}

/* A call graph can be deeper than the writer's nesting allows: a flat list, each node with the index of its parent. */
static void tree(const struct tree *t, struct json *j)
{
	json_array(j);
	for (u32 i = 0; i < t->nodes.nr; i++) {
		const struct tree_node *n = &t->nodes.at[i];
		json_object(j);
		json_key(j, "functions");
		json_array(j);
		for (u32 k = 0; k < n->nr_labels; k++)
			json_str(j, t->labels.at[n->first_label + k]);
		json_array_end(j);
		json_put_u64(j, "period", n->total);
		if (n->first_child != TREE_NONE)
			json_put_u64(j, "child", n->first_child);
		if (n->next != TREE_NONE)
			json_put_u64(j, "next", n->next);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Of rows within rows, each names only what its own level adds. */
static bool in_level(const struct table *t, size_t row, size_t col)
{
	const struct column *c = &t->columns.at[col];
	return !t->nr_levels || c->type == CELL_PERCENT || c->type == CELL_U64 ||
	       c->level == t->depths.at[row];
}

int json_table(const struct table *t, double min_percent, struct json *j)
{
	struct tree graph;
	tree_init(&graph);
	int err = 0;
	json_array(j);
	for (size_t row = 0; row < t->nr_rows && !err; row++) {
		if (table_share(t, row) < min_percent)
			continue;
		json_object(j);
		if (t->nr_levels)
			json_put_u64(j, "level", t->depths.at[row]);
		for (size_t i = 0; i < t->columns.nr; i++)
			if (in_level(t, row, i))
				cell(&t->columns.at[i], &table_cells(t, row)[i], j);
		if (t->tree_of) {
			err = t->tree_of(t->ctx, row, &graph);
			json_key(j, "graph");
			tree(&graph, j);
		}
		json_object_end(j);
	}
	json_array_end(j);
	tree_done(&graph);
	return err;
}
