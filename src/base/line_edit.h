/*
 * One line typed on a terminal: editing keys, a history, completion by Tab. For prompts.
 *
 *	Left Right ^B ^F   Home End ^A ^E   Backspace Delete ^D   ^W word before   ^U to the start   ^K to the end
 *	Up Down ^P ^N      lines before     Tab                   completes, twice lists               ^L clears the screen
 *
 * The terminal is as it was before and after each line. What does not behave like a terminal is read as it comes.
 */
#pragma once

#include "base/strbuf.h"
#include "base/vec.h"

#include <termios.h>

enum { LINE_EDIT_HISTORY = 1000, LINE_EDIT_MAX = 1 << 16 };

/*
 * Completes a word of the line: line[0..len) is what lies before the cursor, the word begins at start. Each candidate, the whole word,
 * is added with its NUL. 0 or negative errno.
 */
typedef int (*line_complete_fn)(void *ctx, const char *line, size_t len, size_t start,
				struct strbuf *candidates);

struct line_edit {
	int in, out;
	line_complete_fn complete; /* NULL: Tab does nothing */
	void *ctx;
	/* Of line_edit.c. */
	VEC(char *) history;
	struct strbuf line, kept; /* kept: what was typed before going back in the history */
	size_t cursor, at; /* at: in the history; history.nr: the new line */
	bool tabbed; /* the last key was Tab */
	struct termios before;
	bool is_raw;
	char waiting[256]; /* read, but not yet handled */
	size_t nr_waiting, next_waiting;
};

void line_edit_init(struct line_edit *e, int in, int out);
void line_edit_done(struct line_edit *e);
/*
 * 1: a line, borrowed until the next call, without its end; 0: the input has ended (^D on an empty line); -EINTR: ^C, the line was
 * dropped; other negative errno.
 */
int line_edit_read(struct line_edit *e, const char *prompt, const char **ret) must_check;
/* To the history, unless it is empty or as the last one. -ENOMEM. */
int line_edit_remember(struct line_edit *e, const char *line) must_check;
