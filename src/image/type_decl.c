#include "image/type_decl.h"

#include <stdio.h>
#include <string.h>

enum {
	DEPTH_MAX = 32, /* of declarators and of nested definitions */
	TEXT_MAX = 1 << 20, /* of one definition */
	OFFSET_WIDTH = 6, /* "   [0]" */
	INDENT = 4,
};

struct decl {
	const struct btf *b;
	struct type_decl_opts o;
	struct strbuf *to;
	unsigned depth; /* of braces */
	u64 shift; /* bits from the start of the outermost struct */
};

static void declare(struct decl *c, u32 id, const char *inner, unsigned left);
static void define(struct decl *c, const struct btf_desc *d, unsigned left);

static const char *tag_of(const struct btf_desc *d)
{
	switch (d->kind) {
	case BTF_OF_STRUCT: return "struct";
	case BTF_OF_UNION: return "union";
	case BTF_OF_FORWARD: return d->is_union ? "union" : "struct";
	case BTF_OF_ENUM:
	case BTF_OF_ENUM64: return "enum";
	default: return NULL;
	}
}

static void declare_base(struct decl *c, const struct btf_desc *d, const char *inner, unsigned left)
{
	const char *tag = tag_of(d);
	if (d->kind == BTF_OF_VOID)
		strbuf_str(c->to, "void");
	else if (tag && !*d->name && c->o.whole)
		define(c, d, left);
	else if (tag)
		strbuf_printf(c->to, "%s %s", tag, *d->name ? d->name : "{...}");
	else
		strbuf_str(c->to, *d->name ? d->name : "?");
	if (*inner)
		strbuf_printf(c->to, " %s", inner);
}

/* "(struct kprobe *, int, ...)" */
static void add_parameters(struct decl *c, const struct btf_desc *proto, struct strbuf *to,
			   unsigned left)
{
	struct btf_part p;
	struct decl one = { .b = c->b, .to = to };
	strbuf_char(to, '(');
	for (u32 i = 0; btf_part(c->b, proto, i, &p) && to->len < TEXT_MAX; i++) {
		if (i)
			strbuf_str(to, ", ");
		if (!p.type)
			strbuf_str(to, i ? "..." : "void");
		else
			declare(&one, p.type, "", left);
	}
	if (!proto->nr)
		strbuf_str(to, "void");
	strbuf_char(to, ')');
}

/* Whether a qualifier stands by a star: "char *const p", not before the type: "const char *p". */
static bool qualifies_pointer(const struct btf *b, u32 id)
{
	struct btf_desc d;
	for (unsigned i = 0; i < DEPTH_MAX && btf_describe(b, id, &d); i++) {
		if (d.kind == BTF_OF_POINTER)
			return true;
		if (d.kind != BTF_OF_CONST && d.kind != BTF_OF_VOLATILE &&
		    d.kind != BTF_OF_RESTRICT && d.kind != BTF_OF_TYPE_TAG)
			return false;
		id = d.ref;
	}
	return false;
}

static const char *word_of(enum btf_kind kind)
{
	return kind == BTF_OF_CONST	 ? "const"
	       : kind == BTF_OF_VOLATILE ? "volatile"
	       : kind == BTF_OF_RESTRICT ? "restrict"
					 : "";
}

static void declare_qualified(struct decl *c, const struct btf_desc *d, const char *inner,
			      unsigned left)
{
	struct strbuf s;
	if (d->kind == BTF_OF_TYPE_TAG) {
		declare(c, d->ref, inner, left);
	} else if (!qualifies_pointer(c->b, d->ref)) {
		strbuf_printf(c->to, "%s ", word_of(d->kind));
		declare(c, d->ref, inner, left);
	} else {
		strbuf_init(&s);
		strbuf_printf(&s, "%s%s%s", word_of(d->kind), *inner ? " " : "", inner);
		declare(c, d->ref, strbuf_cstr(&s), left);
		strbuf_done(&s);
	}
}

