#include "stream/recorder.h"

#include "base/clock.h"
#include "kern/kmap.h"
#include "kern/machine.h"
#include "kern/tracing_data.h"
#include "stream/live_unwind.h"
#include "stream/made_code.h"
#include "stream/map_ids.h"
#include "stream/rounds.h"
#include "stream/stack_growth.h"
#include "stream/write_queue.h"
#include "wire/perf_sample.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { NO_TIME = 0xff };

/* Of one reader. Times are its own; counts grow when the queue has written what they stand for. */
struct recorder_tally {
	_Alignas(64) u64 nr_samples;
	u64 nr_lost, nr_lost_events, nr_throttled, nr_passes;
	u64 first_ns, last_ns;
	u8 *scratch; /* a record in one piece */
};

struct recorder {
	const struct sysroot *root;
	struct live_perf *live;
	struct opener *opener; /* images of others are opened by it */
	struct live_unwind *unwind; /* NULL: what the rings hold is written as it is */
	struct perfdata_writer *file;
	struct perfdata_writer
		*tee; /* the stream to the source, beside the file; NULL: none, or it is `file` */
	struct write_queue *queue; /* all records go to the file through it */
	struct machine machine;
	bool has_machine;
	bool finished;
	bool described; /* what was there before is in the file */
	char *path;
	struct recorder_opts opts;
	struct map_ids map_ids;
	pthread_rwlock_t file_lock; /* readers write to the file; who changes it, writes this */
	int full_fd;
	bool full_told;
	u32 time_slot; /* which u64 of a sample's body is its time, in all events; NO_TIME: not the same in all */
	struct recorder_tally *tallies; /* one a reader, and one for what is synthesised */
	unsigned nr_tallies;
	struct stack_growth growth; /* of the unwinding thread; others read its step */
	u64 start_ns, grown_ns; /* CLOCK_MONOTONIC */
	struct made_code *made; /* who made code at run time */
	u64 nr_lost_samples; /* as the kernel counted them per event, at the end */
};

/* Plain stores with a reader on another thread. */
#define bump(counter, n) __atomic_store_n(&(counter), (counter) + (n), __ATOMIC_RELAXED)

/* ---- what passes through ---------------------------------------------------------------------------------------- */

struct mmap2_head {
	struct perf_event_header header;
	u32 pid, tid;
	u64 start, len, pgoff;
	u8 id_size, spare[3];
	u8 id[20];
	u32 prot, flags;
	char name[];
};

static int add_build_id(struct recorder *r, const char *path, bool kernel, const u8 *id, size_t size)
{
	int err = perfdata_write_build_id(r->file, path, kernel, id, size);
	return err || !r->tee ? err : perfdata_write_build_id(r->tee, path, kernel, id, size);
}

/*
 * Build IDs of mapped files go to the table at the end of the file, with what made its code itself. Records that we made, and those of
 * --buildid-mmap, have them.
 */
static int note_map(struct recorder *r, const struct perf_event_header *h)
{
	const struct mmap2_head *m = (const struct mmap2_head *)h;
	struct synth_build_id id;
	const char *path;
	if (h->size <= sizeof(*m) || !memchr(m->name, 0, h->size - sizeof(*m)))
		return 0;
	int err = m->prot & PROT_EXEC ? made_code_note(r->made, m->pid, m->name) : 0;
	if (err || r->opts.no_build_ids)
		return err;
	if (!(h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
		return map_ids_read(&r->map_ids, h, &path, &id)
			       ? add_build_id(r, path, false, id.id, id.size)
			       : 0;
	if (m->id_size > sizeof(m->id))
		return 0;
	return add_build_id(r, m->name, false, m->id, m->id_size);
}

/* Of one pass; counted when it has been written. */
struct pass_counts {
	u64 nr_samples, nr_lost, nr_lost_events, nr_throttled;
	u64 nr_marked; /* records with a build ID's mark that nobody asked for */
};

static void count_pass(struct recorder_tally *t, const struct pass_counts *c)
{
	bump(t->nr_samples, c->nr_samples);
	bump(t->nr_lost, c->nr_lost);
	bump(t->nr_lost_events, c->nr_lost_events);
	bump(t->nr_throttled, c->nr_throttled);
	bump(t->nr_passes, 1);
}

static int write_queued(void *ctx, const struct iovec *iov, size_t nr)
{
	struct recorder *r = ctx;
	int err = perfdata_write_records(r->file, iov, nr);
	return err || !r->tee ? err : perfdata_write_records(r->tee, iov, nr);
}

static void count_written(void *ctx, const struct write_note *note)
{
	struct recorder *r = ctx;
	struct pass_counts c = { note->n[0], note->n[1], note->n[2], note->n[3] };
	if (note->from < r->nr_tallies)
		count_pass(&r->tallies[note->from], &c);
}

/* from UINT32_MAX: nothing to count. */
static int put_records(struct recorder *r, const struct iovec *iov, size_t nr, u32 from,
		       const struct pass_counts *c)
{
	struct write_note note = {
		.from = from,
		.n = { c->nr_samples, c->nr_lost, c->nr_lost_events, c->nr_throttled },
	};
	return write_queue_put(r->queue, iov, nr, &note);
}

static int put_bytes(struct recorder *r, const void *data, size_t size)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = size };
	return put_records(r, &iov, 1, UINT32_MAX, &(struct pass_counts){ 0 });
}

