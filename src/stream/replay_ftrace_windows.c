/*
 * Windows of time over the pages of all CPUs. The planner, under a lock, says which pages a window has, and unpacks their chunks; the
 * worker that gets the window merges their events by time.
 */
#include "stream/ftrace_samples.h"
#include "stream/replay_ftrace_impl.h"

#include <errno.h>

/* ---- chunks and pages ---- */

static u32 chunk_of(const struct lane *l, u32 page)
{
	const struct tracedat_chunk *k = l->cpu->chunks;
	u32 low = 0, high = l->cpu->nr_chunks, guess = page / l->pages_per_chunk;
	if (guess < high && k[guess].first_page <= page &&
	    (guess + 1 == high || page < k[guess + 1].first_page))
		return guess;
	while (high - low > 1) {
		u32 mid = low + (high - low) / 2;
		if (k[mid].first_page <= page)
			low = mid;
		else
			high = mid;
	}
	return low;
}

const u8 *replay_ftrace_page(const struct lane *l, u32 page, size_t *size)
{
	if (l->cpu->pages) {
		size_t at = (size_t)page * l->page_size;
		*size = min((size_t)l->page_size, l->cpu->pages_size - at);
		return l->cpu->pages + at;
	}
	u32 chunk = chunk_of(l, page);
	size_t at = (size_t)(page - l->cpu->chunks[chunk].first_page) * l->page_size;
	*size = l->page_size;
	return l->held[chunk].data ? l->held[chunk].data + at : NULL;
}

/* Under plan_lock. A chunk that cannot be unpacked counts as pages without events. */
static int hold_chunk(struct replay *r, struct lane *l, u32 chunk)
{
	struct held *h = &l->held[chunk];
	const struct tracedat_chunk *k = &l->cpu->chunks[chunk];
	if (h->data || h->bad)
		return 0;
	if (!budget_bytes(&l->part->file.budget, k->size, "unpacked pages that lie side by side"))
		return -E2BIG;
	h->data = malloc(k->size);
	if (!h->data)
		return -ENOMEM;
	int err = unpack(&l->part->file.unpacker, l->part->file.compression, k->data, k->packed,
			 h->data, k->size);
	if (err) {
		budget_give_back(&l->part->file.budget, k->size);
		free(h->data);
		h->data = NULL;
		h->bad = true;
		r->nr_bad_chunks++;
	}
	l->high_chunk = max(l->high_chunk, chunk + 1);
	return err == -ENOMEM ? err : 0;
}

static void drop_chunk(struct lane *l, u32 chunk)
{
	struct held *h = &l->held[chunk];
	if (!h->users && chunk < l->low_chunk) {
		if (h->data)
			budget_give_back(&l->part->file.budget, l->cpu->chunks[chunk].size);
		free(h->data);
		h->data = NULL;
	}
}

/* The time of a page for planning: 0 when it has no events, so that it never ends a window. */
static int page_time(struct replay *r, struct lane *l, u32 page, u64 *ret)
{
	size_t size;
	if (l->held) {
		int err = hold_chunk(r, l, chunk_of(l, page));
		if (err)
			return err;
	}
	const u8 *p = replay_ftrace_page(l, page, &size);
	const struct page_layout *layout = &l->part->file.layout;
	bool big = l->part->big_endian, empty = !p || ftrace_page_empty(layout, p, size, big);
	*ret = empty ? 0 : to_ns(l, ftrace_page_time(layout, p, size, big));
	return 0;
}

/* ---- the planner ---- */

/* Pages that end before the first time that is wanted are left out, and what follows the last one. */
void replay_ftrace_choose_times(struct replay *r)
{
	const struct source *s = &r->source;
	bool ours = r->needs & NEED_ORDER && !r->serial;
	for (u32 i = 0; i < r->nr_lanes; i++)
		ours &= !r->lanes[i].held; /* to find a page, all before it would be unpacked */
	r->from = r->plan_time = ours ? s->from_ns : 0;
	r->limit = ours && s->until_ns && s->until_ns < UINT64_MAX ? s->until_ns + 1 : UINT64_MAX;
	for (u32 i = 0; i < r->nr_lanes && r->from; i++) {
		struct lane *l = &r->lanes[i];
		u64 time;
		while (l->next < l->nr_pages && !page_time(r, l, l->next, &time) && time < r->from)
			l->next++;
	}
}

