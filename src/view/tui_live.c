#include "view/tui_live.h"

#include "base/clock.h"
#include "view/text_table.h"
#include "view/tui_screen.h"

#include <curses.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHIFT = 8, FIRST_DELAY_MS = 200 };
enum { PAIR_LOW = 1, PAIR_WARM, PAIR_HOT };

struct live_tui {
	const struct tui_live_config *c;
	struct table table;
	struct strbuf head;
	u32 *widths;
	size_t nr_widths;
	size_t top, at;
	u64 followed; /* row_id of the selected row */
	bool follow;
	int shift;
	u64 next_ns; /* when the next reading is due */
	char search[64];
	struct strbuf message;
};

/* ---- what is shown ---- */

static int measure(struct live_tui *t)
{
	size_t nr = t->table.columns.nr;
	if (nr > t->nr_widths) {
		u32 *more = realloc(t->widths, nr * sizeof(*more));
		if (!more)
			return -ENOMEM;
		t->widths = more;
		t->nr_widths = nr;
	}
	return nr ? text_table_widths(&t->table, true, t->widths) : 0;
}

static void select_followed(struct live_tui *t)
{
	for (size_t i = 0; t->follow && i < t->table.nr_rows; i++)
		if (t->c->row_id(t->c->ctx, i) == t->followed) {
			t->at = i;
			return;
		}
}

static int refresh_table(struct live_tui *t, bool again)
{
	table_done(&t->table);
	table_init(&t->table);
	strbuf_reset(&t->head);
	int err = t->c->update(t->c->ctx, again, &t->table, &t->head);
	if (!err)
		err = measure(t);
	if (!err)
		select_followed(t);
	return err;
}

static int head_lines(const struct live_tui *t)
{
	int nr = 0;
	for (size_t i = 0; i < t->head.len; i++)
		nr += t->head.data[i] == '\n';
	return min(nr, max(LINES - 4, 0));
}

static size_t page_lines(const struct live_tui *t)
{
	int rows = LINES - head_lines(t) - 2;
	return rows > 0 ? (size_t)rows : 1;
}

static void settle(struct live_tui *t)
{
	size_t nr = t->table.nr_rows, rows = page_lines(t);
	if (t->at >= nr)
		t->at = nr ? nr - 1 : 0;
	if (t->at < t->top)
		t->top = t->at;
	if (t->at >= t->top + rows)
		t->top = t->at - rows + 1;
	if (t->top + rows > nr)
		t->top = nr > rows ? nr - rows : 0;
}

/* ---- drawing ---- */

static attr_t heat(const struct live_tui *t, double percent)
{
	if (!t->c->colour || !has_colors() || isnan(percent) || percent < 1)
		return A_NORMAL;
	return (attr_t)COLOR_PAIR(percent >= 50 ? PAIR_HOT : percent >= 10 ? PAIR_WARM : PAIR_LOW);
}

static bool is_percent(const struct column *c)
{
	return c->type == CELL_FLOAT && *c->name == '%';
}

static bool on_right(const struct column *c)
{
	return c->right || c->type != CELL_STR;
}

static void put_head(struct live_tui *t)
{
	const char *at = strbuf_cstr(&t->head);
	for (int y = 0; y < head_lines(t); y++) {
		char line[512];
		size_t len = strcspn(at, "\n"), n = min(len, sizeof(line) - 1);
		memcpy(line, at, n);
		line[n] = '\0';
		tui_put(y, 0, COLS, 0, line);
		at += len + (at[len] == '\n');
	}
}

/* One cell at its column, as far as the screen and what is scrolled away allow. */
static void put_cell(int y, int column, int width, const char *text, bool right, int shift)
{
	int pad = right ? max(width - tui_width(text, strlen(text)), 0) : 0;
	int x = column + pad - shift;
	if (x < COLS)
		tui_put(y, max(x, 0), COLS - max(x, 0), max(-x, 0), text);
}

