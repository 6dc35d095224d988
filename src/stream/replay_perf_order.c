/*
 * Samples in the order of time: where each stands in the file, sorted. A compressed file is decompressed for it, to a disk if it is large.
 */
#include "base/par.h"
#include "stream/perf_walk.h"
#include "stream/replay_perf_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RADIX_BITS = 11, SPOOL_IN_MEMORY = 16 << 20 };

/* By time, equal times in the order of the file: a radix sort over the digits that differ at all. */
static int sort_stamps(struct perf_replay *r)
{
	size_t nr = r->stamps.nr;
	u64 differ = 0;
	bool sorted = true;
	for (size_t i = 1; i < nr; i++) {
		differ |= r->stamps.at[i].time ^ r->stamps.at[0].time;
		sorted = sorted && r->stamps.at[i - 1].time <= r->stamps.at[i].time;
	}
	if (sorted)
		return 0;
	struct stamp *from = r->stamps.at, *to = malloc(nr * sizeof(*to));
	if (!to)
		return -ENOMEM;
	struct stamp *spare = to;
	for (unsigned shift = 0; shift < 64; shift += RADIX_BITS) {
		size_t count[1 << RADIX_BITS] = { 0 };
		if (!(differ >> shift & ((1u << RADIX_BITS) - 1)))
			continue;
		for (size_t i = 0; i < nr; i++)
			count[from[i].time >> shift & ((1u << RADIX_BITS) - 1)]++;
		for (size_t i = 0, at = 0; i < ARRAY_SIZE(count); i++) {
			size_t here = count[i];
			count[i] = at;
			at += here;
		}
		for (size_t i = 0; i < nr; i++)
			to[count[from[i].time >> shift & ((1u << RADIX_BITS) - 1)]++] = from[i];
		struct stamp *swap = from;
		from = to;
		to = swap;
	}
	if (from != r->stamps.at)
		memcpy(r->stamps.at, from, nr * sizeof(*from));
	free(spare);
	return 0;
}

static int add_stamp(struct stamps *to, const struct perfdata *f, const u8 *rec,
		     const struct perf_event_header *h, u64 place)
{
	if (h->type != PERF_RECORD_SAMPLE)
		return 0;
	struct stamp *st = vec_push(to);
	if (!st)
		return -ENOMEM;
	*st = (struct stamp){ .place = place, .time = perf_walk_time(f, rec, h) };
	return 0;
}

static int stamp_range(const struct perfdata *f, const u8 *at, const u8 *end, u64 place,
		       struct stamps *to)
{
	const u8 *rec, *start = at;
	struct perf_event_header h;
	int err = 0;
	while (!err && perfdata_record(f, &at, end, &rec, &h) > 0)
		err = add_stamp(to, f, rec, &h, place + (u64)(rec - start));
	return err;
}

/* ---- what a compressed file unpacks to ---- */

/* A disk holds it, not memory: no name, nobody else's. */
static int open_spool(void)
{
	static const char *const dirs[] = { "/var/tmp", "/tmp" };
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		int fd = open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
	}
	return -errno;
}

