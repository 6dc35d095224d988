#include "view/tui_screen.h"
#include "base/term.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

enum { ESC_DELAY_MS = 25 }; /* how long a lone Escape is waited for what may follow it */

bool tui_possible(void)
{
	if (!term_is_tty(STDIN_FILENO) || !term_is_tty(STDOUT_FILENO))
		return false;
	int err;
	const char *name = getenv("TERM");
	if (!name || !strcmp(name, "dumb") || setupterm(name, STDOUT_FILENO, &err) != OK)
		return false;
	const char *move = tigetstr((char *)"cup");
	bool can = move && move != (char *)-1;
	del_curterm(cur_term);
	return can;
}

static int run(const struct tui_screen *s, FILE *out, FILE *in)
{
	setlocale(LC_CTYPE, ""); /* only characters: numbers keep their point */
	set_escdelay(ESC_DELAY_MS);
	SCREEN *screen = newterm(NULL, out, in);
	if (!screen)
		return -ENOTTY;
	if (s->colour && start_color() == OK)
		s->colours();
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	int ret = 0;
	while (!ret) {
		ret = s->draw(s->ctx);
		int key = ret ? ERR : getch();
		ret = ret ? ret : key == ERR ? 1 : s->key(s->ctx, key);
	}
	endwin();
	delscreen(screen);
	return min(ret, 0);
}

/* Curses closes neither and may change their buffers: it gets streams of its own. */
static FILE *own_stream(int fd, const char *mode)
{
	int copy = dup(fd);
	FILE *f = copy < 0 ? NULL : fdopen(copy, mode);
	if (!f && copy >= 0)
		close(copy);
	return f;
}

int tui_screen(const struct tui_screen *s)
{
	FILE *out = own_stream(STDOUT_FILENO, "w"), *in = own_stream(STDIN_FILENO, "r");
	int err = out && in ? run(s, out, in) : -ENOTTY;
	if (out)
		fclose(out);
	if (in)
		fclose(in);
	return err;
}
