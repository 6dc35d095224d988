#include "analysis/event_times.h"

#include "base/arena.h"
#include "base/dict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOOKS_MAX = 32, NR_MAX = 56 };

/* What is timed whenever it was recorded. */
struct thing {
	struct event_pair_rule rule;
	enum event_time_kind kind;
	enum event_time_label label;
	const char *key; /* field of the beginning that tells rows apart; NULL: none */
	const char *task; /* field of the beginning that says whose it is; NULL: who ran */
	bool irq;
	bool of_cpu; /* not a task's */
	u32 group; /* things that end each other; 0: alone */
};

enum { GROUP_BLOCKED = NR_MAX, GROUP_READY, GROUP_WOKEN, NR_GROUPS = GROUP_WOKEN - NR_MAX + 2 };

/* clang-format off */
static const struct thing things[] = {
	{ .kind = EVENT_TIME_RUN, .task = "next_pid",
	  .rule = { .start_system = "sched", .start_event = "sched_switch", .start_keys = { "next_pid" }, .end_system = "sched", .end_event = "sched_switch", .end_keys = { "prev_pid" }, .idle = true } },
	/* Away in a state that others must end: until somebody does. Ready to run: until it runs. */
	{ .kind = EVENT_TIME_WAIT, .label = EVENT_TIME_STATE, .key = "prev_state", .task = "prev_pid", .group = GROUP_BLOCKED,
	  .rule = { .start_system = "sched", .start_event = "sched_switch", .start_keys = { "prev_pid" }, .end_system = "sched", .end_event = "sched_wakeup", .end_keys = { "pid" }, .idle = true, .if_field = "prev_state", .if_bits = EVENT_TIME_BLOCKED } },
	{ .kind = EVENT_TIME_WAIT, .label = EVENT_TIME_STATE, .key = "prev_state", .task = "prev_pid", .group = GROUP_BLOCKED,
	  .rule = { .start_system = "sched", .start_event = "sched_switch", .start_keys = { "prev_pid" }, .end_system = "sched", .end_event = "sched_wakeup_new", .end_keys = { "pid" }, .idle = true, .if_field = "prev_state", .if_bits = EVENT_TIME_BLOCKED } },
	{ .kind = EVENT_TIME_WAIT, .label = EVENT_TIME_STATE, .key = "prev_state", .task = "prev_pid", .group = GROUP_BLOCKED,
	  .rule = { .start_system = "sched", .start_event = "sched_switch", .start_keys = { "prev_pid" }, .end_system = "sched", .end_event = "sched_switch", .end_keys = { "next_pid" }, .idle = true, .if_field = "prev_state", .if_bits = EVENT_TIME_BLOCKED } },
	{ .kind = EVENT_TIME_WAIT, .label = EVENT_TIME_STATE, .key = "prev_state", .task = "prev_pid", .group = GROUP_READY,
	  .rule = { .start_system = "sched", .start_event = "sched_switch", .start_keys = { "prev_pid" }, .end_system = "sched", .end_event = "sched_switch", .end_keys = { "next_pid" }, .idle = true, .if_field = "prev_state", .if_bits = EVENT_TIME_BLOCKED, .if_clear = true } },
	/* Woken, until it runs; one that leaves the CPU was on it when it was woken, and has not waited. */
	{ .kind = EVENT_TIME_NOTHING, .label = EVENT_TIME_HEX, .key = "pid", .task = "pid", .group = GROUP_WOKEN,
	  .rule = { .start_system = "sched", .start_event = "sched_wakeup", .start_keys = { "pid" }, .end_system = "sched", .end_event = "sched_switch", .end_keys = { "prev_pid" }, .if_field = "success" } },
	{ .kind = EVENT_TIME_WAKE, .label = EVENT_TIME_HEX, .key = "pid", .task = "pid", .group = GROUP_WOKEN,
	  .rule = { .start_system = "sched", .start_event = "sched_wakeup", .start_keys = { "pid" }, .end_system = "sched", .end_event = "sched_switch", .end_keys = { "next_pid" }, .if_field = "success" } },
	{ .kind = EVENT_TIME_WAKE, .label = EVENT_TIME_HEX, .key = "pid", .task = "pid", .group = GROUP_WOKEN,
	  .rule = { .start_system = "sched", .start_event = "sched_wakeup_new", .start_keys = { "pid" }, .end_system = "sched", .end_event = "sched_switch", .end_keys = { "next_pid" }, .if_field = "success" } },
	{ .kind = EVENT_TIME_OTHER, .label = EVENT_TIME_SOFTIRQ, .key = "vec", .irq = true,
	  .rule = { .start_system = "irq", .start_event = "softirq_raise", .start_keys = { "vec" }, .end_system = "irq", .end_event = "softirq_entry", .end_keys = { "vec" }, .same_cpu = true } },
	{ .kind = EVENT_TIME_OTHER, .label = EVENT_TIME_SOFTIRQ, .key = "vec", .irq = true,
	  .rule = { .start_system = "irq", .start_event = "softirq_entry", .start_keys = { "vec" }, .end_system = "irq", .end_event = "softirq_exit", .end_keys = { "vec" }, .same_cpu = true } },
	{ .kind = EVENT_TIME_OTHER, .label = EVENT_TIME_HEX, .key = "irq", .irq = true,
	  .rule = { .start_system = "irq", .start_event = "irq_handler_entry", .start_keys = { "irq" }, .end_system = "irq", .end_event = "irq_handler_exit", .end_keys = { "irq" }, .same_cpu = true } },
	{ .kind = EVENT_TIME_OTHER, .label = EVENT_TIME_NUMBER, .key = "id",
	  .rule = { .start_system = "raw_syscalls", .start_event = "sys_enter", .start_keys = { "id" }, .end_system = "raw_syscalls", .end_event = "sys_exit", .end_keys = { "id" }, .same_task = true } },
	{ .kind = EVENT_TIME_OTHER,
	  .rule = { .start_system = "syscalls", .start_event = "sys_enter_*", .end_system = "syscalls", .end_event = "sys_exit_*", .same_task = true } },
	{ .kind = EVENT_TIME_OTHER, .label = EVENT_TIME_FUNC, .key = "function", .irq = true,
	  .rule = { .start_system = "timer", .start_event = "timer_expire_entry", .start_keys = { "timer" }, .end_system = "timer", .end_event = "timer_expire_exit", .end_keys = { "timer" }, .same_cpu = true } },
	{ .kind = EVENT_TIME_OTHER, .label = EVENT_TIME_FUNC, .key = "function", .irq = true,
	  .rule = { .start_system = "timer", .start_event = "hrtimer_expire_entry", .start_keys = { "hrtimer" }, .end_system = "timer", .end_event = "hrtimer_expire_exit", .end_keys = { "hrtimer" }, .same_cpu = true } },
	{ .kind = EVENT_TIME_OTHER, .label = EVENT_TIME_FUNC, .key = "function",
	  .rule = { .start_system = "workqueue", .start_event = "workqueue_execute_start", .start_keys = { "work" }, .end_system = "workqueue", .end_event = "workqueue_execute_end", .end_keys = { "work" }, .same_task = true } },
	{ .kind = EVENT_TIME_FUNCTION, .label = EVENT_TIME_FUNC, .key = "func",
	  .rule = { .start_system = "ftrace", .start_event = "funcgraph_entry", .start_keys = { "func", "depth" }, .end_system = "ftrace", .end_event = "funcgraph_exit", .end_keys = { "func", "depth" }, .same_task = true } },
};
/* clang-format on */

