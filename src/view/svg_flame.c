#include "view/svg_flame.h"
#include "view/markup.h"

#include <errno.h>
#include <string.h>

enum { ROW = 17, TOP = 44, BOTTOM = 34, SIDE = 10, CHAR_WIDTH_10 = 66, MAX_DEPTH = 2048 };
static const double LEAST = 0.8; /* pixels that a frame must have */

struct svg {
	const struct flame *f;
	const struct svg_flame_opts *o;
	struct strbuf *to;
	u64 *total;
	u64 *count; /* samples, like total */
	u64 all;
	u32 event;
	u32 height; /* rows */
	u64 nr_drawn;
	struct svg_children {
		VEC(u32) list; /* a stack: those of every open node */
	} children;
};

static const struct {
	const char *word, *fill;
} kinds[] = {
	[FLAME_USER] = { "user", "#8fb8de" },	    [FLAME_KERNEL] = { "kernel", "#f0a868" },
	[FLAME_INLINED] = { "inlined", "#a8d5c2" }, [FLAME_JIT] = { "run-time code", "#c9a7d8" },
	[FLAME_UNKNOWN] = { "unknown", "#c4c8cc" }, [FLAME_MARK] = { "mark", "#dddddd" },
};

static double scale(const struct svg *s)
{
	return s->all ? (double)(s->o->width - 2 * SIDE) / (double)s->all : 0;
}

/* Rows that have something to draw. */
static u32 visible_height(const struct svg *s)
{
	const struct flame_node *nodes = s->f->nodes.at;
	u32 high = 0, depth = 0;
	vec_for_each (&s->f->trees, t) {
		if (t->event != s->event)
			continue;
		u32 path = t->root;
		depth = 1;
		for (u32 i = t->root; i < nodes[t->root].end; i++) {
			for (; i >= nodes[path].end; path = nodes[path].parent)
				depth--;
			depth += i != t->root;
			path = i;
			if ((double)s->total[i] * scale(s) >= LEAST)
				high = max(high, depth);
		}
	}
	return min(high, (u32)MAX_DEPTH) + 1;
}

static void draw_box(struct svg *s, double x, double w, u32 row, const char *name,
		     const char *module, u64 weight, u64 count, const char *fill)
{
	u32 y = TOP + (s->o->inverted ? row : s->height - 1 - row) * ROW;
	size_t room = w < 24 ? 0 : (size_t)((w - 6) * 10 / CHAR_WIDTH_10), len = strlen(name);
	strbuf_printf(s->to, "<g><title>");
	markup_text(name, len, s->to);
	if (*module) {
		strbuf_str(s->to, " — ");
		markup_text(module, strlen(module), s->to);
	}
	strbuf_printf(s->to,
		      " (%llu samples, %.2f %%)</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" "
		      "height=\"%u\" "
		      "fill=\"%s\"/>",
		      (unsigned long long)count,
		      100.0 * (double)weight / (double)max(s->all, (u64)1), x, y, w, ROW - 1, fill);
	if (room >= 3) {
		strbuf_printf(s->to, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + 12);
		/* A cut may not fall inside of a character. */
		size_t cut = len <= room ? len : room - 1;
		while (cut < len && cut && ((unsigned char)name[cut] & 0xc0) == 0x80)
			cut--;
		markup_text(name, cut, s->to);
		strbuf_str(s->to, cut < len ? "…</text>" : "</text>");
	}
	strbuf_str(s->to, "</g>\n");
	s->nr_drawn++;
}

struct order {
	const struct svg *s;
	bool trees;
};

static u64 weight_of(const struct order *o, u32 id)
{
	return o->s->total[o->trees ? o->s->f->trees.at[id].root : id];
}

static const char *name_of(const struct order *o, u32 id)
{
	const struct flame *f = o->s->f;
	return o->trees ? flame_str(f, f->tasks.at[f->trees.at[id].task].comm)
			: flame_str(f, f->frames.at[f->nodes.at[id].frame].name);
}

