/*
 *	init_task ─► its PID ─► PID namespace ─► pid_cachep ─► kmem_cache ◄─list─► kmem_cache ◄─► ... ◄─► slab_caches (in the kernel's data)
 *
 *	kmem_cache.node[] ─► kmem_cache_node.partial ◄─► slab.slab_list      slab: a struct page, slab.freelist: an address in its memory
 *
 * Free objects are a list inside of the slab. With CONFIG_SLAB_FREELIST_HARDENED each pointer is XORed with the cache's random number and
 * with its own address, bytes reversed (mm/slub.c, freelist_ptr_decode()).
 */
#include "memory/kslabs.h"

#include "memory/eval.h"

#include <errno.h>
#include <string.h>

enum {
	CACHES_MAX = 1 << 14,
	NODES_MAX = 1024,
	OBJECTS_MAX = 1 << 15, /* of a slab: struct slab has 15 bits for it */
	SLAB_BYTES_MAX = 16 << 20,
};

static int read_u64(const struct kslabs *s, u64 addr, u64 *ret)
{
	return memory_read(s->k->memory, addr, ret, sizeof(*ret));
}

static int read_u32(const struct kslabs *s, u64 addr, u32 *ret)
{
	return memory_read(s->k->memory, addr, ret, sizeof(*ret));
}

/* ---- where things are ------------------------------------------------------------------------------------------------------ */

static int find_bits(struct kspace *k, const char *member, struct kslab_bits *ret)
{
	enum { WORD = 32 };
	struct ktype slab, type;
	u64 bit;
	u8 bits;
	if (!kspace_find_type(k, "slab", BTF_BIT(BTF_OF_STRUCT), &slab))
		return -ENOENT;
	int err = eval_path(k, &slab, member, &type, &bit, &bits);
	if (!err)
		*ret = (struct kslab_bits){ .word = bit / WORD * sizeof(u32),
					    .shift = (u8)(bit % WORD),
					    .bits = bits ? bits : WORD };
	return err;
}

static int read_bits(const struct kslabs *s, u64 slab, const struct kslab_bits *b, u32 *ret)
{
	u32 word;
	int err = read_u32(s, slab + b->word, &word);
	if (!err)
		*ret = word >> b->shift & (u32)((1ull << b->bits) - 1);
	return err;
}

static int find_layout(struct kslabs *s)
{
	struct kspace *k = s->k;
	struct ktype page;
	const struct eval_offset rows[] = {
		{ "kmem_cache", "name", &s->at.name },
		{ "kmem_cache", "size", &s->at.size },
		{ "kmem_cache", "object_size", &s->at.object_size },
		{ "kmem_cache", "offset", &s->at.next_free },
		{ "kmem_cache", "list", &s->at.list },
		{ "kmem_cache", "node", &s->at.node },
		{ "kmem_cache", "oo.x", &s->at.order },
		{ "kmem_cache", "red_left_pad", &s->at.padding, true },
		{ "kmem_cache", "random", &s->at.random, true },
		{ "kmem_cache", "cpu_sheaves", &s->at.sheaves, true },
		{ "kmem_cache_node", "partial", &s->at.partial },
		{ "kmem_cache_node", "nr_slabs", &s->at.nr_slabs, true },
		{ "kmem_cache_node", "total_objects", &s->at.total, true },
		{ "slab", "slab_list", &s->at.slab_list },
		{ "slab", "slab_cache", &s->at.slab_cache },
		{ "slab", "freelist", &s->at.freelist },
		{ "page", "compound_head", &s->at.head },
	};
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = find_bits(k, "inuse", &s->inuse);
	if (!err)
		err = find_bits(k, "objects", &s->objects);
	if (!err)
		err = find_bits(k, "frozen", &s->frozen);
	if (err)
		return err;
	if (!kspace_find_type(k, "page", BTF_BIT(BTF_OF_STRUCT), &page))
		return diag_error(k->diag, -ENOENT, "this kernel has no struct page");
	s->page_struct = ktype_size(&page);
	s->page_bytes = kspace_page_size(k);
	s->hardened = s->at.random != EVAL_NO_OFFSET;
	return s->page_struct ? 0 : -EINVAL;
}