/* From the name outwards: stars before it, brackets and parameters after it. */
static void declare(struct decl *c, u32 id, const char *inner, unsigned left)
{
	struct btf_desc d;
	struct strbuf s;
	if (!left || c->to->len >= TEXT_MAX || !btf_describe(c->b, id, &d)) {
		strbuf_printf(c->to, "?%s%s", *inner ? " " : "", inner);
		return;
	}
	bool star = *inner == '*';
	switch (d.kind) {
	case BTF_OF_POINTER:
		strbuf_init(&s);
		strbuf_printf(&s, "*%s", inner);
		declare(c, d.ref, strbuf_cstr(&s), left - 1);
		strbuf_done(&s);
		break;
	case BTF_OF_ARRAY:
		strbuf_init(&s);
		strbuf_printf(&s, star ? "(%s)[%u]" : "%s[%u]", inner, d.nr);
		declare(c, d.ref, strbuf_cstr(&s), left - 1);
		strbuf_done(&s);
		break;
	case BTF_OF_PROTOTYPE:
		strbuf_init(&s);
		strbuf_printf(&s, star ? "(%s)" : "%s", inner);
		add_parameters(c, &d, &s, left - 1);
		declare(c, d.ref, strbuf_cstr(&s), left - 1);
		strbuf_done(&s);
		break;
	case BTF_OF_FUNCTION:
	case BTF_OF_VARIABLE: declare(c, d.ref, *inner ? inner : d.name, left - 1); break;
	case BTF_OF_CONST:
	case BTF_OF_VOLATILE:
	case BTF_OF_RESTRICT:
	case BTF_OF_TYPE_TAG: declare_qualified(c, &d, inner, left - 1); break;
	default: declare_base(c, &d, inner, left - 1);
	}
}

/* The margin of a line: the offset where one is wanted, then blanks. at: bits; UINT64_MAX: no offset on this line. */
static void add_margin(struct decl *c, u64 at, bool is_bitfield, unsigned depth)
{
	char text[32] = "";
	if (c->o.offsets) {
		u64 byte = at / 8;
		if (at != UINT64_MAX && is_bitfield)
			(void)snprintf(text, sizeof(text), c->o.hex ? "[0x%llx:%u]" : "[%llu:%u]",
				       (unsigned long long)byte, (unsigned)(at % 8));
		else if (at != UINT64_MAX)
			(void)snprintf(text, sizeof(text), c->o.hex ? "[0x%llx]" : "[%llu]",
				       (unsigned long long)byte);
		strbuf_right(c->to, text, OFFSET_WIDTH);
		strbuf_fill(c->to, ' ', 1 + (size_t)INDENT * (depth - 1));
	} else {
		strbuf_fill(c->to, ' ', (size_t)INDENT * depth);
	}
}

static void define_members(struct decl *c, const struct btf_desc *d, unsigned left)
{
	struct btf_part p;
	u64 shift = c->shift;
	c->depth++;
	for (u32 i = 0; btf_part(c->b, d, i, &p) && c->to->len < TEXT_MAX; i++) {
		c->shift = shift + p.bit_offset;
		add_margin(c, c->shift, p.bits, c->depth);
		declare(c, p.type, p.name, left);
		if (p.bits)
			strbuf_printf(c->to, " : %u", p.bits);
		strbuf_str(c->to, ";\n");
	}
	c->depth--;
	c->shift = shift;
}

static void define_values(struct decl *c, const struct btf_desc *d)
{
	struct btf_part p;
	for (u32 i = 0; btf_part(c->b, d, i, &p) && c->to->len < TEXT_MAX; i++) {
		add_margin(c, UINT64_MAX, false, c->depth + 1);
		if (d->is_signed)
			strbuf_printf(c->to, "%s = %lld,\n", p.name, (long long)p.value);
		else
			strbuf_printf(c->to, "%s = %llu,\n", p.name, (unsigned long long)p.value);
	}
}

static void define(struct decl *c, const struct btf_desc *d, unsigned left)
{
	strbuf_printf(c->to, "%s%s%s {", tag_of(d), *d->name ? " " : "", d->name);
	if (!left) {
		strbuf_str(c->to, "...}");
		return;
	}
	strbuf_char(c->to, '\n');
	if (d->kind == BTF_OF_STRUCT || d->kind == BTF_OF_UNION)
		define_members(c, d, left - 1);
	else if (d->kind != BTF_OF_FORWARD)
		define_values(c, d);
	if (c->depth)
		add_margin(c, UINT64_MAX, false, c->depth);
	strbuf_char(c->to, '}');
}

void type_decl(const struct btf *b, u32 id, const char *name, struct type_decl_opts o,
	       struct strbuf *to)
{
	struct decl c = { .b = b, .o = o, .to = to };
	declare(&c, id, name, DEPTH_MAX);
}

bool type_decl_define(const struct btf *b, u32 id, struct type_decl_opts o, struct strbuf *to)
{
	struct decl c = { .b = b, .o = o, .to = to };
	struct btf_desc d;
	if (!btf_resolve(b, id, &d) || !tag_of(&d) || d.kind == BTF_OF_FORWARD)
		return false;
	c.o.whole = true;
	define(&c, &d, DEPTH_MAX);
	strbuf_char(to, '\n');
	return true;
}
