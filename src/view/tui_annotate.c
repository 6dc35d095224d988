/*
 * The screen:
 *
 *	function, file, event, samples                           reversed
 *	Percent
 *	  8.33 |    │  41:   mov    %eax,%edx                    the lane: where the selected jump goes
 *	       |    │          s += i * i;                       source, dim
 *	 75.00 |    └→ 48:   add    $0x1,%eax                    the selected line reversed
 *	what the keys do, or a message
 *
 * Rows are made again when the function or the wish for source changes.
 */
#include "view/tui_annotate.h"

#include "base/arena.h"
#include "base/printable.h"
#include "base/vec.h"
#include "base/str.h"
#include "view/tui_screen.h"

#include <curses.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_LINE = 2, SHIFT = 8, SOURCE_GAP = 8, TAB = 8, QUERY_MAX = 64, TRIES_MAX = 1000 };
enum { PAIR_HOT = 1, PAIR_WARM, PAIR_ARROW };
enum { NO_INSN = UINT32_MAX };

static const char footer[] =
	"? help  Enter follow  H hottest  Tab next function  s source  / search  q back";

static const char help[] =
	"\n"
	"  Up Down PgUp PgDn Home End   move\n"
	"  H                            go to the hottest instruction\n"
	"  h                            go to the next hottest\n"
	"  Enter, Right                 follow the jump or call\n"
	"  Esc, Left, Backspace         go back; from the first function, leave\n"
	"  Tab, Shift-Tab               next, previous function, heaviest first\n"
	"  e                            next event\n"
	"  s                            show or hide source lines\n"
	"  /  n  N                      search, next, previous\n"
	"  <  >                         scroll sideways\n"
	"  ?                            this help\n"
	"  q                            leave\n"
	"\n"
	"  The arrow at the left shows the selected jump, or a jump to the selected\n"
	"  instruction. Percentages are shares of the function's own samples.\n";

/* A line of the screen. */
struct tui_annotate_row {
	u32 insn; /* NO_INSN: source */
	const char *text; /* of source */
};

struct tui_annotate_place {
	u32 page, func;
	u32 insn; /* that was selected */
};

struct tui {
	const struct tui_annotate *c;
	const struct annotation *a;
	struct arena arena; /* source text */
	VEC(struct tui_annotate_row) rows;
	VEC(struct tui_annotate_place) past;
	u32 page, func;
	size_t top, at;
	int shift;
	bool source;
	u32 nr_hot; /* how many of the hottest were visited by 'h' */
	char query[QUERY_MAX];
	char message[256];
};

/* ---- rows ---- */

static const char *keep_text(struct tui *t, const char *text, size_t len)
{
	struct strbuf s;
	strbuf_init(&s);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\t')
			strbuf_fill(&s, ' ', TAB - s.len % TAB);
		else
			strbuf_char(&s, text[i]);
	}
	const char *kept = arena_strdup(&t->arena, strbuf_cstr(&s));
	strbuf_done(&s);
	return kept;
}

static int add_row(struct tui *t, struct tui_annotate_row row)
{
	struct tui_annotate_row *to = vec_push(&t->rows);
	if (!to || (row.insn == NO_INSN && !row.text))
		return -ENOMEM;
	*to = row;
	return 0;
}

/* What an instruction comes from, where it is another line than before; and few lines that were passed over. */
static int add_source(struct tui *t, const struct annotation_insn *in,
		      const struct annotation_insn *before)
{
	const struct text_annotate_opts *o = t->c->style;
	if (!t->source || !o->source_line || !in->file || !in->line)
		return 0;
	bool same = before && before->file && !strcmp(before->file, in->file);
	if (same && before->line == in->line)
		return 0;
	u32 from = same && in->line > before->line && in->line - before->line <= SOURCE_GAP
			   ? before->line + 1
			   : in->line;
	for (u32 n = from; n <= in->line; n++) {
		u32 len;
		const char *text = o->source_line(o->ctx, in->file, n, &len);
		int err = text ? add_row(t, (struct tui_annotate_row){ NO_INSN,
								       keep_text(t, text, len) })
			       : 0;
		if (err)
			return err;
	}
	return 0;
}

