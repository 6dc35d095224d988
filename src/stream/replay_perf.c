/*
 * perf.data → samples.
 *
 * Two passes over the mapped file. The first one reads the heads of all records and the bodies of the few that are not samples
 * (tasks, maps, losses), and cuts the data into blocks at record boundaries. The second one is the workers': each takes blocks,
 * decodes samples, turns addresses into frames through a direct-mapped cache, and rows of frames into chains. A compressed file has no
 * boundaries to cut at: there the workers take turns at the decompressor, and each gets a buffer of whole records.
 *
 * Where the sink allows it (MAY_START_EARLY), the first pass ends when nothing was told of tasks and maps for a long stretch: it
 * will mostly stay like that. Workers then copy a piece of the file each, walk the heads of its records while it comes, and decode
 * them from the cache: the file is read once, and not mapped. A record that changes what samples mean ends this: all that was
 * handed out is void, the first pass goes on to the end, and everything starts anew.
 */
#include "stream/replay_perf.h"
#include "base/dict.h"
#include "stream/perf_formats.h"
#include "stream/perf_walk.h"
#include "stream/split_reads.h"
#include "stream/replay_unwind.h"
#include "stream/tasks.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
	BLOCK_BYTES = 1 << 20,
	PIECE_BYTES =
		1 << 18, /* copied at a time: stays in the second cache with what its samples lead to */
	SETTLED_BYTES =
		1 << 22, /* no change for so long, and a 16th of the file: each CPU's ring had its turn */
	BATCH = 32, /* samples on their way: more would not stay in the first cache */
	CACHE_SLOTS = 1 << 13,
	CHAIN_MAX = 8192, /* more than a record of 64 KB can hold */
	RECORD_MAX = 1 << 16,
};

struct block {
	const u8 *at;
	const u8 *end;
};

/* A sample's time and place, for those who want time order. */
struct stamp {
	u64 time;
	u64 place;
};

struct replay {
	struct source source;
	struct perfdata file;
	struct tasks *tasks;
	struct perf_formats formats;
	unsigned needs;
	bool own_map;
	bool has_times; /* else the place in the file is the time */
	bool prepared;
	bool whole; /* the first pass went to the end */
	bool surprised; /* it ended too early */
	size_t walked; /* how far it went: an offset in the file */
	size_t nr_cut; /* blocks there were when the run began */
	u64 lost[2]; /* by LOST, by LOST_SAMPLES */
	VEC(struct stamp) stamps; /* all samples in time order, when that was asked for */
	VEC(u8)
	spool; /* ... of a compressed file: its records, decompressed; places behind the file's end lead here */
	VEC(struct block) blocks;
	atomic_size_t next;
	struct replay_perf_stats stats;
	struct unwind_config unwind_config; /* its cache is ours */
	struct replay_unwind unwind;
	atomic_ullong nr_bad, nr_unknown_id, nr_corrupt, nr_deferred;
	VEC(const u8 *) build_ids; /* BUILD_ID records: told by path, so they wait for the maps */
	/* compressed files */
	pthread_mutex_t lock;
	struct perfdata_inflate *inflate;
	size_t inflate_range;
	const u8 *inflate_at;
	bool inflate_over; /* damage: the first pass met it as well, and said so */
	u64 inflate_time;
	u64 inflate_seq;
};

/* address -> frame, valid for some time */
struct place_slot {
	u64 addr;
	u64 from, until;
	u32 space;
	u32 frame;
	u32 mode;
};

/* A sample between its two steps: decoded, and where its chain is looked up is on its way from memory. */
struct pending {
	struct perf_sample_view view;
	const struct perfdata_attr *attr;
	u64 place;
	u64 hash;
	u32 space;
};

struct reader {
	size_t stamp, stamp_end; /* time order: what is left of the block */
	VEC(struct sample_place) sample_places;
	VEC(struct sample_branch) branches; /* of the batch */
	VEC(struct sample_extra) extras; /* [sample of the batch] */
	VEC(u64) regs;
	struct block now;
	u64 time0; /* of now.at, when places are times */
	u8 *copy; /* compressed files: the block's records */
	size_t copy_cap;
	struct perf_scratch scratch;
	struct replay_chains chains; /* of stacks that were unwound for this batch */
	struct place_slot *places;
	struct sample *samples;
	struct pending *pending;
	struct split_reads split; /* NEED_READ */
	struct tasks_epoch user, kernel; /* of the sample before: mostly of this one too */
	struct tasks_span comm, space;
	u32 frames[CHAIN_MAX];
};

static struct replay *replay_of(const struct source *s)
{
	return container_of(s, struct replay, source);
}

const struct replay_perf_stats *replay_perf_stats(const struct source *s)
{
	return &replay_of(s)->stats;
}

void replay_perf_count_on(struct source *s, const struct replay_perf_stats *before)
{
	struct replay *r = replay_of(s);
	r->nr_bad = before->nr_bad_samples;
	r->nr_unknown_id = before->nr_unknown_id;
	r->nr_corrupt = before->nr_corrupt_chains;
	r->nr_deferred = before->nr_deferred;
}

void replay_perf_kallsyms(struct source *s, const char *(*text)(void *, size_t *), void *ctx)
{
	replay_of(s)->formats.kallsyms = text;
	replay_of(s)->formats.kallsyms_ctx = ctx;
}

