#include "analysis/flame.h"
#include "analysis/flame_impl.h"
#include "base/big.h"
#include "base/par.h"
#include "base/strbuf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The kernel writes no more frames of a chain unless it is told to (sysctl kernel.perf_event_max_stack): PERF_MAX_STACK_DEPTH. */
enum { KERNEL_CHAIN_MAX = 127 };

/* ---- naming and folding ---- */

/* One side on its way into the flame. */
struct side {
	struct flame_build *build;
	struct flame *flame;
	struct flame_stacks *stacks;
	const struct catalog *catalog;
	struct run_tables *run;
	const struct names_result *names;
	u32 number;
	u32 *frame_of; /* [func] -> frame of the flame, 0: not looked at yet */
	u32 *task_of; /* [task] */
	u32 *event_of; /* [event] */
	bool *truncated; /* [entry] of the sink: its stack says that it ends early */
	bool *used; /* [id of names]: it is in a stack */
	u64 *entry_weight; /* [entry] */
	u64 *id_weight; /* [id of names]: which line of a function is the hottest */
};

static unsigned build_workers(const struct flame_build *b, u64 nr)
{
	enum { LEAST = 1 << 14 };
	return par_workers(b->workers, nr, b->worker_least ? b->worker_least : LEAST);
}

static s64 add_string(struct flame *f, const char *s)
{
	return s ? strtab_add(&f->strings, s, strlen(s)) : 0;
}

static enum flame_kind kind_of(const struct side *s, const struct name_func *fn)
{
	if (fn->mode == FRAME_MARK)
		return FLAME_MARK;
	enum image_kind image = fn->image < s->catalog->images.nr
					? s->catalog->images.at[fn->image].kind
					: IMAGE_KIND_NONE;
	if (fn->inlined)
		return FLAME_INLINED;
	if (!fn->name)
		return fn->mode == FRAME_KERNEL ? FLAME_KERNEL : FLAME_UNKNOWN;
	if (image == IMAGE_KIND_ANON || image == IMAGE_KIND_BPF)
		return FLAME_JIT;
	return fn->mode == FRAME_KERNEL || fn->mode == FRAME_GUEST_KERNEL ? FLAME_KERNEL
									  : FLAME_USER;
}

static const char *mark_text(const struct flame_build *b, u64 mark)
{
	const char *own = b->mark_text ? b->mark_text(b->mark_ctx, mark) : NULL;
	if (own)
		return own;
	switch (mark) {
	case MARK_TRUNCATED: return "[truncated stack]";
	case MARK_DEFERRED: return "[deferred stack]";
	case MARK_JOINED: return "[light stacks]";
	default: return "[broken stack]";
	}
}

/* Frames of the flame are told apart by name, module and kind. */
static s64 frame_at(struct flame *f, struct flame_frame want, struct dict *known)
{
	u64 key = hash_u64((u64)want.name << 32 | want.module) ^ hash_u64(want.kind + 1);
	u32 fresh = (u32)f->frames.nr, got;
	for (;; key++) {
		int err = dict_add(known, key, fresh, &got);
		if (err)
			return err;
		const struct flame_frame *have = &f->frames.at[got];
		if (got == fresh || (have->name == want.name && have->module == want.module &&
				     have->kind == want.kind))
			break;
	}
	if (got == fresh) {
		struct flame_frame *made = vec_push(&f->frames);
		if (!made)
			return -ENOMEM;
		*made = want;
	}
	return got;
}

/* Code without a symbol goes by its module: "[libfoo.so]", or "[unknown]". */
static s64 add_unnamed(struct flame *f, const char *module)
{
	struct strbuf text;
	strbuf_init(&text);
	if (!module || !*module)
		module = "unknown";
	strbuf_printf(&text, *module == '[' ? "%s" : "[%s]", module);
	s64 id = text.err ? text.err : add_string(f, strbuf_cstr(&text));
	strbuf_done(&text);
	return id;
}

