/* A flame graph as one tree to draw: "all", below it the tasks, below them their stacks; heaviest first, in the order of a walk. */
#pragma once

#include "base/vec.h"
#include "model/flame.h"

struct flame_box {
	u32 parent; /* of "all": itself */
	u32 end; /* after the last box below */
	u32 depth;
	const char *name, *module; /* borrowed from the flame */
	enum flame_kind kind; /* FLAME_MARK for "all" and tasks */
	u64 self, total; /* weights */
	u64 count; /* samples, like total */
};

struct flame_boxes {
	VEC(struct flame_box) list; /* [0] is "all" */
	u32 event; /* of the flame */
};

/* Of the first event that has samples; with two sides, of their sum. To be freed with vec_free(&ret->list), also after an error. */
int flame_tree(const struct flame *f, struct flame_boxes *ret) must_check;
