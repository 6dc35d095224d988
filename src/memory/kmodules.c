#include "memory/kmodules.h"

#include "memory/eval.h"

enum { PARTS_MAX = 16 };

struct module_walk {
	struct kspace *k;
	kmodule_fn fn;
	void *ctx;
	u64 name;
	u64 base, size, step; /* of the text, or of the only part */
	u32 nr_parts;
};

/* 6.4: mem[] instead of core_layout. */
static int find_layout(struct module_walk *w)
{
	struct kspace *k = w->k;
	struct ktype module, mem;
	struct btf_part part;
	u64 next;
	const struct eval_offset one[] = { { "module", "name", &w->name },
					   { "module", "core_layout.base", &w->base },
					   { "module", "core_layout.size", &w->size } };
	const struct eval_offset many[] = { { "module", "name", &w->name },
					    { "module", "mem[0].base", &w->base },
					    { "module", "mem[0].size", &w->size },
					    { "module", "mem[1].size", &next } };
	w->nr_parts = 1;
	if (!kspace_find_type(k, "module", BTF_BIT(BTF_OF_STRUCT), &module) ||
	    btf_find_member(module.b, module.id, "mem", &part))
		return eval_offsets(k, one, ARRAY_SIZE(one));
	mem = ktype_of(module.b, part.type);
	w->nr_parts = (u32)min(ktype_elements(&mem), (u64)PARTS_MAX);
	int err = eval_offsets(k, many, ARRAY_SIZE(many));
	w->step = err ? 0 : next - w->size;
	return err;
}

static int each_module(void *ctx, const struct walk_node *node)
{
	struct module_walk *w = ctx;
	struct kmodule m = { .addr = node->addr };
	int err = kspace_read(w->k, m.addr + w->name, m.name, sizeof(m.name) - 8, "a module");
	if (!err)
		err = kspace_read(w->k, m.addr + w->base, &m.text, sizeof(m.text), "a module");
	for (u32 n = 0; !err && n < w->nr_parts; n++) {
		u32 size;
		err = kspace_read(w->k, m.addr + w->size + n * w->step, &size, sizeof(size),
				  "a module");
		m.size += err ? 0 : size;
	}
	return err ? err : w->fn(w->ctx, &m);
}

int kmodules_each(struct kspace *k, kmodule_fn fn, void *ctx, struct walk_result *ret)
{
	struct module_walk w = { .k = k, .fn = fn, .ctx = ctx };
	struct walk_list list = { .kind = WALK_LIST_HEAD };
	struct kspace_global g;
	int err = kspace_global(k, "modules", &g);
	if (!err)
		err = kspace_offset(k, "module", "list", &list.offset);
	if (!err)
		err = find_layout(&w);
	if (err)
		return err;
	list.start = g.addr;
	return walk_list(k, &list, each_module, &w, ret);
}
