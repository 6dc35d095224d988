/*
 * From answers to what names_result has: functions, each once, the function of every frame, and the stacks of inlined functions,
 * whose ids follow those of the frames.
 */
#include "sym/resolve_impl.h"
#include "base/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct func_table {
	struct name_func *funcs;
	u32 nr;
	u32 *slots;
	u32 mask;
	u64 seed;
};

static bool same_func(const struct name_func *a, const struct name_func *b)
{
	return a->start == b->start && a->image == b->image && a->mode == b->mode &&
	       a->inlined == b->inlined && (!a->inlined || !strcmp(a->name, b->name));
}

static u32 func_add(struct func_table *t, const struct name_func *f)
{
	u64 h = hash_seeded(f->start ^ (u64)f->image << 40 ^ (u64)f->mode << 61, t->seed);
	if (f->inlined)
		h += hash_text(f->name, strlen(f->name), t->seed);
	u32 at = (u32)(h >> 32) & t->mask;
	for (; t->slots[at]; at = (at + 1) & t->mask)
		if (same_func(&t->funcs[t->slots[at]], f))
			return t->slots[at];
	t->slots[at] = t->nr;
	t->funcs[t->nr] = *f;
	return t->nr++;
}

static void assign_group(const struct job *j, const struct group *g, struct func_table *t,
			 u32 *func_of)
{
	for (u32 i = 0; g->answers && i < g->nr; i++) {
		const struct resolve_place *p = &g->places[i];
		const struct answer *a = &g->answers[p->question];
		const struct frame *fr = &j->frames->frames[p->frame];
		if (!a->name || j->silent[fr->image])
			continue;
		u64 shift = j->shift[fr->image];
		func_of[p->frame] = func_add(t, &(struct name_func){
							.name = a->name,
							.start = a->start - shift,
							.end = a->end - shift,
							.image = fr->image,
							.mode = (u16)fr->mode,
							.data = a->data,
						});
	}
}

/* ---- stacks of inlined functions: ids after those of the frames ---- */

struct stacker {
	struct sym_names *n;
	const struct job *j;
	struct func_table *t;
	struct arena *arena;
	u32 next;
};

static bool same_line(const struct name_line *a, const struct name_line *b)
{
	return a->line == b->line && a->file == b->file;
}

/* lines: those count as well, not only the functions. */
static bool same_spot(const struct srcline_spot *a, const struct srcline_spot *b, bool lines)
{
	if (a->nr != b->nr ||
	    (lines && (!same_line(&a->line, &b->line) || !same_line(&a->outer, &b->outer))))
		return false;
	for (u32 i = 0; i < a->nr; i++)
		if (a->inlines[i].name != b->inlines[i].name ||
		    (lines && !same_line(&a->inlines[i].line, &b->inlines[i].line)))
			return false;
	return true;
}

/* A place to return to is one after its call; where a function begins there, the call was the last thing of another. */
static bool has_caller(const struct group *g, u32 question)
{
	return g->answers[question].name && g->questions[question] > g->answers[question].start;
}

/* How many ids a place takes: for itself, and as a place that is returned to. */
static void stack_sizes(const struct job *j, const struct group *g, u32 question, u32 nr[2])
{
	bool lines = j->want & WANT_LINE;
	const struct srcline_spot *s = &g->spots[2 * (size_t)question];
	bool named = g->answers[question].name;
	nr[0] = named && s[0].nr ? s[0].nr + 1 : 0;
	nr[1] = named && has_caller(g, question) && !same_spot(&s[0], &s[1], lines) ? s[1].nr + 1
										    : 0;
}

static u64 count_ids(const struct job *j)
{
	u64 ids = j->frames->nr;
	for (u32 i = 0; i < j->nr_groups; i++) {
		const struct group *g = &j->groups[i];
		for (u32 k = 0; g->spots && k < g->nr; k++) {
			u32 nr[2];
			stack_sizes(j, g, g->places[k].question, nr);
			ids += nr[0] + nr[1];
		}
	}
	return ids;
}

static int inline_func(struct stacker *st, u32 base, const char *name, u32 *ret)
{
	struct name_func f = st->t->funcs[base];
	f.name = name;
	f.inlined = true;
	f.label = NULL;
	u32 before = st->t->nr;
	*ret = func_add(st->t, &f);
	if (st->t->nr == before)
		return 0;
	static const char mark[] = " (inlined)";
	size_t len = strlen(name);
	char *label = arena_alloc(st->arena, len + sizeof(mark));
	if (!label)
		return -ENOMEM;
	memcpy(label, name, len);
	memcpy(label + len, mark, sizeof(mark));
	st->t->funcs[*ret].label = label;
	return 0;
}