static void put_names(struct live_tui *t, int y)
{
	size_t sorted = t->c->sorted(t->c->ctx);
	int column = 0;
	attrset(A_REVERSE);
	mvhline(y, 0, ' ', COLS);
	for (size_t i = 0; i < t->table.columns.nr; i++) {
		const struct column *c = &t->table.columns.at[i];
		attrset(i == sorted ? A_REVERSE | A_UNDERLINE | A_BOLD : A_REVERSE);
		put_cell(y, column, (int)t->widths[i], c->name, on_right(c), t->shift);
		column += (int)t->widths[i] + 1;
	}
	attrset(A_NORMAL);
}

static void put_row(struct live_tui *t, int y, size_t row)
{
	int column = 0;
	bool selected = row == t->at;
	if (selected) {
		attrset(A_REVERSE);
		mvhline(y, 0, ' ', COLS);
	}
	struct strbuf s;
	strbuf_init(&s);
	s.screen = true;
	for (size_t i = 0; i < t->table.columns.nr; i++) {
		const struct column *c = &t->table.columns.at[i];
		const union cell *v = &table_cells(&t->table, row)[i];
		strbuf_reset(&s);
		text_cell(c, v, &s);
		attrset(selected ? A_REVERSE : is_percent(c) ? heat(t, v->f) : A_NORMAL);
		put_cell(y, column, (int)t->widths[i], strbuf_cstr(&s), on_right(c), t->shift);
		column += (int)t->widths[i] + 1;
	}
	attrset(A_NORMAL);
	strbuf_done(&s);
}

static int draw(void *ctx)
{
	struct live_tui *t = ctx;
	settle(t);
	erase();
	put_head(t);
	int names = head_lines(t);
	put_names(t, names);
	for (size_t i = 0; i < page_lines(t) && t->top + i < t->table.nr_rows; i++)
		put_row(t, names + 1 + (int)i, t->top + i);
	if (!t->table.nr_rows)
		tui_put(names + 1, 2, COLS - 2, 0, "no tasks match");
	bool told = t->message.len != 0;
	tui_bar(LINES - 1, told ? strbuf_cstr(&t->message) : t->c->footer, told ? A_BOLD : A_DIM);
	refresh();
	return 0;
}

/* ---- keys ---- */

static void remember(struct live_tui *t)
{
	t->at = min(t->at, t->table.nr_rows ? t->table.nr_rows - 1 : 0);
	if (t->at < t->table.nr_rows)
		t->followed = t->c->row_id(t->c->ctx, t->at);
}

static bool row_has(const struct live_tui *t, size_t row)
{
	bool found = false;
	struct strbuf s;
	strbuf_init(&s);
	for (size_t i = 0; i < t->table.columns.nr && !found; i++) {
		strbuf_reset(&s);
		text_cell(&t->table.columns.at[i], &table_cells(&t->table, row)[i], &s);
		found = strcasestr(strbuf_cstr(&s), t->search) != NULL;
	}
	strbuf_done(&s);
	return found;
}

static void find_next(struct live_tui *t, size_t from)
{
	size_t nr = t->table.nr_rows;
	for (size_t i = 0; *t->search && i < nr; i++)
		if (row_has(t, (from + i) % nr)) {
			t->at = (from + i) % nr;
			return;
		}
	strbuf_printf(&t->message, "'%s' not found", t->search);
}

static void show_help(const struct live_tui *t)
{
	struct strbuf s;
	strbuf_init(&s);
	strbuf_str(&s, "\n"
		       "  Up Down PgUp PgDn Home End   move\n"
		       "  Left Right                   scroll sideways\n"
		       "  L  /                         search; & next match\n"
		       "  F                            follow the selected row\n"
		       "  Space                        read again now\n"
		       "  ?  h                         this help\n"
		       "  q                            quit\n");
	strbuf_str(&s, t->c->help);
	tui_text("Keys", strbuf_cstr(&s));
	strbuf_done(&s);
}

static int read_again(struct live_tui *t)
{
	t->next_ns = clock_monotonic_ns() + t->c->delay_ms(t->c->ctx) * 1000000;
	return refresh_table(t, true);
}

static int others_key(struct live_tui *t, int key)
{
	s64 row = t->at < t->table.nr_rows ? (s64)t->at : TUI_LIVE_NO_ROW;
	int done = t->c->key(t->c->ctx, key, row, &t->message);
	if (done != TUI_LIVE_CHANGED)
		return done;
	t->next_ns = min(t->next_ns, clock_monotonic_ns() + t->c->delay_ms(t->c->ctx) * 1000000);
	return refresh_table(t, false);
}

