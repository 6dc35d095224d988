/*
 * A task has a stack of open calls. The kernel tells the depth with every event, so that a lost one does not shift the rest:
 *
 *	entry main depth 0        frames  main
 *	entry read depth 1                main read
 *	exit  read depth 1, 5 us          main (5 us inside)       read: total 5, self 5
 *	exit  main depth 0, 9 us                                   main: total 9, self 4
 *
 * The idle task is one per CPU. After a gap in a buffer nothing is known about what is open there.
 */
#include "analysis/graph_time.h"

#include "base/turns.h"

#include <errno.h>
#include <string.h>

enum { DEPTH_MAX = 1024 };

enum call_kind { CALL_NONE, CALL_OTHER, CALL_ENTRY, CALL_EXIT, CALL_GAP };

/* What a block says about calls. */
struct call {
	enum call_kind kind;
	u32 depth;
	s64 task;
	u64 func;
	u64 time_ns;
	u64 ns; /* CALL_EXIT: how long; UINT64_MAX: the event does not tell */
};

/* How to read one kind of event. */
struct reader {
	enum call_kind kind;
	const struct schema_field *func, *depth, *start, *end;
};

struct open_call {
	u64 func; /* address; 0: its start was not recorded */
	u32 node;
	u64 inside_ns; /* what calls inside took */
	u64 start_ns;
	bool counted; /* in graph_func.active */
};

struct task {
	VEC(struct open_call) frames;
};

struct shard_state {
	struct reader *readers; /* by event */
	size_t nr_readers;
	VEC(struct call) calls;
};

struct graph_time {
	struct sink sink;
	struct turns turns;
	struct dict func_of, node_of, task_of;
	VEC(struct graph_func) funcs;
	VEC(struct graph_node) nodes;
	VEC(struct task) tasks;
	u64 nr_headless, nr_gaps;
};

static struct graph_time *graph_of(const struct sink *k)
{
	return container_of(k, struct graph_time, sink);
}

/* ---- picking calls out of a block ---- */

static struct reader make_reader(const struct schema *s)
{
	struct reader r = { .kind = CALL_OTHER };
	bool entry = !strcmp(s->name, "funcgraph_entry");
	if (strcmp(s->system, "ftrace") || (!entry && strcmp(s->name, "funcgraph_exit")))
		return r;
	r.func = schema_find(s, "func");
	r.depth = schema_find(s, "depth");
	r.start = schema_find(s, "calltime");
	r.end = schema_find(s, "rettime");
	if (r.func && r.depth)
		r.kind = entry ? CALL_ENTRY : CALL_EXIT;
	return r;
}

/* The idle task runs on all CPUs at once. */
static s64 task_key(const struct sample *s)
{
	return s->tid ? s->tid : -1 - (s64)s->cpu;
}

static int add_call(struct shard_state *st, const struct sample *s, const struct reader *r)
{
	struct call *c = vec_push(&st->calls);
	if (!c)
		return -ENOMEM;
	*c = (struct call){ .kind = r->kind,
			    .task = task_key(s),
			    .func = schema_u64(s->schema, r->func, s->raw, s->raw_size),
			    .depth = (u32)schema_u64(s->schema, r->depth, s->raw, s->raw_size),
			    .time_ns = s->time_ns,
			    .ns = UINT64_MAX };
	if (r->kind == CALL_EXIT && r->start && r->end)
		c->ns = schema_u64(s->schema, r->end, s->raw, s->raw_size) -
			schema_u64(s->schema, r->start, s->raw, s->raw_size);
	return 0;
}

