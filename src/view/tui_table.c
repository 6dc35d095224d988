/*
 * The screen:
 *
 *	title, filters in force                                 reversed
 *	column names
 *	rows and open graphs; the selected line reversed
 *	...
 *	what the keys do, or a message
 *
 * What is seen is browse's; this file draws it and turns keys into calls. Names come from files of strangers: control characters
 * and what is no text are drawn as '?'.
 */
#include "view/tui_table.h"

#include "base/printable.h"
#include "view/browse.h"
#include "view/text_flame.h"
#include "view/text_table.h"
#include "view/tui_screen.h"

#include <curses.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TITLE_LINE = 0, NAMES_LINE = 1, FIRST_LINE = 2, SHIFT = 8, TEXT_MAX = 64 };
enum { NAME_LEAST = 10, LAST_LEAST = 32 }; /* columns */
enum { PAIR_HOT = 1, PAIR_WARM, PAIR_MATCH };

static const char footer[] =
	"? help  Enter open  a annotate  / search  d library  t thread  s order  q quit";

struct table_tui {
	const struct tui_config *c;
	u32 page;
	struct table *table; /* of the page */
	struct strbuf title;
	struct browse *b;
	u32 *widths, *fit; /* of columns: what they need, and what the screen has for them */
	size_t top, at; /* lines */
	int shift; /* columns scrolled to the right */
	char message[128]; /* on the last line until the next key */
};

/* ---- drawing ---- */

static bool numeric(const struct column *c)
{
	return c->type != CELL_STR;
}

/*
 * Names of commands and libraries are cut so that the last column, the function, has some room. Who scrolls sideways sees them whole.
 */
static void fit_widths(struct table_tui *t)
{
	size_t nr = t->table->columns.nr;
	const struct column *c = t->table->columns.at;
	u32 total = 0;
	for (size_t i = 0; i < nr; i++) {
		t->fit[i] = t->widths[i];
		total += 2 + (c[i].last ? min(t->widths[i], (u32)LAST_LEAST) : t->widths[i]);
	}
	while (!t->shift && total > (u32)COLS) {
		size_t widest = nr;
		for (size_t i = 0; i < nr; i++)
			if (!c[i].last && !numeric(&c[i]) && t->fit[i] > NAME_LEAST &&
			    (widest == nr || t->fit[i] > t->fit[widest]))
				widest = i;
		if (widest == nr)
			return;
		t->fit[widest]--;
		total--;
	}
}

static void put_names(const struct table_tui *t)
{
	struct strbuf s;
	strbuf_init(&s);
	for (size_t i = 0; i < t->table->columns.nr; i++) {
		const struct column *c = &t->table->columns.at[i];
		strbuf_str(&s, "  ");
		if (numeric(c))
			strbuf_right(&s, c->name, t->fit[i]);
		else
			text_flame_label(c->name, t->fit[i], &s);
	}
	attrset(A_BOLD);
	tui_put(NAMES_LINE, 0, COLS, t->shift, strbuf_cstr(&s));
	attrset(A_NORMAL);
	strbuf_done(&s);
}

static attr_t heat(const struct table_tui *t, double percent)
{
	if (!t->c->colour)
		return A_NORMAL;
	return percent >= 5	? (attr_t)COLOR_PAIR(PAIR_HOT)
	       : percent >= 0.5 ? (attr_t)COLOR_PAIR(PAIR_WARM)
				: A_NORMAL;
}

/* A share in a line that is drawn: these are coloured, and nothing else. */
struct share {
	size_t at, len; /* bytes of the line */
	double percent;
};
enum { SHARES_MAX = 8 };

struct drawn {
	struct strbuf text;
	struct share shares[SHARES_MAX];
	u32 nr;
};

static void add_share(struct drawn *d, size_t from, double percent)
{
	if (d->nr < SHARES_MAX)
		d->shares[d->nr++] = (struct share){ from, d->text.len - from, percent };
}

