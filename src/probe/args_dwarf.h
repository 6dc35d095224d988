/* What a probe fetches, from variables as debugging information describes them: "p->next->a" becomes "a=+0(+24(%di)):s32". */
#pragma once

#include "probe/find_dwarf.h"

/* Fills def->args. -ENOENT, -EOPNOTSUPP with a diag; -ENOMEM. */
int probe_args_dwarf(const struct probe_place *place, const struct probe_request *request,
		     struct arena *arena, struct probe_def *def, struct diag *d) must_check;

/* Variables that are seen from a place: parameters, locals of the blocks around it, in the order of the file. */
struct probe_var_die {
	struct dw_die die;
	bool is_parameter;
	bool is_deeper; /* of a function that was inlined there */
	u32 depth; /* blocks around it */
	u32 scope; /* the innermost of them */
};
/* 0 or fn's result. */
typedef int probe_var_fn(void *ctx, const struct probe_var_die *var);
int probe_each_var(const struct probe_place *p, probe_var_fn *fn, void *ctx) must_check;
/* The unit's own variables: global and static ones. */
int probe_each_global(const struct probe_place *p, probe_var_fn *fn, void *ctx) must_check;
struct dw_place;
/* Where a variable is at a place. sure: the frame has to be known, not only its kind. */
void probe_var_place(const struct probe_place *p, const struct dw_die *var, bool sure,
		     struct dw_place *ret);
