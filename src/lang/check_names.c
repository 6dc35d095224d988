/* What names stand for: variables, maps, members, arguments of probes. */
#include "lang/builtin.h"
#include "lang/check.h"
#include "lang/check_impl.h"
#include "lang/scope.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

struct var *check_find_var(struct checker *c, const char *name)
{
	for (struct var *v = c->block->vars; v; v = v->next)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

const struct program_type *check_var(struct checker *c, struct node *n)
{
	struct var *v = check_find_var(c, n->text);
	if (!v) {
		const char *names[64];
		size_t nr = 0;
		for (struct var *o = c->block->vars; o && nr < ARRAY_SIZE(names); o = o->next)
			names[nr++] = o->name;
		const char *close = str_closest(n->text, names, nr);
		check_fail(c, n, -EINVAL, "variable $%.*s has no value here",
			   (int)scope_plain(n->text), n->text);
		if (close)
			diag_hint(c->diag, "did you mean $%.*s?", (int)scope_plain(close), close);
		return NULL;
	}
	n->var = v;
	return v->type;
}

static void map_shape(struct checker *c, struct node *n)
{
	struct map *m = n->map;
	if (n->nr ? m->used_scalar : m->used_keyed)
		check_fail(c, n, -EINVAL, "map %s is used with keys and without", m->name);
	m->used_keyed |= n->nr > 0;
	m->used_scalar |= !n->nr;
}

static const struct program_type *key_type(struct checker *c, struct node *n)
{
	const struct program_type *types[32];
	u32 nr = 0;
	for (struct node **at = &n->list; *at; at = &(*at)->next) {
		const struct program_type *t = check_value(c, at);
		struct node *k = *at;
		if (nr == ARRAY_SIZE(types)) {
			check_fail(c, n, -E2BIG, "too many keys");
			return NULL;
		}
		if (t && (!check_is_copyable(t) || t == c->args[c->point]))
			return check_wrong(c, k, "a value of type %s cannot be a key", t);
		types[nr++] = t;
	}
	for (u32 i = 0; i < nr; i++)
		if (!types[i])
			return NULL;
	const struct program_type *key = nr == 1 ? types[0] : type_tuple(c->arena, types, nr);
	if (!key)
		c->err = -ENOMEM;
	return key;
}

static void join_key(struct checker *c, struct node *n, const struct program_type *key)
{
	struct map *m = n->map;
	bool literal = n->nr == 1 && check_is_literal(n->list);
	const struct program_type *t = type_join(c->arena, m->key, key, false, literal);
	if (!t) {
		struct strbuf s;
		strbuf_init(&s);
		type_text(key, &s);
		strbuf_str(&s, ", elsewhere of type ");
		type_text(m->key, &s);
		check_fail(c, n, -EINVAL, "the key of %s is of type %s", m->name, strbuf_cstr(&s));
		strbuf_done(&s);
		return;
	}
	c->changed |= !type_equal(t, m->key);
	m->key = t;
}

void check_never_assigned(struct checker *c, const struct node *n)
{
	const char *names[64];
	size_t nr = 0;
	for (const struct map *m = c->script->maps; m && nr < ARRAY_SIZE(names); m = m->next)
		if (m->value)
			names[nr++] = m->name;
	const char *close = str_closest(n->map->name, names, nr);
	check_fail(c, n, -EINVAL, "map %s is never assigned", n->map->name);
	if (close)
		diag_hint(c->diag, "did you mean %s?", close);
}

const struct program_type *check_map(struct checker *c, struct node *n)
{
	map_shape(c, n);
	if (n->nr) {
		const struct program_type *key = key_type(c, n);
		if (key)
			join_key(c, n, key);
	}
	if (!n->map->value && c->final)
		check_never_assigned(c, n);
	return n->map->value;
}

void check_map_value(struct checker *c, struct node *n, const struct program_type *t, bool literal)
{
	struct map *m = n->map;
	const struct program_type *join =
		type_join(c->arena, m->value, t, m->is_literal || !m->value, literal);
	if (!join || join->kind == PROGRAM_VOID) {
		struct strbuf s;
		strbuf_init(&s);
		type_text(t, &s);
		if (m->value) {
			strbuf_str(&s, " to a map of type ");
			type_text(m->value, &s);
		}
		check_fail(c, n, -EINVAL, "cannot assign %s", strbuf_cstr(&s));
		strbuf_done(&s);
		return;
	}
	bool all_literal = literal && (!m->value || m->is_literal);
	c->changed |= !type_equal(join, m->value) || all_literal != m->is_literal;
	m->value = join;
	m->is_literal = all_literal;
}

const struct program_field *type_find_field(const struct program_type *t, const char *name)
{
	for (u32 i = 0; i < t->nr; i++)
		if (t->fields[i].name && !strcmp(t->fields[i].name, name))
			return &t->fields[i];
	return NULL;
}

static const struct program_type *no_member(struct checker *c, struct node *n,
					    const struct program_type *t)
{
	struct closest_list {
		const char *names[256];
	} list;
	size_t nr = 0;
	for (u32 i = 0; i < t->nr && nr < ARRAY_SIZE(list.names); i++)
		if (t->fields[i].name)
			list.names[nr++] = t->fields[i].name;
	const char *close = str_closest(n->text, list.names, nr);
	check_fail(c, n, -EINVAL, "%s has no member '%s'",
		   t->kind == PROGRAM_TUPLE ? "the record"
		   : t->name		    ? t->name
					    : "this",
		   n->text);
	if (close)
		diag_hint(c->diag, "did you mean '%s'?", close);
	return NULL;
}

const struct program_type *check_member(struct checker *c, struct node *n)
{
	const struct program_type *t = check_expr(c, n->a);
	if (!t)
		return NULL;
	if (t->kind == PROGRAM_POINTER && t->to && t->to->kind == PROGRAM_RECORD)
		t = t->to;
	if (t->kind == PROGRAM_TUPLE && t->nr && t->fields[0].name) {
		n->field = type_find_field(t, n->text);
		return n->field ? n->field->type : no_member(c, n, t);
	}
	if (t->kind != PROGRAM_RECORD)
		return check_wrong(c, n, "a value of type %s has no members", t);
	if (t->btf_id)
		return check_kernel_member(c, n, t);
	n->field = type_find_field(t, n->text);
	return n->field ? n->field->type : no_member(c, n, t);
}

const struct program_type *check_index(struct checker *c, struct node *n)
{
	const struct program_type *t = check_expr(c, n->a);
	const struct program_type *i = check_expr(c, n->b);
	s64 nr;
	if (!t || !i || !check_number(c, n->b))
		return NULL;
	bool constant = check_constant(c, n->b, &nr);
	if (t->kind == PROGRAM_TUPLE) {
		if (!constant || nr < 0 || nr >= t->nr) {
			check_fail(c, n->b, -EINVAL, "a tuple of %u values has no such member",
				   t->nr);
			return NULL;
		}
		return t->fields[nr].type;
	}
	if (t->kind == PROGRAM_ARRAY) {
		if (constant && (nr < 0 || (t->nr && nr >= t->nr))) {
			check_fail(c, n->b, -EINVAL, "the array has only %u elements", t->nr);
			return NULL;
		}
		return t->fields->type;
	}
	if (t->kind == PROGRAM_POINTER && t->to && t->to->size)
		return t->to;
	if (t->kind == PROGRAM_STRING) {
		if (constant && (nr < 0 || nr >= t->size)) {
			check_fail(c, n->b, -EINVAL, "the string has only %u bytes", t->size);
			return NULL;
		}
		return type_int(1, true);
	}
	if (n->a->kind == NODE_INT && n->b->kind == NODE_INT) {
		check_fail(c, n, -EINVAL,
			   "there are no numbers with a fraction in programs of the kernel");
		return NULL;
	}
	return check_wrong(c, n, "a value of type %s has no elements", t);
}

const struct program_type *check_deref(struct checker *c, struct node *n)
{
	const struct program_type *t = n->a->type;
	if (t->kind == PROGRAM_POINTER && t->to && t->to->kind != PROGRAM_VOID)
		return t->to;
	/* Without the kernel's types, a pointer to one of them is a number, too. */
	if (t->kind == PROGRAM_INT && !c->in->btf) {
		check_fail(c, n, -ENOTSUP,
			   "what is at this address is not known without the types of the kernel");
		diag_hint(c->diag, "write what it is: *(uint64 *)...");
		return NULL;
	}
	if (t->kind == PROGRAM_INT)
		return &type_u64;
	return check_wrong(c, n, "cannot follow a value of type %s", t);
}

/* "struct sk_buff *" or "const struct file *": the struct, where it is known. */
static const struct program_type *named_struct(struct checker *c, const char *text)
{
	char name[128];
	const char *at = strstr(text, "struct ");
	size_t len = at ? 7 + strcspn(at + 7, " *") : 0;
	if (!at || len >= sizeof(name) || strchr(text, '*') != strrchr(text, '*'))
		return NULL;
	memcpy(name, at, len);
	name[len] = 0;
	return check_struct(c, name);
}

/*
 * Arguments of system calls: formats have them as whole registers, whose upper half may hold anything. What the call is about is the part
 * that its type names.
 */
static const struct program_type *narrow_type(const char *text)
{
	static const struct {
		const char *name;
		u8 size;
		bool is_signed;
	} types[] = {
		{ "int", 4, true },	 { "unsigned int", 4, false }, { "unsigned", 4, false },
		{ "u32", 4, false },	 { "__u32", 4, false },	       { "__s32", 4, true },
		{ "pid_t", 4, true },	 { "uid_t", 4, false },	       { "gid_t", 4, false },
		{ "umode_t", 2, false }, { "clockid_t", 4, true },     { "timer_t", 4, true },
		{ "mqd_t", 4, true },	 { "key_t", 4, true },	       { "key_serial_t", 4, true },
		{ "rwf_t", 4, true },	 { "qid_t", 4, true },
	};
	if (!strncmp(text, "const ", 6))
		text += 6;
	if (!strncmp(text, "enum ", 5))
		return type_int(4, false);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(types[i].name, text))
			return type_int(types[i].size, types[i].is_signed);
	return NULL;
}

