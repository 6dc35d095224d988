#include "lang/types.h"

#include <string.h>

const struct program_type type_void = { .kind = PROGRAM_VOID };
const struct program_type type_bool = { .kind = PROGRAM_BOOL, .size = 1 };
const struct program_type type_s64 = { .kind = PROGRAM_INT, .size = 8, .is_signed = true };
const struct program_type type_u64 = { .kind = PROGRAM_INT, .size = 8 };
const struct program_type type_u32 = { .kind = PROGRAM_INT, .size = 4 };
const struct program_type type_comm = { .kind = PROGRAM_STRING, .size = 16 };

static const struct program_type small[] = {
	{ .kind = PROGRAM_INT, .size = 1 },
	{ .kind = PROGRAM_INT, .size = 1, .is_signed = true },
	{ .kind = PROGRAM_INT, .size = 2 },
	{ .kind = PROGRAM_INT, .size = 2, .is_signed = true },
	{ .kind = PROGRAM_INT, .size = 4, .is_signed = true },
};

const struct program_type *type_int(u32 size, bool is_signed)
{
	if (size == 8)
		return is_signed ? &type_s64 : &type_u64;
	if (size == 4)
		return is_signed ? &small[4] : &type_u32;
	return &small[(size == 2 ? 2 : 0) + is_signed];
}

const struct program_type *type_plain(struct arena *a, enum program_type_kind kind, u32 size)
{
	struct program_type *t = arena_zalloc(a, sizeof(*t));
	if (t) {
		t->kind = kind;
		t->size = size;
	}
	return t;
}

const struct program_type *type_string(struct arena *a, u32 size)
{
	return size == 16 ? &type_comm : type_plain(a, PROGRAM_STRING, (size + 7) & ~7u);
}

const struct program_type *type_pointer(struct arena *a, const struct program_type *to)
{
	struct program_type *t = arena_zalloc(a, sizeof(*t));
	if (t) {
		t->kind = PROGRAM_POINTER;
		t->size = 8;
		t->to = to;
	}
	return t;
}

const struct program_type *type_array(struct arena *a, const struct program_type *of, u32 nr)
{
	struct program_type *t = arena_zalloc(a, sizeof(*t));
	struct program_field *f = arena_zalloc(a, sizeof(*f));
	if (!t || !f)
		return NULL;
	f->type = of;
	*t = (struct program_type){
		.kind = PROGRAM_ARRAY, .fields = f, .nr = nr, .size = nr * of->size
	};
	return t;
}

const struct program_type *type_named(struct arena *a, const struct program_type *tuple,
				      const char *const *names)
{
	struct program_type *t = arena_zalloc(a, sizeof(*t));
	struct program_field *f = arena_array(a, tuple->nr + 1, sizeof(*f));
	if (!t || !f)
		return NULL;
	*t = *tuple;
	t->fields = f;
	for (u32 i = 0; i < t->nr; i++) {
		f[i] = tuple->fields[i];
		f[i].name = names[i];
	}
	return t;
}

const struct program_type *type_tuple(struct arena *a, const struct program_type *const *types,
				      u32 nr)
{
	struct program_type *t = arena_zalloc(a, sizeof(*t));
	struct program_field *f = arena_array(a, nr + 1, sizeof(*f));
	if (!t || !f)
		return NULL;
	t->kind = PROGRAM_TUPLE;
	t->fields = f;
	t->nr = nr;
	for (u32 i = 0; i < nr; i++) {
		f[i] = (struct program_field){ .type = types[i], .offset = t->size };
		t->size += type_room(types[i]);
	}
	return t;
}

