#include "image/dwarf_place.h"
#include "image/dwarf_impl.h"

enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_MINUS = 0x1c,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_REG0 = 0x50,
	OP_REG31 = 0x6f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_REGX = 0x90,
	OP_FBREG = 0x91,
	OP_BREGX = 0x92,
	OP_PIECE = 0x93,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
	OP_FORM_TLS_ADDRESS = 0x9b,
	OP_CALL_FRAME_CFA = 0x9c,
	OP_BIT_PIECE = 0x9d,
	OP_IMPLICIT_VALUE = 0x9e,
	OP_STACK_VALUE = 0x9f,
	OP_IMPLICIT_POINTER = 0xa0,
	OP_ADDRX = 0xa1,
	OP_CONSTX = 0xa2,
	OP_ENTRY_VALUE = 0xa3,
	OP_GNU_PUSH_TLS_ADDRESS = 0xe0,
	OP_GNU_IMPLICIT_POINTER = 0xf2,
	OP_GNU_ENTRY_VALUE = 0xf3,
	OP_GNU_PARAMETER_REF = 0xfa,
	OP_GNU_ADDR_INDEX = 0xfb,
	OP_GNU_CONST_INDEX = 0xfc,
	OP_GNU_VARIABLE_VALUE = 0xfd,
};

enum { STACK_MAX = 16, OPS_MAX = 256 };

static const char pieces[] = "it is kept in several pieces";
static const char computed[] = "its value is computed and is not in a register or in memory";
static const char unknown[] = "its location is not understood";

struct dwarf_place_eval {
	const struct dw_die *owner;
	const struct dw_place_at *at;
	struct bytes b;
	struct dw_place stack[STACK_MAX];
	u32 nr;
	bool in_frame_base; /* of a frame base: it must not name itself */
	bool is_value; /* "stack_value" was there */
	bool is_reg; /* the register itself */
	const char *why;
};

static bool refuse(struct dwarf_place_eval *e, const char *why)
{
	e->why = why;
	return false;
}

static bool push(struct dwarf_place_eval *e, struct dw_place p)
{
	if (e->nr == STACK_MAX)
		return refuse(e, unknown);
	e->stack[e->nr++] = p;
	return true;
}

static bool push_const(struct dwarf_place_eval *e, u64 v)
{
	return push(e, (struct dw_place){ .base = DWBASE_CONST, .number = v });
}

static bool push_reg(struct dwarf_place_eval *e, u64 reg, s64 add)
{
	if (reg > UINT32_MAX)
		return refuse(e, unknown);
	return push(e, (struct dw_place){ .base = DWBASE_REG, .reg = (u32)reg, .add = add });
}

static bool push_addr(struct dwarf_place_eval *e, u64 index)
{
	u64 addr;
	return dw_indexed_address(e->owner->f, e->owner->u, index, &addr)
		       ? push(e, (struct dw_place){ .base = DWBASE_ADDR, .number = addr })
		       : refuse(e, unknown);
}

static bool push_cfa(struct dwarf_place_eval *e)
{
	u32 reg = 0;
	s64 offset = 0;
	if (e->at->cfa && !e->at->cfa(e->at->ctx, e->at->pc, &reg, &offset))
		return refuse(e, "the frame of its function is not known here");
	return push_reg(e, reg, offset);
}

static bool run_expr(struct dwarf_place_eval *e);

/* The base of the function's frame is a register, an offset from one, or the CFA; it may have a list of its own. */
static bool expr_for(const struct dw_die *d, u16 attr, u64 pc, struct bytes *ret,
		     struct dw_die *owner);

static bool push_frame(struct dwarf_place_eval *e, s64 offset)
{
	struct dw_die owner;
	struct dwarf_place_eval frame = { .owner = &owner, .at = e->at, .in_frame_base = true };
	if (e->in_frame_base || !e->at->func ||
	    !expr_for(e->at->func, DW_AT_FRAME_BASE, e->at->pc, &frame.b, &owner))
		return refuse(e, "the frame of its function is not known here");
	if (!run_expr(&frame) || frame.nr != 1)
		return refuse(e, frame.why ? frame.why : unknown);
	struct dw_place p = frame.stack[0];
	p.add += offset;
	return push(e, p);
}

