/*
 * What the files of the trace.dat source share: replay_ftrace.c opens files and knows their events,
 * replay_ftrace_windows.c plans windows of time and walks them, ftrace_samples.c makes samples of events.
 */
#pragma once

#include "model/calls.h"
#include "stream/ftrace_frames.h"
#include "stream/replay_ftrace.h"
#include "wire/ftrace_page.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
	BATCH_MAX = 64,
	WINDOW_PAGES = 32, /* over all CPUs */
	LANE_PAGES_MIN = 4,
	IDS_MAX = 1 << 16,
};

/* A chunk of a compressed file while somebody looks at its pages. */
struct held {
	u8 *data;
	u32 users;
	bool bad;
};

struct replay_ftrace_part;

/* The pages of one CPU in one buffer of one file. */
struct lane {
	struct replay_ftrace_part *part;
	const struct tracedat_cpu *cpu;
	u32 buffer;
	u32 page_size;
	u32 nr_pages;
	u32 pages_per_chunk;
	struct held *held; /* one for each chunk */
	bool scaled; /* times need more than an addition */
	u64 add_ns; /* else this one */
	u32 first; /* page to begin with; of a round the page before it is partly used up */
	u32 surveyed; /* pages before it were looked over, for samples */
	/* The planner's: */
	u32 next; /* first page whose time is not before the next window */
	u32 low_chunk; /* chunks before it are kept only while windows use them */
	u32 high_chunk;
};

struct event_def {
	struct schema *schema; /* NULL: no format, or one that cannot be read */
	const struct print_prog *prog;
	const struct replay_ftrace_part *part;
	u32 event; /* index into the catalogue */
	bool no_task; /* its format has no common_pid */
};

/* An event that carries addresses. */
struct addr_reader {
	u32 id; /* IDS_MAX: the file has none */
	const struct schema *schema;
	const struct schema_field *size; /* of a stack; NULL: it ends with a 0 or -1 */
	const struct schema_field *first; /* where addresses begin; of a function: its own */
	const struct schema_field *other; /* of a function: its caller; of a user's stack: whose it is */
};

/* One file. */
struct replay_ftrace_part {
	struct replay *replay;
	struct tracedat file;
	bool is_open;
	struct ftrace_env env;
	bool has_env;
	struct timebase times; /* how this file's numbers become nanoseconds */
	s64 ts_offset; /* in the clock's units */
	u32 first_buffer, first_event; /* in the numbers of the whole */
	u32 type_offset, type_size, pid_offset; /* of the common fields */
	bool big_endian, swap;
	u32 *comm_ids; /* index of the saved name -> catalogue string */
	u32 *format_of; /* event id -> index of its format + 1 */
	_Atomic(const struct event_def *) *defs; /* [event id] */
	/* For samples: */
	atomic_uchar *seen; /* [event id] */
	u32 *event_of; /* index of a format -> event + 1; 0: does not occur */
	struct addr_reader kernel_stack, user_stack, function;
	struct call_reader entry, exit;
	u32 entry_id, exit_id; /* IDS_MAX: none */
	struct ftrace_frames frames;
	bool has_frames;
};

struct event_ref {
	u32 part, format;
};

/* What was found wrong on the way. */
struct replay_counts {
	u64 nr_bad_pages, nr_stray, nr_unknown;
};

struct ftrace_rounds;

struct replay {
	struct source source;
	struct replay_ftrace_part *parts;
	u32 nr_parts;
	enum print_style style;
	bool (*plain)(void *ctx, const char *system, const char *name);
	void *ctx;
	unsigned needs;
	struct lane *lanes;
	u32 nr_lanes;
	u32 lane_pages;
	u64 zero_ns; /* taken from every time */
	u64 seed; /* of the keys of chains */

	bool samples, calls; /* as asked for */
	bool prepared;
	/* A source with rounds (ftrace_rounds.c): times of the current round, from and below. Of a recording: 0 and UINT64_MAX. */
	struct ftrace_rounds *rounds;
	u64 from, limit;
	struct replay_counts counts_before; /* of earlier rounds */
	bool joins; /* there are stacks to be joined with their events */
	bool serial; /* there are calls: their order over all blocks counts, so one shard gets them all */
	bool has_chains;
	u32 nr_shards;
	struct calls open_calls; /* of a serial run: its one shard's */
	VEC(struct event_ref) refs; /* [event], with samples */
	atomic_ullong nr_stray, nr_unknown;

	pthread_mutex_t defs_lock;
	struct arena defs_arena;

	pthread_mutex_t plan_lock; /* what follows, and held chunks */
	u64 plan_time;
	u64 plan_seq;
	bool plan_done;
	atomic_uint_fast64_t nr_bad_pages;
	u64 nr_bad_chunks;
};

/* One lane's part of a window: pages [first, end), of which the outer ones are cut by time. */
struct span {
	u32 first;
	u32 end;
	u32 chunk_low, chunk_high; /* held, low <= high; unused when the lane has no chunks */
};