static int make_rows(struct tui *t)
{
	const struct annotation_insn *before = NULL;
	int err = 0;
	t->rows.nr = 0;
	for (u32 i = 0; i < t->a->nr_insns && !err; i++) {
		const struct annotation_insn *in = &t->a->insns[i];
		err = add_source(t, in, before);
		if (!err)
			err = add_row(t, (struct tui_annotate_row){ .insn = i });
		if (in->file && in->line)
			before = in;
	}
	return err;
}

static u32 insn_at(const struct tui *t)
{
	return t->at < t->rows.nr ? t->rows.at[t->at].insn : NO_INSN;
}

static size_t row_of(const struct tui *t, u32 insn)
{
	for (size_t i = 0; i < t->rows.nr; i++)
		if (t->rows.at[i].insn == insn)
			return i;
	return 0;
}

static size_t page_rows(void)
{
	return LINES > FIRST_LINE + 1 ? (size_t)(LINES - FIRST_LINE - 1) : 1;
}

/* Selected and in the middle of the screen. */
static void go_to(struct tui *t, u32 insn)
{
	t->at = row_of(t, insn);
	t->top = t->at - min(t->at, page_rows() / 2);
}

/* By the first event; which: 0 is the hottest, then the next. */
static u32 hottest(const struct tui *t, u32 which)
{
	u32 best = 0;
	u64 below = UINT64_MAX;
	u32 after = 0;
	for (u32 k = 0; k <= which; k++) {
		bool any = false;
		u64 most = 0;
		for (u32 i = 0; i < t->a->nr_insns; i++) {
			u64 w = annotation_weights(t->a, i)->period;
			/* What comes after the one before: less, or as much and further down. */
			if (!w || w > below || (w == below && i <= after) || (any && w <= most))
				continue;
			any = true;
			most = w;
			best = i;
		}
		if (!any)
			return k ? NO_INSN : 0;
		below = most;
		after = best;
	}
	return best;
}

static int show_func(struct tui *t, u32 page, u32 func, struct strbuf *why)
{
	const struct annotation *a;
	int err = t->c->open(t->c->ctx, page, func, &a, why);
	if (err)
		return err;
	t->a = a;
	t->page = page;
	t->func = func;
	t->shift = 0;
	t->nr_hot = 0;
	return make_rows(t);
}

/* ---- drawing ---- */

static attr_t heat(const struct tui *t, double percent)
{
	if (!t->c->colour)
		return A_NORMAL;
	return percent >= 5	? (attr_t)COLOR_PAIR(PAIR_HOT)
	       : percent >= 0.5 ? (attr_t)COLOR_PAIR(PAIR_WARM)
				: A_NORMAL;
}

/* The jump whose arrow is drawn: the selected one, or the first that goes to the selected instruction. */
static bool shown_jump(const struct tui *t, u32 *from, u32 *to)
{
	u32 at = insn_at(t);
	if (at == NO_INSN)
		return false;
	*from = at;
	if (t->a->insns[at].jump) {
		*to = t->a->insns[at].jump - 1;
		return true;
	}
	*to = at;
	for (u32 i = 0; i < t->a->nr_insns; i++)
		if (t->a->insns[i].jump == at + 1) {
			*from = i;
			return true;
		}
	return false;
}

/* Two columns: the line of the arrow, and its end. */
static const char *lane(const struct tui *t, size_t row)
{
	static const char *const utf8[] = { "  ", "│ ", "┌─", "└─", "┌→", "└→", "─→" },
				 *const ascii[] = { "  ", "| ", "+-", "+-", "+>", "+>", "->" };
	const char *const *forms = t->c->style->ascii ? ascii : utf8;
	u32 from, to;
	if (!shown_jump(t, &from, &to))
		return forms[0];
	size_t a = row_of(t, from), b = row_of(t, to);
	if (row < min(a, b) || row > max(a, b))
		return forms[0];
	if (row != a && row != b)
		return forms[1];
	if (a == b)
		return forms[6];
	return forms[2 + (row == max(a, b)) + 2 * (row == b)];
}

static bool is_target(const struct tui *t, u32 insn)
{
	for (u32 i = 0; i < t->a->nr_insns; i++)
		if (t->a->insns[i].jump == insn + 1)
			return true;
	return false;
}