/*
 * The mark of a build ID on a record of an event that did not ask for one is that of another recorder's event (map_ids.h): the record holds
 * an inode, and readers would take its bytes for an ID.
 */
static bool has_foreign_mark(const struct recorder *r, const struct perf_event_header *h)
{
	return h->type == PERF_RECORD_MMAP2 && h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID &&
	       !r->opts.live.map_build_ids;
}

/* Takes the marks off, in a copy: ring memory cannot be written. NULL: no memory. */
static u8 *copy_unmarked(const struct recorder *r, const struct ring_span *spans, size_t nr,
			 struct ring_span *ret)
{
	size_t size = 0, at = 0;
	for (size_t i = 0; i < nr; i++)
		size += ring_span_len(&spans[i]);
	u8 *copy = malloc(size + 1);
	if (!copy)
		return NULL;
	for (size_t i = 0; i < nr; i++) {
		size_t len = ring_span_len(&spans[i]);
		(void)ring_span_copy(&spans[i], 0, copy + at, len);
		at += len;
	}
	*ret = (struct ring_span){ .at = { copy }, .len = { size } };
	for (at = 0; at < size;) {
		struct perf_event_header *h = (void *)(copy + at);
		if (has_foreign_mark(r, h))
			h->misc &= (u16)~PERF_RECORD_MISC_MMAP_BUILD_ID;
		at += h->size; /* count_span() has seen that they fit */
	}
	return copy;
}

/* ours: made by us, not by the kernel. */
static int count_span(struct recorder *r, struct recorder_tally *t, const struct ring_span *s,
		      bool ours, struct pass_counts *c)
{
	size_t pos = 0;
	const struct perf_event_header *h;
	while ((h = ring_span_next(s, &pos, false, NULL))) {
		size_t at = pos - h->size;
		if (likely(h->type == PERF_RECORD_SAMPLE)) {
			u64 when;
			c->nr_samples++;
			size_t time_at = at + sizeof(*h) + r->time_slot * sizeof(u64);
			if (r->time_slot != NO_TIME && time_at + sizeof(when) <= pos &&
			    ring_span_copy(s, time_at, &when, sizeof(when))) {
				if (when < t->first_ns)
					t->first_ns = when;
				if (when > t->last_ns)
					t->last_ns = when;
			}
			continue;
		}
		u64 body[2];
		switch (h->type) {
		case PERF_RECORD_MMAP2:
			if (ring_span_copy(s, at, t->scratch, h->size)) {
				struct perf_event_header *copy = (void *)t->scratch;
				if (!ours && has_foreign_mark(r, copy)) {
					copy->misc &= (u16)~PERF_RECORD_MISC_MMAP_BUILD_ID;
					c->nr_marked++;
				}
				int err = note_map(r, copy);
				if (err)
					return err;
			}
			break;
		case PERF_RECORD_LOST: /* id, number */
			if (ring_span_copy(s, at + sizeof(*h), body, sizeof(body))) {
				c->nr_lost += body[1];
				c->nr_lost_events++;
			}
			break;
		case PERF_RECORD_LOST_SAMPLES:
			if (ring_span_copy(s, at + sizeof(*h), body, sizeof(u64))) {
				c->nr_lost += body[0];
				c->nr_lost_events++;
			}
			break;
		case PERF_RECORD_THROTTLE: c->nr_throttled++; break;
		}
	}
	return pos == ring_span_len(s) ? 0 : -EBADMSG;
}

static void check_full(struct recorder *r)
{
	u64 one = 1;
	if (!r->opts.full_bytes || __atomic_load_n(&r->full_told, __ATOMIC_RELAXED) ||
	    perfdata_write_file_bytes(r->file) + write_queue_bytes(r->queue) < r->opts.full_bytes)
		return;
	__atomic_store_n(&r->full_told, true, __ATOMIC_RELAXED);
	(void)!write(r->full_fd, &one, sizeof(one));
}

/* What was unwound, from its thread. */
static int write_unwound(void *ctx, const void *data, size_t size)
{
	struct recorder *r = ctx;
	pthread_rwlock_rdlock(&r->file_lock);
	int err = put_bytes(r, data, size);
	check_full(r);
	pthread_rwlock_unlock(&r->file_lock);
	return err;
}

