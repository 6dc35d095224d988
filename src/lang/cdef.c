#include "lang/cdef.h"

#include "lang/check_impl.h"

#include <errno.h>
#include <string.h>

static struct cdef *parse_struct(struct parser *p);

static void skip_attributes(struct parser *p, struct cdef *d)
{
	while (parse_word(p, "__attribute__")) {
		u32 depth = 0;
		do {
			parse_next(p);
			depth += p->t.kind == TOKEN_LPAREN;
			depth -= p->t.kind == TOKEN_RPAREN;
			if (parse_word(p, "packed") || parse_word(p, "__packed__"))
				d->is_packed = true;
			if (p->t.kind == TOKEN_END)
				parse_fail(p, -EINVAL, "expected ')'");
		} while (depth && !p->err);
		parse_next(p);
	}
}

/* struct { or struct name { begins a definition; struct name begins the type of a member. */
static bool is_definition(struct parser *p)
{
	if (!parse_word(p, "struct") && !parse_word(p, "union"))
		return false;
	struct parser before = *p;
	struct diag none;
	diag_init(&none);
	p->diag = p->lex.diag = &none;
	parse_next(p);
	if (p->t.kind == TOKEN_IDENT)
		parse_next(p);
	bool yes = p->t.kind == TOKEN_LBRACE;
	*p = before;
	diag_done(&none);
	return yes;
}

static u32 parse_small(struct parser *p, u32 limit)
{
	u32 v = (u32)min(p->t.number, (u64)UINT32_MAX);
	if (p->t.kind == TOKEN_INT && v > limit)
		parse_fail(p, -EINVAL, "expected a number up to %u", limit);
	parse_expect(p, TOKEN_INT, "a number");
	return v;
}

static struct cdef_member *add_member(struct parser *p, struct cdef *d, struct type_spec *spec,
				      struct cdef *inner)
{
	struct cdef_member *m = arena_zalloc(p->arena, sizeof(*m)), **at = &d->members;
	if (!m) {
		p->err = -ENOMEM;
		return NULL;
	}
	m->spec = spec;
	m->inner = inner;
	m->bits = -1;
	while (*at)
		at = &(*at)->next;
	*at = m;
	d->nr++;
	return m;
}

static void parse_counts(struct parser *p, struct cdef_member *m)
{
	while (parse_take(p, TOKEN_LBRACKET)) {
		if (m->nr_counts == ARRAY_SIZE(m->counts)) {
			parse_fail(p, -E2BIG, "an array of more than %zu dimensions",
				   ARRAY_SIZE(m->counts));
			return;
		}
		m->counts[m->nr_counts++] = parse_small(p, 1 << 20);
		parse_expect(p, TOKEN_RBRACKET, "']'");
	}
}

static void parse_declarators(struct parser *p, struct cdef *d, struct type_spec *spec,
			      struct cdef *inner)
{
	struct type_spec *own = spec;
	while (!p->err) {
		if (spec && p->t.kind == TOKEN_MUL) { /* of this one only */
			own = arena_alloc(p->arena, sizeof(*own));
			if (!own) {
				p->err = -ENOMEM;
				return;
			}
			*own = *spec;
			while (parse_take(p, TOKEN_MUL))
				own->stars++;
		}
		struct cdef_member *m = add_member(p, d, own, inner);
		if (!m)
			return;
		if (inner && p->t.kind == TOKEN_SEMI)
			return;
		m->name = p->t.text;
		parse_expect(p, TOKEN_IDENT, "the name of a member");
		if (p->t.kind == TOKEN_LBRACKET) {
			parse_counts(p, m);
		} else if (parse_take(p, TOKEN_COLON)) {
			m->bits = (s32)parse_small(p, 64);
		}
		if (!parse_take(p, TOKEN_COMMA))
			return;
		own = spec;
	}
}

