/*
 * Records of a block → samples. Decoding runs a batch ahead of the rest, so that what a chain is looked up in is on its way from
 * memory. Addresses become frames through a direct-mapped cache, rows of them chains.
 */
#include "stream/replay_perf_impl.h"

#include <errno.h>
#include <string.h>

enum {
	BATCH = 32, /* samples on their way: more would not stay in the first cache */
	CACHE_SLOTS = 1 << 13,
	NEEDS_STACK = NEED_CHAIN | NEED_PLACES | NEED_FRAMES,
};

void replay_perf_shard_close(struct source *s, struct shard *sh)
{
	struct replay_perf_reader *rd = sh->impl;
	if (!rd)
		return;
	free(rd->places);
	free(rd->samples);
	free(rd->pending);
	vec_free(&rd->sample_places);
	vec_free(&rd->branches);
	vec_free(&rd->extras);
	vec_free(&rd->regs);
	free(rd->copy);
	split_reads_done(&rd->split);
	replay_chains_done(&rd->chains);
	perf_scratch_done(&rd->scratch);
	free(rd);
}

/* Samples of --call-graph lbr. */
static bool has_call_stacks(const struct perfdata *file)
{
	vec_for_each (&file->attrs, a)
		if (a->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK)
			return true;
	return false;
}

int replay_perf_shard_open(struct source *s, struct shard *sh)
{
	struct replay_perf_reader *rd = calloc(1, sizeof(*rd));
	if (!rd)
		return -ENOMEM;
	sh->impl = rd;
	rd->seed = hash_seed();
	rd->places = calloc(CACHE_SLOTS, sizeof(*rd->places));
	rd->samples = calloc(BATCH, sizeof(*rd->samples));
	rd->pending = calloc(BATCH, sizeof(*rd->pending));
	struct perf_replay *r = replay_of(s);
	if (rd->places && rd->samples && rd->pending &&
	    !replay_chains_init(&rd->chains, &r->unwind,
				r->branch_history || has_call_stacks(&r->file)))
		return 0;
	replay_perf_shard_close(s, sh);
	sh->impl = NULL;
	return -ENOMEM;
}

static enum frame_mode mode_of_misc(u16 misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL: return FRAME_KERNEL;
	case PERF_RECORD_MISC_USER: return FRAME_USER;
	case PERF_RECORD_MISC_HYPERVISOR: return FRAME_HYPERVISOR;
	case PERF_RECORD_MISC_GUEST_KERNEL: return FRAME_GUEST_KERNEL;
	case PERF_RECORD_MISC_GUEST_USER: return FRAME_GUEST_USER;
	default: return FRAME_UNKNOWN;
	}
}

/* In a chain: the user part follows later, in a record of its own (kernel 6.19 on). */
static const u64 context_user_deferred = (u64)-640;

/* Of a marker inside a call chain; FRAME_MARK: not one that we know. */
static enum frame_mode mode_of_marker(u64 marker)
{
	switch (marker) {
	case (u64)PERF_CONTEXT_KERNEL: return FRAME_KERNEL;
	case (u64)PERF_CONTEXT_USER: return FRAME_USER;
	case (u64)PERF_CONTEXT_HV: return FRAME_HYPERVISOR;
	case (u64)PERF_CONTEXT_GUEST_KERNEL: return FRAME_GUEST_KERNEL;
	case (u64)PERF_CONTEXT_GUEST_USER: return FRAME_GUEST_USER;
	default: return FRAME_MARK;
	}
}

/* Where a sample's addresses live: asked once a sample. */
struct where {
	u64 time;
	u32 user_space;
	u32 pid;
	bool again; /* the chain has something that is to be counted each time */
};

static s64 frame_slow(struct perf_replay *r, struct shard *sh, struct place_slot *slot,
		      struct where *w, u32 space, u64 addr, enum frame_mode mode)
{
	struct tasks_place p;
	tasks_find(r->tasks, space, addr, w->time, &p);
	s64 id = frame_table_add(
		&sh->frames, (struct frame){ .offset = p.offset, .image = p.image, .mode = mode });
	if (id < 0)
		return id;
	*slot = (struct place_slot){ .addr = addr,
				     .whose = (u64)space << 32 | mode,
				     .from = p.from,
				     .for_ns = p.until - p.from,
				     .frame = (u32)id };
	return id;
}