static int do_key(void *ctx, int key)
{
	struct live_tui *t = ctx;
	strbuf_reset(&t->message);
	if (tui_move(key, &t->at, t->table.nr_rows, page_lines(t))) {
		remember(t);
		return 0;
	}
	switch (key) {
	case 'q':
	case TUI_CTRL_C: return 1;
	case KEY_RIGHT: t->shift += SHIFT; break;
	case KEY_LEFT: t->shift -= min(t->shift, (int)SHIFT); break;
	case 'L':
	case '/':
		if (tui_ask("search: ", t->search, sizeof(t->search)))
			find_next(t, t->at);
		remember(t);
		break;
	case '&':
		find_next(t, t->at + 1);
		remember(t);
		break;
	case 'F':
		t->follow = !t->follow;
		remember(t);
		strbuf_str(&t->message, t->follow ? "following the selected row" : "not following");
		break;
	case ' ': return read_again(t);
	case '?':
	case 'h':
	case KEY_F(1): show_help(t); break;
	case KEY_RESIZE: break;
	case TUI_CTRL_L: clearok(curscr, TRUE); break;
	default: return others_key(t, key);
	}
	return 0;
}

static int wait_ms(void *ctx)
{
	const struct live_tui *t = ctx;
	u64 left = u64_less(t->next_ns, clock_monotonic_ns());
	return (int)min((left + 999999) / 1000000, (u64)3600000);
}

static int tick(void *ctx)
{
	struct live_tui *t = ctx;
	return clock_monotonic_ns() < t->next_ns ? 0 : read_again(t);
}

/* Only numbers have colours: a few of 256 where there are so many. */
static void colours(void)
{
	bool many = COLORS >= 256;
	use_default_colors();
	init_pair(PAIR_LOW, many ? 108 : COLOR_GREEN, -1);
	init_pair(PAIR_WARM, many ? 214 : COLOR_YELLOW, -1);
	init_pair(PAIR_HOT, many ? 203 : COLOR_RED, -1);
}

int tui_live(const struct tui_live_config *c)
{
	struct live_tui t = { .c = c };
	table_init(&t.table);
	strbuf_init(&t.head);
	strbuf_init(&t.message);
	int err = refresh_table(&t, true);
	remember(&t);
	/* Rates need a second reading: it comes soon. */
	t.next_ns = clock_monotonic_ns() + min(c->delay_ms(c->ctx), (u64)FIRST_DELAY_MS) * 1000000;
	if (!err)
		err = tui_screen(&(struct tui_screen){ .ctx = &t,
						       .colour = c->colour,
						       .colours = colours,
						       .draw = draw,
						       .key = do_key,
						       .wait_ms = wait_ms,
						       .tick = tick });
	table_done(&t.table);
	strbuf_done(&t.head);
	strbuf_done(&t.message);
	free(t.widths);
	return err;
}

/* ---- columns ---- */

enum { FIELDS_TOP = 5 };

struct fields_tui {
	const char *window;
	struct tui_field *fields;
	size_t nr, at, top;
	bool moving; /* the field goes with the cursor */
	u32 *sort;
};

static const char *sort_name(const struct fields_tui *f)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->fields[i].id == *f->sort)
			return f->fields[i].name;
	return "none";
}