static void insn_text(const struct tui *t, u32 insn, struct strbuf *to)
{
	const struct annotation_insn *in = &t->a->insns[insn];
	char label[24] = "";
	if (!insn || is_target(t, insn))
		(void)snprintf(label, sizeof(label),
			       "%llx:", (unsigned long long)(in->addr - t->a->start));
	strbuf_printf(to, "%7s  ", label);
	(void)printable_add(to, in->text, in->jump ? in->target_at : strlen(in->text), 0);
	if (in->jump)
		strbuf_printf(to, "%llx",
			      (unsigned long long)(t->a->insns[in->jump - 1].addr - t->a->start));
}

static int put_shares(const struct tui *t, int y, u32 insn, bool plain)
{
	int x = 0;
	for (u32 e = 0; e < t->a->nr_events; e++, x += 8) {
		const struct annotation_weight *w =
			insn == NO_INSN ? NULL : &annotation_weights(t->a, insn)[e];
		char text[32];
		if (!w || !w->count)
			continue;
		double p = text_annotate_percent(t->c->style, &t->a->events[e], w);
		(void)snprintf(text, sizeof(text), "%7.2f", p);
		if (!plain)
			attrset(heat(t, p));
		tui_put(y, x, COLS - x, 0, text);
		if (!plain)
			attrset(A_NORMAL);
	}
	return x;
}

static void put_row(const struct tui *t, int y, size_t row)
{
	const struct tui_annotate_row *r = &t->rows.at[row];
	bool selected = row == t->at;
	struct strbuf s;
	strbuf_init(&s);
	if (r->insn == NO_INSN)
		(void)printable_add(&s, r->text, strlen(r->text), 0);
	else
		insn_text(t, r->insn, &s);
	attrset(selected ? A_REVERSE : A_NORMAL);
	if (selected)
		mvhline(y, 0, ' ', COLS);
	int x = put_shares(t, y, r->insn, selected);
	tui_put(y, x, COLS - x, 0, " |");
	if (!selected && t->c->colour)
		attrset(COLOR_PAIR(PAIR_ARROW));
	tui_put(y, x + 3, COLS - x - 3, 0, lane(t, row));
	if (!selected)
		attrset(r->insn == NO_INSN ? A_DIM : A_NORMAL);
	if (*t->query && strcasestr(strbuf_cstr(&s), t->query))
		attron(A_UNDERLINE);
	x += 6 + (r->insn == NO_INSN ? 9 : 0);
	tui_put(y, x, COLS - x, t->shift, strbuf_cstr(&s));
	attrset(A_NORMAL);
	strbuf_done(&s);
}

static void put_title(const struct tui *t)
{
	const struct annotation *a = t->a;
	struct strbuf s;
	strbuf_init(&s);
	strbuf_printf(&s, "%s  %s  ", a->symbol, a->image);
	for (u32 e = 0; e < a->nr_events; e++)
		strbuf_printf(&s, "%s%s: %llu %s, %.2f%%", e ? ", " : "", a->events[e].name,
			      (unsigned long long)a->events[e].here.count,
			      str_plural(a->events[e].here.count, "sample", "samples"),
			      a->events[e].all.period ? 100.0 * (double)a->events[e].here.period /
								(double)a->events[e].all.period
						      : 0);
	strbuf_printf(&s, " of the recording  (%u of %u)", t->func + 1,
		      t->c->nr_funcs(t->c->ctx, t->page));
	tui_bar(0, strbuf_cstr(&s), A_REVERSE);
	strbuf_done(&s);
	attrset(A_BOLD);
	tui_put(1, 0, COLS, 0, "Percent");
	attrset(A_NORMAL);
}

static int draw(void *ctx)
{
	struct tui *t = ctx;
	size_t rows = page_rows();
	t->at = min(t->at, t->rows.nr ? t->rows.nr - 1 : 0);
	if (t->at < t->top)
		t->top = t->at;
	if (t->at >= t->top + rows)
		t->top = t->at - rows + 1;
	if (t->rows.nr <= rows)
		t->top = 0;
	erase();
	put_title(t);
	for (size_t i = 0; i < rows && t->top + i < t->rows.nr; i++)
		put_row(t, FIRST_LINE + (int)i, t->top + i);
	tui_bar(LINES - 1, *t->message ? t->message : footer, *t->message ? A_BOLD : A_DIM);
	refresh();
	t->message[0] = '\0';
	return 0;
}

