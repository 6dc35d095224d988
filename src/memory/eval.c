#include "memory/eval.h"

#include "base/num.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct evaluation {
	struct kspace *k;
	const char *text;
};

static int eval_node(const struct evaluation *e, const struct cexpr *n, struct kvalue *ret);

static int refuse(const struct evaluation *e, const struct cexpr *n, int err, const char *what)
{
	(void)diag_error(e->k->diag, err, "%s", what);
	diag_span(e->k->diag, e->text, n->start, n->len);
	return err;
}

/* The diag of a failure that knew no place gets the node's. */
static int place_error(const struct evaluation *e, const struct cexpr *n, size_t nr_before, int err)
{
	struct diag *d = e->k->diag;
	if (err && d && d->items.nr > nr_before && !d->items.at[d->items.nr - 1].text)
		diag_span(d, e->text, n->start, n->len);
	return err;
}

static struct kvalue number_value(u64 num, bool is_unsigned)
{
	return (struct kvalue){ .type = ktype_number(is_unsigned), .num = num };
}

static bool is_unknown(const struct kvalue *v)
{
	return !v->type.b && !v->type.is_number;
}

/* ---- reading --------------------------------------------------------------------------------------------------------------- */

/* A whole number of up to 8 bytes, or some of its bits, in the machine's (little-endian) order. */
static int read_scalar(struct kspace *k, const struct kvalue *v, u64 *ret)
{
	u64 size = ktype_size(&v->type), num = 0, high = 0;
	u8 raw[2 * sizeof(u64)] = { 0 };
	if (!size || size > sizeof(num))
		return diag_error(k->diag, -EINVAL, "a value of %llu bytes is not a number",
				  (unsigned long long)size);
	size_t bytes = v->bits ? (size_t)(v->bit_offset + v->bits + 7) / 8 : (size_t)size;
	int err = kspace_read(k, v->addr, raw, bytes, v->symbol ? v->symbol : "a value");
	if (err)
		return err;
	memcpy(&num, raw, sizeof(num));
	memcpy(&high, raw + sizeof(num), sizeof(high));
	unsigned bits = v->bits ? v->bits : (unsigned)size * 8;
	if (v->bit_offset)
		num = num >> v->bit_offset | high << (64 - v->bit_offset);
	if (bits < 64) {
		num &= (1ull << bits) - 1;
		if (ktype_is_signed(&v->type) && num >> (bits - 1) & 1)
			num |= ~0ull << bits;
	}
	*ret = num;
	return 0;
}

int eval_number(struct kspace *k, const struct kvalue *v, u64 *ret)
{
	struct btf_desc d;
	enum btf_kind kind = ktype_kind(&v->type, &d);
	if (v->is_function || (v->is_place && kind == BTF_OF_ARRAY)) {
		*ret = v->addr;
		return 0;
	}
	if (!v->is_place) {
		*ret = v->num;
		return 0;
	}
	if (is_unknown(v)) {
		int err = diag_error(k->diag, -EINVAL, "the type of '%s' is not known",
				     v->symbol ? v->symbol : "this");
		diag_hint(k->diag,
			  "cast it to the type that it is declared with: (TYPE)%s, or "
			  "take its address: &%s",
			  v->symbol ? v->symbol : "NAME", v->symbol ? v->symbol : "NAME");
		return err;
	}
	if (kind == BTF_OF_STRUCT || kind == BTF_OF_UNION)
		return diag_error(k->diag, -EINVAL, "a %s is not a number",
				  kind == BTF_OF_UNION ? "union" : "struct");
	return read_scalar(k, v, ret);
}

int eval_address(struct kspace *k, const struct kvalue *v, u64 *ret)
{
	struct btf_desc d;
	enum btf_kind kind = ktype_kind(&v->type, &d);
	if (v->is_place && (is_unknown(v) || kind == BTF_OF_STRUCT || kind == BTF_OF_UNION)) {
		*ret = v->addr;
		return 0;
	}
	return eval_number(k, v, ret);
}

/* ---- operands -------------------------------------------------------------------------------------------------------------- */