static int draw_fields(void *ctx)
{
	struct fields_tui *f = ctx;
	size_t rows = LINES > FIELDS_TOP ? (size_t)(LINES - FIELDS_TOP) : 1;
	char line[256];
	f->at = min(f->at, f->nr - 1);
	if (f->at < f->top)
		f->top = f->at;
	if (f->at >= f->top + rows)
		f->top = f->at - rows + 1;
	erase();
	(void)snprintf(line, sizeof(line),
		       "Fields Management for window %s, whose current sort field is %s", f->window,
		       sort_name(f));
	attrset(A_BOLD);
	tui_put(0, 0, COLS, 0, line);
	attrset(A_NORMAL);
	tui_put(1, 3, COLS - 3, 0,
		"Navigate with Up/Dn, Right selects for move then <Enter> or Left commits,");
	tui_put(2, 3, COLS - 3, 0,
		"'d' or <Space> toggles display, 's' sets sort.  Use 'q' or <Esc> to end!");
	for (size_t i = 0; i < rows && f->top + i < f->nr; i++) {
		const struct tui_field *e = &f->fields[f->top + i];
		bool selected = f->top + i == f->at;
		(void)snprintf(line, sizeof(line), "%c %-9s = %s", e->shown ? '*' : ' ', e->name,
			       e->title);
		attrset((selected ? A_REVERSE : 0) | (e->shown ? A_BOLD : 0));
		tui_put(FIELDS_TOP - 1 + (int)i, selected && f->moving ? 2 : 0, COLS, 0, line);
	}
	attrset(A_NORMAL);
	refresh();
	return 0;
}

static int fields_key(void *ctx, int key)
{
	struct fields_tui *f = ctx;
	size_t was = f->at;
	if (tui_move(key, &f->at, f->nr, (size_t)max(LINES - FIELDS_TOP, 1))) {
		f->at = min(f->at, f->nr - 1);
		struct tui_field held = f->fields[was];
		for (; f->moving && was < f->at; was++)
			f->fields[was] = f->fields[was + 1];
		for (; f->moving && was > f->at; was--)
			f->fields[was] = f->fields[was - 1];
		f->fields[f->at] = f->moving ? held : f->fields[f->at];
		return 0;
	}
	switch (key) {
	case 'q':
	case TUI_ESC:
	case TUI_CTRL_C: return 1;
	case ' ':
	case 'd': f->fields[f->at].shown = !f->fields[f->at].shown; break;
	case 's': *f->sort = f->fields[f->at].id; break;
	case KEY_RIGHT: f->moving = true; break;
	case KEY_LEFT:
	case '\n':
	case KEY_ENTER: f->moving = false; break;
	}
	return 0;
}

static void no_colours(void)
{
}

int tui_fields(const char *window, struct tui_field *fields, size_t nr, u32 *sort)
{
	struct fields_tui f = { .window = window, .fields = fields, .nr = nr, .sort = sort };
	return nr ? tui_window(&(struct tui_screen){
			    .ctx = &f, .colours = no_colours, .draw = draw_fields, .key = fields_key })
		  : 0;
}

/* ---- a menu ---- */

struct menu_tui {
	const char *title;
	const char *const *lines;
	size_t nr, at;
	int chosen;
};

static int draw_menu(void *ctx)
{
	struct menu_tui *m = ctx;
	erase();
	tui_bar(0, m->title, A_REVERSE);
	m->at = min(m->at, m->nr - 1);
	for (size_t i = 0; i < m->nr; i++) {
		attrset(i == m->at ? A_REVERSE : A_NORMAL);
		tui_put(2 + (int)i, 2, COLS - 2, 0, m->lines[i]);
	}
	attrset(A_NORMAL);
	tui_bar(LINES - 1, "a letter, or arrows and Enter   q or Esc back", A_DIM);
	refresh();
	return 0;
}

static int menu_key(void *ctx, int key)
{
	struct menu_tui *m = ctx;
	if (tui_move(key, &m->at, m->nr, m->nr))
		return 0;
	if (key == 'q' || key == TUI_ESC || key == TUI_CTRL_C)
		return 1;
	if (key == '\n' || key == KEY_ENTER) {
		m->chosen = (int)m->at;
		return 1;
	}
	for (size_t i = 0; i < m->nr; i++)
		if (*m->lines[i] == key) {
			m->chosen = (int)i;
			return 1;
		}
	return 0;
}

int tui_menu(const char *title, const char *const *lines)
{
	struct menu_tui m = { .title = title, .lines = lines, .chosen = TUI_MENU_NONE };
	while (lines[m.nr])
		m.nr++;
	int err =
		m.nr ? tui_window(&(struct tui_screen){
			       .ctx = &m, .colours = no_colours, .draw = draw_menu, .key = menu_key })
		     : 0;
	return err ? TUI_MENU_NONE : m.chosen;
}