static s64 frame_of(struct side *s, u32 func)
{
	if (s->frame_of[func])
		return s->frame_of[func];
	const struct name_func *fn = &s->names->funcs[func];
	const char *module = fn->image && fn->image < s->catalog->images.nr
				     ? s->catalog->images.at[fn->image].name
				     : NULL;
	struct flame_frame want = { .kind = kind_of(s, fn) };
	s64 name = want.kind == FLAME_MARK ? add_string(s->flame, mark_text(s->build, fn->start))
		   : fn->name		   ? add_string(s->flame, fn->name)
					   : add_unnamed(s->flame, module);
	s64 in = want.kind == FLAME_MARK ? 0 : add_string(s->flame, module);
	if (name < 0 || in < 0)
		return -ENOMEM;
	want.name = (u32)name;
	want.module = (u32)in;
	s64 got = frame_at(s->flame, want, &s->build->frame_ids);
	if (got > 0)
		s->frame_of[func] = (u32)got;
	return got;
}

static bool has_mark(const struct frame_table *t, const u32 *row, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		if (t->frames[row[i]].mode == FRAME_MARK && mark_is_cut(t->frames[row[i]].offset))
			return true;
	return false;
}

/* Entries or points of a side, shared out. */
struct sharing {
	struct side *s;
	u32 parts;
	bool marks; /* some frames are marks */
	size_t first; /* item of the first entry */
	u32 *tree_of; /* [event of the recording][task]: + 1, 0: no entry has it; NULL: there would be too many */
	struct apart {
		VEC(u32) entries; /* whose stacks do not stand in the pool as they are */
	} * apart; /* [part] */
	struct flame_side *infos; /* [part] */
};

/* Before functions are put into each other: the recorder's frames count. */
static int find_truncated(void *ctx, unsigned worker, u32 part)
{
	const struct sharing *g = ctx;
	struct side *s = g->s;
	struct par_span span = par_span(s->stacks->entries.nr, g->parts, part);
	for (u64 i = span.lo; i < span.hi; i++) {
		const struct flame_entry *e = &s->stacks->entries.at[i];
		u32 nr = 1;
		const u32 *row = &e->leaf;
		if (e->chain)
			row = chain_frames(&s->run->chains, e->chain, &nr);
		s->truncated[i] =
			nr == KERNEL_CHAIN_MAX || (g->marks && has_mark(&s->run->frames, row, nr));
	}
	return 0;
}

/* The first side's chains become the build's, as they are. */
static void take_pool(struct side *s)
{
	struct chain_table *c = &s->run->chains;
	big_vec_free(&s->build->pool);
	s->build->pool.at = c->pool;
	s->build->pool.nr = c->nr_pool;
	s->build->pool.cap = c->cap_pool;
	c->pool = NULL;
	c->nr_pool = c->cap_pool = 0;
}

static int add_ids(struct flame_build *b, const u32 *ids, u32 first, u32 nr, u32 base)
{
	if (!big_vec_reserve(&b->pool, b->pool.nr + nr))
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++)
		b->pool.at[b->pool.nr++] = base + (ids ? ids[i] : first + i);
	return 0;
}

/* Whether an entry's stack is in the pool already, as it is. */
static bool stands(const struct side *s, const struct flame_entry *e)
{
	return e->chain && !s->run->chains.pool;
}

/* The stack of one that is not, as a row of ids after the others. base: what this side's ids begin with. */
static int add_row(struct side *s, const struct flame_entry *e, u32 base, struct fold_item *it)
{
	struct flame_build *b = s->build;
	const struct chain *c = &s->run->chains.chains[e->chain];
	struct name_stack leaf = names_stack(s->names, e->leaf, false);
	it->start = (u32)b->pool.nr;
	it->nr = e->chain ? c->nr : leaf.nr;
	return e->chain ? add_ids(b, s->run->chains.pool + c->start, 0, c->nr, base)
			: add_ids(b, NULL, leaf.first, leaf.nr, base);
}

/* What items say about ids, each worker for itself. */
struct id_weights {
	struct side *s;
	u32 base;
	size_t first; /* item */
	u32 parts;
	u64 *of; /* [worker][id] */
	bool *used;
};

static int weigh_ids(void *ctx, unsigned worker, u32 part)
{
	const struct id_weights *w = ctx;
	const struct flame_build *b = w->s->build;
	size_t nr_ids = w->s->names->nr_ids;
	u64 *of = w->of + worker * nr_ids;
	bool *used = w->used + worker * nr_ids;
	struct par_span span = par_span(b->items.nr - w->first, w->parts, part);
	for (u64 i = w->first + span.lo; i < w->first + span.hi; i++) {
		const struct fold_item *it = &b->items.at[i];
		for (u32 k = 0; k < it->nr; k++) {
			u32 id = b->pool.at[it->start + k] - w->base;
			used[id] = true;
			of[id] += it->period;
		}
	}
	return 0;
}