static bool deref(struct dwarf_place_eval *e)
{
	struct dw_place *top = e->nr ? &e->stack[e->nr - 1] : NULL;
	if (!top || top->nr_derefs == DWPLACE_DEREFS)
		return refuse(e, unknown);
	top->derefs[top->nr_derefs++] = top->add;
	top->add = 0;
	return true;
}

/* Sums of which one part at least is a constant. */
static bool add_top(struct dwarf_place_eval *e, bool minus)
{
	if (e->nr < 2)
		return refuse(e, unknown);
	struct dw_place right = e->stack[--e->nr], *left = &e->stack[e->nr - 1];
	if (right.base != DWBASE_CONST || right.nr_derefs) {
		if (minus || left->base != DWBASE_CONST || left->nr_derefs)
			return refuse(e, computed);
		struct dw_place swapped = *left;
		*left = right;
		right = swapped;
	}
	u64 by = right.number + (u64)right.add;
	left->add = (s64)((u64)left->add + (minus ? 0 - by : by));
	return true;
}

/* What a register or a parameter was when the function was entered: known only there. */
static bool entry_value(struct dwarf_place_eval *e)
{
	struct bytes inner = bytes_sub(&e->b, dw_uleb(&e->b));
	u8 op = bytes_u8(&inner);
	u64 reg = op == OP_REGX ? dw_uleb(&inner) : (u64)(op - OP_REG0);
	bool plain = (op >= OP_REG0 && op <= OP_REG31) || op == OP_REGX;
	if (inner.bad || !plain || bytes_left(&inner))
		return refuse(e, unknown);
	if (e->at->pc != e->at->entry)
		return refuse(
			e, "only its value at the function's entry is known, which is gone here");
	return push_reg(e, reg, 0);
}

static bool implicit_value(struct dwarf_place_eval *e)
{
	struct bytes v = bytes_sub(&e->b, dw_uleb(&e->b));
	size_t n = bytes_left(&v);
	if (n != 1 && n != 2 && n != 4 && n != 8)
		return refuse(e, "its value is a constant of more than 8 bytes");
	e->is_value = true;
	return push_const(e, dw_sized(&v, (u16)n));
}

static bool number(struct dwarf_place_eval *e, u8 op)
{
	struct bytes *b = &e->b;
	switch (op) {
	case OP_CONST1U: return push_const(e, bytes_u8(b));
	case OP_CONST1U + 1: return push_const(e, (u64)(s8)bytes_u8(b));
	case OP_CONST1U + 2: return push_const(e, bytes_u16(b));
	case OP_CONST1U + 3: return push_const(e, (u64)(s16)bytes_u16(b));
	case OP_CONST1U + 4: return push_const(e, bytes_u32(b));
	case OP_CONST1U + 5: return push_const(e, (u64)(s32)bytes_u32(b));
	case OP_CONST1U + 6:
	case OP_CONST1U + 7: return push_const(e, bytes_u64(b));
	case OP_CONSTS - 1: return push_const(e, dw_uleb(b));
	default: return push_const(e, (u64)bytes_sleb(b));
	}
}

static bool other(struct dwarf_place_eval *e, u8 op)
{
	switch (op) {
	case OP_PIECE:
	case OP_BIT_PIECE: return refuse(e, pieces);
	case OP_FORM_TLS_ADDRESS:
	case OP_GNU_PUSH_TLS_ADDRESS: return refuse(e, "it is thread-local");
	case OP_IMPLICIT_POINTER:
	case OP_GNU_IMPLICIT_POINTER: return refuse(e, "what it points to was optimised away");
	case OP_GNU_PARAMETER_REF:
	case OP_GNU_VARIABLE_VALUE: return refuse(e, unknown);
	default: return refuse(e, op >= 0x13 && op <= 0x2f ? computed : unknown);
	}
}

