#include "stream/replay_ftrace.h"

#include "stream/ftrace_samples.h"
#include "stream/replay_ftrace_impl.h"

#include <errno.h>

static struct replay *replay_of(const struct source *s)
{
	return container_of(s, struct replay, source);
}

u64 replay_ftrace_scale_ns(const struct part *p, u64 time)
{
	const struct timebase *tb = &p->times;
	time += (u64)p->ts_offset;
	if (tb->mult)
		time = (u64)(((unsigned __int128)time * tb->mult) >> tb->shift);
	return time + (u64)tb->offset_ns - p->replay->zero_ns;
}

static void set_times(struct replay *r)
{
	for (u32 i = 0; i < r->nr_lanes; i++) {
		struct lane *l = &r->lanes[i];
		l->scaled = l->part->times.mult;
		l->add_ns = l->scaled ? 0 : replay_ftrace_scale_ns(l->part, 0);
	}
}

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
	h->data = malloc(k->size);
	if (!h->data)
		return -ENOMEM;
	int err = unpack(&l->part->file.unpacker, l->part->file.compression, k->data, k->packed,
			 h->data, k->size);
	if (err) {
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

static int window_end(struct replay *r, u64 *ret)
{
	u64 end = UINT64_MAX, time;
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

static int plan_window(struct replay *r, struct shard_state *st)
{
	int err = window_end(r, &st->end);
	if (err)
		return err;
	st->start = r->plan_time;
	for (u32 i = 0; i < r->nr_lanes; i++) {
		err = plan_lane(r, &r->lanes[i], st->end, &st->spans[i]);
		if (err)
			return err;
	}
	r->plan_time = st->end;
	r->plan_done = st->end == UINT64_MAX;
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

/* The next event with its stacks. The kernel writes them right behind it. */
static bool fetch_joined(struct replay *r, struct cursor *c, const struct lane *l, u32 limit,
			 struct spot *ret)
{
	if (likely(!r->joins))
		return fetch(r, c, l, limit, ret);
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
	if (!l->nr_pages || !s->end)
		return false;
	u32 page = s->first ? s->first - 1 : 0;
	if (!open_page(c, l, page))
		c->page = page;
	bool got = fetch_joined(r, c, l, s->end, &c->cur);
	if (s->first) {
		/* The page before belongs to earlier windows up to the first event that is not before this one's start. */
		while (got && c->cur.page < s->first && c->cur.e.time < st->start) {
			c->prev = c->cur.e.data;
			c->prev_size = c->cur.e.size;
			got = fetch_joined(r, c, l, s->end, &c->cur);
		}
	}
	if (!got || !in_span(s, &c->cur, st->end))
		return false;
	if (!c->prev && s->first >= 2 && (r->needs & NEED_NEIGHBOURS)) {
		struct cursor back = { .lane = index };
		last_of_page(&back, l, s->first - 2);
		c->prev = back.prev;
		c->prev_size = back.prev_size;
	}
	c->has_next = fetch_joined(r, c, l, s->end, &c->next);
	return true;
}

static inline bool before(const struct cursor *a, const struct cursor *b)
{
	return a->cur.e.time < b->cur.e.time ||
	       (a->cur.e.time == b->cur.e.time && a->lane < b->lane);
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
	c->prev = c->cur.e.data;
	c->prev_size = c->cur.e.size;
	if (!c->has_next || !in_span(s, &c->next, st->end))
		return false;
	c->cur = c->next;
	c->has_next = fetch_joined(r, c, &r->lanes[c->lane], s->end, &c->next);
	return true;
}

/* ---- events ---- */

static int print_event(const struct schema *s, const void *raw, u32 size, struct strbuf *to)
{
	const struct event_def *def = s->impl;
	size_t before = to->len;
	int err = print_prog_run(def->prog, raw, size, to);
	/* What programs write to trace_marker ends in a line end of its own. */
	if (def->part->replay->samples && to->len > before && to->data[to->len - 1] == '\n')
		to->len--;
	return err;
}

static int print_event_fields(const struct schema *s, const void *raw, u32 size, struct strbuf *to)
{
	const struct event_def *def = s->impl;
	return print_prog_run_fields(def->prog, raw, size, to);
}

static const struct schema_ops event_ops = { .print = print_event,
					     .print_fields = print_event_fields };

static struct event_def *make_def(struct part *p, u32 id)
{
	struct replay *r = p->replay;
	u32 index = p->format_of[id];
	if (!index)
		return NULL;
	const struct tracedat_format *f = &p->file.formats.at[index - 1];
	struct event_def *def = arena_zalloc(&r->defs_arena, sizeof(*def));
	bool whole;
	if (!def)
		return NULL;
	def->event = r->samples ? p->event_of[index - 1] - 1 : p->first_event + index - 1;
	def->part = p;
	bool plain = r->plain && r->plain(r->ctx, f->system, f->name);
	int err = format_parse(&r->defs_arena, f->system, f->text.data, f->text.len, p->big_endian,
			       p->file.long_size, &def->schema, NULL);
	if (!err)
		err = print_prog_compile(&r->defs_arena, def->schema, &p->env.print,
					 plain ? PRINT_STYLE_KERNEL : r->style, &def->prog, &whole,
					 NULL);
	if (err)
		return NULL;
	def->schema->ops = &event_ops;
	def->schema->impl = def;
	return def;
}

const struct event_def replay_ftrace_no_def = { .event = UINT32_MAX };

const struct event_def *replay_ftrace_slow_def(struct part *p, u32 id)
{
	pthread_mutex_lock(&p->replay->defs_lock);
	const struct event_def *def = atomic_load_explicit(&p->defs[id], memory_order_relaxed);
	if (!def) {
		def = make_def(p, id);
		if (!def)
			def = &replay_ftrace_no_def;
		atomic_store_explicit(&p->defs[id], def, memory_order_release);
	}
	pthread_mutex_unlock(&p->replay->defs_lock);
	return def;
}

static struct part *part_of_event(const struct replay *r, u32 event, u32 *format)
{
	u32 i = r->nr_parts - 1;
	if (r->samples) {
		*format = r->refs.at[event].format;
		return &r->parts[r->refs.at[event].part];
	}
	while (i && r->parts[i].first_event > event)
		i--;
	*format = event - r->parts[i].first_event;
	return &r->parts[i];
}

const struct tracedat_format *replay_ftrace_format(const struct source *s, u32 event)
{
	u32 format;
	const struct part *p = part_of_event(replay_of(s), event, &format);
	return &p->file.formats.at[format];
}

const struct schema *replay_ftrace_schema(struct source *s, u32 event)
{
	u32 format;
	struct part *p = part_of_event(replay_of(s), event, &format);
	return def_of(p, p->file.formats.at[format].id)->schema;
}

static inline u32 comm_of(const struct part *p, struct cursor *c, s32 pid)
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
	struct part *p = l->part;
	const u8 *data = c->cur.e.data;
	u32 size = c->cur.e.size;
	s32 pid;
	u32 id = load_common(p, &c->cur.e, &pid);
	const struct event_def *def = def_of(p, id);
	s->time_ns = c->cur.e.time;
	s->id = id;
	s->event = def->event;
	s->schema = def->schema;
	s->cpu = (s32)l->cpu->cpu;
	s->pid = s->tid = pid;
	if (r->needs & NEED_COMM)
		s->comm = comm_of(p, c, pid);
	s->raw = data;
	s->raw_size = size;
	s->missed = c->cur.missed;
	s->buffer = l->buffer;
	s->prev_raw = c->prev;
	s->prev_size = c->prev_size;
	s->next_raw = c->has_next ? c->next.e.data : NULL;
	s->next_size = c->has_next ? c->next.e.size : 0;
}

/* ---- the source ---- */

static int next_batch(struct source *src, struct shard *sh, struct batch *ret)
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

static int next_block(struct source *src, struct shard *sh, u64 *seq)
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
	calls_done(&st->calls);
	vec_free(&st->places);
	free(st->spans);
	free(st->cursors);
	free(st->heap);
	free(st);
}

static int shard_open(struct source *src, struct shard *sh)
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

static void shard_close(struct source *src, struct shard *sh)
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

static int load_catalog_comms(struct part *p)
{
	u32 nr = ftrace_env_nr_comms(&p->env);
	p->comm_ids = calloc(max(nr, 1u), sizeof(*p->comm_ids));
	if (!p->comm_ids)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		s64 id = strtab_add(&p->replay->source.catalog.strings, p->env.comm_texts[i],
				    strlen(p->env.comm_texts[i]));
		if (id < 0)
			return (int)id;
		p->comm_ids[i] = (u32)id;
	}
	return 0;
}

