/*
 * Rows of each table: samples as they are read, and folds over them (intervals of threads, system calls) whose rows are handed on as soon
 * as they are complete. Small tables (tasks, stacks) are made when they are first asked for.
 */
#include "analysis/thread_states.h"
#include "arch/syscalls.h"
#include "base/str.h"
#include "model/choice.h"
#include "session/query_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All events of a kernel are some thousands, with two names each. What sqlite does for a new table depends on how many there are. */
enum { TABLES_MAX = 1 << 13 };

/* ---- columns ---- */

/* clang-format off */
#define NAMES (QUERY_NEED_NAMES)
#define STACK (QUERY_NEED_NAMES | NEED_CHAIN)

enum { S_TIME, S_CPU, S_PID, S_TID, S_COMM, S_EVENT, S_PERIOD, S_WEIGHT, S_IP, S_ADDR, S_MODE, S_SYMBOL, S_DSO, S_STACK_ID, S_STACK, S_ARGS };
static const struct query_column sample_columns[] = {
	[S_TIME] = { "time_ns", "when, on the recording's clock", BOUND_TIME },
	[S_CPU] = { "cpu", "on which CPU", BOUND_CPU },
	[S_PID] = { "pid", "process", BOUND_PID },
	[S_TID] = { "tid", "thread", BOUND_TID },
	[S_COMM] = { "comm", "name of the thread at that time", .needs = NEED_COMM },
	[S_EVENT] = { "event", "name of the event", BOUND_EVENT },
	[S_PERIOD] = { "period", "number of events that the sample represents" },
	[S_WEIGHT] = { "weight", "cost, where the hardware measures it" },
	[S_IP] = { "ip", "address of the code, as a signed number: printf('%x', ip)" },
	[S_ADDR] = { "addr", "address of the data" },
	[S_MODE] = { "mode", "kernel, user, hypervisor, guest-kernel or guest-user" },
	[S_SYMBOL] = { "symbol", "function; null: not known", .needs = NAMES | NEED_LEAF },
	[S_DSO] = { "dso", "program or library that holds the code", .needs = NAMES | NEED_LEAF },
	[S_STACK_ID] = { "stack_id", "call stack, of table stacks; null: none", .needs = STACK },
	[S_STACK] = { "stack", "call stack as text, outermost function first", .needs = STACK },
	[S_ARGS] = { "args", "fields of a tracepoint as the kernel prints them", .needs = NEED_RAW },
};

/* Of tracepoints: the columns before and after the fields in a table of one event. */
static const struct query_column event_head[] = {
	{ "time_ns", "when, on the recording's clock", BOUND_TIME },
	{ "cpu", "on which CPU", BOUND_CPU },
	{ "pid", "process that ran there", BOUND_PID },
	{ "tid", "thread that ran there", BOUND_TID },
	{ "comm", "name of that thread", .needs = NEED_COMM },
};
_Static_assert(ARRAY_SIZE(event_head) == QUERY_FIRST_FIELD, "fields follow");
enum { TAIL_ARGS, TAIL_STACK_ID, TAIL_STACK, TAIL_NR };
static const struct query_column event_tail[TAIL_NR] = {
	[TAIL_ARGS] = { "args", "all fields as the kernel prints them", .needs = NEED_RAW },
	[TAIL_STACK_ID] = { "stack_id", "call stack, of table stacks; null: none", .needs = STACK },
	[TAIL_STACK] = { "stack", "call stack as text, outermost function first", .needs = STACK },
};

enum { I_TIME, I_END, I_DUR, I_STATE, I_TID, I_PID, I_COMM, I_CPU, I_LETTER, I_PREEMPTED, I_WAKER_TID, I_WAKER_PID, I_WAKER_COMM,
	I_WOKEN_BY_IRQ, I_STACK_ID, I_STACK, I_WAKER_STACK_ID, I_WAKER_STACK, I_LOSSY, I_FROM_BEFORE, I_UNTIL_END };
static const struct query_column interval_columns[] = {
	[I_TIME] = { "time_ns", "when it began" },
	[I_END] = { "end_ns", "when it ended" },
	[I_DUR] = { "dur_ns", "how long it was" },
	[I_STATE] = { "state", "running, ready, blocked or unknown" },
	[I_TID] = { "tid", "thread", BOUND_TID },
	[I_PID] = { "pid", "its process; null: not known", BOUND_PID },
	[I_COMM] = { "comm", "its name" },
	[I_CPU] = { "cpu", "running: there; ready: where it runs next; blocked: where it ran last" },
	[I_LETTER] = { "letter", "state as the kernel prints it: S, D ..." },
	[I_PREEMPTED] = { "preempted", "ready: 1 if it left the CPU without blocking, 0 if it was woken" },
	[I_WAKER_TID] = { "waker_tid", "blocked: the thread that ended it" },
	[I_WAKER_PID] = { "waker_pid", "its process" },
	[I_WAKER_COMM] = { "waker_comm", "its name" },
	[I_WOKEN_BY_IRQ] = { "woken_by_irq", "1: an interrupt ended it; the waker only happened to run there" },
	[I_STACK_ID] = { "stack_id", "where it left the CPU", .needs = STACK },
	[I_STACK] = { "stack", "the same as text, outermost function first", .needs = STACK },
	[I_WAKER_STACK_ID] = { "waker_stack_id", "where the waker was", .needs = STACK },
	[I_WAKER_STACK] = { "waker_stack", "the same as text", .needs = STACK },
	[I_LOSSY] = { "lossy", "1: events were lost meanwhile" },
	[I_FROM_BEFORE] = { "from_before", "1: it had begun before the recording" },
	[I_UNTIL_END] = { "until_end", "1: it had not ended when the recording did" },
};

