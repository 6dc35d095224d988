#include "session/what_record.h"

#include "base/clock.h"
#include "file/perfdata_write.h"
#include "file/statdata.h"
#include "kern/machine.h"
#include "session/output.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { WORDS_MAX = 256, THOUSANDTHS = 1000, PER_PROCESS = 2 /* events: who, how much */ };

static const char *const busy_units[WHAT_BUSY_NR] = { "%", "bytes/s" };

/* What is written of one event. */
struct kept {
	u64 value; /* since the start; of a state the last one */
	u64 written; /* of the last round that told it */
	bool known, was_known;
	bool told; /* in this file */
};

/* A process that was listed in the last round. */
struct task_name {
	s32 pid;
	char comm[TASK_COMM_MAX];
};

struct what_recording {
	struct what_engine *w;
	struct what_record_opts o;
	struct perfdata_writer *file;
	struct strbuf records;
	struct kept *kept; /* [column * 2]: the column, what it is divided by; then processes */
	size_t nr_columns;
	VEC(struct task_name) named, listed; /* who was named in this file; scratch */
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
	vec_free(&r->named);
	vec_free(&r->listed);
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
		return diag_error(d, err, "cannot write '%s': %s", r->o.path, strerror(-err));
	return 0;
}

static bool add_event(struct perfdata_event *to, struct arena *a, u64 *id, u32 leader,
		      const char *name)
{
	*to = (struct perfdata_event){ .attr = { .type = PERF_TYPE_SOFTWARE,
						 .size = sizeof(struct perf_event_attr),
						 .config = PERF_COUNT_SW_DUMMY,
						 .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
								PERF_FORMAT_TOTAL_TIME_RUNNING },
				       .name = arena_strdup(a, name),
				       .ids = id,
				       .nr_ids = 1,
				       .leader = leader };
	return to->name;
}

static u32 nr_process_events(const struct what_recording *r)
{
	return r->o.processes * WHAT_BUSY_NR * PER_PROCESS;
}

/* The place of a process's number in `kept`; how much it used follows. */
static size_t process_at(const struct what_recording *r, unsigned by, u32 rank)
{
	return r->nr_columns * 2 + ((size_t)by * r->o.processes + rank) * PER_PROCESS;
}

static size_t nr_kept(const struct what_recording *r)
{
	return max(r->nr_columns * 2 + nr_process_events(r), (size_t)1);
}

/* Names are borrowed from the arena; *nr counts events. */
static struct perfdata_event *list_events(const struct what_recording *r, struct arena *a, u32 *nr)
{
	const struct what_engine *w = r->w;
	struct perfdata_event *events = arena_array(a, nr_kept(r), sizeof(*events));
	u64 *ids = arena_array(a, nr_kept(r), sizeof(*ids));
	struct strbuf name;
	bool ok = events && ids;
	u32 n = 0;
	strbuf_init(&name);
	for (size_t i = 0; i < r->nr_columns && ok; i++)
		for (unsigned part = 0; part < 1u + is_divided(w, i) && ok; part++, n++) {
			const struct series_column *c = &w->series.columns.at[i];
			strbuf_reset(&name);
			strbuf_printf(&name, "%s/%s/%s%s", c->part.group, c->part.row, c->key,
				      part ? "/per" : "");
			ids[n] = i * 2 + part + 1;
			ok = add_event(&events[n], a, &ids[n], n, strbuf_cstr(&name));
		}
	for (u32 i = 0; i < nr_process_events(r) && ok; i++, n++) {
		u32 process = i / PER_PROCESS;
		strbuf_reset(&name);
		strbuf_printf(&name, "processes/%s-%u/%s", what_busy_words[process / r->o.processes],
			      process % r->o.processes + 1, i % PER_PROCESS ? "amount" : "pid");
		ids[n] = r->nr_columns * 2 + i + 1;
		ok = add_event(&events[n], a, &ids[n], n, strbuf_cstr(&name));
	}
	*nr = n;
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
	struct perfdata_event *events = list_events(r, &arena, &nr);
	output_owner(&meta.owner_uid, &meta.owner_gid);
	r->began_ns = meta.clock_ref_ns = began_ns;
	meta.wall_ref_ns = clock_ns(CLOCK_REALTIME) - (clock_monotonic_ns() - began_ns);
	r->file = events ? perfdata_write_open(r->o.path, events, nr, &meta, d) : NULL;
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
	for (unsigned by = 0; by < WHAT_BUSY_NR; by++)
		for (u32 rank = 0; rank < r->o.processes; rank++) {
			u64 id = process_at(r, by, rank) + 1;
			statdata_put_scale(&r->records, id, 1.0 / THOUSANDTHS);
			statdata_put_unit(&r->records, id + 1, busy_units[by]);
			statdata_put_scale(&r->records, id + 1, 1.0 / THOUSANDTHS);
		}
	statdata_put_threads(&r->records, &all, 1);
	statdata_put_cpu_map(&r->records, NULL);
	statdata_put_config(&r->records, STAT_BY_ALL, r->o.interval_ms);
}