bool replay_ftrace_has_chains(const struct source *s)
{
	return replay_of(s)->has_chains;
}

static int prepare_part(struct part *p)
{
	struct catalog *c = &p->replay->source.catalog;
	if (!vec_reserve(&c->events, c->events.nr + p->file.formats.nr))
		return -ENOMEM;
	vec_for_each (&p->file.formats, f) {
		struct event_info *e = vec_push(&c->events);
		*e = (struct event_info){ .name = f->name, .config = f->id };
	}
	return 0;
}

/* A source may be run again. */
static void plan_anew(struct replay *r)
{
	r->plan_time = r->plan_seq = 0;
	r->plan_done = false;
	r->nr_shards = 0;
	r->nr_bad_pages = 0;
	r->nr_stray = r->nr_unknown = 0;
	for (u32 i = 0; i < r->nr_lanes; i++) {
		struct lane *l = &r->lanes[i];
		l->next = l->low_chunk = 0;
	}
}

static int prepare(struct source *src, unsigned needs, struct diag *d)
{
	struct replay *r = replay_of(src);
	int err = 0;
	r->needs = needs;
	plan_anew(r);
	if (!r->prepared && r->samples)
		err = ftrace_samples_prepare(r);
	for (u32 i = 0; i < r->nr_parts && !r->prepared && !r->samples && !err; i++)
		err = prepare_part(&r->parts[i]);
	r->prepared = !err;
	for (u32 i = 0; i < r->nr_parts && !err && needs & NEED_COMM; i++)
		if (!r->parts[i].comm_ids)
			err = load_catalog_comms(&r->parts[i]);
	return err;
}

