#include "view/svg_flame.h"
#include "base/str.h"
#include "view/flame_tree.h"
#include "view/markup.h"

#include <errno.h>
#include <string.h>

enum { ROW = 17, TOP = 44, BOTTOM = 34, SIDE = 10, CHAR_WIDTH_10 = 66, MAX_ROWS = 2048 };
static const double LEAST = 0.8; /* pixels that a frame must have */

struct svg {
	const struct svg_flame_opts *o;
	struct strbuf *to;
	const struct flame_box *boxes;
	u32 nr;
	u32 rows;
	double scale; /* pixels for a unit of weight */
};

static const struct {
	const char *word, *fill;
} kinds[] = {
	[FLAME_USER] = { "user", "#8fb8de" },	    [FLAME_KERNEL] = { "kernel", "#f0a868" },
	[FLAME_INLINED] = { "inlined", "#a8d5c2" }, [FLAME_JIT] = { "JIT code", "#c9a7d8" },
	[FLAME_UNKNOWN] = { "unknown", "#c4c8cc" }, [FLAME_MARK] = { "mark", "#d6dce2" },
};

static bool is_seen(const struct svg *s, u32 i)
{
	return (double)s->boxes[i].total * s->scale >= LEAST && s->boxes[i].depth < MAX_ROWS;
}

static void draw_name(struct svg *s, const char *name, double x, double w, u32 y)
{
	size_t room = w < 24 ? 0 : (size_t)((w - 6) * 10 / CHAR_WIDTH_10), len = strlen(name);
	if (room < 3)
		return;
	strbuf_printf(s->to, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + 12);
	/* A cut may not fall inside of a character. */
	size_t cut = len <= room ? len : room - 1;
	while (cut < len && cut && ((unsigned char)name[cut] & 0xc0) == 0x80)
		cut--;
	markup_text(name, cut, s->to);
	strbuf_str(s->to, cut < len ? "…</text>" : "</text>");
}

static void draw_box(struct svg *s, const struct flame_box *b, double x)
{
	u32 y = TOP + (s->o->inverted ? b->depth : s->rows - 1 - b->depth) * ROW;
	double w = (double)b->total * s->scale;
	strbuf_printf(s->to, "<g><title>");
	markup_text(b->name, strlen(b->name), s->to);
	if (*b->module) {
		strbuf_str(s->to, " — ");
		markup_text(b->module, strlen(b->module), s->to);
	}
	strbuf_printf(s->to,
		      " (%llu %s, %.2f %%)</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" "
		      "height=\"%u\" fill=\"%s\"/>",
		      (unsigned long long)b->count, str_plural(b->count, "sample", "samples"),
		      100.0 * (double)b->total / (double)max(s->boxes[0].total, (u64)1), x, y, w,
		      ROW - 1, kinds[b->kind].fill);
	draw_name(s, b->name, x, w, y);
	strbuf_str(s->to, "</g>\n");
}

static void head(struct svg *s)
{
	u32 high = TOP + s->rows * ROW + BOTTOM;
	strbuf_printf(s->to,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		      "viewBox=\"0 0 %u %u\" font-family=\"DejaVu Sans Mono,Menlo,Consolas,"
		      "monospace\" font-size=\"11\">\n"
		      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		      "<text x=\"%u\" y=\"26\" font-size=\"15\">",
		      s->o->width, high, s->o->width, high, SIDE);
	markup_text(s->o->title, strlen(s->o->title), s->to);
	strbuf_str(s->to, "</text>\n");
	double x = SIDE;
	for (size_t i = 0; i < FLAME_MARK; i++) {
		strbuf_printf(s->to,
			      "<rect x=\"%.1f\" y=\"%u\" width=\"10\" height=\"10\" fill=\"%s\"/>"
			      "<text x=\"%.1f\" y=\"%u\">%s</text>\n",
			      x, high - 20, kinds[i].fill, x + 14, high - 11, kinds[i].word);
		x += 14 + 24 + 7 * (double)strlen(kinds[i].word);
	}
}

/* Boxes stand in the order of a walk: each begins where the one before it, of the same parent, ended. */
static int draw_all(struct svg *s)
{
	double *next = calloc((size_t)s->nr + 1, sizeof(*next));
	if (!next)
		return -ENOMEM;
	head(s);
	for (u32 i = 0; i < s->nr;) {
		double x = i ? next[s->boxes[i].parent] : SIDE;
		next[s->boxes[i].parent] =
			min(x + (double)s->boxes[i].total * s->scale, (double)s->o->width);
		next[i] = x;
		if (is_seen(s, i))
			draw_box(s, &s->boxes[i], x);
		i = is_seen(s, i) ? i + 1 : s->boxes[i].end;
	}
	strbuf_str(s->to, "</svg>\n");
	free(next);
	return s->to->err;
}

int svg_flame(const struct flame *f, const struct svg_flame_opts *o, struct strbuf *to)
{
	struct flame_boxes boxes;
	int err = flame_tree(f, &boxes);
	if (!err) {
		struct svg s = { .o = o,
				 .to = to,
				 .boxes = boxes.list.at,
				 .nr = (u32)boxes.list.nr,
				 .scale = (double)(o->width - 2 * SIDE) /
					  (double)max(boxes.list.at[0].total, (u64)1) };
		for (u32 i = 0; i < s.nr; i = is_seen(&s, i) ? i + 1 : s.boxes[i].end)
			if (is_seen(&s, i))
				s.rows = max(s.rows, s.boxes[i].depth + 1);
		err = draw_all(&s);
	}
	vec_free(&boxes.list);
	return err;
}
