#include "view/text_table.h"
#include "view/text_tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PERCENT_WIDTH = 8, COUNT_WIDTH = 12, TREE_INDENT = 12 };

/* Two decimals, half away from zero is left to printf: the peers round the same way. */
static void percent_cell(double v, struct strbuf *to)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%.2f%%", v);
	strbuf_add(to, text, (size_t)n);
}

void text_cell(const struct column *c, const union cell *v, struct strbuf *to)
{
	switch (c->type) {
	case CELL_STR: strbuf_str(to, v->str ? v->str : ""); break;
	case CELL_U64:
	case CELL_NS: strbuf_u64(to, v->u); break;
	case CELL_S64: strbuf_s64(to, v->s); break;
	case CELL_PERCENT: percent_cell(v->f, to); break;
	case CELL_HEX:
		strbuf_str(to, "0x");
		strbuf_hex(to, v->u);
		break;
	}
}

static bool numeric(const struct column *c)
{
	return c->type != CELL_STR;
}

static u32 least_width(const struct column *c)
{
	u32 name = (u32)strlen(c->name);
	u32 least = c->type == CELL_PERCENT ? PERCENT_WIDTH : c->type == CELL_U64 ? COUNT_WIDTH : 0;
	return max(max(name, least), c->min_width);
}

int text_table_widths(const struct table *t, u32 *widths)
{
	struct strbuf s;
	strbuf_init(&s);
	for (size_t col = 0; col < t->columns.nr; col++) {
		const struct column *c = &t->columns.at[col];
		widths[col] = least_width(c);
		for (size_t row = 0; row < t->nr_rows && c->type != CELL_PERCENT; row++) {
			s.len = 0;
			text_cell(c, &table_cells(t, row)[col], &s);
			widths[col] = max(widths[col], (u32)s.len);
		}
	}
	int err = s.err;
	strbuf_done(&s);
	return err;
}

static void header(const struct table *t, const u32 *widths, struct strbuf *to)
{
	strbuf_str(to, "# ");
	for (size_t i = 0; i < t->columns.nr; i++) {
		const struct column *c = &t->columns.at[i];
		if (i)
			strbuf_str(to, "  ");
		if (numeric(c))
			strbuf_right(to, c->name, widths[i]);
		else
			strbuf_left(to, c->name, widths[i]);
	}
	strbuf_str(to, "\n# ");
	for (size_t i = 0; i < t->columns.nr; i++) {
		if (i)
			strbuf_str(to, "  ");
		strbuf_fill(to, '.', widths[i]);
	}
	strbuf_str(to, "\n#\n");
}

static void aligned_row(const struct table *t, size_t row, const u32 *widths, struct strbuf *cell,
			struct strbuf *to)
{
	strbuf_str(to, "  ");
	for (size_t i = 0; i < t->columns.nr; i++) {
		const struct column *c = &t->columns.at[i];
		cell->len = 0;
		text_cell(c, &table_cells(t, row)[i], cell);
		size_t pad = cell->len < widths[i] ? widths[i] - cell->len : 0;
		if (i)
			strbuf_str(to, "  ");
		if (numeric(c))
			strbuf_fill(to, ' ', pad);
		if (cell->len)
			strbuf_add(to, cell->data, cell->len);
		if (!numeric(c) && !c->last)
			strbuf_fill(to, ' ', pad);
	}
	strbuf_char(to, '\n');
}

static int separated(const struct table *t, const struct text_table_style *style, struct strbuf *to)
{
	for (size_t i = 0; style->header && i < t->columns.nr; i++)
		strbuf_printf(to, "%s%s", i ? style->separator : "# ", t->columns.at[i].name);
	if (style->header)
		strbuf_char(to, '\n');
	for (size_t row = 0; row < t->nr_rows; row++) {
		for (size_t i = 0; i < t->columns.nr; i++) {
			if (i)
				strbuf_str(to, style->separator);
			text_cell(&t->columns.at[i], &table_cells(t, row)[i], to);
		}
		strbuf_char(to, '\n');
	}
	return to->err;
}

static bool hidden(const struct table *t, size_t row, const struct text_table_style *style)
{
	return t->columns.at[0].type == CELL_PERCENT &&
	       table_cells(t, row)[0].f < style->min_percent;
}

int text_table(const struct table *t, const struct text_table_style *style, struct strbuf *to)
{
	if (style->separator)
		return separated(t, style, to);
	u32 *widths = calloc(t->columns.nr + 1, sizeof(*widths));
	struct strbuf cell;
	struct tree tree;
	strbuf_init(&cell);
	tree_init(&tree);
	int err = widths ? text_table_widths(t, widths) : -ENOMEM;
	if (!err && style->header)
		header(t, widths, to);
	for (size_t row = 0; row < t->nr_rows && !err; row++) {
		if (hidden(t, row, style))
			continue;
		aligned_row(t, row, widths, &cell, to);
		if (t->tree_of) {
			err = t->tree_of(t->ctx, row, &tree);
			if (err)
				break;
			text_tree(&tree, t->total,
				  &(struct text_tree_style){ .indent = TREE_INDENT,
							     .fractal = style->fractal,
							     .hide_own = style->hide_own },
				  to);
		}
		err = to->err ? to->err : cell.err;
	}
	free(widths);
	strbuf_done(&cell);
	tree_done(&tree);
	return err;
}
