/* What is mapped where in an address space, over time. */
#include "stream/tasks_impl.h"

#include <errno.h>
#include <string.h>

enum { TIDY_MAPS = 64 };

/*
 * Generations of forks without exec, each with maps of its own, that a look-up goes up. A child of a process that mapped nothing
 * itself hangs below that one's parent, so real systems stay far below this.
 */
enum { MAX_DEPTH = 512 };

/* Events come in time order. */
static int note_moment(struct space *s, u64 time)
{
	if (s->moments.nr && s->moments.at[s->moments.nr - 1] >= time)
		return 0;
	u64 *moment = vec_push(&s->moments);
	if (moment)
		*moment = time;
	return moment ? 0 : -ENOMEM;
}

/*
 * The record of the kernel ends at the end of its code proper; code that ran while booting lies after it, and the addresses of
 * modules have records of their own, which are newer (but for guests: perf records their modules first).
 */
static u64 map_end(const struct tasks *t, const struct event *e)
{
	const struct image_info *image = &t->catalog->images.at[e->image];
	bool open = image->kind == IMAGE_KIND_KERNEL && !image->guest;
	return open || e->len > UINT64_MAX - e->addr ? UINT64_MAX : e->addr + e->len;
}

int tasks_add_map(struct tasks *t, u32 space, const struct event *e)
{
	if (!e->len)
		return 0;
	struct space *s = &t->spaces.at[space];
	struct tasks_map *m = vec_push(&s->maps);
	u32 *dirty = s->dirty ? &space : vec_push(&t->dirty);
	if (!m || !dirty || note_moment(s, e->time))
		return -ENOMEM;
	*dirty = space;
	s->dirty = true;
	*m = (struct tasks_map){
		.start = e->addr,
		.end = map_end(t, e),
		.from = e->time,
		.pgoff = e->pgoff,
		.image = e->image,
		.seq = e->seq,
	};
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct tasks_map *l = a, *r = b;
	if (l->start != r->start)
		return l->start < r->start ? -1 : 1;
	return l->seq < r->seq ? -1 : l->seq > r->seq;
}

static int by_moment(const void *a, const void *b)
{
	const struct tasks_map *l = a, *r = b;
	if (l->from != r->from)
		return l->from < r->from ? -1 : 1;
	return l->seq < r->seq ? -1 : l->seq > r->seq;
}

static int by_value(const void *a, const void *b)
{
	u64 l = *(const u64 *)a, r = *(const u64 *)b;
	return l < r ? -1 : l > r;
}

