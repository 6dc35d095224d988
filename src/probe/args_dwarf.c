#include "probe/args_dwarf.h"
#include "event/closest.h"
#include "image/dwarf_place.h"
#include "image/dwarf_type.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { REFS_MAX = 80, ARGS_MAX = 128 };

/* What is fetched: the base, loaded from at each of refs in turn. */
struct args_dwarf_value {
	const char *base; /* "%di"; of a static variable NULL: `addr` or its name */
	const char *symbol;
	u64 addr;
	struct {
		s64 offset;
		bool user;
	} refs[REFS_MAX];
	u32 nr;
	s64 pending; /* to be added to the value before it is followed or shown */
	struct dw_die typed; /* whose type is the value's */
	bool has_type;
	struct dw_die type; /* that type */
	const struct dw_member *bits; /* a bit field; NULL: none */
	struct dw_member member;
};

struct convert {
	const struct probe_place *p;
	const struct probe_request *r;
	const struct probe_arg *a;
	struct arena *arena;
	struct diag *d;
};

static int refuse(const struct convert *c, int err, const char *what, const char *why)
{
	diag_error(c->d, err, "cannot fetch '%s': %s", what, why);
	diag_span(c->d, c->r->text, c->a->span.start, c->a->span.len);
	return err;
}

static bool push_ref(struct args_dwarf_value *v, s64 offset, bool user)
{
	if (v->nr == REFS_MAX)
		return false;
	v->refs[v->nr].offset = offset + v->pending;
	v->refs[v->nr++].user = user;
	v->pending = 0;
	return true;
}

/* ---- where a variable is ---- */

static int from_register(const struct convert *c, u32 reg, struct args_dwarf_value *v)
{
	v->base = debuginfo_register(c->p->info, reg);
	return v->base ? 0
		       : refuse(c, -EOPNOTSUPP, c->a->text,
				"it is in a register that probes cannot read");
}

static int from_place(const struct convert *c, const struct dw_place *place,
		      struct args_dwarf_value *v)
{
	char *text;
	if (place->base == DWBASE_CONST) {
		char number[32];
		snprintf(number, sizeof(number), "\\%lld", (long long)place->number);
		text = arena_strdup(c->arena, number);
		v->base = text;
		return text ? 0 : -ENOMEM;
	}
	if (place->base == DWBASE_ADDR) {
		v->addr = place->number;
	} else {
		int err = from_register(c, place->reg, v);
		if (err || place->kind == DWPLACE_REG)
			return err;
	}
	for (u32 i = 0; i < place->nr_derefs; i++)
		(void)push_ref(v, place->derefs[i], false);
	v->pending = 0;
	if (place->kind == DWPLACE_MEM)
		(void)push_ref(v, place->add, false);
	else
		v->pending = place->add;
	return 0;
}

static int locate(const struct convert *c, const struct dw_die *var, struct args_dwarf_value *v)
{
	struct dw_place place;
	struct debuginfo_symbol s;
	const char *name = dw_die_name(var);
	probe_var_place(c->p, var, true, &place);
	*v = (struct args_dwarf_value){ .symbol = name, .typed = *var };
	v->has_type = dwtype_of(var, &v->type);
	switch (place.kind) {
	case DWPLACE_NONE:
		refuse(c, -ENOENT, c->a->text, "it is optimised out at this address");
		diag_hint(c->d, "%s %s shows where it has a value",
			  diag_option(c->d, DIAG_OPT_VARS), diag_option(c->d, DIAG_OPT_RANGE));
		return -ENOENT;
	case DWPLACE_REFUSED: return refuse(c, -EOPNOTSUPP, c->a->text, place.why);
	case DWPLACE_EXTERN:
		if (c->p->info->target->where == PROBE_BINARY &&
		    !debuginfo_symbol(c->p->info, name, true, &s))
			return refuse(c, -EOPNOTSUPP, c->a->text, "it is defined in another file");
		v->addr = c->p->info->target->where == PROBE_BINARY ? s.addr : 0;
		return push_ref(v, 0, false) ? 0 : -EOPNOTSUPP;
	default: return from_place(c, &place, v);
	}
}

/* ---- members and elements ---- */

