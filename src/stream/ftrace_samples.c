#include "stream/ftrace_samples.h"
#include "base/par.h"
#include "wire/perf_record.h"

#include <errno.h>
#include <stdio.h>

bool ftrace_samples_join(const struct replay_ftrace_part *p, struct spot *to,
			 const struct spot *next)
{
	s32 own_pid, pid;
	u32 own = load_common(p, &to->e, &own_pid), id = load_common(p, &next->e, &pid);
	bool kernel = id == p->kernel_stack.id, user = id == p->user_stack.id;
	if ((!kernel && !user) || next->missed || pid != own_pid || own == p->kernel_stack.id ||
	    own == p->user_stack.id)
		return false;
	struct ftrace_event *stack = kernel ? &to->kernel : &to->user;
	if (stack->data)
		return false;
	*stack = next->e;
	return true;
}

/* ---- places, chains, calls ---- */

/* ---- samples: places, chains, calls ---- */

static u64 load_long(const struct replay_ftrace_part *p, const u8 *at)
{
	if (p->file.long_size == 4) {
		u32 v;
		memcpy(&v, at, 4);
		return p->swap ? __builtin_bswap32(v) : v;
	}
	u64 v;
	memcpy(&v, at, 8);
	return p->swap ? __builtin_bswap64(v) : v;
}

/* Addresses of a stack event after those that are there. */
static void take_addrs(const struct replay_ftrace_part *p, const struct addr_reader *a,
		       const struct ftrace_event *e, struct ftrace_stack *to)
{
	u32 width = p->file.long_size == 4 ? 4 : 8, at = a->first->offset;
	u64 nr = a->size ? schema_u64(a->schema, a->size, e->data, e->size) : FTRACE_STACK_MAX;
	for (; nr-- && to->nr < FTRACE_STACK_MAX && at + width <= e->size; at += width) {
		u64 addr = load_long(p, e->data + at);
		if (addr == (width == 4 ? UINT32_MAX : UINT64_MAX) || (!addr && !a->size))
			break;
		to->addrs[to->nr++] = addr;
	}
}

/* Where an event happened: its stacks, else the function it tells of and that one's caller. */
static void take_stack(const struct replay *r, const struct replay_ftrace_part *p,
		       const struct cursor *c, struct sample *s, struct ftrace_stack *to)
{
	to->nr = 0;
	if (c->cur->kernel.data)
		take_addrs(p, &p->kernel_stack, &c->cur->kernel, to);
	const struct addr_reader *f = &p->function;
	if (!to->nr && s->id == f->id && r->calls) {
		to->addrs[to->nr++] = schema_u64(f->schema, f->first, s->raw, s->raw_size);
		if (f->other)
			to->addrs[to->nr++] = schema_u64(f->schema, f->other, s->raw, s->raw_size);
	}
	to->nr_kernel = to->nr;
	to->tgid = s->pid;
	if (!c->cur->user.data)
		return;
	const struct addr_reader *u = &p->user_stack;
	take_addrs(p, u, &c->cur->user, to);
	if (u->other)
		to->tgid =
			(s32)schema_u64(u->schema, u->other, c->cur->user.data, c->cur->user.size);
	if (to->tgid > 0)
		s->pid = to->tgid;
}

static s64 frame_of(struct replay *r, struct shard *sh, struct replay_ftrace_part *p, u64 addr,
		    enum frame_mode mode, s32 tgid)
{
	struct shard_state *st = sh->impl;
	return ftrace_frames_add(&p->frames, &sh->frames, &st->known[p - r->parts], addr, mode,
				 tgid);
}

static int put_places(struct replay *r, struct shard *sh, struct replay_ftrace_part *p,
		      struct sample *s)
{
	struct shard_state *st = sh->impl;
	const struct ftrace_stack *k = &st->stack;
	for (u32 i = 0; i < k->nr; i++) {
		enum frame_mode mode = i < k->nr_kernel ? FRAME_KERNEL : FRAME_USER;
		s64 frame = frame_of(r, sh, p, k->addrs[i], mode, k->tgid);
		struct sample_place *place = frame < 0 ? NULL : vec_push(&st->places);
		if (!place)
			return -ENOMEM;
		*place = (struct sample_place){ .addr = k->addrs[i], .frame = (u32)frame };
		s->nr_places++;
	}
	return 0;
}