int replay_perf_unwind(struct source *s, const struct unwind_config *cfg)
{
	struct replay *r = replay_of(s);
	char *cache = cfg->cache ? strdup(cfg->cache) : NULL;
	if (cfg->cache && !cache)
		return -ENOMEM;
	free((char *)(uintptr_t)r->unwind_config.cache);
	r->unwind_config = *cfg;
	r->unwind_config.cache = cache;
	return 0;
}

bool replay_perf_cut(const struct source *s, u64 *nr)
{
	if (!replay_perf_file(s))
		return false;
	const struct replay_unwind *u = &replay_of(s)->unwind;
	if (!u->nr_stacks)
		return false;
	*nr = replay_unwind_cut(u);
	return true;
}

/* ---- first pass ---- */

static const struct perfdata_attr *side_attr(const struct replay *r, const u8 *rec, u16 size)
{
	const struct perfdata *f = &r->file;
	if (f->attrs.nr <= 1)
		return f->attrs.nr ? &f->attrs.at[0] : NULL;
	/* With IDENTIFIER the id is the last word of every record; without it all events must share one layout. */
	if (!(f->attrs.at[0].attr.sample_type & PERF_SAMPLE_IDENTIFIER) || size < 16)
		return &f->attrs.at[0];
	u64 id;
	memcpy(&id, rec + size - 8, 8);
	const struct perfdata_attr *a = perfdata_attr_of(f, f->swap ? __builtin_bswap64(id) : id);
	return a ? a : &f->attrs.at[0];
}

static int side_record(struct replay *r, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	const struct perfdata_attr *a = side_attr(r, rec, h->size);
	struct perf_side side;
	int err = perf_side_decode(rec, h->size, r->file.swap, a ? a->attr.sample_type : 0,
				   a && a->attr.sample_id_all, &side);
	if (err == -ENOENT)
		return 0;
	if (err) {
		r->stats.nr_bad++;
		return 0;
	}
	struct catalog *c = &r->source.catalog;
	if (side.type == PERF_RECORD_LOST || side.type == PERF_RECORD_LOST_SAMPLES) {
		/* LOST stands where records are missing, LOST_SAMPLES sums up at the end: the same losses, not others. */
		r->lost[side.type == PERF_RECORD_LOST_SAMPLES] += side.lost;
		c->nr_lost = max(r->lost[0], r->lost[1]);
		c->nr_lost_events++;
		return 0;
	}
	return tasks_add(r->tasks, &side, r->has_times ? side.who.time : place);
}

static void find_time_use(struct replay *r)
{
	r->has_times = r->file.attrs.nr > 0;
	vec_for_each (&r->file.attrs, a)
		if (!(a->attr.sample_type & PERF_SAMPLE_TIME) || !a->attr.sample_id_all)
			r->has_times = false;
}

static int head_record(struct replay *r, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	r->stats.nr_records++;
	if (h->type < REC_USER_MAX)
		r->stats.nr_by_type[h->type]++;
	if (likely(h->type == PERF_RECORD_SAMPLE))
		return 0;
	if (h->type < REC_KERNEL_MAX)
		return side_record(r, rec, h, place);
	if (h->type == REC_HEADER_ATTR || h->type == REC_EVENT_UPDATE ||
	    h->type == REC_HEADER_FEATURE || h->type == REC_TRACING_DATA) {
		int err = perfdata_pipe_record(&r->file, rec, h);
		if (err == -ENOMEM)
			return err;
		if (err)
			r->stats.nr_bad++;
		if (h->type == REC_HEADER_ATTR)
			find_time_use(r);
	}
	if (h->type == REC_BUILD_ID) {
		const u8 **kept = vec_push(&r->build_ids);
		if (!kept)
			return -ENOMEM;
		*kept = rec;
	}
	return 0;
}

/*
 * All whole records of a decompressed piece; returns where it stopped. Only the kernel's records: the others keep pointers into
 * the file, and this memory will not stay.
 */
static const u8 *walk(struct replay *r, const u8 *at, const u8 *end, u64 place, int *err)
{
	struct perf_event_header h;
	const u8 *rec, *start = at;
	int got;
	while ((got = perfdata_record(&r->file, &at, end, &rec, &h)) > 0) {
		*err = h.type < REC_KERNEL_MAX ? head_record(r, rec, &h, place + (u64)(rec - start))
					       : 0;
		if (*err)
			return at;
	}
	return at;
}

/* What is left behind the last whole record will never be one. */
static bool stuck(const struct replay *r, const u8 *at, size_t left)
{
	return left >= RECORD_MAX ||
	       (left >= sizeof(struct perf_event_header) &&
		perf_head(at, r->file.swap).size < sizeof(struct perf_event_header));
}

static int inflate_all(struct replay *r, const u8 *rec, const struct perf_event_header *h,
		       struct perfdata_inflate *z, u64 *place)
{
	int err = perfdata_inflate_add(z, rec, h, r->file.swap), more = 1;
	while (!err && more) {
		more = perfdata_inflate_step(z);
		size_t size;
		const u8 *data = perfdata_inflate_data(z, &size);
		if (more < 0)
			return more;
		if (!size)
			continue;
		const u8 *stop = walk(r, data, data + size, *place, &err);
		size_t used = (size_t)(stop - data);
		*place += used;
		if (!err && stuck(r, stop, size - used))
			err = -EBADMSG;
		perfdata_inflate_drop(z, used);
	}
	return err;
}

static int add_block(struct replay *r, const u8 *at, const u8 *end)
{
	if (at == end)
		return 0;
	struct block *b = vec_push(&r->blocks);
	if (!b)
		return -ENOMEM;
	*b = (struct block){ .at = at, .end = end };
	return 0;
}