static bool memory_op(struct dwarf_place_eval *e, u8 op)
{
	struct bytes *b = &e->b;
	switch (op) {
	case OP_ADDR:
		return push(e, (struct dw_place){ .base = DWBASE_ADDR,
						  .number = dw_sized(b, e->owner->u->addr_size) });
	case OP_ADDRX:
	case OP_GNU_ADDR_INDEX: return push_addr(e, dw_uleb(b));
	case OP_DEREF: return deref(e);
	case OP_DEREF_SIZE: {
		u8 size = bytes_u8(b);
		return size == e->owner->u->addr_size ? deref(e) : refuse(e, computed);
	}
	case OP_PLUS: return add_top(e, false);
	case OP_MINUS: return add_top(e, true);
	case OP_PLUS_UCONST: return push_const(e, dw_uleb(b)) && add_top(e, false);
	case OP_FBREG: return push_frame(e, bytes_sleb(b));
	case OP_CALL_FRAME_CFA: return push_cfa(e);
	case OP_BREGX: {
		u64 reg = dw_uleb(b);
		return push_reg(e, reg, bytes_sleb(b));
	}
	default: return other(e, op);
	}
}

static bool one_op(struct dwarf_place_eval *e, u8 op)
{
	if (op >= OP_REG0 && op <= OP_REG31) {
		e->is_reg = true;
		return push_reg(e, (u64)(op - OP_REG0), 0);
	}
	if (op >= OP_BREG0 && op <= OP_BREG31)
		return push_reg(e, (u64)(op - OP_BREG0), bytes_sleb(&e->b));
	if (op >= OP_LIT0 && op <= OP_LIT31)
		return push_const(e, (u64)(op - OP_LIT0));
	if (op >= OP_CONST1U && op <= OP_CONSTS)
		return number(e, op);
	switch (op) {
	case OP_NOP: return true;
	case OP_DUP: return e->nr ? push(e, e->stack[e->nr - 1]) : refuse(e, unknown);
	case OP_REGX: e->is_reg = true; return push_reg(e, dw_uleb(&e->b), 0);
	case OP_STACK_VALUE: e->is_value = true; return true;
	case OP_IMPLICIT_VALUE: return implicit_value(e);
	case OP_ENTRY_VALUE:
	case OP_GNU_ENTRY_VALUE: return entry_value(e);
	default: return memory_op(e, op);
	}
}

static bool run_expr(struct dwarf_place_eval *e)
{
	for (u32 i = 0; bytes_left(&e->b); i++) {
		if (i == OPS_MAX || !dw_step(e->owner->f, 1))
			return refuse(e, unknown);
		u8 op = bytes_u8(&e->b);
		if (!one_op(e, op))
			return false;
		if (e->b.bad)
			return refuse(e, unknown);
		/* Pieces follow what they are a piece of. */
		if ((e->is_reg || e->is_value) && bytes_left(&e->b)) {
			op = *e->b.at;
			return refuse(e, op == OP_PIECE || op == OP_BIT_PIECE ? pieces : unknown);
		}
	}
	return true;
}

static void finish(struct dwarf_place_eval *e, bool good, struct dw_place *ret)
{
	if (!good || e->nr != 1) {
		*ret = (struct dw_place){ .kind = DWPLACE_REFUSED,
					  .why = e->why ? e->why : unknown };
		return;
	}
	*ret = e->stack[0];
	ret->kind = e->is_reg ? DWPLACE_REG : e->is_value ? DWPLACE_VALUE : DWPLACE_MEM;
	if (ret->base == DWBASE_CONST || ret->base == DWBASE_ADDR) {
		/* An address that is known already. */
		s64 *first = ret->nr_derefs ? &ret->derefs[0] : &ret->add;
		ret->number += (u64)*first;
		*first = 0;
	}
	if (ret->kind == DWPLACE_MEM && ret->base == DWBASE_CONST)
		ret->base = DWBASE_ADDR;
}

void dw_place_expr(const struct dw_die *owner, const u8 *expr, size_t len,
		   const struct dw_place_at *at, struct dw_place *ret)
{
	struct dwarf_place_eval e = { .owner = owner,
				      .at = at,
				      .b = bytes_of(expr, len, owner->f->e->swap) };
	if (!len) {
		*ret = (struct dw_place){ .kind = DWPLACE_NONE };
		return;
	}
	bool good = run_expr(&e);
	finish(&e, good, ret);
}

/* ---- lists ---- */

enum list_kind { LIST_OLD, LIST_NEW, LIST_GNU_SPLIT };

struct dwarf_place_list {
	struct dw_file *f;
	const struct dw_unit *u;
	struct bytes b;
	u64 base;
	enum list_kind kind;
};

