/* The kernel's own types, from BTF: structs, their members, arguments of functions, names of constants. */
#include "lang/cdef.h"
#include "lang/check.h"
#include "lang/check_impl.h"
#include "lang/token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 8 };

/* A type by its number, or a member of one by its name too. */
struct btf_memo {
	u32 id;
	const char *member; /* NULL: the type itself */
	const struct program_type *type;
	struct program_field field;
	struct btf_memo *next;
};

static struct btf_memo *find_memo(const struct checker *c, u32 id, const char *member)
{
	for (struct btf_memo *m = c->memos; m; m = m->next)
		if (m->id == id && !m->member == !member && (!member || !strcmp(m->member, member)))
			return m;
	return NULL;
}

static struct btf_memo *add_memo(struct checker *c, u32 id)
{
	struct btf_memo *m = arena_zalloc(c->arena, sizeof(*m));
	if (!m) {
		c->err = -ENOMEM;
		return NULL;
	}
	m->id = id;
	m->next = c->memos;
	c->memos = m;
	return m;
}

static const struct program_type *type_of(struct checker *c, u32 id, u32 depth);

static const struct program_type *record_of(struct checker *c, const struct btf_desc *d)
{
	struct btf_memo *m = find_memo(c, d->id, NULL);
	if (m)
		return m->type;
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	m = add_memo(c, d->id);
	if (!t || !m)
		return NULL;
	*t = (struct program_type){ .kind = PROGRAM_RECORD, .size = d->size, .btf_id = d->id };
	t->name = arena_strdup(c->arena, *d->name ? d->name : "(anonymous)");
	m->type = t;
	return t->name ? t : NULL;
}

static const struct program_type *array_of(struct checker *c, const struct btf_desc *d, u32 depth)
{
	struct btf_desc elem;
	if (!btf_resolve(c->in->btf, d->ref, &elem) || d->nr > 1 << 20)
		return NULL;
	if (elem.kind == BTF_OF_INT && elem.size == 1 && !strcmp(elem.name, "char") && d->nr)
		return type_plain(c->arena, PROGRAM_STRING, d->nr);
	const struct program_type *of = type_of(c, d->ref, depth + 1);
	return of && of->size <= (1u << 30) / max(d->nr, 1u) ? type_array(c->arena, of, d->nr)
							     : NULL;
}

static const struct program_type *enum_of(struct checker *c, const struct btf_desc *d)
{
	struct btf_memo *m = find_memo(c, d->id, NULL);
	if (m)
		return m->type;
	if ((d->size != 1 && d->size != 2 && d->size != 4 && d->size != 8) || d->nr > 1 << 16)
		return NULL;
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	struct program_field *f = arena_array(c->arena, d->nr + 1, sizeof(*f));
	struct btf_part p;
	m = add_memo(c, d->id);
	if (!t || !f || !m)
		return NULL;
	*t = (struct program_type){
		.kind = PROGRAM_ENUM, .size = d->size, .is_signed = d->is_signed, .fields = f
	};
	t->name = arena_strdup(c->arena, d->name);
	for (u32 i = 0; i < d->nr && btf_part(c->in->btf, d, i, &p); i++)
		f[t->nr++] = (struct program_field){ .name = arena_strdup(c->arena, p.name),
						     .offset = p.value };
	m->type = t;
	return t;
}

static const struct program_type *type_of(struct checker *c, u32 id, u32 depth)
{
	struct btf_desc d;
	if (depth > DEPTH_MAX || !btf_resolve(c->in->btf, id, &d))
		return NULL;
	switch (d.kind) {
	case BTF_OF_VOID:
	case BTF_OF_PROTOTYPE:
	case BTF_OF_FORWARD: return &type_void;
	case BTF_OF_ENUM:
	case BTF_OF_ENUM64: return enum_of(c, &d);
	case BTF_OF_INT:
		if (d.is_bool)
			return &type_bool;
		if (d.size != 1 && d.size != 2 && d.size != 4 && d.size != 8)
			return NULL;
		return type_int(d.size, d.is_signed);
	case BTF_OF_POINTER: {
		const struct program_type *to = type_of(c, d.ref, depth + 1);
		return type_pointer(c->arena, to ? to : &type_void);
	}
	case BTF_OF_ARRAY: return array_of(c, &d, depth);
	case BTF_OF_STRUCT:
	case BTF_OF_UNION: return record_of(c, &d);
	default: return NULL;
	}
}