/* The segment that holds an address; nr_segments and above: none. */
static u32 segment_of(const struct stab *s, u64 addr)
{
	u32 lo = 0, hi = s->nr_segments + 1;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (s->cuts[mid] <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1; /* before the first: wraps to a large number */
}

/* Calls each node that makes up the map's range: counts notes (fill false), then writes them. */
static void note_map(struct stab *s, const struct tasks_map *m, u32 index, u32 *at, bool fill)
{
	u32 l = segment_of(s, m->start) + s->nr_segments, r = segment_of(s, m->end) + s->nr_segments;
	for (; l < r; l /= 2, r /= 2) {
		u32 nodes[2], nr = 0;
		if (l & 1)
			nodes[nr++] = l++;
		if (r & 1)
			nodes[nr++] = --r;
		for (u32 i = 0; i < nr; i++) {
			if (fill)
				s->notes[at[nodes[i]]] = index;
			at[nodes[i]]++;
		}
	}
}

static int build_stab(struct space *sp)
{
	struct stab *s = &sp->stab;
	size_t nr = sp->maps.nr, cuts = 0;
	if (nr > UINT32_MAX / 128)
		return -ENOMEM;
	s->cuts = malloc(2 * nr * sizeof(*s->cuts));
	if (!s->cuts)
		return -ENOMEM;
	vec_for_each (&sp->maps, m) {
		s->cuts[cuts++] = m->start;
		s->cuts[cuts++] = m->end;
	}
	qsort(s->cuts, cuts, sizeof(*s->cuts), by_value);
	size_t kept = 1;
	for (size_t i = 1; i < cuts; i++)
		if (s->cuts[i] != s->cuts[kept - 1])
			s->cuts[kept++] = s->cuts[i];
	s->nr_segments = (u32)kept - 1;

	s->first = calloc(2 * (size_t)s->nr_segments + 2, sizeof(*s->first));
	if (!s->first)
		return -ENOMEM;
	u32 *count = s->first +
		     1; /* so that the sums end up one place further: where each node begins */
	for (size_t i = 0; i < nr; i++)
		note_map(s, &sp->maps.at[i], (u32)i, count, false);
	for (u32 n = 0; n < 2 * s->nr_segments; n++)
		count[n] += n ? count[n - 1] : 0;
	u32 total = count[2 * s->nr_segments - 1];
	s->notes = malloc((total + 1ull) * sizeof(*s->notes));
	u32 *at = malloc((2ull * s->nr_segments + 1) * sizeof(*at));
	if (!s->notes || !at) {
		free(at);
		return -ENOMEM;
	}
	memcpy(at, s->first, 2ull * s->nr_segments * sizeof(*at));
	for (size_t i = 0; i < nr; i++)
		note_map(s, &sp->maps.at[i], (u32)i, at, true);
	free(at);
	return 0;
}

static void free_stab(struct space *s)
{
	free(s->stab.cuts);
	free(s->stab.first);
	free(s->stab.notes);
	s->stab = (struct stab){ 0 };
}

void tasks_space_done(struct space *s)
{
	vec_free(&s->maps);
	vec_free(&s->moments);
	free_stab(s);
	*s = (struct space){ 0 };
}

static int sort_space(struct space *s)
{
	bool overlap = false;
	free_stab(s);
	qsort(s->maps.at, s->maps.nr, sizeof(*s->maps.at), by_start);
	for (size_t i = 1; i < s->maps.nr && !overlap; i++)
		overlap = s->maps.at[i].start < s->maps.at[i - 1].end;
	if (!overlap)
		return 0;
	qsort(s->maps.at, s->maps.nr, sizeof(*s->maps.at), by_moment);
	return build_stab(s);
}

/* The newest note of a node, at a time: index + 1 of a map, 0: none. *until: when the next one comes. */
static u32 newest_note(const struct space *s, u32 node, u64 time, u64 *until)
{
	u32 lo = s->stab.first[node], end = s->stab.first[node + 1], hi = end, start = lo;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (s->maps.at[s->stab.notes[mid]].from <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < end)
		*until = min(*until, s->maps.at[s->stab.notes[lo]].from);
	return lo > start ? s->stab.notes[lo - 1] + 1 : 0;
}

static const struct tasks_map *stab_find(const struct space *s, u64 addr, u64 time, u64 *until)
{
	u32 segment = segment_of(&s->stab, addr), best = 0;
	if (segment >= s->stab.nr_segments)
		return NULL;
	for (u32 node = segment + s->stab.nr_segments; node; node /= 2) {
		u32 found = newest_note(s, node, time, until);
		best = max(best, found); /* maps are in time order */
	}
	return best ? &s->maps.at[best - 1] : NULL;
}

static const struct tasks_map *plain_find(const struct space *s, u64 addr, u64 time, u64 *until)
{
	size_t lo = 0, hi = s->maps.nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->maps.at[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	const struct tasks_map *m = lo ? &s->maps.at[lo - 1] : NULL;
	if (!m || m->end <= addr)
		return NULL;
	if (m->from <= time)
		return m;
	*until = min(*until, m->from);
	return NULL;
}

/* The newest map that covers addr at that time; *until is narrowed to when another one comes. */
static const struct tasks_map *space_find(const struct space *s, u64 addr, u64 time, u64 *until)
{
	return s->stab.cuts ? stab_find(s, addr, time, until) : plain_find(s, addr, time, until);
}

/* ---- what was replaced ---- */

/* Moments before the last one that is over: nobody asks about them any more. They keep their numbers. */
static void forget_moments(struct space *s, u64 time)
{
	u32 nr = 0;
	while (nr + 1 < s->moments.nr && s->moments.at[nr + 1] <= time)
		nr++;
	s->moments.nr -= nr;
	memmove(s->moments.at, s->moments.at + nr, s->moments.nr * sizeof(*s->moments.at));
	s->first_moment += nr;
}

/* Maps that are under newer ones at this time, wherever one looks. */
static int forget_maps(struct space *s, u64 time)
{
	_cleanup_free_ bool *seen = calloc(s->maps.nr, sizeof(*seen));
	size_t to = 0;
	if (!seen)
		return -ENOMEM;
	for (u32 i = 0; i < s->stab.nr_segments; i++) {
		u64 until = UINT64_MAX;
		const struct tasks_map *m = stab_find(s, s->stab.cuts[i], time, &until);
		if (m)
			seen[m - s->maps.at] = true;
	}
	for (size_t i = 0; i < s->maps.nr; i++)
		if (seen[i] || s->maps.at[i].from > time)
			s->maps.at[to++] = s->maps.at[i];
	s->maps.nr = to;
	return 0;
}

/* The oldest time that anybody may still ask about. Children ask for what was mapped when they were forked. */
static u64 oldest_asked(const struct tasks *t, u32 space)
{
	u64 time = t->until - 1;
	for (size_t i = 0; i < t->spaces.nr && t->spaces.at[space].nr_children; i++)
		if (t->spaces.at[i].parent == space)
			time = min(time, t->spaces.at[i].forked);
	return time;
}

static int tidy(struct tasks *t, u32 space)
{
	struct space *s = &t->spaces.at[space];
	if (s->maps.nr < max(s->tidy_at, (size_t)TIDY_MAPS))
		return 0;
	u64 time = oldest_asked(t, space);
	int err = s->stab.cuts ? forget_maps(s, time) : 0;
	if (!err)
		err = sort_space(s);
	forget_moments(s, time);
	s->tidy_at = 2 * s->maps.nr;
	return err;
}

int tasks_seal_spaces(struct tasks *t)
{
	int err = 0;
	for (size_t i = 0; i < t->dirty.nr && !err; i++) {
		struct space *s = &t->spaces.at[t->dirty.at[i]];
		err = s->maps.nr ? sort_space(s) : 0;
		if (!err && t->rounds && t->until)
			err = tidy(t, t->dirty.at[i]);
		s->dirty = false;
	}
	t->dirty.nr = 0;
	return err;
}

void tasks_epoch(const struct tasks *t, u32 space, u64 time, struct tasks_epoch *ret)
{
	const struct space *s = &t->spaces.at[space];
	u32 lo = 0, hi = (u32)s->moments.nr;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (s->moments.at[mid] <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret = (struct tasks_epoch){
		.space = space,
		.meaning = hash_u64((u64)s->serial << 32 | (s->first_moment + lo)),
		.from = lo ? s->moments.at[lo - 1] : 0,
		.until = lo < s->moments.nr ? s->moments.at[lo] : t->until,
	};
}

void tasks_find(const struct tasks *t, u32 space, u64 addr, u64 time, struct tasks_place *ret)
{
	*ret = (struct tasks_place){ .image = IMAGE_NONE, .offset = addr, .until = t->until };
	if (space == SPACE_NONE)
		return;
	const struct tasks_map *m = space_find(&t->spaces.at[space], addr, time, &ret->until);
	/* What a parent maps after the fork is not ours, so that the answer holds for all times to come. */
	u64 at = t->spaces.at[space].forked, later;
	unsigned depth = 0;
	for (u32 s = t->spaces.at[space].parent; s && !m && depth < MAX_DEPTH;
	     s = t->spaces.at[s].parent, depth++) {
		m = space_find(&t->spaces.at[s], addr, min(at, time), &later);
		at = min(at, t->spaces.at[s].forked);
	}
	if (!m)
		return;
	ret->from = m->from;
	if (m->image == IMAGE_NONE)
		return;
	ret->image = m->image;
	if (t->catalog->images.at[m->image].kind == IMAGE_KIND_FILE ||
	    t->catalog->images.at[m->image].kind == IMAGE_KIND_VDSO)
		ret->offset = addr - m->start + m->pgoff;
}