static int add_gap(struct shard_state *st)
{
	struct call *c = vec_push(&st->calls);
	if (!c)
		return -ENOMEM;
	c->kind = CALL_GAP;
	return 0;
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct shard_state *st = state;
	for (size_t i = 0; i < b->nr; i++) {
		const struct sample *s = &b->samples[i];
		int err = s->missed ? add_gap(st) : 0;
		if (err)
			return err;
		if (!s->schema)
			continue;
		while (s->event >= st->nr_readers) {
			size_t nr = max((size_t)s->event + 1, 2 * st->nr_readers);
			struct reader *grown = realloc(st->readers, nr * sizeof(*grown));
			if (!grown)
				return -ENOMEM;
			memset(grown + st->nr_readers, 0, (nr - st->nr_readers) * sizeof(*grown));
			st->readers = grown;
			st->nr_readers = nr;
		}
		struct reader *r = &st->readers[s->event];
		if (r->kind == CALL_NONE)
			*r = make_reader(s->schema);
		if (r->kind != CALL_OTHER && (err = add_call(st, s, r)))
			return err;
	}
	return 0;
}

/* ---- adding up, in order ---- */

static int func_index(struct graph_time *g, u64 addr, u32 *ret)
{
	int added = dict_add(&g->func_of, addr, (u32)g->funcs.nr, ret);
	if (added < 0 || *ret < g->funcs.nr)
		return min(added, 0);
	struct graph_func *f = vec_push(&g->funcs);
	if (!f)
		return -ENOMEM;
	f->addr = addr;
	return 0;
}

static int node_index(struct graph_time *g, u32 parent, u32 func, u32 *ret)
{
	int added = dict_add(&g->node_of, (u64)parent << 32 | func, (u32)g->nodes.nr, ret);
	if (added < 0 || *ret < g->nodes.nr)
		return min(added, 0);
	struct graph_node *n = vec_push(&g->nodes);
	if (!n)
		return -ENOMEM;
	*n = (struct graph_node){ .func = func, .parent = parent };
	return 0;
}

static struct task *task_of(struct graph_time *g, s64 key)
{
	u32 index;
	if (dict_add(&g->task_of, (u64)key, (u32)g->tasks.nr, &index) < 0)
		return NULL;
	if (index == g->tasks.nr && !vec_push(&g->tasks))
		return NULL;
	return &g->tasks.at[index];
}

/* Closes what is open from this depth on: its ends were not recorded. */
static void cut(struct graph_time *g, struct task *t, u32 depth)
{
	for (size_t i = depth; i < t->frames.nr; i++) {
		u32 func = t->frames.at[i].counted ? dict_get(&g->func_of, t->frames.at[i].func)
						   : DICT_NONE;
		if (func != DICT_NONE)
			g->funcs.at[func].active--;
	}
	t->frames.nr = min(t->frames.nr, (size_t)depth);
}

static int enter(struct graph_time *g, struct task *t, const struct call *c)
{
	u32 func, node;
	cut(g, t, c->depth);
	while (t->frames.nr < c->depth)
		if (!vec_push(&t->frames))
			return -ENOMEM;
	int err = func_index(g, c->func, &func);
	if (!err)
		err = node_index(g, c->depth ? t->frames.at[c->depth - 1].node : 0, func, &node);
	struct open_call *f = err ? NULL : vec_push(&t->frames);
	if (!f)
		return err ? err : -ENOMEM;
	*f = (struct open_call){
		.func = c->func, .node = node, .start_ns = c->time_ns, .counted = true
	};
	g->funcs.at[func].active++;
	return 0;
}

static int leave(struct graph_time *g, struct task *t, const struct call *c)
{
	struct open_call own = { 0 };
	u32 func;
	int err = func_index(g, c->func, &func);
	if (err)
		return err;
	if (t->frames.nr > c->depth)
		own = t->frames.at[c->depth];
	bool known = own.counted && own.func == c->func;
	cut(g, t, c->depth);
	if (!known)
		g->nr_headless++;
	u64 ns = c->ns != UINT64_MAX ? c->ns : c->time_ns - own.start_ns;
	if (c->ns == UINT64_MAX && !known)
		return 0;
	struct graph_func *f = &g->funcs.at[func];
	u64 self = ns - min(ns, own.inside_ns);
	f->calls++;
	f->self_ns += self;
	f->total_ns += f->active ? 0 : ns;
	f->max_ns = max(f->max_ns, ns);
	if (known) {
		struct graph_node *n = &g->nodes.at[own.node];
		n->calls++;
		n->total_ns += ns;
		n->self_ns += self;
	}
	if (!c->depth)
		return 0;
	while (t->frames.nr < c->depth)
		if (!vec_push(&t->frames))
			return -ENOMEM;
	t->frames.at[c->depth - 1].inside_ns += ns;
	return 0;
}