const struct program_type *check_struct(struct checker *c, const char *name)
{
	static const struct {
		const char *prefix;
		u32 kinds;
	} forms[] = {
		{ "struct ", BTF_BIT(BTF_OF_STRUCT) },
		{ "union ", BTF_BIT(BTF_OF_UNION) },
		{ "enum ", BTF_BIT(BTF_OF_ENUM) | BTF_BIT(BTF_OF_ENUM64) },
		{ "", BTF_BIT(BTF_OF_TYPEDEF) | BTF_BIT(BTF_OF_STRUCT) | BTF_BIT(BTF_OF_UNION) },
	};
	const struct program_type *own = cdef_type(c, name);
	if (own || c->err || !c->in->btf)
		return own;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		size_t len = strlen(forms[i].prefix);
		if (strncmp(name, forms[i].prefix, len))
			continue;
		int err = 0;
		u32 id = btf_find(c->in->btf, name + len, forms[i].kinds, &err);
		if (err)
			c->err = err;
		return id && !err ? type_of(c, id, 0) : NULL;
	}
	return NULL;
}

static bool make_field(struct checker *c, const struct btf_part *p, struct program_field *f)
{
	*f = (struct program_field){ .type = type_of(c, p->type, 0) };
	f->offset = (s64)(p->bit_offset / 8);
	if (p->bits) {
		f->bit_offset = (u8)(p->bit_offset % 8);
		f->bit_size = (u8)p->bits;
	}
	return f->type && p->bits <= 64 && f->bit_offset + f->bit_size <= 64 && f->offset < 1 << 24;
}

const struct program_type *check_kernel_member(struct checker *c, struct node *n,
					       const struct program_type *t)
{
	struct btf_memo *m = find_memo(c, t->btf_id, n->text);
	struct btf_part p;
	if (!m) {
		const char *close;
		int err = btf_find_member(c->in->btf, t->btf_id, n->text, &p);
		if (err) {
			check_fail(c, n, -EINVAL, "struct %s has no member '%s'", t->name, n->text);
			if (btf_closest_member(c->in->btf, t->btf_id, n->text, &close))
				diag_hint(c->diag, "did you mean '%s'?", close);
			return NULL;
		}
		struct program_field f;
		if (!make_field(c, &p, &f)) {
			check_fail(c, n, -ENOTSUP,
				   "member '%s' is of a type that is not supported yet", n->text);
			return NULL;
		}
		m = add_memo(c, t->btf_id);
		if (!m)
			return NULL;
		m->member = n->text;
		m->field = f;
	}
	n->field = &m->field;
	return n->field->type;
}

enum { WHOLE_DEPTH = 8, WHOLE_FIELDS = 4096 };

struct whole {
	struct checker *c;
	u32 nr; /* members so far, of all levels */
};

struct whole_fields {
	VEC(struct program_field) at;
	u32 size; /* bytes of the record */
};

static const struct program_type *whole_of(struct whole *w, const struct program_type *t, u32 depth);

/* A bitfield is read as a number of its type: there it has to be inside. */
static bool whole_bits(struct program_field *f, const struct btf_part *p, u32 size)
{
	u32 unit = f->type->size * 8;
	f->offset = (s64)(p->bit_offset / unit * f->type->size);
	f->bit_offset = (u8)(p->bit_offset % unit);
	f->bit_size = (u8)p->bits;
	return f->bit_offset + p->bits <= unit && f->offset + f->type->size <= size;
}

