/*
 * Nodes of an argument's tree, made with C's rules: promotions, the usual conversions, the type of a condition. Constants fold
 * while the tree is built; its depth and what a run of it costs are bounded here.
 */
#include "wire/print_fmt_parse.h"

struct print_fmt_node *node_new(struct print_fmt_parser *p, enum print_fmt_node_kind kind,
				const struct print_fmt_node *a, const struct print_fmt_node *b)
{
	if (p->err)
		return NULL;
	u32 depth = 1 + max(a ? a->depth : 0u, b ? b->depth : 0u);
	u32 cost = 1 + (a ? a->cost : 0) + (b ? b->cost : 0);
	if (depth > PRINT_DEPTH_MAX)
		return parser_fail(p, "it is nested too deeply");
	if (++p->nr_nodes > PRINT_NODES_MAX || cost > PRINT_COST_MAX)
		return parser_fail(p, "it is too long");
	struct print_fmt_node *n = arena_zalloc(p->arena, sizeof(*n));
	if (!n)
		return parser_no_memory(p);
	n->kind = (u8)kind;
	n->a = a;
	n->b = b;
	n->depth = (u16)depth;
	n->cost = cost;
	n->unknown = (a && a->unknown) || (b && b->unknown);
	return n;
}

const struct print_fmt_node *node_third(struct print_fmt_parser *p, struct print_fmt_node *n,
					const struct print_fmt_node *c)
{
	n->c = c;
	n->depth = max(n->depth, (u16)(c->depth + 1));
	n->cost += c->cost;
	n->unknown |= c->unknown;
	return n->depth > PRINT_DEPTH_MAX || n->cost > PRINT_COST_MAX
		       ? parser_fail(p, "it is nested too deeply")
		       : n;
}

const struct print_fmt_node *node_num(struct print_fmt_parser *p, u64 v, u8 size, bool sign)
{
	struct print_fmt_node *n = node_new(p, NODE_NUM, NULL, NULL);
	if (!n)
		return NULL;
	n->num = v;
	n->size = size;
	n->sign = sign;
	return n;
}

const struct print_fmt_node *node_unknown(struct print_fmt_parser *p)
{
	struct print_fmt_node *n = node_new(p, NODE_NUM, NULL, NULL);
	if (n)
		n->size = 8, n->unknown = true;
	return n;
}

bool node_is_bytes(const struct print_fmt_node *n)
{
	return n->kind == NODE_BYTES || n->kind == NODE_OFFSET;
}

bool node_is_number(const struct print_fmt_node *n)
{
	return n && n->kind < NODE_BYTES;
}

static const struct print_fmt_node *fold(struct print_fmt_parser *p, struct print_fmt_node *n)
{
	if (!n || n->unknown || (n->a && n->a->kind != NODE_NUM) ||
	    (n->b && n->b->kind != NODE_NUM) || !n->a)
		return n;
	struct print_ctx c = { 0 };
	u64 v = print_eval(&c, n);
	return node_num(p, v, n->size, n->sign);
}

const struct print_fmt_node *node_cast(struct print_fmt_parser *p, const struct print_fmt_node *a,
				       u8 size, bool sign)
{
	if (!a || (a->size == size && a->sign == sign))
		return a;
	struct print_fmt_node *n = node_new(p, NODE_CAST, a, NULL);
	if (!n)
		return NULL;
	n->size = size;
	n->sign = sign;
	/* "0x%llx" of an unknown value shows what the field holds, not the sign bits that widening added */
	n->narrow = size > a->size && a->sign ? (a->narrow ? a->narrow : a->size) : 0;
	return fold(p, n);
}

const struct print_fmt_node *node_number(struct print_fmt_parser *p, const struct print_fmt_node *a)
{
	if (!a || node_is_number(a))
		return a;
	if (!node_is_bytes(a))
		return parser_fail(p, "a string where a number is expected");
	struct print_fmt_node *n = node_new(p, NODE_BYTES_SET, a, NULL);
	if (n)
		n->size = 4, n->sign = true;
	return n;
}