static int window_end(struct replay *r, u64 *ret)
{
	u64 end = r->limit, time;
	for (u32 i = 0; i < r->nr_lanes; i++) {
		struct lane *l = &r->lanes[i];
		/* Beyond the first step only in files whose times go backwards, or over pages without events. */
		for (u64 page = (u64)l->next + r->lane_pages; page < l->nr_pages; page++) {
			int err = page_time(r, l, (u32)page, &time);
			if (err)
				return err;
			if (time > r->plan_time) {
				end = min(end, time);
				break;
			}
		}
	}
	*ret = end;
	return 0;
}

/* Gives the lane's part of a window that ends before `end`, and holds its chunks, neighbours included. */
static int plan_lane(struct replay *r, struct lane *l, u64 end, struct span *ret)
{
	struct span s = { .first = l->next };
	u64 time;
	while (l->next < l->nr_pages) {
		int err = page_time(r, l, l->next, &time);
		if (err)
			return err;
		if (time >= end && end != UINT64_MAX)
			break;
		l->next++;
	}
	s.end = l->next;
	if (l->held && l->nr_pages) {
		u32 low = chunk_of(l, s.first >= 2 ? s.first - 2 : 0),
		    high = chunk_of(l, min(s.end, l->nr_pages - 1));
		for (u32 k = low; k <= high; k++) {
			int err = hold_chunk(r, l, k);
			if (err)
				return err;
		}
		for (u32 k = low; k <= high; k++)
			l->held[k].users++;
		s.chunk_low = low;
		s.chunk_high = high;
		u32 keep = chunk_of(l, s.end >= 2 ? s.end - 2 : 0), from = l->low_chunk;
		l->low_chunk = keep;
		for (u32 k = from; k < keep; k++)
			drop_chunk(l, k);
	}
	*ret = s;
	return 0;
}

static void release_spans(struct replay *r, struct shard_state *st)
{
	for (u32 i = 0; i < r->nr_lanes; i++) {
		struct lane *l = &r->lanes[i];
		if (!l->held || !l->nr_pages)
			continue;
		for (u32 k = st->spans[i].chunk_low; k <= st->spans[i].chunk_high; k++) {
			l->held[k].users--;
			drop_chunk(l, k);
		}
	}
	st->in_window = false;
}

/*
 * What is made of a window stays in memory until it is over, and is some times as large. Times that never end a window, or parts of the
 * file that are told again and again, make windows of all pages.
 */
static bool fits_window(struct replay *r, u32 lane, const struct span *s, u64 *room)
{
	u64 size = (u64)(s->end - s->first) * r->lanes[lane].page_size;
	if (size > *room)
		return budget_bytes(&r->lanes[lane].part->file.budget, UINT64_MAX,
				    "what was recorded at one time");
	*room -= size;
	return true;
}

static u64 window_room(const struct replay *r)
{
	enum { ALWAYS = 4 << 20, A_BYTE = 4 };
	u64 room = ALWAYS;
	for (u32 i = 0; i < r->nr_parts; i++)
		room += A_BYTE * r->parts[i].file.budget.size;
	return room;
}

static int plan_window(struct replay *r, struct shard_state *st)
{
	u64 room = window_room(r);
	int err = window_end(r, &st->end);
	if (err)
		return err;
	st->start = r->plan_time;
	for (u32 i = 0; i < r->nr_lanes; i++) {
		err = plan_lane(r, &r->lanes[i], st->end, &st->spans[i]);
		if (!err && !fits_window(r, i, &st->spans[i], &room))
			err = -E2BIG;
		if (err)
			return err;
	}
	r->plan_time = st->end;
	r->plan_done = st->end >= r->limit;
	st->in_window = true;
	return 1;
}

/* ---- walking a window ---- */

static bool open_page(struct cursor *c, const struct lane *l, u32 page)
{
	size_t size;
	const u8 *p = replay_ftrace_page(l, page, &size);
	c->page = page;
	if (!p || ftrace_page_open(&c->walk, &l->part->file.layout, p, size, l->part->big_endian)) {
		c->walk = (struct ftrace_page){ 0 };
		return false;
	}
	c->pending_missed = c->walk.missed;
	return true;
}

