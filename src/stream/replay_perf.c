/*
 * perf.data → samples.
 *
 * Two passes over the mapped file. The first one reads the heads of all records and the bodies of the few that are not samples
 * (tasks, maps, losses), and cuts the data into blocks at record boundaries. The second one is the workers': each takes blocks,
 * decodes samples, turns addresses into frames through a direct-mapped cache, and rows of frames into chains. A compressed file has no
 * boundaries to cut at: there the workers take turns at the decompressor, and each gets a buffer of whole records.
 *
 * Where the sink allows it (MAY_START_EARLY), the first pass ends when nothing was told of tasks and maps for a long stretch: it
 * will mostly stay like that. Workers then copy a piece of the file each, one after the other walks the heads of its records, and decode
 * them from the cache: the file is read once, and not mapped. A record that changes what samples mean ends this: all that was
 * handed out is void, the first pass goes on to the end, and everything starts over.
 */
#include "stream/replay_perf.h"
#include "base/str.h"
#include "event/legacy.h"
#include "file/perfdata_made.h"
#include "stream/replay_perf_impl.h"
#include "stream/rounds_impl.h"

#include <errno.h>
#include <string.h>

const struct replay_perf_stats *replay_perf_stats(const struct source *s)
{
	return &replay_of(s)->stats;
}

void replay_perf_branch_history(struct source *s)
{
	replay_of(s)->branch_history = true;
}

void replay_perf_kallsyms(struct source *s, const char *(*text)(void *, size_t *), void *ctx)
{
	replay_of(s)->formats.kallsyms = text;
	replay_of(s)->formats.kallsyms_ctx = ctx;
}

int replay_perf_unwind(struct source *s, const struct unwind_config *cfg)
{
	struct perf_replay *r = replay_of(s);
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

static int take_build_id(void *ctx, const char *path, const u8 *id, u32 size, u16 misc)
{
	return tasks_build_id(ctx, path, id, size);
}

static const char *plain_event_name(const struct perf_event_attr *a)
{
	const char *name = legacy_shown(a->type, a->config);
	return name ? name : "unknown";
}

/* Tracepoints print by the formats that were recorded with them. A file without has its samples still, only no text for them. */
static void open_formats(struct perf_replay *r)
{
	struct perfdata_feature f = r->file.features[FEAT_TRACING_DATA];
	bool wanted = false;
	vec_for_each (&r->file.attrs, a)
		wanted |= a->attr.type == PERF_TYPE_TRACEPOINT;
	if (wanted && f.at && !r->has_formats && perf_formats_open(&r->formats, f.at, f.size))
		r->stats.nr_bad++;
	r->has_formats |= wanted && f.at;
}

/* A stream may tell more of them later, and names of those that are known. */
static int fill_events(struct perf_replay *r)
{
	struct catalog *c = &r->source.catalog;
	open_formats(r);
	for (size_t i = 0; i < r->file.attrs.nr; i++) {
		const struct perfdata_attr *a = &r->file.attrs.at[i];
		struct event_info *e = i < c->events.nr ? &c->events.at[i] : vec_push(&c->events);
		if (!e)
			return -ENOMEM;
		*e = (struct event_info){
			.name = a->name ? a->name : plain_event_name(&a->attr),
			.type = a->attr.type,
			.config = a->attr.config,
			.sample_type = a->attr.sample_type,
			.branch_type = a->attr.branch_sample_type,
			.period_or_freq = a->attr.sample_period,
			.is_freq = a->attr.freq,
		};
		if (a->attr.type == PERF_TYPE_TRACEPOINT)
			e->schema = perf_formats_find(&r->formats, a->attr.config);
	}
	return 0;
}

/* Stacks that were copied are followed by the rules of the machine that was recorded; a stream may not say which that was. */
static int prepare_unwind(struct perf_replay *r, struct diag *d)
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
		diag_warn(d, "cannot unwind stacks of architecture '%s'", name ? name : "unknown");
		return 0;
	}
	r->unwind_config.arch = arch;
	return replay_unwind_init(&r->unwind, &r->unwind_config, r->tasks, &r->source.catalog);
}

static int tell_build_ids(struct perf_replay *r)
{
	int err = perfdata_build_ids(&r->file, take_build_id, r->tasks);
	for (size_t i = 0; i < r->build_ids.nr && !err; i++) {
		struct perf_event_header h = perf_head(r->build_ids.at[i], r->file.swap);
		err = perfdata_build_id_record(&r->file, r->build_ids.at[i], &h, take_build_id,
					       r->tasks);
	}
	return err;
}

static int seal(struct perf_replay *r)
{
	int err = tell_build_ids(r);
	return err ? err : tasks_seal(r->tasks);
}

