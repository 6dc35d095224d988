#include "view/text_flame.h"
#include "base/printable.h"
#include "base/str.h"
#include "base/term.h"

#include <errno.h>
#include <string.h>

static int put_cell(struct text_flame_cells *to, u32 box, u32 row, double x, double end)
{
	u32 first = (u32)(x + 0.5), last = (u32)(end + 0.5);
	if (last <= first)
		return 0;
	struct text_flame_cell *c = vec_push(&to->list);
	if (!c)
		return -ENOMEM;
	*c = (struct text_flame_cell){ .box = box, .row = row, .x = first, .w = last - first };
	return 1;
}

/* Outermost first. */
static int put_outer(const struct flame_boxes *b, u32 box, u32 width, struct text_flame_cells *to)
{
	int err = 0;
	if (b->list.at[box].parent != box)
		err = put_outer(b, b->list.at[box].parent, width, to);
	return err < 0 ? err : put_cell(to, box, b->list.at[box].depth, 0, width);
}

int text_flame_lay(const struct flame_boxes *b, u32 zoom, u32 width, struct text_flame_cells *ret)
{
	const struct flame_box *boxes = b->list.at;
	double scale = (double)width / (double)max(boxes[zoom].total, (u64)1);
	u32 span = boxes[zoom].end - zoom;
	ret->list.nr = 0;
	double *next = calloc((size_t)span + 1,
			      sizeof(*next)); /* [box - zoom]: where its next child begins */
	int err = next ? put_outer(b, zoom, width, ret) : -ENOMEM;
	for (u32 i = zoom + 1; i < zoom + span && err >= 0;) {
		double *from = &next[boxes[i].parent - zoom], x = *from;
		*from = next[i - zoom] = x;
		/* Weights that no sum can hold are more together than the whole. */
		*from = min(x + (double)boxes[i].total * scale, (double)width);
		err = put_cell(ret, i, boxes[i].depth, x, *from);
		i = err > 0 ? i + 1 : boxes[i].end;
	}
	free(next);
	return min(err, 0);
}

static const struct text_flame_cell *cell_of(const struct text_flame_cells *cells, u32 box)
{
	vec_for_each (&cells->list, c)
		if (c->box == box)
			return c;
	return NULL;
}

u32 text_flame_step(const struct flame_boxes *b, const struct text_flame_cells *cells, u32 from,
		    enum text_flame_way way)
{
	const struct text_flame_cell *at = cell_of(cells, from), *best = NULL;
	if (way == FLAME_OUT)
		return b->list.at[from].parent;
	vec_for_each (&cells->list, c) {
		if (way == FLAME_IN && c->box != from && b->list.at[c->box].parent == from)
			return c->box; /* the heaviest comes first */
		if (!at || c->row != at->row)
			continue;
		if (way == FLAME_LEFT && c->x < at->x && (!best || c->x > best->x))
			best = c;
		if (way == FLAME_RIGHT && c->x > at->x && (!best || c->x < best->x))
			best = c;
	}
	return best ? best->box : from;
}

void text_flame_label(const char *name, u32 w, struct strbuf *to)
{
	const u8 *s = (const u8 *)name, *end = s + strlen(name);
	for (; w > 0; w--) {
		bool bad = false;
		size_t n = s < end ? str_utf8_len(s, (size_t)(end - s), &bad) : 0;
		if (!n)
			strbuf_char(to, ' ');
		else if (bad || printable_obeyed(str_utf8_code(s, n)))
			strbuf_char(to, '?');
		else if (w == 1 && s + n < end)
			strbuf_str(to, term_utf8() ? "…" : "~");
		else
			strbuf_add(to, s, n);
		s += n;
	}
}

void text_flame_say(const struct flame_boxes *b, u32 box, struct strbuf *to)
{
	const struct flame_box *f = &b->list.at[box];
	double whole = (double)max(b->list.at[0].total, (u64)1) / 100;
	strbuf_printf(to, "%.2f %% (%.2f %% self), %llu sample%s  ", (double)f->total / whole,
		      (double)f->self / whole, (unsigned long long)f->count,
		      f->count == 1 ? "" : "s");
	text_flame_label(f->name, (u32)strlen(f->name), to);
	while (to->len && to->data[to->len - 1] == ' ')
		to->len--;
	if (*f->module) {
		strbuf_str(to, "  ");
		text_flame_label(f->module, (u32)strlen(f->module), to);
	}
}

bool text_flame_has(const struct flame_boxes *b, u32 box, const char *text)
{
	return *text && strcasestr(b->list.at[box].name, text);
}

struct text_flame_found text_flame_search(const struct flame_boxes *b, const char *text)
{
	struct text_flame_found ret = { 0 };
	u64 weight = 0;
	for (u32 i = 0, counted = 0; i < b->list.nr; i++) {
		if (!text_flame_has(b, i, text))
			continue;
		ret.nr++;
		if (i < counted)
			continue;
		weight += b->list.at[i].total;
		counted = b->list.at[i].end;
	}
	ret.percent = 100 * (double)weight / (double)max(b->list.at[0].total, (u64)1);
	return ret;
}

int text_flame(const struct flame *f, u32 width, struct strbuf *to)
{
	struct flame_boxes boxes;
	struct text_flame_cells cells = { 0 };
	int err = flame_tree(f, &boxes);
	if (!err)
		err = text_flame_lay(&boxes, 0, width, &cells);
	u32 rows = 0;
	vec_for_each (&cells.list, c)
		rows = max(rows, c->row + 1);
	for (u32 row = 0; row < rows && !err; row++) {
		u32 x = 0;
		vec_for_each (&cells.list, c) {
			if (c->row != row)
				continue;
			strbuf_fill(to, ' ', c->x - x);
			strbuf_char(to, '|');
			text_flame_label(boxes.list.at[c->box].name, c->w - 1, to);
			x = c->x + c->w;
		}
		while (to->len && to->data[to->len - 1] == ' ')
			to->len--;
		strbuf_char(to, '\n');
		err = to->err;
	}
	vec_free(&boxes.list);
	vec_free(&cells.list);
	return err;
}