/* The next event of the lane, across pages, not beyond page `limit`. */
static bool fetch(struct replay *r, struct cursor *c, const struct lane *l, u32 limit,
		  struct spot *ret)
{
	while (!ftrace_page_next(&c->walk, &ret->e)) {
		if (c->walk.bad)
			atomic_fetch_add(&r->nr_bad_pages, 1);
		if (c->page >= limit || c->page + 1 >= l->nr_pages)
			return false;
		(void)open_page(c, l, c->page + 1);
	}
	ret->e.time = to_ns(l, ret->e.time);
	ret->page = c->page;
	ret->missed = c->pending_missed;
	c->pending_missed = 0;
	return true;
}

/* The next event with its stacks. The kernel writes them right after it. */
static bool join(struct replay *r, struct cursor *c, const struct lane *l, u32 limit,
		 struct spot *ret)
{
	if (c->has_ahead)
		*ret = c->ahead;
	else if (!fetch(r, c, l, limit, ret))
		return false;
	ret->kernel = ret->user = (struct ftrace_event){ 0 };
	do
		c->has_ahead = fetch(r, c, l, limit, &c->ahead);
	while (c->has_ahead && ftrace_samples_join(l->part, ret, &c->ahead));
	return true;
}

static inline bool fetch_joined(struct replay *r, struct cursor *c, const struct lane *l, u32 limit,
				struct spot *ret)
{
	return likely(!r->joins) ? fetch(r, c, l, limit, ret) : join(r, c, l, limit, ret);
}

static bool in_span(const struct span *s, const struct spot *spot, u64 end)
{
	return spot->page + 1 < s->end ||
	       (spot->page + 1 == s->end && (spot->e.time < end || end == UINT64_MAX));
}

static void last_of_page(struct cursor *c, const struct lane *l, u32 page)
{
	struct ftrace_event e;
	if (!open_page(c, l, page))
		return;
	while (ftrace_page_next(&c->walk, &e)) {
		c->prev = e.data;
		c->prev_size = e.size;
	}
}

/* Sets the cursor on the first event of the window; false: none. */
static bool seek(struct replay *r, struct shard_state *st, u32 index, struct cursor *c)
{
	const struct lane *l = &r->lanes[index];
	const struct span *s = &st->spans[index];
	*c = (struct cursor){ .lane = index };
	c->cur = &c->spots[0];
	c->next = &c->spots[1];
	if (!l->nr_pages || !s->end)
		return false;
	u32 page = s->first ? s->first - 1 : 0;
	if (!open_page(c, l, page))
		c->page = page;
	bool got = fetch_joined(r, c, l, s->end, c->cur);
	if (s->first) {
		/* The page before belongs to earlier windows up to the first event that is not before this one's start. */
		while (got && c->cur->page < s->first && c->cur->e.time < st->start) {
			c->prev = c->cur->e.data;
			c->prev_size = c->cur->e.size;
			got = fetch_joined(r, c, l, s->end, c->cur);
		}
	}
	if (!got || !in_span(s, c->cur, st->end))
		return false;
	if (!c->prev && s->first >= 2 && (r->needs & NEED_NEIGHBOURS)) {
		struct cursor back = { .lane = index };
		last_of_page(&back, l, s->first - 2);
		c->prev = back.prev;
		c->prev_size = back.prev_size;
	}
	c->has_next = fetch_joined(r, c, l, s->end, c->next);
	return true;
}

static inline bool before(const struct cursor *a, const struct cursor *b)
{
	u64 at = a->cur->e.time, bt = b->cur->e.time;
	return at < bt || (at == bt && a->lane < b->lane);
}

static void sift_down(struct shard_state *st, u32 at)
{
	u32 *h = st->heap, nr = st->nr_heap, moving = h[at];
	for (;;) {
		u32 child = 2 * at + 1;
		if (child >= nr)
			break;
		if (child + 1 < nr && before(&st->cursors[h[child + 1]], &st->cursors[h[child]]))
			child++;
		if (!before(&st->cursors[h[child]], &st->cursors[moving]))
			break;
		h[at] = h[child];
		at = child;
	}
	h[at] = moving;
}

static void start_window(struct replay *r, struct shard_state *st)
{
	st->nr_heap = 0;
	for (u32 i = 0; i < r->nr_lanes; i++)
		if (seek(r, st, i, &st->cursors[i]))
			st->heap[st->nr_heap++] = i;
	for (u32 i = st->nr_heap / 2; i-- > 0;)
		sift_down(st, i);
}