static void row_line(const struct table_tui *t, const struct browse_line *l, struct drawn *d)
{
	struct strbuf *s = &d->text;
	strbuf_char(s, l->sign);
	strbuf_char(s, ' ');
	for (size_t i = 0; i < t->table->columns.nr; i++) {
		const struct column *c = &t->table->columns.at[i];
		const union cell *v = &table_cells(t->table, l->row)[i];
		struct strbuf cell;
		strbuf_init(&cell);
		cell.screen = true;
		text_cell(c, v, &cell);
		if (i)
			strbuf_str(s, "  ");
		size_t from = s->len;
		if (numeric(c))
			strbuf_right(s, strbuf_cstr(&cell), t->fit[i]);
		else if (c->last)
			strbuf_str(s, strbuf_cstr(&cell));
		else
			text_flame_label(strbuf_cstr(&cell), t->fit[i], s);
		if (c->type == CELL_PERCENT && !c->nr_values)
			add_share(d, from, v->f);
		strbuf_done(&cell);
	}
}

static void graph_line(const struct browse_line *l, struct drawn *d)
{
	struct strbuf *s = &d->text;
	strbuf_fill(s, ' ', 3 * (size_t)l->depth);
	strbuf_char(s, l->sign);
	strbuf_char(s, ' ');
	size_t from = s->len;
	if (l->has_percent) {
		strbuf_printf(s, "%.2f%%", l->percent);
		add_share(d, from, l->percent);
		strbuf_char(s, ' ');
	}
	(void)printable_add(s, l->label, strlen(l->label), 0);
}

static bool matches(const struct table_tui *t, const char *line)
{
	const char *text = browse_text(t->b);
	return *text && strcasestr(line, text);
}

static void put_shares(const struct table_tui *t, int y, struct drawn *d)
{
	for (u32 i = 0; i < d->nr; i++) {
		const struct share *sh = &d->shares[i];
		char text[64];
		int x = tui_width(strbuf_cstr(&d->text), sh->at) - t->shift;
		size_t len = min(sh->len, sizeof(text) - 1);
		if (heat(t, sh->percent) == A_NORMAL)
			continue;
		memcpy(text, strbuf_cstr(&d->text) + sh->at, len);
		text[len] = '\0';
		attrset(heat(t, sh->percent));
		tui_put(y, max(x, 0), COLS - max(x, 0), max(-x, 0), text);
	}
}

static void put_line(const struct table_tui *t, int y, size_t line)
{
	struct browse_line l = browse_line(t->b, line);
	struct drawn d = { .nr = 0 };
	strbuf_init(&d.text);
	if (l.node == TREE_NONE)
		row_line(t, &l, &d);
	else
		graph_line(&l, &d);
	const char *text = strbuf_cstr(&d.text);
	attr_t attr = matches(t, text) ? A_UNDERLINE : A_NORMAL;
	if (line == t->at) {
		attr = A_REVERSE;
		attrset(attr);
		mvhline(y, 0, ' ', COLS);
	}
	attrset(attr);
	tui_put(y, 0, COLS, t->shift, text);
	if (line != t->at)
		put_shares(t, y, &d);
	attrset(A_NORMAL);
	strbuf_done(&d.text);
}

/* What is filtered stands first: the rest may be cut. */
static void put_title(struct table_tui *t)
{
	struct strbuf s;
	strbuf_init(&s);
	strbuf_str(&s, "only ");
	size_t words = s.len;
	browse_filters(t->b, &s);
	if (s.len == words)
		s.len = 0;
	else
		strbuf_printf(&s, ": %s %.2f%% in all   ", browse_shown_column(t->b),
			      browse_shown_percent(t->b));
	if (browse_sorted(t->b) < t->table->columns.nr)
		strbuf_printf(&s, "by %s   ",
			      t->table->columns.at[browse_sorted(t->b)].name +
				      strspn(t->table->columns.at[browse_sorted(t->b)].name, " "));
	strbuf_str(&s, strbuf_cstr(&t->title));
	tui_bar(TITLE_LINE, strbuf_cstr(&s), A_REVERSE);
	strbuf_done(&s);
}

