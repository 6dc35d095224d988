/* Workers read calls out of their blocks; pairing them (model/calls) and adding up is done in the order of the blocks. */
#include "analysis/graph_time.h"

#include "base/sequencer.h"
#include "model/calls.h"

#include <errno.h>
#include <string.h>

struct graph_time_shard_state {
	struct call_reader *readers; /* by event */
	size_t nr_readers;
	VEC(struct call_event) calls;
};

struct graph_time {
	struct sink sink;
	struct sequencer turns;
	struct dict func_of, node_of;
	VEC(struct graph_func) funcs;
	VEC(struct graph_node) nodes;
	struct calls open; /* tags are nodes */
	u64 nr_headless, nr_gaps;
};

static struct graph_time *graph_of(const struct sink *k)
{
	return container_of(k, struct graph_time, sink);
}

/* ---- picking calls out of a block ---- */

static int add_call(struct graph_time_shard_state *st, const struct sample *s,
		    const struct call_reader *r)
{
	struct call_event *c = vec_push(&st->calls);
	if (!c)
		return -ENOMEM;
	*c = call_read(r, s);
	return 0;
}

static int add_gap(struct graph_time_shard_state *st)
{
	struct call_event *c = vec_push(&st->calls);
	if (!c)
		return -ENOMEM;
	c->kind = CALL_GAP;
	return 0;
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct graph_time_shard_state *st = state;
	for (size_t i = 0; i < b->nr; i++) {
		const struct sample *s = &b->samples[i];
		int err = s->missed ? add_gap(st) : 0;
		if (err)
			return err;
		if (!s->schema)
			continue;
		while (s->event >= st->nr_readers) {
			size_t nr = max((size_t)s->event + 1, 2 * st->nr_readers);
			struct call_reader *grown = realloc(st->readers, nr * sizeof(*grown));
			if (!grown)
				return -ENOMEM;
			memset(grown + st->nr_readers, 0, (nr - st->nr_readers) * sizeof(*grown));
			st->readers = grown;
			st->nr_readers = nr;
		}
		struct call_reader *r = &st->readers[s->event];
		if (r->kind == CALL_NONE)
			*r = call_reader_make(s->schema);
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

static void call_gone(void *ctx, const struct open_call *c)
{
	struct graph_time *g = ctx;
	u32 func = dict_get(&g->func_of, c->func);
	if (func != DICT_NONE)
		g->funcs.at[func].active--;
}

static int enter(struct graph_time *g, struct call_stack *s, const struct call_event *c)
{
	u32 func, node;
	struct open_call *f = calls_enter(&g->open, s, c);
	if (!f)
		return -ENOMEM;
	int err = func_index(g, c->func, &func);
	if (!err)
		err = node_index(g, c->depth ? f[-1].tag : 0, func, &node);
	if (err) {
		s->frames.nr--;
		return err;
	}
	f->tag = node;
	g->funcs.at[func].active++;
	return 0;
}

static int leave(struct graph_time *g, struct call_stack *s, const struct call_event *c)
{
	struct call_done done;
	u32 func;
	int err = func_index(g, c->func, &func);
	if (!err)
		err = calls_leave(&g->open, s, c, &done);
	if (err)
		return err;
	if (!done.known)
		g->nr_headless++;
	if (!done.timed)
		return 0;
	struct graph_func *f = &g->funcs.at[func];
	f->calls++;
	f->self_ns += done.self_ns;
	f->total_ns += f->active ? 0 : done.ns;
	f->max_ns = max(f->max_ns, done.ns);
	if (done.known) {
		struct graph_node *n = &g->nodes.at[done.tag];
		n->calls++;
		n->total_ns += done.ns;
		n->self_ns += done.self_ns;
	}
	return 0;
}

static int take(struct graph_time *g, const struct call_event *c)
{
	if (c->kind == CALL_GAP) {
		g->nr_gaps++;
		calls_gap(&g->open);
		return 0;
	}
	if (c->depth >= CALLS_DEPTH_MAX)
		return 0;
	struct call_stack *s = calls_stack(&g->open, c->task);
	if (!s)
		return -ENOMEM;
	return c->kind == CALL_ENTRY ? enter(g, s, c) : leave(g, s, c);
}

static int block_done(struct sink *k, void *state, u64 seq)
{
	struct graph_time *g = graph_of(k);
	struct graph_time_shard_state *st = state;
	if (!sequencer_wait(&g->turns, seq))
		return -ECANCELED;
	int err = 0;
	for (size_t i = 0; i < st->calls.nr && !err; i++)
		err = take(g, &st->calls.at[i]);
	st->calls.nr = 0;
	sequencer_end(&g->turns, err != 0);
	return err;
}

/* ---- the sink ---- */

static int shard_new(struct sink *k, unsigned index, const struct shard *shard, void **state)
{
	*state = calloc(1, sizeof(struct graph_time_shard_state));
	return *state ? 0 : -ENOMEM;
}

static void shard_free(struct sink *k, void *state)
{
	struct graph_time_shard_state *st = state;
	free(st->readers);
	vec_free(&st->calls);
	free(st);
}

static int round_done(struct sink *k, const struct run_tables *tables, const struct round *r)
{
	sequencer_restart(&graph_of(k)->turns);
	return 0;
}

static void cancel(struct sink *k)
{
	sequencer_cancel(&graph_of(k)->turns);
}

static const struct sink_ops graph_ops = {
	.needs = NEED_ORDER | NEED_RAW,
	.shard_new = shard_new,
	.feed = feed,
	.block_done = block_done,
	.round_done = round_done,
	.shard_free = shard_free,
	.cancel = cancel,
};

struct graph_time *graph_time_new(void)
{
	struct graph_time *g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->sink = (struct sink){ .ops = &graph_ops, .needs = graph_ops.needs };
	sequencer_init(&g->turns);
	dict_init(&g->func_of);
	dict_init(&g->node_of);
	g->open.gone = call_gone;
	g->open.ctx = g;
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
	calls_done(&g->open);
	vec_free(&g->funcs);
	vec_free(&g->nodes);
	dict_done(&g->func_of);
	dict_done(&g->node_of);
	sequencer_done(&g->turns);
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
	vec_for_each (&g->open.tasks, t)
		vec_for_each (&t->frames, f)
			nr += f->known;
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
