#include "export/chrome.h"
#include "base/dict.h"
#include "base/json.h"
#include "base/str.h"
#include "model/calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Tracks that are no task's own are threads of processes that do not exist. Slices of one track nest: what may overlap (a system call
 * and the function that announced it) is on different ones.
 */
enum track {
	TRACK_CPUS = 1 << 30,
	TRACK_RUNNING,
	TRACK_IRQS,
	TRACK_CALLS,
	TRACK_MARKS,
	TRACK_LOST,
	TRACK_END,
};

enum { MAX_CPUS = 1 << 16, OPEN_MAX = 64, NAME_MAX_LEN = 256 };

/* What an event means beside itself. */
enum chrome_meaning {
	MEANS_UNKNOWN, /* not looked at yet */
	MEANS_NOTHING,
	MEANS_SWITCH,
	MEANS_WAKEUP,
	MEANS_ENTER,
	MEANS_EXIT,
	MEANS_IRQ_ENTRY,
	MEANS_IRQ_EXIT,
	MEANS_CALL,
	MEANS_MARK,
	MEANS_COUNTER,
};

/* How an event is read: found out once for each. */
struct chrome_event_use {
	enum chrome_meaning means;
	const char *title; /* "system:name" */
	const char *what; /* of a slice: what it is called, with %s for the name where there is one */
	const struct schema_field *number, *text; /* who or how much; what it is called */
	struct call_reader call;
};

/* Something that has begun: its end will make a slice of it. */
struct open_slice {
	u64 since_ns;
	u64 key; /* what ends it */
	u32 name; /* of names */
};

/* Of an interrupted CPU, or of a task's markers: innermost last. */
struct open_stack {
	struct open_slice at[OPEN_MAX];
	u32 nr;
};

struct cpu_state {
	u64 since_ns; /* who has it, since when */
	u64 last_ns; /* the last event */
	u32 comm; /* of names */
	s32 pid;
	bool known; /* who has it */
	bool seen;
	struct open_stack irqs;
};

struct chrome_task {
	s32 pid, tid;
	u32 comm;
	u64 call_since_ns; /* a system call on its way */
	u32 call_event;
	u32 call_gap; /* how often events had been lost by then */
	bool in_call;
	u64 flow; /* of the wake-up that waits for it to run; 0: none */
	u32 on; /* tracks it has, a bit each */
	struct open_stack *marks;
};

struct chrome_trace {
	struct sink sink;
	struct chrome_opts o;
	struct json j;
	struct strtab names;
	struct dict task_at; /* tid -> index into tasks */
	VEC(struct chrome_task) tasks;
	VEC(struct cpu_state) cpus;
	VEC(struct chrome_event_use) uses;
	struct calls calls;
	u32 nr_gaps;
	u64 nr_flows;
	u64 first_ns, last_ns;
	bool started;
	bool had[TRACK_END - TRACK_CPUS]; /* tracks that are there */
	u64 nr;
};

/* ---- what is written ---- */

static void begin(struct chrome_trace *t, const char *name, const char *ph, s64 pid, s64 tid)
{
	json_object(&t->j);
	json_put_str(&t->j, "name", name);
	json_put_str(&t->j, "ph", ph);
	json_put_s64(&t->j, "pid", pid);
	json_put_s64(&t->j, "tid", tid);
	if (pid >= TRACK_CPUS && pid < TRACK_END)
		t->had[pid - TRACK_CPUS] = true;
}

/*
 * Times are microseconds, which readers keep as binary fractions and add and subtract: of thousandths, a slice's start and length
 * would not add up to the start of the next, and the two overlap by a hair. So times are rounded up to the next 1/2048, which adds up
 * exactly (to 50 days) and is near enough to its nanosecond that rounding, of a length too, gives it back. 5^11 / 10^11 is 1/2048.
 */
enum { TICKS_US = 2048, TICK_DIGITS = 11, TICK = 48828125 };

/* Since the first event. */
static u64 ticks(const struct chrome_trace *t, u64 ns)
{
	u64 since = min(u64_less(ns, t->first_ns), UINT64_MAX / TICKS_US * 1000); /* 285 years */
	return since / 1000 * TICKS_US + (since % 1000 * TICKS_US + 999) / 1000;
}