static size_t page_lines(void)
{
	return LINES > FIRST_LINE + 1 ? (size_t)(LINES - FIRST_LINE - 1) : 1;
}

/* The selected line stays on the screen. */
static void settle(struct table_tui *t)
{
	size_t nr = browse_nr_lines(t->b), rows = page_lines();
	if (t->at >= nr)
		t->at = nr ? nr - 1 : 0;
	if (t->at < t->top)
		t->top = t->at;
	if (t->at >= t->top + rows)
		t->top = t->at - rows + 1;
}

static int draw(void *ctx)
{
	struct table_tui *t = ctx;
	settle(t);
	fit_widths(t);
	erase();
	put_title(t);
	put_names(t);
	size_t nr = browse_nr_lines(t->b);
	for (size_t i = 0; i < page_lines() && t->top + i < nr; i++)
		put_line(t, FIRST_LINE + (int)i, t->top + i);
	if (!nr)
		tui_put(FIRST_LINE, 2, COLS - 2, 0, "no rows");
	const char *last = t->c->footer ? t->c->footer : footer;
	tui_bar(LINES - 1, *t->message ? t->message : last, *t->message ? A_BOLD : A_DIM);
	refresh();
	return 0;
}

/* ---- windows with text ---- */

static const char usual_note[] =
	"\n  Percentages are always shares of the whole recording. With a zoom or a\n"
	"  search, the first line shows the sum over the remaining rows: of Self if\n"
	"  there is that column, because Children counts a sample in several rows.\n";

static void show_help(const struct table_tui *t)
{
	struct strbuf s;
	strbuf_init(&s);
	strbuf_str(&s,
		   "\n"
		   "  Up Down PgUp PgDn Home End   move\n"
		   "  Enter, +                     open or close the line's call graph\n"
		   "  e  c                         expand, collapse it with everything below\n"
		   "  E  C                         the same for all rows\n"
		   "  /                            search: show only matching rows\n"
		   "  n  N                         next, previous matching line\n"
		   "  d                            zoom: only this row's library\n"
		   "  t                            zoom: only this row's command or thread\n"
		   "  s                            sort by Self or by Children\n"
		   "  o                            sort by the next column; none after the last\n"
		   "  Esc, Left                    back: undo the last zoom, then the search\n"
		   "  Tab, Shift-Tab               next, previous event\n"
		   "  <  >                         scroll sideways\n"
		   "  ?, h                         this help\n"
		   "  q                            quit\n");
	for (const struct tui_action *a = t->c->actions; a && a->key; a++)
		strbuf_printf(&s, "  %c                            %s\n", a->key, a->help);
	strbuf_str(&s, t->c->note ? t->c->note : usual_note);
	tui_text("Keys", strbuf_cstr(&s));
	strbuf_done(&s);
}

/* ---- pages ---- */

static void close_page(struct table_tui *t)
{
	browse_free(t->b);
	free(t->widths);
	free(t->fit);
	if (t->table)
		table_done(t->table);
	free(t->table);
	t->table = NULL;
	t->b = NULL;
	t->widths = t->fit = NULL;
}

static int load_page(struct table_tui *t, u32 page)
{
	t->table = calloc(1, sizeof(*t->table));
	if (!t->table)
		return -ENOMEM;
	table_init(t->table);
	strbuf_reset(&t->title);
	t->page = page;
	int err = t->c->open(t->c->ctx, page, t->table, &t->title);
	t->widths = err ? NULL : calloc(t->table->columns.nr + 1, sizeof(*t->widths));
	t->fit = err ? NULL : calloc(t->table->columns.nr + 1, sizeof(*t->fit));
	t->b = err ? NULL : browse_new(t->table, t->c->fractal);
	if (!err && (!t->widths || !t->fit || !t->b))
		err = -ENOMEM;
	return err ? err : text_table_widths(t->table, true, t->widths);
}

