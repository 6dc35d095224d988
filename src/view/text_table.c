#include "view/text_table.h"
#include "base/par.h"
#include "base/printable.h"
#include "view/text_tree.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

enum { PERCENT_WIDTH = 8, COUNT_WIDTH = 12, TREE_INDENT = 12, LEVEL_INDENT = 3 };

/* Two decimals, half away from zero is left to printf: the peers round the same way. */
static void percent_cell(double v, u32 width, struct strbuf *to)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%.2f%%", v);
	strbuf_fill(to, ' ', (u32)n < width ? width - (u32)n : 0);
	strbuf_add(to, text, (size_t)n);
}

static void count_cell(u64 v, u32 width, struct strbuf *to)
{
	char digits[NUM_DIGITS_MAX];
	u32 n = num_u64(digits, v);
	strbuf_fill(to, ' ', n < width ? width - n : 0);
	strbuf_add(to, digits, n);
}

static void clock_cell(const struct column *c, u64 ns, struct strbuf *to)
{
	u64 seconds = ns / 1000000000;
	char digits[NUM_DIGITS_MAX];
	strbuf_u64(to, seconds / 60);
	strbuf_char(to, ':');
	strbuf_add(to, digits, num_u64_pad0(digits, seconds % 60, 2));
	if (c->digits) {
		strbuf_char(to, '.');
		strbuf_add(to, digits, num_u64_pad0(digits, ns % 1000000000 / 10000000, 2));
	}
}

/* What printf would write; whole numbers, which are most, by hand. */
static void float_cell(const struct column *c, double v, struct strbuf *to)
{
	const double exact = 9007199254740992.0;
	if (isnan(v)) {
		strbuf_char(to, '-');
	} else if (v > -exact && v < exact && v == (double)(s64)v && !(v == 0 && signbit(v))) {
		strbuf_s64(to, (s64)v);
		if (c->digits)
			strbuf_char(to, '.');
		strbuf_fill(to, '0', c->digits);
	} else {
		strbuf_printf(to, "%.*f", c->digits, v);
	}
}

/* A number of KiB in the column's unit, or in the first larger one in which it fits: with a decimal, else without. */
static void memory_cell(const struct column *c, double kib, struct strbuf *to)
{
	static const char letters[] = {
		[MEMORY_MIB] = 'm', [MEMORY_GIB] = 'g', [MEMORY_TIB] = 't', [MEMORY_PIB] = 'p'
	};
	char text[400] = "";
	int len = 0;
	bool fits = false;
	for (unsigned unit = MEMORY_KIB; unit <= MEMORY_PIB && !fits; unit++, kib /= 1024) {
		if (unit < c->memory)
			continue;
		for (int digits = unit > MEMORY_KIB; digits >= 0 && !fits; digits--) {
			len = unit == MEMORY_KIB ? snprintf(text, sizeof(text), "%.0f", kib)
						 : snprintf(text, sizeof(text), "%.*f%c", digits,
							    kib, letters[unit]);
			fits = len <= (int)c->min_width;
		}
	}
	strbuf_add(to, text, (size_t)len);
}

/* Numbers of several events, side by side. */
static void values_cell(const struct column *c, const union cell *v, struct strbuf *to)
{
	for (u32 i = 0; i < c->nr_values; i++) {
		if (c->type == CELL_PERCENT)
			percent_cell(v->fs[i], PERCENT_WIDTH, to);
		else
			count_cell(v->us[i], COUNT_WIDTH, to);
	}
}