/* Larger copies where stacks turn out to be longer, from the unwinding thread. */
static void adapt_stacks(void *ctx, const struct live_unwind_stats *so_far)
{
	struct recorder *r = ctx;
	struct stack_growth_counts now = { .nr_stacks = so_far->nr_stacks,
					   .nr_short = so_far->nr_ends[UNWIND_SHORT_COPY] };
	for (unsigned i = 0; i < r->nr_tallies; i++)
		now.nr_lost += __atomic_load_n(&r->tallies[i].nr_lost, __ATOMIC_RELAXED);
	u32 before = r->growth.step, step = stack_growth_look(&r->growth, &now);
	if (step == before)
		return;
	if (!r->grown_ns)
		__atomic_store_n(&r->grown_ns, clock_monotonic_ns(), __ATOMIC_RELAXED);
	live_perf_copy_stacks(r->live, step);
}

/* Counted here, written when it has been unwound. */
static int hand_over(struct recorder *r, unsigned reader, const struct ring_span *spans, size_t nr,
		     bool round_done)
{
	struct recorder_tally *t = &r->tallies[reader];
	struct pass_counts c = { 0 };
	int err = 0;
	for (size_t i = 0; i < nr && !err; i++)
		err = count_span(r, t, &spans[i], false, &c);
	if (!err && t->last_ns)
		perfdata_write_times(r->file, t->first_ns, t->last_ns);
	struct ring_span clean;
	_cleanup_free_ u8 *copy = !err && c.nr_marked ? copy_unmarked(r, spans, nr, &clean) : NULL;
	if (!err)
		err = live_unwind_take(r->unwind, copy ? &clean : spans, copy ? 1 : nr, round_done);
	if (!err)
		count_pass(t, &c);
	return err;
}

static int write_spans(struct recorder *r, unsigned reader, const struct ring_span *spans,
		       size_t nr, bool round_done)
{
	static const struct perf_event_header finished_round = { .type = REC_FINISHED_ROUND,
								 .size = sizeof(finished_round) };
	struct recorder_tally *t = &r->tallies[reader];
	struct iovec iov[2 * LIVE_SPANS_MAX + 1];
	struct pass_counts c = { 0 };
	size_t n = 0;
	for (size_t i = 0; i < nr; i++) {
		int err = count_span(r, t, &spans[i], false, &c);
		if (err)
			return err;
	}
	struct ring_span clean;
	_cleanup_free_ u8 *copy = c.nr_marked ? copy_unmarked(r, spans, nr, &clean) : NULL;
	if (copy) {
		spans = &clean;
		nr = 1;
	}
	for (size_t i = 0; i < nr; i++) {
		for (int part = 0; part < 2; part++)
			if (spans[i].len[part])
				iov[n++] =
					(struct iovec){ .iov_base =
								(void *)(uintptr_t)spans[i].at[part],
							.iov_len = spans[i].len[part] };
	}
	/* Until then records of tasks may still be overtaken by synthesised ones; what waits in rings, by anything. */
	if (round_done && !r->opts.live.overwrite && __atomic_load_n(&r->described, __ATOMIC_ACQUIRE))
		iov[n++] = (struct iovec){ .iov_base = (void *)(uintptr_t)&finished_round,
					   .iov_len = sizeof(finished_round) };
	if (t->last_ns)
		perfdata_write_times(r->file, t->first_ns, t->last_ns);
	int err = put_records(r, iov, n, reader, &c);
	if (err)
		return err;
	check_full(r);
	return 0;
}

static int take(void *ctx, unsigned reader, const struct ring_span *spans, size_t nr,
		bool round_done)
{
	struct recorder *r = ctx;
	pthread_rwlock_rdlock(&r->file_lock);
	int err = r->unwind ? hand_over(r, reader, spans, nr, round_done)
			    : write_spans(r, reader, spans, nr, round_done);
	pthread_rwlock_unlock(&r->file_lock);
	return err;
}

static int write_buffer(struct recorder *r, const struct strbuf *b)
{
	return b->err ? b->err : put_bytes(r, b->data, b->len);
}

/* ---- the start -------------------------------------------------------------------------------------------------- */

static int note_module_build_id(void *ctx, const struct kernel_module *m)
{
	char name[80];
	snprintf(name, sizeof(name), "[%s]", m->name);
	return add_build_id(ctx, m->path ? m->path : name, true, m->build_id, m->build_id_size);
}

static int describe_kernel(struct recorder *r, struct synth *s, struct diag *d)
{
	if (!live_perf_sees_kernel(r->live))
		return 0;
	int err = synth_kernel(s);
	if (err == -ENOENT) {
		diag_warn(d, "kernel addresses are hidden: kernel functions will have no names");
		diag_hint(d, "as root: sysctl kernel.kptr_restrict=0");
		return 0;
	}
	if (!err)
		err = synth_modules(s, r->machine.release);
	const struct machine *m = &r->machine;
	if (!err)
		err = add_build_id(r, "[kernel.kallsyms]", true, m->kernel_build_id,
				   m->kernel_build_id_size);
	if (!err)
		err = kmap_modules(r->root, m->release, note_module_build_id, r);
	return err == -ENOENT ? 0 : err;
}

