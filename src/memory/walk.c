#include "memory/walk.h"

#include "base/dict.h"

#include <errno.h>
#include <string.h>

enum {
	RB_DEPTH_MAX = 256,
	TREE_DEPTH_MAX = 24,
	SLOTS_MAX = 256,
};

struct walk_state {
	struct kspace *k;
	struct memory *m;
	struct dict seen;
	walk_fn fn;
	void *ctx;
	u64 limit;
	struct walk_result r;
};

static int walk_begin(struct walk_state *w, struct kspace *k, u64 limit, walk_fn fn, void *ctx)
{
	*w = (struct walk_state){ .k = k, .fn = fn, .ctx = ctx, .limit = limit ? limit : WALK_MAX };
	dict_init(&w->seen);
	return kspace_memory(k, &w->m);
}

/* Whether the walk goes on: 1; 0: it has ended (w->r says how); negative errno. */
static int end_walk(struct walk_state *w, enum walk_end end, u64 at)
{
	w->r.end = end;
	w->r.at = at;
	return 0;
}

static int mark_seen(struct walk_state *w, u64 addr)
{
	u32 had, fresh = w->seen.nr;
	if (fresh > 4u * WALK_MAX)
		return end_walk(w, WALK_STOPPED, addr);
	int err = dict_add(&w->seen, addr, fresh, &had);
	if (err)
		return err;
	return had == fresh ? 1 : end_walk(w, WALK_LOOP, addr);
}

static int tell(struct walk_state *w, const struct walk_node *n)
{
	if (w->r.nr == w->limit)
		return end_walk(w, WALK_STOPPED, n->addr);
	w->r.nr++;
	int rc = w->fn(w->ctx, n);
	return rc < 0 ? rc : rc ? end_walk(w, WALK_STOPPED, n->addr) : 1;
}

static int walk_finish(struct walk_state *w, int rc, struct walk_result *ret)
{
	dict_done(&w->seen);
	if (rc >= 0)
		*ret = w->r;
	return rc < 0 ? rc : 0;
}

/* ---- lists ----------------------------------------------------------------------------------------------------------------- */

/*
 *	NEXT      at: an object     [at + offset] ─► the next object
 *	OBJECT    at: a list_head   [at] ─► the next list_head, at - offset is its object
 *	HEAD      the same, and the first is no object's
 */
static int list_step(struct walk_state *w, const struct walk_list *l, u64 *at)
{
	u64 from = *at + (l->kind == WALK_LIST_NEXT ? l->offset : 0) +
		   (l->backwards ? sizeof(u64) : 0);
	int err = memory_read(w->m, from, at, sizeof(*at));
	return !err ? 1 : err == -EFAULT ? end_walk(w, WALK_BAD, from) : err;
}

static int list_node(struct walk_state *w, const struct walk_list *l, u64 at)
{
	int rc = mark_seen(w, at);
	if (rc == 1)
		rc = tell(w, &(struct walk_node){
				     .addr = l->kind == WALK_LIST_NEXT ? at : at - l->offset });
	return rc;
}

int walk_list(struct kspace *k, const struct walk_list *l, walk_fn fn, void *ctx,
	      struct walk_result *ret)
{
	struct walk_state w;
	u64 head = l->start + (l->kind == WALK_LIST_OBJECT ? l->offset : 0), at = head;
	int rc = walk_begin(&w, k, l->limit, fn, ctx);
	rc = rc ? rc : 1;
	if (rc == 1 && l->kind != WALK_LIST_HEAD)
		rc = list_node(&w, l, at);
	while (rc == 1) {
		rc = list_step(&w, l, &at);
		/* hlist: the lowest bit may mark the end (hlist_nulls). */
		if (rc == 1 && (!at || at & 1 || at == head || (l->end && at == l->end)))
			rc = end_walk(&w, WALK_ENDED, at);
		if (rc == 1)
			rc = list_node(&w, l, at);
	}
	return walk_finish(&w, rc, ret);
}

/* ---- red-black trees: in order, with the way down kept on a stack ---------------------------------------------------------- */

struct rb_links {
	u64 parent_color, right, left;
};

static int read_links(struct walk_state *w, u64 node, struct rb_links *ret)
{
	int err = memory_read(w->m, node, ret, sizeof(*ret));
	return !err ? 1 : err == -EFAULT ? end_walk(w, WALK_BAD, node) : err;
}

