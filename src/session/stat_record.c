/* `stat record`: the counts of each round go to a perf.data file while they are shown. */
#include "session/stat_run.h"

#include "session/output.h"
#include "file/perfdata_write.h"
#include "file/statdata.h"
#include "kern/machine.h"
#include "kern/tracing_data.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 1024 };

/* A perf.data file that is being written, and what its counts are told by. */
struct stat_recording {
	struct perfdata_writer *file;
	const char *path;
	u64 *ids; /* counter * nr_slots + slot; 0: not counted there */
	u32 *slot_thread; /* of each slot: index into the threads of the file */
	VEC(struct statdata_thread) threads;
	struct strbuf records;
};

void stat_record_close(struct stat_session *s)
{
	struct stat_recording *r = s->recording;
	if (!r)
		return;
	perfdata_write_close(r->file);
	free(r->ids);
	free(r->slot_thread);
	vec_free(&r->threads);
	strbuf_done(&r->records);
	free(r);
	s->recording = NULL;
}

/* Threads in the order of the slots, each once. */
static int list_threads(struct stat_session *s, struct stat_recording *r)
{
	struct stat_plan *p = &s->plan;
	r->slot_thread = calloc(max(p->slots.nr, (size_t)1), sizeof(*r->slot_thread));
	if (!r->slot_thread)
		return -ENOMEM;
	for (size_t i = 0; i < p->slots.nr; i++) {
		s32 tid = p->slots.at[i].tid;
		u32 at = (u32)r->threads.nr;
		while (at && r->threads.at[at - 1].tid != tid)
			at--;
		if (at) {
			r->slot_thread[i] = at - 1;
			continue;
		}
		struct statdata_thread *t = vec_push(&r->threads);
		if (!t)
			return -ENOMEM;
		*t = (struct statdata_thread){ .tid = tid };
		r->slot_thread[i] = (u32)r->threads.nr - 1;
		if (p->by == STAT_BY_THREAD && p->keys.at[p->slot_key.at[i]].comm)
			(void)snprintf(t->comm, sizeof(t->comm), "%s",
				       p->keys.at[p->slot_key.at[i]].comm);
	}
	if (r->threads.nr > STATDATA_THREADS_MAX)
		return diag_error(s->tell.diag, -EFBIG,
				  "%zu threads: a recording of counts is limited to %d",
				  r->threads.nr, STATDATA_THREADS_MAX);
	return 0;
}

/* The kernel's numbers; what we measure ourselves gets one that nobody has. */
static int list_ids(struct stat_session *s, struct stat_recording *r)
{
	u32 nr_slots = (u32)s->plan.slots.nr, nr = (u32)s->plan.counters.nr;
	u64 last = 0;
	r->ids = calloc(max((size_t)nr * nr_slots, (size_t)1), sizeof(*r->ids));
	if (!r->ids)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++)
		for (u32 slot = 0; slot < nr_slots; slot++) {
			u64 id = counters_id(s->counters, i, slot);
			r->ids[(size_t)i * nr_slots + slot] = id;
			last = max(last, id);
		}
	for (u32 i = 0; i < nr && nr_slots; i++)
		if (s->plan.events.at[i].is_tool)
			r->ids[(size_t)i * nr_slots] = ++last;
	return 0;
}

static u64 first_id(const u64 *ids, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		if (ids[i])
			return ids[i];
	return 0;
}

/* What the head says of each event; ids and names are borrowed from the recording and the arena. */
static int list_events(struct stat_session *s, struct stat_recording *r,
		       struct perfdata_event *events, u64 *ids)
{
	struct stat_plan *p = &s->plan;
	u32 nr_slots = (u32)p->slots.nr;
	for (u32 i = 0; i < p->counters.nr; i++) {
		const struct counter *c = &p->counters.at[i];
		struct perfdata_event *e = &events[i];
		*e = (struct perfdata_event){ .attr = *counters_attr(s->counters, i),
					      .name = p->events.at[i].name,
					      .ids = ids,
					      .leader = c->leader,
					      .group_name = c->desc->group_name };
		events[c->leader].nr_members++;
		if (p->events.at[i].is_tool) {
			e->attr.type = PERF_TYPE_SOFTWARE;
			e->attr.config = PERF_COUNT_SW_DUMMY;
		}
		if (c->cgroup) { /* there is no other place for it */
			struct strbuf name;
			strbuf_init(&name);
			strbuf_printf(&name, "%s %s", e->name, c->cgroup);
			e->name = arena_strdup(&p->arena, strbuf_cstr(&name));
			strbuf_done(&name);
			if (!e->name)
				return -ENOMEM;
		}
		for (u32 slot = 0; slot < nr_slots; slot++)
			if (r->ids[(size_t)i * nr_slots + slot])
				ids[e->nr_ids++] = r->ids[(size_t)i * nr_slots + slot];
		ids += e->nr_ids;
	}
	/* A group of a file is a row of events: one with a time of ours between them is none. */
	for (u32 i = 0; i < p->counters.nr; i++)
		for (u32 m = 0; m < events[i].nr_members; m++)
			if (i + m >= p->counters.nr || events[i + m].leader != i)
				events[i].nr_members = 1;
	return 0;
}

/* Formats of tracepoints: perf wants them in a file that has such events. */
static int read_formats(struct stat_session *s, struct strbuf *to)
{
	struct stat_plan *p = &s->plan;
	struct tracing_event *points = calloc(max(p->counters.nr, (size_t)1), sizeof(*points));
	size_t nr = 0;
	if (!points)
		return -ENOMEM;
	vec_for_each (&p->counters, c)
		if (c->desc->attr.type == PERF_TYPE_TRACEPOINT && c->desc->system && c->desc->event)
			points[nr++] = (struct tracing_event){ .system = c->desc->system,
							       .name = c->desc->event };
	int err = nr ? tracing_data_build(&p->env.tracing, points, nr, to, s->tell.diag) : 0;
	free(points);
	return err;
}