static void put_ticks(struct chrome_trace *t, const char *key, u64 v)
{
	json_key(&t->j, key);
	json_decimal(&t->j, v / TICKS_US, v % TICKS_US * TICK, TICK_DIGITS);
}

static void put_time(struct chrome_trace *t, u64 ns)
{
	put_ticks(t, "ts", ticks(t, ns));
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

static void put_instant(struct chrome_trace *t, const char *name, s64 pid, s64 tid,
			const struct sample *s)
{
	begin(t, name, "i", pid, tid);
	json_put_str(&t->j, "s", "t");
	put_time(t, s->time_ns);
	put_args(t, s);
	json_object_end(&t->j);
	t->nr++;
}

/* arg: a number to say about it, by this name; NULL: none. */
static void put_slice(struct chrome_trace *t, const char *name, s64 pid, s64 tid, u64 from, u64 to,
		      const char *arg, u64 value)
{
	begin(t, name, "X", pid, tid);
	put_time(t, from);
	put_ticks(t, "dur", ticks(t, max(from, to)) - ticks(t, from));
	if (arg) {
		json_key(&t->j, "args");
		json_object(&t->j);
		json_put_u64(&t->j, arg, value);
		json_object_end(&t->j);
	}
	json_object_end(&t->j);
	t->nr++;
}

static void put_counter(struct chrome_trace *t, const char *name, s64 pid, u64 ns, const char *unit,
			s64 value)
{
	begin(t, name, "C", pid, 0);
	put_time(t, ns);
	json_key(&t->j, "args");
	json_object(&t->j);
	json_put_s64(&t->j, unit, value);
	json_object_end(&t->j);
	json_object_end(&t->j);
	t->nr++;
}

/* An arrow begins ("s") or ends ("f") in the slice that is there at that time. */
static void put_flow(struct chrome_trace *t, const char *ph, s64 cpu, u64 ns, u64 id)
{
	begin(t, "wake-up", ph, TRACK_CPUS, cpu);
	json_put_str(&t->j, "cat", "sched");
	json_put_u64(&t->j, "id", id);
	if (*ph == 'f')
		json_put_str(&t->j, "bp", "e");
	put_time(t, ns);
	json_object_end(&t->j);
	t->nr++;
}

/* ---- what there is ---- */

static struct chrome_task *task_of(struct chrome_trace *t, s32 pid, s32 tid)
{
	u32 fresh = (u32)t->tasks.nr, got;
	if (dict_add(&t->task_at, (u32)tid, fresh, &got))
		return NULL;
	if (got == fresh && !vec_push(&t->tasks))
		return NULL;
	struct chrome_task *n = &t->tasks.at[got];
	if (got == fresh)
		*n = (struct chrome_task){ .pid = pid, .tid = tid, .comm = COMM_UNNAMED(tid) };
	return n;
}

static struct cpu_state *cpu_of(struct chrome_trace *t, s32 cpu)
{
	if (cpu < 0 || cpu >= MAX_CPUS)
		return NULL;
	while (t->cpus.nr <= (size_t)cpu)
		if (!vec_push(&t->cpus))
			return NULL;
	return &t->cpus.at[cpu];
}

static s64 keep(struct chrome_trace *t, const char *text, size_t len)
{
	return strtab_add(&t->names, text, len);
}

static u64 number(const struct sample *s, const struct schema_field *f)
{
	return f ? schema_u64(s->schema, f, s->raw, s->raw_size) : 0;
}

static const char *text(const struct sample *s, const struct schema_field *f, u32 *len)
{
	const char *at = f ? schema_bytes(s->schema, f, s->raw, s->raw_size, len) : NULL;
	if (!at)
		*len = 0;
	return at;
}

/* ---- scheduling ---- */

static void end_run(struct chrome_trace *t, s32 cpu, struct cpu_state *c, u64 now)
{
	/* Nothing is shown for an idle CPU. */
	if (c->known && c->pid) {
		struct chrome_task *who = task_of(t, c->pid, c->pid);
		char name[32];
		put_slice(t, strtab_str(&t->names, c->comm), TRACK_CPUS, cpu, c->since_ns, now,
			  "tid", (u32)c->pid);
		(void)snprintf(name, sizeof(name), "CPU %d", cpu);
		put_slice(t, name, TRACK_RUNNING, c->pid, c->since_ns, now, "cpu", (u32)cpu);
		if (who)
			who->on |= 1u << (TRACK_RUNNING - TRACK_CPUS);
	}
	c->known = false;
}

static int on_switch(struct chrome_trace *t, const struct sample *s,
		     const struct chrome_event_use *u)
{
	struct cpu_state *c = cpu_of(t, s->cpu);
	u32 len = 0;
	const char *comm = text(s, u->text, &len);
	if (!c || !comm)
		return 0;
	end_run(t, s->cpu, c, s->time_ns);
	s64 name = keep(t, comm, len); /* schema_bytes() ends strings before their NUL */
	if (name < 0)
		return (int)name;
	c->since_ns = s->time_ns;
	c->comm = (u32)name;
	c->pid = (s32)number(s, u->number);
	c->known = true;
	struct chrome_task *next = c->pid ? task_of(t, c->pid, c->pid) : NULL;
	if (next && next->flow) {
		put_flow(t, "f", s->cpu, s->time_ns, next->flow);
		next->flow = 0;
	}
	return c->pid && !next ? -ENOMEM : 0;
}

static int on_wakeup(struct chrome_trace *t, const struct sample *s,
		     const struct chrome_event_use *u)
{
	s32 pid = (s32)number(s, u->number);
	struct chrome_task *woken = pid > 0 ? task_of(t, pid, pid) : NULL;
	struct cpu_state *c = cpu_of(t, s->cpu);
	/* An arrow needs a slice to begin in: an idle CPU has none. */
	if (!woken || woken->flow || !c || !c->known || !c->pid)
		return pid > 0 && !woken ? -ENOMEM : 0;
	woken->flow = ++t->nr_flows;
	put_flow(t, "s", s->cpu, s->time_ns, woken->flow);
	return 0;
}

/* ---- things inside each other ---- */

static void push(struct open_stack *k, struct open_slice o)
{
	if (k->nr < OPEN_MAX)
		k->at[k->nr++] = o;
}

/* Takes what began with this key off, and what is left inside of it: that never ended. false: there is none. */
static bool pop(struct open_stack *k, u64 key, struct open_slice *ret)
{
	for (u32 i = k->nr; i-- > 0;) {
		if (k->at[i].key != key)
			continue;
		*ret = k->at[i];
		k->nr = i;
		return true;
	}
	return false;
}

static int on_irq(struct chrome_trace *t, const struct sample *s, const struct chrome_event_use *u)
{
	static const char *const softirqs[] = { "HI",	    "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
						"IRQ_POLL", "TASKLET", "SCHED",	 "HRTIMER", "RCU" };
	struct cpu_state *c = cpu_of(t, s->cpu);
	u64 nr = number(s, u->number);
	/* Numbers of handlers, of softirqs and of vectors are different things: the word tells them apart. */
	u64 key = nr << 8 | (u8)u->what[0];
	struct open_slice o;
	if (!c)
		return 0;
	if (u->means == MEANS_IRQ_EXIT) {
		if (pop(&c->irqs, key, &o))
			put_slice(t, strtab_str(&t->names, o.name), TRACK_IRQS, s->cpu, o.since_ns,
				  s->time_ns, NULL, 0);
		return 0;
	}
	char name[NAME_MAX_LEN];
	u32 len = 0;
	const char *own = text(s, u->text, &len);
	if (own)
		(void)snprintf(name, sizeof(name), "%s %.*s", u->what, (int)min(len, 128u), own);
	else if (u->what[0] == 's' && nr < ARRAY_SIZE(softirqs))
		(void)snprintf(name, sizeof(name), "%s %s", u->what, softirqs[nr]);
	else
		(void)snprintf(name, sizeof(name), "%s", u->what);
	s64 id = keep(t, name, strlen(name));
	if (id < 0)
		return (int)id;
	push(&c->irqs, (struct open_slice){ .since_ns = s->time_ns, .key = key, .name = (u32)id });
	return 0;
}

/* ---- calls ---- */

static const char *call_name(const struct chrome_trace *t, const struct chrome_task *n)
{
	const char *title = t->uses.at[n->call_event].title, *name = strchr(title, ':');
	return name && str_starts(name + 1, "sys_enter_") ? name + 11 : "system call";
}

static void on_call(struct chrome_trace *t, const struct sample *s, struct chrome_task *n,
		    bool enters)
{
	if (enters) {
		n->call_since_ns = s->time_ns;
		n->call_event = s->event;
		n->call_gap = t->nr_gaps;
	} else if (n->in_call && n->call_gap == t->nr_gaps) {
		put_slice(t, call_name(t, n), n->pid, n->tid, n->call_since_ns, s->time_ns, NULL, 0);
	}
	n->in_call = enters;
}

/* The idle task is one a CPU. */
static s64 call_track(const struct sample *s)
{
	return s->tid ? s->tid : -1 - (s64)s->cpu;
}

static int on_function(struct chrome_trace *t, const struct sample *s,
		       const struct chrome_event_use *u, struct chrome_task *n)
{
	struct call_event e = call_read(&u->call, s);
	struct call_done done;
	if (e.depth >= CALLS_DEPTH_MAX)
		return 0;
	struct call_stack *k = calls_stack(&t->calls, e.task);
	if (!k)
		return -ENOMEM;
	if (e.kind == CALL_ENTRY)
		return calls_enter(&t->calls, k, &e) ? 0 : -ENOMEM;
	int err = calls_leave(&t->calls, k, &e, &done);
	if (err || !done.known)
		return err;
	char hex[24];
	const char *name = t->o.symbol ? t->o.symbol(t->o.ctx, s->buffer, e.func) : NULL;
	(void)snprintf(hex, sizeof(hex), "%#llx", (unsigned long long)e.func);
	/*
	 * The slice is as long as the events are apart, so that it nests. What the tracer measured (a hair less) is not beside it:
	 * speedscope takes calls of one function for the same only if nothing about them differs.
	 */
	put_slice(t, name ? name : hex, TRACK_CALLS, call_track(s), done.start_ns, s->time_ns, NULL,
		  0);
	n->on |= 1u << (TRACK_CALLS - TRACK_CPUS);
	return 0;
}

/* ---- markers and counters ---- */

/* What was written to trace_marker, or what trace_printk() printed. */
static u32 mark_text(const struct sample *s, const struct chrome_event_use *u, char *line,
		     size_t size)
{
	u32 len = 0;
	struct strbuf printed;
	strbuf_init(&printed);
	const char *at = u->text ? text(s, u->text, &len) : NULL;
	if (!u->text && !s->schema->ops->print(s->schema, s->raw, s->raw_size, &printed)) {
		at = strbuf_cstr(&printed);
		len = (u32)min(printed.len, size);
	}
	len = at ? (u32)min((size_t)len, size - 1) : 0;
	if (len)
		memcpy(line, at, len);
	strbuf_done(&printed);
	return len;
}

/* "B|1234|name", "E|1234", "C|1234|name|5": how programs (Android's among them) write slices and counters. */
static int on_mark(struct chrome_trace *t, const struct sample *s, const struct chrome_event_use *u,
		   struct chrome_task *n)
{
	char line[NAME_MAX_LEN];
	u32 len = mark_text(s, u, line, sizeof(line));
	while (len && (line[len - 1] == '\n' || line[len - 1] == '\0'))
		len--;
	line[len] = '\0';
	char *name = len > 2 && line[1] == '|' ? strchr(line + 2, '|') : NULL;
	n->on |= 1u << (TRACK_MARKS - TRACK_CPUS);
	if (line[0] == 'B' && name) {
		if (!n->marks && !(n->marks = calloc(1, sizeof(*n->marks))))
			return -ENOMEM;
		s64 id = keep(t, name + 1, strlen(name + 1));
		if (id < 0)
			return (int)id;
		push(n->marks, (struct open_slice){ .since_ns = s->time_ns, .name = (u32)id });
	} else if (line[0] == 'E' && (line[1] == '|' || !line[1])) {
		struct open_slice o;
		if (n->marks && pop(n->marks, 0, &o))
			put_slice(t, strtab_str(&t->names, o.name), TRACK_MARKS, s->tid, o.since_ns,
				  s->time_ns, NULL, 0);
	} else if (line[0] == 'C' && name) {
		char *value = strchr(name + 1, '|');
		if (value)
			*value++ = '\0';
		put_counter(t, name + 1, atoi(line + 2), s->time_ns, "value",
			    value ? strtoll(value, NULL, 10) : 0);
	} else {
		put_instant(t, line, TRACK_MARKS, s->tid, s);
	}
	return 0;
}

static void on_counter(struct chrome_trace *t, const struct sample *s,
		       const struct chrome_event_use *u, const struct chrome_task *n)
{
	char name[NAME_MAX_LEN];
	u32 len = 0;
	const char *own = text(s, u->text, &len);
	s64 value = (s64)number(s, u->number);
	if (own) {
		(void)snprintf(name, sizeof(name), "%s %.*s", u->what, (int)min(len, 128u), own);
		put_counter(t, name, TRACK_CPUS, s->time_ns, "value", value);
	} else if (u->text) {
		(void)snprintf(name, sizeof(name), "CPU %llu %s",
			       (unsigned long long)number(s, u->text), u->what);
		put_counter(t, name, TRACK_CPUS, s->time_ns, "value",
			    value == UINT32_MAX ? -1 : value);
	} else {
		const struct schema_field *member = schema_find(s->schema, "member"),
					  *mine = schema_find(s->schema, "curr");
		static const char *const kinds[] = { "file", "anonymous", "swap", "shared" };
		u64 kind = number(s, member);
		/* Of another's memory (that of a process that exits, or is written to) it is not known whose. */
		if (mine && !number(s, mine))
			return;
		(void)snprintf(name, sizeof(name), "%s %s", u->what,
			       kind < ARRAY_SIZE(kinds) ? kinds[kind] : "other");
		put_counter(t, name, n->pid, s->time_ns, "bytes", value);
	}
}

/* ---- which is which ---- */

struct chrome_row {
	const char *system, *name; /* a name may end in a '*' */
	enum chrome_meaning means;
	const char *what;
	const char *number, *text; /* fields */
};

static const struct chrome_row rows[] = {
	{ "sched", "sched_switch", MEANS_SWITCH, "", "next_pid", "next_comm" },
	{ "sched", "sched_wakeup", MEANS_WAKEUP, "", "pid", NULL },
	{ "sched", "sched_wakeup_new", MEANS_WAKEUP, "", "pid", NULL },
	{ "syscalls", "sys_enter*", MEANS_ENTER, "", NULL, NULL },
	{ "syscalls", "sys_exit*", MEANS_EXIT, "", NULL, NULL },
	{ "raw_syscalls", "sys_enter", MEANS_ENTER, "", NULL, NULL },
	{ "raw_syscalls", "sys_exit", MEANS_EXIT, "", NULL, NULL },
	{ "irq", "irq_handler_entry", MEANS_IRQ_ENTRY, "irq", "irq", "name" },
	{ "irq", "irq_handler_exit", MEANS_IRQ_EXIT, "irq", "irq", NULL },
	{ "irq", "softirq_entry", MEANS_IRQ_ENTRY, "softirq", "vec", NULL },
	{ "irq", "softirq_exit", MEANS_IRQ_EXIT, "softirq", "vec", NULL },
	{ "irq_vectors", "local_timer_entry", MEANS_IRQ_ENTRY, "vector timer", "vector", NULL },
	{ "irq_vectors", "local_timer_exit", MEANS_IRQ_EXIT, "vector timer", "vector", NULL },
	{ "irq_vectors", "reschedule_entry", MEANS_IRQ_ENTRY, "vector reschedule", "vector", NULL },
	{ "irq_vectors", "reschedule_exit", MEANS_IRQ_EXIT, "vector reschedule", "vector", NULL },
	{ "irq_vectors", "call_function*_entry", MEANS_IRQ_ENTRY, "vector call", "vector", NULL },
	{ "irq_vectors", "call_function*_exit", MEANS_IRQ_EXIT, "vector call", "vector", NULL },
	{ "ftrace", "funcgraph_*", MEANS_CALL, "", NULL, NULL },
	{ "ftrace", "print", MEANS_MARK, "", NULL, "buf" },
	{ "ftrace", "bprint", MEANS_MARK, "", NULL, NULL },
	{ "ftrace", "bputs", MEANS_MARK, "", NULL, NULL },
	{ "power", "cpu_frequency", MEANS_COUNTER, "frequency kHz", "state", "cpu_id" },
	{ "power", "cpu_idle", MEANS_COUNTER, "idle state", "state", "cpu_id" },
	{ "power", "clock_set_rate", MEANS_COUNTER, "clock", "state", "name" },
	{ "kmem", "rss_stat", MEANS_COUNTER, "memory", "size", NULL },
};

/* One '*', anywhere. */
static bool fits(const char *name, const char *pattern)
{
	const char *star = strchr(pattern, '*');
	size_t head = star ? (size_t)(star - pattern) : strlen(pattern), len = strlen(name);
	size_t tail = star ? strlen(star + 1) : 0;
	if (!star)
		return !strcmp(name, pattern);
	return len >= head + tail && !strncmp(name, pattern, head) &&
	       !strcmp(name + len - tail, star + 1);
}

static void find_use(struct chrome_trace *t, const struct schema *s, struct chrome_event_use *u)
{
	char title[NAME_MAX_LEN];
	(void)snprintf(title, sizeof(title), "%s:%s", s->system, s->name);
	s64 id = keep(t, title, strlen(title));
	*u = (struct chrome_event_use){ .means = MEANS_NOTHING,
					.title = id < 0 ? "" : strtab_str(&t->names, (u32)id) };
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct chrome_row *r = &rows[i];
		if (strcmp(s->system, r->system) || !fits(s->name, r->name))
			continue;
		u->what = r->what;
		u->number = r->number ? schema_find(s, r->number) : NULL;
		u->text = r->text ? schema_find(s, r->text) : NULL;
		/* An event that has not what it should have is only itself. */
		if ((!r->number || u->number) && (!r->text || u->text))
			u->means = r->means;
		break;
	}
	if (u->means == MEANS_CALL) {
		u->call = call_reader_make(s);
		if (u->call.kind == CALL_OTHER)
			u->means = MEANS_NOTHING;
	}
}