/* later: of a file that is not the first, when children may have come. */
static int describe_tasks(struct synth *s, const struct live_opts *o, bool later)
{
	if (o->system_wide || later)
		return synth_all_processes(s);
	if (o->command_pid) /* until its exec is seen */
		synth_name(s, o->command_pid);
	for (size_t i = 0; i < o->nr_pids; i++) {
		int err = synth_process(s, o->pids[i]);
		if (err)
			return err;
	}
	for (size_t i = 0; i < o->nr_tids; i++) {
		s32 pid;
		int err = procfs_tgid(&s->proc, o->tids[i], &pid);
		if (!err)
			err = synth_process(s, pid);
		if (err && err != -ESRCH)
			return err;
	}
	return 0;
}

/* Everything that stands before the rings' data. */
static int describe(struct recorder *r, bool later, struct diag *d)
{
	size_t nr;
	const struct live_event *events = live_perf_events(r->live, &nr);
	const struct perf_event_attr *tracking =
		events[nr - 1].tracking ? &events[nr - 1].attr : &events[0].attr;
	/* Readers take a trailer without an id for one of the first event. */
	const struct perf_event_attr *first = &events[0].attr;
	struct strbuf buf;
	strbuf_init(&buf);
	struct synth s;
	synth_init(&s, r->root, first->sample_id_all ? perf_trailer_size(first->sample_type) : 0,
		   !r->opts.live.as_perf || tracking->build_id, &buf);
	s.opener = r->opener;
	s.data_maps = r->opts.live.stack_bytes && !r->opts.unwind;
	s.namespaces = tracking->namespaces;
	size_t nr_ids, nr_tids;
	const struct synth_id *ids = live_perf_ids(r->live, &nr_ids);
	const s32 *tids = live_perf_tids(r->live, &nr_tids);
	synth_id_index(&s, ids, nr_ids);
	int err = describe_kernel(r, &s, d);
	if (!err && r->opts.guests)
		err = r->opts.guests(r->opts.guests_ctx, &s);
	if (!err && r->opts.live.all_cgroups)
		err = synth_cgroups(&s);
	synth_thread_map(&s, tids, nr_tids);
	synth_cpu_map(&s, live_perf_cpus(r->live));
	if (!err)
		err = describe_tasks(&s, &r->opts.live, later);
	synth_mark(&s, REC_FINISHED_INIT);
	struct ring_span all = { .at = { (const u8 *)buf.data }, .len = { buf.len } };
	if (!err)
		err = buf.err ? buf.err
			      : count_span(r, &r->tallies[r->nr_tallies - 1], &all, true,
					   &(struct pass_counts){ 0 });
	if (!err)
		err = write_buffer(r, &buf);
	if (!err && r->unwind && !later)
		err = live_unwind_known(r->unwind, buf.data, buf.len);
	synth_done(&s);
	strbuf_done(&buf);
	return err;
}

static u64 ns_of(const struct timespec *ts)
{
	return (u64)ts->tv_sec * 1000000000ull + (u64)ts->tv_nsec;
}

/* The clock of the recording and the time of day at one moment: the tightest of a few tries. */
static void read_clocks(struct perfdata_meta *meta, s32 clock_id)
{
	u64 best = UINT64_MAX;
	for (int i = 0; i < 5; i++) {
		struct timespec a, wall, b;
		clock_gettime(clock_id, &a);
		clock_gettime(CLOCK_REALTIME, &wall);
		clock_gettime(clock_id, &b);
		u64 width = ns_of(&b) - ns_of(&a);
		if (width >= best)
			continue;
		best = width;
		meta->wall_ref_ns = ns_of(&wall);
		meta->clock_ref_ns = ns_of(&a) + width / 2;
	}
	struct timespec res = { .tv_nsec = 1 };
	clock_getres(clock_id, &res);
	meta->clock_res_ns = ns_of(&res);
	meta->clock_id = (u32)clock_id;
	meta->has_clock = true;
}

/* The formats of the tracepoints among the events; empty when there are none. */
static int read_formats(const struct live_event *events, size_t nr, const struct tracing *tracing,
			struct strbuf *to, struct diag *d)
{
	_cleanup_free_ struct tracing_event *points = calloc(nr, sizeof(*points));
	size_t n = 0;
	if (!points)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct event_desc *desc = events[i].desc;
		if (desc && desc->attr.type == PERF_TYPE_TRACEPOINT && desc->system && desc->event)
			points[n++] = (struct tracing_event){ .system = desc->system,
							      .name = desc->event };
	}
	return n && tracing ? tracing_data_build(tracing, points, n, to, d) : 0;
}

