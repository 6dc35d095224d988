#include "stream/live_unwind.h"
#include "base/guard.h"
#include "base/vec.h"
#include "stream/live_code.h"
#include "stream/live_maps.h"
#include "wire/perf_sample.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

enum {
	ROUNDS_TO_WAIT = 2,
	WAITING_MAX_BYTES = 256 << 20,
	EMIT_BYTES = 256 << 10,
	RECORD_MAX = 1 << 16,
	FRAMES_MAX = 4096,
	CHAIN_MAX = 2 * FRAMES_MAX,
};

/* What one reader brought at one time: whole records. */
struct batch_of {
	struct batch_of *next;
	u64 round;
	size_t size;
	u8 data[];
};

/* A record, by its time. */
struct timed {
	u64 time;
	u64 seq; /* of equal times, the one that came first */
	const u8 *rec;
};

struct live_unwind {
	struct live_unwind_config cfg;
	char *cache;
	struct unwind_tables *tables;
	struct unwinder *unwinder;
	struct live_maps *maps;
	struct live_code *code;
	struct perf_layout *layouts; /* by event */
	struct dict event_of; /* id -> event */
	u32 time_in_trailer; /* bytes from a side-band record's end to its time; 0: none */
	u64 side_type; /* sample_type of side-band records */

	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* what follows, up to `wake` */
	struct batch_of *first, **last;
	u64 round; /* that is filled now */
	size_t waiting_bytes;
	bool go, finish;
	int err;
	pthread_cond_t wake;

	/* of the thread */
	u64 next_round; /* to be written */
	struct batch_of *held; /* batches whose samples are in `samples` or `later` */
	VEC(struct timed) samples; /* of next_round */
	VEC(struct timed) later; /* of the one after */
	VEC(struct timed) sides; /* copies, not applied yet; those before side_at are done */
	size_t side_at;
	u64 seq;
	VEC(u8) out;
	struct perf_scratch scratch;
	struct live_unwind_stats stats;
};