/* The type of a field of a tracepoint. */
static const struct program_type *schema_type(struct checker *c, const struct schema_field *f,
					      struct program_field *to)
{
	if (f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC)) {
		to->location = f->flags & FIELD_DATA_LOC ? 1 : 2;
		return type_pointer(c->arena, type_int(1, true));
	}
	if (f->flags & FIELD_STRING && f->flags & FIELD_ARRAY)
		return type_plain(c->arena, PROGRAM_STRING, f->size);
	bool is_signed = f->flags & FIELD_SIGNED;
	if (f->flags & FIELD_ARRAY) {
		struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
		struct program_field *e = arena_zalloc(c->arena, sizeof(*e));
		if (!t || !e)
			return NULL;
		*t = (struct program_type){
			.kind = PROGRAM_ARRAY, .size = f->size, .fields = e, .nr = f->nr_elems
		};
		e->type = type_int(f->elem_size, is_signed);
		return t;
	}
	if (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8)
		return NULL;
	if (f->size == 8 && f->type && strchr(f->type, '*') && strncmp(f->type, "const char", 10) &&
	    strncmp(f->type, "char", 4)) {
		const struct program_type *to = named_struct(c, f->type);
		if (to)
			return type_pointer(c->arena, to);
	}
	if (f->size == 8 && f->type && strchr(f->type, '*'))
		return type_pointer(c->arena,
				    strstr(f->type, "char") ? type_int(1, true) : &type_void);
	const struct program_type *narrow = f->size == 8 && f->type ? narrow_type(f->type) : NULL;
	return narrow ? narrow : type_int(f->size, is_signed);
}