static int take(struct graph_time *g, const struct call *c)
{
	if (c->kind == CALL_GAP) {
		g->nr_gaps++;
		vec_for_each (&g->tasks, t)
			cut(g, t, 0);
		return 0;
	}
	if (c->depth >= DEPTH_MAX)
		return 0;
	struct task *t = task_of(g, c->task);
	if (!t)
		return -ENOMEM;
	return c->kind == CALL_ENTRY ? enter(g, t, c) : leave(g, t, c);
}

static int block_done(struct sink *k, void *state, u64 seq)
{
	struct graph_time *g = graph_of(k);
	struct shard_state *st = state;
	if (!turns_wait(&g->turns, seq))
		return -ECANCELED;
	int err = 0;
	for (size_t i = 0; i < st->calls.nr && !err; i++)
		err = take(g, &st->calls.at[i]);
	st->calls.nr = 0;
	turns_end(&g->turns, err != 0);
	return err;
}

/* ---- the sink ---- */

static int shard_new(struct sink *k, unsigned index, const struct shard *shard, void **state)
{
	*state = calloc(1, sizeof(struct shard_state));
	return *state ? 0 : -ENOMEM;
}

static void shard_free(struct sink *k, void *state)
{
	struct shard_state *st = state;
	free(st->readers);
	vec_free(&st->calls);
	free(st);
}

static int merge(struct sink *k, void *state, const u32 *map_frame, const u32 *map_chain)
{
	return 0;
}

static void cancel(struct sink *k)
{
	turns_cancel(&graph_of(k)->turns);
}

static const struct sink_ops graph_ops = {
	.needs = NEED_ORDER | NEED_RAW,
	.shard_new = shard_new,
	.feed = feed,
	.block_done = block_done,
	.merge = merge,
	.shard_free = shard_free,
	.cancel = cancel,
};

struct graph_time *graph_time_new(void)
{
	struct graph_time *g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->sink = (struct sink){ .ops = &graph_ops, .needs = graph_ops.needs };
	turns_init(&g->turns);
	dict_init(&g->func_of);
	dict_init(&g->node_of);
	dict_init(&g->task_of);
	if (!vec_push(&g->nodes)) {
		graph_time_free(g);
		return NULL;
	}
	return g;
}

void graph_time_free(struct graph_time *g)
{
	if (!g)
		return;
	vec_for_each (&g->tasks, t)
		vec_free(&t->frames);
	vec_free(&g->tasks);
	vec_free(&g->funcs);
	vec_free(&g->nodes);
	dict_done(&g->func_of);
	dict_done(&g->node_of);
	dict_done(&g->task_of);
	turns_done(&g->turns);
	free(g);
}

struct sink *graph_time_sink(struct graph_time *g)
{
	return &g->sink;
}

size_t graph_time_nr_funcs(const struct graph_time *g)
{
	return g->funcs.nr;
}

const struct graph_func *graph_time_func(const struct graph_time *g, size_t i)
{
	return &g->funcs.at[i];
}

size_t graph_time_nr_nodes(const struct graph_time *g)
{
	return g->nodes.nr;
}

const struct graph_node *graph_time_node(const struct graph_time *g, size_t i)
{
	return &g->nodes.at[i];
}

u64 graph_time_nr_open(const struct graph_time *g)
{
	u64 nr = 0;
	vec_for_each (&g->tasks, t)
		vec_for_each (&t->frames, f)
			nr += f->counted;
	return nr;
}

u64 graph_time_nr_headless(const struct graph_time *g)
{
	return g->nr_headless;
}

u64 graph_time_nr_gaps(const struct graph_time *g)
{
	return g->nr_gaps;
}