static int enter(struct args_dwarf_value *v, const struct dw_die *typed)
{
	v->typed = *typed;
	v->has_type = dwtype_of(typed, &v->type);
	return 0;
}

struct near_member {
	struct closest near;
};

static void offer_member(void *ctx, const char *name)
{
	(void)closest_offer(ctx, name);
}

static int no_member(const struct convert *c, const struct probe_step *s, const struct dw_die *type)
{
	struct closest near;
	const char *name = dw_die_name(type);
	diag_error(c->d, -ENOENT, "%s%s%s has no member '%s'",
		   dwtype_kind(type) == DWTYPE_UNION ? "union" : "struct", name ? " " : "",
		   name ? name : "", s->member);
	diag_span(c->d, c->r->text, s->span.start, s->span.len);
	closest_init(&near, s->member, strlen(s->member));
	dwtype_each_member(type, offer_member, &near);
	if (near.best)
		diag_hint(c->d, "did you mean '%s'?", near.best);
	return -ENOENT;
}

static int refuse_step(const struct convert *c, const struct probe_step *s, const char *why)
{
	diag_error(c->d, -EOPNOTSUPP, "%s", why);
	diag_span(c->d, c->r->text, s->span.start, s->span.len);
	return -EOPNOTSUPP;
}

static int step_index(const struct convert *c, const struct probe_step *s,
		      struct args_dwarf_value *v)
{
	struct dw_die of;
	enum dw_kind kind = v->has_type ? dwtype_kind(&v->type) : DWTYPE_OTHER;
	if ((kind != DWTYPE_ARRAY && kind != DWTYPE_POINTER) || !dwtype_of(&v->type, &of))
		return refuse_step(c, s, "only arrays and pointers have elements");
	s64 offset;
	if (__builtin_mul_overflow((s64)dwtype_size(&of), (s64)s->index, &offset) || offset < 0)
		return refuse_step(c, s, "the index is too large");
	if (kind == DWTYPE_POINTER) {
		if (!push_ref(v, offset, c->a->user))
			return refuse_step(c, s, "too many pointers are followed");
	} else if (!v->nr) {
		return refuse_step(c, s,
				   "the array is in a register: its elements cannot be fetched");
	} else {
		v->refs[v->nr - 1].offset += offset;
	}
	struct dw_die from = v->type;
	return enter(v, &from);
}

static int step_member(const struct convert *c, const struct probe_step *s,
		       struct args_dwarf_value *v)
{
	struct dw_die of = v->type;
	bool pointer = v->has_type && dwtype_kind(&v->type) == DWTYPE_POINTER;
	bool reference = pointer && dwtype_is_reference(&v->type);
	if (pointer && !s->arrow && !reference)
		return refuse_step(c, s, "this is a pointer: use '->'");
	if (pointer && !dwtype_of(&v->type, &of))
		return refuse_step(c, s, "a pointer to void has no members");
	enum dw_kind kind = v->has_type ? dwtype_kind(&of) : DWTYPE_OTHER;
	if (kind != DWTYPE_STRUCT && kind != DWTYPE_UNION)
		return refuse_step(c, s, "this is neither a struct nor a union");
	if (!pointer && s->arrow)
		return refuse_step(c, s, "this is not a pointer: use '.'");
	if (!pointer && !v->nr)
		return refuse_step(c, s, "a struct in a register cannot be taken apart");
	int err = dwtype_member(&of, s->member, &v->member);
	if (err == -ENOENT)
		return no_member(c, s, &of);
	if (err)
		return refuse_step(c, s, "the place of this member is not understood");
	if (pointer && !push_ref(v, 0, c->a->user))
		return refuse_step(c, s, "too many pointers are followed");
	v->refs[v->nr - 1].offset += (s64)v->member.offset;
	v->bits = v->member.bits ? &v->member : NULL;
	struct dw_die from = v->member.die;
	return enter(v, &from);
}

static int take_steps(const struct convert *c, struct args_dwarf_value *v)
{
	int err = 0;
	for (u32 i = 0; i < c->a->nr_steps && !err; i++) {
		const struct probe_step *s = &c->a->steps[i];
		if (v->bits)
			return refuse_step(c, s, "a bit field has no members");
		err = s->member ? step_member(c, s, v) : step_index(c, s, v);
	}
	return err;
}

