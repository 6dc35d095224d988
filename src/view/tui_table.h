/*
 * Tables in the terminal, to be walked through with the keyboard: one page at a time (an event of a recording), rows with their
 * call graphs, zoom, search, and actions of the caller on a row, whose text is shown in a window.
 */
#pragma once

#include "base/strbuf.h"
#include "model/table.h"

struct tui_action {
	char key;
	const char *help; /* "annotate the function" */
	/*
	 * Text to look at, about a row, and its title; what is returned as an error is said on the last line. 1: leave the
	 * browser; 2: there is nothing to look at, the action has drawn for itself; 3: the page is to be opened again, and the text said on
	 * the last line.
	 */
	int (*run)(void *ctx, u32 page, size_t row, struct strbuf *title, struct strbuf *to);
	bool no_row; /* it is not about one: there may be none */
};

struct tui_config {
	u32 nr_pages;
	u32 first_page;
	/* A page into an initialised table, with the text of its first line. Only one is open at a time. */
	int (*open)(void *ctx, u32 page, struct table *ret, struct strbuf *title);
	const struct tui_action *actions; /* ends with key 0; NULL: none */
	void *ctx;
	bool fractal;
	bool colour;
	/* A table that changes by itself; NULL: it does not. */
	int (*wait_ms)(void *ctx); /* until the next tick is due */
	int (*tick)(void *ctx); /* 1: the page is to be opened again; 0; or negative errno, which ends it */
	const char *footer,
		*note; /* instead of the usual ones: the last line, and the end of the help */
};

/* Until the user quits: 0; -ENOTTY: the terminal cannot, nothing was drawn; or negative errno of a page. */
int tui_tables(const struct tui_config *c) must_check;
