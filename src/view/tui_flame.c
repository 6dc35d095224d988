/*
 * The screen:
 *
 *	title                                                    reversed
 *	all
 *	make          | cc1
 *	...                        boxes, a row for each depth; the selected one reversed
 *	12.34 % (5.00 % self), 120 samples  vfs_read  [kernel.kallsyms]
 *	what the keys do, or what is searched for and how much of it there is
 *
 * What is where is text_flame's; this file draws it and turns keys into steps.
 */
#include "view/tui_flame.h"

#include "base/term.h"
#include "base/str.h"
#include "view/text_flame.h"
#include "view/tui_screen.h"

#include <curses.h>
#include <string.h>

enum { SHADES = 4, MANY_COLOURS = 256, QUERY_MAX = 128 };
/* Of a kind of frame: its shades one after the other; with few colours they are all the same. */
enum { PAIR_FIRST = 1, PAIR_FOUND = PAIR_FIRST + (FLAME_MARK + 1) * SHADES };

struct flame_tui {
	struct flame_boxes boxes;
	struct text_flame_cells cells;
	struct strbuf title;
	u32 zoom, picked;
	u32 top; /* first row seen */
	char query[QUERY_MAX];
	size_t nr_query;
	bool typing;
	bool colour;
};

static const char footer[] = "? help  arrows walk  Enter zoom  u out  0 all  / search  q quit";

static const char help[] =
	"\n"
	"  Up Down                      go to the caller, to the heaviest callee\n"
	"  Left Right                   go to the next frame on that side\n"
	"  h j k l                      same as Left Down Up Right\n"
	"  Enter                        zoom in: the selected frame fills the screen\n"
	"  u, Backspace                 zoom out by one frame\n"
	"  0                            zoom out completely\n"
	"  /                            search function names, ignoring case\n"
	"  n  N                         next, previous match\n"
	"  Esc                          clear the search, then zoom out\n"
	"  ?                            this help\n"
	"  q                            quit\n"
	"\n"
	"  The width of a frame is its share of all samples. Callers are above their\n"
	"  callees, heaviest first; frames narrower than a column are not drawn. The\n"
	"  bottom line shows the selected frame: its share including callees, its own\n"
	"  share, its name and file. Colours: cyan programs and libraries, yellow the\n"
	"  kernel, green inlined functions, magenta JIT-compiled code, white tasks and\n"
	"  code without a name.\n";

static bool is_found(const struct flame_tui *t, u32 box)
{
	return text_flame_has(&t->boxes, box, t->query);
}

static void put_line(int y, const char *text, int attr)
{
	struct strbuf line;
	strbuf_init(&line);
	text_flame_label(text, (u32)max(COLS, 1), &line);
	attron(attr);
	mvaddstr(y, 0, strbuf_cstr(&line));
	attroff(attr);
	strbuf_done(&line);
}

/* Functions of one kind differ in shade, a function has the same one everywhere. */
static int pair_of(const struct flame_box *b)
{
	u32 hash = 2166136261u;
	for (const char *s = b->name; *s; s++)
		hash = (hash ^ (u8)*s) * 16777619u;
	return PAIR_FIRST + (int)b->kind * SHADES + (int)((hash >> 16) % SHADES);
}

/* Between neighbours. */
static const char *edge(const struct flame_tui *t, u32 width)
{
	if (t->colour && COLORS < MANY_COLOURS)
		return " ";
	return width < 2 && !t->colour ? " " : term_utf8() ? "▏" : "|";
}

static void draw_cell(struct flame_tui *t, const struct text_flame_cell *c, int rows)
{
	int y = (int)c->row - (int)t->top + 1;
	if (y < 1 || y > rows)
		return;
	const struct flame_box *b = &t->boxes.list.at[c->box];
	struct strbuf text;
	strbuf_init(&text);
	if (c->x)
		strbuf_str(&text, edge(t, c->w));
	text_flame_label(b->name, c->w - (c->x ? 1 : 0), &text);
	int attr = c->box == t->picked	 ? A_REVERSE | A_BOLD
		   : is_found(t, c->box) ? COLOR_PAIR(PAIR_FOUND) | A_BOLD | A_UNDERLINE
					 : COLOR_PAIR(pair_of(b));
	attron(attr);
	mvaddstr(y, (int)c->x, strbuf_cstr(&text));
	attroff(attr);
	strbuf_done(&text);
}