static struct cdef *parse_struct(struct parser *p)
{
	struct cdef *d = arena_zalloc(p->arena, sizeof(*d));
	if (!d || p->depth >= PARSE_DEPTH_MAX) {
		p->err = d ? -E2BIG : -ENOMEM;
		return NULL;
	}
	d->is_union = parse_word(p, "union");
	d->name = "";
	parse_next(p);
	skip_attributes(p, d);
	d->start = p->t.start;
	d->len = p->t.len;
	if (p->t.kind == TOKEN_IDENT) {
		d->name = p->t.text;
		parse_next(p);
	}
	if (!parse_expect(p, TOKEN_LBRACE, "'{'"))
		return NULL;
	p->depth++;
	while (!p->err && p->t.kind != TOKEN_RBRACE) {
		struct cdef *inner = is_definition(p) ? parse_struct(p) : NULL;
		struct type_spec *spec = inner || p->err ? NULL : parse_type(p);
		if (inner || spec)
			parse_declarators(p, d, spec, inner);
		parse_expect(p, TOKEN_SEMI, "';'");
	}
	p->depth--;
	parse_expect(p, TOKEN_RBRACE, "'}'");
	skip_attributes(p, d);
	d->next = p->script->cdefs;
	p->script->cdefs = d;
	return p->err ? NULL : d;
}

static void parse_enum(struct parser *p)
{
	s64 value = 0;
	struct cdef_enum *e = NULL;
	parse_next(p);
	if (p->t.kind == TOKEN_IDENT) {
		e = arena_zalloc(p->arena, sizeof(*e));
		if (!e) {
			p->err = -ENOMEM;
			return;
		}
		e->name = p->t.text;
		e->next = p->script->enums;
		p->script->enums = e;
		parse_next(p);
	}
	parse_expect(p, TOKEN_LBRACE, "'{'");
	while (!p->err && p->t.kind != TOKEN_RBRACE) {
		struct cdef_constant *k = arena_zalloc(p->arena, sizeof(*k));
		if (!k) {
			p->err = -ENOMEM;
			return;
		}
		k->name = p->t.text;
		if (!parse_expect(p, TOKEN_IDENT, "the name of a value"))
			return;
		if (parse_take(p, TOKEN_ASSIGN)) {
			bool minus = parse_take(p, TOKEN_SUB);
			value = (s64)p->t.number;
			value = minus ? (s64)(0 - (u64)value) : value;
			parse_expect(p, TOKEN_INT, "a number");
		}
		k->value = value;
		k->of = e;
		value = (s64)((u64)value + 1);
		k->next = p->script->constants;
		p->script->constants = k;
		if (!parse_take(p, TOKEN_COMMA))
			break;
	}
	parse_expect(p, TOKEN_RBRACE, "'}'");
}

static void parse_typedef(struct parser *p)
{
	struct cdef_alias *a = arena_zalloc(p->arena, sizeof(*a));
	parse_next(p);
	if (!a) {
		p->err = -ENOMEM;
		return;
	}
	if (is_definition(p))
		a->inner = parse_struct(p);
	else
		a->spec = parse_type(p);
	a->name = p->t.text;
	if (p->err || !parse_expect(p, TOKEN_IDENT, "the name of the type"))
		return;
	if (p->t.kind == TOKEN_LBRACKET)
		parse_fail(p, -ENOTSUP, "a typedef of an array is not supported");
	a->next = p->script->aliases;
	p->script->aliases = a;
}

void cdef_parse(struct parser *p)
{
	bool is_typedef = parse_word(p, "typedef");
	if (parse_word(p, "enum"))
		parse_enum(p);
	else if (is_typedef)
		parse_typedef(p);
	else
		(void)parse_struct(p);
	/* After a '}' it may be missing. */
	if (!p->err && (is_typedef || p->t.kind == TOKEN_SEMI))
		parse_expect(p, TOKEN_SEMI, "';' after the definition");
}

static const struct program_type *lay_out(struct checker *c, struct cdef *d);