static int put_chain(struct replay *r, struct shard *sh, struct replay_ftrace_part *p,
		     struct sample *s)
{
	struct shard_state *st = sh->impl;
	const struct ftrace_stack *k = &st->stack;
	u64 whose = k->nr > k->nr_kernel ? (u32)k->tgid : 0;
	u64 key = hash_words(k->addrs, k->nr,
			     hash_u64(whose << 16 | k->nr_kernel) ^ (u64)(p - r->parts) ^ r->seed);
	s->chain = chain_table_find(&sh->chains, key);
	if (s->chain)
		return 0;
	for (u32 i = 0; i < k->nr; i++) {
		enum frame_mode mode = i < k->nr_kernel ? FRAME_KERNEL : FRAME_USER;
		s64 frame = frame_of(r, sh, p, k->addrs[i], mode, k->tgid);
		if (frame < 0)
			return (int)frame;
		st->frames[k->nr - 1 - i] = (u32)frame;
	}
	s64 chain = chain_table_put(&sh->chains, key, st->frames, k->nr);
	s->chain = chain < 0 ? CHAIN_NONE : (u32)chain;
	return chain < 0 ? (int)chain : 0;
}

static int put_place(struct replay *r, struct shard *sh, struct replay_ftrace_part *p,
		     const struct cursor *c, struct sample *s)
{
	struct shard_state *st = sh->impl;
	take_stack(r, p, c, s, &st->stack);
	if (!st->stack.nr)
		return 0;
	s->ip = st->stack.addrs[0];
	s->mode = st->stack.nr_kernel ? FRAME_KERNEL : FRAME_USER;
	s64 leaf = frame_of(r, sh, p, s->ip, s->mode, st->stack.tgid);
	if (leaf < 0)
		return (int)leaf;
	s->leaf = (u32)leaf;
	int err = r->needs & (NEED_CHAIN | NEED_FRAMES) ? put_chain(r, sh, p, s) : 0;
	return !err && r->needs & NEED_PLACES ? put_places(r, sh, p, s) : err;
}

/* The function that ended and its callers, outermost first; those whose beginning was not recorded are left out. */
static int put_call_chain(struct replay *r, struct shard *sh, struct replay_ftrace_part *p,
			  const struct call_stack *callers, u64 func, struct sample *s)
{
	struct shard_state *st = sh->impl;
	u32 nr = 0;
	vec_for_each (&callers->frames, f)
		if (f->known)
			st->addrs[nr++] = f->func;
	st->addrs[nr++] = func;
	s64 leaf = frame_of(r, sh, p, func, FRAME_KERNEL, 0);
	if (leaf < 0)
		return (int)leaf;
	s->leaf = (u32)leaf;
	/* Not the key of a stack with the same addresses: that begins at the other end. */
	u64 key = hash_words(st->addrs, nr, hash_u64(1) ^ (u64)(p - r->parts) ^ r->seed);
	s->chain = chain_table_find(&sh->chains, key);
	if (s->chain)
		return 0;
	for (u32 i = 0; i < nr; i++) {
		s64 frame = frame_of(r, sh, p, st->addrs[i], FRAME_KERNEL, 0);
		if (frame < 0)
			return (int)frame;
		st->frames[i] = (u32)frame;
	}
	s64 chain = chain_table_put(&sh->chains, key, st->frames, nr);
	s->chain = chain < 0 ? CHAIN_NONE : (u32)chain;
	return chain < 0 ? (int)chain : 0;
}

/* 1: a call ended, and the sample stands for it. */
static int take_call(struct replay *r, struct shard *sh, struct replay_ftrace_part *p,
		     struct sample *s)
{
	bool entry = s->id == p->entry_id;
	struct call_event e = call_read(entry ? &p->entry : &p->exit, s);
	struct call_done done;
	struct call_stack *stack =
		e.depth < CALLS_DEPTH_MAX ? calls_stack(&r->open_calls, e.task) : NULL;
	if (!stack)
		return e.depth < CALLS_DEPTH_MAX ? -ENOMEM : 0;
	if (entry)
		return calls_enter(&r->open_calls, stack, &e) ? 0 : -ENOMEM;
	int err = calls_leave(&r->open_calls, stack, &e, &done);
	if (err || !done.timed)
		return err;
	s->ip = e.func;
	s->period = done.self_ns;
	s->weight = done.ns;
	err = r->needs & (NEED_LEAF | NEED_CHAIN | NEED_FRAMES)
		      ? put_call_chain(r, sh, p, stack, e.func, s)
		      : 0;
	return err ? err : 1;
}

