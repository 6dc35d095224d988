#include "analysis/mem_held.h"

#include "base/dict.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum meaning { MEANS_UNKNOWN, MEANS_NOTHING, MEANS_ALLOC, MEANS_FREE };

struct mem_held_event_use {
	enum meaning means;
	const struct schema_field *site, *ptr, *req, *alloc, *node;
};

/* What a pointer stands for; forgotten only at the end, since the next allocation often has it again. */
struct held_memory {
	u64 ptr;
	u32 row;
	u32 req, alloc;
	s32 cpu;
	bool live;
	u64 nr_hits, nr_pingpong, total_req, total_alloc;
};

struct mem_held {
	struct sink sink;
	struct mem_held_env env;
	VEC(struct mem_held_event_use) uses;
	VEC(struct mem_held_row) rows;
	VEC(struct held_memory) held;
	struct dict row_of; /* function -> index */
	struct dict held_at; /* pointer -> index */
	u64 nr_events;
	struct kmem_totals totals;
};

static void find_use(const struct schema *s, struct mem_held_event_use *u)
{
	*u = (struct mem_held_event_use){ .means = MEANS_NOTHING };
	if (strcmp(s->system, "kmem"))
		return;
	u->ptr = schema_find(s, "ptr");
	u->site = schema_find(s, "call_site");
	u->req = schema_find(s, "bytes_req");
	u->alloc = schema_find(s, "bytes_alloc");
	u->node = schema_find(s, "node");
	if (u->ptr && u->site && u->req && u->alloc)
		u->means = MEANS_ALLOC;
	else if (u->ptr && (!strcmp(s->name, "kfree") || !strcmp(s->name, "kmem_cache_free")))
		u->means = MEANS_FREE;
}

static struct mem_held_row *row_of(struct mem_held *m, u64 site, u32 *index)
{
	u64 offset = 0;
	const char *name = m->env.symbol ? m->env.symbol(m->env.ctx, site, &offset) : NULL;
	u64 key = name ? site - offset : site;
	if (dict_add(&m->row_of, key, (u32)m->rows.nr, index) < 0)
		return NULL;
	if (*index == m->rows.nr) {
		struct mem_held_row *r = vec_push(&m->rows);
		if (!r)
			return NULL;
		*r = (struct mem_held_row){ .key = key, .name = name };
	}
	return &m->rows.at[*index];
}

static void give_back(struct mem_held *m, struct held_memory *h)
{
	if (!h->live)
		return;
	m->rows.at[h->row].alloc -= h->alloc;
	m->rows.at[h->row].req -= h->req;
	h->live = false;
}

static struct held_memory *held_of(struct mem_held *m, u64 ptr)
{
	u32 slot;
	if (dict_add(&m->held_at, ptr, (u32)m->held.nr, &slot) < 0)
		return NULL;
	if (slot < m->held.nr)
		return &m->held.at[slot];
	struct held_memory *h = vec_push(&m->held);
	if (h)
		h->ptr = ptr;
	return h;
}

static bool is_cross_node(const struct mem_held *m, const struct sample *s,
			  const struct mem_held_event_use *u)
{
	if (!u->node || !m->env.node_of)
		return false;
	int own = m->env.node_of(m->env.ctx, s->cpu);
	int node = (int)schema_u64(s->schema, u->node, s->raw, s->raw_size);
	return own >= 0 && node >= 0 && own != node;
}

static void count_alloc(struct mem_held *m, struct held_memory *h, struct mem_held_row *r)
{
	m->totals.nr_allocs++;
	m->totals.alloc += h->alloc;
	m->totals.req += h->req;
	h->nr_hits++;
	h->total_alloc += h->alloc;
	h->total_req += h->req;
	r->nr_hits++;
}

static int on_alloc(struct mem_held *m, const struct sample *s, const struct mem_held_event_use *u)
{
	u64 ptr = schema_u64(s->schema, u->ptr, s->raw, s->raw_size);
	u32 req = (u32)schema_u64(s->schema, u->req, s->raw, s->raw_size);
	u32 alloc = (u32)schema_u64(s->schema, u->alloc, s->raw, s->raw_size);
	u32 index;
	struct mem_held_row *r =
		row_of(m, schema_u64(s->schema, u->site, s->raw, s->raw_size), &index);
	struct held_memory *h = r ? held_of(m, ptr) : NULL;
	if (!h)
		return -ENOMEM;
	m->totals.nr_unseen_frees += h->live;
	give_back(m, h);
	h->row = index;
	h->req = req;
	h->alloc = alloc;
	h->cpu = s->cpu;
	h->live = true;
	count_alloc(m, h, r);
	m->totals.nr_cross_node += is_cross_node(m, s, u);
	r->alloc += alloc;
	r->req += req;
	r->total_alloc += alloc;
	r->total_req += req;
	r->max_alloc = max(r->max_alloc, r->alloc);
	r->max_req = max(r->max_req, r->req);
	r->max_waste = max(r->max_waste, r->alloc - r->req);
	return 0;
}

