#include "session/thread_counts.h"
#include "base/dict.h"
#include "stream/perf_walk.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

struct counted_thread {
	s32 pid, tid;
};

struct seen {
	u64 time, place;
	s32 pid, tid;
	u32 event;
	u64 value;
};

/* Threads and events in the order in which the first counts of each came. */
struct counts {
	const struct source *src;
	const struct perfdata *file;
	VEC(struct seen) seen;
	VEC(struct counted_thread) threads;
	VEC(u32) events; /* of the catalogue */
	u64 *values; /* [thread * events.nr + event] */
	int *widths; /* [event] */
};

enum { CELLS_MAX = 1 << 26 }; /* of a table that anyone could read, and far more */

static int take_read(void *ctx, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	struct counts *c = ctx;
	struct perf_read r;
	if (h->type != PERF_RECORD_READ || perf_walk_read(c->file, rec, h, &r))
		return 0;
	const struct perfdata_attr *a = perfdata_attr_of(c->file, r.who.id);
	if (!a)
		return 0;
	struct seen *s = vec_push(&c->seen);
	if (!s)
		return -ENOMEM;
	*s = (struct seen){ .time = r.who.time,
			    .place = place,
			    .pid = (s32)r.pid,
			    .tid = (s32)r.tid,
			    .event = (u32)(a - c->file->attrs.at),
			    .value = r.value };
	return 0;
}