/* The rest of a sample that was filled: 1, 0 when there is none to show, or negative errno. */
static int complete_sample(struct replay *r, struct shard *sh, const struct cursor *c,
			   struct sample *s)
{
	struct replay_ftrace_part *p = r->lanes[c->lane].part;
	s->period = 1;
	s->weight = s->ip = 0;
	s->leaf = FRAME_NONE;
	s->chain = CHAIN_NONE;
	s->mode = FRAME_KERNEL;
	s->places = NULL;
	s->nr_places = 0;
	if (s->missed && r->serial)
		calls_gap(&r->open_calls);
	if (unlikely(s->id == p->kernel_stack.id || s->id == p->user_stack.id)) {
		atomic_fetch_add(&r->nr_stray, 1);
		return 0;
	}
	if (r->serial && (s->id == p->entry_id || s->id == p->exit_id))
		return take_call(r, sh, p, s);
	if (unlikely(s->event == UINT32_MAX)) {
		atomic_fetch_add(&r->nr_unknown, 1);
		return 0;
	}
	int err = p->has_frames && r->needs & (NEED_LEAF | NEED_CHAIN | NEED_PLACES | NEED_FRAMES)
			  ? put_place(r, sh, p, c, s)
			  : 0;
	return err ? err : 1;
}

/* The same; what was lost before one that is not shown was lost before the next. */
int ftrace_samples_next(struct replay *r, struct shard *sh, struct cursor *c, struct sample *s)
{
	s->missed = s->missed ? s->missed : c->carried;
	int kept = complete_sample(r, sh, c, s);
	c->carried = kept ? 0 : s->missed;
	return kept;
}

/* ---- what is in the file ---- */

/* ---- what is in the file, for samples ---- */

struct survey {
	struct replay *r;
	atomic_uint next;
	pthread_mutex_t lock; /* of the catalogue's sums */
};

/* What a lane holds, over all of its pages. */
struct lane_sums {
	u64 first_ns, last_ns, nr_lost, nr_gaps;
};

static void survey_page(struct lane *l, const u8 *page, size_t size, struct lane_sums *sums)
{
	struct replay_ftrace_part *p = l->part;
	struct ftrace_page walk;
	struct ftrace_event e;
	s32 pid;
	if (ftrace_page_open(&walk, &p->file.layout, page, size, p->big_endian))
		return;
	sums->nr_gaps += walk.missed != 0;
	sums->nr_lost += walk.missed == FTRACE_MISSED_UNKNOWN ? 0 : walk.missed;
	while (ftrace_page_next(&walk, &e)) {
		u32 id = load_common(p, &e, &pid);
		u64 time = to_ns(l, e.time);
		if (id < IDS_MAX && !atomic_load_explicit(&p->seen[id], memory_order_relaxed))
			atomic_store_explicit(&p->seen[id], 1, memory_order_relaxed);
		sums->first_ns = min(sums->first_ns, time);
		sums->last_ns = max(sums->last_ns, time);
	}
}

static int survey_chunks(struct lane *l, struct unpacker *u, struct lane_sums *sums)
{
	for (u32 i = 0; i < l->cpu->nr_chunks; i++) {
		const struct tracedat_chunk *k = &l->cpu->chunks[i];
		_cleanup_free_ u8 *data = malloc(k->size);
		if (!data)
			return -ENOMEM;
		if (unpack(u, l->part->file.compression, k->data, k->packed, data, k->size))
			continue; /* the run itself will say so */
		for (size_t at = 0; at + l->page_size <= k->size; at += l->page_size)
			survey_page(l, data + at, l->page_size, sums);
	}
	return 0;
}