static const struct program_type *schema_record(struct checker *c, const struct schema *s)
{
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	struct program_field *f = arena_array(c->arena, s->nr_fields + 1, sizeof(*f));
	if (!t || !f)
		return NULL;
	*t = (struct program_type){ .kind = PROGRAM_RECORD, .name = "args", .fields = f };
	for (u32 i = 0; i < s->nr_fields; i++) {
		const struct schema_field *from = &s->fields[i];
		struct program_field *to = &f[t->nr];
		*to = (struct program_field){ .name = arena_strdup(c->arena, from->name),
					      .offset = from->offset };
		to->type = schema_type(c, from, to);
		if (to->name && to->type)
			t->nr++;
		t->size = max(t->size, from->offset + from->size);
	}
	return t;
}

static int find_schema(struct checker *c, const struct schema **ret)
{
	const struct lang_ops *ops = c->in->ops;
	const struct program_probe *p = c->probe;
	if (!ops || !ops->tracepoint)
		return -ENOENT;
	return p->is_glob ? -ENOENT : ops->tracepoint(c->in->ctx, p->target, p->name, ret);
}

const struct program_type *check_args(struct checker *c, const struct node *n)
{
	const struct schema *s = NULL;
	if (c->args[c->point])
		return c->args[c->point];
	if (c->probe->provider != PROGRAM_TRACEPOINT) {
		c->args[c->point] = check_kernel_args(c, n);
		return c->args[c->point];
	}
	int err = find_schema(c, &s);
	if (err) {
		check_fail(c, n, err == -ENOMEM ? err : -ENOENT,
			   "the arguments of %s are not known", c->probe->text);
		return NULL;
	}
	c->args[c->point] = schema_record(c, s);
	return c->args[c->point];
}