struct spot {
	struct ftrace_event e;
	u32 page;
	u32 missed;
	struct ftrace_event kernel, user; /* stacks recorded with it; data NULL: none */
};

struct cursor {
	struct ftrace_page walk;
	u32 page; /* that walk is on */
	u32 pending_missed;
	u32 lane;
	struct spot spots[2], *cur, *next; /* they change places: nothing is copied */
	struct spot ahead; /* joining stacks: what was found to belong to nothing before it */
	bool has_next, has_ahead;
	u32 carried; /* lost before an event that became no sample */
	const u8 *prev;
	u32 prev_size;
	bool has_comm; /* of the event before: mostly of this one too */
	s32 comm_pid;
	u32 comm;
};

struct shard_state {
	struct span *spans;
	struct cursor *cursors;
	u32 *heap; /* indexes of cursors that have something, the earliest on top */
	u32 nr_heap;
	u64 start, end;
	bool in_window;
	struct sample samples[BATCH_MAX];
	/* For samples: */
	bool owner; /* of a serial run */
	struct dict *known; /* [part]: kernel address -> frame */
	struct ftrace_stack stack;
	u32 frames[FTRACE_STACK_MAX + CALLS_DEPTH_MAX];
	u64 addrs[CALLS_DEPTH_MAX + 1];
	VEC(struct sample_place) places;
};

static inline struct replay *replay_of(const struct source *s)
{
	return container_of(s, struct replay, source);
}

u64 replay_ftrace_scale_ns(const struct replay_ftrace_part *p, u64 time);

static inline u64 to_ns(const struct lane *l, u64 time)
{
	return likely(!l->scaled) ? time + l->add_ns : replay_ftrace_scale_ns(l->part, time);
}

static inline u32 load_type(const struct replay_ftrace_part *p, const u8 *data)
{
	if (p->type_size == 2) {
		u16 v;
		memcpy(&v, data + p->type_offset, 2);
		return p->swap ? __builtin_bswap16(v) : v;
	}
	return data[p->type_offset];
}

/* The event's id and task; UINT32_MAX: it is too short to have any. */
static inline u32 load_common(const struct replay_ftrace_part *p, const struct ftrace_event *e,
			      s32 *pid)
{
	*pid = -1;
	if (unlikely(e->size < p->type_offset + p->type_size))
		return UINT32_MAX;
	if (unlikely(e->size < p->pid_offset + 4))
		return load_type(p, e->data);
	memcpy(pid, e->data + p->pid_offset, 4);
	if (p->swap)
		*pid = (s32)__builtin_bswap32((u32)*pid);
	return load_type(p, e->data);
}

extern const struct event_def replay_ftrace_no_def;
const struct event_def *replay_ftrace_slow_def(struct replay_ftrace_part *p, u32 id);

/* Never NULL. */
static inline const struct event_def *def_of(struct replay_ftrace_part *p, u32 id)
{
	if (unlikely(id >= IDS_MAX))
		return &replay_ftrace_no_def;
	const struct event_def *def = atomic_load_explicit(&p->defs[id], memory_order_acquire);
	return likely(def) ? def : replay_ftrace_slow_def(p, id);
}

/* A page of a lane; NULL: not there (bad chunk). In a packed file its chunk must be held. */
const u8 *replay_ftrace_page(const struct lane *l, u32 page, size_t *size);

/* What a recording and one that is still being made have in common. NULL: no memory. o->cpus is only used by replay_ftrace_make_lanes(). */
struct replay *replay_ftrace_new(const struct source_ops *ops, u32 nr_parts,
				 const struct replay_ftrace_opts *o);
/* A part whose file is open gets ready to be read. */
int replay_ftrace_init_part(struct replay_ftrace_part *p, const struct replay_ftrace_input *in,
			    const struct replay_ftrace_opts *o) must_check;
/* Lanes for all CPUs that have pages (all: and for the others). */
int replay_ftrace_make_lanes(struct replay *r, const struct replay_ftrace_opts *o,
			     bool all) must_check;
/* Names of tasks as strings of the catalogue; once more when there are new ones. */
int replay_ftrace_name_tasks(struct replay_ftrace_part *p) must_check;

/* Of the source; each block is a window of time. */
int replay_ftrace_prepare(struct source *src, unsigned needs, struct diag *d) must_check;
void replay_ftrace_finish(struct source *src, struct diag *d);
void replay_ftrace_close(struct source *src);
void replay_ftrace_describe(const struct source *s, struct source_facts *ret);
const char *replay_ftrace_symbol(struct source *s, u32 buffer, u64 addr, u64 *offset);
const char *replay_ftrace_task_name(struct source *s, u32 buffer, s32 pid);
/* Of a recording that is prepared: which times the source is asked for. */
void replay_ftrace_choose_times(struct replay *r);
int replay_ftrace_shard_open(struct source *src, struct shard *sh) must_check;
void replay_ftrace_shard_close(struct source *src, struct shard *sh);
int replay_ftrace_next_block(struct source *src, struct shard *sh, u64 *seq) must_check;
int replay_ftrace_next_batch(struct source *src, struct shard *sh, struct batch *ret) must_check;