static void finish(struct source *src, struct diag *d)
{
	struct replay *r = replay_of(src);
	if (r->nr_bad_pages)
		diag_warn(d, "%llu pages end in something that is no event; their rest is left out",
			  (unsigned long long)r->nr_bad_pages);
	if (r->nr_stray)
		diag_note(d, "%llu stacks do not follow an event of their task and are left out",
			  (unsigned long long)r->nr_stray);
	if (r->nr_unknown)
		diag_warn(d, "%llu events have no format in the file and are left out",
			  (unsigned long long)r->nr_unknown);
	if (r->samples && r->source.catalog.nr_lost_events)
		diag_warn(d, "events were lost %llu times while recording%s",
			  (unsigned long long)r->source.catalog.nr_lost_events,
			  r->serial ? ": calls across a gap are not counted" : "");
	if (r->nr_bad_chunks)
		diag_warn(d, "%llu packed pieces could not be unpacked; their events are missing",
			  (unsigned long long)r->nr_bad_chunks);
}

static void close_source(struct source *src)
{
	struct replay *r = replay_of(src);
	for (u32 i = 0; i < r->nr_lanes; i++) {
		struct lane *l = &r->lanes[i];
		for (u32 k = 0; l->held && k < l->cpu->nr_chunks; k++)
			free(l->held[k].data);
		free(l->held);
	}
	free(r->lanes);
	for (u32 i = 0; i < r->nr_parts; i++) {
		struct part *p = &r->parts[i];
		free(p->comm_ids);
		free(p->seen);
		free(p->event_of);
		if (p->has_frames)
			ftrace_frames_done(&p->frames);
		free(p->format_of);
		free(p->defs);
		if (p->has_env)
			ftrace_env_done(&p->env);
		if (p->is_open)
			tracedat_close(&p->file);
	}
	free(r->parts);
	vec_free(&r->refs);
	arena_done(&r->defs_arena);
	catalog_done(&src->catalog);
	pthread_mutex_destroy(&r->defs_lock);
	pthread_mutex_destroy(&r->plan_lock);
	free(r);
}

static const struct source_ops replay_ops = {
	.prepare = prepare,
	.shard_open = shard_open,
	.shard_close = shard_close,
	.next_block = next_block,
	.next_batch = next_batch,
	.finish = finish,
	.close = close_source,
};

/* ---- opening ---- */

static const char *env_text(void *ctx, enum ftrace_env_text which, size_t *len)
{
	static const enum tracedat_part parts[] = {
		[FTRACE_ENV_KALLSYMS] = TRACEDAT_KALLSYMS,
		[FTRACE_ENV_PRINTK] = TRACEDAT_PRINTK,
		[FTRACE_ENV_CMDLINES] = TRACEDAT_CMDLINES,
	};
	struct part *p = ctx;
	/* The file's unpacker is the planner's while it runs. */
	pthread_mutex_lock(&p->replay->plan_lock);
	struct tracedat_text text = tracedat_text(&p->file, parts[which]);
	pthread_mutex_unlock(&p->replay->plan_lock);
	*len = text.len;
	return text.data;
}

