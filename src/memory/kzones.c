/*
 *	task_struct of kswapdN ─► worker_private (kthread) ─► data = pglist_data     pglist_data.kswapd is that task: a check
 */
#include "memory/kzones.h"

#include "kern/sysroot.h"
#include "memory/eval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int array_of(struct kspace *k, const char *type, const char *member, u32 *nr, u64 *bytes)
{
	struct ktype of, t, element;
	u64 bit;
	u8 bits;
	if (!kspace_find_type(k, type, BTF_BIT(BTF_OF_STRUCT), &of))
		return diag_error(k->diag, -ENOENT, "this kernel has no struct %s", type);
	int err = eval_path(k, &of, member, &t, &bit, &bits);
	if (err)
		return err;
	u64 elements = ktype_elements(&t);
	*nr = (u32)min(elements, (u64)UINT32_MAX);
	*bytes = ktype_target(&t, &element) ? ktype_size(&element) : 0;
	return *nr && *bytes ? 0
			     : diag_error(k->diag, -ENOENT, "struct %s: unexpected type of '%s'",
					  type, member);
}

int kzones_open(struct kzones *z, struct kspace *k)
{
	u64 bytes;
	*z = (struct kzones){ .k = k };
	const struct eval_offset rows[] = {
		{ "task_struct", "worker_private", &z->worker },
		{ "kthread", "data", &z->data },
		{ "pglist_data", "node_zones", &z->zones },
		{ "pglist_data", "node_id", &z->node_id },
		{ "pglist_data", "kswapd", &z->kswapd },
		{ "pglist_data", "vm_stat", &z->node_stat },
		{ "zone", "name", &z->name },
		{ "zone", "zone_start_pfn", &z->start_pfn },
		{ "zone", "spanned_pages", &z->spanned },
		{ "zone", "present_pages", &z->present },
		{ "zone", "managed_pages", &z->managed },
		{ "zone", "_watermark", &z->watermark },
		{ "zone", "vm_stat", &z->zone_stat },
	};
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = array_of(k, "pglist_data", "node_zones", &z->zones_max, &z->zone_bytes);
	if (!err)
		err = array_of(k, "pglist_data", "vm_stat", &z->nr_node_items, &bytes);
	if (!err)
		err = array_of(k, "zone", "vm_stat", &z->nr_zone_items, &bytes);
	z->zones_max = min(z->zones_max, (u32)KZONES);
	z->nr_node_items = min(z->nr_node_items, (u32)KZONE_ITEMS);
	z->nr_zone_items = min(z->nr_zone_items, (u32)KZONE_ITEMS);
	return err;
}

/* The last value of each enum is how many there are. */
const char *kzones_item_name(struct kzones *z, bool of_node, u32 n)
{
	struct ktype t;
	struct btf_desc d;
	struct btf_part p;
	const char *found = NULL;
	if (!kspace_find_type(z->k, of_node ? "node_stat_item" : "zone_stat_item",
			      BTF_BIT(BTF_OF_ENUM), &t) ||
	    !btf_describe(t.b, t.id, &d))
		return NULL;
	/* Where two have a number (NR_LRU_BASE, NR_INACTIVE_ANON), the later one is the counter's. */
	for (u32 i = 0; i + 1 < d.nr && btf_part(t.b, &d, i, &p); i++)
		if (p.value == n)
			found = p.name;
	return found;
}

/* ---- nodes ----------------------------------------------------------------------------------------------------------------- */

static int read_counters(struct kzones *z, u64 addr, u32 nr, struct kzone_counters *to)
{
	to->nr = nr;
	return memory_read(z->k->memory, addr, to->pages, nr * sizeof(u64));
}

static int read_zone(struct kzones *z, u64 addr, struct kzone *to)
{
	u64 name, marks[3];
	bool cut;
	struct memory_piece pieces[] = {
		{ addr + z->name, &name, sizeof(name), 0 },
		{ addr + z->start_pfn, &to->start_pfn, sizeof(u64), 0 },
		{ addr + z->spanned, &to->spanned, sizeof(u64), 0 },
		{ addr + z->present, &to->present, sizeof(u64), 0 },
		{ addr + z->managed, &to->managed, sizeof(u64), 0 },
		{ addr + z->watermark, marks, sizeof(marks), 0 },
	};
	int err = memory_read_pieces(z->k->memory, pieces, ARRAY_SIZE(pieces));
	for (size_t n = 0; !err && n < ARRAY_SIZE(pieces); n++)
		err = pieces[n].err;
	if (err)
		return err;
	to->addr = addr;
	to->min = marks[0];
	to->low = marks[1];
	to->high = marks[2];
	if (memory_read_text(z->k->memory, name, to->name, sizeof(to->name), &cut))
		to->name[0] = '\0';
	return read_counters(z, addr + z->zone_stat, z->nr_zone_items, &to->counters);
}

static int read_node(struct kzones *z, u64 addr, struct kzone_node *to)
{
	struct memory *m = z->k->memory;
	to->addr = addr;
	to->nr_zones = z->zones_max;
	int err = memory_read(m, addr + z->node_id, &to->number, sizeof(to->number));
	for (u32 n = 0; !err && n < to->nr_zones; n++)
		err = read_zone(z, addr + z->zones + n * z->zone_bytes, &to->zones[n]);
	return err ? err : read_counters(z, addr + z->node_stat, z->nr_node_items, &to->counters);
}

struct node_walk {
	struct kzones *z;
	kzone_node_fn fn;
	void *ctx;
	u32 nr;
};

