#include "analysis/c2c_lines.h"

#include "base/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bits of union perf_mem_data_src (include/uapi/linux/perf_event.h), as far as they are counted. */
enum {
	OP_LOAD = 0x2,
	OP_STORE = 0x4,
	LEVEL_AT = 5,
	LEVEL_NA = 0x1,
	LEVEL_HIT = 0x2,
	LEVEL_MISS = 0x4,
	LEVEL_L1 = 0x8,
	LEVEL_LFB = 0x10,
	LEVEL_L2 = 0x20,
	LEVEL_L3 = 0x40,
	LEVEL_LOCAL_RAM = 0x80,
	LEVEL_REMOTE_RAM1 = 0x100,
	LEVEL_REMOTE_RAM2 = 0x200,
	LEVEL_REMOTE_CACHE1 = 0x400,
	LEVEL_REMOTE_CACHE2 = 0x800,
	LEVEL_IO = 0x1000,
	LEVEL_UNCACHED = 0x2000,
	SNOOP_AT = 19,
	SNOOP_HIT = 0x4,
	SNOOP_HITM = 0x10,
	LOCK_AT = 24,
	LOCK_LOCKED = 0x2,
	REMOTE_AT = 37,
	SNOOPX_AT = 38,
	SNOOPX_PEER = 0x2,
	BLOCKED_AT = 40,
	BLOCKED_DATA = 0x2,
	BLOCKED_ADDR = 0x4,
	HOPS_AT = 43,
};

enum { CPUS_MAX = 1 << 16 };
#define DISPLAY_LIMIT 0.0005 /* of what lines are ordered by: less is not shown */

struct c2c_lines {
	struct sink sink;
	struct c2c_lines_env env;
	const struct frame_table *frames; /* of the shard, while samples come */
	VEC(struct c2c_entry) lines, places;
	struct dict line_of, place_of; /* hash of the key -> index */
	struct dict chain_of; /* place, chain -> index */
	VEC(struct c2c_chain) chains;
	u32 *chain_start;
	struct c2c_stats all;
	u64 seed, nr_no_cpu;
};

/* ---- one sample -------------------------------------------------------------------------------------------------- */

static u32 part(u64 src, unsigned at, unsigned bits)
{
	return (u32)(src >> at & ((1u << bits) - 1));
}

/* What a load found at the level that it hit. */
static void count_hit(struct c2c_stats *st, u32 level, u32 snoop, bool peer, bool remote)
{
	st->ld_uncache += !!(level & LEVEL_UNCACHED);
	st->ld_io += !!(level & LEVEL_IO);
	st->ld_fbhit += !!(level & LEVEL_LFB);
	st->ld_l1hit += !!(level & LEVEL_L1);
	st->ld_l2hit += !!(level & LEVEL_L2);
	if (level & LEVEL_L3 && snoop & SNOOP_HITM)
		st->lcl_hitm++;
	else if (level & LEVEL_L3)
		st->ld_llchit++;
	if (peer)
		st->lcl_peer += !!(level & LEVEL_L2) + !!(level & LEVEL_L3);
	u32 ram = !!(level & LEVEL_LOCAL_RAM);
	st->lcl_dram += ram;
	if (level & (LEVEL_REMOTE_RAM1 | LEVEL_REMOTE_RAM2) || remote) {
		st->rmt_dram++;
		ram++;
	}
	if (snoop & SNOOP_HIT)
		st->ld_shared += ram;
	else
		st->ld_excl += ram;
}

static void count_load(struct c2c_stats *st, u64 src)
{
	u32 level = part(src, LEVEL_AT, 14), snoop = part(src, SNOOP_AT, 5);
	bool peer = part(src, SNOOPX_AT, 2) & SNOOPX_PEER;
	/* With hops, the bit tells of another core of the same node (POWER). */
	bool remote = part(src, REMOTE_AT, 1) && !part(src, HOPS_AT, 3);
	if (level & LEVEL_HIT)
		count_hit(st, level, snoop, peer, remote);
	if (level & (LEVEL_REMOTE_CACHE1 | LEVEL_REMOTE_CACHE2) || remote) {
		bool hitm = !(snoop & SNOOP_HIT) && snoop & SNOOP_HITM;
		bool from_peer = !(snoop & (SNOOP_HIT | SNOOP_HITM)) && peer;
		st->rmt_hitm += hitm;
		st->rmt_peer += from_peer;
		st->rmt_hit += from_peer || snoop & SNOOP_HIT;
	}
	st->ld_miss += !!(level & LEVEL_MISS);
	st->tot_hitm = st->lcl_hitm + st->rmt_hitm;
	st->tot_peer = st->lcl_peer + st->rmt_peer;
}