static int put_in(void *ctx, const struct iovec *iov, size_t nr)
{
	return rounds_put(ctx, iov, nr);
}

/* All events as the head of a file has them; the caller's. NULL: no memory. */
static struct perfdata_event *head_events(const struct recorder *r, size_t *nr)
{
	const struct live_event *live = live_perf_events(r->live, nr);
	struct perfdata_event *events = calloc(*nr, sizeof(*events));
	for (size_t i = 0; i < *nr && events; i++) {
		events[i] = (struct perfdata_event){
			.attr = live[i].attr,
			.name = live[i].name,
			.ids = live[i].ids.at,
			.nr_ids = (u32)live[i].ids.nr,
			.leader = live[i].leader,
			.nr_members = live[i].nr_members,
			.group_name = live[i].desc ? live[i].desc->group_name : NULL,
		};
		if (r->opts.unwind)
			live_unwind_attr(&events[i].attr);
	}
	return events;
}

static struct perfdata_meta head_meta(const struct recorder *r, const struct strbuf *formats)
{
	const struct recorder_opts *o = &r->opts;
	struct perfdata_meta meta = {
		.machine = &r->machine,
		.version = o->version,
		.argv = o->argv,
		.argc = o->argc,
		.zstd_level = o->zstd_level,
		.owner_uid = o->owner_uid,
		.owner_gid = o->owner_gid,
		.tracing_data = formats->len ? formats->data : NULL,
		.tracing_data_size = formats->len,
		.no_build_ids = o->no_build_ids,
		.in_folder = o->in_folder,
		.pipe = o->pipe,
		.pipe_fd = o->pipe_fd,
	};
	if (o->live.has_clock)
		read_clocks(&meta, o->live.clock_id);
	return meta;
}

/* The file, and with `tee` the stream to the source beside it. */
static int open_writers(struct recorder *r, const struct perfdata_event *events, u32 nr,
			struct perfdata_meta *meta, bool tee, struct diag *d)
{
	struct perfdata_meta stream = *meta;
	stream.pipe = true;
	stream.put = put_in;
	stream.put_ctx = r->opts.source;
	stream.zstd_level = 0;
	r->file = perfdata_write_open(r->opts.path, events, nr, r->opts.no_file ? &stream : meta, d);
	if (!r->file || !tee)
		return r->file ? 0 : -errno;
	r->tee = perfdata_write_open(r->opts.path, events, nr, &stream, d);
	return r->tee ? 0 : -errno;
}

static int open_file(struct recorder *r, const struct recorder_opts *o, struct diag *d)
{
	size_t nr;
	const struct live_event *live = live_perf_events(r->live, &nr);
	_cleanup_free_ struct perfdata_event *events = head_events(r, &nr);
	if (!events)
		return -ENOMEM;
	struct strbuf formats;
	strbuf_init(&formats);
	int err = read_formats(live, nr, o->tracing, &formats, d);
	struct perfdata_meta meta = head_meta(r, &formats);
	if (!err)
		err = open_writers(r, events, (u32)nr, &meta, o->source && !o->no_file && !r->tee,
				   d);
	strbuf_done(&formats);
	return err;
}

static int make_tallies(struct recorder *r)
{
	r->nr_tallies = live_perf_nr_readers(r->live) + 1;
	r->tallies = aligned_alloc(64, r->nr_tallies * sizeof(*r->tallies));
	r->made = made_code_new();
	if (!r->tallies || !r->made)
		return -ENOMEM;
	memset(r->tallies, 0, r->nr_tallies * sizeof(*r->tallies));
	for (unsigned i = 0; i < r->nr_tallies; i++) {
		r->tallies[i].first_ns = UINT64_MAX;
		r->tallies[i].scratch = malloc(1 << 16);
		if (!r->tallies[i].scratch)
			return -ENOMEM;
	}
	return 0;
}

static int open_unwind(struct recorder *r, struct diag *d)
{
	struct live_unwind_config cfg = { .cache = r->opts.cache,
					  .places = r->opts.places,
					  .opener = r->opener,
					  .emit = write_unwound,
					  .unwound = adapt_stacks,
					  .ctx = r };
	cfg.events = live_perf_events(r->live, &cfg.nr_events);
	for (u32 i = 0; i < min((u32)LIVE_STACK_SIZES, (u32)STACK_GROWTH_SIZES); i++)
		r->growth.bytes[i] = live_perf_stack_bytes(r->live, i);
	r->unwind = live_unwind_open(&cfg);
	if (r->unwind)
		return 0;
	int err = -errno;
	if (err == -ENOTSUP) {
		diag_error(d, err, "stacks cannot be unwound on this architecture");
		diag_hint(d, "use %s to record them as they are, or %s",
			  diag_option(d, DIAG_OPT_RAW_STACK),
			  diag_option(d, DIAG_OPT_FRAME_POINTERS));
	}
	return err;
}

