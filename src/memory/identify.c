/*
 *	symbols       the list of symbols                              also code of modules and BPF programs
 *	per-CPU       each CPU's copy of the section, and BTF          which variable it is
 *	tasks         the list of tasks, by task_struct and stack
 *	slab          address ─► struct page ─► slab ─► cache          memory/kslabs
 *	vmalloc       the red-black trees of areas that are in use     by symbol: one tree, or (6.9) one for each of vmap_nodes
 */
#include "memory/identify.h"

#include "memory/eval.h"
#include "memory/kphys.h"
#include "memory/percpu.h"

#include <errno.h>
#include <string.h>

enum { STACK_BYTES = 16384, TREE_DEPTH_MAX = 128, VMAP_NODES_MAX = 4096 };

struct identify {
	struct kspace *k;
	struct kslabs slabs;
	bool has_slabs;
	struct ktasks tasks;
	u64 task_bytes;
	u64 percpu_bytes; /* of the section */
	struct {
		u64 start, end, node, vm; /* vmap_area */
		u64 caller, size; /* vm_struct */
		u64 root; /* of a vmap_node */
		u64 node_bytes;
	} at;
	bool has_vmalloc;
};

struct telling {
	struct identify *id;
	u64 addr;
	identity_fn fn;
	void *ctx;
};

static void copy_text(char *to, size_t size, const char *from, size_t len)
{
	len = min(len, size - 1);
	memcpy(to, from, len);
	to[len] = '\0';
}

/* ---- symbols and per-CPU variables ----------------------------------------------------------------------------------------- */

static int tell_symbol(const struct telling *t)
{
	struct ksym sym;
	struct identity what = { .kind = IDENTITY_SYMBOL };
	const struct ksyms *s = kspace_try_syms(t->id->k);
	if (!s || !ksyms_at(s, t->addr, &sym, &what.offset, &what.size))
		return 0;
	copy_text(what.name, sizeof(what.name), sym.name, sym.name_len);
	copy_text(what.module, sizeof(what.module), sym.module, sym.module_len);
	what.start = sym.addr;
	return t->fn(t->ctx, &what);
}

static int tell_per_cpu(const struct telling *t)
{
	struct kspace *k = t->id->k;
	for (u32 cpu = 0; t->id->percpu_bytes && cpu < kspace_nr_cpus(k); cpu++) {
		struct identity what = { .kind = IDENTITY_PER_CPU, .cpu = cpu };
		struct percpu_variable v;
		u64 base;
		if (percpu_base(k, cpu, &base) || t->addr < base ||
		    !percpu_variable_at(k, t->addr - base, &v))
			continue;
		copy_text(what.name, sizeof(what.name), v.name, strlen(v.name));
		what.start = base + v.offset;
		what.offset = t->addr - what.start;
		what.size = v.size;
		return t->fn(t->ctx, &what);
	}
	return 0;
}

/* ---- tasks ----------------------------------------------------------------------------------------------------------------- */

static int try_task(void *ctx, const struct ktask *task)
{
	const struct telling *t = ctx;
	struct identity what = { .pid = task->pid };
	if (t->addr - task->addr < t->id->task_bytes) {
		what.kind = IDENTITY_TASK;
		what.start = task->addr;
		what.size = t->id->task_bytes;
	} else if (task->stack && t->addr - task->stack < STACK_BYTES) {
		what.kind = IDENTITY_STACK;
		what.start = task->stack;
		what.size = STACK_BYTES;
	} else {
		return 0;
	}
	what.offset = t->addr - what.start;
	copy_text(what.name, sizeof(what.name), task->comm, strlen(task->comm));
	int err = t->fn(t->ctx, &what);
	return err ? err : 1;
}

static int tell_task(struct telling *t)
{
	struct walk_result r;
	return ktasks_each(&t->id->tasks, try_task, t, &r);
}

/* ---- vmalloc --------------------------------------------------------------------------------------------------------------- */

static int read_u64(const struct identify *id, u64 addr, u64 *ret)
{
	return memory_read(id->k->memory, addr, ret, sizeof(*ret));
}

