/*
 * How it looks (indent left out):
 *
 *	|
 *	---main                      the only root that holds all of the row: no percentage
 *	   |
 *	   |--60.00%--parse          a branch; labels of a straight run follow below each other
 *	   |          lex
 *	   |
 *	    --40.00%--read           the last branch ends the pipe
 *
 * A level is eleven columns wide: a pipe or a blank, and ten blanks or "--nn.nn%--".
 */
#include "view/text_tree.h"

#include <stdio.h>

enum { DEPTH_MAX = 512 };

struct drawing {
	const struct tree *tree;
	struct strbuf *to;
	u32 indent;
	bool fractal;
	u64 total;
	bool pipe[DEPTH_MAX]; /* whether that level still has branches to come */
};

static void lead(struct drawing *d, u32 depth)
{
	strbuf_fill(d->to, ' ', d->indent);
	for (u32 i = 0; i < depth; i++) {
		strbuf_char(d->to, d->pipe[i] ? '|' : ' ');
		strbuf_fill(d->to, ' ', 10);
	}
}

static void branch_head(struct drawing *d, u32 depth, u64 weight, u64 whole)
{
	lead(d, depth - 1);
	strbuf_char(d->to, d->pipe[depth - 1] ? '|' : ' ');
	char text[32];
	int n = snprintf(text, sizeof(text), "--%.2f%%--", whole ? 100.0 * (double)weight / (double)whole : 0);
	strbuf_add(d->to, text, (size_t)n);
}

static void labels(struct drawing *d, const struct tree_node *n, u32 depth, u64 whole)
{
	for (u32 i = 0; i < n->nr_labels; i++) {
		if (!i)
			branch_head(d, depth, n->total, whole);
		else
			lead(d, depth);
		strbuf_str(d->to, d->tree->labels.at[n->first_label + i]);
		strbuf_char(d->to, '\n');
	}
}

static void branches(struct drawing *d, u32 first, u32 depth, u64 whole)
{
	u64 rest = d->fractal ? whole : 0;
	if (depth >= DEPTH_MAX)
		return;
	for (u32 at = first; at != TREE_NONE; at = d->tree->nodes.at[at].next) {
		const struct tree_node *n = &d->tree->nodes.at[at];
		rest -= min(rest, n->total);
		d->pipe[depth - 1] = true;
		lead(d, depth);
		strbuf_char(d->to, '\n');
		d->pipe[depth - 1] = n->next != TREE_NONE || rest;
		labels(d, n, depth, whole);
		branches(d, n->first_child, depth + 1, d->fractal ? n->total - n->self : d->total);
	}
	if (rest && first != TREE_NONE) {
		d->pipe[depth - 1] = false;
		branch_head(d, depth, rest, whole);
		strbuf_str(d->to, "[...]\n");
	}
}

/* The single root that is the whole row: its labels stand alone, and the levels start behind it. */
static u32 trunk(struct drawing *d, bool hide_own)
{
	const struct tree *t = d->tree;
	const struct tree_node *root = &t->nodes.at[t->first_root];
	if (root->next != TREE_NONE || root->total != t->total)
		return t->first_root;
	u32 first = hide_own && t->own_first;
	if (root->nr_labels > first) {
		strbuf_fill(d->to, ' ', d->indent);
		strbuf_str(d->to, "|\n");
	}
	for (u32 i = first; i < root->nr_labels; i++) {
		strbuf_fill(d->to, ' ', d->indent);
		strbuf_str(d->to, i > first ? "   " : "---");
		strbuf_str(d->to, t->labels.at[root->first_label + i]);
		strbuf_char(d->to, '\n');
	}
	d->indent += root->nr_labels > first ? 3 : 0;
	return root->first_child;
}

void text_tree(const struct tree *t, u64 total, const struct text_tree_style *style, struct strbuf *to)
{
	if (t->first_root == TREE_NONE)
		return;
	struct drawing d = { .tree = t, .to = to, .indent = style->indent, .fractal = style->fractal, .total = total };
	u32 rest = trunk(&d, style->hide_own);
	/* Nothing but the row's own name: not even an empty line. */
	if (rest == TREE_NONE && d.indent == style->indent)
		return;
	branches(&d, rest, 1, style->fractal ? t->total : total);
	strbuf_char(to, '\n');
}
