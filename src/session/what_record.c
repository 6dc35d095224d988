#include "session/what_record.h"

#include "base/clock.h"
#include "file/perfdata_write.h"
#include "file/statdata.h"
#include "kern/machine.h"
#include "session/output.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { WORDS_MAX = 256, THOUSANDTHS = 1000 };

/* What is written of one event. */
struct kept {
	u64 value; /* since the start; of a state the last one */
	u64 written; /* of the last round that told it */
	bool known, was_known;
	bool told; /* in this file */
};

struct what_recording {
	struct what_engine *w;
	const char *path;
	u64 max_bytes, interval_ms;
	struct perfdata_writer *file;
	struct strbuf records;
	struct kept *kept; /* [column * 2]: the column, what it is divided by */
	size_t nr_columns;
	u64 generation; /* of the engine's columns */
	u64 began_ns; /* of this file, CLOCK_MONOTONIC */
};

void what_record_close(struct what_recording *r)
{
	if (!r)
		return;
	if (r->file)
		perfdata_write_close(r->file);
	strbuf_done(&r->records);
	free(r->kept);
	free(r);
}

static bool is_state(const struct what_engine *w, size_t column)
{
	const struct what_column *c = what_column_at(w, column);
	return c && c->how == WHAT_GAUGE;
}

static bool is_divided(const struct what_engine *w, size_t column)
{
	const struct what_column *c = what_column_at(w, column);
	return c && c->per;
}

/* Of what is counted, not of what it becomes: "bytes", where the column has bytes/s. */
static const char *unit_of(const struct what_engine *w, size_t column)
{
	const struct what_column *c = what_column_at(w, column);
	if (!c || c->per)
		return "";
	return c->how == WHAT_GAUGE ? c->unit->name : c->unit->total ? c->unit->total : "";
}

static int append(struct what_recording *r, struct diag *d)
{
	const struct iovec iov = { .iov_base = r->records.data, .iov_len = r->records.len };
	int err = r->records.err ? r->records.err : perfdata_write_records(r->file, &iov, 1);
	strbuf_reset(&r->records);
	if (err)
		return diag_error(d, err, "cannot write '%s': %s", r->path, strerror(-err));
	return 0;
}

/* Names are borrowed from the arena; *nr counts events. */
static struct perfdata_event *list_events(const struct what_engine *w, struct arena *a, u32 *nr)
{
	size_t columns = w->series.columns.nr;
	struct perfdata_event *events = arena_array(a, columns * 2 + 1, sizeof(*events));
	u64 *ids = arena_array(a, columns * 2 + 1, sizeof(*ids));
	struct strbuf name;
	bool ok = events && ids;
	*nr = 0;
	strbuf_init(&name);
	for (size_t i = 0; i < columns && ok; i++)
		for (unsigned part = 0; part < 1u + is_divided(w, i) && ok; part++) {
			const struct series_column *c = &w->series.columns.at[i];
			strbuf_reset(&name);
			strbuf_printf(&name, "%s/%s/%s%s", c->part.group, c->part.row, c->key,
				      part ? "/per" : "");
			ids[*nr] = i * 2 + part + 1;
			events[*nr] = (struct perfdata_event){
				.attr = { .type = PERF_TYPE_SOFTWARE,
					  .size = sizeof(struct perf_event_attr),
					  .config = PERF_COUNT_SW_DUMMY,
					  .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
							 PERF_FORMAT_TOTAL_TIME_RUNNING },
				.name = arena_strdup(a, strbuf_cstr(&name)),
				.ids = &ids[*nr],
				.nr_ids = 1,
				.leader = *nr
			};
			ok = events[(*nr)++].name;
		}
	strbuf_done(&name);
	return ok ? events : NULL;
}

/* began_ns: when the first interval of the file began. */
static int open_file(struct what_recording *r, u64 began_ns, struct diag *d)
{
	const char *words[WORDS_MAX];
	struct machine machine;
	struct arena arena;
	u32 nr = 0;
	struct perfdata_meta meta = { .machine = &machine,
				      .version = SONDE_VERSION,
				      .argv = words,
				      .counts = true,
				      .has_clock = true,
				      .clock_id = CLOCK_MONOTONIC,
				      .clock_res_ns = 1 };
	int err = machine_read(r->w->root, &machine);
	if (err)
		return err;
	arena_init(&arena);
	char *cmdline = output_cmdline(r->w->root, words, WORDS_MAX, &meta.argc);
	struct perfdata_event *events = list_events(r->w, &arena, &nr);
	output_owner(&meta.owner_uid, &meta.owner_gid);
	r->began_ns = meta.clock_ref_ns = began_ns;
	meta.wall_ref_ns = clock_ns(CLOCK_REALTIME) - (clock_monotonic_ns() - began_ns);
	r->file = events ? perfdata_write_open(r->path, events, nr, &meta, d) : NULL;
	err = r->file ? 0 : events ? -errno : -ENOMEM;
	free(cmdline);
	arena_done(&arena);
	machine_done(&machine);
	return err;
}