static int by_time(const void *l, const void *r)
{
	const struct seen *a = l, *b = r;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

/* Which threads and events there are. */
static int find_places(struct counts *c, struct dict *threads, struct dict *events)
{
	vec_for_each (&c->seen, s) {
		u32 thread, event;
		int err = dict_add(threads, (u64)(u32)s->pid << 32 | (u32)s->tid,
				   (u32)c->threads.nr, &thread);
		if (!err)
			err = dict_add(events, s->event, (u32)c->events.nr, &event);
		if (err)
			return err;
		if (thread == c->threads.nr) {
			struct counted_thread *t = vec_push(&c->threads);
			if (!t)
				return -ENOMEM;
			*t = (struct counted_thread){ s->pid, s->tid };
		}
		if (event == c->events.nr) {
			u32 *e = vec_push(&c->events);
			if (!e)
				return -ENOMEM;
			*e = s->event;
		}
	}
	return 0;
}

/* A thread has counted on several CPUs, and each of them tells its part. */
static int add_up(struct counts *c)
{
	struct dict threads, events;
	dict_init(&threads);
	dict_init(&events);
	int err = find_places(c, &threads, &events);
	if (!err && c->events.nr && c->threads.nr > CELLS_MAX / c->events.nr)
		err = -EFBIG;
	if (!err) {
		c->values = calloc(c->threads.nr * c->events.nr + 1, sizeof(*c->values));
		c->widths = calloc(c->events.nr + 1, sizeof(*c->widths));
		err = c->values && c->widths ? 0 : -ENOMEM;
	}
	vec_for_each (&c->seen, s) {
		if (err)
			break;
		u32 thread = dict_get(&threads, (u64)(u32)s->pid << 32 | (u32)s->tid);
		c->values[(size_t)thread * c->events.nr + dict_get(&events, s->event)] += s->value;
	}
	dict_done(&threads);
	dict_done(&events);
	return err;
}

static int counts_read(struct counts *c, const struct source *src)
{
	*c = (struct counts){ .src = src, .file = replay_perf_file(src) };
	int err = c->file ? perf_walk(c->file, take_read, c) : 0;
	if (!err && c->seen.nr)
		qsort(c->seen.at, c->seen.nr, sizeof(*c->seen.at), by_time);
	return err ? err : add_up(c);
}

static void counts_done(struct counts *c)
{
	vec_free(&c->seen);
	vec_free(&c->threads);
	vec_free(&c->events);
	free(c->values);
	free(c->widths);
}

static const char *event_name(const struct counts *c, size_t event)
{
	return c->src->catalog.events.at[c->events.at[event]].name;
}

static u64 value_of(const struct counts *c, size_t thread, size_t event)
{
	return c->values[thread * c->events.nr + event];
}

/* ---- text ---- */

static void widen(int *width, int len)
{
	*width = max(*width, len);
}

struct widths {
	int pid, tid, name, number, count;
};

static struct widths find_widths(struct counts *c)
{
	struct widths w = { 3, 3, 4, 3, 5 }; /* of the titles */
	vec_for_each (&c->threads, t) {
		widen(&w.pid, snprintf(NULL, 0, "%d", t->pid));
		widen(&w.tid, snprintf(NULL, 0, "%d", t->tid));
	}
	for (size_t i = 0; i < c->events.nr; i++) {
		c->widths[i] = (int)strlen(event_name(c, i));
		widen(&w.name, c->widths[i]);
		widen(&w.number, snprintf(NULL, 0, "%x", c->events.at[i]));
		for (size_t t = 0; t < c->threads.nr; t++) {
			int len = snprintf(NULL, 0, "%llu", (ull)value_of(c, t, i));
			widen(&w.count, len);
			widen(&c->widths[i], len);
		}
	}
	return w;
}

static void put_rows(struct counts *c, struct strbuf *to)
{
	struct widths w = find_widths(c);
	strbuf_printf(to, "# %*s  %*s", w.pid, "PID", w.tid, "TID");
	for (size_t i = 0; i < c->events.nr; i++)
		strbuf_printf(to, "  %*s", c->widths[i], event_name(c, i));
	strbuf_char(to, '\n');
	for (size_t t = 0; t < c->threads.nr; t++) {
		strbuf_printf(to, "  %*d  %*d", w.pid, c->threads.at[t].pid, w.tid,
			      c->threads.at[t].tid);
		for (size_t i = 0; i < c->events.nr; i++)
			strbuf_printf(to, "  %*llu", c->widths[i], (ull)value_of(c, t, i));
		strbuf_char(to, '\n');
	}
}

static void put_raw(struct counts *c, struct strbuf *to)
{
	struct widths w = find_widths(c);
	strbuf_printf(to, "# %*s  %*s  %*s  %*s  %*s\n", w.pid, "PID", w.tid, "TID", w.name, "Name",
		      w.number, "Raw", w.count, "Count");
	for (size_t t = 0; t < c->threads.nr; t++)
		for (size_t i = 0; i < c->events.nr; i++)
			strbuf_printf(to, "  %*d  %*d  %*s  %*x  %*llu\n", w.pid,
				      c->threads.at[t].pid, w.tid, c->threads.at[t].tid, w.name,
				      event_name(c, i), w.number, c->events.at[i], w.count,
				      (ull)value_of(c, t, i));
}

int thread_counts_text(const struct source *src, bool raw, struct strbuf *to, size_t *nr)
{
	struct counts c;
	int err = counts_read(&c, src);
	if (!err && raw)
		put_raw(&c, to);
	else if (!err)
		put_rows(&c, to);
	*nr = c.threads.nr;
	counts_done(&c);
	return err ? err : to->err;
}

/* ---- JSON ---- */

int thread_counts_json(const struct source *src, struct json *j)
{
	struct counts c;
	int err = counts_read(&c, src);
	json_array(j);
	for (size_t t = 0; t < c.threads.nr && !err; t++) {
		json_object(j);
		json_put_s64(j, "pid", c.threads.at[t].pid);
		json_put_s64(j, "tid", c.threads.at[t].tid);
		json_key(j, "counts");
		json_object(j);
		for (size_t i = 0; i < c.events.nr; i++)
			json_put_u64(j, event_name(&c, i), value_of(&c, t, i));
		json_object_end(j);
		json_object_end(j);
	}
	json_array_end(j);
	counts_done(&c);
	return err;
}
