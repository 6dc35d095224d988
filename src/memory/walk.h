/*
 * Walks over the kernel's own containers: linked lists, red-black trees, xarrays (radix trees), maple trees. The kernel changes them
 * meanwhile, and memory may hold anything: each walk is bounded, notices loops, and says how it ended.
 */
#pragma once

#include "memory/kspace.h"

enum { WALK_MAX = 1 << 20 }; /* nodes, unless told otherwise */

enum walk_end {
	WALK_ENDED, /* NULL, back at the head, or where it was to end */
	WALK_STOPPED, /* by the callback, or by the limit */
	WALK_LOOP, /* at came before: "duplicate list entry" */
	WALK_BAD, /* at cannot be read */
	WALK_DEEP, /* a tree deeper than any can be */
};

struct walk_result {
	enum walk_end end;
	u64 at;
	u64 nr; /* nodes that were told */
};

struct walk_node {
	u64 addr; /* of a list or red-black tree: of the object; else what is stored */
	u64 first, last; /* xarray, maple tree: its indices */
};

/* 0: go on; 1: enough; negative errno: is returned. */
typedef int (*walk_fn)(void *ctx, const struct walk_node *node);

enum walk_list_kind {
	WALK_LIST_NEXT, /* start is the first object; the pointer in it is that of the next object */
	WALK_LIST_OBJECT, /* start is an object with a list_head in it, as all are */
	WALK_LIST_HEAD, /* start is a list_head of its own, or an hlist_head */
};

struct walk_list {
	enum walk_list_kind kind;
	u64 start;
	u64 offset; /* of the pointer, or list_head, in an object */
	u64 end; /* an address to end at; 0: none */
	u64 limit; /* 0: WALK_MAX */
	bool backwards; /* by list_head.prev */
};

int walk_list(struct kspace *k, const struct walk_list *w, walk_fn fn, void *ctx,
	      struct walk_result *ret) must_check;

enum walk_tree_kind { WALK_RBTREE, WALK_XARRAY, WALK_MAPLE };

struct walk_tree {
	enum walk_tree_kind kind;
	u64 root; /* of a struct rb_root, xarray, radix_tree_root or maple_tree */
	u64 offset; /* of the rb_node in an object */
	u64 limit;
};

int walk_tree(struct kspace *k, const struct walk_tree *w, walk_fn fn, void *ctx,
	      struct walk_result *ret) must_check;
