/* Web pages that are part of the program: src/view/page/ as text, put here by tools/embed-page when the program is built. */
#pragma once

#include "base/strbuf.h"

struct page_part {
	const char *text;
	size_t len;
};

/* The page around what is filled in: before the title, between title and data, after the data. */
extern const struct page_part page_flame[3], page_live[3];
extern const struct page_part page_timeline[3];

/* All of a page: the title as text, the data in base64, so that nothing in them can be taken for markup. */
void page_put(const struct page_part page[3], const char *title, const struct strbuf *data,
	      struct strbuf *to);