struct stretch {
	u64 low, high;
	struct bytes expr;
};

static bool list_open(struct dwarf_place_list *l, const struct dw_die *d, const struct dw_value *v)
{
	const struct dw_unit *u = d->u;
	u64 offset = v->u;
	*l = (struct dwarf_place_list){ .f = d->f, .u = u, .base = u->low };
	l->kind = u->version >= 5 ? LIST_NEW : d->f->main ? LIST_GNU_SPLIT : LIST_OLD;
	enum dw_section section = u->version >= 5 ? DWSEC_LOCLISTS : DWSEC_LOC;
	if (v->class == DWVAL_LOC_INDEX) {
		if (offset > UINT32_MAX)
			return false;
		struct bytes b = dw_cursor(d->f, section, u->locs_base + offset * u->off_size);
		offset = u->locs_base + dw_offset(&b, u->off_size);
		if (b.bad)
			return false;
	} else if (v->class == DWVAL_OFFSET || v->class == DWVAL_CONST) {
		offset += u->locs_start;
	} else {
		return false;
	}
	l->b = dw_cursor(d->f, section, offset);
	return !l->b.bad;
}

/* 1, 0: only the base changed, -1: the end. */
static int old_item(struct dwarf_place_list *l, struct stretch *s)
{
	u64 greatest = l->u->addr_size == 8 ? UINT64_MAX : UINT32_MAX;
	u64 a = dw_sized(&l->b, l->u->addr_size), z = dw_sized(&l->b, l->u->addr_size);
	if (l->b.bad || (!a && !z))
		return -1;
	if (a == greatest) {
		l->base = z;
		return 0;
	}
	s->low = l->base + a;
	s->high = l->base + z;
	s->expr = bytes_sub(&l->b, bytes_u16(&l->b));
	return l->b.bad ? -1 : 1;
}

/* Early split DWARF: addresses by index. */
static int split_item(struct dwarf_place_list *l, struct stretch *s)
{
	switch (bytes_u8(&l->b)) {
	case 1: return dw_indexed_address(l->f, l->u, dw_uleb(&l->b), &l->base) ? 0 : -1;
	case 2:
		if (!dw_indexed_address(l->f, l->u, dw_uleb(&l->b), &s->low) ||
		    !dw_indexed_address(l->f, l->u, dw_uleb(&l->b), &s->high))
			return -1;
		break;
	case 3:
		if (!dw_indexed_address(l->f, l->u, dw_uleb(&l->b), &s->low))
			return -1;
		s->high = s->low + bytes_u32(&l->b);
		break;
	default: return -1;
	}
	s->expr = bytes_sub(&l->b, bytes_u16(&l->b));
	return l->b.bad ? -1 : 1;
}

static int new_item(struct dwarf_place_list *l, struct stretch *s)
{
	struct bytes *b = &l->b;
	bool good = true;
	switch (bytes_u8(b)) {
	case 1: return dw_indexed_address(l->f, l->u, dw_uleb(b), &l->base) && !b->bad ? 0 : -1;
	case 2:
		good = dw_indexed_address(l->f, l->u, dw_uleb(b), &s->low) &&
		       dw_indexed_address(l->f, l->u, dw_uleb(b), &s->high);
		break;
	case 3:
		good = dw_indexed_address(l->f, l->u, dw_uleb(b), &s->low);
		s->high = s->low + dw_uleb(b);
		break;
	case 4:
		s->low = l->base + dw_uleb(b);
		s->high = l->base + dw_uleb(b);
		break;
	case 5: /* wherever no other holds */
		s->low = 0;
		s->high = UINT64_MAX;
		break;
	case 6: l->base = dw_sized(b, l->u->addr_size); return b->bad ? -1 : 0;
	case 7:
		s->low = dw_sized(b, l->u->addr_size);
		s->high = dw_sized(b, l->u->addr_size);
		break;
	case 8:
		s->low = dw_sized(b, l->u->addr_size);
		s->high = s->low + dw_uleb(b);
		break;
	case 9: /* a pair of "view numbers", of gcc */
		(void)dw_uleb(b);
		(void)dw_uleb(b);
		return b->bad ? -1 : 0;
	default: return -1;
	}
	s->expr = bytes_sub(b, dw_uleb(b));
	return good && !b->bad ? 1 : -1;
}