/* ---- types ---- */

static bool is_string(const char *type)
{
	return !strcmp(type, "string") || !strcmp(type, "ustring");
}

static int string_type(const struct convert *c, struct args_dwarf_value *v)
{
	struct dw_die of;
	enum dw_kind kind = v->has_type ? dwtype_kind(&v->type) : DWTYPE_OTHER;
	if (kind != DWTYPE_POINTER && kind != DWTYPE_ARRAY)
		return refuse(c, -EOPNOTSUPP, c->a->text, "only pointers and arrays can be strings");
	if (!dwtype_of(&v->type, &of) || !dwtype_is_char(&of))
		return refuse(c, -EOPNOTSUPP, c->a->text, "it does not point to characters");
	if (kind == DWTYPE_POINTER && !push_ref(v, 0, c->a->user))
		return refuse(c, -EOPNOTSUPP, c->a->text, "too many pointers are followed");
	if (!v->nr)
		return refuse(c, -EOPNOTSUPP, c->a->text, "the array is in a register");
	return 0;
}

/* "s32"; NULL: the kernel's default, which is an unsigned number as wide as a register. */
static int plain_type(const struct convert *c, const struct args_dwarf_value *v, const char **ret)
{
	char text[32];
	const char *cast = c->a->type;
	if (v->bits) {
		snprintf(text, sizeof(text), "b%u@%u/%u", v->bits->bits, v->bits->bit_at,
			 8 * v->bits->bit_bytes);
	} else {
		u64 size = v->has_type ? dwtype_own_size(&v->type) : 0;
		*ret = NULL;
		if (!size)
			return 0;
		snprintf(text, sizeof(text), "%c%llu",
			 cast			      ? cast[0]
			 : dwtype_is_signed(&v->type) ? 's'
						      : 'x',
			 8 * min((unsigned long long)size, 8ULL));
	}
	*ret = arena_strdup(c->arena, text);
	return *ret ? 0 : -ENOMEM;
}

static int choose_type(const struct convert *c, struct args_dwarf_value *v, const char **ret)
{
	const char *cast = c->a->type;
	if (cast && is_string(cast)) {
		*ret = cast;
		return string_type(c, v);
	}
	if (cast && strcmp(cast, "x") && strcmp(cast, "s") && strcmp(cast, "u")) {
		*ret = cast;
		return 0;
	}
	return plain_type(c, v, ret);
}

/* ---- text ---- */

/* A program's data: its distance from the code's start, as uprobes count it; the kernel's by name. */
static void add_static(const struct convert *c, const struct args_dwarf_value *v, s64 offset,
		       struct strbuf *s)
{
	u64 code;
	if (c->p->info->target->where != PROBE_BINARY) {
		strbuf_printf(s, "@%s%+lld", v->symbol, (long long)offset);
		return;
	}
	if (!debuginfo_offset(c->p->info, c->p->pc, &code))
		code = c->p->pc;
	strbuf_printf(s, "@+0x%llx",
		      (unsigned long long)(v->addr + (u64)offset - (c->p->pc - code)));
}

static int write_fetch(const struct convert *c, struct args_dwarf_value *v, const char **ret)
{
	struct strbuf s;
	u32 first = v->base ? 0 : 1; /* a static variable's own offset is in its base */
	if (v->pending || (!v->base && !v->nr))
		return refuse(c, -EOPNOTSUPP, c->a->text,
			      "its value is computed and is not in a register or in memory");
	strbuf_init(&s);
	for (u32 i = v->nr; i > first; i--)
		if (v->refs[i - 1].user)
			strbuf_printf(&s, "+u%lld(", (long long)v->refs[i - 1].offset);
		else
			strbuf_printf(&s, "%+lld(", (long long)v->refs[i - 1].offset);
	if (v->base)
		strbuf_str(&s, v->base);
	else
		add_static(c, v, v->refs[0].offset, &s);
	strbuf_fill(&s, ')', v->nr - min(first, v->nr));
	*ret = s.err ? NULL : arena_strdup(c->arena, strbuf_cstr(&s));
	strbuf_done(&s);
	return *ret ? 0 : -ENOMEM;
}