static int survey_worker(void *ctx, unsigned index)
{
	struct survey *v = ctx;
	struct catalog *c = &v->r->source.catalog;
	struct unpacker unpacker = { 0 };
	u32 i;
	int err = 0;
	while (!err && (i = atomic_fetch_add(&v->next, 1)) < v->r->nr_lanes) {
		struct lane *l = &v->r->lanes[i];
		struct lane_sums sums = { .first_ns = UINT64_MAX };
		size_t size;
		for (u32 page = l->surveyed; l->cpu->pages && page < l->nr_pages; page++) {
			const u8 *data = replay_ftrace_page(l, page, &size);
			survey_page(l, data, size, &sums);
		}
		l->surveyed = l->nr_pages;
		if (!l->cpu->pages)
			err = survey_chunks(l, &unpacker, &sums);
		pthread_mutex_lock(&v->lock);
		if (sums.first_ns <= sums.last_ns) {
			c->first_time_ns = min(c->first_time_ns, sums.first_ns);
			c->last_time_ns = max(c->last_time_ns, sums.last_ns);
		}
		c->nr_lost += sums.nr_lost;
		c->nr_lost_events += sums.nr_gaps;
		pthread_mutex_unlock(&v->lock);
	}
	unpacker_done(&unpacker);
	return err;
}

static int survey(struct replay *r)
{
	struct survey v = { .r = r };
	struct catalog *c = &r->source.catalog;
	if (!c->last_time_ns)
		c->first_time_ns = UINT64_MAX;
	for (u32 i = 0; i < r->nr_parts; i++) {
		struct replay_ftrace_part *p = &r->parts[i];
		if (!p->seen)
			p->seen = calloc(IDS_MAX, sizeof(*p->seen));
		if (!p->event_of)
			p->event_of =
				calloc(max(p->file.formats.nr, (size_t)1), sizeof(*p->event_of));
		if (!p->seen || !p->event_of)
			return -ENOMEM;
	}
	pthread_mutex_init(&v.lock, NULL);
	int err = par_run(min(par_cpus(), max(r->nr_lanes, 1u)), survey_worker, &v);
	pthread_mutex_destroy(&v.lock);
	if (c->first_time_ns == UINT64_MAX)
		c->first_time_ns = 0;
	return err;
}

/* The id of an event of ftrace's own that occurs, or IDS_MAX. */
static u32 own_id(const struct replay_ftrace_part *p, const char *name)
{
	vec_for_each (&p->file.formats, f)
		if (f->id < IDS_MAX && !strcmp(f->system, "ftrace") && !strcmp(f->name, name) &&
		    p->seen[f->id])
			return f->id;
	return IDS_MAX;
}

static struct addr_reader addr_reader(struct replay_ftrace_part *p, const char *name,
				      const char *size, const char *first, const char *other)
{
	struct addr_reader a = { .id = own_id(p, name) };
	a.schema = def_of(p, a.id)->schema;
	if (a.schema) {
		a.size = size ? schema_find(a.schema, size) : NULL;
		a.first = schema_find(a.schema, first);
		a.other = other ? schema_find(a.schema, other) : NULL;
	}
	if (!a.first)
		a.id = IDS_MAX;
	return a;
}

static struct call_reader own_call(struct replay_ftrace_part *p, const char *name,
				   enum call_kind kind, u32 *id)
{
	*id = own_id(p, name);
	const struct schema *s = def_of(p, *id)->schema;
	struct call_reader r = { 0 };
	if (s)
		r = call_reader_make(s);
	if (r.kind != kind)
		*id = IDS_MAX;
	return r;
}

/* The number + 1 of an event that a file before had too, in the same form; 0: none had. */
static u32 known_event(const struct replay *r, const struct replay_ftrace_part *p,
		       const struct tracedat_format *f)
{
	for (size_t i = 0; i < r->refs.nr; i++) {
		const struct replay_ftrace_part *other = &r->parts[r->refs.at[i].part];
		const struct tracedat_format *g = &other->file.formats.at[r->refs.at[i].format];
		if (other != p && !strcmp(f->name, g->name) && !strcmp(f->system, g->system) &&
		    f->text.len == g->text.len && !memcmp(f->text.data, g->text.data, f->text.len))
			return (u32)i + 1;
	}
	return 0;
}