static const struct chrome_event_use *use_of(struct chrome_trace *t, const struct sample *s)
{
	while (t->uses.nr <= s->event)
		if (!vec_push(&t->uses))
			return NULL;
	struct chrome_event_use *u = &t->uses.at[s->event];
	if (unlikely(u->means == MEANS_UNKNOWN))
		find_use(t, s->schema, u);
	return u;
}

/* ---- events ---- */

/* What is open on that CPU, or anywhere, may have ended meanwhile. */
static void on_gap(struct chrome_trace *t, const struct sample *s)
{
	struct cpu_state *c = cpu_of(t, s->cpu);
	t->nr_gaps++;
	calls_gap(&t->calls);
	vec_for_each (&t->tasks, n)
		n->flow = 0;
	if (!c)
		return;
	u64 from = c->seen ? c->last_ns : t->first_ns;
	end_run(t, s->cpu, c, from);
	c->irqs.nr = 0;
	put_slice(t, "lost events", TRACK_LOST, s->cpu, from, s->time_ns,
		  s->missed == UINT32_MAX ? NULL : "events", s->missed);
}

static int on_event(struct chrome_trace *t, const struct sample *s,
		    const struct chrome_event_use *u, struct chrome_task *n)
{
	switch (u->means) {
	case MEANS_SWITCH: return on_switch(t, s, u);
	case MEANS_WAKEUP: return on_wakeup(t, s, u);
	case MEANS_ENTER: on_call(t, s, n, true); break;
	case MEANS_EXIT: on_call(t, s, n, false); break;
	case MEANS_IRQ_ENTRY:
	case MEANS_IRQ_EXIT: return on_irq(t, s, u);
	case MEANS_CALL: return on_function(t, s, u, n);
	case MEANS_MARK: return on_mark(t, s, u, n);
	case MEANS_COUNTER: on_counter(t, s, u, n); break;
	case MEANS_UNKNOWN:
	case MEANS_NOTHING: break;
	}
	return 0;
}

