/*
 * Descriptors are in a tree: irq_desc_tree (a radix tree, to 6.4) or sparse_irqs (a maple tree). Where the symbol list has neither, each
 * one's folder in /sys/kernel/irq leads to it.
 */
#include "memory/kirqs.h"

#include "base/num.h"
#include "memory/eval.h"
#include "memory/kopened.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IRQS_MAX = 1 << 16, PATH_ROOM = 64 };

static int add_place(struct kirqs *s, u32 number, u64 addr)
{
	struct kirq_place *p = s->places.nr < IRQS_MAX ? vec_push(&s->places) : NULL;
	if (!p)
		return -ENOMEM;
	*p = (struct kirq_place){ number, addr };
	return 0;
}

/* ---- by the kernel's own tree ---------------------------------------------------------------------------------------------- */

static int each_in_tree(void *ctx, const struct walk_node *node)
{
	return add_place(ctx, (u32)node->first, node->addr);
}

/* 1: found; 0: the symbol list has neither tree. */
static int find_by_tree(struct kirqs *s)
{
	struct ksym sym;
	struct walk_result end;
	const struct ksyms *syms = kspace_try_syms(s->k);
	struct walk_tree tree = { .kind = WALK_MAPLE, .limit = IRQS_MAX };
	if (!syms)
		return 0;
	if (!ksyms_find(syms, "sparse_irqs", &sym)) {
		if (!ksyms_find(syms, "irq_desc_tree", &sym))
			return 0;
		tree.kind = WALK_XARRAY;
	}
	tree.root = sym.addr;
	int err = walk_tree(s->k, &tree, each_in_tree, s, &end);
	if (!err && end.end != WALK_ENDED)
		diag_warn(s->k->diag, "the tree of interrupts changed while it was read: some may "
				      "be missing");
	return err ? err : 1;
}

/* ---- by sysfs -------------------------------------------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
	const struct kirq_place *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

static int add_folder(struct kirqs *s, const struct kopened *o, const char *name)
{
	char path[PATH_ROOM];
	u64 number, object;
	if (num_parse_u64(name, 10, &number) || number > UINT32_MAX)
		return 0;
	(void)snprintf(path, sizeof(path), "/sys/kernel/irq/%llu", (unsigned long long)number);
	int err = kopened_kobject(o, path, &object);
	if (err)
		return err == -ENOENT ? 0 : err;
	return add_place(s, (u32)number, object - s->at.kobj);
}

static int find_by_folders(struct kirqs *s)
{
	struct kopened o;
	struct dirent *e;
	int err = s->at.kobj == EVAL_NO_OFFSET ? -ENOTSUP : kopened_open(&o, s->k);
	if (err)
		return err;
	DIR *d = opendir("/sys/kernel/irq");
	if (!d)
		return -ENOTSUP;
	while (!err && (e = readdir(d)))
		err = add_folder(s, &o, e->d_name);
	(void)closedir(d);
	if (!err && s->places.nr)
		qsort(s->places.at, s->places.nr, sizeof(*s->places.at), compare_places);
	return err;
}

/* ---- descriptors ----------------------------------------------------------------------------------------------------------- */