/* Whether samples may mean something else after this record, or a worker could not go on reading behind it. */
static bool changes(u32 type)
{
	switch (type) {
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case REC_FINISHED_ROUND: return false;
	default: return true;
	}
}

static bool may_start_early(const struct replay *r, unsigned needs)
{
	const struct perfdata *f = &r->file;
	bool plain = !f->is_pipe && !f->swap && !f->unfinished && perfdata_nr_ranges(f) == 1;
	vec_for_each (&f->attrs, a)
		plain = plain && !(a->attr.sample_type & PERF_SAMPLE_STACK_USER);
	return plain && needs & MAY_START_EARLY && !(needs & (NEED_ORDER | NEED_READ));
}

/* Of one file's records, from its offset `from` on: *z and *place go on through all of them. early: may end before all is read. */
static int first_pass_range(struct replay *r, size_t index, size_t from, bool early,
			    struct perfdata_inflate **z, u64 *place)
{
	struct perfdata *f = &r->file;
	struct perfdata_range range = perfdata_range(f, index);
	const u8 *at = f->map + from, *end = f->map + range.end, *start = at, *quiet = at;
	size_t settled = max((range.end - range.at) / 16, (size_t)SETTLED_BYTES);
	int err = 0, got;
	for (;;) {
		struct perf_event_header h;
		const u8 *rec;
		got = perfdata_record(f, &at, end, &rec, &h);
		if (got <= 0)
			break;
		if (early && changes(h.type))
			quiet = at;
		if (unlikely(h.type == REC_COMPRESSED || h.type == REC_COMPRESSED2)) {
			f->compressed = true;
			if (!*z && !(*z = perfdata_inflate_new()))
				err = -ENOMEM;
			if (!err)
				err = inflate_all(r, rec, &h, *z, place);
			if (err == -EBADMSG) {
				/* What it holds before the damage is read. */
				perfdata_cut(f, index, (size_t)(at - f->map));
				err = got = 0;
				break;
			}
		} else {
			err = head_record(r, rec, &h, (u64)(rec - f->map));
		}
		if (!err && at - start >= BLOCK_BYTES) {
			err = add_block(r, start, at);
			start = at;
			if (!err && early && !f->compressed && (size_t)(at - quiet) >= settled) {
				r->walked = (size_t)(at - f->map);
				r->whole = false;
				return 0;
			}
		}
		if (err)
			break;
	}
	size_t left = 0;
	if (*z) {
		(void)perfdata_inflate_data(*z, &left);
		perfdata_inflate_reset(*z);
	}
	if (left)
		f->truncated = true;
	if (got < 0)
		perfdata_cut(f, index, (size_t)(at - f->map));
	return err ? err : add_block(r, start, at);
}

static int first_pass(struct replay *r, unsigned needs)
{
	struct perfdata_inflate *z = NULL;
	u64 place = r->file.map_size; /* places of decompressed records follow those of the file */
	bool early = may_start_early(r, needs);
	int err = 0;
	r->whole = true;
	for (size_t i = 0; i < perfdata_nr_ranges(&r->file) && !err; i++)
		err = first_pass_range(r, i, perfdata_range(&r->file, i).at, early, &z, &place);
	perfdata_inflate_free(z);
	return err;
}

/* What an early start has left. */
static int first_pass_rest(struct replay *r)
{
	struct perfdata_inflate *z = NULL;
	u64 place = r->file.map_size;
	int err = first_pass_range(r, 0, r->walked, false, &z, &place);
	perfdata_inflate_free(z);
	r->whole = !err;
	return err;
}

static int take_build_id(void *ctx, const char *path, const u8 *id, u32 size, u16 misc)
{
	return tasks_build_id(ctx, path, id, size);
}

static const char *plain_event_name(const struct perf_event_attr *a)
{
	static const char *const hw[] = { "cycles",
					  "instructions",
					  "cache-references",
					  "cache-misses",
					  "branches",
					  "branch-misses",
					  "bus-cycles",
					  "stalled-cycles-frontend",
					  "stalled-cycles-backend",
					  "ref-cycles" };
	static const char *const sw[] = {
		"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches"
	};
	if (a->type == PERF_TYPE_HARDWARE && a->config < ARRAY_SIZE(hw))
		return hw[a->config];
	if (a->type == PERF_TYPE_SOFTWARE && a->config < ARRAY_SIZE(sw))
		return sw[a->config];
	return "unknown";
}

/* Tracepoints print by the formats that were recorded with them. A file without has its samples still, only no text for them. */
static void open_formats(struct replay *r)
{
	struct perfdata_feature f = r->file.features[FEAT_TRACING_DATA];
	bool wanted = false;
	vec_for_each (&r->file.attrs, a)
		wanted |= a->attr.type == PERF_TYPE_TRACEPOINT;
	if (wanted && f.at && perf_formats_open(&r->formats, f.at, f.size))
		r->stats.nr_bad++;
}

static int fill_events(struct replay *r)
{
	struct catalog *c = &r->source.catalog;
	open_formats(r);
	vec_for_each (&r->file.attrs, a) {
		struct event_info *e = vec_push(&c->events);
		if (!e)
			return -ENOMEM;
		*e = (struct event_info){
			.name = a->name ? a->name : plain_event_name(&a->attr),
			.type = a->attr.type,
			.config = a->attr.config,
			.sample_type = a->attr.sample_type,
			.period_or_freq = a->attr.sample_period,
			.is_freq = a->attr.freq,
		};
		if (a->attr.type == PERF_TYPE_TRACEPOINT)
			e->schema = perf_formats_find(&r->formats, a->attr.config);
	}
	return 0;
}