static int put_event(struct chrome_trace *t, const struct sample *s)
{
	if (!t->started)
		t->first_ns = s->time_ns;
	t->started = true;
	t->last_ns = max(t->last_ns, s->time_ns);
	if (s->missed)
		on_gap(t, s);
	const struct chrome_event_use *u = use_of(t, s);
	struct chrome_task *n = u ? task_of(t, s->pid, s->tid) : NULL;
	if (!n)
		return -ENOMEM;
	n->comm = s->comm;
	n->pid = s->pid; /* others that told of it knew only the thread */
	if (u->means != MEANS_CALL && u->means != MEANS_MARK)
		put_instant(t, u->title, s->pid, s->tid, s);
	int err = on_event(t, s, u, n);
	struct cpu_state *c = cpu_of(t, s->cpu);
	if (c) {
		c->last_ns = s->time_ns;
		c->seen = true;
	}
	return err;
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

static const struct sink_ops chrome_ops = {
	.needs = NEED_ORDER | NEED_RAW | NEED_COMM,
	.shard_new = chrome_shard_new,
	.feed = chrome_feed,
};

struct chrome_trace *chrome_trace_new(const struct chrome_opts *o, struct strbuf *to)
{
	struct chrome_trace *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->sink = (struct sink){ .ops = &chrome_ops, .needs = chrome_ops.needs };
	t->o = *o;
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

/* ---- the end ---- */

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

static void name_tasks(struct chrome_trace *t)
{
	static const enum track own[] = { TRACK_RUNNING, TRACK_CALLS, TRACK_MARKS };
	char unnamed[32];
	vec_for_each (&t->tasks, n) {
		const char *comm = strtab_str(&t->o.catalog->strings, n->comm);
		if (COMM_IS_UNNAMED(n->comm)) {
			(void)snprintf(unnamed, sizeof(unnamed), ":%d", COMM_TID(n->comm));
			comm = unnamed;
		}
		put_name(t, "thread_name", n->pid, n->tid, comm);
		if (n->pid == n->tid)
			put_name(t, "process_name", n->pid, n->tid, comm);
		for (size_t i = 0; i < ARRAY_SIZE(own); i++)
			if (n->on & 1u << (own[i] - TRACK_CPUS))
				put_name(t, "thread_name", own[i], n->tid, comm);
	}
}

static void name_cpus(struct chrome_trace *t, enum track track)
{
	char name[32];
	for (size_t i = 0; i < t->cpus.nr && t->had[track - TRACK_CPUS]; i++) {
		(void)snprintf(name, sizeof(name), "CPU %zu", i);
		put_name(t, "thread_name", track, (s64)i, name);
	}
}

static void name_tracks(struct chrome_trace *t)
{
	static const char *const words[] = { "CPUs",	  "Running", "Interrupts",
					     "Functions", "Markers", "Lost events" };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (t->had[i])
			put_name(t, "process_name", TRACK_CPUS + (s64)i, 0, words[i]);
	name_cpus(t, TRACK_CPUS);
	name_cpus(t, TRACK_IRQS);
	name_cpus(t, TRACK_LOST);
	for (size_t i = 0; i < t->cpus.nr && t->had[TRACK_CALLS - TRACK_CPUS]; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "idle, CPU %zu", i);
		put_name(t, "thread_name", TRACK_CALLS, -1 - (s64)i, name);
	}
}

/* Whoever runs, and calls that have not ended, go on to the end of the recording. */
static void end_open(struct chrome_trace *t)
{
	for (size_t i = 0; i < t->cpus.nr; i++)
		end_run(t, (s32)i, &t->cpus.at[i], t->last_ns);
	for (size_t i = 0; i < t->tasks.nr; i++) {
		struct chrome_task *n = &t->tasks.at[i];
		if (n->in_call && n->call_gap == t->nr_gaps)
			put_slice(t, call_name(t, n), n->pid, n->tid, n->call_since_ns, t->last_ns,
				  "unfinished", 1);
	}
}

int chrome_trace_finish(struct chrome_trace *t, u64 *nr)
{
	end_open(t);
	name_tasks(t);
	name_tracks(t);
	json_array_end(&t->j);
	json_object_end(&t->j);
	*nr = t->nr;
	return json_end(&t->j);
}

void chrome_trace_free(struct chrome_trace *t)
{
	if (!t)
		return;
	vec_for_each (&t->tasks, n)
		free(n->marks);
	calls_done(&t->calls);
	strtab_done(&t->names);
	dict_done(&t->task_at);
	vec_free(&t->tasks);
	vec_free(&t->cpus);
	vec_free(&t->uses);
	free(t);
}