static int find_layout(struct kirqs *s)
{
	struct ktype common, mask;
	struct btf_desc d;
	u64 common_at, bit;
	u8 bits;
	const struct eval_offset rows[] = {
		{ "irq_desc", "irq_data.irq", &s->at.number },
		{ "irq_desc", "irq_data.chip", &s->at.chip },
		{ "irq_desc", "action", &s->at.action },
		{ "irq_desc", "name", &s->at.name },
		{ "irq_desc", "kstat_irqs", &s->at.counts, true },
		{ "irq_desc", "kobj", &s->at.kobj, true },
		{ "irq_desc", "irq_common_data", &common_at },
		{ "irqaction", "handler", &s->at.handler },
		{ "irqaction", "next", &s->at.next },
		{ "irqaction", "name", &s->at.action_name },
		{ "irq_chip", "name", &s->at.chip_name },
	};
	int err = eval_offsets(s->k, rows, ARRAY_SIZE(rows));
	s->at.affinity = EVAL_NO_OFFSET; /* one CPU only */
	if (err || !kspace_find_type(s->k, "irq_common_data", BTF_BIT(BTF_OF_STRUCT), &common))
		return err;
	struct btf_part p;
	if (btf_find_member(common.b, common.id, "affinity", &p))
		return 0;
	err = eval_path(s->k, &common, "affinity", &mask, &bit, &bits);
	s->at.affinity = common_at + bit / 8;
	s->affinity_is_pointer = ktype_kind(&mask, &d) == BTF_OF_POINTER;
	return err;
}

int kirqs_open(struct kirqs *s, struct kspace *k)
{
	struct memory *m;
	*s = (struct kirqs){ .k = k };
	int err = find_layout(s);
	if (!err)
		err = kspace_memory(k, &m);
	if (!err)
		err = find_by_tree(s);
	if (!err)
		err = find_by_folders(s);
	if (err == -ENOTSUP) {
		err = diag_error(k->diag, -ENOENT,
				 "the kernel's interrupts were not found: the "
				 "symbol list has no sparse_irqs or irq_desc_tree");
		if (!k->opts.dump)
			diag_hint(k->diag, "read memory through BPF (as root): they are then found "
					   "through /sys/kernel/irq");
	}
	if (err < 0)
		kirqs_close(s);
	return min(err, 0);
}

void kirqs_close(struct kirqs *s)
{
	vec_free(&s->places);
}

static void read_text(struct kspace *k, u64 pointer_at, char to[KIRQ_NAME])
{
	u64 at;
	bool cut;
	if (memory_read(k->memory, pointer_at, &at, sizeof(at)) || !at ||
	    memory_read_text(k->memory, at, to, KIRQ_NAME, &cut))
		to[0] = '\0';
}

static void read_actions(struct kirqs *s, u64 at, struct kirq *to)
{
	struct memory *m = s->k->memory;
	while (at) {
		struct kirq_action *a = &to->actions[to->nr_actions];
		if (to->nr_actions == KIRQ_ACTIONS) {
			to->more_actions = true;
			return;
		}
		*a = (struct kirq_action){ .addr = at };
		if (memory_read(m, at + s->at.handler, &a->handler, sizeof(a->handler)))
			return;
		read_text(s->k, at + s->at.action_name, a->name);
		to->nr_actions++;
		if (memory_read(m, at + s->at.next, &at, sizeof(at)))
			return;
	}
}

static void read_affinity(struct kirqs *s, u64 addr, struct cpuset *to)
{
	struct memory *m = s->k->memory;
	u64 at = addr + s->at.affinity;
	u32 cpus = kspace_nr_cpus(s->k);
	size_t words = (cpus + 63) / 64;
	if (s->at.affinity == EVAL_NO_OFFSET) {
		cpuset_add(to, 0);
		return;
	}
	if (s->affinity_is_pointer && memory_read(m, at, &at, sizeof(at)))
		return;
	if (memory_read(m, at, to->bits, min(words, ARRAY_SIZE(to->bits)) * sizeof(u64)))
		cpuset_zero(to);
	/* The kernel fills whole words: bits above the last CPU say nothing. */
	if (cpus % 64 && words <= ARRAY_SIZE(to->bits))
		to->bits[words - 1] &= (1ull << cpus % 64) - 1;
}