static bool advance(struct replay *r, struct shard_state *st, struct cursor *c)
{
	const struct span *s = &st->spans[c->lane];
	c->prev = c->cur->e.data;
	c->prev_size = c->cur->e.size;
	if (!c->has_next || !in_span(s, c->next, st->end))
		return false;
	struct spot *done = c->cur;
	c->cur = c->next;
	c->next = done;
	c->has_next = fetch_joined(r, c, &r->lanes[c->lane], s->end, done);
	return true;
}

/* ---- blocks and batches ---- */

static inline u32 comm_of(const struct replay_ftrace_part *p, struct cursor *c, s32 pid)
{
	if (likely(c->has_comm && c->comm_pid == pid))
		return c->comm;
	u32 comm = ftrace_env_comm_index(&p->env, pid);
	c->has_comm = true;
	c->comm_pid = pid;
	c->comm = comm == DICT_NONE ? COMM_UNNAMED(pid) : p->comm_ids[comm];
	return c->comm;
}

static void fill_sample(struct replay *r, struct cursor *c, struct sample *s)
{
	const struct lane *l = &r->lanes[c->lane];
	struct replay_ftrace_part *p = l->part;
	const u8 *data = c->cur->e.data;
	u32 size = c->cur->e.size;
	s32 pid;
	u32 id = load_common(p, &c->cur->e, &pid);
	const struct event_def *def = def_of(p, id);
	if (unlikely(def->no_task))
		pid = -1;
	s->time_ns = c->cur->e.time;
	s->id = id;
	s->event = def->event;
	s->schema = def->schema;
	s->cpu = (s32)l->cpu->cpu;
	s->pid = s->tid = pid;
	if (r->needs & NEED_COMM)
		s->comm = comm_of(p, c, pid);
	s->raw = data;
	s->raw_size = size;
	s->missed = c->cur->missed;
	s->buffer = l->buffer;
	s->prev_raw = c->prev;
	s->prev_size = c->prev_size;
	s->next_raw = c->has_next ? c->next->e.data : NULL;
	s->next_size = c->has_next ? c->next->e.size : 0;
}

bool replay_ftrace_before(struct source *src, const struct sample *s, struct sample *ret)
{
	struct replay *r = replay_of(src);
	if (!s->prev_raw)
		return false;
	u32 i = r->nr_parts - 1;
	while (i && r->parts[i].first_buffer > s->buffer)
		i--;
	struct replay_ftrace_part *p = &r->parts[i];
	struct ftrace_event e = { .data = s->prev_raw, .size = s->prev_size };
	*ret = *s;
	s32 pid;
	ret->id = load_common(p, &e, &pid);
	const struct event_def *def = def_of(p, ret->id);
	ret->event = def->event;
	ret->schema = def->schema;
	ret->pid = ret->tid = def->no_task ? -1 : pid;
	u32 comm = ftrace_env_comm_index(&p->env, ret->tid);
	ret->comm = comm == DICT_NONE ? COMM_UNNAMED(ret->tid) : p->comm_ids[comm];
	ret->raw = s->prev_raw;
	ret->raw_size = s->prev_size;
	ret->prev_raw = NULL;
	return true;
}

int replay_ftrace_next_batch(struct source *src, struct shard *sh, struct batch *ret)
{
	struct replay *r = replay_of(src);
	struct shard_state *st = sh->impl;
	u32 nr = 0;
	st->places.nr = 0;
	while (nr < BATCH_MAX && st->nr_heap) {
		struct cursor *lead = &st->cursors[st->heap[0]];
		/* The leader goes on until another one's event comes first. */
		const struct cursor *rival = st->nr_heap > 1 ? &st->cursors[st->heap[1]] : NULL;
		if (st->nr_heap > 2 && before(&st->cursors[st->heap[2]], rival))
			rival = &st->cursors[st->heap[2]];
		bool more;
		do {
			fill_sample(r, lead, &st->samples[nr]);
			int kept =
				r->samples ? ftrace_samples_next(r, sh, lead, &st->samples[nr]) : 1;
			if (unlikely(kept < 0))
				return kept;
			nr += (u32)kept;
			more = advance(r, st, lead);
		} while (more && nr < BATCH_MAX && (!rival || before(lead, rival)));
		if (!more)
			st->heap[0] = st->heap[--st->nr_heap];
		if (st->nr_heap)
			sift_down(st, 0);
	}
	/* The array may have moved while it grew. */
	const struct sample_place *place = st->places.at;
	for (u32 i = 0; i < nr && st->places.nr; i++) {
		st->samples[i].places = st->samples[i].nr_places ? place : NULL;
		place += st->samples[i].nr_places;
	}
	*ret = (struct batch){ .samples = st->samples, .nr = nr };
	return nr ? 1 : 0;
}