static int bad_member(struct checker *c, const struct cdef *d, const struct cdef_member *m,
		      const char *why)
{
	struct node at = { .start = m->spec ? m->spec->start : d->start,
			   .len = m->spec ? m->spec->len : d->len };
	return check_fail(c, &at, -EINVAL, "member '%s' %s", m->name ? m->name : "", why);
}

static u32 align_of(const struct program_type *t, const struct cdef *inner)
{
	if (inner)
		return inner->align;
	if (t->kind == PROGRAM_ARRAY)
		return align_of(t->fields->type, NULL);
	if (t->kind == PROGRAM_STRING)
		return 1;
	return t->kind == PROGRAM_RECORD ? 8 : max(t->size, 1u);
}

static struct cdef *find_def(const struct checker *c, const char *name)
{
	bool is_union = !strncmp(name, "union ", 6), is_struct = !strncmp(name, "struct ", 7);
	const char *plain = is_union ? name + 6 : is_struct ? name + 7 : name;
	for (struct cdef *d = c->script->cdefs; d; d = d->next)
		if (*d->name && !strcmp(d->name, plain) &&
		    (is_struct ? !d->is_union : !is_union || d->is_union))
			return d;
	return NULL;
}

/* The type of a member, and what it has to be aligned to. */
static const struct program_type *member_type(struct checker *c, struct cdef *d,
					      const struct cdef_member *m, u32 *align)
{
	struct cdef *inner = m->inner	      ? m->inner
			     : m->spec->stars ? NULL
					      : find_def(c, m->spec->name);
	const struct program_type *t = m->inner ? lay_out(c, m->inner) : check_type_spec(c, m->spec);
	if (!t)
		return NULL;
	if (!t->size) {
		bad_member(c, d, m, "has no size");
		return NULL;
	}
	*align = align_of(t, inner);
	u32 left = m->nr_counts;
	bool text = left && m->spec && !m->spec->stars && !strcmp(m->spec->name, "char");
	if (text && m->counts[left - 1])
		t = type_plain(c->arena, PROGRAM_STRING, m->counts[--left]);
	while (left && t) {
		u32 count = m->counts[--left];
		if (count && t->size > (1u << 24) / count) {
			bad_member(c, d, m, "is too large");
			return NULL;
		}
		t = type_array(c->arena, t, count);
	}
	return t;
}

struct cdef_layout {
	VEC(struct program_field) fields;
	u64 bits; /* where the next member begins */
	u64 end; /* of the longest, of a union */
};

static int add_field(struct checker *c, struct cdef_layout *y, const struct cdef_member *m,
		     const struct program_type *t, u64 at_bits)
{
	if (!m->name) { /* its members are ours */
		for (u32 i = 0; i < t->nr; i++) {
			struct program_field *f = vec_push(&y->fields);
			if (!f)
				return c->err = -ENOMEM;
			*f = t->fields[i];
			f->offset += (s64)(at_bits / 8);
		}
		return 0;
	}
	struct program_field *f = vec_push(&y->fields);
	if (!f)
		return c->err = -ENOMEM;
	*f = (struct program_field){ .name = m->name, .type = t, .offset = (s64)(at_bits / 8) };
	if (m->bits > 0) {
		f->bit_offset = (u8)(at_bits % 8);
		f->bit_size = (u8)m->bits;
	}
	return 0;
}

static u64 round_up(u64 v, u64 to)
{
	return (v + to - 1) / to * to;
}