static int open_page(struct table_tui *t, u32 page)
{
	t->top = t->at = 0;
	return load_page(t, page);
}

/* The same page with what it is now; what was selected, opened and filtered stays. */
static int reopen_page(struct table_tui *t)
{
	struct table_tui old = *t;
	size_t line = t->at;
	t->b = NULL;
	t->table = NULL;
	t->widths = t->fit = NULL;
	int err = load_page(t, t->page);
	if (!err)
		err = browse_take_over(t->b, old.b, &line);
	if (!err) {
		t->top = line - min(line, old.at - min(old.at, old.top));
		t->at = line;
	}
	close_page(&old);
	return err;
}

static int turn_page(struct table_tui *t, u32 by)
{
	if (t->c->nr_pages < 2)
		return 0;
	close_page(t);
	return open_page(t, (t->page + by) % t->c->nr_pages);
}

/* ---- keys ---- */

static int search(struct table_tui *t)
{
	char text[TEXT_MAX];
	(void)snprintf(text, sizeof(text), "%s", browse_text(t->b));
	if (!tui_ask("search: ", text, sizeof(text)))
		return 0;
	t->at = 0;
	return browse_search(t->b, text);
}

/* After the lines changed: the same row again, if it is still there. */
static void follow(struct table_tui *t, size_t row)
{
	size_t line = browse_find_row(t->b, row);
	if (line < browse_nr_lines(t->b))
		t->at = line;
}

static size_t row_at(const struct table_tui *t)
{
	return browse_nr_lines(t->b) ? browse_line(t->b, t->at).row : 0;
}

static int sort_by(struct table_tui *t, size_t column)
{
	size_t row = row_at(t);
	int err = browse_sort(t->b, column);
	if (!err && t->at)
		follow(t, row);
	return err;
}

static size_t find_column(const struct table_tui *t, const char *key)
{
	size_t i = 0;
	while (i < t->table->columns.nr && strcmp(t->table->columns.at[i].key, key))
		i++;
	return i;
}

static bool find_any_column(const struct table_tui *t, const char *const *keys)
{
	while (*keys && find_column(t, *keys) == t->table->columns.nr)
		keys++;
	return *keys != NULL;
}

/* without: what is said where no column has any of these keys. */
static int zoom(struct table_tui *t, const char *const *keys, const char *without)
{
	const char *const *wanted = keys;
	size_t row = row_at(t);
	for (; *keys; keys++) {
		int ret = browse_zoom(t->b, *keys, t->at);
		if (ret > 0)
			follow(t, row);
		if (ret)
			return ret;
	}
	(void)snprintf(t->message, sizeof(t->message), "%s",
		       find_any_column(t, wanted) ? "nothing to zoom into here" : without);
	return 0;
}

/* Rows come ordered by Children, where there is that column. */
static int toggle_self(struct table_tui *t)
{
	size_t self = find_column(t, "self"), nr = t->table->columns.nr;
	if (self == nr || find_column(t, "children") == nr) {
		(void)snprintf(t->message, sizeof(t->message),
			       "there is no Children column: rows keep their order");
		return 0;
	}
	return sort_by(t, browse_sorted(t->b) == self ? nr : self);
}

static int all_rows(struct table_tui *t, bool open)
{
	size_t row = row_at(t);
	int ret = browse_open_all(t->b, open);
	if (ret >= 0)
		follow(t, row);
	if (ret == 1)
		(void)snprintf(t->message, sizeof(t->message),
			       "too many rows: only the first ones were opened");
	return ret;
}

static void back(struct table_tui *t)
{
	size_t row = row_at(t);
	if (browse_back(t->b))
		follow(t, row);
	else
		(void)snprintf(t->message, sizeof(t->message), "nothing to go back to: q quits");
}

