#include "analysis/call_hist.h"

#include "base/dict.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum kind {
	KIND_EVENT,
	KIND_FUNCTION,
	KIND_ENTRY,
	KIND_EXIT,
	KIND_STACK,
	KIND_SWITCH,
	KIND_WAKEUP
};

enum { COMM_MAX = 16, NOBODY = -1, CHAIN_MAX = 1024, AWAY_SLACK = 64 };

/* A function, or an event. */
struct call_hist_place {
	u64 key;
	const char *name;
};

/* The functions that a task is in, outermost first. */
struct stack {
	VEC(struct call_hist_place) at;
	s32 pid; /* NOBODY: none */
	u32 below; /* put aside: the one of the same task that was before it, or CALL_HIST_NONE */
};

/* What is known of an event's format; made when the first one comes. */
struct call_hist_look {
	const struct schema *schema;
	enum kind kind;
	const struct schema_field *fields[4];
};

struct call_hist {
	struct sink sink;
	struct call_hist_env env;
	bool all_pids;
	u32 buffer;
	u64 total;
	u64 seed;
	VEC(struct call_hist_node) nodes;
	VEC(u32) rows; /* in the order they were made; finished: sorted */
	struct dict tasks; /* pid -> node */
	struct dict found; /* hash of (node, key) -> node below it */
	struct stack now, pending; /* pending: waits for the kernel stack that may follow an event */
	VEC(struct stack)
	away; /* of tasks that others came after; the latest last, gaps (NOBODY) between them */
	size_t nr_gaps;
	struct dict away_of; /* pid -> place in tops */
	VEC(u32) tops; /* a task's latest in away, or CALL_HIST_NONE */
	VEC(struct call_hist_look) looks; /* by event */
	struct dict comm_of; /* pid -> index */
	VEC(char *) comms;
};

static struct call_hist *hist_of(const struct sink *k)
{
	return container_of(k, struct call_hist, sink);
}

/* ---- the tree ---- */

static u32 add_node(struct call_hist *h, u32 parent, struct call_hist_place p)
{
	struct call_hist_node *n = h->nodes.nr < CALL_HIST_NONE ? vec_push(&h->nodes) : NULL;
	if (!n)
		return CALL_HIST_NONE;
	*n = (struct call_hist_node){ .key = p.key,
				      .name = p.name,
				      .parent = parent,
				      .first = CALL_HIST_NONE,
				      .next = CALL_HIST_NONE,
				      .pid = NOBODY };
	u32 index = (u32)h->nodes.nr - 1;
	if (parent != CALL_HIST_NONE) {
		/* The newest first: those that are as frequent stay in that order. */
		struct call_hist_node *above = &h->nodes.at[parent];
		h->nodes.at[index].next = above->first;
		above->first = index;
		above->nr++;
	}
	return index;
}

static u64 hash_of(const struct call_hist *h, u32 parent, u64 key)
{
	return hash_seeded(key ^ hash_u64(parent + 1ull), h->seed);
}

/* The node of a caller; two of one hash are told apart by looking at all. */
static u32 find_below(const struct call_hist *h, u32 parent, u64 key)
{
	u32 i = dict_get(&h->found, hash_of(h, parent, key));
	if (i == DICT_NONE)
		return CALL_HIST_NONE;
	if (h->nodes.at[i].parent == parent && h->nodes.at[i].key == key)
		return i;
	for (i = h->nodes.at[parent].first; i != CALL_HIST_NONE; i = h->nodes.at[i].next)
		if (h->nodes.at[i].key == key)
			return i;
	return CALL_HIST_NONE;
}

static u32 task_node(struct call_hist *h, s32 pid)
{
	u64 key = h->all_pids ? 0 : (u32)pid;
	u32 index = dict_get(&h->tasks, key), was;
	if (index != DICT_NONE)
		return index;
	index = add_node(h, CALL_HIST_NONE, (struct call_hist_place){ 0 });
	if (index == CALL_HIST_NONE || dict_add(&h->tasks, key, index, &was))
		return CALL_HIST_NONE;
	return index;
}