static void on_free(struct mem_held *m, const struct sample *s, const struct mem_held_event_use *u)
{
	u32 slot = dict_get(&m->held_at, schema_u64(s->schema, u->ptr, s->raw, s->raw_size));
	struct held_memory *h = slot != DICT_NONE ? &m->held.at[slot] : NULL;
	m->totals.nr_frees++;
	if (!h || !h->live) {
		m->totals.nr_unseen_allocs++;
		return;
	}
	bool elsewhere = h->cpu != s->cpu;
	h->nr_pingpong += elsewhere;
	m->rows.at[h->row].nr_pingpong += elsewhere;
	m->totals.freed += h->alloc;
	give_back(m, h);
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct mem_held *m = state;
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++) {
		const struct sample *s = &b->samples[i];
		if (!s->schema || !s->raw)
			continue;
		while (m->uses.nr <= s->event)
			if (!vec_push(&m->uses))
				return -ENOMEM;
		struct mem_held_event_use *u = &m->uses.at[s->event];
		if (u->means == MEANS_UNKNOWN)
			find_use(s->schema, u);
		if (u->means == MEANS_NOTHING)
			continue;
		m->nr_events++;
		if (u->means == MEANS_ALLOC)
			err = on_alloc(m, s, u);
		else
			on_free(m, s, u);
	}
	return err;
}

static int shard_new(struct sink *k, unsigned index, const struct shard *shard, void **state)
{
	*state = container_of(k, struct mem_held, sink);
	return index ? -EINVAL : 0;
}

static const struct sink_ops mem_held_ops = {
	.needs = NEED_ORDER | NEED_RAW,
	.shard_new = shard_new,
	.feed = feed,
};

struct mem_held *mem_held_new(const struct mem_held_env *env)
{
	struct mem_held *m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->sink = (struct sink){ .ops = &mem_held_ops, .needs = mem_held_ops.needs };
	m->env = *env;
	dict_init(&m->row_of);
	dict_init(&m->held_at);
	return m;
}

void mem_held_free(struct mem_held *m)
{
	if (!m)
		return;
	vec_free(&m->uses);
	vec_free(&m->rows);
	vec_free(&m->held);
	dict_done(&m->row_of);
	dict_done(&m->held_at);
	free(m);
}

struct sink *mem_held_sink(struct mem_held *m)
{
	return &m->sink;
}

/* Wasted bytes, then bytes held, then the function's place: every run prints the same. */
static int by_waste(const void *pa, const void *pb)
{
	const struct mem_held_row *a = pa, *b = pb;
	s64 x = a->alloc - a->req, y = b->alloc - b->req;
	if (x != y)
		return x < y ? 1 : -1;
	if (a->alloc != b->alloc)
		return a->alloc < b->alloc ? 1 : -1;
	return (a->key > b->key) - (a->key < b->key);
}

const struct mem_held_row *mem_held_rows(struct mem_held *m, size_t *nr)
{
	*nr = m->rows.nr;
	if (m->rows.nr)
		qsort(m->rows.at, m->rows.nr, sizeof(*m->rows.at), by_waste);
	return m->rows.at;
}

int mem_held_sites(const struct mem_held *m, struct kmem_row **ret, size_t *nr)
{
	struct kmem_row *rows = calloc(m->rows.nr + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < m->rows.nr; i++) {
		const struct mem_held_row *r = &m->rows.at[i];
		rows[i] = (struct kmem_row){ .key = r->key,
					     .name = r->name,
					     .alloc = (u64)r->total_alloc,
					     .req = (u64)r->total_req,
					     .held = (u64)r->alloc,
					     .nr_hits = r->nr_hits,
					     .nr_pingpong = r->nr_pingpong };
	}
	*ret = rows;
	*nr = m->rows.nr;
	return 0;
}

int mem_held_addresses(const struct mem_held *m, struct kmem_row **ret, size_t *nr)
{
	struct kmem_row *rows = calloc(m->held.nr + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < m->held.nr; i++) {
		const struct held_memory *h = &m->held.at[i];
		rows[i] = (struct kmem_row){ .key = h->ptr,
					     .alloc = h->total_alloc,
					     .req = h->total_req,
					     .held = h->live ? h->alloc : 0,
					     .nr_hits = h->nr_hits,
					     .nr_pingpong = h->nr_pingpong };
	}
	*ret = rows;
	*nr = m->held.nr;
	return 0;
}

struct kmem_totals mem_held_totals(const struct mem_held *m)
{
	return m->totals;
}

u64 mem_held_nr_events(const struct mem_held *m)
{
	return m->nr_events;
}
