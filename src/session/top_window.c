#include "session/top_window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	INTERVALS_MAX = 3600,
	NODES_MAX = 1 << 14,
	ALL_NODES_MAX = 1 << 20,
	FRAMES_MAX = 1 << 17,
	DEPTH_MAX = 512,
};

int top_window_init(struct top_window *w, const struct top_window_limits *limits)
{
	*w = (struct top_window){ .limits = *limits };
	struct top_window_limits *l = &w->limits;
	l->intervals = l->intervals ? l->intervals : INTERVALS_MAX;
	l->nodes = l->nodes ? l->nodes : NODES_MAX;
	l->all_nodes = l->all_nodes ? l->all_nodes : ALL_NODES_MAX;
	l->frames = l->frames ? l->frames : FRAMES_MAX;
	strtab_init(&w->strings);
	dict_init(&w->frame_of);
	dict_init(&w->node_of);
	return vec_push(&w->frames) ? 0 : -ENOMEM;
}

void top_window_done(struct top_window *w)
{
	vec_for_each (&w->intervals, i)
		vec_free(&i->nodes);
	vec_free(&w->intervals);
	vec_free(&w->frames);
	strtab_done(&w->strings);
	dict_done(&w->frame_of);
	dict_done(&w->node_of);
}

/* ---- intervals ---- */

static void drop_oldest(struct top_window *w)
{
	struct top_interval *first = w->intervals.at;
	w->nr_nodes -= first->nodes.nr;
	vec_free(&first->nodes);
	memmove(first, first + 1, --w->intervals.nr * sizeof(*first));
}

int top_window_begin(struct top_window *w, const struct top_interval *head)
{
	while (w->intervals.nr && (w->intervals.nr >= w->limits.intervals ||
				   w->nr_nodes + w->limits.nodes > w->limits.all_nodes))
		drop_oldest(w);
	dict_done(&w->node_of);
	dict_init(&w->node_of);
	u64 before = w->intervals.nr ? w->intervals.at[w->intervals.nr - 1].ms : 0;
	struct top_interval *i = vec_push(&w->intervals);
	if (!i)
		return -ENOMEM;
	*i = *head;
	i->ms = max(i->ms, before + 1); /* the clock may be set back */
	memset(&i->nodes, 0, sizeof(i->nodes));
	if (!vec_push(&i->nodes))
		return -ENOMEM;
	w->nr_nodes++;
	return 0;
}

/* ---- names ---- */

static s64 frame_at(struct top_window *w, const char *name, const char *module, unsigned kind)
{
	s64 n = strtab_add(&w->strings, name, strlen(name));
	s64 m = strtab_add(&w->strings, module, strlen(module));
	if (n < 0 || m < 0)
		return -ENOMEM;
	u64 key = hash_u64((u64)n << 32 | (u64)m) ^ hash_u64(kind + 1);
	u32 fresh = (u32)w->frames.nr, got;
	for (;; key++) {
		int err = dict_add(&w->frame_of, key, fresh, &got);
		if (err)
			return err;
		const struct top_frame *have = got == fresh ? NULL : &w->frames.at[got];
		if (!have || (have->name == (u32)n && have->module == (u32)m && have->kind == kind))
			break;
	}
	if (got < fresh)
		return got;
	struct top_frame *made = vec_push(&w->frames);
	if (!made)
		return -ENOMEM;
	*made = (struct top_frame){ .name = (u32)n, .module = (u32)m, .kind = (u8)kind };
	return fresh;
}

static enum flame_kind kind_of(const struct name_func *f, const struct image_info *image)
{
	if (f->mode == FRAME_MARK)
		return FLAME_MARK;
	if (f->inlined)
		return FLAME_INLINED;
	bool kernel = f->mode == FRAME_KERNEL || f->mode == FRAME_GUEST_KERNEL;
	if (!f->name)
		return kernel ? FLAME_KERNEL : FLAME_UNKNOWN;
	if (image && (image->kind == IMAGE_KIND_ANON || image->kind == IMAGE_KIND_BPF))
		return FLAME_JIT;
	return kernel ? FLAME_KERNEL : FLAME_USER;
}

/* Code without a symbol goes by its module, as in `flame`. */
static s64 named_frame(struct top_window *w, const struct top_naming *n, u32 id)
{
	const struct name_func *f = &n->named->funcs[n->named->func_of[id]];
	const struct image_info *image = f->image && f->image < n->catalog->images.nr
						 ? &n->catalog->images.at[f->image]
						 : NULL;
	const char *module = image && image->name ? image->name : "";
	char unnamed[256];
	(void)snprintf(unnamed, sizeof(unnamed), *module == '[' ? "%s" : "[%s]",
		       *module ? module : "unknown");
	if (f->mode == FRAME_MARK)
		return frame_at(w, "[truncated stack]", "", FLAME_MARK);
	return frame_at(w, f->name ? f->name : unnamed, module, kind_of(f, image));
}

