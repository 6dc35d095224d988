/*
 * Text of strangers on a terminal. Names of tasks, files, functions and events are any bytes; a terminal obeys some of them.
 * What it would obey is written as text: ESC becomes \x1b, a newline in a name \n, a bidi override \u202e.
 *
 * Two places use this: the program's output streams, for everything that reaches a terminal (cmd/app), and views, for names, where
 * a newline or a colour of ours would otherwise be taken for the view's own. Files and pipes get the bytes as they are.
 */
#pragma once

#include "base/strbuf.h"

enum printable_flags {
	PRINTABLE_LINES = 1, /* newlines and tabs stay: text of several lines, not a name */
	PRINTABLE_COLOURS = 2, /* the colour codes that this program writes stay */
	PRINTABLE_ASCII = 4, /* the terminal shows no UTF-8: other bytes than ASCII are escaped too */
	PRINTABLE_MORE = 8, /* more data follows: a character that is cut at the end is left */
};

/* Whether a terminal does something else with the character than show it: controls, and what turns the direction of text. */
bool printable_obeyed(u32 c);

/* Appends the text, made printable; returns how many bytes of it were used: all, unless PRINTABLE_MORE left some. */
size_t printable_add(struct strbuf *to, const char *text, size_t len, unsigned flags);

/* A name, as it is, or made printable where `to` ends on a terminal (to->screen). */
static inline void printable_name_len(struct strbuf *to, const char *name, size_t len)
{
	if (likely(!to->screen))
		strbuf_add(to, name, len);
	else
		(void)printable_add(to, name, len, 0);
}
static inline void printable_name(struct strbuf *to, const char *name)
{
	printable_name_len(to, name, strlen(name));
}
/* The same, with blanks up to width after or before it; never cut. */
void printable_left(struct strbuf *to, const char *name, size_t width);
void printable_right(struct strbuf *to, const char *name, size_t width);

/* A stream to a terminal: what a write cuts is held until the next one. All zeroes to begin with. */
struct printable_stream {
	struct strbuf held;
	struct strbuf text;
};

/* 0, or negative errno. */
int printable_write(struct printable_stream *p, int fd, const char *data, size_t len,
		    unsigned flags) must_check;
/* Writes what is held, frees. */
int printable_end(struct printable_stream *p, int fd, unsigned flags) must_check;