static void put_preface(struct what_recording *r)
{
	const struct what_engine *w = r->w;
	struct statdata_thread all = { .tid = -1 };
	for (size_t i = 0; i < r->nr_columns; i++) {
		double scale = what_scale(w, i) / (is_state(w, i) ? THOUSANDTHS : 1);
		if (*unit_of(w, i))
			statdata_put_unit(&r->records, i * 2 + 1, unit_of(w, i));
		statdata_put_scale(&r->records, i * 2 + 1, scale);
	}
	statdata_put_threads(&r->records, &all, 1);
	statdata_put_cpu_map(&r->records, NULL);
	statdata_put_config(&r->records, STAT_BY_ALL, r->interval_ms);
}

struct what_recording *what_record_open(struct what_engine *w, const char *path, u64 max_bytes,
					u64 interval_ms, struct diag *d)
{
	struct what_recording *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	*r = (struct what_recording){ .w = w,
				      .path = path,
				      .max_bytes = max_bytes,
				      .interval_ms = interval_ms,
				      .nr_columns = w->series.columns.nr,
				      .generation = w->generation };
	strbuf_init(&r->records);
	r->kept = calloc(max(r->nr_columns * 2, (size_t)1), sizeof(*r->kept));
	int err = r->kept ? open_file(r, w->read_ns, d) : -ENOMEM;
	if (!err) {
		put_preface(r);
		err = append(r, d);
	}
	if (!err)
		return r;
	what_record_close(r);
	return NULL;
}

/* Growth is added up, in whole units of its fields; a state is what it is. */
static void update(struct kept *k, double v, bool state)
{
	k->known = !isnan(v);
	if (!k->known)
		return;
	u64 amount = (u64)llround(state ? v * THOUSANDTHS : v);
	k->value = state ? amount : k->value + amount;
}

static void put_count(struct what_recording *r, size_t at)
{
	struct kept *k = &r->kept[at];
	if (k->told && k->value == k->written && k->known == k->was_known)
		return;
	struct count c = {
		.value = k->value, .enabled_ns = 1, .running_ns = k->known, .opened = true
	};
	statdata_put_count(&r->records, at + 1, -1, 0, &c);
	k->told = true;
	k->written = k->value;
	k->was_known = k->known;
}

/* Other columns (a disk came) or a full file: the next one, whose first interval is the one that ends now. */
static int next_file(struct what_recording *r, struct diag *d)
{
	int err = what_record_finish(r, d);
	if (err)
		return err;
	perfdata_write_close(r->file);
	r->file = NULL;
	free(r->kept);
	r->nr_columns = r->w->series.columns.nr;
	r->generation = r->w->generation;
	r->kept = calloc(max(r->nr_columns * 2, (size_t)1), sizeof(*r->kept));
	if (!r->kept)
		return -ENOMEM;
	err = open_file(r, r->w->read_ns - (u64)(r->w->seconds * (double)NS_PER_SEC), d);
	if (err)
		return err;
	put_preface(r);
	return append(r, d);
}

int what_record_round(struct what_recording *r, struct diag *d)
{
	if (r->generation != r->w->generation || perfdata_write_file_bytes(r->file) > r->max_bytes) {
		int err = next_file(r, d);
		if (err)
			return err;
	}
	for (size_t i = 0; i < r->nr_columns; i++) {
		double of, per;
		what_growth(r->w, i, &of, &per);
		update(&r->kept[i * 2], of, is_state(r->w, i));
		put_count(r, i * 2);
		if (!is_divided(r->w, i))
			continue;
		update(&r->kept[i * 2 + 1], per, false);
		put_count(r, i * 2 + 1);
	}
	statdata_put_round(&r->records,
			   &(struct statdata_round){ .time_ns = r->w->read_ns - r->began_ns });
	return append(r, d);
}

int what_record_finish(struct what_recording *r, struct diag *d)
{
	int err = perfdata_write_finish(r->file);
	if (err)
		return diag_error(d, err, "cannot write '%s': %s", r->path, strerror(-err));
	return 0;
}

u64 what_record_bytes(const struct what_recording *r)
{
	return perfdata_write_file_bytes(r->file);
}