static size_t whole_records(const struct replay *r, const u8 *data, size_t size)
{
	const u8 *at = data, *rec;
	struct perf_event_header h;
	while (perfdata_record(&r->file, &at, data + size, &rec, &h) > 0)
		;
	return (size_t)(at - data);
}

/* ---- time order ---- */

enum { STAMPS_A_BLOCK = 1024, RADIX_BITS = 11 };

/* By time, equal times in the order of the file: a radix sort over the digits that differ at all. */
static int sort_stamps(struct replay *r)
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

static int add_stamp(struct replay *r, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	if (h->type != PERF_RECORD_SAMPLE)
		return 0;
	struct stamp *st = vec_push(&r->stamps);
	if (!st)
		return -ENOMEM;
	*st = (struct stamp){ .place = place, .time = perf_walk_time(&r->file, rec, h) };
	return 0;
}

static int spool_records(struct replay *r, struct perfdata_inflate *z)
{
	int more = perfdata_inflate_step(z);
	if (more <= 0)
		return more;
	size_t size;
	const u8 *data = perfdata_inflate_data(z, &size);
	size = whole_records(r, data, size);
	if (!vec_reserve(&r->spool, r->spool.nr + size))
		return -ENOMEM;
	if (size)
		memcpy(r->spool.at + r->spool.nr, data, size);
	r->spool.nr += size;
	perfdata_inflate_drop(z, size);
	(void)perfdata_inflate_data(z, &size);
	return size >= RECORD_MAX ? -EBADMSG : 1;
}

static int spool_range(struct replay *r, struct perfdata_range range, struct perfdata_inflate *z)
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

static int spool_file(struct replay *r)
{
	struct perfdata_inflate *z = perfdata_inflate_new();
	int err = z ? 0 : -ENOMEM;
	for (size_t i = 0; i < perfdata_nr_ranges(&r->file) && !err; i++) {
		perfdata_inflate_reset(z);
		err = spool_range(r, perfdata_range(&r->file, i), z);
	}
	perfdata_inflate_free(z);
	return err;
}

static int stamp_range(struct replay *r, const u8 *at, const u8 *end, u64 place)
{
	const u8 *rec, *start = at;
	struct perf_event_header h;
	int err = 0;
	while (!err && perfdata_record(&r->file, &at, end, &rec, &h) > 0)
		err = add_stamp(r, rec, &h, place + (u64)(rec - start));
	return err;
}

static int stamp_all(struct replay *r)
{
	const struct perfdata *f = &r->file;
	int err = f->compressed ? spool_file(r) : 0;
	for (size_t i = 0; i < perfdata_nr_ranges(f) && !err; i++) {
		struct perfdata_range range = perfdata_range(f, i);
		err = stamp_range(r, f->map + range.at, f->map + range.end, range.at);
	}
	if (!err && r->spool.nr)
		err = stamp_range(r, r->spool.at, r->spool.at + r->spool.nr, f->map_size);
	return err || !r->has_times ? err : sort_stamps(r);
}

static const u8 *record_at(const struct replay *r, u64 place)
{
	return place < r->file.map_size ? r->file.map + place
					: r->spool.at + (place - r->file.map_size);
}

/* Stacks that were copied are followed by the rules of the machine that was recorded; a stream may not say which that was. */
static int prepare_unwind(struct replay *r, struct diag *d)
{
	bool stacks = false;
	vec_for_each (&r->file.attrs, a)
		stacks |= a->attr.sample_type & PERF_SAMPLE_REGS_USER &&
			  a->attr.sample_type & PERF_SAMPLE_STACK_USER;
	if (!stacks)
		return 0;
	const char *name = perfdata_string(&r->file, FEAT_ARCH);
	const struct arch *arch = name ? arch_of_name(name) : arch_host();
	if (!arch || r->file.swap) {
		diag_warn(d, "stacks of a machine '%s' cannot be unwound", name ? name : "unknown");
		return 0;
	}
	r->unwind_config.arch = arch;
	return replay_unwind_init(&r->unwind, &r->unwind_config, r->tasks, &r->source.catalog);
}

static int seal(struct replay *r)
{
	int err = perfdata_build_ids(&r->file, take_build_id, r->tasks);
	for (size_t i = 0; i < r->build_ids.nr && !err; i++) {
		struct perf_event_header h = perf_head(r->build_ids.at[i], r->file.swap);
		err = perfdata_build_id_record(&r->file, r->build_ids.at[i], &h, take_build_id,
					       r->tasks);
	}
	return err ? err : tasks_seal(r->tasks);
}

static int prepare_once(struct replay *r, unsigned needs, struct diag *d)
{
	find_time_use(r);
	int err = first_pass(r, needs);
	if (!err)
		err = seal(r);
	if (!err)
		err = fill_events(r);
	if (!err)
		err = prepare_unwind(r, d);
	if (!err && !r->file.attrs.nr)
		err = diag_error(
			d, -EBADMSG,
			"the recording describes no event: it was cut off at its very beginning");
	r->stats.nr_samples = r->stats.nr_by_type[PERF_RECORD_SAMPLE];
	r->prepared = !err;
	return err;
}

static int prepare_rest(struct replay *r)
{
	int err = first_pass_rest(r);
	if (!err)
		err = tasks_reopen(r->tasks);
	if (!err)
		err = seal(r);
	r->stats.nr_samples = r->stats.nr_by_type[PERF_RECORD_SAMPLE];
	return err;
}