static inline s64 frame_of(struct perf_replay *r, struct shard *sh, struct where *w, u64 addr,
			   enum frame_mode mode)
{
	struct replay_perf_reader *rd = sh->impl;
	u32 space = mode == FRAME_KERNEL	 ? SPACE_KERNEL
		    : mode == FRAME_USER	 ? w->user_space
		    : mode == FRAME_GUEST_KERNEL ? tasks_guest(r->tasks, w->pid)
						 : SPACE_NONE;
	u32 at = (u32)(addr ^ addr >> 13 ^ space * 0x9e3779b1u) & (CACHE_SLOTS - 1);
	struct place_slot *slot = &rd->places[at];
	if (likely(slot->addr == addr && slot->whose == ((u64)space << 32 | mode) &&
		   w->time - slot->from < slot->for_ns))
		return slot->frame;
	return frame_slow(r, sh, slot, w, space, addr, mode);
}

/*
 * A chain lists the innermost address first, with markers where the mode changes; ours start at the outermost caller: filled from
 * the end of the array backwards.
 */
static int chain_slow(struct perf_replay *r, struct shard *sh, struct where *w,
		      const struct perf_sample_view *v, u32 *first)
{
	struct replay_perf_reader *rd = sh->impl;
	enum frame_mode mode = mode_of_misc(v->misc);
	u32 at = CHAIN_MAX;
	for (u64 i = 0; i < v->nr_chain && at > 0; i++) {
		if (unlikely(v->chain[i] >= (u64)PERF_CONTEXT_MAX)) {
			mode = mode_of_marker(v->chain[i]);
			if (mode != FRAME_MARK)
				continue;
			w->again = true;
			if (v->chain[i] == context_user_deferred) {
				atomic_fetch_add(&r->nr_deferred, 1);
				break;
			}
			atomic_fetch_add(&r->nr_corrupt, 1);
			at = CHAIN_MAX;
			break;
		}
		s64 frame = frame_of(r, sh, w, v->chain[i], mode);
		if (frame < 0)
			return (int)frame;
		rd->frames[--at] = (u32)frame;
	}
	*first = at;
	return 0;
}

static s64 chain_of(struct perf_replay *r, struct shard *sh, struct where *w,
		    const struct pending *p)
{
	s64 chain = chain_table_find(&sh->chains, p->hash);
	if (likely(chain))
		return chain;
	u32 at = CHAIN_MAX;
	int err = chain_slow(r, sh, w, &p->view, &at);
	if (err)
		return err;
	/* What is to be counted each time must not be found by its own key. */
	u64 key = w->again ? hash_u64(p->hash + 1) : p->hash;
	chain = w->again ? chain_table_find(&sh->chains, key) : CHAIN_NONE;
	struct replay_perf_reader *rd = sh->impl;
	return chain ? chain : chain_table_put(&sh->chains, key, rd->frames + at, CHAIN_MAX - at);
}

/* Every address of the chain with its frame. */
static int places_of(struct perf_replay *r, struct shard *sh, struct where *w,
		     const struct perf_sample_view *v, struct sample *s)
{
	struct replay_perf_reader *rd = sh->impl;
	enum frame_mode mode = mode_of_misc(v->misc);
	u64 nr = v->nr_chain ? v->nr_chain : 1;
	const u64 *addrs = v->nr_chain ? v->chain : &v->ip;
	if (!vec_reserve(&rd->sample_places, rd->sample_places.nr + nr))
		return -ENOMEM;
	size_t first = rd->sample_places.nr;
	for (u64 i = 0; i < nr; i++) {
		if (unlikely(addrs[i] >= (u64)PERF_CONTEXT_MAX && v->nr_chain)) {
			mode = mode_of_marker(addrs[i]);
			if (mode != FRAME_MARK)
				continue;
			if (addrs[i] != context_user_deferred) { /* as in chain_slow() */
				rd->sample_places.nr = first;
				s->nr_places = 0;
			}
			break;
		}
		s64 frame = frame_of(r, sh, w, addrs[i], mode);
		if (frame < 0)
			return (int)frame;
		rd->sample_places.at[rd->sample_places.nr++] =
			(struct sample_place){ .addr = addrs[i], .frame = (u32)frame };
		s->nr_places++;
	}
	return 0;
}