enum { C_TIME, C_END, C_DUR, C_NAME, C_NR, C_RET, C_TID, C_PID, C_COMM, C_CPU };
static const struct query_column syscall_columns[] = {
	[C_TIME] = { "time_ns", "when it began" },
	[C_END] = { "end_ns", "when it ended" },
	[C_DUR] = { "dur_ns", "how long it took" },
	[C_NAME] = { "name", "system call" },
	[C_NR] = { "nr", "its number" },
	[C_RET] = { "ret", "what it returned; from -1 to -4095: an error" },
	[C_TID] = { "tid", "thread", BOUND_TID },
	[C_PID] = { "pid", "process", BOUND_PID },
	[C_COMM] = { "comm", "name of the thread", .needs = NEED_COMM },
	[C_CPU] = { "cpu", "where it ended" },
};

enum { T_TID, T_PID, T_COMM, T_FIRST, T_LAST, T_SAMPLES };
static const struct query_column task_columns[] = {
	[T_TID] = { "tid", "thread" },
	[T_PID] = { "pid", "process" },
	[T_COMM] = { "comm", "the name it had last" },
	[T_FIRST] = { "first_ns", "its first sample" },
	[T_LAST] = { "last_ns", "its last one" },
	[T_SAMPLES] = { "samples", "how many there are" },
};

enum { F_STACK_ID, F_DEPTH, F_SYMBOL, F_DSO };
static const struct query_column stack_columns[] = {
	[F_STACK_ID] = { "stack_id", "call stack", BOUND_STACK, NAMES },
	[F_DEPTH] = { "depth", "0: the innermost function", .needs = NAMES },
	[F_SYMBOL] = { "symbol", "function; null: not known", .needs = NAMES },
	[F_DSO] = { "dso", "program or library that holds it", .needs = NAMES },
};

static const struct query_column recording_columns[] = {
	{ "key", "what it is" },
	{ "value", "as text" },
};

#define COLUMNS(c) c, ARRAY_SIZE(c)
const struct query_table query_fixed_tables[] = {
	{ "samples", "every sample of the recording, of all events", COLUMNS(sample_columns), QUERY_SAMPLES },
	{ "events", "samples of tracepoints; the same columns", COLUMNS(sample_columns), QUERY_EVENTS },
	{ "intervals", "what each thread did, from sched:sched_switch and sched_waking", COLUMNS(interval_columns), QUERY_INTERVALS },
	{ "syscalls", "system calls that ended, from raw_syscalls or syscalls events", COLUMNS(syscall_columns), QUERY_SYSCALLS },
	{ "tasks", "threads with samples", COLUMNS(task_columns), QUERY_TASKS },
	{ "stacks", "the functions of each call stack", COLUMNS(stack_columns), QUERY_STACKS },
	{ "recording", "what the recording says about itself", COLUMNS(recording_columns), QUERY_RECORDING },
};
/* clang-format on */
const size_t query_nr_fixed_tables = ARRAY_SIZE(query_fixed_tables);

/* ---- a table per event ---- */

static bool column_taken(const struct query_column *columns, u32 nr, const char *name)
{
	for (u32 i = 0; i < nr; i++)
		if (!strcasecmp(columns[i].name, name))
			return true;
	return false;
}

/* A field whose name is taken becomes "arg_pid"; if that is taken as well, it is left out. */
static const char *field_name(struct query *q, const struct query_column *columns, u32 nr,
			      const char *name)
{
	bool tail = column_taken(event_tail, TAIL_NR, name);
	if (!tail && !column_taken(columns, nr, name))
		return name;
	size_t len = strlen(name);
	char *other = arena_alloc(&q->arena, len + 5);
	if (!other)
		return NULL;
	memcpy(other, "arg_", 4);
	memcpy(other + 4, name, len + 1);
	return column_taken(columns, nr, other) ? NULL : other;
}