/* The workers will cut it into pieces, while others look at those that there are: they must not move. */
static int prepare_pieces(struct replay *r)
{
	size_t left = r->file.data_end - r->walked;
	size_t pieces = left / (PIECE_BYTES - RECORD_MAX) + 2;
	return vec_reserve(&r->blocks, r->blocks.nr + pieces) ? 0 : -ENOMEM;
}

static int replay_prepare(struct source *s, unsigned needs, struct diag *d)
{
	struct replay *r = replay_of(s);
	int err = r->prepared ? 0 : prepare_once(r, needs, d);
	if (!err && !r->whole && (r->surprised || !may_start_early(r, needs)))
		err = prepare_rest(r);
	if (!err && !r->whole)
		err = prepare_pieces(r);
	if (err)
		return err;
	r->needs = needs;
	r->nr_cut = r->blocks.nr;
	r->nr_bad = r->nr_unknown_id = r->nr_corrupt = r->nr_deferred = 0;
	atomic_store(&r->next, 0);
	if (needs & NEED_ORDER)
		return r->stamps.nr ? 0 : stamp_all(r);
	if (!r->file.compressed)
		return 0;
	perfdata_inflate_free(r->inflate);
	r->inflate = perfdata_inflate_new();
	r->inflate_range = 0;
	r->inflate_at = r->file.map + r->file.data_at;
	r->inflate_time = r->file.map_size;
	r->inflate_seq = 0;
	r->inflate_over = false;
	return r->inflate ? 0 : -ENOMEM;
}

/* ---- workers ---- */