/* The members of an anonymous struct are those of the struct around it. */
static void add_members(struct whole *w, struct whole_fields *to, u32 id, u64 bits, u32 depth)
{
	struct btf_desc d;
	struct btf_part p;
	if (depth > WHOLE_DEPTH || !btf_resolve(w->c->in->btf, id, &d))
		return;
	for (u32 i = 0; i < d.nr && btf_part(w->c->in->btf, &d, i, &p); i++) {
		p.bit_offset += bits;
		if (!*p.name) {
			add_members(w, to, p.type, p.bit_offset, depth + 1);
			continue;
		}
		if (w->nr >= WHOLE_FIELDS)
			return;
		const struct program_type *t = type_of(w->c, p.type, 0);
		struct program_field f = { .name = arena_strdup(w->c->arena, p.name),
					   .type = t ? whole_of(w, t, depth + 1) : NULL,
					   .offset = (s64)(p.bit_offset / 8) };
		bool there = f.name && f.type && f.type->size;
		if (there && p.bits)
			there = type_is_number(f.type) && whole_bits(&f, &p, to->size);
		if (!there)
			continue;
		struct program_field *slot = vec_push(&to->at);
		if (!slot) {
			w->c->err = -ENOMEM;
			return;
		}
		*slot = f;
		w->nr++;
	}
}

static const struct program_type *whole_record(struct whole *w, const struct program_type *t,
					       u32 depth)
{
	struct whole_fields to = { .size = t->size };
	add_members(w, &to, t->btf_id, 0, depth);
	struct program_type *copy = arena_zalloc(w->c->arena, sizeof(*copy));
	struct program_field *f = arena_array(w->c->arena, to.at.nr + 1, sizeof(*f));
	bool made = copy && f && !w->c->err;
	if (made) {
		*copy = *t;
		copy->btf_id = 0;
		copy->nr = (u32)to.at.nr;
		copy->fields = f;
		if (copy->nr)
			memcpy(f, to.at.at, copy->nr * sizeof(*f));
	}
	vec_free(&to.at);
	return made ? copy : NULL;
}

static const struct program_type *whole_of(struct whole *w, const struct program_type *t, u32 depth)
{
	if (depth > WHOLE_DEPTH)
		return NULL;
	if (t->kind == PROGRAM_RECORD && t->btf_id)
		return whole_record(w, t, depth);
	if (t->kind == PROGRAM_ARRAY) {
		const struct program_type *of = whole_of(w, t->fields->type, depth + 1);
		return of ? type_array(w->c->arena, of, t->nr) : NULL;
	}
	if (t->kind != PROGRAM_TUPLE)
		return t;
	struct program_type *copy = arena_zalloc(w->c->arena, sizeof(*copy));
	struct program_field *f = arena_array(w->c->arena, t->nr + 1, sizeof(*f));
	if (!copy || !f)
		return NULL;
	*copy = *t;
	copy->fields = f;
	for (u32 i = 0; i < t->nr; i++) {
		f[i] = t->fields[i];
		f[i].type = whole_of(w, f[i].type, depth + 1);
		if (!f[i].type)
			return NULL;
	}
	return copy;
}

const struct program_type *check_whole_type(struct checker *c, const struct program_type *t)
{
	struct whole w = { .c = c };
	return whole_of(&w, t, 0);
}

/* The prototype whose parameters the probe sees; skip: of them that it does not. */
static bool find_prototype(struct checker *c, const struct node *n, struct btf_desc *ret, u32 *skip)
{
	const struct program_probe *p = c->probe;
	char name[160];
	*skip = 0;
	if (p->provider != PROGRAM_FENTRY && p->provider != PROGRAM_FEXIT &&
	    p->provider != PROGRAM_RAW_TRACEPOINT) {
		check_fail(c, n, -ENOTSUP, "%s has no arguments with names here", p->text);
		return false;
	}
	if (c->in->btf && !p->is_glob && p->provider == PROGRAM_RAW_TRACEPOINT) {
		/* The function that calls all who listen: its parameters have names. */
		snprintf(name, sizeof(name), "__traceiter_%s", p->name);
		*skip = 1;
		if (!btf_find_prototype(c->in->btf, name, ret))
			return true;
	} else if (c->in->btf && !p->is_glob && !btf_find_prototype(c->in->btf, p->name, ret)) {
		return true;
	}
	check_fail(c, n, -ENOENT, "the arguments of %s are not known", p->text);
	return false;
}

static int ignore_variables(void *ctx, const char *key, const struct program_local *locals, u32 nr)
{
	(void)ctx, (void)key, (void)locals, (void)nr;
	return 0;
}