/* The last member's name; else the variable's, with the type where one was asked for. */
static const char *choose_name(const struct convert *c)
{
	const struct probe_arg *a = c->a;
	if (a->name)
		return a->name;
	for (u32 i = a->nr_steps; i; i--)
		if (a->steps[i - 1].member)
			return a->steps[i - 1].member;
	if (a->nr_steps || !a->type)
		return a->text;
	char *name = arena_alloc(c->arena, strlen(a->text) + strlen(a->type) + 2);
	if (name)
		sprintf(name, "%s_%s", a->text, a->type);
	return name;
}

static int finish(const struct convert *c, struct args_dwarf_value *v, struct probe_def_arg *to)
{
	int err = take_steps(c, v);
	if (!err)
		err = choose_type(c, v, &to->type);
	if (!err)
		err = write_fetch(c, v, &to->fetch);
	return err;
}

/* ---- finding variables by name ---- */

struct named {
	const char *name;
	struct probe_var_die best;
	bool found;
	struct closest near;
};

/* That of the innermost block wins, but not one of another function that was inlined there. */
static int match_var(void *ctx, const struct probe_var_die *v)
{
	struct named *n = ctx;
	const char *name = dw_die_name(&v->die);
	if (!name || strcmp(name, n->name)) {
		if (name)
			(void)closest_offer(&n->near, name);
		return 0;
	}
	bool better = !n->found || (n->best.is_deeper && !v->is_deeper) ||
		      (n->best.is_deeper == v->is_deeper && v->depth > n->best.depth);
	if (better)
		n->best = *v;
	n->found = true;
	return 0;
}

/* A declaration and a definition may both be there: what has a place is the variable. */
static int match_global(void *ctx, const struct probe_var_die *v)
{
	struct named *n = ctx;
	const char *name = dw_die_name(&v->die);
	if (!name || strcmp(name, n->name))
		return 0;
	n->best = *v;
	n->found = true;
	return dwtype_has_location(&v->die);
}

static int no_variable(const struct convert *c, const struct named *n)
{
	const char *func = dwcode_name(c->p->unit, &c->p->unit->scopes.at[c->p->scope]);
	diag_error(c->d, -ENOENT, "no variable '%s' in %s", c->a->text,
		   func ? func : "this function");
	diag_span(c->d, c->r->text, c->a->span.start, c->a->span.len);
	if (n->near.best)
		diag_hint(c->d, "did you mean '%s'?", n->near.best);
	else
		diag_hint(c->d, "%s '%.*s' lists what can be fetched there",
			  diag_option(c->d, DIAG_OPT_VARS), (int)strcspn(c->r->text, " \t"),
			  c->r->text);
	return -ENOENT;
}

static int convert_name(const struct convert *c, struct probe_def_arg *to)
{
	struct named n = { .name = c->a->text };
	struct args_dwarf_value v;
	closest_init(&n.near, n.name, strlen(n.name));
	(void)!probe_each_var(c->p, match_var, &n);
	bool local = n.found;
	if (!n.found)
		(void)!probe_each_global(c->p, match_global, &n);
	if (!n.found)
		return no_variable(c, &n);
	if (local && c->r->is_return) {
		refuse(c, -EOPNOTSUPP, c->a->text, "its place is gone when the function returns");
		diag_hint(c->d, "probe the function's entry for it, and its return for $retval");
		return -EOPNOTSUPP;
	}
	int err = locate(c, &n.best.die, &v);
	if (!err)
		err = finish(c, &v, to);
	to->name = choose_name(c);
	return err ? err : to->name ? 0 : -ENOMEM;
}

static int convert_retval(const struct convert *c, struct probe_def_arg *to)
{
	struct args_dwarf_value v = { .base = "$retval" };
	struct dw_die func;
	struct probe_arg named = *c->a;
	named.text = "$retval";
	struct convert own = *c;
	own.a = &named;
	if (!dwcode_scope_die(c->p->unit, &c->p->unit->scopes.at[c->p->func], &func) ||
	    !dwtype_of(&func, &v.type))
		return refuse(&own, -EOPNOTSUPP, "$retval", "the function returns nothing");
	v.has_type = true;
	v.typed = func;
	enum dw_kind kind = dwtype_kind(&v.type);
	if ((kind == DWTYPE_STRUCT || kind == DWTYPE_UNION) && dwtype_own_size(&v.type) > 8)
		return refuse(&own, -EOPNOTSUPP, "$retval",
			      "the function returns a struct, which is not in a register");
	if (dwtype_is_float(&v.type))
		return refuse(
			&own, -EOPNOTSUPP, "$retval",
			"the function returns a floating-point number, which probes cannot read");
	int err = finish(&own, &v, to);
	to->name = c->a->name;
	if (!to->name && c->a->nr_steps)
		to->name = choose_name(&own);
	return err;
}

