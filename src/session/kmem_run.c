#include "session/kmem_run.h"

#include "analysis/mem_held.h"
#include "base/cpuset.h"
#include "kern/machine.h"
#include "session/named_run.h"
#include "session/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- order ------------------------------------------------------------------------------------------------------ */

static const char *const key_names[KMEM_NR_KEYS] = {
	[KMEM_FRAG] = "frag",	      [KMEM_HIT] = "hit", [KMEM_BYTES] = "bytes",
	[KMEM_PINGPONG] = "pingpong", [KMEM_PTR] = "ptr", [KMEM_HELD] = "held",
};

int kmem_key_find(const char *name, size_t len)
{
	if (len == strlen("callsite") && !memcmp(name, "callsite", len))
		return KMEM_PTR;
	for (int i = 0; i < KMEM_NR_KEYS; i++)
		if (strlen(key_names[i]) == len && !memcmp(key_names[i], name, len))
			return i;
	return -1;
}

static int compare(const struct kmem_row *a, const struct kmem_row *b, enum kmem_key key)
{
	double x = kmem_waste(a->req, a->alloc), y = kmem_waste(b->req, b->alloc);
	switch (key) {
	case KMEM_FRAG: return (x < y) - (x > y);
	case KMEM_HIT: return (a->nr_hits < b->nr_hits) - (a->nr_hits > b->nr_hits);
	case KMEM_BYTES: return (a->alloc < b->alloc) - (a->alloc > b->alloc);
	case KMEM_PINGPONG:
		return (a->nr_pingpong < b->nr_pingpong) - (a->nr_pingpong > b->nr_pingpong);
	case KMEM_PTR: return (a->key < b->key) - (a->key > b->key);
	case KMEM_HELD: return (a->held < b->held) - (a->held > b->held);
	case KMEM_NR_KEYS: break;
	}
	return 0;
}

struct sort_keys {
	const enum kmem_key *keys;
	u32 nr;
};

/* Rows that are equal in all keys go by their address, upwards, so that every run prints the same. */
static int by_keys(const void *pa, const void *pb, void *ctx)
{
	const struct kmem_row *a = pa, *b = pb;
	const struct sort_keys *s = ctx;
	for (u32 i = 0; i < s->nr; i++) {
		int order = compare(a, b, s->keys[i]);
		if (order)
			return order;
	}
	return (a->key > b->key) - (a->key < b->key);
}

void kmem_sort(struct kmem_list *l, const enum kmem_key *keys, u32 nr)
{
	struct sort_keys s = { keys, nr };
	if (l->nr)
		qsort_r(l->rows, l->nr, sizeof(*l->rows), by_keys, &s);
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

static u32 image_of(const struct catalog *c, u64 addr)
{
	u32 kernel = IMAGE_NONE;
	for (u32 i = 0; i < c->images.nr; i++) {
		const struct image_info *m = &c->images.at[i];
		if (m->guest)
			continue;
		if (m->kind == IMAGE_KIND_KERNEL)
			kernel = i;
		else if ((m->kind == IMAGE_KIND_MODULE || m->kind == IMAGE_KIND_BPF) &&
			 addr >= m->start && addr < m->end)
			return i;
	}
	return kernel;
}

static int name_sites(struct kmem_run *r, struct named_run *run)
{
	u32 *frames = calloc(r->sites.nr + 1, sizeof(*frames));
	int err = frames ? 0 : -ENOMEM;
	for (size_t i = 0; i < r->sites.nr && !err; i++) {
		u64 addr = r->sites.rows[i].key;
		u32 image = image_of(&run->src->catalog, addr);
		s64 id = frame_table_add(
			&run->tables.frames,
			(struct frame){ .offset = addr, .image = image, .mode = FRAME_KERNEL });
		err = id < 0 ? (int)id : 0;
		frames[i] = id < 0 ? 0 : (u32)id;
	}
	if (!err)
		err = named_run_resolve(run, WANT_SYMBOL);
	for (size_t i = 0; i < r->sites.nr && !err; i++) {
		const struct name_func *f = &run->named.funcs[run->named.func_of[frames[i]]];
		char text[512];
		if (!f->name)
			continue;
		(void)snprintf(text, sizeof(text), "%s+%llx", f->name,
			       (unsigned long long)(r->sites.rows[i].key - f->start));
		r->sites.rows[i].name = arena_strdup(&r->arena, text);
		err = r->sites.rows[i].name ? 0 : -ENOMEM;
	}
	free(frames);
	return err;
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

enum { NODE_CPUS_MAX = 8192 };

/* [CPU]: node of the running system, as perf has it; -1: not known. */
struct cpu_nodes {
	int of[NODE_CPUS_MAX];
};

static int node_of(void *ctx, s32 cpu)
{
	const struct cpu_nodes *n = ctx;
	return n && cpu >= 0 && cpu < NODE_CPUS_MAX ? n->of[cpu] : -1;
}

/* NULL: no memory; then no node is known. */
static struct cpu_nodes *read_nodes(void)
{
	struct cpu_nodes *ret = calloc(1, sizeof(*ret));
	struct sysroot root;
	struct machine m;
	for (u32 i = 0; ret && i < NODE_CPUS_MAX; i++)
		ret->of[i] = -1;
	if (!ret || sysroot_open(&root, NULL))
		return ret;
	if (!machine_read(&root, &m)) {
		vec_for_each (&m.nodes, n) {
			struct cpuset cpus;
			if (!n->cpus || cpuset_parse_list(n->cpus, &cpus, NULL))
				continue;
			for (unsigned cpu = 0; cpu < NODE_CPUS_MAX; cpu++)
				if (cpuset_has(&cpus, cpu))
					ret->of[cpu] = (int)n->node;
		}
		machine_done(&m);
	}
	sysroot_close(&root);
	return ret;
}

static int collect(struct kmem_run *r, const struct mem_held *held)
{
	r->totals = mem_held_totals(held);
	r->nr_events = mem_held_nr_events(held);
	int err = mem_held_sites(held, &r->sites.rows, &r->sites.nr);
	return err ? err : mem_held_addresses(held, &r->addresses.rows, &r->addresses.nr);
}

int kmem_run(struct kmem_run *r, struct symbols *sy, const struct kmem_run_opts *o)
{
	struct named_run run = { 0 };
	struct source *src = NULL;
	struct mem_held *held = NULL;
	struct cpu_nodes *nodes = read_nodes();
	*r = (struct kmem_run){ 0 };
	arena_init(&r->arena);
	int err = recording_open(sy, o->input, RECORDING_EVENTS, &o->symbols, &src);
	if (!err) {
		named_run_begin(&run, src, recording_names(sy, src, &o->symbols));
		run.own_names = true;
		held = mem_held_new(&(struct mem_held_env){ .ctx = nodes, .node_of = node_of });
		err = run.names && held ? 0 : -ENOMEM;
	}
	if (!err)
		err = named_run_feed(&run, mem_held_sink(held), 1, sy->diag);
	if (!err)
		err = collect(r, held);
	if (!err && !o->raw_ip)
		err = name_sites(r, &run);
	if (src)
		r->nr_lost = src->catalog.nr_lost;
	mem_held_free(held);
	free(nodes);
	named_run_done(&run);
	if (src)
		src->ops->close(src);
	return err;
}

void kmem_run_done(struct kmem_run *r)
{
	free(r->sites.rows);
	free(r->addresses.rows);
	arena_done(&r->arena);
	*r = (struct kmem_run){ 0 };
}
