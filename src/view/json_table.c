#include "view/json_table.h"
#include "base/num.h"
#include "model/frame.h"

#include <stdio.h>
#include <string.h>

static const char *mode_word(char letter)
{
	switch (letter) {
	case 'k': return frame_mode_word(FRAME_KERNEL);
	case '.': return frame_mode_word(FRAME_USER);
	case 'g': return frame_mode_word(FRAME_GUEST_KERNEL);
	case 'u': return frame_mode_word(FRAME_GUEST_USER);
	case 'H': return frame_mode_word(FRAME_HYPERVISOR);
	default: return NULL; /* a mark between frames, or data */
	}
}

/* "mode" beside "symbol", "symbol_from_mode" beside others. */
static const char *part_key(const char *key, const char *part, char *room, size_t size)
{
	if (!strcmp(key, "symbol"))
		return part;
	snprintf(room, size, "%.40s_%s", key, part);
	return room;
}

static void symbol_cell(const char *key, const char *text, struct json *j)
{
	static const char inlined[] = " (inlined)";
	bool marked = text[0] == '[' && text[1] && text[2] == ']' && text[3] == ' ';
	const char *name = marked ? text + 4 : text;
	size_t len = strlen(name), end = sizeof(inlined) - 1;
	bool is_inlined = len > end && !strcmp(name + len - end, inlined);
	char room[64];
	json_key(j, key);
	json_strn(j, name, len - (is_inlined ? end : 0));
	json_put_str(j, part_key(key, "mode", room, sizeof(room)),
		     marked ? mode_word(text[1]) : NULL);
	if (is_inlined)
		json_put_bool(j, part_key(key, "inlined", room, sizeof(room)), true);
}

static void task_cell(const char *key, const char *text, struct json *j)
{
	const char *colon = strchr(text, ':');
	s64 id;
	char digits[NUM_DIGITS_MAX + 1];
	char comm_key[48];
	while (*text == ' ')
		text++;
	if (!colon || (size_t)(colon - text) >= sizeof(digits)) {
		json_put_str(j, key, text);
		return;
	}
	memcpy(digits, text, (size_t)(colon - text));
	digits[colon - text] = 0;
	if (num_parse_s64(digits, 10, &id)) {
		json_put_str(j, key, text);
		return;
	}
	json_put_s64(j, key, id);
	snprintf(comm_key, sizeof(comm_key), "%.40s_comm", key);
	json_put_str(j, comm_key, colon + 1);
}

static void number_cell(const char *key, const char *text, struct json *j)
{
	u64 u;
	s64 s;
	while (*text == ' ')
		text++;
	if (!num_parse_u64(text, 10, &u))
		json_put_u64(j, key, u);
	else if (!num_parse_s64(text, 10, &s))
		json_put_s64(j, key, s);
	else
		json_put_str(j, key, text);
}

static void text_cell(const struct column *c, const char *text, struct json *j)
{
	if (!text)
		json_put_str(j, c->key, NULL);
	else if (c->text == TEXT_SYMBOL)
		symbol_cell(c->key, text, j);
	else if (c->text == TEXT_TASK)
		task_cell(c->key, text, j);
	else if (c->text == TEXT_NUMBER)
		number_cell(c->key, text, j);
	else
		json_put_str(j, c->key, text);
}

static void group_cell(const struct column *c, const union cell *v, struct json *j)
{
	json_key(j, c->key);
	json_array(j);
	for (u32 i = 0; i < c->nr_values; i++) {
		if (c->type == CELL_PERCENT)
			json_double(j, v->fs[i]);
		else
			json_u64(j, v->us[i]);
	}
	json_array_end(j);
}

void json_cell(const struct column *c, const union cell *v, struct json *j)
{
	if (c->nr_values) {
		group_cell(c, v, j);
		return;
	}
	switch (c->type) {
	case CELL_STR: text_cell(c, v->str, j); break;
	case CELL_U64:
	case CELL_NUMBER:
	case CELL_TIME:
	case CELL_CLOCK:
	case CELL_NS:
	case CELL_HEX: json_put_u64(j, c->key, v->u); break;
	case CELL_S64: json_put_s64(j, c->key, v->s); break;
	case CELL_FLOAT:
	case CELL_PERCENT: json_put_double(j, c->key, v->f); break;
	}
}

static void function(const struct tree *t, u32 label, struct json *j)
{
	json_object(j);
	if (label < t->places.nr) {
		const struct tree_place *p = &t->places.at[label];
		json_put_str(j, "name", p->name ? p->name : t->labels.at[label]);
		json_put_str(j, "module", p->module);
		json_put_str(j, "mode", frame_mode_word(p->mode));
		if (p->inlined)
			json_put_bool(j, "inlined", true);
	} else {
		json_put_str(j, "name", t->labels.at[label]);
	}
	json_object_end(j);
}

/* A call graph can be deeper than the writer's nesting allows: a flat list, each node with the index of its parent. */
void json_tree(const struct tree *t, struct json *j)
{
	json_array(j);
	for (u32 i = 0; i < t->nodes.nr; i++) {
		const struct tree_node *n = &t->nodes.at[i];
		json_object(j);
		json_key(j, "functions");
		json_array(j);
		for (u32 k = 0; k < n->nr_labels; k++)
			function(t, n->first_label + k, j);
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
	graph.with_places = true;
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
				json_cell(&t->columns.at[i], &table_cells(t, row)[i], j);
		if (t->tree_of) {
			err = t->tree_of(t->ctx, row, &graph);
			json_key(j, "graph");
			json_tree(&graph, j);
		}
		json_object_end(j);
	}
	json_array_end(j);
	tree_done(&graph);
	return err;
}