static u32 time_slot_of_all(const struct live_perf *live)
{
	size_t nr;
	const struct live_event *events = live_perf_events(live, &nr);
	struct perf_layout layout;
	u32 slot = NO_TIME;
	for (size_t i = 0; i < nr; i++) {
		perf_layout_init(&layout, &events[i].attr);
		if (i && layout.time_slot != slot)
			return NO_TIME;
		slot = layout.time_slot;
	}
	return slot;
}

struct recorder *recorder_open(const struct sysroot *root, const struct recorder_opts *opts,
			       struct diag *d)
{
	struct recorder *r = calloc(1, sizeof(*r));
	if (!r) {
		diag_error(d, -ENOMEM, "no memory");
		return NULL;
	}
	r->root = root;
	r->opts = *opts;
	pthread_rwlock_init(&r->file_lock, NULL);
	r->full_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->path = strdup(opts->path);
	r->opener = opener_new(kmap_file_build_id);
	map_ids_init(&r->map_ids, root, r->opener);
	r->live = live_perf_open(root, &opts->live, d);
	int err = r->live && r->path && r->opener ? make_tallies(r) : -ENOMEM;
	if (!err)
		err = machine_read(root, &r->machine);
	r->has_machine = !err;
	if (!err)
		err = open_file(r, opts, d);
	if (!err) {
		r->queue = write_queue_new(&(struct write_queue_opts){
			.write = write_queued, .written = count_written, .ctx = r });
		err = r->queue ? 0 : -errno;
	}
	if (!err && opts->unwind)
		err = open_unwind(r, d);
	if (!err) {
		r->time_slot = time_slot_of_all(r->live);
		/* Listing thousands of tasks takes a while, in which others start: their records must not pile up. */
		err = live_perf_start(
			r->live, &(struct live_sink){
					 .take = take, .ctx = r, .tid = write_queue_tid(r->queue) });
		if (!err)
			err = describe(r, false, d);
	}
	if (!err)
		return r;
	if (d && !d->nr_errors && err != -EPIPE)
		diag_error(d, err, "cannot start recording: %s", strerror(-err));
	recorder_close(r);
	errno = -err;
	return NULL;
}

/* What was there before is in the file: the rings' data may follow. */
static void go_on(struct recorder *r)
{
	__atomic_store_n(&r->described, true, __ATOMIC_RELEASE);
	if (r->unwind)
		live_unwind_go(r->unwind);
}

int recorder_start(struct recorder *r, struct diag *d)
{
	go_on(r);
	r->start_ns = clock_monotonic_ns();
	int err = live_perf_enable(r->live);
	return err ? diag_error(d, err, "cannot start recording: %s", strerror(-err)) : 0;
}

void recorder_toggle(struct recorder *r, bool on)
{
	go_on(r);
	if (!r->start_ns)
		r->start_ns = clock_monotonic_ns();
	live_perf_toggle(r->live, on);
}

int recorder_rename(struct recorder *r, const char *keep_as)
{
	const char *slash = strrchr(keep_as, '/');
	return perfdata_write_rename(r->file, slash ? slash + 1 : keep_as);
}

void recorder_discard(struct recorder *r)
{
	perfdata_write_remove(r->file);
}

/* With the file to itself. */
static int change_file(struct recorder *r, const char *keep_as, struct diag *d)
{
	int err = write_queue_drain(r->queue);
	made_code_write(r->made, NULL, r->opts.places, r->opener, r->file);
	if (!err)
		err = perfdata_write_finish(r->file);
	if (!err)
		err = recorder_rename(r, keep_as);
	if (err)
		return diag_error(d, err, "cannot rename %s to %s: %s", r->path, keep_as,
				  strerror(-err));
	struct perfdata_writer *old = r->file;
	err = open_file(r, &r->opts, d);
	if (err)
		r->file = old;
	else
		perfdata_write_close(old);
	return err;
}

int recorder_switch(struct recorder *r, const char *keep_as, struct diag *d)
{
	u64 times;
	if (r->opts.pipe || r->opts.source)
		return diag_error(d, -EINVAL, "a stream cannot be switched");
	__atomic_store_n(&r->described, false, __ATOMIC_RELEASE);
	int err = live_perf_snapshot(r->live);
	if (err)
		return diag_error(d, err, "cannot write %s: %s", r->path, strerror(-err));
	live_perf_flush(r->live); /* what is known of tasks and maps belongs to the samples before */
	pthread_rwlock_wrlock(&r->file_lock);
	err = change_file(r, keep_as, d);
	for (unsigned i = 0; i < r->nr_tallies && !err; i++) {
		r->tallies[i].first_ns = UINT64_MAX;
		r->tallies[i].last_ns = 0;
	}
	(void)!read(r->full_fd, &times, sizeof(times));
	r->full_told = false;
	pthread_rwlock_unlock(&r->file_lock);
	if (!err)
		err = describe(r, true, d);
	__atomic_store_n(&r->described, true, __ATOMIC_RELEASE);
	return err;
}