void text_cell(const struct column *c, const union cell *v, struct strbuf *to)
{
	if (c->nr_values) {
		values_cell(c, v, to);
		return;
	}
	double kib = c->type == CELL_FLOAT ? v->f : (double)v->u;
	if (c->memory && !isnan(kib)) {
		memory_cell(c, kib, to);
		return;
	}
	switch (c->type) {
	case CELL_STR: printable_name(to, v->str ? v->str : ""); break;
	case CELL_U64:
	case CELL_NUMBER:
	case CELL_NS: strbuf_u64(to, v->u); break;
	case CELL_S64:
		if (c->digits == 1)
			strbuf_s64(to, v->s);
		else
			strbuf_printf(to, "%.*lld", c->digits, (long long)v->s);
		break;
	case CELL_TIME:
		if (c->digits == 9)
			strbuf_printf(to, "%llu.%09llu", (ull)(v->u / 1000000000),
				      (ull)(v->u % 1000000000));
		else
			strbuf_printf(to, "%llu.%06llu", (ull)(v->u / 1000000000),
				      (ull)(v->u % 1000000000 / 1000));
		break;
	case CELL_PERCENT: percent_cell(v->f, 0, to); break;
	case CELL_CLOCK: clock_cell(c, v->u, to); break;
	case CELL_FLOAT: float_cell(c, v->f, to); break;
	case CELL_HEX:
		strbuf_str(to, "0x");
		strbuf_hex(to, v->u);
		break;
	}
}

static bool on_right(const struct column *c)
{
	return c->right || (c->type != CELL_STR && !c->left);
}

/* What is measured; the other columns name what it is measured of. */
static bool is_measure(const struct column *c)
{
	return c->type == CELL_PERCENT || c->type == CELL_U64;
}

static u32 least_width(const struct column *c)
{
	if (c->fixed_width)
		return c->fixed_width;
	u32 name = (u32)strlen(c->name);
	u32 least = c->type == CELL_PERCENT ? PERCENT_WIDTH : c->type == CELL_U64 ? COUNT_WIDTH : 0;
	return max(max(name, least * max(c->nr_values, 1u)), c->min_width);
}

int text_table_widths(const struct table *t, bool screen, u32 *widths)
{
	struct strbuf s;
	strbuf_init(&s);
	s.screen = screen;
	for (size_t col = 0; col < t->columns.nr; col++) {
		const struct column *c = &t->columns.at[col];
		bool fixed = c->type == CELL_PERCENT || c->nr_values || c->fixed_width;
		widths[col] = least_width(c);
		for (size_t row = 0; row < t->nr_rows && !fixed; row++) {
			s.len = 0;
			text_cell(c, &table_cells(t, row)[col], &s);
			widths[col] = max(widths[col], (u32)s.len);
		}
	}
	int err = s.err;
	strbuf_done(&s);
	return err;
}

static void padded(const struct column *c, const char *text, size_t len, u32 width,
		   struct strbuf *to)
{
	size_t pad = len < width ? width - len : 0;
	strbuf_fill(to, ' ', on_right(c) ? pad : 0);
	if (len)
		strbuf_add(to, text, len);
	strbuf_fill(to, ' ', on_right(c) || c->last ? 0 : pad);
}

static void header(const struct table *t, const u32 *widths, struct strbuf *to)
{
	strbuf_str(to, "# ");
	for (size_t i = 0; i < t->columns.nr; i++) {
		struct column c = t->columns.at[i];
		c.last = false;
		strbuf_str(to, i ? "  " : "");
		padded(&c, c.name, min(strlen(c.name), (size_t)widths[i]), widths[i], to);
	}
	strbuf_str(to, "\n# ");
	for (size_t i = 0; i < t->columns.nr; i++) {
		strbuf_str(to, i ? "  " : "");
		strbuf_fill(to, '.', widths[i]);
	}
	strbuf_str(to, "\n#\n");
}

static void add_cell(const struct table *t, size_t row, size_t col, u32 width, struct strbuf *cell,
		     struct strbuf *to)
{
	const struct column *c = &t->columns.at[col];
	cell->len = 0;
	text_cell(c, &table_cells(t, row)[col], cell);
	if (c->fixed_width && c->type == CELL_STR)
		cell->len = min(cell->len, (size_t)c->fixed_width);
	padded(c, cell->data, cell->len, width, to);
}

/* One line, above columns that begin at the edge. */
static void plain_header(const struct table *t, const u32 *widths, struct strbuf *to)
{
	for (size_t i = 0; i < t->columns.nr; i++) {
		struct column c = t->columns.at[i];
		strbuf_str(to, i ? " " : "");
		padded(&c, c.name, strlen(c.name), widths[i], to);
	}
	strbuf_char(to, '\n');
}

