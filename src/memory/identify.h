/*
 * What an address of the kernel is: everything that contains it, from its symbol to its page. Several things may: an object of the
 * cache task_struct is a task, too.
 */
#pragma once

#include "memory/kslabs.h"
#include "memory/ktasks.h"

enum identity_kind {
	IDENTITY_SYMBOL, /* a function or variable */
	IDENTITY_PER_CPU, /* a CPU's copy of a per-CPU variable */
	IDENTITY_TASK, /* in a task_struct */
	IDENTITY_STACK, /* in a task's kernel stack */
	IDENTITY_SLAB, /* in an object of a slab cache */
	IDENTITY_VMALLOC, /* in an area of the vmalloc range */
	IDENTITY_PAGE_STRUCT, /* in the struct page of a page */
	IDENTITY_PAGE, /* in a page of the linear mapping */
};

enum { IDENTITY_NAME = 128 };

struct identity {
	enum identity_kind kind;
	char name[IDENTITY_NAME]; /* of the symbol, variable, cache or task; vmalloc: the caller; "" for none */
	char module[KSLAB_NAME]; /* of a symbol; "" for the kernel itself */
	u64 start, size; /* of the thing; size 0: not known */
	u64 offset; /* of the address in it */
	u32 pid; /* of a task or stack */
	u32 cpu;
	enum kslab_state state; /* of a slab's object */
	u64 page; /* struct page of a page; of a struct page: the address of its memory */
	u64 phys;
	bool has_phys;
};

struct identify;

/* -ENOENT with a diag. What cannot be had (symbols, slabs) is left out. */
int identify_open(struct kspace *k, struct identify **ret) must_check;
void identify_close(struct identify *id); /* NULL is allowed */

/* Calls fn for each thing that contains the address. fn returns 0 to go on; anything else ends the search and is returned. */
typedef int (*identity_fn)(void *ctx, const struct identity *what);
int identify_address(struct identify *id, u64 addr, identity_fn fn, void *ctx) must_check;

/* For output: "slab object". */
const char *identity_word(enum identity_kind kind);