static void say_query(const struct flame_tui *t, struct strbuf *to)
{
	struct text_flame_found found = text_flame_search(&t->boxes, t->query);
	strbuf_printf(to, "/%s%s", t->query, t->typing ? "_" : "");
	if (!t->nr_query)
		return;
	if (found.nr)
		strbuf_printf(to, "   %.2f %% in %u frame%s%s", found.percent, found.nr,
			      found.nr == 1 ? "" : "s",
			      t->typing ? "" : "   n next  N previous  Esc clear");
	else
		strbuf_printf(to, "   not found%s", t->typing ? "" : "   Esc clear");
}

/* What the keys do, and how much is below the screen. */
static void say_keys(const struct flame_tui *t, int rows, struct strbuf *to)
{
	u32 deepest = 0;
	vec_for_each (&t->cells.list, c)
		deepest = max(deepest, c->row);
	strbuf_str(to, footer);
	if (rows > 0 && deepest >= t->top + (u32)rows)
		strbuf_printf(to, "  %s %u rows", term_utf8() ? "↓" : "+",
			      deepest - t->top - (u32)rows + 1);
}

static int draw(void *ctx)
{
	struct flame_tui *t = ctx;
	int rows = LINES - 3;
	int err = text_flame_lay(&t->boxes, t->zoom, (u32)max(COLS, 1), &t->cells);
	if (err)
		return err;
	u32 depth = t->boxes.list.at[t->picked].depth;
	if (rows > 0 && depth < t->top)
		t->top = depth;
	if (rows > 0 && depth >= t->top + (u32)rows)
		t->top = depth - (u32)rows + 1;
	erase();
	put_line(0, strbuf_cstr(&t->title), A_REVERSE);
	vec_for_each (&t->cells.list, c)
		draw_cell(t, c, rows);
	struct strbuf line;
	strbuf_init(&line);
	text_flame_say(&t->boxes, t->picked, &line);
	put_line(LINES - 2, strbuf_cstr(&line), A_BOLD);
	strbuf_reset(&line);
	if (t->typing || t->nr_query)
		say_query(t, &line);
	else
		say_keys(t, rows, &line);
	put_line(LINES - 1, strbuf_cstr(&line), A_DIM);
	strbuf_done(&line);
	refresh();
	return 0;
}

/* The next box of that name, in the order of the walk, whether it can be seen or not. */
static void find_next(struct flame_tui *t, bool backwards)
{
	u32 nr = (u32)t->boxes.list.nr;
	for (u32 k = 1; k <= nr; k++) {
		u32 box = (t->picked + (backwards ? nr - k : k)) % nr;
		if (!is_found(t, box))
			continue;
		t->picked = box;
		while (t->zoom && (box < t->zoom || box >= t->boxes.list.at[t->zoom].end))
			t->zoom = t->boxes.list.at[t->zoom].parent;
		return;
	}
}

static void type_key(struct flame_tui *t, int key)
{
	if (key == '\n' || key == KEY_ENTER) {
		t->typing = false;
		if (!is_found(t, t->picked))
			find_next(t, false);
	} else if (key == TUI_ESC) {
		t->typing = false;
		t->nr_query = 0;
	} else if (key == KEY_BACKSPACE || key == TUI_DEL || key == '\b') {
		t->nr_query -= t->nr_query > 0;
	} else if (key >= 0x20 && key < 0x100 && t->nr_query + 1 < QUERY_MAX) {
		t->query[t->nr_query++] = (char)key;
	}
	t->query[t->nr_query] = 0;
}

static void step(struct flame_tui *t, enum text_flame_way way)
{
	t->picked = text_flame_step(&t->boxes, &t->cells, t->picked, way);
}