/* Why nothing is known: once more, for the reason. */
static const struct program_type *no_variables(struct checker *c, const struct node *n)
{
	const struct program_probe *p = c->probe;
	const struct lang_ops *ops = c->in->ops;
	struct diag why;
	diag_init(&why);
	why.options = c->diag->options;
	int err = ops && ops->locals
			  ? ops->locals(c->in->ctx, p, c->arena, ignore_variables, NULL, &why)
			  : 0;
	check_fail(c, n, err == -ENOMEM ? err : -ENOENT, "the arguments of %s are not known%s%s",
		   p->text, why.items.nr ? ": " : "", why.items.nr ? why.items.at[0].message : "");
	diag_done(&why);
	if (!p->file)
		diag_hint(c->diag, "argN reads them by number");
	return NULL;
}

static bool has_members(const struct program_type *t)
{
	return t && t->kind == PROGRAM_RECORD && t->btf_id;
}

/* Variables of the code that is probed; those of the kernel have the kernel's own types, of which all members are known. */
static const struct program_type *check_locals(struct checker *c, const struct node *n)
{
	const struct program_probe *p = c->probe;
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	struct program_field *f = arena_array(c->arena, p->nr_locals + 1, sizeof(*f));
	(void)n;
	if (!t || !f) {
		c->err = -ENOMEM;
		return NULL;
	}
	*t = (struct program_type){ .kind = PROGRAM_RECORD, .name = "args", .fields = f };
	for (u32 i = 0; i < p->nr_locals; i++) {
		const struct program_local *l = &p->locals[i];
		const struct program_type *of = l->type, *own = NULL;
		size_t len = l->kernel_type ? strcspn(l->kernel_type, "*") : 0;
		char *name = len ? arena_strndup(c->arena, l->kernel_type, len) : NULL;
		bool pointer = of->kind == PROGRAM_POINTER;
		if (name && c->in->btf && len + pointer == strlen(l->kernel_type))
			own = check_struct(c, name);
		if (has_members(own))
			of = pointer ? type_pointer(c->arena, own) : own;
		f[t->nr++] = (struct program_field){ .name = l->name, .type = of, .offset = i };
	}
	t->size = p->nr_locals;
	return t;
}

const struct program_type *check_kernel_args(struct checker *c, const struct node *n)
{
	struct btf_desc d;
	struct btf_part p;
	u32 skip;
	if (c->probe->arguments && c->probe->provider != PROGRAM_USDT)
		return check_locals(c, n);
	if (c->probe->provider == PROGRAM_UPROBE || c->probe->file)
		return no_variables(c, n);
	if (!find_prototype(c, n, &d, &skip))
		return NULL;
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	struct program_field *f = arena_array(c->arena, d.nr + 1, sizeof(*f));
	if (!t || !f) {
		c->err = -ENOMEM;
		return NULL;
	}
	*t = (struct program_type){ .kind = PROGRAM_RECORD, .name = "args", .fields = f };
	for (u32 i = skip; i < d.nr && i < BTF_ARGS_MAX && btf_part(c->in->btf, &d, i, &p); i++) {
		const struct program_type *of = type_of(c, p.type, 0);
		if (!of || !type_is_scalar(of))
			break; /* what follows is not where it is expected */
		f[t->nr++] = (struct program_field){ .name = arena_strdup(c->arena, p.name),
						     .type = of,
						     .offset = 8 * (s64)(i - skip) };
	}
	t->size = 8 * t->nr;
	return t;
}

const struct program_type *check_kernel_result(struct checker *c, const struct node *n, s64 *offset)
{
	struct btf_desc d;
	struct btf_part p;
	u32 skip;
	if (!find_prototype(c, n, &d, &skip))
		return NULL;
	for (u32 i = 0; i < d.nr; i++) {
		const struct program_type *of =
			btf_part(c->in->btf, &d, i, &p) ? type_of(c, p.type, 0) : NULL;
		if (!of || !type_is_scalar(of)) {
			check_fail(c, n, -ENOTSUP, "%s takes a struct by value", c->probe->text);
			return NULL;
		}
	}
	const struct program_type *t = type_of(c, d.ref, 0);
	if (!t || !type_is_scalar(t)) {
		check_fail(c, n, -EINVAL, "%s has no result", c->probe->text);
		return NULL;
	}
	*offset = 8 * (s64)d.nr;
	return t;
}

