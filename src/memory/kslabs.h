/*
 * The kernel's slab caches as its memory has them (SLUB), and which object of which cache lies at an address.
 *
 * Nothing here needs a symbol: the first PID namespace names a cache, and all caches are on one list. A slab with free objects names both
 * its struct page and an address inside of it; from that pair on, every address of the kernel's linear mapping leads to its struct page.
 */
#pragma once

#include "memory/walk.h"

enum { KSLAB_NAME = 64 };

struct kslab_cache {
	u64 addr; /* of its struct kmem_cache */
	char name[KSLAB_NAME];
	u32 size; /* from one object to the next */
	u32 object_size;
	u32 next_free; /* offset of a free object's pointer to the next one */
	u32 padding; /* before each object */
	u64 random; /* free pointers are XORed with it; 0: they are not */
	u32 slab_bytes;
	bool holds_free; /* CPUs keep free objects that no slab knows of (sheaves, 6.18) */
};

struct kslabs {
	struct kspace *k;
	VEC(struct kslab_cache) caches; /* in the order of their addresses */
	u32 nr_nodes;
	u64 page_bytes; /* of memory */
	u64 page_struct; /* size of struct page */
	u64 anchor_page, anchor_addr; /* a struct page, and an address in that page */
	bool hardened;
	struct {
		u64 name, size, object_size, next_free, padding, random, list, node, order, sheaves;
		u64 partial, nr_slabs, total; /* in kmem_cache_node */
		u64 slab_list, slab_cache, freelist; /* in slab */
		u64 head; /* page.compound_head */
	} at;
	struct kslab_bits {
		u64 word;
		u8 shift, bits;
	} inuse, objects, frozen;
};

/* -ENOENT with a diag: BTF lacks a member (a kernel without SLUB, or before 5.17). */
int kslabs_open(struct kslabs *s, struct kspace *k) must_check;
void kslabs_close(struct kslabs *s);

/* By the address of its struct kmem_cache. NULL: none. */
const struct kslab_cache *kslabs_find(const struct kslabs *s, u64 addr);

enum kslab_state {
	KSLAB_ALLOCATED,
	KSLAB_FREE, /* on its slab's list of free objects */
	KSLAB_HELD, /* in use, or kept free by a CPU: only that CPU's lists know */
};

struct kslab_object {
	const struct kslab_cache *cache;
	u64 slab; /* its struct slab, which is a struct page */
	u64 start; /* of the object */
	u64 offset; /* from there to the address; may be more than its size: the room up to the next one */
	u32 index; /* in its slab */
	enum kslab_state state;
};

/* false: there is no slab, or it cannot be determined. */
bool kslabs_object(struct kslabs *s, u64 addr, struct kslab_object *ret);

/* The struct page of an address in the linear mapping, and back. false: no anchor was found, or nothing can be read there. */
bool kslabs_page(const struct kslabs *s, u64 addr, u64 *ret);
bool kslabs_page_address(const struct kslabs *s, u64 page, u64 *ret);
/* The first page of the folio that a page belongs to; the page itself if it is not part of one. */
u64 kslabs_page_head(const struct kslabs *s, u64 page);

/* How many objects and slabs a cache has, added up over nodes. What CPUs keep counts as allocated. */
struct kslab_usage {
	u64 slabs, objects, allocated;
	bool changed; /* a list changed while it was read */
};
int kslabs_usage(struct kslabs *s, const struct kslab_cache *c, struct kslab_usage *ret) must_check;