struct copy_ids {
	struct perfdata_writer *to;
};

static int copy_module_id(void *ctx, const struct kernel_module *m)
{
	struct perfdata_writer *to = ((struct copy_ids *)ctx)->to;
	char name[80];
	snprintf(name, sizeof(name), "[%s]", m->name);
	return perfdata_write_build_id(to, m->path ? m->path : name, true, m->build_id,
				       m->build_id_size);
}

/* Build IDs of the kernel; those of programs are in the records about their maps, where we made these. */
static int copy_kernel_ids(struct recorder *r, struct perfdata_writer *to)
{
	const struct machine *m = &r->machine;
	int err = perfdata_write_build_id(to, "[kernel.kallsyms]", true, m->kernel_build_id,
					  m->kernel_build_id_size);
	if (!err)
		err = kmap_modules(r->root, m->release, copy_module_id, &(struct copy_ids){ to });
	return err == -ENOENT ? 0 : err;
}

static int write_copy(struct recorder *r, struct perfdata_writer *to, const struct recorder_copy *c)
{
	int err = live_perf_sees_kernel(r->live) ? copy_kernel_ids(r, to) : 0;
	perfdata_write_times(to, c->first_ns, c->last_ns);
	for (size_t i = 0; i < c->nr && !err; i += PERFDATA_WRITE_IOV_MAX)
		err = perfdata_write_records(to, c->iov + i,
					     min(c->nr - i, (size_t)PERFDATA_WRITE_IOV_MAX));
	int finish = perfdata_write_finish(to);
	return err ? err : finish;
}

int recorder_copy(struct recorder *r, const struct recorder_copy *c, struct diag *d)
{
	size_t nr;
	const struct live_event *live = live_perf_events(r->live, &nr);
	_cleanup_free_ struct perfdata_event *events = head_events(r, &nr);
	struct strbuf formats;
	strbuf_init(&formats);
	int err = events ? read_formats(live, nr, r->opts.tracing, &formats, d) : -ENOMEM;
	struct perfdata_meta meta = head_meta(r, &formats);
	meta.pipe = false;
	struct perfdata_writer *to =
		err ? NULL : perfdata_write_open(c->path, events, (u32)nr, &meta, d);
	if (!err)
		err = to ? write_copy(r, to, c) : -errno;
	if (to && err)
		diag_error(d, err, "cannot write %s: %s", c->path, strerror(-err));
	perfdata_write_close(to);
	strbuf_done(&formats);
	return err;
}

int recorder_full_fd(const struct recorder *r)
{
	return r->full_fd;
}

int recorder_file_fd(const struct recorder *r)
{
	return perfdata_write_fd(r->file);
}

const struct live_event *recorder_events(const struct recorder *r, size_t *nr)
{
	return live_perf_events(r->live, nr);
}

int recorder_gone_fd(const struct recorder *r)
{
	return live_perf_gone_fd(r->live);
}

bool recorder_failed(const struct recorder *r)
{
	return live_perf_failed(r->live);
}

void recorder_stats(struct recorder *r, struct recorder_stats *ret)
{
	struct recorder_stats s = { 0 };
	for (unsigned i = 0; i < r->nr_tallies; i++) {
		s.nr_samples += __atomic_load_n(&r->tallies[i].nr_samples, __ATOMIC_RELAXED);
		s.nr_lost += __atomic_load_n(&r->tallies[i].nr_lost, __ATOMIC_RELAXED);
		s.nr_lost_events += __atomic_load_n(&r->tallies[i].nr_lost_events, __ATOMIC_RELAXED);
		s.nr_throttled += __atomic_load_n(&r->tallies[i].nr_throttled, __ATOMIC_RELAXED);
		s.nr_passes += __atomic_load_n(&r->tallies[i].nr_passes, __ATOMIC_RELAXED);
	}
	/* The kernel's final word includes losses after the last record that still fitted. */
	s.nr_lost = max(s.nr_lost, r->nr_lost_samples);
	s.data_bytes = perfdata_write_data_bytes(r->file);
	s.file_bytes = perfdata_write_file_bytes(r->file);
	if (r->unwind) {
		struct live_unwind_stats u;
		live_unwind_stats(r->unwind, &u);
		s.nr_stacks = u.nr_stacks;
		s.nr_cut = u.nr_stacks - u.nr_ends[UNWIND_WHOLE];
		s.nr_short = u.nr_ends[UNWIND_SHORT_COPY];
		memcpy(s.nr_ends, u.nr_ends, sizeof(s.nr_ends));
		s.nr_hurried = u.nr_hurried;
		u64 grown = __atomic_load_n(&r->grown_ns, __ATOMIC_RELAXED);
		s.first_stack_bytes = r->growth.bytes[0];
		s.stack_bytes = r->growth.bytes[__atomic_load_n(&r->growth.step, __ATOMIC_RELAXED)];
		s.grown_after_ns = grown ? grown - r->start_ns : 0;
	}
	s.nr_held_files = opener_nr_timeouts(r->opener);
	*ret = s;
}