static int act(struct table_tui *t, int key)
{
	for (const struct tui_action *a = t->c->actions; a && a->key; a++) {
		if (a->key != key || (!browse_nr_lines(t->b) && !a->no_row))
			continue;
		struct strbuf s, title;
		strbuf_init(&s);
		strbuf_init(&title);
		int err = a->run(t->c->ctx, t->page, row_at(t), &title, &s);
		if (err < 0)
			(void)snprintf(t->message, sizeof(t->message), "%s%s%s",
				       s.len ? "" : a->help, s.len ? "" : ": ",
				       s.len ? strbuf_cstr(&s) : strerror(-err));
		else if (!err)
			tui_text(strbuf_cstr(&title), strbuf_cstr(&s));
		else if (err == 3)
			(void)snprintf(t->message, sizeof(t->message), "%s", strbuf_cstr(&s));
		strbuf_done(&s);
		strbuf_done(&title);
		return err == 3 ? reopen_page(t) : err == 1;
	}
	(void)snprintf(t->message, sizeof(t->message), "unknown key: ? for help");
	return 0;
}

/* 1 to quit, 0, or negative errno. */
static int do_key(void *ctx, int k)
{
	struct table_tui *t = ctx;
	static const char *const threads[] = { "comm", "pid", "tid", NULL };
	static const char *const libraries[] = { "dso", NULL };
	size_t rows = page_lines(), nr = browse_nr_lines(t->b);
	int err = 0;
	t->message[0] = '\0';
	k = k == 'k' ? KEY_UP : k == 'j' ? KEY_DOWN : k == ' ' ? KEY_NPAGE : k;
	if (tui_move(k, &t->at, nr, rows))
		return 0;
	switch (k) {
	case 'q':
	case TUI_CTRL_C: return 1;
	case '\n':
	case KEY_ENTER:
	case '+': err = browse_toggle(t->b, t->at); break;
	case 'e': err = browse_open(t->b, t->at, true); break;
	case 'c': err = browse_open(t->b, t->at, false); break;
	case 'E': err = all_rows(t, true); break;
	case 'C': err = all_rows(t, false); break;
	case '/': err = search(t); break;
	case 'n':
	case 'N': t->at = browse_next_match(t->b, t->at, k == 'N'); break;
	case 'd': err = zoom(t, libraries, "no column names a library: sort by dso, too"); break;
	case 't': err = zoom(t, threads, "no column names a command: sort by comm, too"); break;
	case 's': err = toggle_self(t); break;
	case 'o': err = sort_by(t, (browse_sorted(t->b) + 1) % (t->table->columns.nr + 1)); break;
	case TUI_ESC:
	case KEY_LEFT: back(t); break;
	case '\t': err = turn_page(t, 1); break;
	case KEY_BTAB: err = turn_page(t, t->c->nr_pages - 1); break;
	case '>': t->shift += SHIFT; break;
	case '<': t->shift -= min(t->shift, (int)SHIFT); break;
	case '?':
	case 'h':
	case KEY_F(1): show_help(t); break;
	case KEY_RESIZE: break;
	default: return act(t, k);
	}
	return min(err, 0);
}

static void colours(void)
{
	use_default_colors();
	init_pair(PAIR_HOT, COLOR_RED, -1);
	init_pair(PAIR_WARM, COLOR_GREEN, -1);
}

static int wait_ms(void *ctx)
{
	const struct table_tui *t = ctx;
	return t->c->wait_ms(t->c->ctx);
}

static int tick(void *ctx)
{
	struct table_tui *t = ctx;
	int ret = t->c->tick(t->c->ctx);
	return ret > 0 ? reopen_page(t) : ret;
}

int tui_tables(const struct tui_config *c)
{
	struct table_tui t = { .c = c };
	strbuf_init(&t.title);
	int err = open_page(&t, c->first_page);
	if (!err)
		err = tui_screen(&(struct tui_screen){ .ctx = &t,
						       .colour = c->colour,
						       .colours = colours,
						       .draw = draw,
						       .key = do_key,
						       .wait_ms = c->tick ? wait_ms : NULL,
						       .tick = c->tick ? tick : NULL });
	close_page(&t);
	strbuf_done(&t.title);
	return err;
}