static void count_store(struct c2c_stats *st, u64 src)
{
	u32 level = part(src, LEVEL_AT, 14);
	st->st_uncache = level & LEVEL_HIT && level & LEVEL_UNCACHED;
	st->st_l1hit = level & LEVEL_HIT && level & LEVEL_L1;
	st->st_l1miss = level & LEVEL_MISS && level & LEVEL_L1;
	st->st_na = !!(level & LEVEL_NA);
}

static struct c2c_stats stats_of(const struct sample *s, bool mapped)
{
	u32 op = part(s->data_src, 0, 5), blocked = part(s->data_src, BLOCKED_AT, 3);
	struct c2c_stats st = { .nr_entries = 1,
				.locks = !!(part(s->data_src, LOCK_AT, 2) & LOCK_LOCKED),
				.blk_data = !!(blocked & BLOCKED_DATA),
				.blk_addr = !!(blocked & BLOCKED_ADDR) };
	st.load = !!(op & OP_LOAD);
	st.store = !st.load && op & OP_STORE;
	st.noparse = !st.load && !st.store;
	st.ld_noaddr = st.load && !s->addr;
	st.st_noaddr = st.store && !s->addr;
	if (st.noparse || !s->addr)
		return st;
	if (st.load)
		count_load(&st, s->data_src);
	else
		count_store(&st, s->data_src);
	st.nomap = !mapped;
	return st;
}

static void add_stats(struct c2c_stats *to, const struct c2c_stats *from)
{
	u32 *a = (u32 *)to;
	const u32 *b = (const u32 *)from;
	for (size_t i = 0; i < sizeof(*to) / sizeof(*a); i++)
		a[i] += b[i];
}

static void add_cost(struct c2c_entry *e, const struct c2c_stats *st, u64 cycles)
{
	struct c2c_cost *c = st->rmt_hitm   ? &e->rmt_hitm_cost
			     : st->lcl_hitm ? &e->lcl_hitm_cost
			     : st->rmt_peer ? &e->rmt_peer_cost
			     : st->lcl_peer ? &e->lcl_peer_cost
			     : st->load	    ? &e->load_cost
					    : NULL;
	if (!c)
		return;
	c->nr++;
	c->mean += ((double)cycles - c->mean) / (double)c->nr;
}