enum { NR_THINGS = ARRAY_SIZE(things), COUNT_RULE = 2 * NR_MAX };
_Static_assert(NR_THINGS + HOOKS_MAX <= NR_MAX && (int)NR_MAX < (int)EVENT_PAIR_RULES_MAX,
	       "each rule and group needs its own bit");

/* A hook taken apart: its words lie in the arena. */
struct hook {
	const char *start_system, *start_event, *start_match, *start_pid;
	const char *end_system, *end_event, *end_match, *flags;
};

struct event_times {
	struct event_times_opts o;
	struct event_pair *pair;
	struct arena arena;
	struct thing all[NR_THINGS + HOOKS_MAX];
	u32 nr_hooks;
	struct dict row_of;
	VEC(struct event_time) rows;
	struct dict stack_of; /* row and addresses -> index into the row's stacks */
	struct dict comm_of;
	VEC(const char *) comms;
};

/* ---- hooks ---- */

static char *next_word(char **at, const char *ends)
{
	char *word = *at;
	if (!word)
		return NULL;
	size_t len = strcspn(word, ends);
	*at = word[len] ? word + len + 1 : NULL;
	word[len] = '\0';
	return word;
}

static int bad_hook(const char *text, size_t at, const char *what, struct diag *d)
{
	int err = diag_error(d, -EINVAL, "-H: %s", what);
	diag_span(d, text, (u32)at, 1);
	diag_hint(d, "[SYSTEM:]EVENT,FIELD[,PIDFIELD]/[SYSTEM:]EVENT,FIELD[,FLAGS]: "
		     "irq:irq_handler_entry,irq/irq:irq_handler_exit,irq,p");
	return err;
}