static int make_stack(struct stacker *st, u32 frame, const struct srcline_spot *s,
		      struct name_stack *ret)
{
	struct sym_names *n = st->n;
	u32 base = n->func_of[frame];
	*ret = (struct name_stack){ st->next, s->nr + 1 };
	for (u32 i = 0; i <= s->nr; i++) {
		u32 id = st->next++;
		n->func_of[id] = base;
		n->frame_of[id] = frame;
		if (n->lines)
			n->lines[id] = i ? s->inlines[i - 1].line : s->outer;
		int err = i ? inline_func(st, base, s->inlines[i - 1].name, &n->func_of[id]) : 0;
		if (err)
			return err;
	}
	return 0;
}

static int stack_group(struct stacker *st, const struct group *g)
{
	struct sym_names *n = st->n;
	int err = 0;
	for (u32 i = 0; g->spots && i < g->nr && !err; i++) {
		const struct resolve_place *p = &g->places[i];
		const struct srcline_spot *s = &g->spots[2 * (size_t)p->question];
		bool silent = st->j->silent[st->j->frames->frames[p->frame].image];
		u32 nr[2];
		stack_sizes(st->j, g, p->question, nr);
		if (n->lines && !silent)
			n->lines[p->frame] = s[0].line;
		if (silent || !n->frame_of)
			continue;
		if (nr[0])
			err = make_stack(st, p->frame, &s[0], &n->stacks[p->frame]);
		n->callers[p->frame] = n->stacks[p->frame];
		if (nr[1] && !err)
			err = make_stack(st, p->frame, &s[1], &n->callers[p->frame]);
	}
	return err;
}

static int make_stacks(struct job *j, struct func_table *t)
{
	struct sym_names *n = j->n;
	struct stacker st = { .n = n, .j = j, .t = t, .arena = &n->arenas[0], .next = j->frames->nr };
	if (j->want & WANT_LINE && !(n->lines = calloc((size_t)n->nr_ids + 1, sizeof(*n->lines))))
		return -ENOMEM;
	if (n->nr_ids > j->frames->nr) {
		n->frame_of = calloc((size_t)n->nr_ids + 1, sizeof(*n->frame_of));
		n->stacks = calloc((size_t)j->frames->nr + 1, sizeof(*n->stacks));
		n->callers = calloc((size_t)j->frames->nr + 1, sizeof(*n->callers));
		if (!n->frame_of || !n->stacks || !n->callers)
			return -ENOMEM;
		for (u32 f = 0; f < j->frames->nr; f++)
			n->frame_of[f] = f;
	}
	int err = 0;
	for (u32 i = 0; i < j->nr_groups && !err; i++)
		err = stack_group(&st, &j->groups[i]);
	return err;
}

int resolve_ids(struct job *j)
{
	struct sym_names *n = j->n;
	u32 nr = j->frames->nr;
	u64 ids = count_ids(j);
	if (ids >= UINT32_MAX / 2)
		return -ENOMEM;
	n->nr_ids = (u32)ids;
	struct func_table t = { .nr = 1 };
	u32 cap = 16;
	while (cap < 2 * ids && cap < 1u << 31)
		cap *= 2;
	t.mask = cap - 1;
	t.seed = hash_seed();
	t.slots = calloc(cap, sizeof(*t.slots));
	n->funcs = t.funcs = calloc((size_t)ids + 1, sizeof(*t.funcs));
	n->func_of = calloc((size_t)ids + 1, sizeof(*n->func_of));
	int err = t.slots && t.funcs && n->func_of ? 0 : -ENOMEM;
	for (u32 i = 0; i < j->nr_groups && !err; i++)
		assign_group(j, &j->groups[i], &t, n->func_of);
	for (u32 f = 1; f < nr && !err; f++) {
		const struct frame *fr = &j->frames->frames[f];
		if (n->func_of[f])
			continue;
		n->func_of[f] = t.nr;
		t.funcs[t.nr++] = (struct name_func){ .start = fr->offset,
						      .end = fr->offset,
						      .image = fr->image,
						      .mode = (u16)fr->mode };
	}
	if (!err)
		err = make_stacks(j, &t);
	free(t.slots);
	n->nr_funcs = t.nr;
	return err;
}