static int walk_rb(struct walk_state *w, const struct walk_tree *t)
{
	u64 stack[RB_DEPTH_MAX], node;
	struct rb_links links;
	unsigned depth = 0;
	int err = memory_read(w->m, t->root, &node, sizeof(node));
	if (err)
		return err == -EFAULT ? end_walk(w, WALK_BAD, t->root) : err;
	for (int rc = 1; node || depth;) {
		while (node) {
			if (depth == RB_DEPTH_MAX)
				return end_walk(w, WALK_DEEP, node);
			stack[depth++] = node;
			rc = read_links(w, node, &links);
			if (rc != 1)
				return rc;
			node = links.left;
		}
		u64 at = stack[--depth];
		rc = mark_seen(w, at);
		if (rc == 1)
			rc = tell(w, &(struct walk_node){ .addr = at - t->offset });
		if (rc == 1)
			rc = read_links(w, at, &links);
		if (rc != 1)
			return rc;
		node = links.right;
	}
	return end_walk(w, WALK_ENDED, 0);
}

/* ---- xarray and maple tree ------------------------------------------------------------------------------------------------- */

static bool is_node(u64 entry)
{
	return (entry & 3) == 2 && entry > 4096;
}

struct xa_layout {
	u64 shift, slots;
	u32 nr; /* slots of a node: a power of two */
	u32 bits;
};

static int array_member(struct kspace *k, const char *type, const char *member, u64 *offset, u32 *nr)
{
	struct ktype t, of;
	struct btf_part p;
	if (!kspace_find_type(k, type, BTF_BIT(BTF_OF_STRUCT), &t) ||
	    btf_find_member(t.b, t.id, member, &p))
		return diag_error(k->diag, -ENOENT, "this kernel has no struct %s with '%s'", type,
				  member);
	of = ktype_of(t.b, p.type);
	*offset = p.bit_offset / 8;
	*nr = (u32)ktype_elements(&of);
	return *nr && *nr <= SLOTS_MAX
		       ? 0
		       : diag_error(k->diag, -EINVAL, "struct %s: unexpected type of '%s'", type,
				    member);
}

static int xa_node(struct walk_state *w, const struct xa_layout *l, u64 entry, u64 base,
		   unsigned depth)
{
	u64 slots[SLOTS_MAX], node = entry - 2;
	u8 shift;
	if (depth > TREE_DEPTH_MAX)
		return end_walk(w, WALK_DEEP, node);
	int rc = mark_seen(w, node);
	if (rc != 1)
		return rc;
	struct memory_piece pieces[] = {
		{ .addr = node + l->shift, .to = &shift, .size = 1 },
		{ .addr = node + l->slots, .to = slots, .size = l->nr * (u32)sizeof(u64) },
	};
	int err = memory_read_pieces(w->m, pieces, ARRAY_SIZE(pieces));
	if (err || pieces[0].err || pieces[1].err)
		return err ? err : end_walk(w, WALK_BAD, node);
	for (u32 i = 0; rc == 1 && i < l->nr && shift < 64; i++) {
		u64 first = base + ((u64)i << shift);
		if (!slots[i] || (slots[i] & 3) == 2) {
			if (is_node(slots[i]) && shift)
				rc = xa_node(w, l, slots[i], first, depth + 1);
			continue; /* empty, a sibling or a mark of the xarray's own */
		}
		rc = tell(w, &(struct walk_node){ slots[i], first, first + (1ull << shift) - 1 });
	}
	return rc;
}

static int walk_xarray(struct walk_state *w, const struct walk_tree *t)
{
	struct xa_layout l = { 0 };
	u64 head_at, head;
	int err = kspace_offset(w->k, "xarray", "xa_head", &head_at);
	if (!err)
		err = kspace_offset(w->k, "xa_node", "shift", &l.shift);
	if (!err)
		err = array_member(w->k, "xa_node", "slots", &l.slots, &l.nr);
	if (err)
		return err;
	err = memory_read(w->m, t->root + head_at, &head, sizeof(head));
	if (err)
		return err == -EFAULT ? end_walk(w, WALK_BAD, t->root + head_at) : err;
	int rc = 1;
	if (is_node(head))
		rc = xa_node(w, &l, head, 0, 0);
	else if (head)
		rc = tell(w, &(struct walk_node){ head, 0, 0 });
	return rc == 1 ? end_walk(w, WALK_ENDED, 0) : rc;
}