static int add_lanes(struct replay *r, struct part *p, const struct replay_ftrace_opts *o)
{
	vec_for_each (&p->file.buffers, b) {
		for (u32 i = 0; i < b->nr_cpus; i++) {
			const struct tracedat_cpu *c = &b->cpus[i];
			if (!c->nr_pages || (o->cpus && !cpuset_has(o->cpus, c->cpu)))
				continue;
			struct lane *l = &r->lanes[r->nr_lanes++];
			*l = (struct lane){ .part = p,
					    .cpu = c,
					    .buffer =
						    p->first_buffer + (u32)(b - p->file.buffers.at),
					    .page_size = b->page_size,
					    .nr_pages = c->nr_pages };
			if (c->pages)
				continue;
			l->pages_per_chunk = max(c->chunks[0].size / b->page_size, 1u);
			l->held = calloc(c->nr_chunks, sizeof(*l->held));
			if (!l->held)
				return -ENOMEM;
		}
	}
	return 0;
}

static int make_lanes(struct replay *r, const struct replay_ftrace_opts *o)
{
	size_t nr = 0;
	for (u32 i = 0; i < r->nr_parts; i++)
		vec_for_each (&r->parts[i].file.buffers, b)
			nr += b->nr_cpus;
	r->lanes = calloc(max(nr, (size_t)1), sizeof(*r->lanes));
	if (!r->lanes)
		return -ENOMEM;
	int err = 0;
	for (u32 i = 0; i < r->nr_parts && !err; i++)
		err = add_lanes(r, &r->parts[i], o);
	r->lane_pages = o->window_pages
				? o->window_pages
				: max(WINDOW_PAGES / max(r->nr_lanes, 1u), (u32)LANE_PAGES_MIN);
	return err;
}

/* Where type and pid stand is the same in all formats of a kernel; one that has both tells. */
static void find_common_fields(struct part *p)
{
	struct arena a;
	struct schema *s;
	p->type_size = 2;
	p->pid_offset = 4;
	arena_init(&a);
	for (size_t i = 0; i < p->file.formats.nr && i < 8; i++) {
		const struct tracedat_format *f = &p->file.formats.at[i];
		if (format_parse(&a, f->system, f->text.data, f->text.len, p->big_endian,
				 p->file.long_size, &s, NULL) ||
		    s->common_type < 0 || s->common_pid < 0)
			continue;
		const struct schema_field *type = &s->fields[s->common_type],
					  *pid = &s->fields[s->common_pid];
		if ((type->size != 1 && type->size != 2) || pid->size != 4 || type->offset > 4096 ||
		    pid->offset > 4096)
			continue;
		p->type_offset = type->offset;
		p->type_size = type->size;
		p->pid_offset = pid->offset;
		break;
	}
	arena_done(&a);
}

/* The clock's ticks as nanoseconds: ticks * mult >> shift. */
static void set_hz(struct timebase *tb, u64 hz)
{
	tb->shift = 32;
	tb->mult = (u64)(((unsigned __int128)1000000000 << 32) / hz);
}

static void set_timebase(struct part *p, const struct replay_ftrace_input *in,
			 const struct replay_ftrace_opts *o)
{
	struct timebase *tb = &p->times;
	const struct tracedat *f = &p->file;
	*tb = (struct timebase){ .clock_id = TIMEBASE_CLOCK_UNKNOWN,
				 .name = f->clock ? f->clock : "local" };
	if (!o->raw_times) {
		p->ts_offset = in->ts_offset;
		tb->offset_ns = o->no_date ? 0 : f->ts_offset_ns;
		if (f->has_tsc2nsec) {
			tb->mult = f->tsc_mult;
			tb->shift = f->tsc_shift;
			tb->offset_ns += (s64)f->tsc_offset_ns;
		}
		if (in->ts_hz)
			set_hz(tb, in->ts_hz);
	}
	if (p == p->replay->parts)
		p->replay->source.catalog.timebase = *tb;
}

