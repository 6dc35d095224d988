/* The call graph under one place of a cache line: chains that are few, so that they are simply sorted. */
#pragma once

#include "base/arena.h"
#include "model/c2c.h"
#include "model/frame.h"
#include "model/names.h"
#include "model/tree.h"

struct c2c_graph_env {
	const struct chain_table *chains; /* ids of names */
	const struct names_result *names;
	const struct frame_table *frames;
	bool outermost_first;
	double min_percent; /* of the place: lighter branches are left out */
	struct arena *arena; /* of labels */
};

/* Into an initialised or cleared tree. 0 or -ENOMEM. */
int c2c_graph(struct tree *t, const struct c2c_chain *chains, size_t nr,
	      const struct c2c_graph_env *env) must_check;