/* Kinds of maple nodes: bits 3 to 6 of an entry that leads to one. Only the root's entry is marked as a node's as in an xarray. */
enum maple_kind { MAPLE_DENSE, MAPLE_LEAF_64, MAPLE_RANGE_64, MAPLE_ARANGE_64, MAPLE_KINDS };

struct maple_layout {
	struct {
		u64 pivots, slots;
		u32 nr_pivots, nr_slots;
	} of[MAPLE_KINDS];
};

static int maple_node(struct walk_state *w, const struct maple_layout *l, u64 entry, u64 first,
		      u64 last, unsigned depth)
{
	u64 pivots[SLOTS_MAX], slots[SLOTS_MAX], node = entry & ~255ull;
	unsigned kind = (unsigned)(entry >> 3 & 15);
	if (depth > TREE_DEPTH_MAX)
		return end_walk(w, WALK_DEEP, node);
	if (kind == MAPLE_DENSE || kind >= MAPLE_KINDS)
		return end_walk(w, WALK_BAD, node);
	int rc = mark_seen(w, node);
	if (rc != 1)
		return rc;
	u32 nr_pivots = l->of[kind].nr_pivots, nr_slots = l->of[kind].nr_slots;
	struct memory_piece pieces[] = {
		{ .addr = node + l->of[kind].pivots,
		  .to = pivots,
		  .size = nr_pivots * (u32)sizeof(u64) },
		{ .addr = node + l->of[kind].slots, .to = slots, .size = nr_slots * (u32)sizeof(u64) },
	};
	int err = memory_read_pieces(w->m, pieces, ARRAY_SIZE(pieces));
	if (err || pieces[0].err || pieces[1].err)
		return err ? err : end_walk(w, WALK_BAD, node);
	for (u32 i = 0; rc == 1 && i < nr_slots; i++) {
		u64 until = i < nr_pivots && (pivots[i] || !i) ? pivots[i] : last;
		until = min(until, last);
		if (slots[i] && kind != MAPLE_LEAF_64)
			rc = maple_node(w, l, slots[i], first, until, depth + 1);
		else if (slots[i] && kind == MAPLE_LEAF_64)
			rc = tell(w, &(struct walk_node){ slots[i], first, until });
		if (until >= last)
			break;
		first = until + 1;
	}
	return rc;
}

static int walk_maple(struct walk_state *w, const struct walk_tree *t)
{
	struct maple_layout l = { 0 };
	u64 root_at, root;
	static const struct {
		enum maple_kind kind;
		const char *type;
	} kinds[] = { { MAPLE_LEAF_64, "maple_range_64" },
		      { MAPLE_RANGE_64, "maple_range_64" },
		      { MAPLE_ARANGE_64, "maple_arange_64" } };
	int err = kspace_offset(w->k, "maple_tree", "ma_root", &root_at);
	for (size_t i = 0; !err && i < ARRAY_SIZE(kinds); i++) {
		__auto_type of = &l.of[kinds[i].kind];
		err = array_member(w->k, kinds[i].type, "pivot", &of->pivots, &of->nr_pivots);
		if (!err)
			err = array_member(w->k, kinds[i].type, "slot", &of->slots, &of->nr_slots);
	}
	if (err)
		return err;
	err = memory_read(w->m, t->root + root_at, &root, sizeof(root));
	if (err)
		return err == -EFAULT ? end_walk(w, WALK_BAD, t->root + root_at) : err;
	int rc = 1;
	if (is_node(root))
		rc = maple_node(w, &l, root, 0, UINT64_MAX, 0);
	else if (root)
		rc = tell(w, &(struct walk_node){ root, 0, 0 });
	return rc == 1 ? end_walk(w, WALK_ENDED, 0) : rc;
}

int walk_tree(struct kspace *k, const struct walk_tree *t, walk_fn fn, void *ctx,
	      struct walk_result *ret)
{
	struct walk_state w;
	int rc = walk_begin(&w, k, t->limit, fn, ctx);
	if (!rc)
		rc = t->kind == WALK_RBTREE   ? walk_rb(&w, t)
		     : t->kind == WALK_XARRAY ? walk_xarray(&w, t)
					      : walk_maple(&w, t);
	return walk_finish(&w, rc, ret);
}