static int open_file(struct stat_session *s, struct stat_recording *r, int pipe_fd)
{
	size_t nr = s->plan.counters.nr, nr_ids = nr * s->plan.slots.nr;
	const char *words[WORDS_MAX];
	struct machine machine;
	struct strbuf formats;
	struct perfdata_meta meta = { .machine = &machine,
				      .version = SONDE_VERSION,
				      .argv = words,
				      .counts = true,
				      .pipe = pipe_fd >= 0,
				      .pipe_fd = pipe_fd };
	int err = machine_read(&s->root, &machine);
	if (err)
		return err;
	struct perfdata_event *events = calloc(max(nr, (size_t)1), sizeof(*events));
	u64 *ids = calloc(max(nr_ids, (size_t)1), sizeof(*ids));
	char *cmdline = output_cmdline(&s->root, words, WORDS_MAX, &meta.argc);
	strbuf_init(&formats);
	err = !events || !ids ? -ENOMEM : list_events(s, r, events, ids);
	if (!err)
		err = read_formats(s, &formats);
	if (!err) {
		meta.tracing_data = formats.len ? formats.data : NULL;
		meta.tracing_data_size = formats.len;
		output_owner(&meta.owner_uid, &meta.owner_gid);
		r->file = perfdata_write_open(r->path, events, (u32)nr, &meta, s->tell.diag);
		err = r->file ? 0 : -errno;
	}
	strbuf_done(&formats);
	free(cmdline);
	free(ids);
	free(events);
	machine_done(&machine);
	return err;
}

static int append(struct stat_session *s)
{
	struct stat_recording *r = s->recording;
	const struct iovec iov = { .iov_base = r->records.data, .iov_len = r->records.len };
	int err = r->records.err ? r->records.err : perfdata_write_records(r->file, &iov, 1);
	strbuf_reset(&r->records);
	if (err)
		return diag_error(s->tell.diag, err, "cannot write %s: %s", r->path, strerror(-err));
	return 0;
}

static void put_preface(struct stat_session *s, struct stat_recording *r)
{
	struct stat_plan *p = &s->plan;
	struct strbuf *to = &r->records;
	struct cpuset cpus = { 0 };
	for (u32 i = 0; i < p->events.nr; i++) {
		const struct stat_event *e = &p->events.at[i];
		u64 id = first_id(&r->ids[i * p->slots.nr], (u32)p->slots.nr);
		const char *own = p->counters.at[i].desc->cpus;
		struct cpuset on = { 0 };
		if (id && *e->unit)
			statdata_put_unit(to, id, e->unit);
		if (id && e->scale != 1)
			statdata_put_scale(to, id, e->scale);
		if (e->is_tool && p->system_wide) /* measured once */
			cpuset_add(&on, (unsigned)p->slots.at[0].cpu);
		else if (own && p->system_wide && cpuset_parse_list(own, &on, NULL))
			cpuset_zero(&on);
		if (id && cpuset_count(&on))
			statdata_put_cpus(to, id, &on);
	}
	statdata_put_threads(to, r->threads.at, (u32)r->threads.nr);
	bool on_cpus = false;
	vec_for_each (&p->slots, slot)
		if (slot->cpu >= 0) {
			cpuset_add(&cpus, (unsigned)slot->cpu);
			on_cpus = true;
		}
	statdata_put_cpu_map(to, on_cpus ? &cpus : NULL);
	statdata_put_config(to, p->by, s->o->interval_ms);
}

int stat_record_open(struct stat_session *s)
{
	struct stat_recording *r = calloc(1, sizeof(*r));
	int pipe_fd;
	if (!r)
		return -ENOMEM;
	strbuf_init(&r->records);
	s->recording = r;
	int err = output_take_stdout(s->o->output, &r->path, &pipe_fd,
				     "sonde stat record -o - ... | sonde stat report -i -",
				     s->tell.diag);
	if (!err)
		err = list_threads(s, r);
	if (!err)
		err = list_ids(s, r);
	if (err)
		return err;
	if (pipe_fd >= 0)
		(void)signal(SIGPIPE, SIG_IGN);
	s->silent = pipe_fd >= 0;
	err = open_file(s, r, pipe_fd);
	if (err)
		return err;
	put_preface(s, r);
	return append(s);
}

int stat_record_round(struct stat_session *s, u64 time_ns, bool final)
{
	struct stat_recording *r = s->recording;
	struct stat_plan *p = &s->plan;
	if (!r)
		return 0;
	for (size_t slot = 0; slot < p->slots.nr; slot++)
		for (size_t i = 0; i < p->counters.nr; i++) {
			size_t at = i * p->slots.nr + slot;
			if (r->ids[at] && s->now[at].opened)
				statdata_put_count(&r->records, r->ids[at], p->slots.at[slot].cpu,
						   r->slot_thread[slot], &s->now[at]);
		}
	statdata_put_round(&r->records,
			   &(struct statdata_round){ .time_ns = time_ns, .final = final });
	return append(s);
}

int stat_record_finish(struct stat_session *s)
{
	int err = s->recording ? perfdata_write_finish(s->recording->file) : 0;
	if (err)
		return diag_error(s->tell.diag, err, "cannot write %s: %s", s->recording->path,
				  strerror(-err));
	return 0;
}