static int eval_per_cpu(const struct evaluation *e, const struct cexpr *n, struct kvalue *v)
{
	if (!v->global.is_per_cpu)
		return refuse(e, n, -EINVAL, "not a per-CPU variable");
	if (n->cpu == CEXPR_ALL_CPUS)
		return refuse(e, n, -EINVAL, "':a' is for values that are printed");
	v->is_per_cpu = false;
	return kspace_per_cpu(e->k, &v->global, (u32)n->cpu, &v->addr);
}

static int eval_name(const struct evaluation *e, const struct cexpr *n, struct kvalue *ret)
{
	struct kvalue v = { .is_place = true };
	struct ktype type;
	s64 constant;
	struct diag quiet;
	struct diag *d = e->k->diag;
	diag_init(&quiet);
	e->k->diag = &quiet;
	int err = kspace_global(e->k, n->name, &v.global);
	e->k->diag = d;
	if (err == -ENOENT && n->cpu == CEXPR_NO_CPU &&
	    kspace_find_constant(e->k, n->name, &constant, &type)) {
		diag_done(&quiet);
		*ret = (struct kvalue){ .type = type, .num = (u64)constant };
		return 0;
	}
	if (d)
		diag_join(d, &quiet);
	diag_done(&quiet);
	if (err)
		return err;
	v.type = v.global.type;
	v.addr = v.global.addr;
	v.is_function = v.global.is_function;
	v.is_per_cpu = v.global.is_per_cpu;
	v.symbol = n->name;
	if (n->cpu != CEXPR_NO_CPU)
		err = eval_per_cpu(e, n, &v);
	if (!err)
		*ret = v;
	return err;
}

static int eval_variable(const struct evaluation *e, const struct cexpr *n, struct kvalue *ret)
{
	struct ktype task;
	u64 addr;
	if (strcmp(n->name, "current"))
		return refuse(e, n, -ENOENT, "unknown variable: there is $current, this task");
	if (!kspace_find_type(e->k, "task_struct", BTF_BIT(BTF_OF_STRUCT), &task))
		return refuse(e, n, -ENOENT, "this kernel has no struct task_struct");
	int err = kspace_current(e->k, &addr);
	if (!err)
		*ret = (struct kvalue){ .type = ktype_pointer_to(task), .num = addr };
	return err;
}

/* ---- members and elements -------------------------------------------------------------------------------------------------- */

static int no_member(const struct evaluation *e, const struct cexpr *n, const struct ktype *of)
{
	const char *close = NULL;
	struct strbuf s;
	strbuf_init(&s);
	ktype_name(of, &s);
	int err = diag_error(e->k->diag, -ENOENT, "%s has no member '%s'", strbuf_cstr(&s), n->name);
	diag_span(e->k->diag, e->text, n->name_start, n->name_len);
	if (btf_closest_member(of->b, of->id, n->name, &close))
		diag_hint(e->k->diag, "did you mean '%s'?", close);
	strbuf_done(&s);
	return err;
}

static bool is_compound(const struct ktype *t)
{
	struct btf_desc d;
	enum btf_kind kind = ktype_kind(t, &d);
	return kind == BTF_OF_STRUCT || kind == BTF_OF_UNION;
}

/* What p points to, as a place. */
static int pointed_to(const struct evaluation *e, const struct cexpr *n, const struct kvalue *p,
		      struct kvalue *ret)
{
	struct ktype target;
	u64 addr;
	if (!ktype_target(&p->type, &target))
		return refuse(e, n, -EINVAL, "not a pointer or an array");
	int err = eval_number(e->k, p, &addr);
	if (!err)
		*ret = (struct kvalue){ .type = target, .is_place = true, .addr = addr };
	return err;
}

static int per_cpu_alone(const struct evaluation *e, const struct cexpr *n)
{
	(void)refuse(e, n, -EINVAL, "a per-CPU variable has a copy for each CPU");
	diag_hint(e->k->diag, "write NAME:CPU, for example %s:0", n->name ? n->name : "NAME");
	return -EINVAL;
}