static void plain_row(const struct table *t, size_t row, const u32 *widths, struct strbuf *cell,
		      struct strbuf *to)
{
	for (size_t i = 0; i < t->columns.nr; i++) {
		if (i)
			strbuf_char(to, ' ');
		add_cell(t, row, i, widths[i], cell, to);
	}
	strbuf_char(to, '\n');
}

static void aligned_row(const struct table *t, size_t row, const u32 *widths, struct strbuf *cell,
			struct strbuf *to)
{
	for (size_t i = 0; i < t->columns.nr; i++) {
		strbuf_str(to, "  ");
		add_cell(t, row, i, widths[i], cell, to);
	}
	strbuf_char(to, '\n');
}

/* ---- rows within rows ---- */

/* "Command / Shared Object+Symbol", and how wide the names below it get. */
static u32 names_header(const struct table *t, const u32 *widths, struct strbuf *to)
{
	u32 widest = 0, start = (u32)to->len;
	for (u32 level = 0; level < t->nr_levels; level++) {
		u32 width = level * LEVEL_INDENT;
		bool first = true;
		for (size_t i = 0; i < t->columns.nr; i++) {
			const struct column *c = &t->columns.at[i];
			if (is_measure(c) || c->level != level)
				continue;
			strbuf_str(to, !first ? "+" : level ? " / " : "");
			strbuf_str(to, c->name + strspn(c->name, " "));
			width += widths[i] + (first ? 0 : 2);
			first = false;
		}
		widest = max(widest, width);
	}
	return max(widest, (u32)to->len - start);
}

static u32 measures_width(const struct table *t, const u32 *widths)
{
	u32 width = 0;
	for (size_t i = 0; i < t->columns.nr; i++)
		if (is_measure(&t->columns.at[i]))
			width += widths[i] + (width ? 2 : 0);
	return width;
}

static void level_header(const struct table *t, const u32 *widths, struct strbuf *to)
{
	u32 indent = (t->nr_levels - 1) * LEVEL_INDENT;
	strbuf_str(to, "# ");
	strbuf_fill(to, ' ', indent);
	for (size_t i = 0; i < t->columns.nr; i++) {
		if (!is_measure(&t->columns.at[i]))
			continue;
		strbuf_right(to, t->columns.at[i].name, widths[i]);
		strbuf_str(to, "  ");
	}
	u32 names = names_header(t, widths, to);
	strbuf_str(to, "\n# ");
	strbuf_fill(to, '.', indent + measures_width(t, widths));
	strbuf_str(to, "  ");
	strbuf_fill(to, '.', names);
	strbuf_str(to, "\n#\n");
}

static void level_row(const struct table *t, size_t row, const u32 *widths, struct strbuf *cell,
		      struct strbuf *to)
{
	strbuf_fill(to, ' ', t->depths.at[row] * LEVEL_INDENT);
	for (size_t i = 0; i < t->columns.nr; i++) {
		if (!is_measure(&t->columns.at[i]))
			continue;
		strbuf_str(to, "  ");
		add_cell(t, row, i, widths[i], cell, to);
	}
	strbuf_fill(to, ' ', (t->nr_levels - 1) * LEVEL_INDENT);
	for (size_t i = 0; i < t->columns.nr; i++) {
		const struct column *c = &t->columns.at[i];
		if (is_measure(c) || c->level != t->depths.at[row])
			continue;
		strbuf_str(to, "  ");
		/* Names start below each other, also those that stand on the right in a plain table. */
		struct strbuf name;
		strbuf_init(&name);
		add_cell(t, row, i, widths[i], cell, &name);
		strbuf_str(to, strbuf_cstr(&name) + strspn(strbuf_cstr(&name), " "));
		if (name.err)
			to->err = name.err;
		strbuf_done(&name);
	}
	strbuf_char(to, '\n');
}