int replay_ftrace_next_block(struct source *src, struct shard *sh, u64 *seq)
{
	struct replay *r = replay_of(src);
	struct shard_state *st = sh->impl;
	if (r->serial && !st->owner)
		return 0;
	pthread_mutex_lock(&r->plan_lock);
	if (st->in_window)
		release_spans(r, st);
	int got = r->plan_done ? 0 : plan_window(r, st);
	if (got > 0)
		*seq = r->plan_seq++;
	pthread_mutex_unlock(&r->plan_lock);
	if (got > 0)
		start_window(r, st);
	return got;
}

static void free_state(struct replay *r, struct shard_state *st)
{
	for (u32 i = 0; st->known && i < r->nr_parts; i++)
		dict_done(&st->known[i]);
	free(st->known);
	vec_free(&st->places);
	free(st->spans);
	free(st->cursors);
	free(st->heap);
	free(st);
}

int replay_ftrace_shard_open(struct source *src, struct shard *sh)
{
	struct replay *r = replay_of(src);
	struct shard_state *st = calloc(1, sizeof(*st));
	sh->impl = st;
	if (!st)
		return -ENOMEM;
	u32 nr = max(r->nr_lanes, 1u);
	st->spans = calloc(nr, sizeof(*st->spans));
	st->cursors = calloc(nr, sizeof(*st->cursors));
	st->heap = calloc(nr, sizeof(*st->heap));
	st->known = calloc(r->nr_parts, sizeof(*st->known));
	st->owner = !r->nr_shards++;
	for (u32 i = 0; i < BATCH_MAX; i++)
		st->samples[i].period = 1;
	for (u32 i = 0; st->known && i < r->nr_parts; i++)
		dict_init(&st->known[i]);
	if (st->spans && st->cursors && st->heap && st->known)
		return 0;
	free_state(r, st);
	return -ENOMEM;
}

void replay_ftrace_shard_close(struct source *src, struct shard *sh)
{
	struct replay *r = replay_of(src);
	struct shard_state *st = sh->impl;
	if (st->in_window) {
		pthread_mutex_lock(&r->plan_lock);
		release_spans(r, st);
		pthread_mutex_unlock(&r->plan_lock);
	}
	free_state(r, st);
}

/* ---- ends ---- */

/* The first event of a page (last: its last one). */
static bool page_event(struct lane *l, u32 page, bool last, u64 *ret)
{
	struct cursor c = { 0 };
	struct ftrace_event e;
	bool found = false;
	if (!open_page(&c, l, page))
		return false;
	while (ftrace_page_next(&c.walk, &e)) {
		*ret = to_ns(l, e.time);
		found = true;
		if (!last)
			break;
	}
	return found;
}

static int lane_ends(struct replay *r, struct lane *l, struct replay_ftrace_ends *ret)
{
	bool found[2] = { false, false };
	for (unsigned last = 0; last < 2; last++) {
		for (u32 i = 0; i < l->nr_pages && !found[last]; i++) {
			u32 page = last ? l->nr_pages - 1 - i : i;
			u64 time;
			int err = page_time(r, l, page, &time);
			if (err)
				return err;
			found[last] =
				page_event(l, page, last, last ? &ret->last_ns : &ret->first_ns);
		}
	}
	return found[0] && found[1];
}

int replay_ftrace_ends(struct source *s, int (*fn)(void *ctx, const struct replay_ftrace_ends *e),
		       void *ctx)
{
	struct replay *r = replay_of(s);
	for (u32 i = 0; i < r->nr_lanes; i++) {
		struct lane *l = &r->lanes[i];
		struct replay_ftrace_ends e = { .buffer = l->buffer, .cpu = l->cpu->cpu };
		int got = lane_ends(r, l, &e);
		if (got > 0)
			got = fn(ctx, &e);
		if (got < 0)
			return got;
	}
	return 0;
}