static int each_task(void *ctx, const struct ktask *t)
{
	struct node_walk *w = ctx;
	struct kzones *z = w->z;
	struct memory *m = z->k->memory;
	struct kzone_node node = { 0 };
	u64 thread, data, task;
	if (strncmp(t->comm, "kswapd", 6) != 0 || !ktask_is_kernel_thread(t))
		return 0;
	if (memory_read(m, t->addr + z->worker, &thread, sizeof(thread)) ||
	    memory_read(m, thread + z->data, &data, sizeof(data)) ||
	    memory_read(m, data + z->kswapd, &task, sizeof(task)) || task != t->addr)
		return 0;
	int err = read_node(z, data, &node);
	if (err)
		return err == -EFAULT ? 0 : err;
	w->nr++;
	return w->fn(w->ctx, &node);
}

int kzones_each(struct kzones *z, kzone_node_fn fn, void *ctx)
{
	struct node_walk w = { z, fn, ctx, 0 };
	struct walk_result end;
	struct ktasks tasks;
	int err = ktasks_open(&tasks, z->k);
	if (!err)
		err = ktasks_each(&tasks, each_task, &w, &end);
	if (!err && !w.nr)
		err = diag_error(z->k->diag, -ENOENT,
				 "no node of memory was found: no kswapd thread leads to one");
	return err;
}

/* ---- usage ----------------------------------------------------------------------------------------------------------------- */

static void set_usage(struct kusage *u, enum kusage_item item, u64 bytes)
{
	u->has[item] = true;
	u->bytes[item] = bytes;
}

static int usage_of_proc(struct kspace *k, struct kusage *to)
{
	static const struct {
		const char *name;
		enum kusage_item item;
	} lines[] = {
		{ "MemTotal", KUSAGE_TOTAL },
		{ "MemFree", KUSAGE_FREE },
		{ "Shmem", KUSAGE_SHARED },
		{ "Buffers", KUSAGE_BUFFERS },
		{ "Cached", KUSAGE_CACHED },
		{ "Slab", KUSAGE_SLAB },
		{ "SwapTotal", KUSAGE_SWAP_TOTAL },
		{ "SwapFree", KUSAGE_SWAP_FREE },
		{ "CommitLimit", KUSAGE_COMMIT_LIMIT },
		{ "Committed_AS", KUSAGE_COMMITTED },
	};
	struct sysroot r;
	struct strbuf text;
	u64 total = 0, free = 0, page = 0;
	int err = sysroot_open(&r, k->opts.root);
	if (err)
		return diag_error(k->diag, err, "cannot open /proc: %s", strerror(-err));
	strbuf_init(&text);
	err = sysroot_read(&r, "proc/meminfo", &text);
	if (err)
		(void)diag_error(k->diag, err, "cannot read /proc/meminfo: %s", strerror(-err));
	char *rest = err || !*strbuf_cstr(&text) ? NULL : text.data;
	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		char *colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = '\0';
		u64 number = strtoull(colon + 1, NULL, 10);
		for (size_t n = 0; n < ARRAY_SIZE(lines); n++)
			if (!strcmp(line, lines[n].name))
				set_usage(to, lines[n].item, number * 1024);
		if (!strcmp(line, "HugePages_Total"))
			total = number;
		else if (!strcmp(line, "HugePages_Free"))
			free = number;
		else if (!strcmp(line, "Hugepagesize"))
			page = number * 1024;
	}
	if (page) {
		set_usage(to, KUSAGE_HUGE_TOTAL, total * page);
		set_usage(to, KUSAGE_HUGE_FREE, free * page);
	}
	strbuf_done(&text);
	sysroot_close(&r);
	return err;
}

struct usage_sum {
	struct kzones z;
	u64 page;
	struct kusage *to;
};

static void add_item(struct usage_sum *s, const struct kzone_counters *c, const char *name,
		     enum kusage_item item)
{
	s64 number;
	struct ktype type;
	if (!kspace_find_constant(s->z.k, name, &number, &type) || number < 0 || number >= c->nr)
		return;
	s64 pages = c->pages[number];
	set_usage(s->to, item, s->to->bytes[item] + (u64)max(pages, (s64)0) * s->page);
}

static int sum_node(void *ctx, const struct kzone_node *node)
{
	struct usage_sum *s = ctx;
	for (u32 n = 0; n < node->nr_zones; n++) {
		const struct kzone *z = &node->zones[n];
		set_usage(s->to, KUSAGE_TOTAL, s->to->bytes[KUSAGE_TOTAL] + z->managed * s->page);
		add_item(s, &z->counters, "NR_FREE_PAGES", KUSAGE_FREE);
	}
	add_item(s, &node->counters, "NR_SHMEM", KUSAGE_SHARED);
	add_item(s, &node->counters, "NR_FILE_PAGES", KUSAGE_CACHED);
	add_item(s, &node->counters, "NR_SLAB_RECLAIMABLE_B", KUSAGE_SLAB);
	add_item(s, &node->counters, "NR_SLAB_UNRECLAIMABLE_B", KUSAGE_SLAB);
	return 0;
}

int kusage_read(struct kspace *k, struct kusage *ret)
{
	struct usage_sum s = { .to = ret };
	*ret = (struct kusage){ { 0 } };
	if (!k->opts.dump)
		return usage_of_proc(k, ret);
	int err = kzones_open(&s.z, k);
	s.page = err ? 0 : kspace_page_size(k);
	return err ? err : kzones_each(&s.z, sum_node, &s);
}
