#include "session/top_keep.h"

#include "base/dict.h"
#include "base/vec.h"
#include "stream/perf_walk.h"
#include "stream/recorder.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_BYTES_MIN = 4 << 20 }; /* with fewer, nobody looks for what could be dropped */

struct kept_record {
	u64 time;
	size_t at;
	u32 size;
};

struct kept_log {
	VEC(u8) bytes;
	VEC(struct kept_record) records;
};

struct top_keep {
	u64 window_ns;
	size_t max_bytes;
	u64 newest; /* time of a sample */
	struct kept_log samples, side;
	size_t side_limit; /* so many bytes of it, and it is looked through */
};

struct top_keep *top_keep_new(u64 seconds_ns, size_t max_bytes)
{
	struct top_keep *k = calloc(1, sizeof(*k));
	if (k)
		*k = (struct top_keep){ .window_ns = seconds_ns,
					.max_bytes = max_bytes,
					.side_limit = SIDE_BYTES_MIN };
	return k;
}

static void log_done(struct kept_log *l)
{
	vec_free(&l->bytes);
	vec_free(&l->records);
}

void top_keep_free(struct top_keep *k)
{
	if (!k)
		return;
	log_done(&k->samples);
	log_done(&k->side);
	free(k);
}

size_t top_keep_side_bytes(const struct top_keep *k)
{
	return k->side.bytes.nr;
}

static int log_add(struct kept_log *l, const u8 *rec, u32 size, u64 time)
{
	struct kept_record *r = vec_push(&l->records);
	if (!r || !vec_reserve(&l->bytes, l->bytes.nr + size))
		return -ENOMEM;
	*r = (struct kept_record){ .time = time, .at = l->bytes.nr, .size = size };
	memcpy(l->bytes.at + l->bytes.nr, rec, size);
	l->bytes.nr += size;
	return 0;
}

/* Moves what stays to the front. */
static void log_filter(struct kept_log *l,
		       bool (*stays)(void *ctx, const struct kept_log *l,
				     const struct kept_record *r),
		       void *ctx)
{
	size_t nr = 0, bytes = 0;
	vec_for_each (&l->records, r) {
		if (!stays(ctx, l, r))
			continue;
		memmove(l->bytes.at + bytes, l->bytes.at + r->at, r->size);
		l->records.at[nr] = *r;
		l->records.at[nr++].at = bytes;
		bytes += r->size;
	}
	l->records.nr = nr;
	l->bytes.nr = bytes;
}

/* ---- samples ---- */

static u64 oldest_wanted(const struct top_keep *k)
{
	return k->newest - min(k->newest, k->window_ns);
}

static bool is_young(void *ctx, const struct kept_log *l, const struct kept_record *r)
{
	(void)l;
	return r->time >= *(const u64 *)ctx;
}

static int by_time(const void *l, const void *r)
{
	u64 a = *(const u64 *)l, b = *(const u64 *)r;
	return (a > b) - (a < b);
}

/* From when on: samples of that age, and not too many of them. */
static int settle_samples(struct top_keep *k)
{
	u64 from = oldest_wanted(k);
	size_t nr = k->samples.records.nr;
	if (k->samples.bytes.nr > k->max_bytes) {
		_cleanup_free_ u64 *times = malloc(nr * sizeof(*times));
		if (!times)
			return -ENOMEM;
		for (size_t i = 0; i < nr; i++)
			times[i] = k->samples.records.at[i].time;
		qsort(times, nr, sizeof(*times), by_time);
		from = max(from, times[nr / 2]);
	}
	log_filter(&k->samples, is_young, &from);
	return 0;
}

static size_t nr_old(const struct top_keep *k)
{
	size_t nr = 0;
	u64 from = oldest_wanted(k);
	while (nr < k->samples.records.nr && k->samples.records.at[nr].time < from)
		nr++;
	return nr;
}

/* ---- tasks and maps ---- */

struct task_body {
	struct perf_event_header header;
	u32 pid, ppid; /* of FORK and EXIT; of the others pid and tid */
	u32 tid, ptid;
	u64 time;
};

static const struct task_body *body_of(const struct kept_log *l, const struct kept_record *r)
{
	return r->size >= sizeof(struct task_body) ? (const void *)(l->bytes.at + r->at) : NULL;
}

enum { TASK_RUNS = 1, TASK_ENDED };

struct pruning {
	struct dict state; /* pid -> TASK_RUNS or TASK_ENDED (long ago) */
	struct dict parent; /* pid -> the one it was forked from */
};

static bool is_about_process(const struct task_body *b)
{
	return b->pid == b->tid && b->pid != b->ppid;
}