static void split_name(char *word, const char **system, const char **event)
{
	char *colon = strchr(word, ':');
	*system = colon ? word : NULL;
	*event = colon ? colon + 1 : word;
	if (colon)
		*colon = '\0';
}

static int split_hook(struct arena *a, const char *text, struct hook *h, struct diag *d)
{
	*h = (struct hook){ 0 };
	const char *slash = strchr(text, '/');
	if (!slash)
		return bad_hook(text, strlen(text), "expected the end event after '/'", d);
	char *first = arena_strndup(a, text, (size_t)(slash - text)),
	     *second = arena_strdup(a, slash + 1);
	if (!first || !second)
		return -ENOMEM;
	split_name(next_word(&first, ","), &h->start_system, &h->start_event);
	h->start_match = next_word(&first, ",");
	h->start_pid = next_word(&first, ",");
	split_name(next_word(&second, ","), &h->end_system, &h->end_event);
	h->end_match = next_word(&second, ",");
	h->flags = next_word(&second, ",");
	if (!*h->start_event || !h->start_match || !*h->start_match)
		return bad_hook(text, 0, "the start event needs a name and a field", d);
	if (!*h->end_event || !h->end_match || !*h->end_match)
		return bad_hook(text, (size_t)(slash - text) + 1,
				"the end event needs a name and a field", d);
	if (first || second)
		return bad_hook(text, strlen(text), "too many fields", d);
	if (h->flags && strspn(h->flags, "psgPSG") != strlen(h->flags))
		return bad_hook(text, (size_t)(strrchr(text, ',') - text) + 1,
				"valid flags are p, s and g", d);
	return 0;
}

static bool has_flag(const struct hook *h, char flag)
{
	return h->flags && (strchr(h->flags, flag) || strchr(h->flags, flag - 'a' + 'A'));
}

int event_times_parse_hook(const char *text, struct event_times_hook *ret, struct diag *d)
{
	struct arena a;
	struct hook h;
	arena_init(&a);
	int err = split_hook(&a, text, &h, d);
	if (!err) {
		(void)snprintf(ret->start, sizeof(ret->start), "%s%s%s",
			       h.start_system ? h.start_system : "", h.start_system ? ":" : "",
			       h.start_event);
		(void)snprintf(ret->end, sizeof(ret->end), "%s%s%s",
			       h.end_system ? h.end_system : "", h.end_system ? ":" : "",
			       h.end_event);
		ret->stack = has_flag(&h, 's');
	}
	arena_done(&a);
	return err;
}

static int add_hook(struct event_times *t, const char *text, struct diag *d)
{
	struct hook h;
	if (t->nr_hooks == HOOKS_MAX)
		return diag_error(d, -E2BIG, "-H: more than %d", HOOKS_MAX);
	int err = split_hook(&t->arena, text, &h, d);
	if (err)
		return err;
	bool global = has_flag(&h, 'g');
	t->all[NR_THINGS + t->nr_hooks++] = (struct thing){
		.kind = EVENT_TIME_OTHER,
		.label = EVENT_TIME_HEX,
		.key = h.start_match,
		.task = h.start_pid,
		.of_cpu = global,
		.rule = { .start_system = h.start_system,
			  .start_event = h.start_event,
			  .start_keys = { h.start_match },
			  .end_system = h.end_system,
			  .end_event = h.end_event,
			  .end_keys = { h.end_match },
			  .same_cpu = has_flag(&h, 'p') },
	};
	return 0;
}

/* ---- adding up ---- */

static void add_time(struct event_time_stats *t, u64 ns, u64 at_ns)
{
	if (!t->nr || ns > t->max_ns) {
		t->max_ns = ns;
		t->max_at_ns = at_ns;
	}
	if (!t->nr || ns < t->min_ns) {
		t->min_ns = ns;
		t->min_at_ns = at_ns;
	}
	t->nr++;
	t->total_ns += ns;
}