/* Bit fields of a machine of the other kind begin at the other end. */
static u64 branch_flags(const struct perf_replay *r, u64 raw)
{
	static const struct {
		u8 at, bits;
	} fields[] = { { 0, 1 },  { 1, 1 },  { 2, 1 },	{ 3, 1 },
		       { 4, 16 }, { 20, 4 }, { 24, 2 }, { 26, 4 } };
	bool big = r->file.swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	u64 flags = 0;
	for (size_t i = 0; big && i < ARRAY_SIZE(fields); i++)
		flags |=
			(raw >> (64 - fields[i].at - fields[i].bits) & ((1ull << fields[i].bits) - 1))
			<< fields[i].at;
	return big ? flags : raw;
}

static s64 frame_by_address(struct perf_replay *r, struct shard *sh, struct where *w, u64 addr)
{
	return frame_of(r, sh, w, addr, addr >> 63 ? FRAME_KERNEL : FRAME_USER);
}

static int branches_of(struct perf_replay *r, struct shard *sh, struct where *w,
		       const struct perf_sample_view *v, struct sample *s)
{
	struct replay_perf_reader *rd = sh->impl;
	struct bytes b = bytes_of(v->branches, v->nr_branches * 24, r->file.swap);
	for (u64 i = 0; i < v->nr_branches; i++) {
		struct sample_branch *to = vec_push(&rd->branches);
		if (!to)
			return -ENOMEM;
		to->from = bytes_u64(&b);
		to->to = bytes_u64(&b);
		to->flags = branch_flags(r, bytes_u64(&b));
		s64 from = frame_by_address(r, sh, w, to->from),
		    dest = frame_by_address(r, sh, w, to->to);
		if (from < 0 || dest < 0)
			return -ENOMEM;
		to->from_frame = (u32)from;
		to->to_frame = (u32)dest;
		s->nr_branches++;
	}
	return 0;
}

/* In our byte order; where they lie is told when all of the batch are there. */
static int regs_of(struct perf_replay *r, struct replay_perf_reader *rd,
		   const struct perf_regs *from, struct sample_regs *to)
{
	struct bytes b = bytes_of(from->values, 8 * (size_t)from->nr, r->file.swap);
	*to = (struct sample_regs){ .abi = from->abi, .mask = from->mask, .nr = from->nr };
	if (!vec_reserve(&rd->regs, rd->regs.nr + from->nr))
		return -ENOMEM;
	for (u32 i = 0; i < from->nr; i++)
		rd->regs.at[rd->regs.nr++] = bytes_u64(&b);
	return 0;
}

static int extra_of(struct perf_replay *r, struct replay_perf_reader *rd,
		    const struct perf_sample_view *v)
{
	struct sample_extra *e = vec_push(&rd->extras);
	if (!e)
		return -ENOMEM;
	*e = (struct sample_extra){ .transaction = v->transaction,
				    .data_page = v->data_page,
				    .code_page = v->code_page,
				    .ins_lat = v->ins_lat,
				    .stage_cycles = v->stage_cycles };
	int err = regs_of(r, rd, &v->user_regs, &e->user_regs);
	return err ? err : regs_of(r, rd, &v->intr_regs, &e->intr_regs);
}

static void place_extras(struct replay_perf_reader *rd)
{
	const u64 *at = rd->regs.at;
	for (size_t i = 0; i < rd->extras.nr; i++) {
		struct sample_extra *e = &rd->extras.at[i];
		e->user_regs.values = at;
		e->intr_regs.values = at + e->user_regs.nr;
		at += e->user_regs.nr + e->intr_regs.nr;
		rd->samples[i].extra = e;
	}
}

