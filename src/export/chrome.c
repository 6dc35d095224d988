#include "export/chrome.h"
#include "base/dict.h"
#include "base/json.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>

/* Who has a CPU, since when. */
struct running {
	u64 since_ns;
	u32 comm; /* of names */
	s32 pid;
	bool known;
};

/* A system call on its way. */
struct entered {
	u64 since_ns;
	u32 event;
	bool open;
};

struct chrome_trace {
	struct sink sink;
	const struct catalog *catalog;
	struct json j;
	struct strtab names; /* of tasks, as sched_switch tells them */
	struct dict thread_at; /* tid -> index into threads */
	VEC(struct thread_name) threads;
	VEC(struct running) cpus;
	u64 first_ns;
	u64 nr;
};

/* CPUs are the threads of a process of their own, which no real one is. */
enum { CPUS = 1 << 30, MAX_CPUS = 1 << 16 };

struct thread_name {
	s32 pid, tid;
	u32 comm;
	struct entered call;
};

static void begin(struct chrome_trace *t, const char *name, const char *ph, s64 pid, s64 tid)
{
	json_object(&t->j);
	json_put_str(&t->j, "name", name);
	json_put_str(&t->j, "ph", ph);
	json_put_s64(&t->j, "pid", pid);
	json_put_s64(&t->j, "tid", tid);
}

/* Microseconds since the first event. */
static double stamp(const struct chrome_trace *t, u64 ns)
{
	return (double)(ns - t->first_ns) / 1000;
}

static void put_field(struct chrome_trace *t, const struct sample *s, const struct schema_field *f)
{
	u32 len;
	if (f->flags & FIELD_STRING) {
		const char *text = schema_bytes(s->schema, f, s->raw, s->raw_size, &len);
		json_key(&t->j, f->name);
		json_strn(&t->j, text ? text : "", text ? len : 0);
	} else if (!(f->flags & (FIELD_ARRAY | FIELD_DATA_LOC | FIELD_REL_LOC))) {
		u64 v = schema_u64(s->schema, f, s->raw, s->raw_size);
		if (f->flags & FIELD_POINTER) {
			char hex[24];
			(void)snprintf(hex, sizeof(hex), "%#llx", (unsigned long long)v);
			json_put_str(&t->j, f->name, hex);
		} else if (f->flags & FIELD_SIGNED) {
			json_put_s64(&t->j, f->name, (s64)v);
		} else {
			json_put_u64(&t->j, f->name, v);
		}
	}
}

static void put_args(struct chrome_trace *t, const struct sample *s)
{
	json_key(&t->j, "args");
	json_object(&t->j);
	for (u32 i = s->schema->nr_common; i < s->schema->nr_fields; i++)
		put_field(t, s, &s->schema->fields[i]);
	json_put_s64(&t->j, "cpu", s->cpu);
	json_object_end(&t->j);
}

static void put_slice(struct chrome_trace *t, const char *name, s64 pid, s64 tid, u64 from, u64 to)
{
	begin(t, name, "X", pid, tid);
	json_put_double(&t->j, "ts", stamp(t, from));
	json_put_double(&t->j, "dur", (double)(to - from) / 1000);
	json_object_end(&t->j);
	t->nr++;
}

static struct thread_name *thread_of(struct chrome_trace *t, const struct sample *s)
{
	u32 fresh = (u32)t->threads.nr, got;
	if (dict_add(&t->thread_at, (u32)s->tid, fresh, &got))
		return NULL;
	if (got == fresh && !vec_push(&t->threads))
		return NULL;
	struct thread_name *n = &t->threads.at[got];
	if (got == fresh)
		*n = (struct thread_name){ .pid = s->pid, .tid = s->tid };
	n->comm = s->comm;
	return n;
}

static struct running *cpu_of(struct chrome_trace *t, s32 cpu)
{
	if (cpu < 0 || cpu >= MAX_CPUS)
		return NULL;
	while (t->cpus.nr <= (size_t)cpu)
		if (!vec_push(&t->cpus))
			return NULL;
	return &t->cpus.at[cpu];
}

static void end_run(struct chrome_trace *t, s32 cpu, struct running *r, u64 now)
{
	if (r->known && r->pid) /* nothing is shown for an idle CPU */
		put_slice(t, strtab_str(&t->names, r->comm), CPUS, cpu, r->since_ns, now);
	r->known = false;
}

static int on_switch(struct chrome_trace *t, const struct sample *s)
{
	const struct schema_field *pid = schema_find(s->schema, "next_pid"),
				  *comm = schema_find(s->schema, "next_comm");
	struct running *r = cpu_of(t, s->cpu);
	u32 len = 0;
	const char *text = comm ? schema_bytes(s->schema, comm, s->raw, s->raw_size, &len) : NULL;
	if (!r || !pid || !text)
		return 0;
	end_run(t, s->cpu, r, s->time_ns);
	s64 name = strtab_add(&t->names, text, len);
	if (name < 0)
		return (int)name;
	*r = (struct running){ .since_ns = s->time_ns,
			       .comm = (u32)name,
			       .pid = (s32)schema_u64(s->schema, pid, s->raw, s->raw_size),
			       .known = true };
	return 0;
}