static void add_stats(struct event_time_stats *to, const struct event_time_stats *from)
{
	if (from->nr && (!to->nr || from->max_ns > to->max_ns)) {
		to->max_ns = from->max_ns;
		to->max_at_ns = from->max_at_ns;
	}
	if (from->nr && (!to->nr || from->min_ns < to->min_ns)) {
		to->min_ns = from->min_ns;
		to->min_at_ns = from->min_at_ns;
	}
	to->nr += from->nr;
	to->total_ns += from->total_ns;
}

static struct event_time *row_of(struct event_times *t, s64 task, u32 rule, u64 key,
				 const struct schema *event)
{
	for (u64 seed = hash_seed();; seed++) {
		u64 hash = hash_words((const u64[]){ (u64)task, rule, key, event->id }, 4, seed);
		u32 index = dict_get(&t->row_of, hash);
		if (index == DICT_NONE) {
			struct event_time *r = t->rows.nr < DICT_NONE ? vec_push(&t->rows) : NULL;
			if (!r || dict_add(&t->row_of, hash, (u32)t->rows.nr - 1, &index))
				return NULL;
			*r = (struct event_time){
				.task = task, .rule = rule, .key = key, .event = event
			};
			return r;
		}
		struct event_time *r = &t->rows.at[index];
		if (r->task == task && r->rule == rule && r->key == key && r->event == event)
			return r;
	}
}

static struct event_time_stack *stack_of(struct event_times *t, struct event_time *r,
					 const u64 *addrs, u32 nr)
{
	u64 hash = hash_words(addrs, nr, hash_seed() + (u64)(r - t->rows.at));
	u32 index;
	for (; (index = dict_get(&t->stack_of, hash)) != DICT_NONE; hash = hash_u64(hash + 1)) {
		struct event_time_stack *s = index < r->stacks.nr ? &r->stacks.at[index] : NULL;
		if (s && s->nr_addrs == nr && !memcmp(s->addrs, addrs, nr * sizeof(*addrs)))
			return s;
	}
	u64 *copy = arena_alloc(&t->arena, nr * sizeof(*copy));
	struct event_time_stack *s = copy ? vec_push(&r->stacks) : NULL;
	if (!s || dict_add(&t->stack_of, hash, (u32)r->stacks.nr - 1, &index))
		return NULL;
	memcpy(copy, addrs, nr * sizeof(*copy));
	*s = (struct event_time_stack){ .addrs = copy, .nr_addrs = nr };
	return s;
}

static s64 task_of(const struct event_times *t, const struct thing *th, const struct event_at *e)
{
	u64 pid;
	if (th->of_cpu || (th->irq && t->o.irqs_by_cpu))
		return EVENT_TIME_CPU(e->cpu);
	if (!th->task || !event_at_u64(e, th->task, &pid))
		pid = (u64)(s64)e->tid;
	return (s32)pid ? (s32)pid : EVENT_TIME_IDLE(e->cpu);
}

static int learn(struct event_times *t, const struct event_at *e, const char *pid_field,
		 const char *comm_field)
{
	const struct schema_field *f = schema_find(e->schema, comm_field);
	u64 pid;
	u32 len, index;
	const char *comm = f ? schema_bytes(e->schema, f, e->raw, e->size, &len) : NULL;
	if (!comm || !event_at_u64(e, pid_field, &pid))
		return 0;
	s64 task = (s32)pid ? (s32)pid : EVENT_TIME_IDLE(e->cpu);
	if (dict_add(&t->comm_of, (u64)task, (u32)t->comms.nr, &index) < 0)
		return -ENOMEM;
	if (index == t->comms.nr && !vec_push(&t->comms))
		return -ENOMEM;
	const char *known = t->comms.at[index];
	if (known && !strncmp(known, comm, len) && !known[len])
		return 0;
	t->comms.at[index] = arena_strndup(&t->arena, comm, len);
	return t->comms.at[index] ? 0 : -ENOMEM;
}