/* ---- keys ---- */

/* Another function, or why not. */
static int change(struct tui *t, u32 page, u32 func, u32 insn)
{
	struct strbuf why;
	u32 page_before = t->page, func_before = t->func;
	strbuf_init(&why);
	int err = show_func(t, page, func, &why);
	if (err && err != -ENOMEM) {
		(void)snprintf(t->message, sizeof(t->message), "%s", strbuf_cstr(&why));
		err = show_func(t, page_before, func_before, &why);
		strbuf_done(&why);
		return err ? err : 1;
	}
	strbuf_done(&why);
	if (!err)
		go_to(t, insn == NO_INSN ? hottest(t, 0) : insn);
	return err;
}

static int follow_call(struct tui *t, u32 insn)
{
	struct strbuf why;
	strbuf_init(&why);
	s64 func = t->c->called(t->c->ctx, t->page, &t->a->insns[insn], &why);
	if (func < 0)
		(void)snprintf(t->message, sizeof(t->message), "%s", strbuf_cstr(&why));
	strbuf_done(&why);
	if (func < 0)
		return 0;
	struct tui_annotate_place *p = vec_push(&t->past);
	if (!p)
		return -ENOMEM;
	*p = (struct tui_annotate_place){ t->page, t->func, insn };
	int err = change(t, t->page, (u32)func, NO_INSN);
	if (err == 1)
		t->past.nr--;
	return min(err, 0);
}

static int follow(struct tui *t)
{
	u32 insn = insn_at(t);
	if (insn == NO_INSN)
		return 0;
	const struct annotation_insn *in = &t->a->insns[insn];
	if (in->jump) {
		struct tui_annotate_place *p = vec_push(&t->past);
		if (!p)
			return -ENOMEM;
		*p = (struct tui_annotate_place){ t->page, t->func, insn };
		go_to(t, in->jump - 1);
		return 0;
	}
	if (in->kind == ANNOTATION_CALL || in->kind == ANNOTATION_JUMP)
		return follow_call(t, insn);
	(void)snprintf(t->message, sizeof(t->message),
		       "this instruction is neither a jump nor a call");
	return 0;
}

/* 1: there is nothing to go back to. */
static int back(struct tui *t)
{
	if (!t->past.nr)
		return 1;
	struct tui_annotate_place p = t->past.at[--t->past.nr];
	if (p.page == t->page && p.func == t->func) {
		go_to(t, p.insn);
		return 0;
	}
	return min(change(t, p.page, p.func, p.insn), 0);
}

/* The next that has code. */
static int next_func(struct tui *t, bool backwards)
{
	u32 nr = t->c->nr_funcs(t->c->ctx, t->page), from = t->func;
	struct strbuf why;
	int err = -ENOENT;
	strbuf_init(&why);
	for (u32 k = 1; k <= min(nr, (u32)TRIES_MAX) && err && err != -ENOMEM; k++)
		err = show_func(t, t->page, (from + (backwards ? nr - k : k)) % nr, &why);
	if (!err)
		go_to(t, hottest(t, 0));
	strbuf_done(&why);
	return err;
}

static int toggle_source(struct tui *t)
{
	u32 insn = insn_at(t);
	for (size_t i = t->at; insn == NO_INSN && i < t->rows.nr; i++)
		insn = t->rows.at[i].insn;
	t->source = !t->source;
	int err = make_rows(t);
	if (!err)
		go_to(t, insn == NO_INSN ? 0 : insn);
	if (!err && t->source && t->rows.nr == t->a->nr_insns)
		(void)snprintf(t->message, sizeof(t->message), "no source for this function");
	return err;
}

static void next_hot(struct tui *t)
{
	u32 insn = hottest(t, ++t->nr_hot);
	if (insn == NO_INSN)
		insn = hottest(t, t->nr_hot = 0);
	go_to(t, insn);
}

static bool row_matches(const struct tui *t, size_t row)
{
	const struct tui_annotate_row *r = &t->rows.at[row];
	const char *text = r->insn == NO_INSN ? r->text : t->a->insns[r->insn].text;
	return *t->query && strcasestr(text, t->query);
}

