/*
 * At the entry of a function its parameters are where calls leave them. Without optimisation debug information only describes the copies that
 * the function is about to make, which do not exist yet: then the position decides.
 *
 * Structs are made breadth first and each once, so that what is near is there when a file has more of them than a script may ever ask for.
 */
#include "probe/locals.h"

#include "base/dict.h"
#include "image/dwarf_place.h"
#include "image/dwarf_type.h"
#include "probe/args_dwarf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum { STRUCTS_MAX = 2048, MEMBERS_MAX = 1 << 15, LOCALS_MAX = 128, DEPTH_MAX = 16 };

struct locals_struct {
	struct dw_die die;
	struct program_type *type;
};

struct locals_maker {
	const struct probe_place *p;
	struct arena *arena;
	struct dict known; /* a struct's entry -> index */
	VEC(struct locals_struct) structs;
	u32 filled; /* number of structs that have their members */
	u32 nr_members;
	u32 integers; /* parameters so far that registers for numbers are used for */
	bool args_known; /* up to here, positions are */
	VEC(struct program_local) locals;
	struct strbuf key;
	int err;
};

static const struct program_type *type_of(struct locals_maker *m, const struct dw_die *typed,
					  u32 depth);

/* ---- types ---- */

static struct program_type *new_type(struct locals_maker *m, enum program_type_kind kind, u64 size)
{
	struct program_type *t = arena_zalloc(m->arena, sizeof(*t));
	if (t)
		*t = (struct program_type){ .kind = kind, .size = (u32)size };
	else
		m->err = -ENOMEM;
	return t;
}

static const struct program_type *number_of(struct locals_maker *m, const struct dw_die *type)
{
	u64 size = dwtype_own_size(type);
	if (dwtype_is_float(type) || (size != 1 && size != 2 && size != 4 && size != 8))
		return NULL;
	struct program_type *t = new_type(m, PROGRAM_INT, size);
	if (t)
		t->is_signed = dwtype_is_signed(type);
	return t;
}

static const struct program_type *pointer_of(struct locals_maker *m, const struct dw_die *type,
					     u32 depth)
{
	struct program_type *t = new_type(m, PROGRAM_POINTER, 8);
	if (!t)
		return NULL;
	t->to = type_of(m, type, depth + 1);
	if (!t->to)
		t->to = new_type(m, PROGRAM_VOID, 0);
	return t;
}

static const struct program_type *array_of(struct locals_maker *m, const struct dw_die *type,
					   u32 depth)
{
	struct dw_die of;
	u64 all = dwtype_size(type);
	if (!dwtype_of(type, &of) || all > 1 << 20)
		return NULL;
	if (dwtype_is_char(&of))
		return all ? new_type(m, PROGRAM_STRING, all) : NULL;
	const struct program_type *one = type_of(m, type, depth + 1);
	if (!one || !one->size)
		return NULL;
	struct program_type *t = new_type(m, PROGRAM_ARRAY, all);
	struct program_field *f = arena_zalloc(m->arena, sizeof(*f));
	if (!t || !f)
		return NULL;
	f->type = one;
	t->fields = f;
	t->nr = (u32)(all / one->size);
	return t;
}

/* Its members come later: fill_structs(). */
static const struct program_type *struct_of(struct locals_maker *m, const struct dw_die *type)
{
	u64 key = type->at ^ (u64)(uintptr_t)type->f << 16, size = dwtype_own_size(type);
	u32 at = dict_get(&m->known, key);
	if (at != DICT_NONE)
		return m->structs.at[at].type;
	if (m->structs.nr >= STRUCTS_MAX || size > 1 << 24)
		return NULL;
	struct program_type *t = new_type(m, PROGRAM_RECORD, size);
	struct locals_struct *to = t ? vec_push(&m->structs) : NULL;
	const char *name = dw_die_name(type);
	if (!to || dict_put(&m->known, key, (u32)m->structs.nr - 1)) {
		m->err = -ENOMEM;
		return NULL;
	}
	*to = (struct locals_struct){ *type, t };
	t->name = name ? arena_strdup(m->arena, name) : NULL;
	return t;
}

/* The type of a variable, member, pointer or array. NULL: void, or one that scripts do not have. */
static const struct program_type *type_of(struct locals_maker *m, const struct dw_die *typed,
					  u32 depth)
{
	struct dw_die type;
	if (depth > DEPTH_MAX || !dwtype_of(typed, &type))
		return NULL;
	switch (dwtype_kind(&type)) {
	case DWTYPE_BASE:
	case DWTYPE_ENUM: return number_of(m, &type);
	case DWTYPE_POINTER: return pointer_of(m, &type, depth);
	case DWTYPE_ARRAY: return array_of(m, &type, depth);
	case DWTYPE_STRUCT:
	case DWTYPE_UNION: return struct_of(m, &type);
	default: return NULL;
	}
}

struct locals_members {
	struct locals_maker *m;
	u32 of; /* index of the struct */
	VEC(struct program_field) at;
};