static int on_match(void *ctx, const struct event_pair_match *m)
{
	struct event_times *t = ctx;
	const struct thing *th = &t->all[m->rule];
	u64 key = 0, ns = event_pair_ns(m);
	if (th->kind == EVENT_TIME_RUN) {
		int err = learn(t, &m->end, "prev_pid", "prev_comm");
		if (err)
			return err;
	}
	if (th->key)
		(void)event_at_u64(&m->start, th->key, &key);
	if (th->kind == EVENT_TIME_NOTHING)
		return 0;
	struct event_time *r = row_of(t, task_of(t, th, &m->start),
				      th->group ? th->group - NR_MAX + 1 : m->rule + NR_GROUPS, key,
				      m->start.schema);
	if (!r)
		return -ENOMEM;
	r->kind = th->kind;
	r->label = th->label;
	add_time(&r->t, ns, m->end.time_ns);
	if (!m->nr_stack || th->kind == EVENT_TIME_RUN)
		return 0;
	struct event_time_stack *s = stack_of(t, r, m->stack, m->nr_stack);
	if (s)
		add_time(&s->t, ns, m->end.time_ns);
	return s ? 0 : -ENOMEM;
}

static int on_other(void *ctx, const struct event_at *e)
{
	struct event_times *t = ctx;
	u64 key = 0;
	/* The function tracer's: a row for each function. */
	bool function = !strcmp(e->schema->name, "function") &&
			!strcmp(e->schema->system, "ftrace") && event_at_u64(e, "ip", &key);
	struct event_time *r =
		row_of(t, e->tid ? e->tid : EVENT_TIME_IDLE(e->cpu), COUNT_RULE, key, e->schema);
	if (!r)
		return -ENOMEM;
	r->kind = EVENT_TIME_COUNT;
	if (function)
		r->label = EVENT_TIME_FUNC;
	r->t.nr++;
	return 0;
}

static bool wanted(void *ctx, const struct sample *s)
{
	const struct event_times *t = ctx;
	return t->o.keep(t->o.ctx, s);
}

int event_times_new(const struct event_times_opts *o, struct event_times **ret, struct diag *d)
{
	struct event_pair_rule rules[NR_THINGS + HOOKS_MAX];
	struct event_times *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->o = *o;
	arena_init(&t->arena);
	dict_init(&t->row_of);
	dict_init(&t->stack_of);
	dict_init(&t->comm_of);
	memcpy(t->all, things, sizeof(things));
	int err = 0;
	for (u32 i = 0; i < o->nr_hooks && !err; i++)
		err = add_hook(t, o->hooks[i], d);
	for (u32 i = 0; i < NR_THINGS + t->nr_hooks; i++) {
		rules[i] = t->all[i].rule;
		rules[i].group = t->all[i].group ? t->all[i].group : i;
	}
	if (!err)
		t->pair = event_pair_new(&(struct event_pair_opts){
			.rules = rules,
			.nr_rules = NR_THINGS + t->nr_hooks,
			.ctx = t,
			.match = on_match,
			.other = on_other,
			.keep = o->keep ? wanted : NULL,
		});
	if (!err && !t->pair)
		err = -ENOMEM;
	if (err)
		event_times_free(t);
	else
		*ret = t;
	return err;
}

static void free_rows(struct event_times *t)
{
	vec_for_each (&t->rows, r)
		vec_free(&r->stacks);
	vec_free(&t->rows);
}

void event_times_free(struct event_times *t)
{
	if (!t)
		return;
	event_pair_free(t->pair);
	free_rows(t);
	vec_free(&t->comms);
	dict_done(&t->row_of);
	dict_done(&t->stack_of);
	dict_done(&t->comm_of);
	arena_done(&t->arena);
	free(t);
}

struct sink *event_times_sink(struct event_times *t)
{
	return event_pair_sink(t->pair);
}

/* ---- afterwards ---- */

static bool is_cpu(s64 task)
{
	return task > INT32_MAX;
}