static bool same_name(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool type_equal(const struct program_type *a, const struct program_type *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->kind != b->kind || a->size != b->size || a->is_signed != b->is_signed ||
	    a->nr != b->nr)
		return false;
	switch (a->kind) {
	case PROGRAM_TUPLE:
		for (u32 i = 0; i < a->nr; i++)
			if (!type_equal(a->fields[i].type, b->fields[i].type) ||
			    !same_name(a->fields[i].name, b->fields[i].name))
				return false;
		return true;
	case PROGRAM_POINTER: return type_equal(a->to, b->to);
	case PROGRAM_RECORD:
	case PROGRAM_ENUM: return same_name(a->name, b->name);
	case PROGRAM_TIMESTAMP:
	case PROGRAM_CGROUP_PATH: return same_name(a->format, b->format);
	case PROGRAM_TSERIES:
		return a->hist.step == b->hist.step && same_name(a->format, b->format);
	case PROGRAM_QUANTILE: return !memcmp(a->quantiles, b->quantiles, a->nr);
	case PROGRAM_ARRAY: return type_equal(a->fields->type, b->fields->type);
	case PROGRAM_HIST:
	case PROGRAM_LHIST:
		return a->hist.min == b->hist.min && a->hist.max == b->hist.max &&
		       a->hist.step == b->hist.step && a->hist.bits == b->hist.bits;
	case PROGRAM_KSTACK:
	case PROGRAM_USTACK:
		return a->stack_mode == b->stack_mode && a->stack_limit == b->stack_limit;
	default: return true;
	}
}

static const struct program_type *join_ints(const struct program_type *a,
					    const struct program_type *b, bool a_literal,
					    bool b_literal)
{
	if (a->is_signed == b->is_signed)
		return a->size >= b->size ? a : b;
	if (a_literal && !b_literal)
		return type_int(8, b->is_signed);
	if (b_literal && !a_literal)
		return type_int(8, a->is_signed);
	return &type_s64;
}

static const struct program_type *join_tuples(struct arena *ar, const struct program_type *a,
					      const struct program_type *b)
{
	const struct program_type *types[32];
	const char *names[32];
	if (a->nr != b->nr || a->nr > ARRAY_SIZE(types))
		return NULL;
	for (u32 i = 0; i < a->nr; i++) {
		types[i] = type_join(ar, a->fields[i].type, b->fields[i].type, false, false);
		names[i] = a->fields[i].name;
		if (!types[i] || !same_name(names[i], b->fields[i].name))
			return NULL;
	}
	const struct program_type *t = type_tuple(ar, types, a->nr);
	return t && a->nr && names[0] ? type_named(ar, t, names) : t;
}

const struct program_type *type_join(struct arena *ar, const struct program_type *a,
				     const struct program_type *b, bool a_literal, bool b_literal)
{
	if (!a || !b)
		return a ? a : b;
	if (type_equal(a, b))
		return a;
	if (a->kind == PROGRAM_INT && b->kind == PROGRAM_INT)
		return join_ints(a, b, a_literal, b_literal);
	if (type_is_number(a) && type_is_number(b)) {
		/* true and false fit into any number; an enum is one of its size */
		bool has_bool = a->kind == PROGRAM_BOOL || b->kind == PROGRAM_BOOL;
		if (has_bool)
			return a->kind == PROGRAM_INT ? a : b->kind == PROGRAM_INT ? b : &type_s64;
		return join_ints(type_int(a->size, a->is_signed), type_int(b->size, b->is_signed),
				 a_literal, b_literal);
	}
	/* 0 is no pointer to anything */
	if (a->kind == PROGRAM_POINTER && b->kind == PROGRAM_INT)
		return a;
	if (b->kind == PROGRAM_POINTER && a->kind == PROGRAM_INT)
		return b;
	if (a->kind == PROGRAM_POINTER && b->kind == PROGRAM_POINTER)
		return !a->to || a->to->kind == PROGRAM_VOID ? b : a;
	if (a->kind == PROGRAM_STRING && b->kind == PROGRAM_STRING)
		return a->size >= b->size ? a : b;
	if (a->kind == PROGRAM_TUPLE && b->kind == PROGRAM_TUPLE)
		return join_tuples(ar, a, b);
	if (type_is_aggregate(a) && a->kind == b->kind && a->size == b->size &&
	    a->is_signed != b->is_signed)
		return a->is_signed ? a : b;
	return NULL;
}