static void find_next(struct tui *t, bool backwards)
{
	size_t nr = t->rows.nr;
	for (size_t k = 1; k <= nr; k++) {
		size_t at = (t->at + (backwards ? nr - k : k)) % nr;
		if (!row_matches(t, at))
			continue;
		t->at = at;
		return;
	}
	(void)snprintf(t->message, sizeof(t->message), "'%s' not found in this function", t->query);
}

/* 1 to leave, 0, or negative errno. */
static int do_key(void *ctx, int k)
{
	struct tui *t = ctx;
	size_t rows = page_rows();
	switch (k) {
	case 'q':
	case TUI_CTRL_C: return 1;
	case KEY_UP:
	case 'k': t->at -= t->at > 0; break;
	case KEY_DOWN:
	case 'j': t->at++; break;
	case KEY_PPAGE: t->at -= min(t->at, rows); break;
	case ' ':
	case KEY_NPAGE: t->at += rows; break;
	case KEY_HOME: t->at = 0; break;
	case KEY_END: t->at = t->rows.nr; break;
	case '\n':
	case KEY_RIGHT:
	case KEY_ENTER: return follow(t);
	case TUI_ESC:
	case TUI_DEL:
	case KEY_BACKSPACE:
	case KEY_LEFT: return back(t);
	case '\t': return next_func(t, false);
	case KEY_BTAB: return next_func(t, true);
	case 'e': return min(change(t, (t->page + 1) % t->c->nr_pages, 0, NO_INSN), 0);
	case 'H': go_to(t, hottest(t, t->nr_hot = 0)); break;
	case 'h': next_hot(t); break;
	case 's': return toggle_source(t);
	case '/':
		t->query[0] = '\0';
		if (tui_ask("search: ", t->query, sizeof(t->query)) && *t->query)
			find_next(t, false);
		break;
	case 'n':
	case 'N': find_next(t, k == 'N'); break;
	case '>': t->shift += SHIFT; break;
	case '<': t->shift -= min(t->shift, (int)SHIFT); break;
	case '?':
	case KEY_F(1): tui_text("Keys", help); break;
	case KEY_RESIZE: break;
	default: (void)snprintf(t->message, sizeof(t->message), "unknown key: ? for help");
	}
	return 0;
}

static void colours(void)
{
	use_default_colors();
	init_pair(PAIR_HOT, COLOR_RED, -1);
	init_pair(PAIR_WARM, COLOR_GREEN, -1);
	init_pair(PAIR_ARROW, COLOR_CYAN, -1);
}

static int wait_ms(void *ctx)
{
	const struct tui *t = ctx;
	return t->c->wait_ms(t->c->ctx);
}

/* The same lines with other weights: what is selected stays. */
static int tick(void *ctx)
{
	struct tui *t = ctx;
	struct strbuf why;
	size_t at = t->at, top = t->top;
	int shift = t->shift, ret = t->c->tick(t->c->ctx);
	if (ret <= 0)
		return ret;
	strbuf_init(&why);
	ret = show_func(t, t->page, t->func, &why);
	strbuf_done(&why);
	t->at = at;
	t->top = top;
	t->shift = shift;
	return ret;
}

static int run(const struct tui_annotate *c, int (*screen)(const struct tui_screen *),
	       struct strbuf *why)
{
	struct tui t = { .c = c, .source = true };
	arena_init(&t.arena);
	int err = show_func(&t, c->page, c->func, why);
	t.at = err ? 0 : row_of(&t, hottest(&t, 0));
	t.top = t.at - min(t.at, (size_t)8);
	if (!err)
		err = screen(&(struct tui_screen){ .ctx = &t,
						   .colour = c->colour,
						   .colours = colours,
						   .draw = draw,
						   .key = do_key,
						   .wait_ms = c->tick ? wait_ms : NULL,
						   .tick = c->tick ? tick : NULL });
	vec_free(&t.rows);
	vec_free(&t.past);
	arena_done(&t.arena);
	return err;
}

int tui_annotate(const struct tui_annotate *c, struct strbuf *why)
{
	return run(c, tui_screen, why);
}

int tui_annotate_window(const struct tui_annotate *c, struct strbuf *why)
{
	return run(c, tui_window, why);
}