static int eval_member(const struct evaluation *e, const struct cexpr *n, struct kvalue *ret)
{
	struct kvalue of;
	struct btf_part p;
	int err = eval_node(e, n->kids[0], &of);
	if (err)
		return err;
	if (of.is_per_cpu)
		return per_cpu_alone(e, n->kids[0]);
	/* Fingers slip between '.' and '->': what is meant is never in doubt. */
	if (!is_compound(&of.type)) {
		err = pointed_to(e, n->kids[0], &of, &of);
		if (err)
			return err;
	}
	if (!of.is_place || !is_compound(&of.type))
		return refuse(e, n->kids[0], -EINVAL,
			      is_unknown(&of) ? "the type of this is not known: cast it, "
						"((struct NAME *)ADDRESS)->MEMBER"
					      : "not a struct or union, or a pointer to one");
	if (btf_find_member(of.type.b, of.type.id, n->name, &p))
		return no_member(e, n, &of.type);
	*ret = (struct kvalue){ .type = ktype_of(of.type.b, p.type),
				.is_place = true,
				.addr = of.addr + p.bit_offset / 8,
				.bit_offset = (u8)(p.bits ? p.bit_offset % 8 : 0),
				.bits = (u8)p.bits };
	return 0;
}

static int eval_index(const struct evaluation *e, const struct cexpr *n, struct kvalue *ret)
{
	struct kvalue of, first, last = { 0 };
	u64 from, until = 0;
	int err = eval_node(e, n->kids[0], &of);
	if (!err && of.is_per_cpu)
		return per_cpu_alone(e, n->kids[0]);
	if (!err)
		err = eval_node(e, n->kids[1], &first);
	if (!err)
		err = eval_number(e->k, &first, &from);
	if (!err && n->kids[2])
		err = eval_node(e, n->kids[2], &last);
	if (!err && n->kids[2])
		err = eval_number(e->k, &last, &until);
	if (!err)
		err = pointed_to(e, n->kids[0], &of, ret);
	if (err)
		return err;
	u64 size = ktype_size(&ret->type), nr = ktype_elements(&of.type);
	if (!size)
		return refuse(e, n->kids[0], -EINVAL, "its elements have no size");
	if (nr && (from >= nr || (n->kids[2] && until > nr))) {
		diag_warn(e->k->diag, "index beyond the array's %llu elements",
			  (unsigned long long)nr);
		diag_span(e->k->diag, e->text, n->start, n->len);
	}
	ret->addr += from * size;
	if (n->kids[2]) {
		if (ret->type.is_array || until <= from)
			return refuse(e, n, -EINVAL, "a slice ends after its first element");
		ret->type.is_array = true;
		ret->type.elements = until - from;
	}
	return 0;
}

static int eval_address_of(const struct evaluation *e, const struct cexpr *n, struct kvalue *ret)
{
	struct kvalue of;
	int err = eval_node(e, n->kids[0], &of);
	if (err)
		return err;
	if (!of.is_place)
		return refuse(e, n->kids[0], -EINVAL, "a number has no address");
	if (of.bits)
		return refuse(e, n->kids[0], -EINVAL, "a bitfield has no address");
	struct ktype type = of.type;
	if (is_unknown(&of)) { /* void * */
		struct btf *b;
		err = kspace_types(e->k, &b);
		if (err)
			return err;
		type = ktype_of(b, 0);
	} else if (type.is_array) {
		type.is_array = false;
	}
	*ret = (struct kvalue){ .type = ktype_pointer_to(type), .num = of.addr };
	return 0;
}

/* ---- casts, sizes, containers ---------------------------------------------------------------------------------------------- */

static u64 narrow(u64 num, const struct ktype *to)
{
	u64 size = ktype_size(to);
	if (!size || size >= sizeof(num))
		return num;
	unsigned bits = (unsigned)size * 8;
	num &= (1ull << bits) - 1;
	if (ktype_is_signed(to) && num >> (bits - 1) & 1)
		num |= ~0ull << bits;
	return num;
}