static int add_event_table(struct query *q, const char *name, u32 event, const struct schema *s)
{
	u32 nr_fields = min(s->nr_fields - min(s->nr_common, s->nr_fields), (u32)QUERY_FIELDS_MAX);
	u32 nr = QUERY_FIRST_FIELD;
	struct query_column *c =
		arena_array(&q->arena, (size_t)QUERY_FIRST_FIELD + nr_fields + TAIL_NR, sizeof(*c));
	struct query_table *t = vec_push(&q->tables);
	if (!c || !t)
		return -ENOMEM;
	memcpy(c, event_head, sizeof(event_head));
	for (u32 i = 0; i < nr_fields; i++) {
		const struct schema_field *f = &s->fields[s->nr_common + i];
		const char *as = field_name(q, c, nr, f->name);
		/* A column for each field, so that a column's number is the field's. */
		c[nr++] = (struct query_column){ as ? as : "", f->type, .needs = NEED_RAW };
	}
	memcpy(c + nr, event_tail, sizeof(event_tail));
	*t = (struct query_table){ .name = name,
				   .about = "events of this kind, with their fields",
				   .columns = c,
				   .nr_columns = nr + TAIL_NR,
				   .kind = QUERY_EVENT,
				   .event = event };
	return 0;
}

/* 1: the name was free and is now taken, 0: it was not. Case does not matter, and names that begin with sqlite_ are its own. */
static int take_name(struct query *q, const char *name)
{
	struct strbuf lower;
	u32 before = q->table_names.nr;
	if (!strncasecmp(name, "sqlite_", 7))
		return 0;
	strbuf_init(&lower);
	for (; *name; name++)
		strbuf_char(&lower, *name >= 'A' && *name <= 'Z' ? (char)(*name | 0x20) : *name);
	s64 id = lower.err ? lower.err : strtab_add(&q->table_names, strbuf_cstr(&lower), lower.len);
	strbuf_done(&lower);
	return id < 0 ? (int)id : q->table_names.nr > before;
}

/* "sched:sched_switch", and "sched_switch" where that is not taken. */
static int add_event_tables(struct query *q, u32 event)
{
	const struct schema *s = query_schema(q, event);
	if (!s || !s->name)
		return 0;
	const char *system = s->system ? s->system : "";
	size_t size = strlen(system) + strlen(s->name) + 2;
	char *full = arena_alloc(&q->arena, size);
	if (!full)
		return -ENOMEM;
	(void)snprintf(full, size, "%s:%s", system, s->name);
	int got = take_name(q, full);
	int err = got > 0 ? add_event_table(q, full, event, s) : got;
	if (err)
		return err;
	got = take_name(q, s->name);
	return got > 0 ? add_event_table(q, s->name, event, s) : got;
}

static int take_fixed_names(struct query *q)
{
	int got = 0;
	for (size_t i = 0; i < query_nr_fixed_tables && got >= 0; i++)
		got = take_name(q, query_fixed_tables[i].name);
	for (const struct query_view *v = query_views; v->name && got >= 0; v++)
		got = take_name(q, v->name);
	return min(got, 0);
}

int query_make_tables(struct query *q)
{
	int err = take_fixed_names(q);
	for (size_t i = 0; i < query_nr_fixed_tables && !err; i++) {
		struct query_table *t = vec_push(&q->tables);
		if (!t)
			return -ENOMEM;
		*t = query_fixed_tables[i];
	}
	u32 nr = q->o.path ? (u32)query_catalog(q)->events.nr : 0;
	for (u32 i = 0; i < nr && !err; i++) {
		if (q->tables.nr >= TABLES_MAX) {
			diag_warn(q->sy->diag,
				  "the recording has %u kinds of events: the last ones have no "
				  "tables of their own, only rows in 'events'",
				  nr);
			break;
		}
		err = add_event_tables(q, i);
	}
	return err;
}

size_t query_nr_tables(const struct query *q)
{
	return q ? q->tables.nr : query_nr_fixed_tables;
}

const struct query_table *query_table_at(const struct query *q, size_t i)
{
	return q ? &q->tables.at[i] : &query_fixed_tables[i];
}

/* ---- a cursor ---- */

struct syscall_begin {
	u64 time_ns;
	u64 nr;
};

/* Which of the events begin and end system calls. */
struct syscall_look {
	enum { CALL_UNKNOWN, CALL_NOTHING, CALL_ENTER, CALL_LEAVE } kind;
	const struct schema_field *nr, *ret;
};

struct syscall_fold {
	VEC(struct syscall_look) looks;
	VEC(struct syscall_begin) begins;
	struct dict of_tid; /* -> index + 1 into begins; 0: none is under way */
	bool raw; /* raw_syscalls is there: it has all calls */
	enum syscalls_abi abi;
	struct syscall_begin done;
	s64 ret;
};

struct query_task {
	s64 tid, pid;
	u64 first_ns, last_ns, nr;
	char comm[64];
};

struct query_cursor {
	struct query *q;
	const struct query_table *t;
	struct query_filter f;
	struct query_feed feed;
	bool feeding;
	const struct sample *sample;
	VEC(bool) wanted; /* [event] */
	char own[COMM_TEXT];
	struct strbuf text;

	/* Intervals: those that ended with the last event. */
	struct thread_states *states;
	VEC(struct thread_interval) ended;
	size_t at;
	bool states_over;

