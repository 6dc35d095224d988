#include "view/tui_screen.h"
#include "base/printable.h"
#include "base/term.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>
#include <wchar.h>

enum { SHIFT = 8, ASK_MAX = 256 }; /* columns, sideways */
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

enum { KEY_TICK = -2 }; /* no key, but time to draw anew */

/* A key, KEY_TICK, or ERR when input has ended. What curses holds already comes first. */
static int next_key(const struct tui_screen *s)
{
	if (!s->tick)
		return getch();
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	int key = ERR, ready = 0;
	timeout(0);
	for (int i = 0; i < 2 && key == ERR; i++) {
		key = getch();
		if (key != ERR || i)
			break;
		ready = poll(&in, 1, s->wait_ms(s->ctx));
		if (!ready)
			break;
	}
	timeout(-1);
	return key != ERR ? key : ready <= 0 ? KEY_TICK : ERR;
}

int tui_window(const struct tui_screen *s)
{
	int ret = 0;
	if (s->colour && has_colors())
		s->colours();
	while (!ret) {
		ret = s->draw(s->ctx);
		int key = ret ? ERR : next_key(s);
		ret = ret		? ret
		      : key == KEY_TICK ? s->tick(s->ctx)
		      : key == ERR	? 1
					: s->key(s->ctx, key);
	}
	return min(ret, 0);
}

bool tui_move(int key, size_t *at, size_t nr, size_t page)
{
	switch (key) {
	case KEY_UP: *at -= *at > 0; return true;
	case KEY_DOWN: ++*at; return true;
	case KEY_PPAGE: *at -= min(*at, page); return true;
	case KEY_NPAGE: *at += page; return true;
	case KEY_HOME: *at = 0; return true;
	case KEY_END: *at = nr; return true;
	default: return false;
	}
}

void tui_suspend(void)
{
	def_prog_mode();
	endwin();
}

void tui_resume(void)
{
	reset_prog_mode();
	clearok(curscr, TRUE);
	refresh();
}

static int run(const struct tui_screen *s, FILE *out, FILE *in)
{
	setlocale(LC_CTYPE, ""); /* only characters: numbers keep their point */
	set_escdelay(ESC_DELAY_MS);
	SCREEN *screen = newterm(NULL, out, in);
	if (!screen)
		return -ENOTTY;
	if (s->colour)
		(void)start_color();
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	int ret = tui_window(s);
	endwin();
	delscreen(screen);
	return ret;
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

/* ---- text ---- */

/* The next character and how many columns it takes; what is no text, or would be obeyed, is a '?'. Returns its bytes. */
static size_t next_char(const char *text, size_t left, mbstate_t *state, wchar_t *c, int *w)
{
	size_t n = mbrtowc(c, text, left, state);
	if (n == 0 || n > left) {
		n = 1;
		*c = '?';
		*state = (mbstate_t){ 0 };
	}
	*w = wcwidth(*c);
	if (*w < 0 || printable_obeyed((u32)*c)) {
		*c = '?';
		*w = 1;
	}
	return n;
}

int tui_width(const char *text, size_t bytes)
{
	mbstate_t state = { 0 };
	int width = 0, w;
	for (size_t at = 0; at < bytes; width += w) {
		wchar_t c;
		at += next_char(text + at, bytes - at, &state, &c, &w);
	}
	return width;
}

int tui_put(int y, int x, int width, int skip, const char *text)
{
	wchar_t out[512];
	int nr = 0, used = 0, column = 0, w;
	mbstate_t state = { 0 };
	size_t left = strlen(text);
	while (left && nr < 511) {
		wchar_t c;
		size_t n = next_char(text, left, &state, &c, &w);
		text += n;
		left -= n;
		column += w;
		if (column <= skip)
			continue;
		if (used + w > width)
			break;
		out[nr++] = c;
		used += w;
	}
	if (nr)
		mvaddnwstr(y, x, out, nr);
	return used;
}

void tui_bar(int y, const char *text, unsigned attr)
{
	attrset(attr);
	mvhline(y, 0, ' ', COLS);
	tui_put(y, 1, COLS - 2, 0, text);
	attrset(A_NORMAL);
}

static const char *line_at(const char *text, size_t line)
{
	while (line-- && text)
		text = (text = strchr(text, '\n')) ? text + 1 : NULL;
	return text && *text ? text : NULL;
}

static size_t count_lines(const char *text)
{
	size_t nr = 0;
	for (; *text; text++)
		nr += *text == '\n' || !text[1];
	return nr;
}

static void draw_text(const char *title, const char *text, size_t top, int shift)
{
	erase();
	tui_bar(0, title, A_REVERSE);
	for (int y = 1; y < LINES - 1; y++) {
		const char *from = line_at(text, top + (size_t)y - 1);
		char line[1024];
		if (!from)
			break;
		size_t len = min(strcspn(from, "\n"), sizeof(line) - 1);
		memcpy(line, from, len);
		line[len] = '\0';
		for (size_t i = 0; i < len; i++)
			line[i] = line[i] == '\t' ? ' ' : line[i];
		tui_put(y, 1, COLS - 1, shift, line);
	}
	tui_bar(LINES - 1, "arrows scroll   q or Esc back", A_DIM);
	refresh();
}

void tui_text(const char *title, const char *text)
{
	size_t top = 0, nr = count_lines(text);
	int shift = 0;
	for (;;) {
		size_t rows = LINES > 2 ? (size_t)(LINES - 2) : 1, last = nr > rows ? nr - rows : 0;
		top = min(top, last);
		draw_text(title, text, top, shift);
		int key = getch();
		key = key == 'k' ? KEY_UP : key == 'j' ? KEY_DOWN : key == ' ' ? KEY_NPAGE : key;
		if (tui_move(key, &top, last, rows))
			continue;
		switch (key) {
		case KEY_RIGHT: shift += SHIFT; break;
		case KEY_LEFT: shift -= min(shift, (int)SHIFT); break;
		case KEY_RESIZE: break;
		default: return;
		}
	}
}

bool tui_ask(const char *what, char *text, size_t size)
{
	size_t len = strlen(text);
	curs_set(1);
	for (;;) {
		char line[ASK_MAX];
		(void)snprintf(line, sizeof(line), "%s%s", what, text);
		tui_bar(LINES - 1, line, A_BOLD);
		move(LINES - 1, min(COLS - 1, (int)strlen(line) + 1));
		refresh();
		int key = getch();
		if (key == '\n' || key == KEY_ENTER || key == TUI_ESC)
			return curs_set(0), key != TUI_ESC;
		if (key == KEY_BACKSPACE || key == TUI_DEL || key == '\b')
			text[len -= len > 0] = '\0';
		else if (key >= ' ' && key < 256 && len + 1 < size) {
			text[len++] = (char)key;
			text[len] = '\0';
		}
	}
}