static int open_part(struct replay *r, struct part *p, const struct replay_ftrace_input *in,
		     const struct replay_ftrace_opts *o, struct diag *d)
{
	p->replay = r;
	int err = in->data ? tracedat_open_memory(&p->file, in->path, in->data, in->size, d)
			   : tracedat_open(&p->file, in->path, d);
	if (err)
		return err;
	p->is_open = true;
	p->big_endian = p->file.big_endian;
	p->swap = p->file.swap;
	p->format_of = calloc(IDS_MAX, sizeof(*p->format_of));
	p->defs = calloc(IDS_MAX, sizeof(*p->defs));
	if (!p->format_of || !p->defs)
		return -ENOMEM;
	for (size_t i = 0; i < p->file.formats.nr; i++) {
		u32 id = p->file.formats.at[i].id;
		if (id < IDS_MAX && !p->format_of[id])
			p->format_of[id] = (u32)i + 1;
	}
	find_common_fields(p);
	set_timebase(p, in, o);
	err = ftrace_env_init(&p->env, env_text, p);
	p->has_env = !err;
	return err;
}

/* Each file goes on where the one before it ends. */
static void number_parts(struct replay *r)
{
	for (u32 i = 1; i < r->nr_parts; i++) {
		const struct part *before = &r->parts[i - 1];
		r->parts[i].first_buffer = before->first_buffer + (u32)before->file.buffers.nr;
		r->parts[i].first_event = before->first_event + (u32)before->file.formats.nr;
	}
}

int replay_ftrace_open_files(const struct replay_ftrace_input *in, u32 nr,
			     const struct replay_ftrace_opts *o, struct source **ret, struct diag *d)
{
	struct replay *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->source.ops = &replay_ops;
	r->style = o->style;
	r->samples = o->samples;
	r->calls = o->samples && o->calls;
	r->plain = o->plain;
	r->ctx = o->ctx;
	pthread_mutex_init(&r->defs_lock, NULL);
	pthread_mutex_init(&r->plan_lock, NULL);
	arena_init(&r->defs_arena);
	r->parts = calloc(max(nr, 1u), sizeof(*r->parts));
	int err = catalog_init(&r->source.catalog);
	if (!err && !r->parts)
		err = -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++) {
		r->nr_parts++;
		err = open_part(r, &r->parts[i], &in[i], o, d);
		if (!err)
			r->source.catalog.nr_cpus =
				max(r->source.catalog.nr_cpus, r->parts[i].file.nr_cpus);
	}
	if (!err) {
		number_parts(r);
		err = make_lanes(r, o);
	}
	set_times(r);
	if (err) {
		close_source(&r->source);
		return err;
	}
	*ret = &r->source;
	return 0;
}

int replay_ftrace_open(const char *path, const struct replay_ftrace_opts *opts, struct source **ret,
		       struct diag *d)
{
	return replay_ftrace_open_files(&(struct replay_ftrace_input){ .path = path }, 1, opts, ret,
					d);
}

u32 replay_ftrace_nr_files(const struct source *s)
{
	return replay_of(s)->nr_parts;
}

const struct tracedat *replay_ftrace_file(const struct source *s, u32 file)
{
	return &replay_of(s)->parts[file].file;
}

struct ftrace_env *replay_ftrace_env(struct source *s, u32 file)
{
	return &replay_of(s)->parts[file].env;
}

u32 replay_ftrace_nr_buffers(const struct source *s)
{
	const struct replay *r = replay_of(s);
	const struct part *last = &r->parts[r->nr_parts - 1];
	return last->first_buffer + (u32)last->file.buffers.nr;
}

bool replay_ftrace_is(const struct source *s)
{
	return s->ops == &replay_ops;
}

u32 replay_ftrace_nr_events(const struct source *s)
{
	const struct replay *r = replay_of(s);
	if (r->samples)
		return (u32)r->refs.nr;
	const struct part *last = &r->parts[r->nr_parts - 1];
	return last->first_event + (u32)last->file.formats.nr;
}

u32 replay_ftrace_file_of(const struct source *s, u32 buffer, u32 *ret_buffer)
{
	const struct replay *r = replay_of(s);
	u32 i = r->nr_parts - 1;
	while (i && r->parts[i].first_buffer > buffer)
		i--;
	if (ret_buffer)
		*ret_buffer = buffer - r->parts[i].first_buffer;
	return i;
}

struct tracedat_text replay_ftrace_text(struct source *s, u32 file, enum tracedat_part part)
{
	return tracedat_text(&replay_of(s)->parts[file].file, part);
}

struct tracedat_text replay_ftrace_latency_text(struct source *s, u32 file)
{
	return tracedat_latency_text(&replay_of(s)->parts[file].file);
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

void replay_ftrace_align(struct source *s, u64 zero_ns)
{
	replay_of(s)->zero_ns += zero_ns;
	set_times(replay_of(s));
}