static int count_chain(struct call_hist *h, s32 pid, const struct stack *s, bool event)
{
	u32 at = task_node(h, pid), was;
	if (at == CALL_HIST_NONE)
		return -ENOMEM;
	h->total++;
	h->nodes.at[at].count++;
	for (size_t i = s->at.nr; i-- > 0;) {
		bool row = i + 1 == s->at.nr;
		u32 below = find_below(h, at, s->at.at[i].key);
		if (below == CALL_HIST_NONE) {
			below = add_node(h, at, s->at.at[i]);
			if (below == CALL_HIST_NONE ||
			    dict_add(&h->found, hash_of(h, at, s->at.at[i].key), below, &was))
				return -ENOMEM;
			u32 *slot = row ? vec_push(&h->rows) : NULL;
			if (row && !slot)
				return -ENOMEM;
			if (row) {
				*slot = below;
				h->nodes.at[below].pid = h->all_pids ? NOBODY : pid;
				h->nodes.at[below].event = event;
			}
		}
		at = below;
		h->nodes.at[at].count++;
	}
	return 0;
}

/* ---- stacks of tasks ---- */

/* No kernel stack is that deep: a file that says so is broken, and its chains start over. */
static int push(struct stack *s, struct call_hist_place p)
{
	if (s->at.nr >= CHAIN_MAX)
		s->at.nr = 0;
	struct call_hist_place *slot = vec_push(&s->at);
	if (!slot)
		return -ENOMEM;
	*slot = p;
	return 0;
}

static void empty(struct stack *s)
{
	s->at.nr = 0;
	s->pid = NOBODY;
}

/* Where a task's latest stack is noted; NULL: no memory. */
static u32 *top_of(struct call_hist *h, s32 pid)
{
	u32 slot;
	if (dict_add(&h->away_of, (u32)pid, (u32)h->tops.nr, &slot))
		return NULL;
	if (slot == h->tops.nr) {
		u32 *fresh = vec_push(&h->tops);
		if (!fresh)
			return NULL;
		*fresh = CALL_HIST_NONE;
	}
	return &h->tops.at[slot];
}

/* Tasks that take turns leave gaps: they are closed when there are more of them than stacks. */
static void close_gaps(struct call_hist *h)
{
	size_t nr = 0;
	vec_for_each (&h->tops, top)
		*top = CALL_HIST_NONE;
	vec_for_each (&h->away, s) {
		if (s->pid == NOBODY)
			continue;
		u32 *top = &h->tops.at[dict_get(&h->away_of, (u32)s->pid)];
		s->below = *top;
		*top = (u32)nr;
		h->away.at[nr++] = *s;
	}
	h->away.nr = nr;
	h->nr_gaps = 0;
}

static int set_aside(struct call_hist *h)
{
	if (h->nr_gaps > AWAY_SLACK && h->nr_gaps > h->away.nr / 2)
		close_gaps(h);
	u32 *top = top_of(h, h->now.pid);
	struct stack *slot = top && h->away.nr < CALL_HIST_NONE ? vec_push(&h->away) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = h->now;
	slot->below = *top;
	*top = (u32)h->away.nr - 1;
	h->now = (struct stack){ .pid = NOBODY };
	return 0;
}

static void take_back_task(struct call_hist *h, s32 pid)
{
	u32 task = dict_get(&h->away_of, (u32)pid);
	u32 top = task == DICT_NONE ? CALL_HIST_NONE : h->tops.at[task];
	if (top == CALL_HIST_NONE)
		return;
	vec_free(&h->now.at);
	h->now = h->away.at[top];
	h->tops.at[task] = h->now.below;
	h->away.at[top] = (struct stack){ .pid = NOBODY };
	h->nr_gaps++;
}

/* From now on functions are those of this task. */
static int turn_to(struct call_hist *h, s32 pid)
{
	if (h->now.pid != NOBODY && h->now.pid != pid) {
		int err = set_aside(h);
		if (err)
			return err;
		take_back_task(h, pid);
	}
	h->now.pid = pid;
	return 0;
}

static int copy_to_pending(struct call_hist *h, s32 pid)
{
	empty(&h->pending);
	for (size_t i = 0; i < h->now.at.nr; i++)
		if (push(&h->pending, h->now.at.at[i]))
			return -ENOMEM;
	h->pending.pid = pid;
	return 0;
}

/* ---- events ---- */