/* Whether a row has others within it, and none of them is shown. */
static bool all_hidden_below(const struct table *t, size_t row, const struct text_table_style *style)
{
	u32 depth = t->depths.at[row];
	if (depth + 1 == t->nr_levels)
		return false;
	for (size_t i = row + 1; i < t->nr_rows && t->depths.at[i] > depth; i++)
		if (t->depths.at[i] == depth + 1 && table_share(t, i) >= style->min_percent)
			return false;
	return true;
}

static void say_hidden(const struct table *t, size_t row, const u32 *widths,
		       const struct text_table_style *style, struct strbuf *to)
{
	strbuf_fill(to, ' ',
		    (t->nr_levels + t->depths.at[row]) * LEVEL_INDENT + measures_width(t, widths) +
			    4);
	strbuf_printf(to, "no entry >= %.2f%%\n", style->min_percent);
}

/* ---- separated ---- */

/* A separator inside a cell would make two of it. */
static void separated_cell(const struct table *t, size_t row, size_t col, const char *separator,
			   struct strbuf *to)
{
	struct strbuf text;
	const struct column *c = &t->columns.at[col];
	const union cell *v = &table_cells(t, row)[col];
	strbuf_init(&text);
	text.screen = to->screen;
	for (u32 i = 0; i < c->nr_values; i++) {
		strbuf_str(&text, i ? " " : "");
		if (c->type == CELL_PERCENT)
			percent_cell(v->fs[i], 0, &text);
		else
			strbuf_u64(&text, v->us[i]);
	}
	if (!c->nr_values)
		text_cell(c, v, &text);
	for (size_t i = 0; i < text.len; i++)
		strbuf_char(to, text.data[i] == *separator ? '.' : text.data[i]);
	if (text.err)
		to->err = text.err;
	strbuf_done(&text);
}

static bool hidden(const struct table *t, size_t row, const struct text_table_style *style)
{
	return table_share(t, row) < style->min_percent;
}

static int separated(const struct table *t, const struct text_table_style *style, struct strbuf *to)
{
	for (size_t i = 0; style->header && i < t->columns.nr; i++)
		strbuf_printf(to, "%s%s", i ? style->separator : "# ", t->columns.at[i].name);
	if (style->header)
		strbuf_char(to, '\n');
	for (size_t row = 0; row < t->nr_rows; row++) {
		if (hidden(t, row, style))
			continue;
		bool first = true;
		for (size_t i = 0; i < t->columns.nr; i++) {
			const struct column *c = &t->columns.at[i];
			if (t->nr_levels && !is_measure(c) && c->level != t->depths.at[row])
				continue;
			strbuf_str(to, first ? "" : style->separator);
			separated_cell(t, row, i, style->separator, to);
			first = false;
		}
		strbuf_char(to, '\n');
	}
	return to->err;
}

/* ---- all ---- */

/* What a worker needs for itself. */
struct pen {
	struct strbuf cell;
	struct tree tree;
	void *ctx; /* of table.tree_of */
};

/* Rows become texts on several threads; the texts are added in the order of the rows. */
struct rows {
	const struct table *t;
	const struct text_table_style *style;
	struct strbuf *to;
	u32 *widths;
	u32 *shown; /* numbers of the rows that are not hidden */
	u32 nr;
	struct pen *pens;
	unsigned workers;
	struct strbuf *texts; /* [shown], of rows that are ready before their turn */
	bool *ready;
	u32 next; /* whose turn it is */
	pthread_mutex_t lock; /* of texts, ready, next and to */
};

static int row_graph(const struct table *t, size_t row, const struct text_table_style *style,
		     struct pen *pen, struct strbuf *to)
{
	int err = t->tree_of ? t->tree_of(pen->ctx, row, &pen->tree) : 0;
	if (!err && t->tree_of)
		text_tree(&pen->tree, t->total,
			  &(struct text_tree_style){ .indent = TREE_INDENT,
						     .form = style->graph,
						     .value = style->value,
						     .limit = style->graph_limit,
						     .hide_own = style->hide_own },
			  to);
	return err;
}