const struct print_fmt_node *node_promote(struct print_fmt_parser *p, const struct print_fmt_node *a)
{
	a = node_number(p, a);
	if (!a || a->size >= 4)
		return a;
	return node_cast(p, a, 4, true);
}

const struct print_fmt_node *node_binary(struct print_fmt_parser *p, enum print_fmt_node_kind kind,
					 const struct print_fmt_node *a,
					 const struct print_fmt_node *b)
{
	a = node_promote(p, a);
	b = node_promote(p, b);
	if (!a || !b)
		return NULL;
	u8 size = a->size;
	bool sign = a->sign;
	bool logical = kind == NODE_LOGAND || kind == NODE_LOGOR;
	if (kind != NODE_SHL && kind != NODE_SHR && !logical) {
		size = max(a->size, b->size);
		sign = !((!a->sign && a->size == size) || (!b->sign && b->size == size));
		a = node_cast(p, a, size, sign);
		b = node_cast(p, b, size, sign);
	}
	struct print_fmt_node *n = node_new(p, kind, a, b);
	if (!n)
		return NULL;
	bool truth = logical || (kind >= NODE_LT && kind <= NODE_NE);
	n->size = truth ? 4 : size;
	n->sign = truth || sign;
	return fold(p, n);
}

const struct print_fmt_node *node_unary(struct print_fmt_parser *p, enum print_fmt_node_kind kind,
					const struct print_fmt_node *a)
{
	a = node_promote(p, a);
	struct print_fmt_node *n = a ? node_new(p, kind, a, NULL) : NULL;
	if (!n)
		return NULL;
	n->size = kind == NODE_NOT ? 4 : a->size;
	n->sign = kind == NODE_NOT || a->sign;
	return fold(p, n);
}

static const struct print_fmt_node *text_of(struct print_fmt_parser *p,
					    const struct print_fmt_node *a)
{
	if (!a || !node_is_number(a))
		return a;
	return node_new(p, NODE_STRING_AT, a, NULL);
}

const struct print_fmt_node *node_cond(struct print_fmt_parser *p, const struct print_fmt_node *a,
				       const struct print_fmt_node *b,
				       const struct print_fmt_node *c)
{
	a = node_number(p, a);
	if (!a || !b || !c)
		return NULL;
	bool text = !node_is_number(b) || !node_is_number(c);
	/* c ? "text" : 0 and c ? text : NULL */
	if (text) {
		b = text_of(p, b);
		c = text_of(p, c);
	} else {
		b = node_promote(p, b);
		c = node_promote(p, c);
	}
	if (!b || !c)
		return NULL;
	if (a->kind == NODE_NUM && !a->unknown)
		return a->num ? b : c;
	u8 size = max(b->size, c->size);
	bool sign = !((!b->sign && b->size == size) || (!c->sign && c->size == size));
	if (!text) {
		b = node_cast(p, b, size, sign);
		c = node_cast(p, c, size, sign);
	}
	struct print_fmt_node *n =
		b && c ? node_new(p, text ? NODE_TEXT_COND : NODE_COND, a, b) : NULL;
	if (!n)
		return NULL;
	n->size = size;
	n->sign = sign;
	return node_third(p, n, c);
}

const struct print_fmt_node *node_bytes_only(struct print_fmt_parser *p,
					     const struct print_fmt_node *a)
{
	if (a && !node_is_bytes(a))
		return parser_fail(p, "expected an array");
	return a;
}

const struct print_fmt_node *node_field(struct print_fmt_parser *p, const struct schema_field *f)
{
	u32 loc = f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC);
	bool bytes = loc || (f->flags & FIELD_ARRAY) ||
		     (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8);
	struct print_fmt_node *n = node_new(p, bytes ? NODE_BYTES : NODE_LOAD, NULL, NULL);
	if (!n)
		return NULL;
	n->offset = f->offset;
	n->loc = loc;
	n->len = f->size;
	n->size = (u8)(bytes ? min(f->elem_size, 8u) : f->size);
	n->sign = f->flags & FIELD_SIGNED;
	n->field = f;
	return n;
}