static int add_cpu(struct c2c_entry *e, s32 cpu)
{
	u32 first = (u32)cpu & ~63u, at = e->nr_cpus;
	if (cpu < 0 || cpu >= CPUS_MAX)
		return 0;
	while (at && e->cpus[at - 1].first > first)
		at--;
	if (!at || e->cpus[at - 1].first != first) {
		struct c2c_cpus *more = realloc(e->cpus, (e->nr_cpus + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		e->cpus = more;
		memmove(more + at + 1, more + at, (e->nr_cpus++ - at) * sizeof(*more));
		more[at++] = (struct c2c_cpus){ .first = first };
	}
	e->cpus[at - 1].bits |= 1ull << (cpu % 64);
	return 0;
}

/* As perf counts them: an address that comes again after another one counts again. */
static void add_physical(const struct c2c_machine *m, struct c2c_entry *e, u64 address)
{
	s32 node = address ? m->memory_node(m, address) : -1;
	if (node < 0)
		return;
	if (node < 64)
		e->mem_nodes |= 1ull << node;
	if (e->paddr != address) {
		e->nr_paddrs++;
		e->paddr = address;
	}
}

static int add_node(const struct c2c_lines *c, struct c2c_entry *e, const struct c2c_stats *st,
		    s32 cpu)
{
	const struct c2c_machine *m = c->env.machine;
	s32 node = cpu >= 0 && (u32)cpu < m->nr_cpus ? m->node_of[cpu] : 0;
	if (!c->env.by_node || node < 0 || (u32)node >= m->nr_nodes)
		return 0;
	u32 at = 0;
	while (at < e->nr_nodes && e->nodes[at].node != (u32)node)
		at++;
	if (at == e->nr_nodes) {
		struct c2c_node *more = realloc(e->nodes, (at + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		e->nodes = more;
		more[e->nr_nodes++] = (struct c2c_node){ .node = (u32)node };
	}
	struct c2c_node *n = &e->nodes[at];
	n->lcl_hitm += st->lcl_hitm;
	n->rmt_hitm += st->rmt_hitm;
	n->tot_hitm += st->tot_hitm;
	n->tot_peer += st->tot_peer;
	n->store += st->store;
	return 0;
}

static int add_access(struct c2c_lines *c, struct c2c_entry *e, const struct c2c_stats *st,
		      const struct sample *s)
{
	add_stats(&e->stats, st);
	add_physical(c->env.machine, e, s->phys_addr);
	return add_cpu(e, s->cpu);
}

/* ---- lines and places -------------------------------------------------------------------------------------------- */

struct c2c_access {
	u64 address, place;
	u32 image;
	bool mapped;
};

/*
 * Where the data is. Code of the kernel that copies from or to a program's memory is shown as without a map, as perf does: the two
 * cannot share a line of their own.
 */
static struct c2c_access place_of(const struct c2c_lines *c, const struct sample *s)
{
	const struct frame *f = &c->frames->frames[s->data];
	bool known = s->data && f->image != IMAGE_NONE && f->mode == s->mode;
	return (struct c2c_access){ .address = s->addr,
				    .place = known ? f->offset : s->addr,
				    .image = known ? f->image : IMAGE_NONE,
				    .mapped = known };
}

static struct c2c_entry *line_of(struct c2c_lines *c, const struct c2c_access *p,
				 const struct sample *s)
{
	u64 words[] = { s->mode, p->image, p->place / C2C_LINE };
	u32 index;
	if (dict_add(&c->line_of, hash_seeded(hash_bytes(words, sizeof(words)), c->seed),
		     (u32)c->lines.nr, &index))
		return NULL;
	if (index < c->lines.nr)
		return &c->lines.at[index];
	struct c2c_entry *e = vec_push(&c->lines);
	if (e)
		*e = (struct c2c_entry){ .address = p->address & ~(u64)(C2C_LINE - 1),
					 .place = words[2],
					 .mode = s->mode,
					 .image = p->image,
					 .leaf = s->leaf };
	return e;
}

static struct c2c_entry *entry_of(struct c2c_lines *c, u32 line, const struct sample *s)
{
	struct c2c_entry e = { .address = s->addr % C2C_LINE,
			       .line = line,
			       .iaddr = s->ip,
			       .pid = s->pid,
			       .tid = s->tid,
			       .mode = s->mode,
			       .code_image = s->leaf ? c->frames->frames[s->leaf].image : IMAGE_NONE,
			       .leaf = s->leaf };
	u64 words[2 + C2C_KEYS_MAX] = { line, e.address };
	for (u32 i = 0; i < c->env.nr_keys; i++) {
		switch (c->env.keys[i]) {
		case C2C_PID: words[2 + i] = (u32)s->pid; break;
		case C2C_TID: words[2 + i] = (u32)s->tid; break;
		case C2C_IADDR: words[2 + i] = s->ip; break;
		case C2C_DSO: words[2 + i] = e.code_image; break;
		}
	}
	u32 index;
	if (dict_add(&c->place_of, hash_seeded(hash_bytes(words, sizeof(words)), c->seed),
		     (u32)c->places.nr, &index))
		return NULL;
	if (index < c->places.nr)
		return &c->places.at[index];
	struct c2c_entry *fresh = vec_push(&c->places);
	if (fresh) {
		e.number = index;
		*fresh = e;
	}
	return fresh;
}

static int add_chain(struct c2c_lines *c, u32 place, const struct sample *s)
{
	u32 index;
	if (!c->env.chains || !s->chain)
		return 0;
	if (dict_add(&c->chain_of, (u64)place << 32 | s->chain, (u32)c->chains.nr, &index))
		return -ENOMEM;
	if (index == c->chains.nr) {
		struct c2c_chain *fresh = vec_push(&c->chains);
		if (!fresh)
			return -ENOMEM;
		*fresh = (struct c2c_chain){ .place = place, .chain = s->chain };
	}
	c->chains.at[index].period += s->period;
	return 0;
}

static int add_sample(struct c2c_lines *c, const struct sample *s)
{
	struct c2c_access p = place_of(c, s);
	const struct frame *code = &c->frames->frames[s->leaf];
	struct c2c_stats st = stats_of(s, p.mapped && s->leaf && code->image != IMAGE_NONE);
	struct c2c_entry *line = line_of(c, &p, s);
	if (!line || c->lines.nr > INT32_MAX)
		return -ENOMEM;
	add_stats(&c->all, &st);
	c->nr_no_cpu += s->cpu < 0;
	int err = add_access(c, line, &st, s);
	struct c2c_entry *e = err ? NULL : entry_of(c, (u32)(line - c->lines.at), s);
	if (!e)
		return -ENOMEM;
	err = add_access(c, e, &st, s);
	if (!err)
		err = add_node(c, e, &st, s->cpu);
	add_cost(e, &st, s->weight);
	c->lines.at[e->line].period += s->period;
	return err ? err : add_chain(c, e->number, s);
}

/* ---- the sink ---------------------------------------------------------------------------------------------------- */

static int shard_new(struct sink *sink, unsigned index, const struct shard *sh, void **state)
{
	struct c2c_lines *c = container_of(sink, struct c2c_lines, sink);
	c->frames = &sh->frames;
	*state = c;
	return index ? -EINVAL : 0;
}

static int feed(struct sink *sink, void *state, const struct batch *b)
{
	struct c2c_lines *c = state;
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++)
		err = add_sample(c, &b->samples[i]);
	return err;
}

static int merge(struct sink *sink, const struct sink_part *parts, u32 nr, unsigned workers)
{
	struct c2c_lines *c = container_of(sink, struct c2c_lines, sink);
	for (u32 p = 0; p < nr; p++) {
		const u32 *map = parts[p].map_frame;
		for (size_t i = 0; map && i < c->places.nr; i++)
			c->places.at[i].leaf = map[c->places.at[i].leaf];
		for (size_t i = 0; map && i < c->lines.nr; i++)
			c->lines.at[i].leaf = map[c->lines.at[i].leaf];
		for (size_t i = 0; parts[p].map_chain && i < c->chains.nr; i++)
			c->chains.at[i].chain = parts[p].map_chain[c->chains.at[i].chain];
	}
	return 0;
}

static const struct sink_ops c2c_ops = {
	.needs = NEED_ORDER | NEED_LEAF | NEED_DATA,
	.shard_new = shard_new,
	.feed = feed,
	.merge = merge,
};

struct c2c_lines *c2c_lines_new(const struct c2c_lines_env *env)
{
	struct c2c_lines *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->sink = (struct sink){ .ops = &c2c_ops, .needs = c2c_ops.needs };
	c->env = *env;
	c->sink.needs |= env->chains ? NEED_CHAIN : 0;
	dict_init(&c->chain_of);
	c->seed = hash_seed();
	dict_init(&c->line_of);
	dict_init(&c->place_of);
	return c;
}

static void entry_done(struct c2c_entry *e)
{
	free(e->cpus);
	free(e->nodes);
}

void c2c_lines_free(struct c2c_lines *c)
{
	if (!c)
		return;
	vec_for_each (&c->lines, e)
		entry_done(e);
	vec_for_each (&c->places, e)
		entry_done(e);
	vec_free(&c->lines);
	vec_free(&c->places);
	vec_free(&c->chains);
	free(c->chain_start);
	dict_done(&c->chain_of);
	dict_done(&c->line_of);
	dict_done(&c->place_of);
	free(c);
}

struct sink *c2c_lines_sink(struct c2c_lines *c)
{
	return &c->sink;
}

/* ---- the order --------------------------------------------------------------------------------------------------- */

u32 c2c_measure(const struct c2c_stats *s, enum c2c_display display)
{
	switch (display) {
	case C2C_LOCAL: return s->lcl_hitm;
	case C2C_REMOTE: return s->rmt_hitm;
	case C2C_PEER: return s->tot_peer;
	default: return s->tot_hitm;
	}
}

struct order {
	const struct c2c_lines_env *env;
	const struct catalog *catalog;
};

#define LESS_FIRST(a, b)                                                                           \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			return (a) < (b) ? -1 : 1;                                                 \
	} while (0)

static int by_line(const void *pa, const void *pb, void *ctx)
{
	const struct c2c_entry *a = pa, *b = pb;
	const struct order *o = ctx;
	LESS_FIRST(c2c_measure(&b->stats, o->env->display), c2c_measure(&a->stats, o->env->display));
	LESS_FIRST(a->mode, b->mode);
	LESS_FIRST(!a->image, !b->image);
	LESS_FIRST(a->image, b->image);
	LESS_FIRST(a->place, b->place);
	return 0;
}

/* What a display is refined by, when two places have equally much of it. */
static u32 second_measure(const struct c2c_stats *s, enum c2c_display display)
{
	return display == C2C_LOCAL ? s->rmt_hitm : display == C2C_REMOTE ? s->lcl_hitm : 0;
}

static const char *image_name(const struct order *o, u32 image)
{
	const char *name = image < o->catalog->images.nr ? o->catalog->images.at[image].name : NULL;
	return name ? name : "";
}

static int by_key(const struct c2c_entry *a, const struct c2c_entry *b, const struct order *o)
{
	for (u32 i = 0; i < o->env->nr_keys; i++)
		switch (o->env->keys[i]) {
		case C2C_PID: LESS_FIRST(b->pid, a->pid); break;
		case C2C_TID: LESS_FIRST(a->tid, b->tid); break;
		case C2C_IADDR: LESS_FIRST(a->iaddr, b->iaddr); break;
		case C2C_DSO: {
			int names =
				strcmp(image_name(o, a->code_image), image_name(o, b->code_image));
			LESS_FIRST(names, 0);
			LESS_FIRST(a->code_image, b->code_image);
			break;
		}
		}
	return 0;
}

static int by_place(const void *pa, const void *pb, void *ctx)
{
	const struct c2c_entry *a = pa, *b = pb;
	const struct order *o = ctx;
	LESS_FIRST(a->line, b->line);
	LESS_FIRST(a->address, b->address);
	LESS_FIRST(c2c_measure(&b->stats, o->env->display), c2c_measure(&a->stats, o->env->display));
	LESS_FIRST(second_measure(&b->stats, o->env->display),
		   second_measure(&a->stats, o->env->display));
	return by_key(a, b, o);
}

/* perf: whether others had the line, in whichever way. */
static bool is_shared(const struct c2c_stats *s)
{
	return s->tot_hitm || s->tot_peer;
}

/* Whether a line has enough of what lines are ordered by. */
static bool is_worth(const struct c2c_lines *c, const struct c2c_entry *e,
		     const struct c2c_stats *shared)
{
	u32 all = c2c_measure(shared, c->env.display);
	return c->env.show_all ||
	       (all && (double)c2c_measure(&e->stats, c->env.display) / all >= DISPLAY_LIMIT);
}

static void sort_places(struct c2c_lines *c, const struct order *o)
{
	if (c->places.nr)
		qsort_r(c->places.at, c->places.nr, sizeof(*c->places.at), by_place, (void *)o);
	vec_for_each (&c->places, e) {
		struct c2c_entry *line = &c->lines.at[e->line];
		line->first = line->nr ? line->first : (u32)(e - c->places.at);
		line->nr++;
		e->shown = e->stats.store || c2c_measure(&e->stats, c->env.display);
	}
}

static int by_number(const void *pa, const void *pb)
{
	const struct c2c_chain *a = pa, *b = pb;
	LESS_FIRST(a->place, b->place);
	LESS_FIRST(a->chain, b->chain);
	return 0;
}

static int sort_chains(struct c2c_lines *c)
{
	u32 at = 0;
	c->chain_start = calloc(c->places.nr + 2, sizeof(*c->chain_start));
	if (!c->chain_start)
		return -ENOMEM;
	if (c->chains.nr)
		qsort(c->chains.at, c->chains.nr, sizeof(*c->chains.at), by_number);
	for (u32 place = 0; place <= c->places.nr; place++) {
		c->chain_start[place] = at;
		while (at < c->chains.nr && c->chains.at[at].place == place)
			at++;
	}
	return 0;
}

int c2c_lines_finish(struct c2c_lines *c, const struct catalog *catalog, struct c2c_result *ret)
{
	struct order o = { .env = &c->env, .catalog = catalog };
	sort_places(c, &o);
	*ret = (struct c2c_result){ .all = c->all, .nr_no_cpu = c->nr_no_cpu };
	if (c->chains.nr && sort_chains(c))
		return -ENOMEM;
	ret->chains = c->chains.at;
	ret->chain_start = c->chain_start;
	vec_for_each (&c->lines, e)
		if (is_shared(&e->stats)) {
			ret->nr_shared++;
			add_stats(&ret->shared, &e->stats);
		}
	/* Those that are shown come first. */
	u32 nr = 0;
	for (size_t i = 0; i < c->lines.nr; i++) {
		struct c2c_entry e = c->lines.at[i];
		if (!is_worth(c, &e, &ret->shared))
			continue;
		c->lines.at[i] = c->lines.at[nr];
		c->lines.at[nr++] = e;
	}
	if (nr)
		qsort_r(c->lines.at, nr, sizeof(*c->lines.at), by_line, &o);
	ret->lines = c->lines.at;
	ret->nr_lines = nr;
	ret->places = c->places.at;
	return 0;
}