/* ---- caches ---------------------------------------------------------------------------------------------------------------- */

static int read_cache(struct kslabs *s, u64 addr, struct kslab_cache *c)
{
	enum { ORDER_SHIFT = 16, ORDER_MAX = 10 };
	u64 name, sheaves = 0;
	u32 order;
	bool cut;
	*c = (struct kslab_cache){ .addr = addr };
	int err = read_u64(s, addr + s->at.name, &name);
	if (!err)
		err = memory_read_text(s->k->memory, name, c->name, sizeof(c->name), &cut);
	if (!err)
		err = read_u32(s, addr + s->at.size, &c->size);
	if (!err)
		err = read_u32(s, addr + s->at.object_size, &c->object_size);
	if (!err)
		err = read_u32(s, addr + s->at.next_free, &c->next_free);
	if (!err)
		err = read_u32(s, addr + s->at.order, &order);
	if (!err && s->at.padding != EVAL_NO_OFFSET)
		err = read_u32(s, addr + s->at.padding, &c->padding);
	if (!err && s->hardened)
		err = read_u64(s, addr + s->at.random, &c->random);
	if (!err && s->at.sheaves != EVAL_NO_OFFSET)
		err = read_u64(s, addr + s->at.sheaves, &sheaves);
	if (err)
		return err;
	order >>= ORDER_SHIFT;
	if (!c->size || !c->object_size || c->object_size > c->size || order > ORDER_MAX ||
	    c->padding > c->size || c->next_free >= c->size)
		return -EINVAL;
	c->slab_bytes = (u32)(s->page_bytes << order);
	c->holds_free = sheaves != 0;
	return 0;
}

/* The list's head is among the nodes: it is no cache, and nothing in it reads like one. */
static int each_cache(void *ctx, const struct walk_node *node)
{
	struct kslabs *s = ctx;
	struct kslab_cache c;
	int err = read_cache(s, node->addr, &c);
	if (err)
		return err == -EFAULT || err == -EINVAL ? 0 : err;
	if (s->caches.nr >= CACHES_MAX)
		return 1;
	struct kslab_cache *slot = vec_push(&s->caches);
	if (!slot)
		return -ENOMEM;
	*slot = c;
	return 0;
}