static void add_member(void *ctx, const char *name)
{
	struct locals_members *w = ctx;
	struct locals_maker *m = w->m;
	struct dw_member member;
	struct dw_die die = m->structs.at[w->of].die;
	u32 size = m->structs.at[w->of].type->size;
	if (m->err || m->nr_members >= MEMBERS_MAX || dwtype_member(&die, name, &member))
		return;
	const struct program_type *t = type_of(m, &member.die, 0);
	if (!t || !t->size || member.offset > size || t->size > size - member.offset)
		return;
	struct program_field *f = vec_push(&w->at);
	if (!f) {
		m->err = -ENOMEM;
		return;
	}
	*f = (struct program_field){ .name = arena_strdup(m->arena, name),
				     .type = t,
				     .offset = (s64)member.offset };
	if (member.bits && member.bits <= 64 && member.bit_at + member.bits <= 64) {
		/* the script counts from the first byte that has a bit of it */
		f->offset += member.bit_at / 8;
		f->bit_offset = (u8)(member.bit_at % 8);
		f->bit_size = (u8)member.bits;
	}
	m->nr_members++;
}

static void fill_structs(struct locals_maker *m)
{
	for (; m->filled < m->structs.nr && !m->err; m->filled++) {
		struct locals_members w = { .m = m, .of = m->filled };
		struct dw_die die = m->structs.at[m->filled].die;
		dwtype_each_member(&die, add_member, &w);
		struct program_type *t = m->structs.at[m->filled].type;
		struct program_field *f = arena_array(m->arena, w.at.nr + 1, sizeof(*f));
		if (f && w.at.nr)
			memcpy(f, w.at.at, w.at.nr * sizeof(*f));
		t->fields = f;
		t->nr = f ? (u32)w.at.nr : 0;
		if (!f)
			m->err = -ENOMEM;
		vec_free(&w.at);
	}
}

/* ---- where they are ---- */

static bool is_at_entry(const struct probe_place *p)
{
	const struct dwcode_scope *s = &p->unit->scopes.at[p->scope];
	return p->scope == p->func && s->pc == p->pc;
}

/* The register of the nth number that a function takes; NULL: on the stack. */
static const char *argument_register(const struct locals_maker *m, u32 nr)
{
	static const char *const x86[] = { "di", "si", "dx", "cx", "r8", "r9" };
	static const char *const arm[] = { "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7" };
	u16 machine = m->p->info->image.machine;
	if (machine == EM_X86_64)
		return nr < ARRAY_SIZE(x86) ? x86[nr] : NULL;
	return machine == EM_AARCH64 && nr < ARRAY_SIZE(arm) ? arm[nr] : NULL;
}

/* By its position; what comes after a struct that is passed by value has a position that is not known. */
static const char *by_position(struct locals_maker *m, const struct dw_die *var)
{
	struct dw_die type;
	if (!dwtype_of(var, &type))
		return NULL;
	enum dw_kind kind = dwtype_kind(&type);
	if (kind == DWTYPE_BASE && dwtype_is_float(&type))
		return NULL;
	bool number = kind == DWTYPE_POINTER ||
		      ((kind == DWTYPE_BASE || kind == DWTYPE_ENUM) && dwtype_own_size(&type) <= 8);
	m->args_known &= number;
	return m->args_known ? argument_register(m, m->integers++) : NULL;
}

/* "%di" -> "di" */
static const char *register_name(const struct locals_maker *m, u32 reg)
{
	const char *name = debuginfo_register(m->p->info, reg);
	return name && *name == '%' ? name + 1 : name;
}

/*
 * Memory of the caller, which is there before the function has run. From the stack pointer: clang counts from a frame pointer that the
 * function sets later, and that is the caller's until then.
 */
static bool is_of_caller(const struct dw_place *at, const struct locals_maker *m)
{
	enum { X86_64_SP = 7, ARM64_SP = 31 };
	bool x86 = m->p->info->image.machine == EM_X86_64;
	return at->kind == DWPLACE_MEM && at->base == DWBASE_REG && !at->nr_derefs &&
	       at->reg == (x86 ? X86_64_SP : ARM64_SP) && at->add >= (x86 ? 8 : 0);
}

static bool find_place(struct locals_maker *m, const struct probe_var_die *v,
		       struct program_local *to)
{
	struct dw_place at;
	bool entry = is_at_entry(m->p);
	if (entry && !v->is_parameter)
		return false; /* has no value yet */
	const char *position = entry ? by_position(m, &v->die) : NULL;
	probe_var_place(m->p, &v->die, true, &at);
	if (entry && at.kind != DWPLACE_REG && !is_of_caller(&at, m)) {
		to->place = PROGRAM_LOCAL_VALUE;
		to->reg = position;
		return position != NULL;
	}
	if (at.base == DWBASE_ADDR || at.nr_derefs > ARRAY_SIZE(to->derefs))
		return false;
	switch (at.kind) {
	case DWPLACE_REG:
	case DWPLACE_VALUE: to->place = PROGRAM_LOCAL_VALUE; break;
	case DWPLACE_MEM: to->place = PROGRAM_LOCAL_MEMORY; break;
	default: return false;
	}
	if (at.base == DWBASE_REG) {
		to->reg = register_name(m, at.reg);
		if (!to->reg)
			return false;
	}
	if (at.kind == DWPLACE_REG)
		return true;
	to->nr_derefs = at.nr_derefs;
	memcpy(to->derefs, at.derefs, at.nr_derefs * sizeof(*at.derefs));
	to->add = at.add + (s64)(at.base == DWBASE_CONST ? at.number : 0);
	for (u32 i = 0; i < to->nr_derefs; i++)
		if (to->derefs[i] != (s32)to->derefs[i])
			return false;
	bool fits = to->place == PROGRAM_LOCAL_VALUE || to->add == (s32)to->add;
	return fits && (at.base == DWBASE_REG || !at.nr_derefs);
}