	struct syscall_fold calls;
	VEC(struct query_task) tasks;
	u32 stack, depth; /* of stacks: the row */
	struct strbuf facts; /* key NUL value NUL ... */
	const char *key, *value;
};

struct query_cursor *query_cursor_new(struct query *q, const struct query_table *t)
{
	struct query_cursor *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->q = q;
	c->t = t;
	strbuf_init(&c->text);
	strbuf_init(&c->facts);
	dict_init(&c->calls.of_tid);
	return c;
}

static void end_pass(struct query_cursor *c)
{
	if (c->feeding)
		query_feed_end(&c->feed);
	c->feeding = false;
	c->sample = NULL;
	thread_states_free(c->states);
	c->states = NULL;
	c->states_over = false;
	c->ended.nr = c->at = 0;
	vec_free(&c->calls.looks);
	vec_free(&c->calls.begins);
	dict_done(&c->calls.of_tid);
	dict_init(&c->calls.of_tid);
	vec_free(&c->tasks);
	strbuf_reset(&c->facts);
}

void query_cursor_free(struct query_cursor *c)
{
	if (!c)
		return;
	end_pass(c);
	vec_free(&c->wanted);
	vec_free(&c->ended);
	strbuf_done(&c->text);
	strbuf_done(&c->facts);
	dict_done(&c->calls.of_tid);
	free(c);
}

static int begin_feed(struct query_cursor *c, unsigned needs, u64 from_ns, u64 until_ns)
{
	c->feeding = true;
	return query_feed_begin(&c->feed, c->q, needs, from_ns, until_ns);
}

/* ---- samples ---- */

static int choose_events(struct query_cursor *c)
{
	const struct catalog *cat = query_catalog(c->q);
	c->wanted.nr = 0;
	for (u32 i = 0; i < cat->events.nr; i++) {
		bool *w = vec_push(&c->wanted);
		if (!w)
			return -ENOMEM;
		*w = c->t->kind == QUERY_EVENT
			     ? query_schema(c->q, i) == query_schema(c->q, c->t->event)
		     : c->t->kind == QUERY_EVENTS ? query_schema(c->q, i) != NULL
						  : true;
		if (c->f.event)
			*w &= !strcmp(cat->events.at[i].name, c->f.event);
	}
	return 0;
}

static bool passes(const struct query_filter *f, s64 tid, s64 pid, s64 cpu)
{
	return (!f->has_tid || f->tid == tid) && (!f->has_pid || f->pid == pid) &&
	       (!f->has_cpu || f->cpu == cpu);
}

static bool sample_passes(const struct query_cursor *c, const struct sample *s)
{
	const struct query_filter *f = &c->f;
	return s->event < c->wanted.nr && c->wanted.at[s->event] && s->time_ns >= f->from_ns &&
	       s->time_ns <= f->until_ns && passes(f, s->tid, s->pid, s->cpu);
}

static int next_sample(struct query_cursor *c)
{
	int got;
	do
		got = query_feed_next(&c->feed, &c->sample);
	while (got > 0 && !sample_passes(c, c->sample) &&
	       !(c->f.needs & NEED_ORDER && c->sample->time_ns > c->f.until_ns));
	return got > 0 && c->sample->time_ns > c->f.until_ns ? 0 : got;
}

static void set_int(struct query_cell *r, s64 v)
{
	*r = (struct query_cell){ .type = QUERY_INT, .i = v };
}

static void set_text(struct query_cell *r, const char *text)
{
	*r = (struct query_cell){ .type = text ? QUERY_TEXT : QUERY_NULL,
				  .text = text,
				  .len = text ? strlen(text) : 0 };
}

static void set_strbuf(struct query_cell *r, struct strbuf *text)
{
	const char *s = strbuf_cstr(text);
	*r = (struct query_cell){ .type = QUERY_TEXT, .text = s, .len = text->len };
}

static void set_stack_id(struct query_cell *r, u32 stack)
{
	if (stack)
		set_int(r, stack);
}

static void set_stack(struct query_cursor *c, struct query_cell *r, u32 stack)
{
	if (!stack)
		return;
	strbuf_reset(&c->text);
	query_stack_text(c->q, stack, &c->text);
	set_strbuf(r, &c->text);
}

static void set_args(struct query_cursor *c, struct query_cell *r)
{
	const struct sample *s = c->sample;
	const struct schema *sc = query_schema(c->q, s->event);
	if (!sc || !sc->ops || !s->raw)
		return;
	strbuf_reset(&c->text);
	(void)sc->ops->print(sc, s->raw, s->raw_size, &c->text);
	set_strbuf(r, &c->text);
}

static const char *task_name(struct query_cursor *c, const struct sample *s)
{
	return comm_text(&c->feed.from->src->catalog, s->comm, c->own);
}