/* An area of the tree below root that has the address; 0: none. */
static u64 find_area(const struct identify *id, u64 root, u64 addr)
{
	enum { RIGHT = 8, LEFT = 16 };
	u64 node, start, end;
	if (read_u64(id, root, &node))
		return 0;
	for (unsigned depth = 0; node && depth < TREE_DEPTH_MAX; depth++) {
		u64 area = node - id->at.node;
		if (read_u64(id, area + id->at.start, &start) ||
		    read_u64(id, area + id->at.end, &end))
			return 0;
		if (addr >= start && addr < end)
			return area;
		if (read_u64(id, node + (addr < start ? LEFT : RIGHT), &node))
			return 0;
	}
	return 0;
}

static u64 find_in_nodes(const struct identify *id, const struct ksyms *s, u64 addr)
{
	struct ksym nodes, nr_nodes;
	u64 at, area = 0;
	u32 nr;
	if (!ksyms_find(s, "vmap_nodes", &nodes) || !ksyms_find(s, "nr_vmap_nodes", &nr_nodes) ||
	    read_u64(id, nodes.addr, &at) ||
	    memory_read(id->k->memory, nr_nodes.addr, &nr, sizeof(nr)))
		return 0;
	for (u32 n = 0; !area && n < min(nr, (u32)VMAP_NODES_MAX); n++)
		area = find_area(id, at + n * id->at.node_bytes + id->at.root, addr);
	return area;
}

static int tell_vmalloc(const struct telling *t)
{
	const struct identify *id = t->id;
	struct identity what = { .kind = IDENTITY_VMALLOC };
	struct ksym root;
	u64 area, end, vm, caller, size;
	const struct ksyms *s = id->has_vmalloc ? kspace_try_syms(id->k) : NULL;
	if (!s)
		return 0;
	if (ksyms_find(s, "vmap_area_root", &root))
		area = find_area(id, root.addr, t->addr);
	else
		area = id->at.node_bytes ? find_in_nodes(id, s, t->addr) : 0;
	if (!area || read_u64(id, area + id->at.start, &what.start) ||
	    read_u64(id, area + id->at.end, &end))
		return 0;
	what.size = end - what.start;
	what.offset = t->addr - what.start;
	if (!read_u64(id, area + id->at.vm, &vm) && vm && !read_u64(id, vm + id->at.size, &size) &&
	    !read_u64(id, vm + id->at.caller, &caller)) {
		struct strbuf name;
		strbuf_init(&name);
		if (kspace_name_address(id->k, caller, false, &name))
			copy_text(what.name, sizeof(what.name), name.data, name.len);
		strbuf_done(&name);
	}
	return t->fn(t->ctx, &what);
}

/* ---- slabs and pages ------------------------------------------------------------------------------------------------------- */

static int tell_slab(const struct telling *t)
{
	struct kslab_object o;
	struct identity what = { .kind = IDENTITY_SLAB };
	if (!t->id->has_slabs || !kslabs_object(&t->id->slabs, t->addr, &o))
		return 0;
	copy_text(what.name, sizeof(what.name), o.cache->name, strlen(o.cache->name));
	what.start = o.start;
	what.size = o.cache->object_size;
	what.offset = o.offset;
	what.state = o.state;
	return t->fn(t->ctx, &what);
}