static void replay_shard_close(struct source *s, struct shard *sh)
{
	struct reader *rd = sh->impl;
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

static int replay_shard_open(struct source *s, struct shard *sh)
{
	struct reader *rd = calloc(1, sizeof(*rd));
	if (!rd)
		return -ENOMEM;
	sh->impl = rd;
	rd->places = calloc(CACHE_SLOTS, sizeof(*rd->places));
	rd->samples = calloc(BATCH, sizeof(*rd->samples));
	rd->pending = calloc(BATCH, sizeof(*rd->pending));
	struct replay *r = replay_of(s);
	if (rd->places && rd->samples && rd->pending &&
	    !replay_chains_init(&rd->chains, &r->unwind, has_call_stacks(&r->file)))
		return 0;
	replay_shard_close(s, sh);
	sh->impl = NULL;
	return -ENOMEM;
}

/* The next compressed record into the decompressor: 1, or 0 at the end. */
static int inflate_next(struct replay *r)
{
	struct perf_event_header h;
	const u8 *rec, *end = r->file.map + perfdata_range(&r->file, r->inflate_range).end;
	while (perfdata_record(&r->file, &r->inflate_at, end, &rec, &h) > 0)
		if (h.type == REC_COMPRESSED || h.type == REC_COMPRESSED2)
			return perfdata_inflate_add(r->inflate, rec, &h, r->file.swap) ? 0 : 1;
	return 0;
}

/* Decompresses until there is a block's worth of records, or no more; the lock is held. */
static int inflate_more(struct replay *r)
{
	size_t size = 0;
	while (!r->inflate_over) {
		(void)perfdata_inflate_data(r->inflate, &size);
		if (size >= BLOCK_BYTES)
			return 0;
		int got = perfdata_inflate_step(r->inflate);
		if (got == -ENOMEM)
			return got;
		if (got < 0 || (!got && !inflate_next(r)))
			r->inflate_over = true;
	}
	return 0;
}

/* Decompressed records of the files that are left: how many bytes, 0 at the end. */
static s64 inflate_some(struct replay *r, const u8 **data)
{
	for (;;) {
		int err = inflate_more(r);
		if (err)
			return err;
		size_t size;
		*data = perfdata_inflate_data(r->inflate, &size);
		size_t whole = whole_records(r, *data, size);
		if (stuck(r, *data + whole, size - whole))
			r->inflate_over = true;
		if (whole)
			return (s64)whole;
		if (r->inflate_range + 1 >= perfdata_nr_ranges(&r->file))
			return 0;
		r->inflate_range++;
		r->inflate_at = r->file.map + perfdata_range(&r->file, r->inflate_range).at;
		r->inflate_over = false;
		perfdata_inflate_reset(r->inflate);
	}
}

static int room_for_copy(struct reader *rd, size_t size)
{
	if (size <= rd->copy_cap)
		return 0;
	u8 *copy = realloc(rd->copy, size);
	if (!copy)
		return -ENOMEM;
	rd->copy = copy;
	rd->copy_cap = size;
	return 0;
}

static int take_inflated(struct replay *r, struct reader *rd, u64 *seq)
{
	const u8 *data;
	s64 got = inflate_some(r, &data);
	if (got <= 0)
		return (int)got;
	size_t size = (size_t)got;
	int err = room_for_copy(rd, size);
	if (err)
		return err;
	memcpy(rd->copy, data, size);
	perfdata_inflate_drop(r->inflate, size);
	rd->now = (struct block){ .at = rd->copy, .end = rd->copy + size };
	rd->time0 = r->inflate_time;
	r->inflate_time += size;
	*seq = r->blocks.nr + r->inflate_seq++;
	return 1;
}

/* The records that a copied piece begins with. Nothing that others look at may change: the first that would is left there. */
static size_t walk_piece(struct replay *r, const u8 *piece, size_t size)
{
	const u8 *at = piece, *rec;
	struct perf_event_header h;
	while (perfdata_record(&r->file, &at, piece + size, &rec, &h) > 0) {
		if (unlikely(changes(h.type)) ||
		    head_record(r, rec, &h, r->walked + (u64)(rec - piece))) {
			r->surprised = true;
			return (size_t)(rec - piece);
		}
	}
	return (size_t)(at - piece);
}

/* The next piece behind what was read so far; the lock is held. What is damaged is a surprise as well. */
static int take_piece(struct replay *r, struct reader *rd, u64 *seq)
{
	size_t size = min(r->file.data_end - r->walked, (size_t)PIECE_BYTES);
	r->whole = !size && !r->surprised;
	if (r->whole)
		return 0;
	int err = r->surprised ? -EAGAIN : room_for_copy(rd, PIECE_BYTES);
	if (err)
		return err;
	u64 place = r->walked;
	size_t used =
		perfdata_copy(&r->file, place, size, rd->copy) ? 0 : walk_piece(r, rd->copy, size);
	r->surprised |= !used;
	const u8 *mapped = r->file.map + place;
	err = add_block(r, mapped, mapped + used);
	r->walked += used;
	if (err || r->surprised)
		return err ? err : -EAGAIN;
	rd->now = (struct block){ .at = rd->copy, .end = rd->copy + used };
	rd->time0 = place;
	*seq = r->blocks.nr - 1;
	return 1;
}

static int replay_next_block(struct source *s, struct shard *sh, u64 *seq)
{
	struct replay *r = replay_of(s);
	struct reader *rd = sh->impl;
	size_t index = atomic_fetch_add(&r->next, 1);
	if (r->needs & NEED_ORDER) {
		rd->stamp = min(index * STAMPS_A_BLOCK, r->stamps.nr);
		rd->stamp_end = min(rd->stamp + STAMPS_A_BLOCK, r->stamps.nr);
		*seq = index;
		return rd->stamp < rd->stamp_end;
	}
	if (index < r->nr_cut) {
		rd->now = r->blocks.at[index];
		rd->time0 = (u64)(rd->now.at - r->file.map);
		*seq = index;
		return 1;
	}
	pthread_mutex_lock(&r->lock);
	int got = !r->whole	       ? take_piece(r, rd, seq)
		  : r->file.compressed ? take_inflated(r, rd, seq)
				       : 0;
	pthread_mutex_unlock(&r->lock);
	return got;
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
	bool again; /* the chain has something that is to be counted each time */
};

static s64 frame_slow(struct replay *r, struct shard *sh, struct place_slot *slot, struct where *w,
		      u32 space, u64 addr, enum frame_mode mode)
{
	struct tasks_place p;
	tasks_find(r->tasks, space, addr, w->time, &p);
	s64 id = frame_table_add(
		&sh->frames, (struct frame){ .offset = p.offset, .image = p.image, .mode = mode });
	if (id < 0)
		return id;
	*slot = (struct place_slot){ .addr = addr,
				     .from = p.from,
				     .until = p.until,
				     .space = space,
				     .frame = (u32)id,
				     .mode = mode };
	return id;
}

static inline s64 frame_of(struct replay *r, struct shard *sh, struct where *w, u64 addr,
			   enum frame_mode mode)
{
	struct reader *rd = sh->impl;
	u32 space = mode == FRAME_KERNEL ? SPACE_KERNEL
		    : mode == FRAME_USER ? w->user_space
					 : SPACE_NONE;
	u32 at = (u32)(addr ^ addr >> 13 ^ space * 0x9e3779b1u) & (CACHE_SLOTS - 1);
	struct place_slot *slot = &rd->places[at];
	if (likely(slot->addr == addr && slot->space == space && slot->mode == mode &&
		   slot->from <= w->time && w->time < slot->until))
		return slot->frame;
	return frame_slow(r, sh, slot, w, space, addr, mode);
}

/*
 * A chain lists the innermost address first, with markers where the mode changes; ours start at the outermost caller: filled from
 * the end of the array backwards.
 */
static int chain_slow(struct replay *r, struct shard *sh, struct where *w,
		      const struct perf_sample_view *v, u32 *first)
{
	struct reader *rd = sh->impl;
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

static s64 chain_of(struct replay *r, struct shard *sh, struct where *w, const struct pending *p)
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
	struct reader *rd = sh->impl;
	return chain ? chain : chain_table_put(&sh->chains, key, rd->frames + at, CHAIN_MAX - at);
}

/* Every address of the chain with its frame. */
static int places_of(struct replay *r, struct shard *sh, struct where *w,
		     const struct perf_sample_view *v, struct sample *s)
{
	struct reader *rd = sh->impl;
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
static u64 branch_flags(const struct replay *r, u64 raw)
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

static s64 frame_by_address(struct replay *r, struct shard *sh, struct where *w, u64 addr)
{
	return frame_of(r, sh, w, addr, addr >> 63 ? FRAME_KERNEL : FRAME_USER);
}

static int branches_of(struct replay *r, struct shard *sh, struct where *w,
		       const struct perf_sample_view *v, struct sample *s)
{
	struct reader *rd = sh->impl;
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
static int regs_of(struct replay *r, struct reader *rd, const struct perf_regs *from,
		   struct sample_regs *to)
{
	struct bytes b = bytes_of(from->values, 8 * (size_t)from->nr, r->file.swap);
	*to = (struct sample_regs){ .abi = from->abi, .mask = from->mask, .nr = from->nr };
	if (!vec_reserve(&rd->regs, rd->regs.nr + from->nr))
		return -ENOMEM;
	for (u32 i = 0; i < from->nr; i++)
		rd->regs.at[rd->regs.nr++] = bytes_u64(&b);
	return 0;
}

static int extra_of(struct replay *r, struct reader *rd, const struct perf_sample_view *v)
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

static void place_extras(struct reader *rd)
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

static u64 time_of(const struct replay *r, const struct pending *p)
{
	return r->has_times ? p->view.time : p->place;
}

static u32 epoch_of(const struct replay *r, struct tasks_epoch *last, u32 space, u64 time)
{
	if (unlikely(last->space != space || time < last->from || time >= last->until))
		tasks_epoch(r->tasks, space, time, last);
	return last->number;
}

/* What addresses of this sample mean: whose they are, and what was mapped at the time. Part of the key of its chain. */
static u64 meaning_of(const struct replay *r, struct reader *rd, const struct pending *p)
{
	u64 time = time_of(r, p);
	u32 user = epoch_of(r, &rd->user, p->space, time),
	    kernel = epoch_of(r, &rd->kernel, SPACE_KERNEL, time);
	u64 mode = p->view.misc & PERF_RECORD_MISC_CPUMODE_MASK;
	return hash_u64((u64)user << 32 | kernel) ^ ((u64)p->space << 8 | mode);
}

/* First step. -ENOENT: skip it. */
static int decode(struct replay *r, struct shard *sh, const u8 *rec, u16 size, struct pending *p)
{
	struct reader *rd = sh->impl;
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
	if (!(r->needs & (NEED_LEAF | NEED_CHAIN | NEED_PLACES | NEED_BRANCH | NEED_DATA)))
		return 0;
	const struct perf_sample_view *v = &p->view;
	u64 time = time_of(r, p);
	if (unlikely(!tasks_span_holds(&rd->space, v->pid, time)))
		tasks_space_span(r->tasks, v->pid, time, &rd->space);
	p->space = rd->space.value;
	if (unlikely(v->stack && rd->chains.unwinder) && r->needs & (NEED_CHAIN | NEED_PLACES))
		replay_unwind_sample(&r->unwind, &rd->chains, &p->view, p->space, time);
	if (unlikely(p->attr->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK) &&
	    r->needs & (NEED_CHAIN | NEED_PLACES))
		replay_chain_of_branches(&rd->chains, &p->view, f->swap);
	if (r->needs & NEED_CHAIN) {
		p->hash = hash_words(v->chain, v->nr_chain, meaning_of(r, rd, p));
		chain_table_prefetch(&sh->chains, p->hash);
	}
	return 0;
}

/* Second step. */
static int fill_sample(struct replay *r, struct shard *sh, const struct pending *p, struct sample *s)
{
	const struct perf_sample_view *v = &p->view;
	struct where w = { .time = time_of(r, p), .user_space = p->space };
	*s = (struct sample){
		.time_ns = v->time,
		.period = v->period,
		.weight = v->weight,
		.ip = v->ip,
		.addr = v->addr,
		.data_src = v->data_src,
		.phys_addr = v->phys_addr,
		.id = v->id,
		.cgroup = v->cgroup,
		.event = (u32)(p->attr - r->file.attrs.at),
		.cpu = (s32)v->cpu,
		.pid = (s32)v->pid,
		.tid = (s32)v->tid,
		.mode = mode_of_misc(v->misc),
		.raw = v->raw,
		.raw_size = v->raw_size,
	};
	s->schema = r->source.catalog.events.at[s->event].schema;
	if (r->needs & NEED_COMM) {
		struct tasks_span *comm = &((struct reader *)sh->impl)->comm;
		if (unlikely(!tasks_span_holds(comm, v->tid, w.time)))
			tasks_comm_span(r->tasks, v->tid, w.time, comm);
		s->comm = comm->value;
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
	int err = r->needs & NEED_PLACES ? places_of(r, sh, &w, v, s) : 0;
	if (!err && unlikely(r->needs & NEED_EXTRA))
		err = extra_of(r, sh->impl, v);
	return err || !(r->needs & NEED_BRANCH) ? err : branches_of(r, sh, &w, v, s);
}

/* The next records of the block into rd->pending, decoded. */
static s64 take_file_order(struct replay *r, struct shard *sh)
{
	struct reader *rd = sh->impl;
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

static s64 take_time_order(struct replay *r, struct shard *sh)
{
	struct reader *rd = sh->impl;
	size_t nr = 0, limit = r->file.swap ? 1 : BATCH;
	while (nr < limit && rd->stamp < rd->stamp_end && !replay_chains_full(&rd->chains)) {
		u64 place = r->stamps.at[rd->stamp].place;
		const u8 *rec = record_at(r, place);
		if (nr && (uintptr_t)rec & 7)
			break;
		if (rd->stamp + 8 < rd->stamp_end)
			__builtin_prefetch(record_at(r, r->stamps.at[rd->stamp + 8].place));
		rd->stamp++;
		rd->pending[nr].place = place;
		int err = decode(r, sh, rec, perf_head(rec, r->file.swap).size, &rd->pending[nr]);
		if (err && err != -ENOENT)
			return err;
		nr += !err;
		if (nr && (uintptr_t)rec & 7)
			break;
	}
	return (s64)nr;
}

static int split_batch(struct replay *r, struct reader *rd, size_t nr)
{
	rd->split.samples.nr = 0;
	int err = 0;
	for (size_t i = 0; i < nr && !err; i++)
		err = split_reads_add(&rd->split, &r->file, rd->pending[i].attr,
				      &rd->pending[i].view, &rd->samples[i]);
	return err;
}

static int next_batch(struct source *s, struct shard *sh, struct batch *ret)
{
	struct replay *r = replay_of(s);
	struct reader *rd = sh->impl;
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
	/* The array may have moved while it grew. */
	const struct sample_place *place = rd->sample_places.at;
	const struct sample_branch *branch = rd->branches.at;
	for (s64 i = 0; i < nr; i++) {
		struct sample *s = &rd->samples[i];
		s->places = s->nr_places ? place : NULL;
		s->branches = s->nr_branches ? branch : NULL;
		place += s->nr_places;
		branch += s->nr_branches;
	}
	place_extras(rd);
	*ret = (struct batch){ .samples = rd->samples, .nr = (size_t)nr };
	if (likely(!(r->needs & NEED_READ)))
		return 1;
	int err = split_batch(r, rd, (size_t)nr);
	*ret = (struct batch){ .samples = rd->split.samples.at, .nr = rd->split.samples.nr };
	return err ? err : 1;
}

static int replay_next_batch(struct source *s, struct shard *sh, struct batch *ret)
{
	int got;
	do
		got = next_batch(s, sh, ret);
	while (got > 0 && !ret->nr); /* nothing moved: not a batch */
	return got;
}

/* A frame pointer that is none leads to words that are no addresses; -72 looks like a marker, but there is no such marker. */
static void tell_corrupt(const struct replay *r, struct diag *d)
{
	diag_warn(d, "%llu call chains went astray and are left out, as perf leaves them out",
		  (unsigned long long)r->stats.nr_corrupt_chains);
	diag_hint(d, "they run through code built without frame pointers: record with --call-graph "
		     "dwarf to see them");
}

static void replay_finish(struct source *s, struct diag *d)
{
	struct replay *r = replay_of(s);
	r->stats.nr_bad_samples = r->nr_bad;
	r->stats.nr_samples = r->stats.nr_by_type[PERF_RECORD_SAMPLE];
	r->stats.nr_bad += r->nr_bad;
	r->stats.nr_unknown_id = r->nr_unknown_id;
	r->stats.nr_corrupt_chains = r->nr_corrupt;
	r->stats.nr_deferred = r->nr_deferred;
	if (r->file.unfinished)
		diag_warn(d, "the recording was never finished (its recorder was killed); read to "
			     "the end of what is whole");
	else if (r->file.truncated)
		diag_warn(
			d,
			"the recording is cut off or damaged at byte %zu of %zu; read up to there",
			r->file.data_end, r->file.map_size);
	if (r->stats.nr_bad)
		diag_warn(d, "%llu damaged records were skipped",
			  (unsigned long long)r->stats.nr_bad);
	if (r->stats.nr_unknown_id)
		diag_warn(d, "%llu samples belong to no event of the recording and were skipped",
			  (unsigned long long)r->stats.nr_unknown_id);
	if (r->stats.nr_corrupt_chains)
		tell_corrupt(r, d);
	replay_unwind_report(&r->unwind, d);
	if (r->nr_deferred)
		diag_warn(d,
			  "the user part of %llu call chains was recorded apart (deferred) and is "
			  "not joined yet: it is missing",
			  (unsigned long long)r->nr_deferred);
}

static void replay_close(struct source *s)
{
	struct replay *r = replay_of(s);
	if (!r->own_map)
		r->file.map_size = 0;
	perfdata_inflate_free(r->inflate);
	replay_unwind_done(&r->unwind);
	free((char *)(uintptr_t)r->unwind_config.cache);
	tasks_free(r->tasks);
	perf_formats_done(&r->formats);
	perfdata_close(&r->file);
	vec_free(&r->blocks);
	vec_free(&r->build_ids);
	vec_free(&r->stamps);
	vec_free(&r->spool);
	catalog_done(&s->catalog);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static const struct source_ops replay_ops = {
	.prepare = replay_prepare,
	.shard_open = replay_shard_open,
	.shard_close = replay_shard_close,
	.next_block = replay_next_block,
	.next_batch = replay_next_batch,
	.finish = replay_finish,
	.close = replay_close,
};

const struct perfdata *replay_perf_file(const struct source *s)
{
	return s->ops == &replay_ops ? &replay_of(s)->file : NULL;
}

bool replay_perf_has_reads(const struct source *s)
{
	const struct perfdata *file = replay_perf_file(s);
	return file && perfdata_has_sample_type(file, PERF_SAMPLE_READ);
}

static struct replay *replay_new(void)
{
	struct replay *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->source.ops = &replay_ops;
	pthread_mutex_init(&r->lock, NULL);
	if (catalog_init(&r->source.catalog)) {
		free(r);
		return NULL;
	}
	r->tasks = tasks_new(&r->source.catalog);
	if (!r->tasks) {
		catalog_done(&r->source.catalog);
		free(r);
		return NULL;
	}
	return r;
}

int replay_perf_open(const char *path, struct source **ret, struct diag *d)
{
	struct replay *r = replay_new();
	if (!r)
		return -ENOMEM;
	r->own_map = true;
	int err = perfdata_open(&r->file, path, d);
	if (err) {
		replay_close(&r->source);
		return err;
	}
	*ret = &r->source;
	return 0;
}

int replay_perf_open_bytes(const void *data, size_t size, struct source **ret, struct diag *d)
{
	struct replay *r = replay_new();
	if (!r)
		return -ENOMEM;
	int err = perfdata_open_bytes(&r->file, data, size, "input", d);
	if (err) {
		replay_close(&r->source);
		return err;
	}
	*ret = &r->source;
	return 0;
}