/* What the recording has about code made at run time: maps by process. */
int replay_perf_find_made(struct perf_replay *r, struct bytes cursor)
{
	struct catalog *c = &r->source.catalog;
	struct perfdata_made m;
	struct dict maps; /* pid -> index into `all` */
	VEC(struct perfdata_made) all = { 0 };
	int err = 0;
	dict_init(&maps);
	while (!err && perfdata_made_next(&cursor, &m)) {
		u32 fresh = (u32)all.nr, at;
		struct perfdata_made *kept = m.kind == PERFDATA_MADE_MAP ? vec_push(&all) : NULL;
		if (m.kind != PERFDATA_MADE_MAP)
			continue;
		err = kept ? dict_add(&maps, m.pid, fresh, &at) : -ENOMEM;
		if (kept)
			*kept = m;
	}
	for (size_t i = 0; i < c->images.nr && all.nr && !err; i++) {
		struct image_info *image = &c->images.at[i];
		u32 at = image->kind == IMAGE_KIND_ANON ? dict_get(&maps, image->pid) : DICT_NONE;
		if (at == DICT_NONE)
			continue;
		image->made_map = (const char *)all.at[at].data;
		image->made_map_size = all.at[at].size;
	}
	vec_free(&all);
	dict_done(&maps);
	return err;
}

static int no_events(struct diag *d)
{
	return diag_error(
		d, -EBADMSG,
		"the recording has no event description: it is truncated at the very beginning");
}

int replay_perf_learn(struct perf_replay *r, struct diag *d)
{
	size_t nr_images = r->source.catalog.images.nr;
	int err = 0;
	if (r->nr_told_images != nr_images || r->nr_told_ids != r->build_ids.nr)
		err = tell_build_ids(r);
	r->nr_told_images = nr_images;
	r->nr_told_ids = r->build_ids.nr;
	if (!err)
		err = fill_events(r);
	if (!err)
		err = r->unwind.tables ? unwind_tables_reserve(r->unwind.tables, (u32)nr_images)
				       : prepare_unwind(r, d);
	r->stats.nr_samples = r->stats.nr_by_type[PERF_RECORD_SAMPLE];
	return err || r->file.attrs.nr || !r->round.last ? err : no_events(d);
}

static int prepare_once(struct perf_replay *r, unsigned needs, struct diag *d)
{
	replay_perf_find_times(r);
	int err = replay_perf_first_pass(r, needs);
	if (!err)
		err = seal(r);
	if (!err)
		err = replay_perf_find_made(r, perfdata_made_start(&r->file));
	if (!err)
		err = fill_events(r);
	if (!err)
		err = prepare_unwind(r, d);
	if (!err && !r->file.attrs.nr)
		err = no_events(d);
	r->stats.nr_samples = r->stats.nr_by_type[PERF_RECORD_SAMPLE];
	r->prepared = !err;
	return err;
}

static int prepare_rest(struct perf_replay *r)
{
	int err = replay_perf_first_rest(r);
	if (!err)
		err = tasks_reopen(r->tasks);
	if (!err)
		err = seal(r);
	r->stats.nr_samples = r->stats.nr_by_type[PERF_RECORD_SAMPLE];
	return err;
}

static int tell_too_much(const struct perf_replay *r, struct diag *d)
{
	int err = diag_error(d, -E2BIG, "%s would take too much memory for a file of %llu bytes",
			     r->file.budget.stage, (unsigned long long)r->file.budget.size);
	diag_hint(d,
		  "if you trust the recording, decompress it first: sonde inject -i FILE -o COPY");
	return err;
}