/* Which ids are in this side's stacks, and their weights. */
static int find_weights(struct side *s, u32 base, size_t first)
{
	size_t nr_ids = s->names->nr_ids;
	unsigned workers = build_workers(s->build, s->build->items.nr - first);
	struct id_weights w = { .s = s,
				.base = base,
				.first = first,
				.parts = workers,
				.of = calloc(workers * nr_ids + 1, sizeof(*w.of)),
				.used = calloc(workers * nr_ids + 1, sizeof(*w.used)) };
	int err = w.of && w.used ? par_each(workers, w.parts, weigh_ids, &w) : -ENOMEM;
	for (size_t i = 0; i < workers * nr_ids && !err; i++) {
		s->id_weight[i % nr_ids] += w.of[i];
		s->used[i % nr_ids] |= w.used[i];
	}
	free(w.of);
	free(w.used);
	return err;
}

/* What the ids of this side's rows are in the flame. */
static int add_frames(struct side *s, u32 base)
{
	struct flame_build *b = s->build;
	for (u32 id = 0; id < s->names->nr_ids; id++) {
		s64 frame = s->used[id] ? frame_of(s, s->names->func_of[id]) : 0;
		if (frame < 0)
			return (int)frame;
		b->frame_of.at[base + id] = (u32)frame;
	}
	return 0;
}

/* A function is at the line where most of its weight is. */
static int make_lines(struct side *s)
{
	u64 *most = s->names->lines ? calloc(s->flame->frames.nr + 1, sizeof(*most)) : NULL;
	if (!most)
		return s->names->lines ? -ENOMEM : 0;
	int err = 0;
	for (u32 id = 1; id < s->names->nr_ids && !err; id++) {
		const struct name_line *at = &s->names->lines[id];
		u32 frame = s->frame_of[s->names->func_of[id]];
		if (!at->file || !frame || s->id_weight[id] < most[frame])
			continue;
		/* Of two that weigh the same, the one that comes first in its file. */
		const struct flame_frame *have = &s->flame->frames.at[frame];
		int c = have->file ? strcmp(at->file, flame_str(s->flame, have->file)) : -1;
		if (s->id_weight[id] == most[frame] && (c > 0 || (!c && at->line >= have->line)))
			continue;
		s64 file = add_string(s->flame, at->file);
		err = file < 0 ? (int)file : 0;
		most[frame] = s->id_weight[id];
		s->flame->frames.at[frame].file = err ? 0 : (u32)file;
		s->flame->frames.at[frame].line = at->line;
	}
	free(most);
	return err;
}

static int make_events(struct side *s)
{
	for (size_t i = 0; i < s->catalog->events.nr; i++) {
		s64 name = add_string(s->flame, s->build->event ? s->build->event
								: s->catalog->events.at[i].name);
		if (name < 0)
			return (int)name;
		size_t at = 0;
		while (at < s->flame->events.nr && s->flame->events.at[at] != (u32)name)
			at++;
		if (at == s->flame->events.nr) {
			u32 *made = vec_push(&s->flame->events);
			if (!made)
				return -ENOMEM;
			*made = (u32)name;
		}
		s->event_of[i] = (u32)at;
	}
	return 0;
}

static int make_tasks(struct side *s)
{
	for (size_t i = 0; i < s->stacks->tasks.nr; i++) {
		const struct flame_seen_task *t = &s->stacks->tasks.at[i];
		char unnamed[16];
		const char *text = strtab_str(&s->catalog->strings, t->comm);
		if (COMM_IS_UNNAMED(t->comm)) {
			(void)snprintf(unnamed, sizeof(unnamed), ":%d", COMM_TID(t->comm));
			text = unnamed;
		}
		s64 comm = add_string(s->flame, text);
		if (comm < 0)
			return (int)comm;
		struct flame_task want = { .pid = t->pid, .tid = t->tid, .comm = (u32)comm };
		if (s->build->by_comm)
			want.pid = want.tid = 0;
		u32 fresh = (u32)s->flame->tasks.nr, got;
		int err = dict_add(&s->build->task_ids, (u64)(u32)want.tid << 32 | want.comm, fresh,
				   &got);
		if (err)
			return err;
		if (got == fresh) {
			struct flame_task *made = vec_push(&s->flame->tasks);
			if (!made)
				return -ENOMEM;
			*made = want;
		}
		s->task_of[i] = got;
	}
	return 0;
}

