#include "view/json_table.h"

static void cell(const struct column *c, const union cell *v, struct json *j)
{
	json_key(j, c->key);
	switch (c->type) {
	case CELL_STR: json_str(j, v->str); break;
	case CELL_U64:
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

int json_table(const struct table *t, struct json *j)
{
	struct tree graph;
	tree_init(&graph);
	int err = 0;
	json_array(j);
	for (size_t row = 0; row < t->nr_rows && !err; row++) {
		json_object(j);
		for (size_t i = 0; i < t->columns.nr; i++)
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