static bool list_next(struct dwarf_place_list *l, struct stretch *s)
{
	int have = 0;
	while (!have && dw_step(l->f, 1))
		have = l->kind == LIST_NEW   ? new_item(l, s)
		       : l->kind == LIST_OLD ? old_item(l, s)
					     : split_item(l, s);
	return have > 0;
}

/* The expression that holds at an address. from: where none holds there, the first that does up to this address. */
static bool expr_in_list(const struct dw_die *d, const struct dw_value *v, u64 pc, u64 until,
			 struct bytes *ret)
{
	struct dwarf_place_list l;
	struct stretch s;
	u64 best = UINT64_MAX;
	bool found = false;
	for (bool more = list_open(&l, d, v); more && list_next(&l, &s);) {
		if (s.low <= pc && pc < s.high) {
			*ret = s.expr;
			return true;
		}
		if (s.low > pc && s.low <= until && s.low < s.high && s.low < best) {
			best = s.low;
			*ret = s.expr;
			found = true;
		}
	}
	return found;
}

static bool expr_for(const struct dw_die *d, u16 attr, u64 pc, struct bytes *ret,
		     struct dw_die *owner)
{
	struct dw_value v;
	if (!dw_die_deep(d, attr, &v, owner))
		return false;
	if (v.class == DWVAL_BLOCK) {
		*ret = bytes_of(v.p, v.u, owner->f->e->swap);
		return true;
	}
	return expr_in_list(owner, &v, pc, 0, ret);
}

/* ---- variables ---- */

static void constant(const struct dw_die *owner, const struct dw_value *v, struct dw_place *ret)
{
	u64 n = v->u;
	*ret = (struct dw_place){ .kind = DWPLACE_VALUE, .base = DWBASE_CONST };
	if (v->class == DWVAL_BLOCK && v->u <= 8 && !(v->u & (v->u - 1)) && v->u) {
		struct bytes b = bytes_of(v->p, v->u, owner->f->e->swap);
		n = dw_sized(&b, (u16)v->u);
	} else if (v->class != DWVAL_CONST) {
		*ret = (struct dw_place){ .kind = DWPLACE_REFUSED,
					  .why = "its value is a constant of more than 8 bytes" };
		return;
	}
	if (v->form == DW_FORM_DATA1)
		n = (u64)(s8)n;
	else if (v->form == DW_FORM_DATA2)
		n = (u64)(s16)n;
	else if (v->form == DW_FORM_DATA4)
		n = (u64)(s32)n;
	ret->number = n;
}

void dw_place_find(const struct dw_die *var, const struct dw_place_at *at, struct dw_place *ret)
{
	struct dw_value v;
	struct dw_die owner;
	struct bytes expr;
	*ret = (struct dw_place){ .kind = DWPLACE_NONE };
	if (!dw_die_attr(var, DW_AT_LOCATION, &v)) {
		if (dw_die_deep(var, DW_AT_CONST_VALUE, &v, &owner))
			constant(&owner, &v, ret);
		else if (dw_die_deep(var, DW_AT_EXTERNAL, &v, &owner))
			ret->kind = DWPLACE_EXTERN;
		return;
	}
	if (v.class == DWVAL_BLOCK) {
		dw_place_expr(var, (const u8 *)v.p, v.u, at, ret);
		return;
	}
	/* The compiler may know of a parameter only from the instruction after the entry on, where it is what it was. */
	bool early = dw_die_tag(var) == DW_TAG_FORMAL_PARAMETER && at->pc == at->entry;
	if (expr_in_list(var, &v, at->pc, early ? at->high : 0, &expr))
		dw_place_expr(var, expr.at, bytes_left(&expr), at, ret);
}

u32 dw_place_ranges(const struct dw_die *var, void (*fn)(void *ctx, u64 low, u64 high), void *ctx)
{
	struct dw_value v;
	struct dwarf_place_list l;
	struct stretch s;
	u32 nr = 0;
	if (!dw_die_attr(var, DW_AT_LOCATION, &v) || v.class == DWVAL_BLOCK)
		return 0;
	for (bool more = list_open(&l, var, &v); more && list_next(&l, &s); nr++)
		fn(ctx, s.low, s.high);
	return nr;
}