static int heavier(const void *l, const void *r, void *ctx)
{
	u32 a = *(const u32 *)l, b = *(const u32 *)r;
	u64 wa = weight_of(ctx, a), wb = weight_of(ctx, b);
	if (wa != wb)
		return wa > wb ? -1 : 1;
	int c = strcmp(name_of(ctx, a), name_of(ctx, b));
	return c ? c : (a > b) - (a < b);
}

static int draw_node(struct svg *s, u32 node, double x, u32 row);

static int push_child(struct svg *s, u32 id)
{
	u32 *slot = vec_push(&s->children.list);
	if (!slot)
		return -ENOMEM;
	*slot = id;
	return 0;
}

/* Draws what was pushed from `base` on, side by side. */
static int draw_row(struct svg *s, size_t base, bool trees, double x, u32 row)
{
	struct order by = { .s = s, .trees = trees };
	size_t nr = s->children.list.nr - base;
	if (nr > 1)
		qsort_r(s->children.list.at + base, nr, sizeof(u32), heavier, &by);
	int err = 0;
	for (size_t i = 0; i < nr && !err; i++) {
		u32 id = s->children.list.at[base + i];
		u32 node = trees ? s->f->trees.at[id].root : id;
		double w = (double)s->total[node] * scale(s);
		if (w < LEAST)
			break; /* the rest is lighter still */
		if (trees)
			draw_box(s, x, w, row, name_of(&by, id), "", s->total[node], s->count[node],
				 "#d6dce2");
		err = draw_node(s, node, x, row);
		x += w;
	}
	s->children.list.nr = base;
	return err;
}

static int draw_node(struct svg *s, u32 node, double x, u32 row)
{
	const struct flame *f = s->f;
	const struct flame_node *n = &f->nodes.at[node];
	if (n->parent != node) {
		const struct flame_frame *fr = &f->frames.at[n->frame];
		draw_box(s, x, (double)s->total[node] * scale(s), row, flame_str(f, fr->name),
			 flame_str(f, fr->module), s->total[node], s->count[node],
			 kinds[fr->kind].fill);
	}
	size_t base = s->children.list.nr;
	int err = 0;
	for (u32 c = node + 1; c < n->end && !err && row + 1 < MAX_DEPTH; c = f->nodes.at[c].end)
		err = push_child(s, c);
	return err ? err : draw_row(s, base, false, x, row + 1);
}

static void head(struct svg *s)
{
	u32 high = TOP + s->height * ROW + BOTTOM;
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

/* The event with the most samples: what the picture is of. */
static int main_event(const struct svg *s, u32 *ret)
{
	u64 *of = calloc(s->f->events.nr + 1, sizeof(*of));
	if (!of)
		return -ENOMEM;
	*ret = 0;
	vec_for_each (&s->f->trees, t) {
		of[t->event] += s->count[t->root];
		if (of[t->event] > of[*ret])
			*ret = t->event;
	}
	free(of);
	return 0;
}

static int draw_all(struct svg *s)
{
	flame_sum(s->f, s->total);
	flame_sum(s->f, s->count);
	int err = main_event(s, &s->event);
	u64 samples = 0;
	for (u32 i = 0; i < s->f->trees.nr && !err; i++) {
		if (s->f->trees.at[i].event != s->event)
			continue;
		s->all += s->total[s->f->trees.at[i].root];
		samples += s->count[s->f->trees.at[i].root];
		err = push_child(s, i);
	}
	if (err)
		return err;
	s->height = visible_height(s);
	head(s);
	draw_box(s, SIDE, s->o->width - 2 * SIDE, 0, "all", "", s->all, samples, "#d6dce2");
	err = draw_row(s, 0, true, SIDE, 1);
	strbuf_str(s->to, "</svg>\n");
	return err ? err : s->to->err;
}

int svg_flame(const struct flame *f, const struct svg_flame_opts *o, struct strbuf *to)
{
	struct svg s = {
		.f = f, .o = o, .to = to, .total = flame_self(f, UINT32_MAX), .count = flame_counts(f)
	};
	int err = s.total && s.count ? draw_all(&s) : -ENOMEM;
	vec_free(&s.children.list);
	free(s.total);
	free(s.count);
	return err;
}