/* How many samples are before a time. */
static size_t stamps_before(const struct stamps *st, u64 time)
{
	size_t low = 0, high = st->nr;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (st->at[mid].time < time)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Blocks begin and end where the times that are wanted do. */
static void choose_stamps(struct perf_replay *r)
{
	const struct source *s = &r->source;
	r->stamps_after = 0;
	if (!r->has_times)
		return;
	if (s->until_ns && s->until_ns < UINT64_MAX)
		r->stamps_after = r->stamps.nr - stamps_before(&r->stamps, s->until_ns + 1);
	atomic_store(&r->next, stamps_before(&r->stamps, s->from_ns) / STAMPS_A_BLOCK);
}

int replay_perf_prepare(struct source *s, unsigned needs, struct diag *d)
{
	struct perf_replay *r = replay_of(s);
	int err = r->prepared ? 0 : prepare_once(r, needs, d);
	if (!err && !r->whole && (r->surprised || !replay_perf_may_start_early(r, needs)))
		err = prepare_rest(r);
	if (!err && !r->whole)
		err = replay_perf_expect_pieces(r);
	if (err)
		return err;
	replay_perf_count_cpus(r);
	r->needs = needs;
	r->early = !r->whole;
	r->nr_cut = r->blocks.nr;
	r->nr_bad = r->nr_unknown_id = r->nr_corrupt = r->nr_deferred = 0;
	atomic_store(&r->next, 0);
	if (r->file.compressed)
		replay_perf_limit_memory(r);
	if (needs & NEED_ORDER) {
		err = r->stamps.nr ? 0 : replay_perf_stamp(r);
		choose_stamps(r);
		return err == -E2BIG ? tell_too_much(r, d) : err;
	}
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

/* A frame pointer that is none leads to words that are no addresses; -72 looks like a marker, but there is no such marker. */
static void tell_corrupt(const struct perf_replay *r, struct diag *d)
{
	diag_warn(d, "%llu corrupt call %s dropped, as perf does",
		  (unsigned long long)r->stats.nr_corrupt_chains,
		  str_plural(r->stats.nr_corrupt_chains, "chain was", "chains were"));
	diag_hint(d, "they run through code without frame pointers: record with %s to see them",
		  diag_option(d, DIAG_OPT_UNWIND));
}

void replay_perf_finish(struct source *s, struct diag *d)
{
	struct perf_replay *r = replay_of(s);
	r->stats.nr_bad_samples = r->nr_bad;
	r->stats.nr_samples = r->stats.nr_by_type[PERF_RECORD_SAMPLE];
	r->stats.nr_bad += r->nr_bad;
	r->stats.nr_unknown_id = r->nr_unknown_id;
	r->stats.nr_corrupt_chains = r->nr_corrupt;
	r->stats.nr_deferred = r->nr_deferred;
	if (r->file.budget.stage)
		(void)tell_too_much(r, d);
	if (r->file.expands)
		diag_warn(
			d, "the recording decompresses to more than %d times its size; read up to byte %zu of %zu",
			PERFDATA_EXPANDS_MAX, r->file.data_end, r->file.map_size);
	else if (r->file.unfinished)
		diag_warn(d, "the recording was not finished (its recorder was killed); read up to "
			     "the last complete record");
	else if (r->file.truncated)
		diag_warn(
			d, "the recording is truncated or damaged at byte %zu of %zu; read up to there",
			r->file.data_end, r->file.map_size);
	if (r->stats.nr_bad)
		diag_warn(d, "%llu damaged %s skipped", (unsigned long long)r->stats.nr_bad,
			  str_plural(r->stats.nr_bad, "record was", "records were"));
	if (r->stats.nr_unknown_id)
		diag_warn(d, "%llu %s not belong to any event of the recording and %s skipped",
			  (unsigned long long)r->stats.nr_unknown_id,
			  str_plural(r->stats.nr_unknown_id, "sample does", "samples do"),
			  str_plural(r->stats.nr_unknown_id, "was", "were"));
	if (r->stats.nr_corrupt_chains)
		tell_corrupt(r, d);
	replay_unwind_report(&r->unwind, d);
	if (r->nr_deferred)
		diag_warn(d,
			  "the user part of %llu call chains was recorded separately (deferred) "
			  "and is missing: joining it is not supported yet",
			  (unsigned long long)r->nr_deferred);
}

void replay_perf_close(struct source *s)
{
	struct perf_replay *r = replay_of(s);
	if (!r->own_map)
		r->file.map_size = 0;
	rounds_free(r->rounds);
	perfdata_inflate_free(r->inflate);
	replay_unwind_done(&r->unwind);
	free((char *)(uintptr_t)r->unwind_config.cache);
	tasks_free(r->tasks);
	perf_formats_done(&r->formats);
	perfdata_close(&r->file);
	vec_free(&r->blocks);
	vec_free(&r->build_ids);
	vec_free(&r->losses);
	dict_done(&r->missed_at);
	vec_free(&r->stamps);
	replay_perf_drop_spool(r);
	catalog_done(&s->catalog);
	pthread_mutex_destroy(&r->lock);
	sequencer_done(&r->pieces);
	free(r);
}

static const struct source_ops replay_ops = {
	.prepare = replay_perf_prepare,
	.shard_open = replay_perf_shard_open,
	.shard_close = replay_perf_shard_close,
	.next_block = replay_perf_next_block,
	.next_batch = replay_perf_next_batch,
	.finish = replay_perf_finish,
	.close = replay_perf_close,
	.describe = replay_perf_describe,
	.group = replay_perf_group,
	.span = replay_perf_span,
	.command = replay_perf_command,
};

const struct perfdata *replay_perf_file(const struct source *s)
{
	return s->ops->close == replay_perf_close ? &replay_of(s)->file : NULL;
}

bool replay_perf_has_reads(const struct source *s)
{
	const struct perfdata *file = replay_perf_file(s);
	return file && perfdata_has_sample_type(file, PERF_SAMPLE_READ);
}

struct perf_replay *replay_perf_new(const struct source_ops *ops)
{
	struct perf_replay *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->source.ops = ops;
	pthread_mutex_init(&r->lock, NULL);
	sequencer_init(&r->pieces);
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
	struct perf_replay *r = replay_perf_new(&replay_ops);
	if (!r)
		return -ENOMEM;
	r->own_map = true;
	int err = perfdata_open(&r->file, path, d);
	if (err) {
		replay_perf_close(&r->source);
		return err;
	}
	*ret = &r->source;
	return 0;
}

int replay_perf_open_bytes(const void *data, size_t size, struct source **ret, struct diag *d)
{
	struct perf_replay *r = replay_perf_new(&replay_ops);
	if (!r)
		return -ENOMEM;
	int err = perfdata_open_bytes(&r->file, data, size, "input", d);
	if (err) {
		replay_perf_close(&r->source);
		return err;
	}
	*ret = &r->source;
	return 0;
}
