/* The terminal: size, whether to colour, a pager, one line of progress. Nothing here prints by itself: file descriptors are given. */
#pragma once

#include "base/strbuf.h"

#include <sys/types.h>

enum term_when { TERM_AUTO, TERM_ALWAYS, TERM_NEVER }; /* the order of --color's words */

bool term_is_tty(int fd);
/* Whether $TERM names a terminal that can do more than print lines: it is set, and not dumb. */
bool term_capable(void);
/* Whether the locale's characters are UTF-8: by $LC_ALL, else $LC_CTYPE, else $LANG. */
bool term_utf8(void);
/* How text that goes to a terminal is made printable: flags of base/printable.h. colours: ours may be among it. */
unsigned term_printable(bool colours);
/* Columns and rows of the terminal, else $COLUMNS and $LINES, else 80 and 24. */
unsigned term_width(int fd);
unsigned term_height(int fd);
/* TERM_AUTO: fd is a terminal that is not dumb, and $NO_COLOR is empty or absent. */
bool term_colour(enum term_when when, int fd);

/*
 * What to page with: the variable `own` (SONDE_PAGER), $PAGER, else less; NULL when it is empty or cat, and in a program that
 * was lent privileges: who runs it must not choose what runs with them. Borrowed from the environment.
 */
const char *term_pager_command(const char *own);
/*
 * Runs the command in a shell with a pipe on its standard input; it gets LESS=FRSX unless the environment says otherwise.
 * 0, *ret_fd is the pipe's end to write to and *ret_pid to be waited for; or negative errno.
 */
int term_pager_open(const char *command, int *ret_fd, pid_t *ret_pid) must_check;

/* A line that is written over itself; does nothing when fd is not a terminal. */
struct term_progress {
	int fd;
	bool on;
	bool shown;
	u64 next_ns;
};

void term_progress_init(struct term_progress *p, int fd);
/* Whether it is time for another line (ten a second); with false the caller need not make one. */
bool term_progress_due(struct term_progress *p);
/* Cut to the terminal's width. */
void term_progress_show(struct term_progress *p, const char *line);
/* Takes the line away. */
void term_progress_clear(struct term_progress *p);