static int note_task(struct pruning *p, const struct task_body *b, u64 from)
{
	if (b->header.type == PERF_RECORD_FORK && is_about_process(b)) {
		int err = dict_put(&p->parent, b->pid, b->ppid);
		return err ? err : dict_put(&p->state, b->pid, TASK_RUNS);
	}
	if (b->header.type == PERF_RECORD_EXIT && b->pid == b->tid && b->time < from)
		return dict_put(&p->state, b->pid, TASK_ENDED);
	return 0;
}

/* Who runs keeps those it came from. */
static int keep_parents(struct pruning *p, const struct kept_log *l)
{
	vec_for_each (&l->records, r) {
		const struct task_body *b = body_of(l, r);
		u32 pid = b ? b->pid : 0, hops = 0;
		if (!b || b->header.type != PERF_RECORD_FORK ||
		    dict_get(&p->state, pid) == TASK_ENDED)
			continue;
		for (u32 up = dict_get(&p->parent, pid); up != DICT_NONE && hops++ < 64;
		     up = dict_get(&p->parent, up)) {
			if (dict_get(&p->state, up) != TASK_ENDED)
				continue;
			int err = dict_put(&p->state, up, TASK_RUNS);
			if (err)
				return err;
		}
	}
	return 0;
}

static bool is_needed(void *ctx, const struct kept_log *l, const struct kept_record *r)
{
	const struct pruning *p = ctx;
	const struct task_body *b = body_of(l, r);
	return !b || dict_get(&p->state, b->pid) != TASK_ENDED;
}

static int prune(struct top_keep *k)
{
	struct pruning p = { 0 };
	u64 from = oldest_wanted(k);
	dict_init(&p.state);
	dict_init(&p.parent);
	int err = 0;
	for (size_t i = 0; i < k->side.records.nr && !err; i++) {
		const struct task_body *b = body_of(&k->side, &k->side.records.at[i]);
		err = b ? note_task(&p, b, from) : 0;
	}
	if (!err)
		err = keep_parents(&p, &k->side);
	if (!err)
		log_filter(&k->side, is_needed, &p);
	k->side_limit = max(2 * k->side.bytes.nr, (size_t)SIDE_BYTES_MIN);
	dict_done(&p.state);
	dict_done(&p.parent);
	return err;
}

/* ---- */

/* Lost records and throttling are about samples; what describes the stream is in the head of the file. */
static bool is_side(u32 type)
{
	return type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2 || type == PERF_RECORD_COMM ||
	       type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT ||
	       type == PERF_RECORD_NAMESPACES || type == PERF_RECORD_KSYMBOL ||
	       type == PERF_RECORD_BPF_EVENT || type == PERF_RECORD_CGROUP ||
	       type == PERF_RECORD_TEXT_POKE;
}

int top_keep_round(struct top_keep *k, const struct source *src)
{
	const struct perfdata *file = replay_perf_file(src);
	const u8 *at = file->map + file->data_at, *end = file->map + file->data_end, *rec;
	struct perf_event_header h;
	int err = 0;
	while (!err && at < end && perfdata_record(file, &at, end, &rec, &h) > 0) {
		if (is_side(h.type))
			err = log_add(&k->side, rec, h.size, 0);
		if (h.type != PERF_RECORD_SAMPLE)
			continue;
		u64 time = perf_walk_time(file, rec, &h);
		k->newest = max(k->newest, time);
		err = log_add(&k->samples, rec, h.size, time);
	}
	if (!err && (k->samples.bytes.nr > k->max_bytes || nr_old(k) > k->samples.records.nr / 2))
		err = settle_samples(k);
	return err || k->side.bytes.nr < k->side_limit ? err : prune(k);
}

int top_keep_write(const struct top_keep *k, struct recorder *rec, const char *path,
		   u64 *nr_samples, struct diag *d)
{
	u64 from = oldest_wanted(k), first = UINT64_MAX, last = 0, nr = 0;
	_cleanup_free_ struct iovec *iov = malloc((k->samples.records.nr + 1) * sizeof(*iov));
	if (!iov)
		return -ENOMEM;
	iov[nr++] = (struct iovec){ .iov_base = k->side.bytes.at, .iov_len = k->side.bytes.nr };
	vec_for_each (&k->samples.records, r) {
		if (r->time < from)
			continue;
		first = min(first, r->time);
		last = max(last, r->time);
		iov[nr++] = (struct iovec){ .iov_base = k->samples.bytes.at + r->at,
					    .iov_len = r->size };
	}
	if (nr < 2)
		return diag_error(d, -ENODATA, "no samples so far");
	int err = recorder_copy(
		rec,
		&(struct recorder_copy){
			.path = path, .iov = iov, .nr = nr, .first_ns = first, .last_ns = last },
		d);
	if (!err)
		*nr_samples = nr - 1;
	return err;
}