static int eval_cast(const struct evaluation *e, const struct cexpr *n, struct kvalue *ret)
{
	struct kvalue of;
	struct ktype to;
	struct btf_desc d;
	u64 num;
	int err = kspace_type(e->k, &n->type, e->text, &to);
	if (!err)
		err = eval_node(e, n->kids[0], &of);
	if (err)
		return err;
	enum btf_kind kind = ktype_kind(&to, &d);
	if (of.is_place && is_unknown(&of) && !of.is_function) {
		of.type = to;
		*ret = of;
		return 0;
	}
	if (kind == BTF_OF_STRUCT || kind == BTF_OF_UNION || kind == BTF_OF_ARRAY) {
		/* (struct list_head)x: the same place, seen as something else. */
		if (!of.is_place)
			return refuse(e, n, -EINVAL,
				      "a number cannot be cast to this: cast to a "
				      "pointer, *(TYPE *)ADDRESS");
		of.type = to;
		of.bits = 0;
		*ret = of;
		return 0;
	}
	err = eval_number(e->k, &of, &num);
	if (!err)
		*ret = (struct kvalue){ .type = to, .num = narrow(num, &to) };
	return err;
}

int eval_path(struct kspace *k, const struct ktype *of, const char *path, struct ktype *type,
	      u64 *bit_offset, u8 *bits)
{
	struct ktype t = *of;
	u64 at = 0;
	u8 width = 0;
	for (const char *s = path; *s;) {
		char name[128];
		struct btf_part p;
		size_t len = strcspn(s, ".[");
		if (!len || len >= sizeof(name))
			return diag_error(k->diag, -EINVAL, "invalid member '%s'", path);
		memcpy(name, s, len);
		name[len] = '\0';
		s += len;
		if (!is_compound(&t) || btf_find_member(t.b, t.id, name, &p)) {
			struct strbuf text;
			const char *close;
			strbuf_init(&text);
			ktype_name(&t, &text);
			(void)diag_error(k->diag, -ENOENT, "%s has no member '%s'",
					 strbuf_cstr(&text), name);
			strbuf_done(&text);
			if (is_compound(&t) && btf_closest_member(t.b, t.id, name, &close))
				diag_hint(k->diag, "did you mean '%s'?", close);
			return -ENOENT;
		}
		at += p.bit_offset;
		width = (u8)p.bits;
		t = ktype_of(t.b, p.type);
		for (u64 index; *s == '['; s += strcspn(s, "]") + 1) {
			struct btf_desc d;
			char *end;
			errno = 0;
			index = strtoull(s + 1, &end, 0);
			if (errno || *end != ']' || end == s + 1 || !isdigit((u8)s[1]) ||
			    ktype_kind(&t, &d) != BTF_OF_ARRAY || index >= ktype_elements(&t))
				return diag_error(k->diag, -EINVAL, "invalid index in '%s'", path);
			(void)ktype_target(&t, &t);
			at += index * ktype_size(&t) * 8;
		}
		if (*s == '.' && !*++s)
			return diag_error(k->diag, -EINVAL, "invalid member '%s'", path);
	}
	*type = t;
	*bit_offset = at;
	*bits = width;
	return 0;
}

/* offsetof() and container_of(): a member that is no bitfield. */
static int member_offset(const struct evaluation *e, const struct cexpr *n, struct ktype *type,
			 u64 *ret)
{
	struct ktype member;
	u64 bit;
	u8 bits;
	int err = kspace_type(e->k, &n->type, e->text, type);
	if (err)
		return err;
	size_t before = e->k->diag ? e->k->diag->items.nr : 0;
	err = eval_path(e->k, type, n->name, &member, &bit, &bits);
	if (err && e->k->diag && e->k->diag->items.nr > before)
		diag_span(e->k->diag, e->text, n->name_start, n->name_len);
	if (err)
		return err;
	if (bits)
		return refuse(e, n, -EINVAL, "a bitfield has no offset in bytes");
	*ret = bit / 8;
	return 0;
}