static void head_value(struct query_cursor *c, u32 column, struct query_cell *r)
{
	const struct sample *s = c->sample;
	switch (column) {
	case S_TIME: set_int(r, (s64)s->time_ns); break;
	case S_CPU: set_int(r, s->cpu); break;
	case S_PID: set_int(r, s->pid); break;
	case S_TID: set_int(r, s->tid); break;
	default: set_text(r, task_name(c, s)); break;
	}
}

static void sample_value(struct query_cursor *c, u32 column, struct query_cell *r)
{
	const struct sample *s = c->sample;
	switch (column) {
	case S_EVENT: set_text(r, query_catalog(c->q)->events.at[s->event].name); break;
	case S_PERIOD: set_int(r, (s64)s->period); break;
	case S_WEIGHT: set_int(r, (s64)s->weight); break;
	case S_IP: set_int(r, (s64)s->ip); break;
	case S_ADDR: set_int(r, (s64)s->addr); break;
	case S_MODE: set_text(r, frame_mode_word(s->mode)); break;
	case S_SYMBOL: set_text(r, query_symbol(c->q, s->leaf)); break;
	case S_DSO: set_text(r, query_dso(c->q, s->leaf)); break;
	case S_STACK_ID: set_stack_id(r, query_stack_id(&c->feed, s->chain)); break;
	case S_STACK: set_stack(c, r, query_stack_id(&c->feed, s->chain)); break;
	case S_ARGS: set_args(c, r); break;
	default: head_value(c, column, r); break;
	}
}

/* "[1,2,3]": what sqlite's JSON functions take. */
static void array_text(struct query_cursor *c, const struct schema *sc, const struct schema_field *f)
{
	struct schema_field one = *f;
	one.size = f->elem_size;
	one.nr_elems = 1;
	strbuf_reset(&c->text);
	strbuf_char(&c->text, '[');
	for (u32 i = 0; i < f->nr_elems; i++, one.offset += one.size) {
		u64 v = schema_u64(sc, &one, c->sample->raw, c->sample->raw_size);
		strbuf_str(&c->text, i ? "," : "");
		if (f->flags & FIELD_SIGNED)
			strbuf_s64(&c->text, (s64)v);
		else
			strbuf_u64(&c->text, v);
	}
	strbuf_char(&c->text, ']');
}

static bool is_number(u32 size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static void field_value(struct query_cursor *c, u32 field, struct query_cell *r)
{
	const struct sample *s = c->sample;
	const struct schema *sc = query_schema(c->q, s->event);
	u32 at = sc->nr_common + field, len;
	if (at >= sc->nr_fields || !s->raw)
		return;
	const struct schema_field *f = &sc->fields[at];
	bool dynamic = f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC);
	if (f->flags & FIELD_STRING || dynamic) {
		const void *bytes = schema_bytes(sc, f, s->raw, s->raw_size, &len);
		if (bytes)
			*r = (struct query_cell){ .type = f->flags & FIELD_STRING ? QUERY_TEXT
										  : QUERY_BLOB,
						  .text = bytes,
						  .len = len };
	} else if (f->nr_elems > 1 && is_number(f->elem_size) &&
		   (u64)f->offset + f->size <= s->raw_size) {
		array_text(c, sc, f);
		set_strbuf(r, &c->text);
	} else if (is_number(f->size) && (u64)f->offset + f->size <= s->raw_size) {
		set_int(r, (s64)schema_u64(sc, f, s->raw, s->raw_size));
	}
}

static void event_value(struct query_cursor *c, u32 column, struct query_cell *r)
{
	u32 tail = c->t->nr_columns - TAIL_NR;
	if (column < QUERY_FIRST_FIELD)
		head_value(c, column, r);
	else if (column < tail)
		field_value(c, column - QUERY_FIRST_FIELD, r);
	else if (column == tail + TAIL_ARGS)
		set_args(c, r);
	else if (column == tail + TAIL_STACK_ID)
		set_stack_id(r, query_stack_id(&c->feed, c->sample->chain));
	else
		set_stack(c, r, query_stack_id(&c->feed, c->sample->chain));
}

static int begin_samples(struct query_cursor *c)
{
	int err = choose_events(c);
	return err ? err : begin_feed(c, c->f.needs, c->f.from_ns, c->f.until_ns);
}

/* ---- intervals ---- */

static int take_interval(void *ctx, const struct thread_interval *i)
{
	struct query_cursor *c = ctx;
	const struct sched_thread *t = thread_at(c->states, i->thread);
	if (!passes(&c->f, t->tid, t->pid, 0))
		return 0;
	struct thread_interval *to = vec_push(&c->ended);
	if (!to)
		return -ENOMEM;
	*to = *i;
	return 0;
}

static const struct thread_states_ops interval_ops = { .interval = take_interval };

static int begin_intervals(struct query_cursor *c)
{
	c->f.has_cpu = false;
	c->states = thread_states_new(&interval_ops, c);
	return c->states ? begin_feed(c, c->f.needs | NEED_ORDER | NEED_RAW, 0, 0) : -ENOMEM;
}

