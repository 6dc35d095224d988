/* The variables that are seen from a place. */
#include "image/dwarf_place.h"
#include "image/dwarf_tags.h"
#include "probe/args_dwarf.h"

#include <string.h>

struct vars_dwarf_walk {
	const struct probe_place *p;
	probe_var_fn *fn;
	void *ctx;
};

static bool is_variable(u16 tag)
{
	return tag == DW_TAG_FORMAL_PARAMETER || tag == DW_TAG_VARIABLE;
}

/* Whether the code of an entry that is a scope holds the place; *scope: its number. */
static bool holds_place(const struct vars_dwarf_walk *w, const struct dw_die *d, u32 *scope)
{
	const struct dwcode_unit *u = w->p->unit;
	*scope = dwcode_scope_at(u, d->at);
	return *scope != DWCODE_NO_SCOPE && dwcode_has(u, &u->scopes.at[*scope], w->p->pc);
}

static int walk_scope(struct vars_dwarf_walk *w, const struct dw_die *scope, u32 number, u32 depth,
		      bool deeper)
{
	enum { DEPTH_MAX = 256 };
	struct dw_die d;
	int err = 0;
	for (bool more = dw_die_child(scope, &d); more && !err; more = dw_die_next(&d, &d)) {
		u16 tag = dw_die_tag(&d);
		if (is_variable(tag)) {
			struct probe_var_die v = { d, tag == DW_TAG_FORMAL_PARAMETER, deeper, depth,
						   number };
			err = w->fn(w->ctx, &v);
			continue;
		}
		u32 below;
		bool inlined = tag == DW_TAG_INLINED_SUBROUTINE;
		if ((inlined || tag == DW_TAG_LEXICAL_BLOCK) && depth < DEPTH_MAX &&
		    holds_place(w, &d, &below))
			err = walk_scope(w, &d, below, depth + 1, deeper || inlined);
	}
	return err;
}

int probe_each_var(const struct probe_place *p, probe_var_fn *fn, void *ctx)
{
	struct vars_dwarf_walk w = { p, fn, ctx };
	struct dw_die d;
	if (!dwcode_scope_die(p->unit, &p->unit->scopes.at[p->scope], &d))
		return 0;
	return walk_scope(&w, &d, p->scope, 0, false);
}

int probe_each_global(const struct probe_place *p, probe_var_fn *fn, void *ctx)
{
	struct dw_die d;
	int err = 0;
	for (bool more = dw_die_child(&p->unit->root, &d); more && !err; more = dw_die_next(&d, &d)) {
		struct probe_var_die v = { .die = d, .scope = DWCODE_NO_SCOPE };
		if (dw_die_tag(&d) == DW_TAG_VARIABLE)
			err = fn(ctx, &v);
	}
	return err;
}

void probe_var_place(const struct probe_place *p, const struct dw_die *var, bool sure,
		     struct dw_place *ret)
{
	const struct dwcode_scope *func = &p->unit->scopes.at[p->func];
	struct dw_die die;
	bool have = dwcode_scope_die(p->unit, func, &die);
	struct dw_place_at at = {
		.pc = p->pc,
		.entry = func->pc,
		.high = dwcode_high(p->unit, func),
		.func = have ? &die : NULL,
		.cfa = sure ? debuginfo_cfa : NULL,
		.ctx = p->info,
	};
	dw_place_find(var, &at, ret);
}