static int eval_container(const struct evaluation *e, const struct cexpr *n, struct kvalue *ret)
{
	struct kvalue of;
	struct ktype type;
	u64 addr, offset;
	int err = member_offset(e, n, &type, &offset);
	if (!err)
		err = eval_node(e, n->kids[0], &of);
	if (!err)
		err = eval_number(e->k, &of, &addr);
	if (!err)
		*ret = (struct kvalue){ .type = ktype_pointer_to(type), .num = addr - offset };
	return err;
}

static int eval_sizeof(const struct evaluation *e, const struct cexpr *n, struct kvalue *ret)
{
	struct ktype type = { 0 };
	int err;
	u64 offset = 0;
	if (n->op == CEXPR_OFFSETOF) {
		err = member_offset(e, n, &type, &offset);
		if (!err)
			*ret = number_value(offset, true);
		return err;
	}
	if (n->op == CEXPR_SIZEOF) {
		struct kvalue of;
		err = eval_node(e, n->kids[0], &of);
		type = of.type;
	} else {
		err = kspace_type(e->k, &n->type, e->text, &type);
	}
	if (!err && !ktype_size(&type))
		return refuse(e, n, -EINVAL, "this has no size");
	if (!err)
		*ret = number_value(ktype_size(&type), true);
	return err;
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------------------ */

struct eval_operand {
	u64 num;
	bool is_unsigned;
	u64 step; /* bytes of what a pointer points to; 0: no pointer */
	struct ktype type;
};

static int get_operand(const struct evaluation *e, const struct cexpr *n, struct eval_operand *o)
{
	struct kvalue v;
	struct btf_desc d;
	struct ktype target;
	int err = eval_node(e, n, &v);
	if (err)
		return err;
	if (v.is_per_cpu)
		return per_cpu_alone(e, n);
	err = eval_number(e->k, &v, &o->num);
	enum btf_kind kind = ktype_kind(&v.type, &d);
	o->step = 0;
	o->type = v.type;
	if (kind == BTF_OF_POINTER || kind == BTF_OF_ARRAY) {
		bool has = ktype_target(&v.type, &target);
		u64 size = has ? ktype_size(&target) : 0;
		o->step = max(size, (u64)1); /* void *: bytes, as gcc does */
		if (kind == BTF_OF_ARRAY)
			o->type = ktype_pointer_to(target);
	}
	o->is_unsigned = o->step || v.is_function || !ktype_is_signed(&v.type);
	/* Small unsigned types become int in C. */
	if (kind == BTF_OF_INT && ktype_size(&v.type) < 4)
		o->is_unsigned = false;
	return err;
}

static int shift(u64 a, u64 by, bool left, bool is_unsigned, u64 *ret)
{
	if (by > 63)
		return -ERANGE;
	*ret = left ? a << by : is_unsigned ? a >> by : (u64)((s64)a >> by);
	return 0;
}

static int divide(u64 a, u64 b, bool is_unsigned, bool rest, u64 *ret)
{
	if (!b)
		return -EDOM;
	if (!is_unsigned && b == UINT64_MAX) /* the most negative number by -1 */
		*ret = rest ? 0 : 0 - a;
	else if (is_unsigned)
		*ret = rest ? a % b : a / b;
	else
		*ret = (u64)(rest ? (s64)a % (s64)b : (s64)a / (s64)b);
	return 0;
}

static int compare(enum cexpr_op op, u64 a, u64 b, bool is_unsigned)
{
	int order = a == b ? 0 : is_unsigned ? (a < b ? -1 : 1) : (s64)a < (s64)b ? -1 : 1;
	switch (op) {
	case CEXPR_LT: return order < 0;
	case CEXPR_LE: return order <= 0;
	case CEXPR_GT: return order > 0;
	case CEXPR_GE: return order >= 0;
	case CEXPR_EQ: return !order;
	default: return order != 0;
	}
}

static int arithmetic(enum cexpr_op op, u64 a, u64 b, bool is_unsigned, u64 *ret)
{
	switch (op) {
	case CEXPR_MUL: *ret = a * b; return 0;
	case CEXPR_DIV: return divide(a, b, is_unsigned, false, ret);
	case CEXPR_MOD: return divide(a, b, is_unsigned, true, ret);
	case CEXPR_ADD: *ret = a + b; return 0;
	case CEXPR_SUB: *ret = a - b; return 0;
	case CEXPR_SHL: return shift(a, b, true, is_unsigned, ret);
	case CEXPR_SHR: return shift(a, b, false, is_unsigned, ret);
	case CEXPR_BIT_AND: *ret = a & b; return 0;
	case CEXPR_BIT_XOR: *ret = a ^ b; return 0;
	default: *ret = a | b; return 0;
	}
}

static int eval_pointer_sum(const struct evaluation *e, const struct cexpr *n,
			    const struct eval_operand *a, const struct eval_operand *b,
			    struct kvalue *ret)
{
	if (n->op == CEXPR_SUB && a->step && b->step) {
		*ret = number_value((u64)((s64)(a->num - b->num) / (s64)a->step), false);
		return 0;
	}
	if (!a->step && n->op == CEXPR_ADD) {
		const struct eval_operand *swap = a;
		a = b;
		b = swap;
	}
	if (b->step || !a->step)
		return refuse(e, n, -EINVAL,
			      "pointers can be subtracted, and a number added to one");
	u64 by = b->num * a->step;
	*ret = (struct kvalue){ .type = a->type,
				.num = n->op == CEXPR_ADD ? a->num + by : a->num - by };
	return 0;
}

static int eval_binary(const struct evaluation *e, const struct cexpr *n, struct kvalue *ret)
{
	struct eval_operand a, b;
	u64 num;
	int err = get_operand(e, n->kids[0], &a);
	if (err)
		return err;
	if ((n->op == CEXPR_AND && !a.num) || (n->op == CEXPR_OR && a.num)) {
		*ret = number_value(n->op == CEXPR_OR, false);
		return 0;
	}
	err = get_operand(e, n->kids[1], &b);
	if (err)
		return err;
	bool is_unsigned = a.is_unsigned || b.is_unsigned;
	if (n->op == CEXPR_AND || n->op == CEXPR_OR) {
		*ret = number_value(b.num != 0, false);
		return 0;
	}
	if (n->op >= CEXPR_LT && n->op <= CEXPR_NE) {
		*ret = number_value((u64)compare(n->op, a.num, b.num, is_unsigned), false);
		return 0;
	}
	if ((n->op == CEXPR_ADD || n->op == CEXPR_SUB) && (a.step || b.step))
		return eval_pointer_sum(e, n, &a, &b, ret);
	if (n->op == CEXPR_SHL || n->op == CEXPR_SHR)
		is_unsigned = a.is_unsigned;
	err = arithmetic(n->op, a.num, b.num, is_unsigned, &num);
	if (err == -EDOM)
		return refuse(e, n->kids[1], err, "division by zero");
	if (err)
		return refuse(e, n->kids[1], err, "shift by more than 63 bits");
	*ret = number_value(num, is_unsigned);
	return 0;
}

static int eval_unary(const struct evaluation *e, const struct cexpr *n, struct kvalue *ret)
{
	struct eval_operand a;
	int err = get_operand(e, n->kids[0], &a);
	if (err)
		return err;
	if (n->op == CEXPR_NOT)
		*ret = number_value(!a.num, false);
	else
		*ret = number_value(n->op == CEXPR_NEGATE ? 0 - a.num : ~a.num,
				    n->op == CEXPR_COMPLEMENT && a.is_unsigned);
	return 0;
}

static int eval_op(const struct evaluation *e, const struct cexpr *n, struct kvalue *ret)
{
	struct kvalue of;
	int err;
	switch (n->op) {
	case CEXPR_NUMBER: *ret = number_value(n->number, n->is_unsigned); return 0;
	case CEXPR_NAME: return eval_name(e, n, ret);
	case CEXPR_VARIABLE: return eval_variable(e, n, ret);
	case CEXPR_MEMBER:
	case CEXPR_ARROW: return eval_member(e, n, ret);
	case CEXPR_INDEX:
	case CEXPR_SLICE: return eval_index(e, n, ret);
	case CEXPR_DEREF:
		err = eval_node(e, n->kids[0], &of);
		return err ? err : pointed_to(e, n->kids[0], &of, ret);
	case CEXPR_ADDRESS: return eval_address_of(e, n, ret);
	case CEXPR_NEGATE:
	case CEXPR_NOT:
	case CEXPR_COMPLEMENT: return eval_unary(e, n, ret);
	case CEXPR_CAST: return eval_cast(e, n, ret);
	case CEXPR_SIZEOF:
	case CEXPR_SIZEOF_TYPE:
	case CEXPR_OFFSETOF: return eval_sizeof(e, n, ret);
	case CEXPR_CONTAINER: return eval_container(e, n, ret);
	default: return eval_binary(e, n, ret);
	}
}

static int eval_node(const struct evaluation *e, const struct cexpr *n, struct kvalue *ret)
{
	size_t before = e->k->diag ? e->k->diag->items.nr : 0;
	return place_error(e, n, before, eval_op(e, n, ret));
}

int eval_tree(struct kspace *k, const struct cexpr *n, const char *text, struct kvalue *ret)
{
	struct evaluation e = { .k = k, .text = text };
	return eval_node(&e, n, ret);
}

static bool is_type_name(void *ctx, const char *name)
{
	struct kspace *k = ctx;
	struct btf *b;
	return !kspace_types(k, &b) &&
	       btf_find(b, name, BTF_BIT(BTF_OF_TYPEDEF) | BTF_BIT(BTF_OF_INT), NULL);
}

int eval_parse(struct kspace *k, const char *text, struct cexpr **ret)
{
	struct btf *b;
	int err = kspace_types(k, &b); /* once, before the parser asks for names of types */
	return err ? err : cexpr_parse(text, &k->arena, is_type_name, k, ret, k->diag);
}

int eval_text(struct kspace *k, const char *text, struct kvalue *ret)
{
	struct cexpr *tree;
	int err = eval_parse(k, text, &tree);
	return err ? err : eval_tree(k, tree, text, ret);
}

int eval_address_text(struct kspace *k, const char *text, u64 *ret)
{
	struct kvalue v;
	/* Addresses as crash and /proc/kallsyms write them: bare hexadecimal digits. */
	if (strlen(text) >= 12 && strspn(text, "0123456789abcdefABCDEF") == strlen(text) &&
	    !num_parse_u64(text, 16, ret))
		return 0;
	int err = eval_text(k, text, &v);
	return err ? err : eval_address(k, &v, ret);
}

struct cexpr *eval_all_cpus(struct cexpr *tree)
{
	struct cexpr *found = tree->op == CEXPR_NAME && tree->cpu == CEXPR_ALL_CPUS ? tree : NULL;
	for (unsigned i = 0; !found && i < ARRAY_SIZE(tree->kids); i++)
		if (tree->kids[i])
			found = eval_all_cpus(tree->kids[i]);
	return found;
}

static int offset_of(struct kspace *k, const struct eval_offset *row)
{
	struct ktype of, type;
	u64 bit;
	u8 bits;
	if (!kspace_find_type(k, row->type, BTF_BIT(BTF_OF_STRUCT) | BTF_BIT(BTF_OF_UNION), &of))
		return diag_error(k->diag, -ENOENT, "this kernel has no struct %s", row->type);
	int err = eval_path(k, &of, row->path, &type, &bit, &bits);
	if (!err)
		*row->to = bit / 8;
	return err;
}

int eval_offsets(struct kspace *k, const struct eval_offset *rows, size_t nr)
{
	int err = 0;
	for (size_t n = 0; !err && n < nr; n++) {
		struct diag quiet, *d = k->diag;
		if (!rows[n].optional) {
			err = offset_of(k, &rows[n]);
			continue;
		}
		diag_init(&quiet);
		k->diag = &quiet;
		if (offset_of(k, &rows[n]))
			*rows[n].to = EVAL_NO_OFFSET;
		k->diag = d;
		diag_done(&quiet);
	}
	return err;
}