static u64 time_of(const struct perf_replay *r, const struct pending *p)
{
	return r->has_times ? p->view.time : p->place;
}

static u64 epoch_of(const struct perf_replay *r, struct tasks_epoch *last, u32 space, u64 time)
{
	if (unlikely(last->space != space || time < last->from || time >= last->until))
		tasks_epoch(r->tasks, space, time, last);
	return last->meaning;
}

/* What addresses of this sample mean: whose they are, and what was mapped at the time. Part of the key of its chain. */
static u64 meaning_of(const struct perf_replay *r, struct replay_perf_reader *rd,
		      const struct pending *p)
{
	u64 time = time_of(r, p);
	u64 user = epoch_of(r, &rd->user, p->space, time),
	    kernel = epoch_of(r, &rd->kernel, SPACE_KERNEL, time);
	u64 mode = p->view.misc & PERF_RECORD_MISC_CPUMODE_MASK;
	if (unlikely(mode_is_guest(mode_of_misc(p->view.misc))))
		kernel = epoch_of(r, &rd->guest, tasks_guest(r->tasks, p->view.pid), time);
	return hash_u64(user ^ hash_u64(kernel + 1)) ^ mode ^ rd->seed;
}

/* A stack is walked from word to word: the innermost frames of the next record's are on their way meanwhile. */
static void fetch_stack(const u8 *rec)
{
	enum { LINE = 64, LINES = 28 };
	for (u32 i = 0; i < LINES; i++)
		__builtin_prefetch(rec + (size_t)i * LINE);
}

/* First step. -ENOENT: skip it. */
static int decode(struct perf_replay *r, struct shard *sh, const u8 *rec, u16 size,
		  struct pending *p)
{
	struct replay_perf_reader *rd = sh->impl;
	const struct perfdata *f = &r->file;
	u64 id = f->attrs.nr > 1 ? perf_sample_id(&f->attrs.at[0].layout, rec, size, f->swap) : 0;
	p->attr = perfdata_attr_of(f, id);
	if (!p->attr) {
		atomic_fetch_add(&r->nr_unknown_id, 1);
		return -ENOENT;
	}
	int err = perf_sample_decode(&p->attr->layout, rec, size, f->swap, &rd->scratch, &p->view);
	if (err) {
		atomic_fetch_add(&r->nr_bad, 1);
		return err == -EBADMSG ? -ENOENT : err;
	}
	if (!(r->needs & (NEED_LEAF | NEEDS_STACK | NEED_BRANCH | NEED_DATA)))
		return 0;
	const struct perf_sample_view *v = &p->view;
	u64 time = time_of(r, p);
	if (unlikely(!tasks_span_holds(&rd->space, v->pid, time)))
		tasks_space_span(r->tasks, v->pid, time, &rd->space);
	p->space = rd->space.value;
	if (unlikely(v->stack && rd->chains.unwinder) && r->needs & NEEDS_STACK) {
		fetch_stack(rec + size);
		replay_unwind_sample(&r->unwind, &rd->chains, &p->view, p->space, time);
	}
	if (unlikely(p->attr->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK) &&
	    r->needs & NEEDS_STACK)
		replay_chain_of_branches(&rd->chains, &p->view, f->swap);
	else if (unlikely(r->branch_history) && r->needs & NEEDS_STACK)
		replay_history_of_branches(&rd->chains, &p->view, f->swap);
	if (r->needs & NEED_CHAIN) {
		p->hash = hash_words(v->chain, v->nr_chain, meaning_of(r, rd, p));
		chain_table_prefetch(&sh->chains, p->hash);
	}
	return 0;
}

static u32 missed_before(const struct perf_replay *r, const struct pending *p)
{
	u32 missed = r->needs & NEED_ORDER ? dict_get(&r->missed_at, p->place) : DICT_NONE;
	return missed == DICT_NONE ? 0 : max(missed, 1u);
}