void live_unwind_attr(struct perf_event_attr *a)
{
	a->sample_type &= ~(u64)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	a->sample_regs_user = 0;
	a->sample_stack_user = 0;
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

static u16 record_size(const u8 *rec)
{
	return perf_head(rec, false).size;
}

/* How far from a record's end its time is; 0: it has none. */
static u32 time_in_trailer(u64 sample_type)
{
	u32 tid = sample_type & PERF_SAMPLE_TID ? sizeof(u64) : 0;
	return sample_type & PERF_SAMPLE_TIME ? perf_trailer_size(sample_type) - tid : 0;
}

/* Where events differ, the last word of a record says whose it is: losses and throttling are told by each event. */
static u64 side_time(const struct live_unwind *u, const u8 *rec)
{
	u64 time = 0, id;
	u16 size = record_size(rec);
	u32 back = u->time_in_trailer;
	if (u->cfg.nr_events > 1 && u->side_type & PERF_SAMPLE_IDENTIFIER && size >= 16) {
		memcpy(&id, rec + size - sizeof(id), sizeof(id));
		u32 event = dict_get(&u->event_of, id);
		back = event == DICT_NONE ? back : time_in_trailer(u->layouts[event].sample_type);
	}
	if (back && size >= sizeof(struct perf_event_header) + back)
		memcpy(&time, rec + size - back, sizeof(time));
	return time;
}

static int by_time(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

static void sort(struct timed *at, size_t nr)
{
	if (nr > 1)
		qsort(at, nr, sizeof(*at), by_time);
}

static int apply(struct live_unwind *u, const u8 *rec)
{
	struct perf_side side;
	int err = perf_side_decode(rec, record_size(rec), false, u->side_type, u->side_type != 0,
				   &side);
	return err ? 0 : live_maps_apply(u->maps, &side); /* what does not concern maps goes by */
}

static int flush(struct live_unwind *u)
{
	int err = u->out.nr ? u->cfg.emit(u->cfg.ctx, u->out.at, u->out.nr) : 0;
	u->out.nr = 0;
	return err;
}

static int put(struct live_unwind *u, const void *data, size_t size)
{
	if (!vec_reserve(&u->out, u->out.nr + size))
		return -ENOMEM;
	memcpy(u->out.at + u->out.nr, data, size);
	u->out.nr += size;
	return u->out.nr >= EMIT_BYTES ? flush(u) : 0;
}

/* ---- a sample --------------------------------------------------------------------------------------------------- */

static const struct perf_layout *layout_of(const struct live_unwind *u, const u8 *rec)
{
	if (u->cfg.nr_events == 1)
		return &u->layouts[0];
	u64 id = perf_sample_id(&u->layouts[0], rec, record_size(rec), false);
	u32 event = dict_get(&u->event_of, id);
	return event == DICT_NONE ? NULL : &u->layouts[event];
}

/* The user's part of a chain begins with its marker. */
static u32 kernel_part(const struct perf_sample_view *v, u64 *to, u32 max)
{
	u32 nr = 0;
	while (nr < v->nr_chain && nr < max && v->chain[nr] != (u64)PERF_CONTEXT_USER) {
		to[nr] = v->chain[nr];
		nr++;
	}
	return nr;
}

/* A process to look into; live_maps_find() takes it for its first member. */
struct looking {
	struct live_space space;
	struct live_code *code;
	u32 pid;
};

static size_t read_code(void *ctx, u64 addr, u8 *to, size_t nr, bool again)
{
	const struct looking *l = ctx;
	return live_code_read(l->code, l->pid, addr, to, nr, again);
}

static u32 unwind_user(struct live_unwind *u, const struct perf_sample_view *v, u64 *to, u32 max)
{
	const struct arch *a = unwind_tables_arch(u->tables);
	struct cfi_regs regs;
	struct looking l = { .code = u->code, .pid = v->pid };
	enum unwind_end end = UNWIND_NO_MAPS;
	u32 nr = 0;
	if (!unwind_regs(a, v->user_regs.mask, v->user_regs.values, &regs))
		return 0;
	if (live_maps_space(u->maps, v->pid, &l.space)) {
		struct unwind_thread th = { .regs = &regs,
					    .stack = v->stack,
					    .stack_at = regs.value[a->sp],
					    .stack_size = v->stack_size,
					    .space = l.space.process,
					    .time = l.space.time,
					    .find = live_maps_find,
					    .code = read_code,
					    .ctx = &l };
		nr = unwind(u->unwinder, &th, true, to, max, &end);
	}
	if (!nr)
		to[nr++] = regs.value[a->pc];
	u->stats.nr_stacks++;
	u->stats.nr_ends[end]++;
	return nr;
}

static int put_sample(struct live_unwind *u, const u8 *rec)
{
	const struct perf_layout *l = layout_of(u, rec);
	struct perf_sample_view v;
	if (!l || perf_sample_decode(l, rec, record_size(rec), false, &u->scratch, &v))
		return 0; /* nobody could read it: the kernel does not write such */
	if (!(l->sample_type & PERF_SAMPLE_STACK_USER))
		return put(u, rec, record_size(rec));
	u64 chain[CHAIN_MAX + FRAMES_MAX + 1];
	const u64 *words = chain;
	u32 nr = 0;
	if (v.user_regs.abi == PERF_SAMPLE_REGS_ABI_64) {
		nr = kernel_part(&v, chain, CHAIN_MAX);
		chain[nr++] = (u64)PERF_CONTEXT_USER;
		nr += unwind_user(u, &v, chain + nr, FRAMES_MAX);
	} else {
		u->stats.nr_foreign += v.user_regs.abi != PERF_SAMPLE_REGS_ABI_NONE;
		words = v.chain;
		nr = (u32)v.nr_chain;
	}
	u8 made[RECORD_MAX];
	size_t size = perf_sample_rechain(rec, &v, words, nr, made, sizeof(made));
	return put(u, made, size);
}

/* ---- windows ---------------------------------------------------------------------------------------------------- */

/* Side-band records that are not newer than `time`, applied and written. */
static int pass_sides(struct live_unwind *u, u64 time)
{
	int err = 0;
	for (; !err && u->side_at < u->sides.nr && u->sides.at[u->side_at].time <= time;
	     u->side_at++) {
		const u8 *rec = u->sides.at[u->side_at].rec;
		err = apply(u, rec);
		if (!err)
			err = put(u, rec, record_size(rec));
		free((u8 *)(uintptr_t)rec);
	}
	return err;
}

static void drop_passed_sides(struct live_unwind *u)
{
	size_t left = u->sides.nr - u->side_at;
	if (u->side_at && left)
		memmove(u->sides.at, u->sides.at + u->side_at, left * sizeof(*u->sides.at));
	u->sides.nr = left;
	u->side_at = 0;
}

static int write_window(struct live_unwind *u, bool last)
{
	static const struct perf_event_header finished_round = { .type = REC_FINISHED_ROUND,
								 .size = sizeof(finished_round) };
	int err = 0;
	sort(u->samples.at, u->samples.nr);
	sort(u->sides.at, u->sides.nr);
	for (size_t i = 0; i < u->samples.nr && !err; i++) {
		err = pass_sides(u, u->samples.at[i].time);
		if (!err)
			err = put_sample(u, u->samples.at[i].rec);
	}
	if (!err && last)
		err = pass_sides(u, UINT64_MAX);
	if (!err)
		err = put(u, &finished_round, sizeof(finished_round));
	drop_passed_sides(u);
	u->samples.nr = 0;
	return err;
}

/* Where its records go. Samples stay in the batch, side-band records leave it. */
static int sort_in(struct live_unwind *u, struct batch_of *b, bool now)
{
	for (size_t at = 0; at < b->size;) {
		const u8 *rec = b->data + at;
		struct perf_event_header h = perf_head(rec, false);
		struct timed t = { .seq = u->seq++, .rec = rec };
		at += h.size;
		struct timed *slot;
		if (h.type == PERF_RECORD_SAMPLE) {
			t.time = perf_sample_time(&u->layouts[0], rec, h.size, false);
			slot = now ? vec_push(&u->samples) : vec_push(&u->later);
		} else {
			t.time = side_time(u, rec);
			u8 *copy = malloc(h.size);
			if (!copy)
				return -ENOMEM;
			t.rec = memcpy(copy, rec, h.size);
			slot = vec_push(&u->sides);
			if (!slot)
				free(copy);
		}
		if (!slot)
			return -ENOMEM;
		*slot = t;
	}
	return 0;
}

static void free_round(struct live_unwind *u, u64 round)
{
	struct batch_of **at = &u->held;
	while (*at) {
		struct batch_of *b = *at;
		if (b->round > round) {
			at = &b->next;
			continue;
		}
		*at = b->next;
		free(b);
	}
}

/* The batches of the round to be written and of the one after: nothing older can come. */
static int work_on(struct live_unwind *u, struct batch_of *list, bool last)
{
	u64 round = u->next_round;
	int err = 0;
	struct timed *at = u->samples.at;
	size_t cap = u->samples.cap;
	u->samples.at = u->later.at; /* what was later is now; what was now is empty */
	u->samples.nr = u->later.nr;
	u->samples.cap = u->later.cap;
	u->later.at = at;
	u->later.cap = cap;
	u->later.nr = 0;
	while (list) {
		struct batch_of *b = list;
		list = b->next;
		b->next = u->held;
		u->held = b;
		if (!err)
			err = sort_in(u, b, b->round <= round || last);
	}
	if (!err)
		err = write_window(u, last);
	if (!err)
		err = flush(u);
	free_round(u, last ? UINT64_MAX : round);
	u->next_round++;
	return err;
}

/* With the lock held: whether there is something to work on, and in a hurry. */
static bool is_due(const struct live_unwind *u, bool *hurried)
{
	if (!u->go)
		return u->finish;
	*hurried = u->waiting_bytes > WAITING_MAX_BYTES;
	return u->finish || *hurried || u->round >= u->next_round + ROUNDS_TO_WAIT;
}

/* With the lock held: the batches up to a round, in the order they came. */
static struct batch_of *take_batches(struct live_unwind *u, u64 round)
{
	struct batch_of *list = NULL, **end = &list, **at = &u->first;
	while (*at) {
		struct batch_of *b = *at;
		if (b->round > round) {
			at = &b->next;
			continue;
		}
		*at = b->next;
		u->waiting_bytes -= b->size;
		*end = b;
		end = &b->next;
	}
	*end = NULL;
	u->last = at;
	return list;
}

static void *thread_main(void *arg)
{
	struct live_unwind *u = arg;
	bool last = false;
	while (!last) {
		bool hurried = false;
		pthread_mutex_lock(&u->lock);
		while (!is_due(u, &hurried))
			pthread_cond_wait(&u->wake, &u->lock);
		last = u->finish;
		struct batch_of *list = take_batches(u, last ? UINT64_MAX : u->next_round + 1);
		if (hurried && u->round <= u->next_round + 1)
			u->round = u->next_round + ROUNDS_TO_WAIT;
		int err = u->err;
		pthread_mutex_unlock(&u->lock);
		u64 before = u->stats.nr_stacks;
		int now = work_on(u, list, last);
		if (hurried)
			u->stats.nr_hurried += u->stats.nr_stacks - before;
		if (now && !err) {
			pthread_mutex_lock(&u->lock);
			u->err = now;
			pthread_mutex_unlock(&u->lock);
		}
		if (u->cfg.unwound && !last)
			u->cfg.unwound(u->cfg.ctx, &u->stats);
	}
	return NULL;
}

/* ---- from outside ----------------------------------------------------------------------------------------------- */

static int set_up_events(struct live_unwind *u)
{
	const struct live_unwind_config *c = &u->cfg;
	u->layouts = calloc(c->nr_events, sizeof(*u->layouts));
	if (!u->layouts)
		return -ENOMEM;
	for (u32 i = 0; i < c->nr_events; i++) {
		perf_layout_init(&u->layouts[i], &c->events[i].attr);
		for (size_t k = 0; k < c->events[i].ids.nr; k++) {
			u32 got;
			int err = dict_add(&u->event_of, c->events[i].ids.at[k], i, &got);
			if (err)
				return err;
		}
	}
	/* Side-band records come with the last event when that is for them alone, else with the first. */
	bool own = c->events[c->nr_events - 1].tracking;
	const struct perf_event_attr *a = &c->events[own ? c->nr_events - 1 : 0].attr;
	u->side_type = a->sample_id_all ? a->sample_type : 0;
	u->time_in_trailer = time_in_trailer(u->side_type);
	return 0;
}

static int start_thread(struct live_unwind *u)
{
	sigset_t all, old;
	guard_sigmask(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the one who owns the loop */
	int err = -pthread_create(&u->thread, NULL, thread_main, u);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	u->running = !err;
	return err;
}

struct live_unwind *live_unwind_open(const struct live_unwind_config *cfg)
{
	const struct arch *arch = arch_host();
	struct live_unwind *u = arch ? calloc(1, sizeof(*u)) : NULL;
	if (!u) {
		errno = arch ? ENOMEM : ENOTSUP;
		return NULL;
	}
	u->cfg = *cfg;
	u->last = &u->first;
	dict_init(&u->event_of);
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->wake, NULL);
	u->cache = cfg->cache ? strdup(cfg->cache) : NULL;
	u->tables = unwind_tables_new(&(struct unwind_config){
		.arch = arch, .cache = u->cache, .places = cfg->places, .opener = cfg->opener });
	u->unwinder = u->tables ? unwinder_new(u->tables) : NULL;
	u->maps = u->unwinder ? live_maps_new(u->tables) : NULL;
	u->code = live_code_new();
	int err = u->maps && u->code ? set_up_events(u) : -ENOMEM;
	if (!err)
		err = start_thread(u);
	if (!err)
		return u;
	live_unwind_close(u);
	errno = -err;
	return NULL;
}

int live_unwind_known(struct live_unwind *u, const void *records, size_t size)
{
	const u8 *at = records;
	int err = 0;
	for (size_t pos = 0; pos < size && !err; pos += record_size(at + pos)) {
		if (size - pos < sizeof(struct perf_event_header) || !record_size(at + pos))
			return -EBADMSG;
		if (perf_head(at + pos, false).type < REC_KERNEL_MAX)
			err = apply(u, at + pos);
	}
	return err;
}

void live_unwind_go(struct live_unwind *u)
{
	pthread_mutex_lock(&u->lock);
	u->go = true;
	pthread_cond_signal(&u->wake);
	pthread_mutex_unlock(&u->lock);
}

/* Memory that a process began to execute, with no file behind it: it may be gone before its stacks are unwound. */
static void announce_code(struct live_unwind *u, const u8 *rec)
{
	struct perf_side side;
	if (!perf_side_decode(rec, record_size(rec), false, u->side_type, u->side_type != 0, &side) &&
	    side.prot & PROT_EXEC && live_maps_is_anon(side.name))
		live_code_announce(u->code, side.pid, side.addr, side.len);
}

static void announce_all(struct live_unwind *u, const struct batch_of *b)
{
	for (size_t at = 0; at < b->size;) {
		struct perf_event_header h = perf_head(b->data + at, false);
		if (unlikely(h.type == PERF_RECORD_MMAP2))
			announce_code(u, b->data + at);
		at += h.size;
	}
}

/*
 * The kernel reserves the whole size of a stack's copy in every sample and fills what the stack holds. Only that is taken along, so that
 * large copies cost as much as stacks are deep. Returns how much was written.
 */
static size_t copy_span(const struct live_unwind *u, const struct ring_span *span, u8 *to)
{
	u8 pieced[RECORD_MAX];
	struct perf_scratch scratch = { 0 };
	const struct perf_event_header *h;
	size_t pos = 0;
	u8 *at = to;
	while ((h = ring_span_next(span, &pos, true, pieced))) {
		const u8 *rec = (const u8 *)h;
		struct perf_sample_view v;
		const struct perf_layout *l =
			h->type == PERF_RECORD_SAMPLE ? layout_of(u, rec) : NULL;
		bool stack = l && l->sample_type & PERF_SAMPLE_STACK_USER &&
			     !perf_sample_decode(l, rec, h->size, false, &scratch, &v) && v.stack;
		at += stack ? perf_sample_trim_stack(rec, &v, at)
			    : (size_t)((u8 *)mempcpy(at, rec, h->size) - at);
	}
	perf_scratch_done(&scratch);
	return (size_t)(at - to);
}

int live_unwind_take(struct live_unwind *u, const struct ring_span *spans, size_t nr,
		     bool round_done)
{
	size_t size = 0;
	for (size_t i = 0; i < nr; i++)
		size += ring_span_len(&spans[i]);
	struct batch_of *b = malloc(sizeof(*b) + size);
	if (!b)
		return -ENOMEM;
	*b = (struct batch_of){ .size = 0 };
	for (size_t i = 0; i < nr; i++)
		b->size += copy_span(u, &spans[i], b->data + b->size);
	if (b->size < size) {
		struct batch_of *smaller = realloc(b, sizeof(*b) + b->size);
		b = smaller ? smaller : b;
	}
	size = b->size;
	announce_all(u, b);
	pthread_mutex_lock(&u->lock);
	b->round = u->round;
	*u->last = b;
	u->last = &b->next;
	u->waiting_bytes += size;
	u->round += round_done;
	int err = u->err;
	if (round_done || u->waiting_bytes > WAITING_MAX_BYTES)
		pthread_cond_signal(&u->wake);
	pthread_mutex_unlock(&u->lock);
	return err;
}

static void end_thread(struct live_unwind *u)
{
	if (!u->running)
		return;
	pthread_mutex_lock(&u->lock);
	u->finish = true;
	pthread_cond_signal(&u->wake);
	pthread_mutex_unlock(&u->lock);
	pthread_join(u->thread, NULL);
	u->running = false;
}

int live_unwind_finish(struct live_unwind *u, struct diag *d)
{
	end_thread(u);
	unwind_tables_report_refused(u->tables, d);
	return u->err;
}

void live_unwind_stats(struct live_unwind *u, struct live_unwind_stats *ret)
{
	*ret = u->stats; /* numbers may lag behind; they are whole after _finish() */
}

void live_unwind_close(struct live_unwind *u)
{
	if (!u)
		return;
	end_thread(u);
	for (struct batch_of *b = u->first, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free_round(u, UINT64_MAX);
	for (size_t i = u->side_at; i < u->sides.nr; i++)
		free((u8 *)(uintptr_t)u->sides.at[i].rec);
	vec_free(&u->sides);
	vec_free(&u->samples);
	vec_free(&u->later);
	vec_free(&u->out);
	perf_scratch_done(&u->scratch);
	live_maps_free(u->maps);
	live_code_free(u->code);
	unwinder_free(u->unwinder);
	unwind_tables_free(u->tables);
	free(u->layouts);
	dict_done(&u->event_of);
	pthread_cond_destroy(&u->wake);
	pthread_mutex_destroy(&u->lock);
	free(u->cache);
	free(u);
}