/* Ids of events first: a definition knows the number of its event. */
static int number_events(struct replay *r, struct replay_ftrace_part *p)
{
	for (u32 i = 0; i < p->file.formats.nr; i++) {
		const struct tracedat_format *f = &p->file.formats.at[i];
		bool own = !strcmp(f->system, "ftrace");
		bool hidden = own &&
			      (!strcmp(f->name, "kernel_stack") || !strcmp(f->name, "user_stack") ||
			       (r->calls && !strcmp(f->name, "funcgraph_entry")));
		if (f->id >= IDS_MAX || p->format_of[f->id] != i + 1 || !p->seen[f->id] || hidden ||
		    p->event_of[i])
			continue;
		p->event_of[i] = known_event(r, p, f);
		if (p->event_of[i])
			continue;
		struct event_ref *ref = vec_push(&r->refs);
		if (!ref)
			return -ENOMEM;
		*ref = (struct event_ref){ .part = (u32)(p - r->parts), .format = i };
		p->event_of[i] = (u32)r->refs.nr;
	}
	return 0;
}

static void find_readers(struct replay *r, struct replay_ftrace_part *p)
{
	p->kernel_stack = addr_reader(p, "kernel_stack", "size", "caller", NULL);
	p->user_stack = addr_reader(p, "user_stack", NULL, "caller", "tgid");
	p->function = addr_reader(p, "function", NULL, "ip", "parent_ip");
	p->entry = own_call(p, "funcgraph_entry", CALL_ENTRY, &p->entry_id);
	p->exit = own_call(p, "funcgraph_exit", CALL_EXIT, &p->exit_id);
	bool stacks = p->kernel_stack.id != IDS_MAX || p->user_stack.id != IDS_MAX,
	     calls = r->calls && p->exit_id != IDS_MAX,
	     functions = r->calls && p->function.id != IDS_MAX;
	r->joins |= stacks;
	r->serial |= calls;
	r->has_chains |= stacks || calls || functions;
}

static const char *event_name(struct replay *r, const struct tracedat_format *f)
{
	bool calls = r->calls && !strcmp(f->system, "ftrace") && !strcmp(f->name, "funcgraph_exit");
	size_t len = strlen(f->system) + strlen(f->name) + 2;
	char *name = calls ? NULL : arena_alloc(&r->source.catalog.arena, len);
	if (name)
		(void)snprintf(name, len, "%s:%s", f->system, f->name);
	return calls ? "function_graph" : name;
}

static int list_events(struct replay *r)
{
	struct catalog *c = &r->source.catalog;
	for (size_t i = 0; i < r->refs.nr; i++) {
		const struct event_ref *ref = &r->refs.at[i];
		struct replay_ftrace_part *p = &r->parts[ref->part];
		const struct tracedat_format *f = &p->file.formats.at[ref->format];
		/* What was told in an earlier round may have stacks now. */
		struct event_info *e = i < c->events.nr ? &c->events.at[i] : vec_push(&c->events);
		const char *name = e && e->name ? e->name : event_name(r, f);
		if (!e || !name)
			return -ENOMEM;
		bool chains = p->kernel_stack.id != IDS_MAX || p->user_stack.id != IDS_MAX ||
			      (r->calls && (f->id == p->exit_id || f->id == p->function.id));
		*e = (struct event_info){ .name = name,
					  .type = PERF_TYPE_TRACEPOINT,
					  .config = f->id,
					  .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
							 PERF_SAMPLE_CPU | PERF_SAMPLE_RAW |
							 PERF_SAMPLE_PERIOD |
							 (chains ? PERF_SAMPLE_CALLCHAIN : 0),
					  .schema = def_of(p, f->id)->schema };
	}
	return 0;
}

int ftrace_samples_prepare(struct replay *r)
{
	int err = survey(r);
	for (u32 i = 0; i < r->nr_parts && !err; i++)
		err = number_events(r, &r->parts[i]);
	for (u32 i = 0; i < r->nr_parts && !err; i++)
		find_readers(r, &r->parts[i]);
	if (!err)
		err = list_events(r);
	for (u32 i = 0; i < r->nr_parts && !err && r->has_chains; i++) {
		struct replay_ftrace_part *p = &r->parts[i];
		if (p->has_frames)
			continue;
		p->has_frames = true;
		err = ftrace_frames_init(&p->frames, i ? &r->parts[i - 1].frames : NULL,
					 &r->source.catalog, &p->env, &p->file);
	}
	return err;
}