/* Second step. */
static int fill_sample(struct perf_replay *r, struct shard *sh, const struct pending *p,
		       struct sample *s)
{
	const struct perf_sample_view *v = &p->view;
	struct where w = { .time = time_of(r, p), .user_space = p->space, .pid = v->pid };
	/* One by one: what is never written here stays 0, and clearing it each time is time. */
	s->time_ns = v->time;
	s->period = v->period;
	s->weight = v->weight;
	s->ip = v->ip;
	s->addr = v->addr;
	s->data_src = v->data_src;
	s->phys_addr = v->phys_addr;
	s->id = v->id;
	s->cgroup = v->cgroup;
	s->event = (u32)(p->attr - r->file.attrs.at);
	s->cpu = (s32)v->cpu;
	s->pid = (s32)v->pid;
	s->tid = (s32)v->tid;
	s->mode = mode_of_misc(v->misc);
	s->raw = v->raw;
	s->raw_size = v->raw_size;
	s->nr_places = s->nr_branches = 0;
	s->missed = unlikely(r->missed_at.nr) ? missed_before(r, p) : 0;
	s->schema = r->source.catalog.events.at[s->event].schema;
	if (r->needs & NEED_COMM) {
		struct tasks_span *comm = &((struct replay_perf_reader *)sh->impl)->comm;
		if (unlikely(!tasks_span_holds(comm, v->tid, w.time)))
			tasks_comm_span(r->tasks, v->tid, w.time, comm);
		/* The thread is the virtual CPU's: what the guest runs there, nobody knows. */
		s->comm = unlikely(mode_is_guest(s->mode)) ? COMM_UNNAMED(v->tid) : comm->value;
	}
	if (r->needs & (NEED_LEAF | NEED_CHAIN)) {
		s64 leaf = frame_of(r, sh, &w, v->ip, s->mode);
		if (leaf < 0)
			return (int)leaf;
		s->leaf = (u32)leaf;
	}
	if (r->needs & NEED_DATA) {
		s64 data = frame_by_address(r, sh, &w, v->addr);
		if (data < 0)
			return (int)data;
		s->data = (u32)data;
	}
	if (r->needs & NEED_CHAIN) {
		s64 chain = v->nr_chain ? chain_of(r, sh, &w, p) : CHAIN_NONE;
		if (chain < 0)
			return (int)chain;
		s->chain = (u32)chain;
	}
	u32 first;
	int err = r->needs & NEED_FRAMES ? chain_slow(r, sh, &w, v, &first) : 0;
	if (!err && r->needs & NEED_PLACES)
		err = places_of(r, sh, &w, v, s);
	if (!err && unlikely(r->needs & NEED_EXTRA))
		err = extra_of(r, sh->impl, v);
	return err || !(r->needs & NEED_BRANCH) ? err : branches_of(r, sh, &w, v, s);
}

/* The next records of the block into rd->pending, decoded. */
static s64 take_file_order(struct perf_replay *r, struct shard *sh)
{
	struct replay_perf_reader *rd = sh->impl;
	const u8 *start = rd->now.at, *at = start, *rec;
	struct perf_event_header h;
	size_t nr = 0;
	bool copied = false;
	while (nr < BATCH && !replay_chains_full(&rd->chains) &&
	       perfdata_record(&r->file, &at, rd->now.end, &rec, &h) > 0) {
		if (h.type != PERF_RECORD_SAMPLE)
			continue;
		/* A copied chain (other byte order, odd address) lives until the next one is copied: one a batch. */
		bool copies = r->file.swap || (uintptr_t)rec & 7;
		if (copies && copied) {
			at = rec;
			break;
		}
		rd->pending[nr].place = rd->time0 + (u64)(rec - start);
		int err = decode(r, sh, rec, h.size, &rd->pending[nr]);
		if (err && err != -ENOENT)
			return err;
		nr += !err;
		copied |= copies && !err;
	}
	rd->time0 += (u64)(at - start);
	rd->now.at = at;
	return (s64)nr;
}

/*
 * Whether there is still a sample at a place where the pass that sorted them found one: the file may be written to meanwhile. What
 * follows trusts this size, so it is read once, here.
 */