static int compare_u64(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

static int compare_tasks(s64 a, s64 b)
{
	if (is_cpu(a) || is_cpu(b) || (a < 0 && b < 0))
		return a > b ? -1 : a < b; /* CPUs, then idle tasks, by CPU */
	return a < b ? -1 : a > b;
}

static int compare_rows(const void *pa, const void *pb)
{
	const struct event_time *a = pa, *b = pb;
	int c = compare_tasks(a->task, b->task);
	if (!c)
		c = compare_u64(a->rule, b->rule);
	if (!c)
		c = compare_u64(b->t.total_ns, a->t.total_ns);
	if (!c)
		c = compare_u64(b->t.nr, a->t.nr);
	if (!c)
		c = compare_u64(a->key, b->key);
	return c ? c : compare_u64(a->event->id, b->event->id);
}

static int compare_stacks(const void *pa, const void *pb)
{
	const struct event_time_stack *a = pa, *b = pb;
	for (u32 i = 0; i < min(a->nr_addrs, b->nr_addrs); i++)
		if (a->addrs[i] != b->addrs[i])
			return compare_u64(a->addrs[i], b->addrs[i]);
	return compare_u64(a->nr_addrs, b->nr_addrs);
}

static int add_row(struct event_times *t, struct event_time *from, s64 task)
{
	struct event_time *to = row_of(t, task, from->rule, from->key, from->event);
	if (!to)
		return -ENOMEM;
	to->kind = from->kind;
	to->label = from->label;
	add_stats(&to->t, &from->t);
	vec_for_each (&from->stacks, s) {
		struct event_time_stack *own = stack_of(t, to, s->addrs, s->nr_addrs);
		if (!own)
			return -ENOMEM;
		add_stats(&own->t, &s->t);
	}
	return 0;
}

static int join_comms(struct event_times *t, const char *(*comm_of)(void *ctx, s64 task), void *ctx)
{
	struct event_times old = *t;
	struct dict first;
	int err = 0;
	memset(&t->rows, 0, sizeof(t->rows));
	dict_init(&t->row_of);
	dict_init(&t->stack_of);
	dict_init(&first);
	for (size_t i = 0; i < old.rows.nr && !err; i++) {
		struct event_time *r = &old.rows.at[i];
		const char *comm = is_cpu(r->task) ? NULL : comm_of(ctx, r->task);
		u32 index = (u32)i;
		s64 task = r->task;
		if (comm) {
			err = dict_add(&first, hash_bytes(comm, strlen(comm)), (u32)i, &index);
			task = old.rows.at[index].task;
		}
		/* A pid that only tells apart what is one task now. */
		if (r->kind == EVENT_TIME_WAKE)
			r->key = (u64)task;
		if (!err)
			err = add_row(t, r, task);
	}
	dict_done(&first);
	dict_done(&old.row_of);
	dict_done(&old.stack_of);
	free_rows(&old);
	return err;
}

int event_times_finish(struct event_times *t, bool by_comm,
		       const char *(*comm_of)(void *ctx, s64 task), void *ctx)
{
	if (t->rows.nr)
		qsort(t->rows.at, t->rows.nr, sizeof(*t->rows.at), compare_rows);
	int err = by_comm ? join_comms(t, comm_of, ctx) : 0;
	if (!err && by_comm && t->rows.nr)
		qsort(t->rows.at, t->rows.nr, sizeof(*t->rows.at), compare_rows);
	vec_for_each (&t->rows, r)
		if (r->stacks.nr)
			qsort(r->stacks.at, r->stacks.nr, sizeof(*r->stacks.at), compare_stacks);
	return err;
}

size_t event_times_nr(const struct event_times *t)
{
	return t->rows.nr;
}

const struct event_time *event_times_row(const struct event_times *t, size_t i)
{
	return &t->rows.at[i];
}

const char *event_times_comm(const struct event_times *t, s64 task)
{
	u32 index = dict_get(&t->comm_of, (u64)task);
	return index == DICT_NONE ? NULL : t->comms.at[index];
}

u64 event_times_nr_gaps(const struct event_times *t)
{
	return event_pair_nr_gaps(t->pair);
}

int event_times_idle_hook(const struct event_times *t)
{
	for (u32 i = 0; i < t->nr_hooks; i++)
		if (!(event_pair_startable(t->pair) >> (NR_THINGS + i) & 1))
			return (int)i;
	return -1;
}

void event_times_state(u64 state, char to[16])
{
	static const char letters[] = "SDTtXZPI";
	char *at = to;
	for (unsigned i = 0; i < sizeof(letters) - 1; i++)
		if (state >> i & 1)
			*at++ = letters[i];
	if (at == to)
		*at++ = 'R';
	if (state & 0x100)
		*at++ = '+';
	*at = '\0';
}

const char *event_times_softirq(u64 vector)
{
	static const char *const names[] = { "HI",	 "TIMER",   "NET_TX", "NET_RX",	 "BLOCK",
					     "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };
	return vector < ARRAY_SIZE(names) ? names[vector] : NULL;
}
