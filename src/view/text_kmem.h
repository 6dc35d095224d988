/* Kernel memory as `perf kmem stat` prints it. */
#pragma once

#include "base/strbuf.h"
#include "model/kmem.h"

struct text_kmem_style {
	bool addresses; /* rows are of memory, not of call sites */
	size_t max_rows; /* 0: all */
	bool held; /* a column of what is held at the end */
};

void text_kmem_rows(const struct kmem_row *rows, size_t nr, const struct text_kmem_style *s,
		    struct strbuf *to);
void text_kmem_summary(const struct kmem_totals *t, struct strbuf *to);