/* Adds where the member is; its type goes on in either *t or *id. */
static bool add_offset(struct checker *c, const struct program_type **t, u32 *id, const char *name,
		       s64 *offset)
{
	struct btf_part p;
	if (*t && (*t)->btf_id) {
		*id = (*t)->btf_id;
		*t = NULL;
	}
	if (!*t) {
		if (!*id || btf_find_member(c->in->btf, *id, name, &p) || p.bits)
			return false;
		*offset += (s64)(p.bit_offset / 8);
		*id = p.type;
		return true;
	}
	const struct program_field *f =
		(*t)->kind == PROGRAM_RECORD ? type_find_field(*t, name) : NULL;
	if (!f || f->bit_size)
		return false;
	*offset += f->offset;
	*t = f->type;
	return true;
}

/* NULL, or the member of the path that has no offset, in name. */
static const char *find_offset(struct checker *c, const struct program_type *t, const char *path,
			       char *name, size_t size, s64 *ret)
{
	s64 offset = 0;
	u32 id = 0;
	while (*path) {
		size_t len = strcspn(path, ".");
		snprintf(name, size, "%.*s", (int)min(len, size - 1), path);
		if (!add_offset(c, &t, &id, name, &offset))
			return name;
		path += len + (path[len] == '.');
	}
	*ret = offset;
	return NULL;
}

bool check_member_offset(struct checker *c, const char *type, const char *path, s64 *ret)
{
	const struct program_type *t = check_struct(c, type);
	char name[128];
	return t && t->btf_id && !find_offset(c, t, path, name, sizeof(name), ret);
}

const struct program_type *check_offsetof(struct checker *c, struct node *n)
{
	const struct program_type *t = check_type_or_value(c, n);
	char name[128];
	const char *bad = t ? find_offset(c, t, n->text, name, sizeof(name), &n->number) : NULL;
	if (bad)
		check_fail(c, n, -EINVAL, "no member '%s' that has an offset", bad);
	return t && !bad ? &type_u64 : NULL;
}

/* What headers #define, which BTF does not know: of the headers that scripts include. */
static const struct {
	const char *name;
	s64 value;
} header_names[] = {
	{ "AF_UNSPEC", 0 },
	{ "AF_UNIX", 1 },
	{ "AF_INET", 2 },
	{ "AF_INET6", 10 },
	{ "AF_NETLINK", 16 },
	{ "AF_PACKET", 17 },
	{ "IPPROTO_ICMP", 1 },
	{ "IPPROTO_TCP", 6 },
	{ "IPPROTO_UDP", 17 },
	{ "IPPROTO_ICMPV6", 58 },
	{ "TASK_RUNNING", 0 },
	{ "TASK_INTERRUPTIBLE", 1 },
	{ "TASK_UNINTERRUPTIBLE", 2 },
	{ "O_RDONLY", 0 },
	{ "O_WRONLY", 1 },
	{ "O_RDWR", 2 },
	{ "O_CREAT", 0100 },
	{ "S_IFMT", 0170000 },
	{ "S_IFREG", 0100000 },
	{ "S_IFDIR", 0040000 },
	{ "S_IFSOCK", 0140000 },
	{ "NSEC_PER_SEC", 1000000000 },
	{ "NULL", 0 },
	{ "BPFTRACE_HAVE_BTF", 1 },
};

/* Enumerators have no table: all enums are looked at, once for each name of a script. */
const struct program_type *check_name(struct checker *c, struct node *n)
{
	struct btf *b = c->in->btf;
	struct btf_desc d;
	struct btf_part p;
	if (cdef_find_constant(c, n->text, &n->number)) {
		n->kind = NODE_INT;
		return &type_s64;
	}
	for (size_t i = 0; i < ARRAY_SIZE(header_names); i++)
		if (!strcmp(header_names[i].name, n->text)) {
			n->kind = NODE_INT;
			n->number = header_names[i].value;
			return &type_s64;
		}
	for (u32 id = 1; b && id <= b->nr; id++) {
		if (!btf_describe(b, id, &d) || (d.kind != BTF_OF_ENUM && d.kind != BTF_OF_ENUM64))
			continue;
		for (u32 i = 0; i < d.nr && btf_part(b, &d, i, &p); i++) {
			if (strcmp(p.name, n->text))
				continue;
			n->kind = NODE_INT;
			n->number = p.value;
			return &type_s64;
		}
	}
	return NULL;
}