static s64 tree_at(struct flame_build *b, u32 event, u32 task)
{
	const struct flame_tree *last =
		b->last_tree < b->flame->trees.nr ? &b->flame->trees.at[b->last_tree] : NULL;
	if (last && last->event == event && last->task == task)
		return b->last_tree;
	u32 fresh = (u32)b->flame->trees.nr, got;
	int err = dict_add(&b->tree_ids, (u64)event << 32 | task, fresh, &got);
	if (err)
		return err;
	if (got == fresh) {
		struct flame_tree *made = vec_push(&b->flame->trees);
		if (!made)
			return -ENOMEM;
		*made = (struct flame_tree){ .event = event, .task = task };
	}
	b->last_tree = got;
	return got;
}

static u32 *tree_slot(const struct sharing *g, const struct flame_entry *e)
{
	return &g->tree_of[(size_t)e->event * g->s->stacks->tasks.nr + e->task];
}

/* Which trees there are, and what falls on each entry. */
static int weigh_entries(void *ctx, unsigned worker, u32 part)
{
	const struct sharing *g = ctx;
	struct side *s = g->s;
	struct par_span span = par_span(s->stacks->points.nr, g->parts, part);
	for (u64 i = span.lo; i < span.hi; i++) {
		const struct flame_point *p = &s->stacks->points.at[i];
		if (g->parts == 1)
			s->entry_weight[p->node] += p->period;
		else
			__atomic_fetch_add(&s->entry_weight[p->node], p->period, __ATOMIC_RELAXED);
	}
	span = par_span(s->stacks->entries.nr, g->parts, part);
	for (u64 i = span.lo; i < span.hi && g->tree_of; i++) {
		u32 *slot = tree_slot(g, &s->stacks->entries.at[i]);
		if (!__atomic_load_n(slot, __ATOMIC_RELAXED))
			__atomic_store_n(slot, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/* Entry by entry. */
static int find_trees(const struct sharing *g)
{
	const struct side *s = g->s;
	for (size_t i = 0; i < s->stacks->entries.nr; i++) {
		const struct flame_entry *e = &s->stacks->entries.at[i];
		s64 tree = tree_at(s->build, s->event_of[e->event], s->task_of[e->task]);
		if (tree < 0)
			return (int)tree;
		s->build->items.at[g->first + i].tree = (u32)tree;
	}
	return 0;
}

static int number_trees(const struct sharing *g)
{
	const struct side *s = g->s;
	size_t nr_tasks = s->stacks->tasks.nr;
	if (!g->tree_of)
		return find_trees(g);
	for (size_t i = 0; i < s->catalog->events.nr * nr_tasks; i++) {
		if (!g->tree_of[i])
			continue;
		s64 tree = tree_at(s->build, s->event_of[i / nr_tasks], s->task_of[i % nr_tasks]);
		if (tree < 0)
			return (int)tree;
		g->tree_of[i] = (u32)tree + 1;
	}
	return 0;
}

/* An entry's item, with its stack if it stands in the pool. */
static int fill_items(void *ctx, unsigned worker, u32 part)
{
	const struct sharing *g = ctx;
	struct side *s = g->s;
	struct par_span span = par_span(s->stacks->entries.nr, g->parts, part);
	for (u64 i = span.lo; i < span.hi; i++) {
		const struct flame_entry *e = &s->stacks->entries.at[i];
		const struct chain *c = &s->run->chains.chains[e->chain];
		struct fold_item *it = &s->build->items.at[g->first + i];
		*it = (struct fold_item){ .tree = g->tree_of ? *tree_slot(g, e) - 1 : it->tree,
					  .period = s->entry_weight[i],
					  .start = c->start,
					  .nr = c->nr };
		if (likely(stands(s, e)))
			continue;
		u32 *other = vec_push(&g->apart[part].entries);
		if (!other)
			return -ENOMEM;
		*other = (u32)i;
	}
	return 0;
}

static int add_rows(const struct sharing *g, u32 base)
{
	struct flame_build *b = g->s->build;
	int err = 0;
	for (u32 k = 0; k < g->parts; k++)
		for (size_t i = 0; i < g->apart[k].entries.nr && !err; i++) {
			u32 entry = g->apart[k].entries.at[i];
			err = add_row(g->s, &g->s->stacks->entries.at[entry], base,
				      &b->items.at[g->first + entry]);
			if (b->pool.nr >= UINT32_MAX)
				err = -ENOMEM;
		}
	return err;
}

static int share_items(struct sharing *g, u32 base)
{
	struct flame_build *b = g->s->build;
	size_t nr = g->s->stacks->entries.nr;
	if (!big_vec_reserve(&b->items, b->items.nr + nr))
		return -ENOMEM;
	b->items.nr += nr;
	int err = par_each(g->parts, g->parts, weigh_entries, g);
	if (!err)
		err = number_trees(g);
	if (!err)
		err = par_each(g->parts, g->parts, fill_items, g);
	return err ? err : add_rows(g, base);
}

static int make_items(struct side *s)
{
	enum { PAIRS_MAX = 1 << 20 };
	struct flame_build *b = s->build;
	size_t base = b->frame_of.nr, end = base + s->names->nr_ids;
	struct sharing g = { .s = s,
			     .first = b->items.nr,
			     .parts = build_workers(b, s->stacks->entries.nr) };
	const struct frame_table *t = &s->run->frames;
	for (u32 i = 0; i < t->nr && !g.marks; i++)
		g.marks = t->frames[i].mode == FRAME_MARK;
	int err = par_each(g.parts, g.parts, find_truncated, &g);
	if (!err)
		err = names_expand(s->names, &s->run->frames, &s->run->chains);
	if (err || end >= UINT32_MAX || !vec_reserve(&b->frame_of, end + 1))
		return -ENOMEM;
	b->frame_of.nr = end;
	if (!base)
		take_pool(s);
	size_t nr_pairs = s->catalog->events.nr * s->stacks->tasks.nr;
	if (nr_pairs < PAIRS_MAX)
		g.tree_of = calloc(nr_pairs + 1, sizeof(*g.tree_of));
	g.apart = calloc(g.parts, sizeof(*g.apart));
	err = g.apart ? share_items(&g, (u32)base) : -ENOMEM;
	for (u32 i = 0; g.apart && i < g.parts; i++)
		vec_free(&g.apart[i].entries);
	free(g.tree_of);
	free(g.apart);
	if (!err)
		err = find_weights(s, (u32)base, g.first);
	return err ? err : add_frames(s, (u32)base);
}

static int count_points(void *ctx, unsigned worker, u32 part)
{
	const struct sharing *g = ctx;
	struct side *s = g->s;
	struct flame_side *info = &g->infos[part];
	struct par_span span = par_span(s->stacks->points.nr, g->parts, part);
	for (u64 i = span.lo; i < span.hi; i++) {
		struct flame_point *p = &s->stacks->points.at[i];
		const struct flame_entry *e = &s->stacks->entries.at[p->node];
		info->nr_samples += p->count;
		info->nr_without += e->chain ? 0 : p->count;
		info->nr_truncated += s->truncated[p->node] ? p->count : 0;
		/* 0 is no time. */
		if (p->time_ns && (!info->first_ns || p->time_ns < info->first_ns))
			info->first_ns = p->time_ns;
		info->last_ns = max(info->last_ns, p->time_ns);
		p->node += (u32)g->first;
		p->side = s->number & 1;
	}
	return 0;
}

static void add_info(struct flame_side *to, const struct flame_side *from)
{
	to->nr_samples += from->nr_samples;
	to->nr_without += from->nr_without;
	to->nr_truncated += from->nr_truncated;
	if (from->first_ns && (!to->first_ns || from->first_ns < to->first_ns))
		to->first_ns = from->first_ns;
	to->last_ns = max(to->last_ns, from->last_ns);
}

/* Points name an item until the trees are there. The first side's become the flame's. */
static int make_points(struct side *s, u32 first_item)
{
	struct flame *f = s->flame;
	struct sharing g = { .s = s,
			     .first = first_item,
			     .parts = build_workers(s->build, s->stacks->points.nr) };
	g.infos = calloc(g.parts, sizeof(*g.infos));
	int err = g.infos ? par_each(g.parts, g.parts, count_points, &g) : -ENOMEM;
	for (u32 i = 0; i < g.parts && !err; i++)
		add_info(&f->sides[s->number], &g.infos[i]);
	free(g.infos);
	if (err)
		return err;
	f->resolution_ns = max(f->resolution_ns, 1ull << s->stacks->shift);
	if (!f->points.nr) {
		big_vec_free(&f->points);
		f->points.at = s->stacks->points.at;
		f->points.nr = s->stacks->points.nr;
		f->points.cap = s->stacks->points.cap;
		s->stacks->points.at = NULL;
		s->stacks->points.nr = s->stacks->points.cap = 0;
		return 0;
	}
	if (!big_vec_reserve(&f->points, f->points.nr + s->stacks->points.nr))
		return -ENOMEM;
	vec_for_each (&s->stacks->points, p)
		f->points.at[f->points.nr++] = *p;
	return 0;
}

static int add_side(struct side *s)
{
	u32 first_item = (u32)s->build->items.nr;
	if (!s->frame_of || !s->used || !s->task_of || !s->event_of || !s->truncated ||
	    !s->entry_weight || !s->id_weight)
		return -ENOMEM;
	if (!s->flame->frames.nr && !vec_push(&s->flame->frames))
		return -ENOMEM;
	int err = make_events(s);
	if (!err)
		err = make_tasks(s);
	if (!err)
		err = make_items(s);
	if (!err)
		err = make_lines(s);
	return err ? err : make_points(s, first_item);
}

int flame_build_add(struct flame_build *b, struct flame_sink *k, const struct catalog *c,
		    struct run_tables *run, const struct names_result *names)
{
	if (b->flame->nr_sides == FLAME_SIDES)
		return -E2BIG;
	struct side s = { .build = b,
			  .flame = b->flame,
			  .stacks = &k->all,
			  .catalog = c,
			  .run = run,
			  .names = names,
			  .number = b->flame->nr_sides++ };
	s.frame_of = calloc((size_t)names->nr_funcs + 1, sizeof(u32));
	s.used = calloc((size_t)names->nr_ids + 1, sizeof(*s.used));
	s.task_of = calloc(k->all.tasks.nr + 1, sizeof(u32));
	s.event_of = calloc(c->events.nr + 1, sizeof(u32));
	s.truncated = calloc(k->all.entries.nr + 1, sizeof(*s.truncated));
	s.entry_weight = calloc(k->all.entries.nr + 1, sizeof(u64));
	s.id_weight = calloc((size_t)names->nr_ids + 1, sizeof(u64));
	int err = add_side(&s);
	b->flame->sides[s.number].nr_lost = c->nr_lost;
	free(s.frame_of);
	free(s.used);
	free(s.task_of);
	free(s.event_of);
	free(s.truncated);
	free(s.entry_weight);
	free(s.id_weight);
	return err;
}

int flame_build_finish(struct flame_build *b)
{
	struct flame *f = b->flame;
	int err = flame_order(b);
	if (err)
		return err;
	struct names_result names = { .func_of = b->frame_of.at, .nr_funcs = (u32)f->frames.nr };
	struct chain_table chains = { .pool = b->pool.at };
	struct fold fold;
	err = fold_build(&fold, &(struct fold_input){ .items = b->items.at,
						      .nr = b->items.nr,
						      .nr_trees = (u32)f->trees.nr,
						      .chains = &chains,
						      .names = &names,
						      .workers = build_workers(b, b->items.nr) });
	unsigned workers = err ? 1 : build_workers(b, fold.nr_nodes);
	f->nr_all_nodes = fold.nr_funcs + fold.nr_trees;
	if (!err && b->max_nodes && f->nr_all_nodes > b->max_nodes)
		err = flame_join(f, &fold, b->max_nodes, workers);
	if (!err)
		err = flame_expand(f, &fold, workers);
	fold_done(&fold);
	return min(err, 0);
}

void flame_build_done(struct flame_build *b)
{
	big_vec_free(&b->items);
	big_vec_free(&b->pool);
	vec_free(&b->frame_of);
	dict_done(&b->frame_ids);
	dict_done(&b->task_ids);
	dict_done(&b->tree_ids);
}