static int map_spool(struct perf_replay *r)
{
	_cleanup_close_ int fd = open_spool();
	if (fd < 0 || fallocate(fd, 0, 0, (off_t)r->unpacked))
		return -errno;
	void *p = mmap(NULL, r->unpacked, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	r->spool.at = p;
	r->spool.cap = r->spool_mapped = r->unpacked;
	return 0;
}

/* In memory if it is small, or if there is no place else and the file's size allows it. */
static int make_spool(struct perf_replay *r)
{
	static const char stage[] = "sorting what the recording unpacks to by time";
	if (r->unpacked > SPOOL_IN_MEMORY && !map_spool(r))
		return 0;
	if (!budget_bytes(&r->file.budget, r->unpacked, stage))
		return -E2BIG;
	return vec_reserve(&r->spool, r->unpacked) ? 0 : -ENOMEM;
}

void replay_perf_drop_spool(struct perf_replay *r)
{
	if (!r->spool_mapped) {
		vec_free(&r->spool);
		return;
	}
	(void)munmap(r->spool.at, r->spool_mapped);
	r->spool.at = NULL;
	r->spool_mapped = r->spool.nr = r->spool.cap = 0;
}

void replay_perf_rest_spool(const struct perf_replay *r)
{
	(void)madvise(r->spool.at, r->spool_mapped, MADV_DONTNEED);
}

static int spool_records(struct perf_replay *r, struct perfdata_inflate *z)
{
	int more = perfdata_inflate_step(z);
	if (more <= 0)
		return more;
	size_t size;
	const u8 *data = perfdata_inflate_data(z, &size);
	size = replay_perf_whole(r, data, size);
	if (size > r->spool.cap - r->spool.nr)
		return -EBADMSG; /* more than the first pass saw: somebody writes to the file */
	int err = stamp_range(&r->file, data, data + size, r->file.map_size + r->spool.nr,
			      &r->stamps);
	if (err)
		return err;
	if (size)
		memcpy(r->spool.at + r->spool.nr, data, size);
	if (r->spool_mapped && (r->spool.nr + size) / SPOOL_IN_MEMORY > r->spool.nr / SPOOL_IN_MEMORY)
		replay_perf_rest_spool(r);
	r->spool.nr += size;
	perfdata_inflate_drop(z, size);
	(void)perfdata_inflate_data(z, &size);
	return size >= RECORD_MAX ? -EBADMSG : 1;
}

static int spool_range(struct perf_replay *r, struct perfdata_range range,
		       struct perfdata_inflate *z)
{
	const u8 *at = r->file.map + range.at, *rec;
	struct perf_event_header h;
	int err = 0;
	while (!err && perfdata_record(&r->file, &at, r->file.map + range.end, &rec, &h) > 0) {
		if (h.type != REC_COMPRESSED && h.type != REC_COMPRESSED2)
			continue;
		err = perfdata_inflate_add(z, rec, &h, r->file.swap);
		for (int more = 1; !err && more > 0;) {
			more = spool_records(r, z);
			err = min(more, 0);
		}
	}
	return err == -EBADMSG ? 0 : err; /* damage: the first pass met it as well, and said so */
}

static int spool_file(struct perf_replay *r)
{
	struct perfdata_inflate *z = perfdata_inflate_new();
	int err = z ? make_spool(r) : -ENOMEM;
	for (size_t i = 0; i < perfdata_nr_ranges(&r->file) && !err; i++) {
		perfdata_inflate_reset(z);
		err = spool_range(r, perfdata_range(&r->file, i), z);
	}
	perfdata_inflate_free(z);
	return err;
}

/* Where each sample is takes memory as well; how many there are is known. */
static int make_stamps(struct perf_replay *r)
{
	u64 nr = r->stats.nr_by_type[PERF_RECORD_SAMPLE];
	if (r->file.compressed &&
	    !budget_bytes(&r->file.budget, nr * 2 * sizeof(struct stamp),
			  "sorting the samples that the recording unpacks to by time"))
		return -E2BIG;
	return vec_reserve(&r->stamps, nr) ? 0 : -ENOMEM;
}

/* Blocks that the first pass cut, each for itself. */
struct stamping {
	struct perf_replay *r;
	struct stamps *of; /* [block] */
	size_t *first; /* [block] */
	atomic_bool unsorted;
};

static int stamp_block(void *ctx, unsigned worker, u32 index)
{
	struct stamping *s = ctx;
	const struct replay_perf_block *b = &s->r->blocks.at[index];
	struct stamps *to = &s->of[index];
	int err = stamp_range(&s->r->file, b->at, b->end, (u64)(b->at - s->r->file.map), to);
	bool sorted = true;
	for (size_t i = 1; i < to->nr; i++)
		sorted &= to->at[i - 1].time <= to->at[i].time;
	if (!sorted)
		atomic_store(&s->unsorted, true);
	return err;
}

static int copy_block(void *ctx, unsigned worker, u32 index)
{
	struct stamping *s = ctx;
	const struct stamps *from = &s->of[index];
	if (from->nr)
		memcpy(s->r->stamps.at + s->first[index], from->at, from->nr * sizeof(*from->at));
	return 0;
}

static int stamp_blocks(struct perf_replay *r)
{
	u32 nr = (u32)r->blocks.nr;
	unsigned workers = par_workers(r->source.workers, nr, 4);
	struct stamping s = { .r = r,
			      .of = calloc((size_t)nr + 1, sizeof(*s.of)),
			      .first = calloc((size_t)nr + 1, sizeof(*s.first)) };
	size_t sum = 0;
	u64 last = 0;
	int err = s.of && s.first ? par_each(workers, nr, stamp_block, &s) : -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++) {
		const struct stamps *of = &s.of[i];
		s.first[i] = sum;
		sum += of->nr;
		if (of->nr && of->at[0].time < last)
			s.unsorted = true;
		last = of->nr ? of->at[of->nr - 1].time : last;
	}
	if (!err)
		err = vec_reserve(&r->stamps, sum) ? par_each(workers, nr, copy_block, &s) : -ENOMEM;
	r->stamps.nr = err ? 0 : sum;
	r->stamps_sorted = !s.unsorted;
	for (u32 i = 0; s.of && i < nr; i++)
		vec_free(&s.of[i]);
	free(s.of);
	free(s.first);
	return err;
}

static int stamp_all(struct perf_replay *r)
{
	int err = make_stamps(r);
	if (!err)
		err = stamp_blocks(r);
	if (!err && r->file.compressed)
		err = spool_file(r);
	return err || !r->has_times || (r->stamps_sorted && !r->file.compressed) ? err
										 : sort_stamps(r);
}

int replay_perf_stamp(struct perf_replay *r)
{
	int err = stamp_all(r);
	dict_done(&r->missed_at);
	dict_init(&r->missed_at);
	return err || !r->losses.nr ? err : replay_perf_find_gaps(r);
}