static void add_key(struct locals_maker *m, const struct program_local *l)
{
	struct strbuf *k = &m->key;
	strbuf_printf(k, "%s=%u%s", l->name, l->place, l->reg ? l->reg : "");
	for (u32 i = 0; i < l->nr_derefs; i++)
		strbuf_printf(k, "(%lld", (long long)l->derefs[i]);
	strbuf_printf(k, "+%lld:%u:%u;", (long long)l->add, l->type->kind, l->type->size);
}

/* The innermost variable of a name hides the others. */
static struct program_local *slot_of(struct locals_maker *m, const char *name)
{
	vec_for_each (&m->locals, l)
		if (!strcmp(l->name, name))
			return l;
	struct program_local *l = m->locals.nr < LOCALS_MAX ? vec_push(&m->locals) : NULL;
	if (l)
		*l = (struct program_local){ .name = arena_strdup(m->arena, name) };
	return l && l->name ? l : NULL;
}

static int add_local(void *ctx, const struct probe_var_die *v)
{
	struct locals_maker *m = ctx;
	const char *name = dw_die_name(&v->die);
	struct program_local l = { 0 };
	if (!name || v->is_deeper || !find_place(m, v, &l))
		return m->err;
	l.type = type_of(m, &v->die, 0);
	bool number = l.type && (l.type->kind == PROGRAM_INT || l.type->kind == PROGRAM_POINTER);
	if (!l.type || !l.type->size || (!number && l.place != PROGRAM_LOCAL_MEMORY))
		return m->err;
	struct strbuf text;
	strbuf_init(&text);
	bool is_written = m->p->info->target->where != PROBE_BINARY && dwtype_text(&v->die, &text);
	l.kernel_type = is_written ? arena_strdup(m->arena, strbuf_cstr(&text)) : NULL;
	strbuf_done(&text);
	struct program_local *to = slot_of(m, name);
	if (!to)
		return m->err;
	l.name = to->name;
	l.reg = l.reg ? arena_strdup(m->arena, l.reg) : NULL;
	*to = l;
	return m->err;
}

/* ---- places ---- */

struct locals_walk {
	struct arena *arena;
	probe_locals_fn *fn;
	void *ctx;
	struct diag *d;
};

static int tell_place(struct locals_walk *w, struct locals_maker *m)
{
	struct probe_def def = { 0 };
	vec_for_each (&m->locals, l)
		add_key(m, l);
	struct program_local *kept = arena_array(w->arena, m->locals.nr + 1, sizeof(*kept));
	const char *key = m->key.err ? NULL : arena_strdup(w->arena, strbuf_cstr(&m->key));
	if (!kept || !key)
		return -ENOMEM;
	if (m->locals.nr)
		memcpy(kept, m->locals.at, m->locals.nr * sizeof(*kept));
	int err = probe_fill_place(m->p, w->arena, &def);
	if (err)
		return diag_error(w->d, err, "no part of '%s' has the code at 0x%llx",
				  m->p->info->path, (unsigned long long)m->p->pc);
	return w->fn(w->ctx, &(struct probe_locals_at){ .locals = kept,
							.nr = (u32)m->locals.nr,
							.key = key,
							.symbol = def.symbol,
							.module = def.module,
							.offset = def.offset,
							.is_entry = is_at_entry(m->p) });
}

static int on_place(void *ctx, const struct probe_place *p)
{
	struct locals_walk *w = ctx;
	struct locals_maker m = { .p = p, .arena = w->arena, .args_known = true };
	dict_init(&m.known);
	strbuf_init(&m.key);
	int err = probe_each_var(p, add_local, &m);
	if (!err)
		fill_structs(&m);
	if (!err)
		err = m.err ? m.err : tell_place(w, &m);
	strbuf_done(&m.key);
	dict_done(&m.known);
	vec_free(&m.structs);
	vec_free(&m.locals);
	return err;
}

int probe_locals(const struct probe_target *target, const struct probe_request *request,
		 struct arena *arena, probe_locals_fn *fn, void *ctx, struct diag *d)
{
	struct debuginfo info;
	struct locals_walk w = { .arena = arena, .fn = fn, .ctx = ctx, .d = d };
	int err = debuginfo_open(&info, target, d);
	if (err)
		return err;
	err = probe_places(&info, request, on_place, &w, d);
	debuginfo_close(&info);
	return err;
}