/* sys_enter_read ... sys_exit_read, or the raw ones. */
static bool is_call(const struct schema *s, const char *way)
{
	return (!strcmp(s->system, "syscalls") || !strcmp(s->system, "raw_syscalls")) &&
	       str_starts(s->name, way);
}

static void on_call(struct chrome_trace *t, const struct sample *s, struct thread_name *n)
{
	if (is_call(s->schema, "sys_enter")) {
		n->call =
			(struct entered){ .since_ns = s->time_ns, .event = s->event, .open = true };
	} else if (is_call(s->schema, "sys_exit") && n->call.open) {
		const char *name = t->catalog->events.at[s->event].schema->name;
		const char *call = str_starts(name, "sys_exit_") ? name + 9 : "system call";
		put_slice(t, call, n->pid, n->tid, n->call.since_ns, s->time_ns);
		n->call.open = false;
	}
}

static int put_event(struct chrome_trace *t, const struct sample *s)
{
	if (!t->nr)
		t->first_ns = s->time_ns;
	struct thread_name *n = thread_of(t, s);
	if (!n)
		return -ENOMEM;
	char name[256];
	(void)snprintf(name, sizeof(name), "%s:%s", s->schema->system, s->schema->name);
	begin(t, name, "i", s->pid, s->tid);
	json_put_str(&t->j, "s", "t");
	json_put_double(&t->j, "ts", stamp(t, s->time_ns));
	put_args(t, s);
	json_object_end(&t->j);
	t->nr++;
	on_call(t, s, n);
	return !strcmp(s->schema->system, "sched") && !strcmp(s->schema->name, "sched_switch")
		       ? on_switch(t, s)
		       : 0;
}

static int chrome_shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = k;
	return index ? -EINVAL : 0;
}

static int chrome_feed(struct sink *k, void *state, const struct batch *b)
{
	struct chrome_trace *t = container_of(k, struct chrome_trace, sink);
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++)
		if (b->samples[i].schema && b->samples[i].raw)
			err = put_event(t, &b->samples[i]);
	return err ? err : t->j.to->err;
}

static int chrome_merge(struct sink *k, void *state, const u32 *map_frame, const u32 *map_chain)
{
	return 0;
}

static void chrome_shard_free(struct sink *k, void *state)
{
}

static const struct sink_ops chrome_ops = {
	.needs = NEED_ORDER | NEED_RAW | NEED_COMM,
	.shard_new = chrome_shard_new,
	.feed = chrome_feed,
	.merge = chrome_merge,
	.shard_free = chrome_shard_free,
};

struct chrome_trace *chrome_trace_new(const struct catalog *c, struct strbuf *to)
{
	struct chrome_trace *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->sink = (struct sink){ .ops = &chrome_ops, .needs = chrome_ops.needs };
	t->catalog = c;
	strtab_init(&t->names);
	json_begin(&t->j, to, JSON_COMPACT);
	json_object(&t->j);
	json_put_str(&t->j, "displayTimeUnit", "ns");
	json_key(&t->j, "traceEvents");
	json_array(&t->j);
	return t;
}

struct sink *chrome_trace_sink(struct chrome_trace *t)
{
	return &t->sink;
}

/* "M": what a process or thread is called. */
static void put_name(struct chrome_trace *t, const char *what, s64 pid, s64 tid, const char *name)
{
	begin(t, what, "M", pid, tid);
	json_key(&t->j, "args");
	json_object(&t->j);
	json_put_str(&t->j, "name", name);
	json_object_end(&t->j);
	json_object_end(&t->j);
}

int chrome_trace_finish(struct chrome_trace *t, u64 *nr)
{
	char text[32];
	vec_for_each (&t->threads, n) {
		const char *comm = strtab_str(&t->catalog->strings, n->comm);
		if (COMM_IS_UNNAMED(n->comm)) {
			(void)snprintf(text, sizeof(text), ":%d", COMM_TID(n->comm));
			comm = text;
		}
		put_name(t, "thread_name", n->pid, n->tid, comm);
		if (n->pid == n->tid)
			put_name(t, "process_name", n->pid, n->tid, comm);
	}
	if (t->cpus.nr)
		put_name(t, "process_name", CPUS, 0, "CPUs");
	for (size_t i = 0; i < t->cpus.nr; i++) {
		(void)snprintf(text, sizeof(text), "CPU %zu", i);
		put_name(t, "thread_name", CPUS, (s64)i, text);
	}
	json_array_end(&t->j);
	json_object_end(&t->j);
	*nr = t->nr;
	return json_end(&t->j);
}

void chrome_trace_free(struct chrome_trace *t)
{
	if (!t)
		return;
	strtab_done(&t->names);
	dict_done(&t->thread_at);
	vec_free(&t->threads);
	vec_free(&t->cpus);
	free(t);
}
