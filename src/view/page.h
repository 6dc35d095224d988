/* Web pages that are part of the program: src/view/page/ as text, put here by tools/embed-page when the program is built. */
#pragma once

#include <stddef.h>

struct page_part {
	const char *text;
	size_t len;
};

/* The page around what is filled in: before the title, between title and data, after the data. */
extern const struct page_part page_flame[3], page_live[3];