static void zoom_out(struct flame_tui *t)
{
	t->zoom = t->boxes.list.at[t->zoom].parent;
	t->picked = t->zoom;
}

/* 1: quit. */
static int do_key(void *ctx, int key)
{
	struct flame_tui *t = ctx;
	if (t->typing && key != KEY_RESIZE) {
		type_key(t, key);
		return 0;
	}
	switch (key) {
	case 'q': return 1;
	case KEY_UP:
	case 'k': step(t, FLAME_OUT); break;
	case KEY_DOWN:
	case 'j': step(t, FLAME_IN); break;
	case KEY_LEFT:
	case 'h': step(t, FLAME_LEFT); break;
	case KEY_RIGHT:
	case 'l': step(t, FLAME_RIGHT); break;
	case '\n':
	case KEY_ENTER: t->zoom = t->picked; break;
	case 'u':
	case KEY_BACKSPACE:
	case TUI_DEL: zoom_out(t); break;
	case TUI_ESC:
		if (t->nr_query)
			t->query[t->nr_query = 0] = 0;
		else
			zoom_out(t);
		break;
	case '0': t->zoom = t->picked = 0; break;
	case '/':
		t->typing = true;
		t->query[t->nr_query = 0] = 0;
		break;
	case 'n':
	case 'N': find_next(t, key == 'N'); break;
	case '?':
	case KEY_F(1): tui_text("Keys", help); break;
	case TUI_CTRL_L: clearok(stdscr, TRUE); break;
	default: break;
	}
	return 0;
}

static void set_colours(void)
{
	static const short back[] = {
		[FLAME_USER] = COLOR_CYAN,     [FLAME_KERNEL] = COLOR_YELLOW,
		[FLAME_INLINED] = COLOR_GREEN, [FLAME_JIT] = COLOR_MAGENTA,
		[FLAME_UNKNOWN] = COLOR_WHITE, [FLAME_MARK] = COLOR_WHITE,
	};
	static const short many[][SHADES] = {
		[FLAME_USER] = { 116, 80, 152, 117 },	  [FLAME_KERNEL] = { 221, 179, 222, 186 },
		[FLAME_INLINED] = { 114, 150, 115, 151 }, [FLAME_JIT] = { 176, 182, 177, 219 },
		[FLAME_UNKNOWN] = { 250, 252, 248, 251 }, [FLAME_MARK] = { 254, 255, 253, 254 },
	};
	enum { BLACK = 16 }; /* of the colour cube: themes do not change it */
	bool deep = COLORS >= MANY_COLOURS;
	for (int i = 0; i < (int)ARRAY_SIZE(back); i++)
		for (int k = 0; k < SHADES; k++)
			init_pair((short)(PAIR_FIRST + i * SHADES + k), deep ? BLACK : COLOR_BLACK,
				  deep ? many[i][k] : back[i]);
	init_pair(PAIR_FOUND, COLOR_WHITE, COLOR_RED);
}

static int show(const struct flame *f, const char *title, bool colour,
		int (*on)(const struct tui_screen *s))
{
	struct flame_tui t = { .colour = colour };
	int err = flame_tree(f, &t.boxes);
	strbuf_init(&t.title);
	if (!err && f->events.nr) /* first: a command may be longer than the line */
		strbuf_printf(&t.title, "%s, %llu %s   ", flame_str(f, f->events.at[t.boxes.event]),
			      (unsigned long long)t.boxes.list.at[0].count,
			      str_plural(t.boxes.list.at[0].count, "sample", "samples"));
	strbuf_str(&t.title, title);
	if (!err)
		err = on(&(struct tui_screen){ .ctx = &t,
					       .colour = colour,
					       .colours = set_colours,
					       .draw = draw,
					       .key = do_key });
	strbuf_done(&t.title);
	vec_free(&t.boxes.list);
	vec_free(&t.cells.list);
	return err;
}

int tui_flame(const struct flame *f, const char *title, bool colour)
{
	return show(f, title, colour, tui_screen);
}

int tui_flame_window(const struct flame *f, const char *title, bool colour)
{
	return show(f, title, colour, tui_window);
}
