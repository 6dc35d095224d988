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
#include "base/printable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH_MAX = 512 };

struct text_tree_drawing {
	const struct tree *tree;
	struct strbuf *to;
	u32 indent;
	bool fractal;
	enum text_tree_value value;
	u32 limit;
	u64 total;
	bool pipe[DEPTH_MAX]; /* whether that level still has branches to come */
};

static void lead(struct text_tree_drawing *d, u32 depth)
{
	strbuf_fill(d->to, ' ', d->indent);
	for (u32 i = 0; i < depth; i++) {
		strbuf_char(d->to, d->pipe[i] ? '|' : ' ');
		strbuf_fill(d->to, ' ', 10);
	}
}

/* What stands for a branch or chain. */
static void weight_text(enum text_tree_value value, u64 weight, u64 count, u64 whole,
			struct strbuf *to)
{
	if (value == TEXT_TREE_PERCENT)
		strbuf_printf(to, "%.2f%%", whole ? 100.0 * (double)weight / (double)whole : 0);
	else
		strbuf_u64(to, value == TEXT_TREE_COUNT ? count : weight);
}

static void branch_head(struct text_tree_drawing *d, u32 depth, u64 weight, u64 count, u64 whole)
{
	lead(d, depth - 1);
	strbuf_char(d->to, d->pipe[depth - 1] ? '|' : ' ');
	strbuf_str(d->to, "--");
	weight_text(d->value, weight, count, whole, d->to);
	strbuf_str(d->to, "--");
}

static void labels(struct text_tree_drawing *d, const struct tree_node *n, u32 depth, u64 whole)
{
	for (u32 i = 0; i < n->nr_labels; i++) {
		if (!i)
			branch_head(d, depth, n->total, n->count, whole);
		else
			lead(d, depth);
		printable_name(d->to, d->tree->labels.at[n->first_label + i]);
		strbuf_char(d->to, '\n');
	}
}

static void branches(struct text_tree_drawing *d, u32 first, u32 depth, u64 whole)
{
	u64 rest = d->fractal ? whole : 0;
	u32 shown = 0;
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
		if (++shown == d->limit)
			break;
	}
	if (rest && first != TREE_NONE) {
		d->pipe[depth - 1] = false;
		branch_head(d, depth, rest, 0, whole);
		strbuf_str(d->to, "[...]\n");
	}
}

/* The single root that is the whole row: its labels stand alone, and the levels start after it. */
static u32 trunk(struct text_tree_drawing *d, bool hide_own)
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
	for (u32 i = first; i < root->nr_labels && (!d->limit || i - first < d->limit); i++) {
		strbuf_fill(d->to, ' ', d->indent);
		strbuf_str(d->to, i > first ? "   " : "---");
		printable_name(d->to, t->labels.at[root->first_label + i]);
		strbuf_char(d->to, '\n');
	}
	d->indent += root->nr_labels > first ? 3 : 0;
	return root->first_child;
}

/* ---- chains one by one ---- */

struct chains {
	const struct tree *tree;
	struct strbuf *to;
	const struct text_tree_style *style;
	u64 total;
	u32 *parent; /* [node] */
	u32 *ends; /* nodes where chains end, heaviest first */
	size_t nr;
};

static void find_ends(struct chains *c, u32 first, u32 parent)
{
	for (u32 at = first; at != TREE_NONE; at = c->tree->nodes.at[at].next) {
		const struct tree_node *n = &c->tree->nodes.at[at];
		c->parent[at] = parent;
		if (n->self && n->self >= c->tree->min)
			c->ends[c->nr++] = at;
		find_ends(c, n->first_child, at);
	}
}

static int by_self(const void *l, const void *r, void *ctx)
{
	const struct chains *c = ctx;
	const struct tree_node *a = &c->tree->nodes.at[*(const u32 *)l],
			       *b = &c->tree->nodes.at[*(const u32 *)r];
	return a->self > b->self ? -1 : a->self < b->self;
}

static void chain_labels(const struct chains *c, u32 node)
{
	const struct tree_node *n = &c->tree->nodes.at[node];
	bool folded = c->style->form == TEXT_TREE_FOLDED;
	if (c->parent[node] != TREE_NONE) {
		chain_labels(c, c->parent[node]);
		strbuf_str(c->to, folded ? ";" : "");
	}
	for (u32 i = 0; i < n->nr_labels; i++) {
		strbuf_str(c->to, !folded ? "                " : i ? ";" : "");
		printable_name(c->to, c->tree->labels.at[n->first_label + i]);
		strbuf_str(c->to, folded ? "" : "\n");
	}
}

/* Beside a flat chain stands what goes on below it as well; beside a folded one, only what ends there. */
static void one_chain(const struct chains *c, u32 node)
{
	const struct tree_node *n = &c->tree->nodes.at[node];
	bool folded = c->style->form == TEXT_TREE_FOLDED;
	strbuf_str(c->to, folded ? "" : "           ");
	weight_text(c->style->value, folded ? n->self : n->total, folded ? n->self_count : n->count,
		    c->total, c->to);
	strbuf_char(c->to, folded ? ' ' : '\n');
	chain_labels(c, node);
	strbuf_char(c->to, '\n');
}

static void chains_text(const struct tree *t, u64 total, const struct text_tree_style *style,
			struct strbuf *to)
{
	struct chains c = { .tree = t, .to = to, .style = style, .total = total };
	c.parent = calloc(t->nodes.nr + 1, sizeof(*c.parent));
	c.ends = calloc(t->nodes.nr + 1, sizeof(*c.ends));
	if (c.parent && c.ends) {
		find_ends(&c, t->first_root, TREE_NONE);
		qsort_r(c.ends, c.nr, sizeof(*c.ends), by_self, &c);
		for (size_t i = 0; i < c.nr && (!style->limit || i < style->limit); i++)
			one_chain(&c, c.ends[i]);
	} else {
		to->err = -ENOMEM;
	}
	free(c.parent);
	free(c.ends);
}

void text_tree(const struct tree *t, u64 total, const struct text_tree_style *style,
	       struct strbuf *to)
{
	if (t->first_root == TREE_NONE)
		return;
	if (style->form >= TEXT_TREE_FLAT) {
		chains_text(t, total, style, to);
		return;
	}
	bool fractal = style->form == TEXT_TREE_FRACTAL;
	struct text_tree_drawing d = { .tree = t,
				       .to = to,
				       .indent = style->indent,
				       .fractal = fractal,
				       .value = style->value,
				       .limit = style->limit,
				       .total = total };
	u32 rest = trunk(&d, style->hide_own);
	/* Nothing but the row's own name: not even an empty line. */
	if (rest == TREE_NONE && d.indent == style->indent)
		return;
	branches(&d, rest, 1, fractal ? t->total : total);
	strbuf_char(to, '\n');
}
