/* What can be fetched at a place, for -V. */
#include "image/dwarf_place.h"
#include "image/dwarf_type.h"
#include "probe/args_dwarf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct vars_list {
	const struct probe_place *p;
	struct arena *arena;
	VEC(struct probe_var) vars;
	bool externs;
	bool ranges;
};

/* ---- ranges ---- */

struct range_text {
	struct strbuf *to;
	u64 entry;
	u32 nr;
};

static void add_range(void *ctx, u64 low, u64 high)
{
	struct range_text *r = ctx;
	strbuf_printf(r->to, "%s%lld-%lld", r->nr++ ? "," : "", (long long)(low - r->entry),
		      (long long)(high - r->entry));
}

/* Where a variable has a value, counted from the start of the function; one that always has: where it is in scope. */
static const char *ranges_of(const struct vars_list *l, const struct probe_var_die *v)
{
	struct dwcode_unit *u = l->p->unit;
	const struct dwcode_scope *func = &u->scopes.at[l->p->func];
	const char *name = dwcode_name(u, func), *ret = NULL;
	struct strbuf s;
	strbuf_init(&s);
	struct range_text r = { &s, func->pc, 0 };
	strbuf_printf(&s, "%s+[", name ? name : "");
	if (!dw_place_ranges(&v->die, add_range, &r) && v->scope != DWCODE_NO_SCOPE) {
		const struct dwcode_scope *in = &u->scopes.at[v->scope];
		for (u32 i = 0; i < in->nr_ranges; i++)
			add_range(&r, u->ranges.at[in->first_range + i].low,
				  u->ranges.at[in->first_range + i].high);
	}
	strbuf_char(&s, ']');
	if (r.nr && !s.err)
		ret = arena_strdup(l->arena, strbuf_cstr(&s));
	strbuf_done(&s);
	return ret;
}

/* ---- variables ---- */

struct later {
	u64 from, until;
	bool found;
};

static void is_later(void *ctx, u64 low, u64 high)
{
	struct later *l = ctx;
	l->found |= low > l->from && low <= l->until && low < high;
}

static bool has_place_later(const struct vars_list *l, const struct dw_die *var)
{
	struct later after = { l->p->pc,
			       dwcode_high(l->p->unit, &l->p->unit->scopes.at[l->p->func]), false };
	(void)dw_place_ranges(var, is_later, &after);
	return after.found;
}

/* A value that is computed can be followed if it is a pointer, but not shown. */
static bool can_be_fetched(const struct dw_die *var, const struct dw_place *place)
{
	struct dw_die type;
	if (place->kind == DWPLACE_NONE || place->kind == DWPLACE_REFUSED)
		return false;
	return place->kind != DWPLACE_VALUE || !place->add ||
	       (dwtype_of(var, &type) && dwtype_kind(&type) == DWTYPE_POINTER);
}

static int add_var(void *ctx, const struct probe_var_die *v)
{
	struct vars_list *l = ctx;
	struct dw_place place;
	const char *name = dw_die_name(&v->die);
	bool is_global = v->scope == DWCODE_NO_SCOPE;
	if (!name)
		return 0;
	probe_var_place(l->p, &v->die, false, &place);
	bool good = can_be_fetched(&v->die, &place);
	bool missing = !good && l->ranges && !v->is_parameter && place.kind == DWPLACE_NONE &&
		       has_place_later(l, &v->die);
	if (!good && !missing)
		return 0;
	struct strbuf type;
	strbuf_init(&type);
	if (!dwtype_text(&v->die, &type)) {
		strbuf_reset(&type);
		strbuf_str(&type, "(unknown_type)");
	}
	struct probe_var *to = vec_push(&l->vars);
	if (to)
		*to = (struct probe_var){
			.type = arena_strdup(l->arena, strbuf_cstr(&type)),
			.name = arena_strdup(l->arena, name),
			.ranges = l->ranges && !is_global ? ranges_of(l, v) : NULL,
			.is_extern = is_global,
			.is_missing = missing,
		};
	strbuf_done(&type);
	return to && to->type && to->name ? 0 : -ENOMEM;
}

/* As perf's list is sorted: by the whole row. */
static int by_row(const void *left, const void *right)
{
	const struct probe_var *a = left, *b = right;
	int kind_a = a->ranges || a->is_missing ? (a->is_missing ? 1 : 2) : 0;
	int kind_b = b->ranges || b->is_missing ? (b->is_missing ? 1 : 2) : 0;
	if (kind_a != kind_b && (a->ranges || b->ranges))
		return kind_a - kind_b;
	size_t i = 0;
	while (a->type[i] && a->type[i] == b->type[i])
		i++;
	/* The end of a type is followed by a tab, which is less than any letter. */
	int diff = (u8)a->type[i] - (u8)b->type[i];
	return diff ? diff : strcmp(a->name, b->name);
}

static void drop_doubles(struct vars_list *l)
{
	size_t kept = 0;
	for (size_t i = 0; i < l->vars.nr; i++)
		if (!kept || by_row(&l->vars.at[kept - 1], &l->vars.at[i]))
			l->vars.at[kept++] = l->vars.at[i];
	l->vars.nr = kept;
}

struct collect {
	struct probe_vars *ret;
	bool externs, ranges;
};

static int at_place(void *ctx, const struct probe_place *p)
{
	struct collect *c = ctx;
	struct vars_list l = { .p = p, .arena = &c->ret->arena, .ranges = c->ranges };
	struct probe_vars_at at = { 0 };
	int err = probe_each_var(p, add_var, &l);
	if (!err && c->externs)
		err = probe_each_global(p, add_var, &l);
	if (!err && l.vars.nr) {
		qsort(l.vars.at, l.vars.nr, sizeof(*l.vars.at), by_row);
		drop_doubles(&l);
		struct probe_var *kept = arena_array(l.arena, l.vars.nr, sizeof(*kept));
		if (kept)
			memcpy(kept, l.vars.at, l.vars.nr * sizeof(*kept));
		else
			err = -ENOMEM;
		at.vars = kept;
		at.nr_vars = (u32)l.vars.nr;
	}
	/* The source's name and not the symbol's, which may have ".isra.0" at its end: as perf writes it. */
	const struct dwcode_scope *func = &p->unit->scopes.at[p->func];
	const char *name = dwcode_name(p->unit, func);
	at.offset = p->pc - func->pc;
	at.function = arena_strdup(l.arena, name ? name : "");
	vec_free(&l.vars);
	struct probe_vars_at *to = err ? NULL : vec_push(&c->ret->at);
	if (to)
		*to = at;
	return err ? err : to && at.function ? 0 : -ENOMEM;
}

int probe_vars(const struct probe_target *target, const struct probe_request *request,
	       struct probe_vars *ret, struct diag *d)
{
	struct debuginfo info;
	struct collect c = { ret, target->externs, target->ranges };
	*ret = (struct probe_vars){ 0 };
	arena_init(&ret->arena);
	int err = debuginfo_open(&info, target, d);
	if (err)
		return err;
	err = probe_places(&info, request, at_place, &c, d);
	debuginfo_close(&info);
	return err;
}

void probe_vars_done(struct probe_vars *v)
{
	arena_done(&v->arena);
	vec_free(&v->at);
}