static int next_interval(struct query_cursor *c)
{
	if (++c->at < c->ended.nr)
		return 1;
	c->at = c->ended.nr = 0;
	while (!c->ended.nr && !c->states_over) {
		int got = query_feed_next(&c->feed, &c->sample);
		int err = got > 0 ? thread_states_feed(c->states, c->sample) : got;
		c->states_over = !got;
		if (!got)
			err = thread_states_finish(c->states, 0);
		if (err < 0)
			return err;
	}
	return c->ended.nr > 0;
}

static void set_thread(struct query_cell *r, const struct query_cursor *c, u32 thread, u32 what)
{
	const struct sched_thread *t = thread == THREAD_NONE ? NULL : thread_at(c->states, thread);
	if (!t)
		return;
	if (what == I_COMM)
		set_text(r, thread_comm(c->states, thread));
	else if (what == I_TID)
		set_int(r, t->tid);
	else if (t->pid || !t->tid)
		set_int(r, t->pid);
}

static void interval_value(struct query_cursor *c, u32 column, struct query_cell *r)
{
	static const char *const states[] = { "unknown", "running", "ready", "blocked" };
	const struct thread_interval *i = &c->ended.at[c->at];
	bool blocked = i->state == THREAD_BLOCKED;
	switch (column) {
	case I_TIME: set_int(r, (s64)i->from_ns); break;
	case I_END: set_int(r, (s64)i->to_ns); break;
	case I_DUR: set_int(r, (s64)(i->to_ns - i->from_ns)); break;
	case I_STATE: set_text(r, states[i->state]); break;
	case I_TID:
	case I_PID:
	case I_COMM: set_thread(r, c, i->thread, column); break;
	case I_CPU: set_int(r, i->cpu); break;
	case I_LETTER:
		c->own[0] = i->letter;
		c->own[1] = '\0';
		set_text(r, i->letter ? c->own : NULL);
		break;
	case I_PREEMPTED:
		if (i->state == THREAD_READY)
			set_int(r, !!(i->flags & THREAD_PREEMPTED));
		break;
	case I_WAKER_TID: set_thread(r, c, blocked ? i->cause : THREAD_NONE, I_TID); break;
	case I_WAKER_PID: set_thread(r, c, blocked ? i->cause : THREAD_NONE, I_PID); break;
	case I_WAKER_COMM: set_thread(r, c, blocked ? i->cause : THREAD_NONE, I_COMM); break;
	case I_WOKEN_BY_IRQ: set_int(r, !!(i->flags & THREAD_WOKEN_BY_IRQ)); break;
	case I_STACK_ID: set_stack_id(r, query_stack_id(&c->feed, i->own_chain)); break;
	case I_STACK: set_stack(c, r, query_stack_id(&c->feed, i->own_chain)); break;
	case I_WAKER_STACK_ID: set_stack_id(r, query_stack_id(&c->feed, i->cause_chain)); break;
	case I_WAKER_STACK: set_stack(c, r, query_stack_id(&c->feed, i->cause_chain)); break;
	case I_LOSSY: set_int(r, !!(i->flags & THREAD_LOSSY)); break;
	case I_FROM_BEFORE: set_int(r, !!(i->flags & THREAD_SINCE_BEFORE)); break;
	default: set_int(r, !!(i->flags & THREAD_UNTIL_END)); break;
	}
}

/* ---- system calls ---- */

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void look_at(struct syscall_look *l, const struct schema *s, bool raw)
{
	bool raw_one = s && s->system && !strcmp(s->system, "raw_syscalls");
	l->kind = CALL_NOTHING;
	if (!s || !s->system || (raw ? !raw_one : strcmp(s->system, "syscalls") != 0))
		return;
	l->nr = schema_find(s, raw ? "id" : "__syscall_nr");
	if (!l->nr && !raw)
		l->nr = schema_find(s, "nr");
	l->ret = schema_find(s, "ret");
	if (l->nr && starts(s->name, "sys_enter"))
		l->kind = CALL_ENTER;
	else if (l->nr && l->ret && starts(s->name, "sys_exit"))
		l->kind = CALL_LEAVE;
}

static int begin_syscalls(struct query_cursor *c)
{
	struct syscall_fold *s = &c->calls;
	struct source_facts facts = source_facts(c->q->sources[0].src);
	const char *arch = facts.arch;
	s->raw = false;
	for (u32 pass = 0; pass < 2; pass++) {
		s->looks.nr = 0;
		for (u32 i = 0; i < query_catalog(c->q)->events.nr; i++) {
			struct syscall_look *l = vec_push(&s->looks);
			if (!l)
				return -ENOMEM;
			look_at(l, query_schema(c->q, i), !pass);
			s->raw |= !pass && l->kind != CALL_NOTHING;
		}
		if (s->raw)
			break;
	}
#if defined(__aarch64__)
	s->abi = SYSCALLS_ARM64;
#endif
	if (arch)
		s->abi = starts(arch, "aarch64") || starts(arch, "arm64") ? SYSCALLS_ARM64
									  : SYSCALLS_X86_64;
	return begin_feed(c, c->f.needs | NEED_ORDER | NEED_RAW, 0, 0);
}

