/*
 * The terminal as a screen: curses is set up here, asked for keys until somebody quits, and put away again. What is drawn and what
 * keys do is the caller's (tui_table, tui_flame).
 */
#pragma once

#include "base/types.h"

/* Keys that curses has no names for. */
enum { TUI_CTRL_C = 3, TUI_CTRL_L = 12, TUI_ESC = 27, TUI_DEL = 127 };

struct tui_screen {
	void *ctx;
	bool colour; /* wanted */
	void (*colours)(void); /* makes the pairs; called only where the terminal has colours */
	int (*draw)(void *ctx); /* 0 or negative errno, which ends it */
	int (*key)(void *ctx, int key); /* the same, or 1 to quit */
	/* A screen that changes by itself; NULL: it does not. */
	int (*wait_ms)(void *ctx); /* until the next tick is due */
	int (*tick)(void *ctx); /* 0 or negative errno, which ends it */
};

/* Whether there is a terminal to draw on: standard input and output, and a TERM that can move the cursor. */
bool tui_possible(void);
/* Until the user quits or input ends: 0; -ENOTTY: the terminal cannot, nothing was drawn; or negative errno. */
int tui_screen(const struct tui_screen *s) must_check;

/* From draw() and key() only. */

/* At most `width` columns of text from its column `skip` on; returns the columns used. What is no text is drawn as '?'. */
int tui_put(int y, int x, int width, int skip, const char *text);
/* Columns that the first bytes of a text take. */
int tui_width(const char *text, size_t bytes);
/* A line from edge to edge; attr is curses'. */
void tui_bar(int y, const char *text, unsigned attr);
/* The same as tui_screen() from a key of another one, which draws itself again when it is left; pairs of colours are those of the last. */
int tui_window(const struct tui_screen *s) must_check;
/*
 * The keys that move through lines everywhere (arrows, pages, Home, End): true, and *at is another one of nr lines, of which `page` are to be
 * seen; it may be nr, which the caller settles. false: another key.
 */
bool tui_move(int key, size_t *at, size_t nr, size_t page);
/* Gives the terminal back for a while, to a program that draws for itself, and takes it again. */
void tui_suspend(void);
void tui_resume(void);
/* A line of input at the bottom, which begins with what is in text; false: given up. */
bool tui_ask(const char *what, char *text, size_t size);
/* A window with text, to be scrolled, until a key leaves it. */
void tui_text(const char *title, const char *text);
