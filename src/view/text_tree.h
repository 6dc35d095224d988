/* A weighted tree in lines and pipes, as perf report draws call graphs. */
#pragma once

#include "base/strbuf.h"
#include "model/tree.h"

/* total: what 100 % is; indent: columns before the first pipe; fractal: percentages relative to the parent branch. */
void text_tree(const struct tree *t, u64 total, u32 indent, bool fractal, struct strbuf *to);