int kirqs_read(struct kirqs *s, const struct kirq_place *p, struct kirq *ret)
{
	struct memory *m = s->k->memory;
	u64 action, chip;
	*ret = (struct kirq){ .number = p->number, .addr = p->addr };
	int err = memory_read(m, p->addr + s->at.number, &ret->number, sizeof(ret->number));
	if (!err)
		err = memory_read(m, p->addr + s->at.action, &action, sizeof(action));
	if (!err)
		err = memory_read(m, p->addr + s->at.chip, &chip, sizeof(chip));
	/* Its memory belongs to another one, or to something else, by now. */
	if (err || ret->number != p->number)
		return err ? err : -EFAULT;
	if (chip)
		read_text(s->k, chip + s->at.chip_name, ret->chip);
	read_text(s->k, p->addr + s->at.name, ret->flow);
	read_actions(s, action, ret);
	read_affinity(s, p->addr, &ret->affinity);
	return 0;
}

/* ---- how often ------------------------------------------------------------------------------------------------------------- */

/* "0,119320": of all CPUs that may exist. */
static int counts_of_folder(struct kirqs *s, u32 number, u64 *counts)
{
	char path[PATH_ROOM], *line = NULL;
	size_t room = 0;
	u32 cpu = 0;
	(void)snprintf(path, sizeof(path), "/sys/kernel/irq/%u/per_cpu_count", number);
	FILE *f = fopen(path, "re");
	if (!f)
		return -ENOENT;
	if (getline(&line, &room, f) > 0)
		for (char *rest = line, *word;
		     cpu < kspace_nr_cpus(s->k) && (word = strsep(&rest, ",\n"));)
			counts[cpu++] = strtoull(word, NULL, 10);
	free(line);
	(void)fclose(f);
	return cpu ? 0 : -ENOENT;
}

/* Allocated per-CPU memory: the same address in each CPU's copy. A count begins what is there, be it alone (to 6.9) or not. */
static int counts_of_memory(struct kirqs *s, u64 addr, u64 *counts)
{
	struct ksym sym;
	u64 at, offset;
	const struct ksyms *syms = kspace_try_syms(s->k);
	struct memory *m = s->k->memory;
	if (s->at.counts == EVAL_NO_OFFSET || !syms || !ksyms_find(syms, "__per_cpu_offset", &sym) ||
	    memory_read(m, addr + s->at.counts, &at, sizeof(at)))
		return -ENOENT;
	for (u32 cpu = 0; cpu < kspace_nr_cpus(s->k); cpu++) {
		u32 count;
		if (!memory_read(m, sym.addr + cpu * sizeof(offset), &offset, sizeof(offset)) &&
		    !memory_read(m, at + offset, &count, sizeof(count)))
			counts[cpu] = count;
	}
	return 0;
}

int kirqs_counts(struct kirqs *s, const struct kirq_place *p, u64 *counts)
{
	memset(counts, 0, kspace_nr_cpus(s->k) * sizeof(*counts));
	int err = counts_of_memory(s, p->addr, counts);
	return err && !s->k->dump ? counts_of_folder(s, p->number, counts) : err;
}

/* ---- the interrupt table --------------------------------------------------------------------------------------------------- */

/* It is mapped for reading at the start of the CPU entry area: the same address on all kernels since 4.15. */
int kirqs_table(struct kspace *k, u64 handlers[KIRQ_VECTORS])
{
	const u64 table = 0xfffffe0000000000ull;
	struct gate {
		u16 low, segment, flags, middle;
		u32 high, reserved;
	} gates[KIRQ_VECTORS];
	enum { PRESENT = 1 << 15 };
	struct memory *m;
	int err = kspace_memory(k, &m);
	if (!err && !kspace_is_x86(k))
		return diag_error(k->diag, -ENOTSUP, "only x86 has an interrupt descriptor table");
	if (!err)
		err = kspace_read(k, table, gates, sizeof(gates), "the interrupt table");
	for (u32 n = 0; !err && n < KIRQ_VECTORS; n++)
		handlers[n] = gates[n].flags & PRESENT
				      ? (u64)gates[n].high << 32 | (u64)gates[n].middle << 16 |
						gates[n].low
				      : 0;
	return err;
}