static int compare_caches(const void *a, const void *b)
{
	const struct kslab_cache *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int read_caches(struct kslabs *s)
{
	struct kspace *k = s->k;
	struct walk_result r;
	struct kvalue first;
	struct walk_list list = { .kind = WALK_LIST_OBJECT, .offset = s->at.list };
	int err = eval_text(k, "init_task.thread_pid->numbers[0].ns->pid_cachep", &first);
	if (!err)
		err = eval_number(k, &first, &list.start);
	if (!err)
		err = walk_list(k, &list, each_cache, s, &r);
	if (err)
		return err;
	if (!s->caches.nr)
		return diag_error(k->diag, -ENOENT, "the kernel's slab caches cannot be read");
	qsort(s->caches.at, s->caches.nr, sizeof(*s->caches.at), compare_caches);
	/* An object of the cache of caches ends with the last node's pointer. */
	s->nr_nodes = 1;
	vec_for_each (&s->caches, c)
		if (!strcmp(c->name, "kmem_cache") && c->object_size > s->at.node)
			s->nr_nodes = (u32)min((c->object_size - s->at.node) / sizeof(u64),
					       (u64)NODES_MAX);
	return 0;
}

const struct kslab_cache *kslabs_find(const struct kslabs *s, u64 addr)
{
	const struct kslab_cache key = { .addr = addr };
	return s->caches.nr ? bsearch(&key, s->caches.at, s->caches.nr, sizeof(key), compare_caches)
			    : NULL;
}

/* ---- from an address to its struct page ------------------------------------------------------------------------------------ */

bool kslabs_page(const struct kslabs *s, u64 addr, u64 *ret)
{
	u8 probe;
	if (!s->anchor_page)
		return false;
	s64 pages = (s64)(addr / s->page_bytes) - (s64)(s->anchor_addr / s->page_bytes);
	u64 page = s->anchor_page + (u64)pages * s->page_struct;
	/* The linear mapping is shorter than what of its structs fits below it. */
	if (memory_read(s->k->memory, page, &probe, 1) || memory_read(s->k->memory, addr, &probe, 1))
		return false;
	*ret = page;
	return true;
}

bool kslabs_page_address(const struct kslabs *s, u64 page, u64 *ret)
{
	s64 bytes = (s64)(page - s->anchor_page);
	if (!s->anchor_page || bytes % (s64)s->page_struct)
		return false;
	*ret = s->anchor_addr / s->page_bytes * s->page_bytes +
	       (u64)(bytes / (s64)s->page_struct) * s->page_bytes;
	return true;
}

u64 kslabs_page_head(const struct kslabs *s, u64 page)
{
	u64 head;
	return !read_u64(s, page + s->at.head, &head) && head & 1 ? head - 1 : page;
}

struct slab_walk {
	struct kslabs *s;
	const struct kslab_cache *cache;
	/* Of anchors. */
	u64 page, addr;
	/* Of usage. */
	u64 free;
	bool changed;
};

/* A slab that is still of this cache, with a free object in it. */
static int find_anchor(void *ctx, const struct walk_node *node)
{
	struct slab_walk *w = ctx;
	const struct kslabs *s = w->s;
	u64 cache, freelist;
	if (read_u64(s, node->addr + s->at.slab_cache, &cache) || cache != w->cache->addr ||
	    read_u64(s, node->addr + s->at.freelist, &freelist) || !freelist)
		return 0;
	w->page = node->addr;
	w->addr = freelist & ~((u64)w->cache->slab_bytes - 1);
	return 1;
}

static int walk_partial(struct kslabs *s, u64 node, walk_fn fn, struct slab_walk *w,
			struct walk_result *r)
{
	const struct walk_list list = { .kind = WALK_LIST_HEAD,
					.start = node + s->at.partial,
					.offset = s->at.slab_list };
	return walk_list(s->k, &list, fn, w, r);
}

/* The first one is taken when a second slab, of another place, agrees with it. */
static int find_anchors(struct kslabs *s)
{
	vec_for_each (&s->caches, c) {
		u64 node, page;
		struct walk_result r;
		struct slab_walk w = { .s = s, .cache = c };
		if (read_u64(s, c->addr + s->at.node, &node) || !node)
			continue;
		int err = walk_partial(s, node, find_anchor, &w, &r);
		if (err)
			return err;
		if (!w.page)
			continue;
		if (s->anchor_page && s->anchor_page != w.page && kslabs_page(s, w.addr, &page) &&
		    page == w.page)
			return 0;
		s->anchor_page = w.page;
		s->anchor_addr = w.addr;
	}
	s->anchor_page = 0;
	return 0;
}

/* ---- objects --------------------------------------------------------------------------------------------------------------- */

static u64 decode_free(const struct kslabs *s, const struct kslab_cache *c, u64 at, u64 stored)
{
	return s->hardened ? stored ^ c->random ^ __builtin_bswap64(at) : stored;
}

/* start and the list have the same distance to an object: both are without its padding, or with it. */
static bool is_free(const struct kslabs *s, const struct kslab_object *o, u32 nr)
{
	u64 at;
	if (read_u64(s, o->slab + s->at.freelist, &at))
		return false;
	for (u32 n = 0; at && n < min(nr, (u32)OBJECTS_MAX); n++) {
		u64 stored;
		if (at == o->start)
			return true;
		if (read_u64(s, at + o->cache->next_free, &stored))
			return false;
		at = decode_free(s, o->cache, at + o->cache->next_free, stored);
	}
	return false;
}

static enum kslab_state state_of(const struct kslabs *s, const struct kslab_object *o)
{
	u32 frozen, nr;
	if (read_bits(s, o->slab, &s->objects, &nr) || read_bits(s, o->slab, &s->frozen, &frozen))
		return KSLAB_HELD;
	if (is_free(s, o, nr))
		return KSLAB_FREE;
	return frozen || o->cache->holds_free ? KSLAB_HELD : KSLAB_ALLOCATED;
}

bool kslabs_object(struct kslabs *s, u64 addr, struct kslab_object *ret)
{
	struct kslab_object o = { 0 };
	u64 page, cache, base;
	u32 nr;
	if (!kslabs_page(s, addr, &page))
		return false;
	o.slab = kslabs_page_head(s, page);
	if (read_u64(s, o.slab + s->at.slab_cache, &cache) || !kslabs_page_address(s, o.slab, &base))
		return false;
	o.cache = kslabs_find(s, cache);
	if (!o.cache || addr < base || addr - base >= SLAB_BYTES_MAX ||
	    read_bits(s, o.slab, &s->objects, &nr) || nr > OBJECTS_MAX)
		return false;
	o.index = (u32)((addr - base) / o.cache->size);
	if (o.index >= nr)
		return false; /* the rest after the last object */
	o.start = base + (u64)o.index * o.cache->size + o.cache->padding;
	if (addr < o.start)
		return false;
	o.offset = addr - o.start;
	o.state = state_of(s, &o);
	*ret = o;
	return true;
}

/* ---- usage ----------------------------------------------------------------------------------------------------------------- */

static int count_free(void *ctx, const struct walk_node *node)
{
	struct slab_walk *w = ctx;
	u64 cache;
	u32 inuse, objects;
	if (read_u64(w->s, node->addr + w->s->at.slab_cache, &cache) || cache != w->cache->addr ||
	    read_bits(w->s, node->addr, &w->s->inuse, &inuse) ||
	    read_bits(w->s, node->addr, &w->s->objects, &objects)) {
		w->changed = true;
		return 1;
	}
	w->free += objects > inuse ? objects - inuse : 0;
	return 0;
}

int kslabs_usage(struct kslabs *s, const struct kslab_cache *c, struct kslab_usage *ret)
{
	struct kslab_usage u = { 0 };
	struct slab_walk w = { .s = s, .cache = c };
	if (s->at.nr_slabs == EVAL_NO_OFFSET || s->at.total == EVAL_NO_OFFSET)
		return diag_error(s->k->diag, -ENOTSUP,
				  "this kernel does not count its slabs "
				  "(CONFIG_SLUB_DEBUG is off)");
	for (u32 n = 0; n < s->nr_nodes; n++) {
		u64 node, slabs, total;
		struct walk_result r;
		if (read_u64(s, c->addr + s->at.node + n * sizeof(u64), &node) || !node ||
		    read_u64(s, node + s->at.nr_slabs, &slabs) ||
		    read_u64(s, node + s->at.total, &total))
			continue;
		int err = walk_partial(s, node, count_free, &w, &r);
		if (err)
			return err;
		w.changed |= r.end == WALK_LOOP || r.end == WALK_BAD;
		u.slabs += slabs;
		u.objects += total;
	}
	u.allocated = u.objects > w.free ? u.objects - w.free : 0;
	u.changed = w.changed;
	*ret = u;
	return 0;
}

int kslabs_open(struct kslabs *s, struct kspace *k)
{
	struct memory *m;
	*s = (struct kslabs){ .k = k };
	int err = kspace_memory(k, &m);
	if (!err)
		err = find_layout(s);
	if (!err)
		err = read_caches(s);
	if (!err)
		err = find_anchors(s);
	if (err)
		kslabs_close(s);
	return err;
}

void kslabs_close(struct kslabs *s)
{
	vec_free(&s->caches);
}