static int place_member(struct checker *c, struct cdef *d, const struct cdef_member *m,
			struct cdef_layout *y)
{
	u32 align = 1;
	const struct program_type *t = member_type(c, d, m, &align);
	if (!t)
		return c->err ? c->err : (c->err = -ENOMEM);
	u64 unit = (u64)t->size * 8, bits = m->bits >= 0 ? (u64)m->bits : unit;
	if (m->bits >= 0 && (!type_is_number(t) || (u64)m->bits > unit || !m->bits))
		return bad_member(c, d, m, "is not a bitfield of 1 bit to its size");
	if (d->is_packed)
		align = 1;
	u64 at = d->is_union ? 0 : y->bits;
	if (m->bits < 0)
		at = round_up(at, (u64)align * 8);
	else if (!d->is_packed && at % unit + bits > unit)
		at = round_up(at, unit);
	d->align = max(d->align, align);
	y->bits = at + bits;
	y->end = max(y->end, y->bits);
	if (y->end > 1u << 27)
		return bad_member(c, d, m, "is too large");
	return add_field(c, y, m, t, at);
}

static const struct program_type *lay_out(struct checker *c, struct cdef *d)
{
	if (d->type || c->err)
		return d->type;
	struct cdef_layout y = { 0 };
	d->type = arena_zalloc(c->arena, sizeof(*d->type));
	d->align = 1;
	if (!d->type) {
		c->err = -ENOMEM;
		return NULL;
	}
	/* Members may point to it while it is made. */
	*d->type = (struct program_type){ .kind = PROGRAM_RECORD, .name = d->name };
	for (struct cdef_member *m = d->members; m && !c->err; m = m->next)
		(void)!place_member(c, d, m, &y);
	struct program_field *copy = arena_array(c->arena, y.fields.nr + 1, sizeof(*copy));
	if (!copy && !c->err)
		c->err = -ENOMEM;
	if (!c->err) {
		if (y.fields.nr)
			memcpy(copy, y.fields.at, y.fields.nr * sizeof(*copy));
		d->type->fields = copy;
		d->type->nr = (u32)y.fields.nr;
		d->type->size = (u32)(round_up(y.end, (u64)d->align * 8) / 8);
	}
	vec_free(&y.fields);
	return c->err ? NULL : d->type;
}

static const struct program_type *enum_type(struct checker *c, const char *name)
{
	struct cdef_enum *e = c->script->enums;
	while (e && strcmp(e->name, name))
		e = e->next;
	if (!e || e->type)
		return e ? e->type : NULL;
	u32 nr = 0;
	for (const struct cdef_constant *k = c->script->constants; k; k = k->next)
		nr += k->of == e;
	struct program_field *f = arena_array(c->arena, nr + 1, sizeof(*f));
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	if (!f || !t) {
		c->err = -ENOMEM;
		return NULL;
	}
	*t = (struct program_type){
		.kind = PROGRAM_ENUM, .size = 4, .name = e->name, .fields = f, .nr = nr
	};
	for (const struct cdef_constant *k = c->script->constants; k; k = k->next) {
		if (k->of != e)
			continue;
		f[--nr] = (struct program_field){ .name = k->name, .offset = k->value };
		t->is_signed |= k->value < 0;
		if (k->value > (t->is_signed ? INT32_MAX : UINT32_MAX) || k->value < INT32_MIN)
			t->size = 8;
	}
	e->type = t;
	return t;
}

static const struct program_type *alias_type(struct checker *c, const char *name)
{
	struct cdef_alias *a = c->script->aliases;
	while (a && (a->busy || strcmp(a->name, name)))
		a = a->next;
	if (!a)
		return NULL;
	a->busy = true; /* typedef struct x x */
	const struct program_type *t = a->inner ? lay_out(c, a->inner) : check_type_spec(c, a->spec);
	a->busy = false;
	return t;
}

const struct program_type *cdef_type(struct checker *c, const char *name)
{
	if (!strncmp(name, "enum ", 5))
		return enum_type(c, name + 5);
	const struct program_type *alias = alias_type(c, name);
	if (alias || c->err)
		return alias;
	struct cdef *d = find_def(c, name);
	return d ? lay_out(c, d) : NULL;
}

bool cdef_find_constant(const struct checker *c, const char *name, s64 *ret)
{
	for (const struct cdef_constant *k = c->script->constants; k; k = k->next)
		if (!strcmp(k->name, name)) {
			*ret = k->value;
			return true;
		}
	return false;
}