static struct call_hist_place function_at(const struct call_hist *h, u64 addr)
{
	u64 offset = 0;
	const char *name = h->env.symbol(h->env.ctx, addr, &offset);
	return (struct call_hist_place){ .key = name ? addr - offset : addr, .name = name };
}

static u64 field(const struct call_hist_look *l, unsigned i, const struct sample *s)
{
	return schema_u64(l->schema, l->fields[i], s->raw, s->raw_size);
}

/* A call by whoever is innermost goes on; by somebody further out, or nobody we know of, ends the chain. */
static int on_function(struct call_hist *h, const struct call_hist_look *l, const struct sample *s)
{
	struct call_hist_place func = function_at(h, field(l, 0, s)),
			       caller = function_at(h, field(l, 1, s));
	struct stack *now = &h->now;
	int err = turn_to(h, s->tid);
	if (!err && now->at.nr && now->at.at[now->at.nr - 1].key != caller.key) {
		err = count_chain(h, s->tid, now, false);
		while (now->at.nr && now->at.at[now->at.nr - 1].key != caller.key)
			now->at.nr--;
	}
	if (!err && !now->at.nr)
		err = push(now, caller);
	return err ? err : push(now, func);
}

/* Entries and returns say how deep they are. */
static int to_depth(struct call_hist *h, s32 pid, u64 depth)
{
	int err = turn_to(h, pid);
	if (!err && h->now.at.nr != depth) {
		err = count_chain(h, pid, &h->now, false);
		h->now.at.nr = (size_t)min((u64)h->now.at.nr, depth);
	}
	return err;
}

static int on_entry(struct call_hist *h, const struct call_hist_look *l, const struct sample *s)
{
	int err = to_depth(h, s->tid, field(l, 1, s));
	return err ? err : push(&h->now, function_at(h, field(l, 0, s)));
}

static int push_callers(struct call_hist *h, const struct call_hist_look *l, const struct sample *s)
{
	struct schema_field addr = { .offset = l->fields[0]->offset, .size = l->schema->long_size };
	u32 first = addr.offset, size = addr.size, end = first;
	while (end + size <= s->raw_size) {
		addr.offset = end;
		u64 v = schema_u64(l->schema, &addr, s->raw, s->raw_size);
		if (size == 8 ? v == UINT64_MAX || (u32)v == UINT32_MAX : (u32)v == UINT32_MAX)
			break;
		end += size;
	}
	while (end > first) {
		end -= size;
		addr.offset = end;
		struct call_hist_place p =
			function_at(h, schema_u64(l->schema, &addr, s->raw, s->raw_size));
		if (p.name && push(&h->now, p))
			return -ENOMEM;
	}
	return 0;
}

/* The stack of the event before it; of a function when no event waits. */
static int on_stack(struct call_hist *h, const struct call_hist_look *l, const struct sample *s)
{
	bool others = false;
	int err = 0;
	if (h->pending.pid != NOBODY && h->pending.pid != s->tid) {
		empty(&h->pending);
		return 0;
	}
	if (h->now.pid != NOBODY && h->pending.pid != NOBODY) {
		err = set_aside(h);
		others = true;
	} else if (h->now.pid != NOBODY) {
		err = copy_to_pending(h, h->now.pid);
		h->now.at.nr = 0;
	}
	h->now.pid = s->tid;
	if (!err)
		err = push_callers(h, l, s);
	if (!err && h->pending.pid != NOBODY) {
		if (h->pending.at.nr)
			err = push(&h->now, h->pending.at.at[h->pending.at.nr - 1]);
		empty(&h->pending);
	}
	if (!err)
		err = count_chain(h, s->tid, &h->now, true);
	if (!err && others)
		take_back_task(h, s->tid);
	return err;
}

static int learn(struct call_hist *h, const struct call_hist_look *l, unsigned comm,
		 const struct sample *s)
{
	u32 len, index;
	s32 pid = (s32)field(l, comm + 1, s);
	const char *name = schema_bytes(l->schema, l->fields[comm], s->raw, s->raw_size, &len);
	if (!name || dict_get(&h->comm_of, (u32)pid) != DICT_NONE)
		return 0;
	char **slot = vec_push(&h->comms);
	if (!slot || !(*slot = strndup(name, min(len, (u32)COMM_MAX))))
		return -ENOMEM;
	return dict_add(&h->comm_of, (u32)pid, (u32)h->comms.nr - 1, &index);
}