struct what_recording *what_record_open(struct what_engine *w, const struct what_record_opts *o,
					struct diag *d)
{
	struct what_recording *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	*r = (struct what_recording){
		.w = w, .o = *o, .nr_columns = w->series.columns.nr, .generation = w->generation
	};
	r->o.processes = o->top ? min(o->processes, (u32)WHAT_PROCESSES_MAX) : 0;
	strbuf_init(&r->records);
	r->kept = calloc(nr_kept(r), sizeof(*r->kept));
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
	r->kept = calloc(nr_kept(r), sizeof(*r->kept));
	r->named.nr = 0;
	if (!r->kept)
		return -ENOMEM;
	err = open_file(r, r->w->read_ns - (u64)(r->w->seconds * (double)NS_PER_SEC), d);
	if (err)
		return err;
	put_preface(r);
	return append(r, d);
}

static bool is_named(const struct what_recording *r, const struct task *t)
{
	vec_for_each (&r->named, n)
		if (n->pid == t->pid && !strcmp(n->comm, t->comm))
			return true;
	return false;
}

/* Names that the round before has told are not told again. */
static int name_process(struct what_recording *r, const struct task *t)
{
	struct task_name *slot = vec_push(&r->listed);
	if (!slot)
		return -ENOMEM;
	slot->pid = t->pid;
	memcpy(slot->comm, t->comm, sizeof(slot->comm));
	if (!is_named(r, t))
		statdata_put_comm(&r->records, t->pid, t->comm);
	return 0;
}

static int put_processes(struct what_recording *r)
{
	struct what_process list[WHAT_PROCESSES_MAX];
	int err = 0;
	r->listed.nr = 0;
	for (unsigned by = 0; by < WHAT_BUSY_NR && r->o.processes && !err; by++) {
		size_t nr = what_top_list(r->o.top, by, list, r->o.processes);
		for (u32 rank = 0; rank < r->o.processes && !err; rank++) {
			size_t at = process_at(r, by, rank);
			bool there = rank < nr;
			update(&r->kept[at], there ? list[rank].task->pid : NAN, true);
			update(&r->kept[at + 1], there ? list[rank].amount : NAN, true);
			put_count(r, at);
			put_count(r, at + 1);
			err = there ? name_process(r, list[rank].task) : 0;
		}
	}
	r->named.nr = 0;
	vec_for_each (&r->listed, l) {
		struct task_name *slot = err ? NULL : vec_push(&r->named);
		if (!slot)
			return -ENOMEM;
		*slot = *l;
	}
	return err;
}

int what_record_round(struct what_recording *r, struct diag *d)
{
	if (r->generation != r->w->generation ||
	    perfdata_write_file_bytes(r->file) > r->o.max_bytes) {
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
	int err = put_processes(r);
	if (err)
		return err;
	statdata_put_round(&r->records,
			   &(struct statdata_round){ .time_ns = r->w->read_ns - r->began_ns });
	return append(r, d);
}

int what_record_finish(struct what_recording *r, struct diag *d)
{
	int err = perfdata_write_finish(r->file);
	if (err)
		return diag_error(d, err, "cannot write '%s': %s", r->o.path, strerror(-err));
	return 0;
}

u64 what_record_bytes(const struct what_recording *r)
{
	return perfdata_write_file_bytes(r->file);
}