static const char *const kind_names[] = {
	[PROGRAM_VOID] = "none",
	[PROGRAM_BOOL] = "bool",
	[PROGRAM_KSTACK] = "kstack",
	[PROGRAM_USTACK] = "ustack",
	[PROGRAM_KSYM] = "ksym_t",
	[PROGRAM_USYM] = "usym_t",
	[PROGRAM_INET] = "inet",
	[PROGRAM_MAC] = "mac_address",
	[PROGRAM_TIMESTAMP] = "timestamp",
	[PROGRAM_USERNAME] = "username",
	[PROGRAM_CGROUP_PATH] = "cgroup_path",
	[PROGRAM_PROBE_NAME] = "probe",
	[PROGRAM_COUNT] = "count_t",
	[PROGRAM_SUM] = "sum_t",
	[PROGRAM_MIN] = "min_t",
	[PROGRAM_MAX] = "max_t",
	[PROGRAM_AVG] = "avg_t",
	[PROGRAM_STATS] = "stats_t",
	[PROGRAM_HIST] = "hist_t",
	[PROGRAM_LHIST] = "lhist_t",
	[PROGRAM_TSERIES] = "tseries_t",
	[PROGRAM_QUANTILE] = "quantile_t",
};

void type_text(const struct program_type *t, struct strbuf *to)
{
	if (!t) {
		strbuf_str(to, "unknown");
		return;
	}
	switch (t->kind) {
	case PROGRAM_INT: strbuf_printf(to, "%sint%u", t->is_signed ? "" : "u", t->size * 8); break;
	case PROGRAM_STRING: strbuf_printf(to, "string[%u]", t->size); break;
	case PROGRAM_BUFFER: strbuf_printf(to, "buffer[%u]", t->size - 4); break;
	case PROGRAM_POINTER:
		type_text(t->to, to);
		strbuf_str(to, " *");
		break;
	case PROGRAM_RECORD: strbuf_printf(to, "struct %s", t->name ? t->name : ""); break;
	case PROGRAM_ENUM: strbuf_printf(to, "enum %s", t->name ? t->name : ""); break;
	case PROGRAM_ARRAY:
		type_text(t->fields->type, to);
		strbuf_printf(to, "[%u]", t->nr);
		break;
	case PROGRAM_TUPLE:
		strbuf_char(to, '(');
		for (u32 i = 0; i < t->nr; i++) {
			if (i)
				strbuf_char(to, ',');
			if (t->fields[i].name)
				strbuf_printf(to, "%s=", t->fields[i].name);
			type_text(t->fields[i].type, to);
		}
		strbuf_char(to, ')');
		break;
	case PROGRAM_QUANTILE:
		strbuf_str(to, kind_names[t->kind]);
		for (u32 i = 0; i < t->nr; i++)
			strbuf_printf(to, "%s%u", i ? "," : "(", t->quantiles[i]);
		strbuf_char(to, ')');
		break;
	case PROGRAM_LHIST:
		strbuf_printf(to, "%s(%lld,%lld,%lld)", kind_names[t->kind], (long long)t->hist.min,
			      (long long)t->hist.max, (long long)t->hist.step);
		break;
	default: strbuf_str(to, kind_names[t->kind]);
	}
}

const struct program_type *type_by_name(const char *name)
{
	static const struct {
		const char *name;
		u32 size;
		bool is_signed;
	} names[] = {
		{ "int8", 1, true },
		{ "int16", 2, true },
		{ "int32", 4, true },
		{ "int64", 8, true },
		{ "uint8", 1, false },
		{ "uint16", 2, false },
		{ "uint32", 4, false },
		{ "uint64", 8, false },
		{ "s8", 1, true },
		{ "s16", 2, true },
		{ "s32", 4, true },
		{ "s64", 8, true },
		{ "u8", 1, false },
		{ "u16", 2, false },
		{ "u32", 4, false },
		{ "u64", 8, false },
		{ "__u8", 1, false },
		{ "__u16", 2, false },
		{ "__u32", 4, false },
		{ "__u64", 8, false },
		{ "char", 1, true },
		{ "signed char", 1, true },
		{ "unsigned char", 1, false },
		{ "short", 2, true },
		{ "unsigned short", 2, false },
		{ "int", 4, true },
		{ "unsigned", 4, false },
		{ "unsigned int", 4, false },
		{ "long", 8, true },
		{ "unsigned long", 8, false },
		{ "long int", 8, true },
		{ "unsigned long int", 8, false },
		{ "long long", 8, true },
		{ "unsigned long long", 8, false },
		{ "size_t", 8, false },
		{ "pid_t", 4, true },
		{ "uintptr_t", 8, false },
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i].name, name))
			return type_int(names[i].size, names[i].is_signed);
	return NULL;
}