/* 1: a call has ended. */
static int fold_syscall(struct syscall_fold *f, const struct syscall_look *l,
			const struct schema *sc, const struct sample *s)
{
	u32 at;
	int err = dict_add(&f->of_tid, (u64)(u32)s->tid, (u32)f->begins.nr, &at);
	if (err)
		return err;
	if (at == f->begins.nr && !vec_push(&f->begins))
		return -ENOMEM;
	struct syscall_begin *b = &f->begins.at[at];
	u64 nr = schema_u64(sc, l->nr, s->raw, s->raw_size);
	if (l->kind == CALL_ENTER) {
		*b = (struct syscall_begin){ .time_ns = s->time_ns + 1, .nr = nr };
		return 0;
	}
	bool ours = b->time_ns && b->nr == nr;
	f->done = *b;
	f->done.time_ns -= ours;
	f->ret = (s64)schema_u64(sc, l->ret, s->raw, s->raw_size);
	b->time_ns = 0;
	return ours;
}

static int next_syscall(struct query_cursor *c)
{
	for (;;) {
		int got = query_feed_next(&c->feed, &c->sample);
		if (got <= 0)
			return got;
		const struct sample *s = c->sample;
		if (s->event >= c->calls.looks.nr || !passes(&c->f, s->tid, s->pid, 0))
			continue;
		const struct syscall_look *l = &c->calls.looks.at[s->event];
		if (l->kind == CALL_NOTHING || !s->raw)
			continue;
		got = fold_syscall(&c->calls, l, query_schema(c->q, s->event), s);
		if (got)
			return got;
	}
}

static void syscall_value(struct query_cursor *c, u32 column, struct query_cell *r)
{
	const struct syscall_begin *b = &c->calls.done;
	const struct sample *s = c->sample;
	const char *name = syscalls_name(c->calls.abi, b->nr);
	switch (column) {
	case C_TIME: set_int(r, (s64)b->time_ns); break;
	case C_END: set_int(r, (s64)s->time_ns); break;
	case C_DUR: set_int(r, (s64)(s->time_ns - b->time_ns)); break;
	case C_NAME:
		strbuf_reset(&c->text);
		if (name)
			strbuf_str(&c->text, name);
		else
			strbuf_printf(&c->text, "syscall_%llu", (unsigned long long)b->nr);
		set_strbuf(r, &c->text);
		break;
	case C_NR: set_int(r, (s64)b->nr); break;
	case C_RET: set_int(r, c->calls.ret); break;
	case C_TID: set_int(r, s->tid); break;
	case C_PID: set_int(r, s->pid); break;
	case C_COMM: set_text(r, task_name(c, s)); break;
	default: set_int(r, s->cpu); break;
	}
}

/* ---- tasks ---- */

static int add_task(struct query_cursor *c, struct dict *of, const struct sample *s)
{
	u32 at;
	int err = dict_add(of, (u64)(u32)s->tid, (u32)c->tasks.nr, &at);
	if (err)
		return err;
	if (at == c->tasks.nr) {
		struct query_task *fresh = vec_push(&c->tasks);
		if (!fresh)
			return -ENOMEM;
		*fresh = (struct query_task){ .tid = s->tid,
					      .first_ns = s->time_ns,
					      .last_ns = s->time_ns };
	}
	struct query_task *t = &c->tasks.at[at];
	if (s->time_ns >= t->last_ns) {
		const char *name = task_name(c, s);
		size_t len = min(strlen(name), sizeof(t->comm) - 1);
		memcpy(t->comm, name, len);
		t->comm[len] = '\0';
		t->pid = s->pid;
	}
	t->first_ns = min(t->first_ns, s->time_ns);
	t->last_ns = max(t->last_ns, s->time_ns);
	t->nr++;
	return 0;
}

static int compare_tasks(const void *a, const void *b)
{
	const struct query_task *ta = a, *tb = b;
	return (ta->tid > tb->tid) - (ta->tid < tb->tid);
}

static int begin_tasks(struct query_cursor *c)
{
	struct dict of;
	dict_init(&of);
	int err = begin_feed(c, NEED_COMM, 0, 0);
	int got = 1;
	while (!err && (got = query_feed_next(&c->feed, &c->sample)) > 0)
		err = add_task(c, &of, c->sample);
	dict_done(&of);
	if (c->tasks.nr)
		qsort(c->tasks.at, c->tasks.nr, sizeof(*c->tasks.at), compare_tasks);
	c->at = SIZE_MAX;
	return err ? err : got;
}

static void task_value(struct query_cursor *c, u32 column, struct query_cell *r)
{
	const struct query_task *t = &c->tasks.at[c->at];
	switch (column) {
	case T_TID: set_int(r, t->tid); break;
	case T_PID: set_int(r, t->pid); break;
	case T_COMM: set_text(r, t->comm); break;
	case T_FIRST: set_int(r, (s64)t->first_ns); break;
	case T_LAST: set_int(r, (s64)t->last_ns); break;
	default: set_int(r, (s64)t->nr); break;
	}
}