static s64 command_frame(struct top_window *w, const struct top_naming *n, u32 comm)
{
	char unnamed[16];
	const char *text = strtab_str(&n->catalog->strings, comm);
	if (COMM_IS_UNNAMED(comm)) {
		(void)snprintf(unnamed, sizeof(unnamed), ":%d", COMM_TID(comm));
		text = unnamed;
	}
	return frame_at(w, text, "", TOP_KIND_COMMAND);
}

/* ---- stacks ---- */

/* Where a stack is on its way down the tree of the last interval. */
struct descent {
	struct top_window *w;
	struct top_interval *to;
	u32 node;
	bool cut; /* there is no room for what is below */
};

static int go_down(struct descent *d, s64 frame)
{
	u32 fresh = (u32)d->to->nodes.nr, got;
	u64 key = (u64)d->node << 32 | (u64)frame;
	if (frame < 0 || d->cut)
		return (int)min(frame, (s64)0);
	if (fresh >= d->w->limits.nodes) {
		got = dict_get(&d->w->node_of, key);
		d->cut = got == DICT_NONE;
		d->node = d->cut ? d->node : got;
		return 0;
	}
	int err = dict_add(&d->w->node_of, key, fresh, &got);
	if (!err && got == fresh) {
		struct top_node *n = vec_push(&d->to->nodes);
		if (!n)
			return -ENOMEM;
		*n = (struct top_node){ .parent = d->node, .frame = (u32)frame };
		d->w->nr_nodes++;
	}
	d->node = got;
	return err;
}

/* A frame, and the functions that were inlined there. */
static int go_down_frame(struct descent *d, const struct top_naming *n, u32 frame, bool called)
{
	struct name_stack st = names_stack(n->named, frame, called);
	int err = 0;
	for (u32 i = 0; i < st.nr && !err && !d->cut; i++)
		err = go_down(d, named_frame(d->w, n, st.first + i));
	return err;
}

static bool is_hidden(const struct top_naming *n, u32 leaf)
{
	unsigned mode = n->tables->frames.frames[leaf].mode;
	bool kernel = mode == FRAME_KERNEL || mode == FRAME_GUEST_KERNEL;
	return kernel ? n->hide_kernel : n->hide_user;
}

int top_window_add(struct top_window *w, const struct top_naming *n,
		   const struct profile_live_stack *s)
{
	if (is_hidden(n, s->leaf) || (!s->period && !s->count))
		return 0;
	struct descent d = { .w = w, .to = &w->intervals.at[w->intervals.nr - 1] };
	const u32 *row = &s->leaf;
	u32 nr = 1;
	if (s->chain)
		row = chain_frames(&n->tables->chains, s->chain, &nr);
	const char *event =
		s->event < n->catalog->events.nr ? n->catalog->events.at[s->event].name : "";
	int err = go_down(&d, frame_at(w, event ? event : "", "", TOP_KIND_EVENT));
	if (!err && s->comm != PROFILE_LIVE_NO_COMM)
		err = go_down(&d, command_frame(w, n, s->comm));
	for (u32 i = 0; i < min(nr, (u32)DEPTH_MAX) && !err && !d.cut; i++)
		err = go_down_frame(&d, n, row[i], i + 1 < nr);
	d.cut |= nr > DEPTH_MAX;
	if (err)
		return err;
	d.to->nodes.at[d.node].self += s->period;
	d.to->nr_cut += d.cut ? s->count : 0;
	return 0;
}

/* ---- bounds ---- */

int top_window_tidy(struct top_window *w)
{
	if (w->frames.nr <= w->limits.frames)
		return 0;
	struct top_window old = *w;
	u32 *fresh_of = calloc(old.frames.nr, sizeof(*fresh_of));
	int err = fresh_of ? 0 : -ENOMEM;
	if (err)
		return err;
	memset(&w->frames, 0, sizeof(w->frames));
	strtab_init(&w->strings);
	dict_init(&w->frame_of);
	w->generation++;
	err = vec_push(&w->frames) ? 0 : -ENOMEM;
	vec_for_each (&w->intervals, i) {
		for (size_t k = 1; k < i->nodes.nr && !err; k++) {
			const struct top_frame *f = &old.frames.at[i->nodes.at[k].frame];
			u32 *to = &fresh_of[i->nodes.at[k].frame];
			s64 got = *to ? *to
				      : frame_at(w, strtab_str(&old.strings, f->name),
						 strtab_str(&old.strings, f->module), f->kind);
			err = (int)min(got, (s64)0);
			*to = i->nodes.at[k].frame = err ? 0 : (u32)got;
		}
	}
	/* Numbers of the interval that was filled last are others now. */
	dict_done(&w->node_of);
	dict_init(&w->node_of);
	free(fresh_of);
	vec_free(&old.frames);
	strtab_done(&old.strings);
	dict_done(&old.frame_of);
	return err;
}
