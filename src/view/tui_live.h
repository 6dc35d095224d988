/*
 * A table in the terminal that is made anew every interval, below some lines of text:
 *
 *	lines about the machine
 *	column names, the one that is sorted by underlined       reversed
 *	rows; the selected one reversed
 *	what the keys do, or a message
 *
 * Moving, searching, following a row and scrolling sideways happen here; all other keys are the caller's.
 */
#pragma once

#include "base/strbuf.h"
#include "model/table.h"

enum { TUI_LIVE_NO_ROW = -1 };

/* What a key of the caller's did. */
enum tui_live_done { TUI_LIVE_NOTHING, TUI_LIVE_QUIT, TUI_LIVE_CHANGED };

struct tui_live_config {
	void *ctx;
	bool colour;
	const char *footer;
	const char *help; /* lines about the caller's keys */
	/* A table (initialised) and the lines above it. again: time has passed; else only what is shown of the last reading may have changed. */
	int (*update)(void *ctx, bool again, struct table *t, struct strbuf *head);
	u64 (*row_id)(void *ctx, size_t row); /* the same thing in another table has the same one */
	u64 (*delay_ms)(void *ctx);
	size_t (*sorted)(void *ctx); /* which column of the table; beyond the last: none */
	/* row: the selected one, or TUI_LIVE_NO_ROW. enum tui_live_done, or negative errno, which ends it. */
	int (*key)(void *ctx, int key, s64 row, struct strbuf *message);
};

/* Until the user quits: 0; -ENOTTY: the terminal cannot, nothing was drawn; or negative errno. */
int tui_live(const struct tui_live_config *c) must_check;

/* Choosing columns: a list with a mark before those that are shown. */
struct tui_field {
	const char *name, *title;
	u32 id; /* the caller's */
	bool shown;
};

/*
 * Until q or Esc: the fields are in the order that was chosen, *sort is the id of the one to sort by. From a key of another screen only.
 */
int tui_fields(const char *window, struct tui_field *fields, size_t nr, u32 *sort) must_check;

enum { TUI_MENU_NONE = -1 };
/* A few lines to choose from, by their letters or with the arrows; lines end with NULL. The number of the line, or TUI_MENU_NONE. */
int tui_menu(const char *title, const char *const *lines);