/* Its stack, if there is one, comes after it. */
static int on_event(struct call_hist *h, const struct sample *s)
{
	int err = 0;
	if (h->pending.pid != NOBODY)
		err = count_chain(h, h->pending.pid, &h->pending, true);
	if (!err)
		err = copy_to_pending(h, s->tid);
	struct call_hist_place p = { .key = ~(u64)s->event,
				     .name = h->env.event_name(h->env.ctx, s->event) };
	return err ? err : push(&h->pending, p);
}

static bool find_fields(struct call_hist_look *l, const char *a, const char *b, const char *c,
			const char *d)
{
	const char *names[] = { a, b, c, d };
	for (unsigned i = 0; i < ARRAY_SIZE(names) && names[i]; i++)
		if (!(l->fields[i] = schema_find(l->schema, names[i])))
			return false;
	return true;
}

static enum kind kind_of(struct call_hist_look *l)
{
	static const struct {
		const char *system, *name;
		enum kind kind;
		const char *fields[4];
	} kinds[] = {
		{ "ftrace", "function", KIND_FUNCTION, { "ip", "parent_ip" } },
		{ "ftrace", "funcgraph_entry", KIND_ENTRY, { "func", "depth" } },
		{ "ftrace", "funcgraph_exit", KIND_EXIT, { "depth" } },
		{ "ftrace", "kernel_stack", KIND_STACK, { "caller" } },
		{ "sched",
		  "sched_switch",
		  KIND_SWITCH,
		  { "prev_comm", "prev_pid", "next_comm", "next_pid" } },
		{ "sched", "sched_wakeup", KIND_WAKEUP, { "comm", "pid" } },
		{ "sched", "sched_wakeup_new", KIND_WAKEUP, { "comm", "pid" } },
	};
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *const *f = kinds[i].fields;
		if (!strcmp(l->schema->name, kinds[i].name) &&
		    !strcmp(l->schema->system, kinds[i].system) &&
		    find_fields(l, f[0], f[1], f[2], f[3]))
			return kinds[i].kind;
	}
	return KIND_EVENT;
}

static const struct call_hist_look *look_of(struct call_hist *h, const struct sample *s)
{
	while (h->looks.nr <= s->event)
		if (!vec_push(&h->looks))
			return NULL;
	struct call_hist_look *l = &h->looks.at[s->event];
	if (l->schema != s->schema) { /* the first one, or that of the next CPU's run */
		*l = (struct call_hist_look){ .schema = s->schema };
		l->kind = kind_of(l);
	}
	return l;
}

static int take(struct call_hist *h, const struct sample *s)
{
	int err = 0;
	if (s->missed && h->now.pid != NOBODY) {
		err = count_chain(h, h->now.pid, &h->now, false);
		empty(&h->now);
	}
	if (err || !s->schema)
		return err;
	const struct call_hist_look *l = look_of(h, s);
	if (!l)
		return -ENOMEM;
	switch (l->kind) {
	case KIND_FUNCTION: return on_function(h, l, s);
	case KIND_ENTRY: return on_entry(h, l, s);
	case KIND_EXIT: return to_depth(h, s->tid, field(l, 0, s));
	case KIND_STACK: return on_stack(h, l, s);
	case KIND_SWITCH:
		err = learn(h, l, 0, s);
		if (!err)
			err = learn(h, l, 2, s);
		break;
	case KIND_WAKEUP: err = learn(h, l, 0, s); break;
	case KIND_EVENT: break;
	}
	return err ? err : on_event(h, s);
}

/* ---- the sink ---- */

static int shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = hist_of(k);
	/* Schemas are of the run: a new one may have others at the same place. */
	hist_of(k)->looks.nr = 0;
	return 0;
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct call_hist *h = state;
	for (size_t i = 0; i < b->nr; i++) {
		int err = b->samples[i].buffer == h->buffer ? take(h, &b->samples[i]) : 0;
		if (err)
			return err;
	}
	return 0;
}