static bool still_sample(const struct perf_replay *r, u64 place, const u8 *rec, u16 *size)
{
	u64 all = r->file.map_size + r->spool.nr;
	u64 left = (place < r->file.map_size ? r->file.map_size : all) - place;
	struct perf_event_header h = perf_head(rec, r->file.swap);
	*size = h.size;
	return h.type == PERF_RECORD_SAMPLE && h.size >= sizeof(h) && h.size <= left;
}

static s64 take_time_order(struct perf_replay *r, struct shard *sh)
{
	struct replay_perf_reader *rd = sh->impl;
	size_t nr = 0, limit = r->file.swap ? 1 : BATCH;
	while (nr < limit && rd->stamp < rd->stamp_end && !replay_chains_full(&rd->chains)) {
		u64 place = r->stamps.at[rd->stamp].place;
		const u8 *rec = replay_perf_at(r, place);
		if (nr && (uintptr_t)rec & 7)
			break;
		if (rd->stamp + 8 < rd->stamp_end)
			__builtin_prefetch(replay_perf_at(r, r->stamps.at[rd->stamp + 8].place));
		rd->stamp++;
		u16 size;
		if (unlikely(!still_sample(r, place, rec, &size))) {
			atomic_fetch_add(&r->nr_bad, 1);
			continue;
		}
		rd->pending[nr].place = place;
		int err = decode(r, sh, rec, size, &rd->pending[nr]);
		if (err && err != -ENOENT)
			return err;
		nr += !err;
		if (nr && (uintptr_t)rec & 7)
			break;
	}
	return (s64)nr;
}

static int split_batch(struct perf_replay *r, struct replay_perf_reader *rd, size_t nr)
{
	rd->split.samples.nr = 0;
	int err = 0;
	for (size_t i = 0; i < nr && !err; i++)
		err = split_reads_add(&rd->split, &r->file, rd->pending[i].attr,
				      &rd->pending[i].view, &rd->samples[i]);
	return err;
}

/* Where the places and branches of the batch lie: the arrays may have moved while they grew. */
static void point_out(struct replay_perf_reader *rd, size_t nr)
{
	const struct sample_place *place = rd->sample_places.at;
	const struct sample_branch *branch = rd->branches.at;
	for (size_t i = 0; i < nr; i++) {
		struct sample *s = &rd->samples[i];
		s->places = s->nr_places ? place : NULL;
		s->branches = s->nr_branches ? branch : NULL;
		place += s->nr_places;
		branch += s->nr_branches;
	}
}

static int next_batch(struct source *s, struct shard *sh, struct batch *ret)
{
	struct perf_replay *r = replay_of(s);
	struct replay_perf_reader *rd = sh->impl;
	rd->sample_places.nr = 0;
	rd->branches.nr = 0;
	rd->extras.nr = 0;
	rd->regs.nr = 0;
	rd->chains.nr = 0;
	s64 nr = r->needs & NEED_ORDER ? take_time_order(r, sh) : take_file_order(r, sh);
	for (s64 i = 0; i < nr; i++) {
		int err = fill_sample(r, sh, &rd->pending[i], &rd->samples[i]);
		if (err)
			return err;
	}
	if (nr <= 0)
		return (int)nr;
	if (r->needs & (NEED_PLACES | NEED_BRANCH))
		point_out(rd, (size_t)nr);
	place_extras(rd);
	*ret = (struct batch){ .samples = rd->samples, .nr = (size_t)nr };
	if (likely(!(r->needs & NEED_READ)))
		return 1;
	int err = split_batch(r, rd, (size_t)nr);
	*ret = (struct batch){ .samples = rd->split.samples.at, .nr = rd->split.samples.nr };
	return err ? err : 1;
}

int replay_perf_next_batch(struct source *s, struct shard *sh, struct batch *ret)
{
	int got;
	do
		got = next_batch(s, sh, ret);
	while (got > 0 && !ret->nr); /* nothing moved: not a batch */
	return got;
}