static int add_row(const struct rows *r, size_t row, struct pen *pen, struct strbuf *to)
{
	const struct table *t = r->t;
	(t->nr_levels	   ? level_row
	 : r->style->plain ? plain_row
			   : aligned_row)(t, row, r->widths, &pen->cell, to);
	if (t->nr_levels && all_hidden_below(t, row, r->style))
		say_hidden(t, row, r->widths, r->style, to);
	int err = row_graph(t, row, r->style, pen, to);
	return err ? err : to->err ? to->err : pen->cell.err;
}

/* Adds this text, and those after it that have waited for it. */
static int take_turn(struct rows *r, u32 index, const struct strbuf *text)
{
	pthread_mutex_lock(&r->lock);
	r->texts[index] = *text;
	r->ready[index] = true;
	for (; r->next < r->nr && r->ready[r->next]; r->next++) {
		struct strbuf *s = &r->texts[r->next];
		strbuf_add(r->to, s->data, s->len);
		strbuf_done(s);
	}
	int err = r->to->err;
	pthread_mutex_unlock(&r->lock);
	return err;
}

static int write_row(void *ctx, unsigned worker, u32 index)
{
	struct rows *r = ctx;
	struct pen *pen = &r->pens[worker];
	if (r->workers == 1)
		return add_row(r, r->shown[index], pen, r->to);
	struct strbuf text;
	strbuf_init(&text);
	text.screen = r->to->screen;
	int err = add_row(r, r->shown[index], pen, &text);
	if (!err)
		return take_turn(r, index, &text);
	strbuf_done(&text);
	return err;
}

static int get_pens(struct rows *r)
{
	const struct table *t = r->t;
	r->pens = calloc(r->workers, sizeof(*r->pens));
	for (unsigned i = 0; r->pens && i < r->workers; i++) {
		struct pen *pen = &r->pens[i];
		strbuf_init(&pen->cell);
		pen->cell.screen = r->to->screen;
		tree_init(&pen->tree);
		pen->ctx = i ? t->ctx_new(t->ctx) : t->ctx;
		if (i && !pen->ctx)
			return -ENOMEM;
	}
	return r->pens ? 0 : -ENOMEM;
}

static int get_rows(struct rows *r)
{
	const struct table *t = r->t;
	r->widths = calloc(t->columns.nr + 1, sizeof(*r->widths));
	r->shown = calloc(t->nr_rows + 1, sizeof(*r->shown));
	if (!r->widths || !r->shown)
		return -ENOMEM;
	for (size_t row = 0; row < t->nr_rows; row++)
		if (!hidden(t, row, r->style))
			r->shown[r->nr++] = (u32)row;
	r->workers = t->tree_of && t->ctx_new ? max(min(t->workers, r->nr), 1u) : 1;
	r->texts = calloc((size_t)r->nr + 1, sizeof(*r->texts));
	r->ready = calloc((size_t)r->nr + 1, sizeof(*r->ready));
	if (!r->texts || !r->ready)
		return -ENOMEM;
	return get_pens(r);
}

static void drop_rows(struct rows *r)
{
	for (unsigned i = 0; r->pens && i < r->workers; i++) {
		struct pen *pen = &r->pens[i];
		if (i && pen->ctx)
			r->t->ctx_free(pen->ctx);
		strbuf_done(&pen->cell);
		tree_done(&pen->tree);
	}
	for (u32 i = r->next; i < r->nr && r->ready; i++)
		if (r->ready[i])
			strbuf_done(&r->texts[i]);
	free(r->pens);
	free(r->widths);
	free(r->shown);
	free(r->texts);
	free(r->ready);
}

int text_table(const struct table *t, const struct text_table_style *style, struct strbuf *to)
{
	if (style->separator)
		return separated(t, style, to);
	struct rows r = { .t = t, .style = style, .to = to, .lock = PTHREAD_MUTEX_INITIALIZER };
	int err = get_rows(&r);
	if (!err)
		err = text_table_widths(t, to->screen, r.widths);
	if (!err && style->header)
		(t->nr_levels	? level_header
		 : style->plain ? plain_header
				: header)(t, r.widths, to);
	if (!err)
		err = par_each(r.workers, r.nr, write_row, &r);
	drop_rows(&r);
	return err;
}
