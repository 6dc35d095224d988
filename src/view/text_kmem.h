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

struct text_page_style {
	bool pages; /* rows are of pages, not of call sites */
	bool live; /* only what is held at the end */
	size_t max_rows; /* 0: all */
	const struct page_gfp *gfps; /* [page_row.gfp] */
};

/* What the short names of flags mean. */
void text_page_gfps(const struct page_gfp *gfps, size_t nr, struct strbuf *to);
void text_page_rows(const struct page_row *rows, size_t nr, const struct text_page_style *s,
		    struct strbuf *to);
void text_page_summary(const struct page_totals *t, bool live, struct strbuf *to);