/* ---- all arguments ---- */

struct expand {
	const struct convert *c;
	struct probe_def_arg *args;
	u32 *nr;
	bool params, locals;
};

static int expand_var(void *ctx, const struct probe_var_die *v)
{
	struct expand *x = ctx;
	struct dw_place place;
	const char *name = dw_die_name(&v->die);
	if (!name || !(v->is_parameter ? x->params : x->locals))
		return 0;
	for (u32 i = 0; i < *x->nr; i++)
		if (!strcmp(x->args[i].name ? x->args[i].name : "", name))
			return 0;
	probe_var_place(x->c->p, &v->die, false, &place);
	if (place.kind == DWPLACE_NONE || place.kind == DWPLACE_REFUSED || *x->nr == ARGS_MAX)
		return 0;
	struct probe_arg one = *x->c->a;
	struct convert c = *x->c;
	one.value = PROBE_VALUE_NAME;
	one.text = name;
	c.a = &one;
	/* What cannot be fetched after all is left out: only what can was asked for. */
	struct diag quiet;
	diag_init(&quiet);
	c.d = &quiet;
	struct args_dwarf_value val;
	struct probe_def_arg *to = &x->args[*x->nr];
	int err = locate(&c, &v->die, &val);
	if (!err)
		err = finish(&c, &val, to);
	diag_done(&quiet);
	to->name = choose_name(&c);
	*x->nr += !err;
	return err == -ENOMEM ? err : 0;
}

static int convert_one(const struct convert *c, struct probe_def_arg *args, u32 *nr)
{
	struct expand x = { .c = c, .args = args, .nr = nr };
	int err;
	switch (c->a->value) {
	case PROBE_VALUE_FETCH:
		args[*nr] = (struct probe_def_arg){ c->a->name, c->a->text, c->a->type };
		++*nr;
		return 0;
	case PROBE_VALUE_RETVAL: err = convert_retval(c, &args[*nr]); break;
	case PROBE_VALUE_NAME: err = convert_name(c, &args[*nr]); break;
	default:
		x.params = c->a->value != PROBE_VALUE_LOCALS;
		x.locals = c->a->value != PROBE_VALUE_PARAMS;
		if (c->r->is_return)
			return refuse(c, -EOPNOTSUPP, "$vars",
				      "variables have no place when the function returns");
		return probe_each_var(c->p, expand_var, &x);
	}
	*nr += !err;
	return err;
}

int probe_args_dwarf(const struct probe_place *place, const struct probe_request *request,
		     struct arena *arena, struct probe_def *def, struct diag *d)
{
	struct probe_def_arg args[ARGS_MAX + 1] = { 0 };
	u32 nr = 0;
	int err = 0;
	for (u32 i = 0; i < request->nr_args && !err; i++) {
		struct convert c = { place, request, &request->args[i], arena, d };
		if (nr == ARGS_MAX)
			return refuse(&c, -EOPNOTSUPP, request->text, "more than 128 arguments");
		err = convert_one(&c, args, &nr);
	}
	if (err || !nr)
		return err;
	struct probe_def_arg *kept = arena_array(arena, nr, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	memcpy(kept, args, nr * sizeof(*kept));
	for (u32 i = 0; i < nr; i++) {
		/* Names may be the request's or the image's, which both go away. */
		kept[i].name = kept[i].name ? arena_strdup(arena, kept[i].name) : NULL;
		kept[i].fetch = arena_strdup(arena, kept[i].fetch);
		kept[i].type = kept[i].type ? arena_strdup(arena, kept[i].type) : NULL;
	}
	def->args = kept;
	def->nr_args = nr;
	return 0;
}