/* ---- stacks ---- */

static u32 stack_frames(const struct query *q, u32 stack)
{
	return q->run.tables.chains.chains[stack].nr;
}

static int begin_stacks(struct query_cursor *c)
{
	int err = query_names(c->q);
	if (err)
		return err;
	c->depth = UINT32_MAX;
	c->stack = !c->f.has_stack			       ? 1
		   : c->f.stack > 0 && c->f.stack < UINT32_MAX ? (u32)c->f.stack
							       : 0;
	return 0;
}

static int next_stack(struct query_cursor *c)
{
	u32 nr = c->q->run.tables.chains.nr;
	c->depth++;
	while (c->stack && c->stack < nr && c->depth >= stack_frames(c->q, c->stack)) {
		c->depth = 0;
		c->stack = c->f.has_stack ? nr : c->stack + 1;
	}
	return c->stack && c->stack < nr;
}

static void stack_value(struct query_cursor *c, u32 column, struct query_cell *r)
{
	u32 nr;
	const u32 *ids = chain_frames(&c->q->run.tables.chains, c->stack, &nr);
	u32 id = ids[nr - 1 - c->depth];
	switch (column) {
	case F_STACK_ID: set_int(r, c->stack); break;
	case F_DEPTH: set_int(r, c->depth); break;
	case F_SYMBOL: set_text(r, query_symbol(c->q, id)); break;
	default: set_text(r, query_dso(c->q, id)); break;
	}
}

/* ---- the recording ---- */

static void add_fact(struct query_cursor *c, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	strbuf_add(&c->facts, key, strlen(key) + 1);
	strbuf_add(&c->facts, value, strlen(value) + 1);
}

static void add_number(struct query_cursor *c, const char *key, u64 v)
{
	char text[24];
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	add_fact(c, key, text);
}

static int begin_recording(struct query_cursor *c)
{
	struct source *src = c->q->sources[0].src;
	struct source_facts f = source_facts(src);
	u64 first = 0, last = 0;
	strbuf_reset(&c->text);
	source_command(src, &c->text);
	add_fact(c, "path", c->q->o.path);
	add_fact(c, "kind", f.kind == SOURCE_TRACE ? "trace.dat" : "perf.data");
	add_fact(c, "host", f.host);
	add_fact(c, "release", f.release);
	add_fact(c, "arch", f.arch);
	add_fact(c, "cpu", f.cpu);
	add_fact(c, "command", strbuf_cstr(&c->text));
	if (!source_span(src, &first, &last)) {
		add_number(c, "first_ns", first);
		add_number(c, "last_ns", last);
	}
	add_number(c, "lost", src->catalog.nr_lost);
	(void)strbuf_cstr(&c->facts);
	c->key = NULL;
	return c->facts.err;
}

static int next_fact(struct query_cursor *c)
{
	const char *end = c->facts.data + c->facts.len;
	c->key = c->key ? c->value + strlen(c->value) + 1 : c->facts.data;
	if (!c->key || c->key >= end)
		return 0;
	c->value = c->key + strlen(c->key) + 1;
	return 1;
}

/* ---- all of them ---- */

int query_cursor_begin(struct query_cursor *c, const struct query_filter *f)
{
	end_pass(c);
	c->f = *f;
	if (!c->q->o.path)
		return 0;
	switch (c->t->kind) {
	case QUERY_INTERVALS: return begin_intervals(c);
	case QUERY_SYSCALLS: return begin_syscalls(c);
	case QUERY_TASKS: return begin_tasks(c);
	case QUERY_STACKS: return begin_stacks(c);
	case QUERY_RECORDING: return begin_recording(c);
	default: return begin_samples(c);
	}
}

int query_cursor_next(struct query_cursor *c)
{
	if (!c->q->o.path)
		return 0;
	switch (c->t->kind) {
	case QUERY_INTERVALS: return next_interval(c);
	case QUERY_SYSCALLS: return next_syscall(c);
	case QUERY_TASKS: return ++c->at < c->tasks.nr;
	case QUERY_STACKS: return next_stack(c);
	case QUERY_RECORDING: return next_fact(c);
	default: return next_sample(c);
	}
}

void query_cursor_value(struct query_cursor *c, u32 column, struct query_cell *ret)
{
	*ret = (struct query_cell){ .type = QUERY_NULL };
	switch (c->t->kind) {
	case QUERY_INTERVALS: interval_value(c, column, ret); break;
	case QUERY_SYSCALLS: syscall_value(c, column, ret); break;
	case QUERY_TASKS: task_value(c, column, ret); break;
	case QUERY_STACKS: stack_value(c, column, ret); break;
	case QUERY_RECORDING: set_text(ret, column ? c->value : c->key); break;
	case QUERY_EVENT: event_value(c, column, ret); break;
	default: sample_value(c, column, ret); break;
	}
}