static const struct sink_ops call_hist_ops = {
	.needs = NEED_ORDER | NEED_RAW,
	.shard_new = shard_new,
	.feed = feed,
};

struct call_hist *call_hist_new(const struct call_hist_env *env, bool all_pids, u32 buffer)
{
	struct call_hist *h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->sink = (struct sink){ .ops = &call_hist_ops, .needs = call_hist_ops.needs };
	h->env = *env;
	h->all_pids = all_pids;
	h->buffer = buffer;
	h->seed = hash_seed();
	h->now.pid = h->pending.pid = NOBODY;
	dict_init(&h->tasks);
	dict_init(&h->found);
	dict_init(&h->comm_of);
	dict_init(&h->away_of);
	return h;
}

void call_hist_free(struct call_hist *h)
{
	if (!h)
		return;
	vec_free(&h->nodes);
	vec_free(&h->rows);
	vec_free(&h->now.at);
	vec_free(&h->pending.at);
	vec_for_each (&h->away, s)
		vec_free(&s->at);
	vec_free(&h->away);
	vec_free(&h->tops);
	vec_free(&h->looks);
	vec_for_each (&h->comms, comm)
		free(*comm);
	vec_free(&h->comms);
	dict_done(&h->tasks);
	dict_done(&h->found);
	dict_done(&h->comm_of);
	dict_done(&h->away_of);
	free(h);
}

struct sink *call_hist_sink(struct call_hist *h)
{
	return &h->sink;
}

/* ---- the end ---- */

/* Indexes grow with the order of making; the newest stands first among equals. */
static int by_count(const void *a, const void *b, void *ctx)
{
	const struct call_hist *h = ctx;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	u64 cx = h->nodes.at[x].count, cy = h->nodes.at[y].count;
	return cx != cy ? (cx < cy ? 1 : -1) : x < y ? 1 : x > y ? -1 : 0;
}

static void sort_below(struct call_hist *h, u32 index, u32 *scratch)
{
	u32 nr = 0;
	for (u32 i = h->nodes.at[index].first; i != CALL_HIST_NONE; i = h->nodes.at[i].next)
		scratch[nr++] = i;
	qsort_r(scratch, nr, sizeof(*scratch), by_count, h);
	u32 *link = &h->nodes.at[index].first;
	for (u32 i = 0; i < nr; i++) {
		*link = scratch[i];
		link = &h->nodes.at[scratch[i]].next;
	}
	*link = CALL_HIST_NONE;
}

static int count_open(struct call_hist *h)
{
	int err = 0;
	if (h->now.pid != NOBODY)
		err = count_chain(h, h->now.pid, &h->now, false);
	if (!err && h->pending.pid != NOBODY)
		err = count_chain(h, h->pending.pid, &h->pending, true);
	for (size_t i = h->away.nr; i-- > 0 && !err;)
		if (h->away.at[i].pid != NOBODY)
			err = count_chain(h, h->away.at[i].pid, &h->away.at[i], false);
	return err;
}

int call_hist_finish(struct call_hist *h)
{
	int err = count_open(h);
	u32 *scratch = err ? NULL : calloc(h->nodes.nr + 1, sizeof(*scratch));
	if (!scratch)
		return err ? err : -ENOMEM;
	for (u32 i = 0; i < h->nodes.nr; i++)
		sort_below(h, i, scratch);
	free(scratch);
	if (h->rows.nr)
		qsort_r(h->rows.at, h->rows.nr, sizeof(*h->rows.at), by_count, h);
	return 0;
}

u64 call_hist_total(const struct call_hist *h)
{
	return h->total;
}

size_t call_hist_nr_rows(const struct call_hist *h)
{
	return h->rows.nr;
}

const struct call_hist_node *call_hist_row(const struct call_hist *h, size_t i)
{
	return &h->nodes.at[h->rows.at[i]];
}

const struct call_hist_node *call_hist_node(const struct call_hist *h, u32 index)
{
	return index == CALL_HIST_NONE ? NULL : &h->nodes.at[index];
}

const char *call_hist_comm(const struct call_hist *h, s32 pid)
{
	u32 index = dict_get(&h->comm_of, (u32)pid);
	return index == DICT_NONE ? NULL : h->comms.at[index];
}
