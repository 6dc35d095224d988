/*
 * Per-CPU data where the symbol list has no variables. A task knows its run queue, a run queue its CPU, and BTF where `runqueues` and
 * all other variables are in the section that each CPU has a copy of:
 *
 *	task ─► se.cfs_rq ─► rq     address of rq - offset of runqueues in the section = this CPU's copy of the section
 */
#include "memory/percpu.h"

#include "memory/eval.h"
#include "memory/walk.h"

#include <errno.h>
#include <string.h>

enum { CPUS_MAX = 8192 };

bool percpu_offset(struct kspace *k, const char *name, u64 *ret)
{
	struct ktype var;
	struct btf_desc d;
	struct btf_part p;
	if (!kspace_find_type(k, name, BTF_BIT(BTF_OF_VARIABLE), &var) || var.b != &k->btf)
		return false;
	for (u32 id = k->btf.nr; id; id--) {
		if (!btf_describe(&k->btf, id, &d) || d.kind != BTF_OF_SECTION)
			continue;
		for (u32 n = 0; btf_part(&k->btf, &d, n, &p); n++)
			if (p.type == var.id) {
				*ret = p.bit_offset / 8;
				return true;
			}
	}
	return false;
}

/* The kernel has one section of variables: those that each CPU has a copy of. */
static bool find_section(struct kspace *k, struct btf_desc *ret)
{
	struct btf *b;
	if (kspace_types(k, &b))
		return false;
	for (u32 id = b->nr; id; id--)
		if (btf_describe(b, id, ret) && ret->kind == BTF_OF_SECTION &&
		    strstr(ret->name, "percpu"))
			return true;
	return false;
}

u64 percpu_section_bytes(struct kspace *k)
{
	struct btf_desc d;
	return find_section(k, &d) ? d.size : 0;
}

bool percpu_variable_at(struct kspace *k, u64 offset, struct percpu_variable *ret)
{
	struct btf_desc d, var;
	struct btf_part p;
	if (!find_section(k, &d) || offset >= d.size)
		return false;
	for (u32 n = 0; btf_part(&k->btf, &d, n, &p); n++) {
		u64 at = p.bit_offset / 8;
		if (offset < at || offset - at >= p.size || !btf_describe(&k->btf, p.type, &var))
			continue;
		*ret = (struct percpu_variable){ var.name, at, p.size };
		return true;
	}
	return false;
}

struct rq_search {
	struct kspace *k;
	struct memory *m;
	u64 cfs_rq, rq, cpu; /* offsets */
	u64 section; /* of runqueues */
};

/* A task that goes while we look has no run queue for us: the next one has. */
static int each_task(void *ctx, const struct walk_node *node)
{
	struct rq_search *s = ctx;
	u64 cfs_rq, rq;
	u32 cpu;
	if (memory_read(s->m, node->addr + s->cfs_rq, &cfs_rq, sizeof(cfs_rq)) || !cfs_rq ||
	    memory_read(s->m, cfs_rq + s->rq, &rq, sizeof(rq)) || !rq ||
	    memory_read(s->m, rq + s->cpu, &cpu, sizeof(cpu)) || cpu >= s->k->nr_cpus)
		return 0;
	s->k->percpu_bases[cpu] = rq - s->section;
	return 0;
}

static int find_bases(struct kspace *k)
{
	struct rq_search s = { .k = k };
	struct walk_list w = { .kind = WALK_LIST_OBJECT };
	struct walk_result r;
	const struct eval_offset rows[] = { { "task_struct", "se.cfs_rq", &s.cfs_rq },
					    { "task_struct", "tasks", &w.offset },
					    { "cfs_rq", "rq", &s.rq },
					    { "rq", "cpu", &s.cpu } };
	u32 nr = kspace_nr_cpus(k);
	if (nr > CPUS_MAX || !percpu_offset(k, "runqueues", &s.section))
		return -ENOENT;
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = kspace_memory(k, &s.m);
	if (!err)
		err = kspace_init_task(k, &w.start);
	if (err)
		return err;
	k->percpu_bases = arena_array(&k->arena, nr, sizeof(u64));
	if (!k->percpu_bases)
		return -ENOMEM;
	memset(k->percpu_bases, 0, nr * sizeof(u64));
	return walk_list(k, &w, each_task, &s, &r);
}

int percpu_base(struct kspace *k, u32 cpu, u64 *ret)
{
	int err = k->percpu_bases ? 0 : find_bases(k);
	if (err)
		return err;
	if (cpu >= kspace_nr_cpus(k) || !k->percpu_bases[cpu])
		return -ENOENT;
	*ret = k->percpu_bases[cpu];
	return 0;
}