/* ---- the end ---------------------------------------------------------------------------------------------------- */

struct put_lost_ctx {
	struct recorder *r;
	struct strbuf buf;
};

/* A LOST_SAMPLES record for an event id: number, then the trailer with the id and the CPU. */
static void put_lost(void *ctx, const struct synth_id *id, u64 lost)
{
	struct put_lost_ctx *c = ctx;
	size_t nr;
	const struct live_event *events = live_perf_events(c->r->live, &nr);
	u64 type = events[id->event].attr.sample_type;
	c->r->nr_lost_samples += lost;
	u64 body[8];
	unsigned n = 0;
	body[n++] = lost;
	if (type & PERF_SAMPLE_TID)
		body[n++] = 0;
	if (type & PERF_SAMPLE_TIME)
		body[n++] = 0;
	if (type & PERF_SAMPLE_ID)
		body[n++] = id->id;
	if (type & PERF_SAMPLE_STREAM_ID)
		body[n++] = 0;
	if (type & PERF_SAMPLE_CPU)
		body[n++] = id->cpu;
	if (type & PERF_SAMPLE_IDENTIFIER)
		body[n++] = id->id;
	struct perf_event_header h = { .type = PERF_RECORD_LOST_SAMPLES,
				       .size = (u16)(sizeof(h) + n * sizeof(u64)) };
	strbuf_add(&c->buf, &h, sizeof(h));
	strbuf_add(&c->buf, body, n * sizeof(u64));
}

static int end_source(struct recorder *r)
{
	int err = r->tee ? perfdata_write_finish(r->tee) : 0;
	if (r->opts.source)
		rounds_end(r->opts.source);
	return err;
}

int recorder_finish(struct recorder *r, struct diag *d)
{
	if (r->finished)
		return 0;
	r->finished = true;
	int err = live_perf_stop(r->live);
	if (!err)
		err = live_perf_snapshot(r->live);
	int unwound = r->unwind ? live_unwind_finish(r->unwind, d) : 0;
	if (!err)
		err = unwound;
	struct put_lost_ctx lost = { .r = r };
	strbuf_init(&lost.buf);
	if (!err && !live_perf_lost(r->live, put_lost, &lost) && lost.buf.len)
		err = write_buffer(r, &lost.buf);
	strbuf_done(&lost.buf);
	int written = write_queue_drain(r->queue);
	if (!err)
		err = written;
	made_code_write(r->made, NULL, r->opts.places, r->opener, r->file);
	if (r->tee)
		made_code_write(r->made, NULL, r->opts.places, r->opener, r->tee);
	int closing = perfdata_write_finish(r->file);
	if (!err)
		err = closing;
	closing = end_source(r);
	if (!err)
		err = closing;
	if (err == -EPIPE)
		return err; /* the reader has seen enough */
	if (err == -EBADMSG)
		return diag_error(
			d,
			err, "the kernel's ring buffer holds an invalid record; everything before it was saved");
	if (err) {
		diag_error(d, err, "cannot write %s: %s", r->path, strerror(-err));
		diag_hint(d, "everything written so far is complete and readable");
	}
	return err;
}

void recorder_close(struct recorder *r)
{
	if (!r)
		return;
	if (r->live)
		(void)live_perf_stop(r->live); /* nobody hands over any more */
	live_unwind_close(r->unwind);
	opener_free(r->opener);
	live_perf_close(r->live);
	write_queue_free(r->queue);
	perfdata_write_close(r->file);
	perfdata_write_close(r->tee);
	for (unsigned i = 0; i < r->nr_tallies && r->tallies; i++)
		free(r->tallies[i].scratch);
	free(r->tallies);
	made_code_free(r->made);
	if (r->has_machine)
		machine_done(&r->machine);
	cleanup_close(&r->full_fd);
	pthread_rwlock_destroy(&r->file_lock);
	map_ids_done(&r->map_ids);
	free(r->path);
	free(r);
}

int recorder_parse_clock(const char *name, s32 *ret)
{
	const struct clock_kind *kind = clock_by_name(name);
	u64 id;
	if (kind) {
		*ret = kind->id;
		return 0;
	}
	if (!strncasecmp(name, "CLOCK_", 6))
		name += 6;
	if (num_parse_u64(name, 10, &id) || id > CLOCK_TAI)
		return -EINVAL;
	*ret = (s32)id;
	return 0;
}