static int tell_page(const struct telling *t)
{
	struct identify *id = t->id;
	struct identity what = { .kind = IDENTITY_PAGE };
	u64 of, back, bytes = id->slabs.page_bytes, size = id->slabs.page_struct;
	if (!id->has_slabs)
		return 0;
	if (kslabs_page(&id->slabs, t->addr, &what.page)) {
		what.size = bytes;
		what.start = t->addr / bytes * bytes;
	} else {
		u64 apart = t->addr - id->slabs.anchor_page;
		what.kind = IDENTITY_PAGE_STRUCT;
		what.size = size;
		/* Remainders of what is below the anchor are counted from below, too. */
		what.start = t->addr - ((s64)apart % (s64)size + (s64)size) % (s64)size;
		if (!kslabs_page_address(&id->slabs, what.start, &of) ||
		    !kslabs_page(&id->slabs, of, &back) || back != what.start)
			return 0;
		what.page = of;
	}
	what.offset = t->addr - what.start;
	of = what.kind == IDENTITY_PAGE ? t->addr : what.page;
	what.has_phys = kphys_find(id->k, of, &what.phys);
	return t->fn(t->ctx, &what);
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------- */

int identify_address(struct identify *id, u64 addr, identity_fn fn, void *ctx)
{
	struct telling t = { .id = id, .addr = addr, .fn = fn, .ctx = ctx };
	int err = tell_symbol(&t);
	if (!err)
		err = tell_per_cpu(&t);
	if (!err)
		err = tell_task(&t);
	if (!err)
		err = tell_slab(&t);
	if (!err)
		err = tell_vmalloc(&t);
	return err ? err : tell_page(&t);
}

static void find_vmalloc(struct identify *id)
{
	struct ktype node;
	u64 root;
	const struct eval_offset rows[] = {
		{ "vmap_area", "va_start", &id->at.start, true },
		{ "vmap_area", "va_end", &id->at.end, true },
		{ "vmap_area", "rb_node", &id->at.node, true },
		{ "vmap_area", "vm", &id->at.vm, true },
		{ "vm_struct", "caller", &id->at.caller, true },
		{ "vm_struct", "size", &id->at.size, true },
		{ "vmap_node", "busy.root", &root, true },
	};
	id->has_vmalloc = !eval_offsets(id->k, rows, ARRAY_SIZE(rows));
	for (size_t n = 0; n + 1 < ARRAY_SIZE(rows); n++)
		id->has_vmalloc &= *rows[n].to != EVAL_NO_OFFSET;
	if (root != EVAL_NO_OFFSET &&
	    kspace_find_type(id->k, "vmap_node", BTF_BIT(BTF_OF_STRUCT), &node)) {
		id->at.root = root;
		id->at.node_bytes = ktype_size(&node);
	}
}

/* The type ends with registers of which the kernel only allocates as many as the CPU has: what comes after is the next task. */
static void limit_task(struct identify *id)
{
	if (id->has_slabs)
		vec_for_each (&id->slabs.caches, c)
			if (!strcmp(c->name, "task_struct"))
				id->task_bytes = min(id->task_bytes, (u64)c->object_size);
}

static int open_parts(struct identify *id)
{
	struct kspace *k = id->k;
	struct diag quiet, *diag = k->diag;
	struct ktype task;
	int err = ktasks_open(&id->tasks, k);
	if (err)
		return err;
	if (kspace_find_type(k, "task_struct", BTF_BIT(BTF_OF_STRUCT), &task))
		id->task_bytes = ktype_size(&task);
	/* The rest is reported as far as this kernel has it. */
	diag_init(&quiet);
	k->diag = &quiet;
	id->has_slabs = !kslabs_open(&id->slabs, k);
	limit_task(id);
	id->percpu_bytes = percpu_section_bytes(k);
	find_vmalloc(id);
	k->diag = diag;
	diag_done(&quiet);
	return 0;
}

int identify_open(struct kspace *k, struct identify **ret)
{
	struct identify *id = calloc(1, sizeof(*id));
	if (!id)
		return -ENOMEM;
	id->k = k;
	int err = open_parts(id);
	if (err)
		identify_close(id);
	else
		*ret = id;
	return err;
}

void identify_close(struct identify *id)
{
	if (!id)
		return;
	if (id->has_slabs)
		kslabs_close(&id->slabs);
	free(id);
}

const char *identity_word(enum identity_kind kind)
{
	static const char *const words[] = {
		[IDENTITY_SYMBOL] = "symbol",
		[IDENTITY_PER_CPU] = "per-CPU variable",
		[IDENTITY_TASK] = "task",
		[IDENTITY_STACK] = "task stack",
		[IDENTITY_SLAB] = "slab object",
		[IDENTITY_VMALLOC] = "vmalloc area",
		[IDENTITY_PAGE_STRUCT] = "struct page",
		[IDENTITY_PAGE] = "page",
	};
	return words[kind];
}
