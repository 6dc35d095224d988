/*
 * DWARF's call frame information (DWARF 5, section 6.4; .eh_frame as the LSB describes it), run once for every function of an
 * image. A function's program is a handful of instructions that change a row of rules while the address advances; whenever it does,
 * the row is written down.
 */
#include "image/cfi.h"
#include "base/budget.h"
#include "base/bytes.h"
#include "base/dict.h"
#include "base/vec.h"
#include "image/cfi_impl.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	REMEMBER_MAX = 32, /* nested DW_CFA_remember_state; compilers use one */
	CIE_SLOTS = 64,
	CIE_BYTES_MAX =
		4096, /* it may be run again for every function: none is longer than 100 bytes */
	EXPR_MAX = 4096,
	ROWS_MAX = 1 << 27,
	EH_FRAME_TYPE = 0x70000001, /* SHT_X86_64_UNWIND */
	DEBUG_FRAME_MAX = 1 << 30,
	RULE_BYTES = 32, /* of a rule, beside its units: its place in a table */
	FDE_BYTES = 64,
	FRAMED_MIN = 32, /* bytes: shorter functions say little about how an image was built */
};

enum dw_cfa {
	DW_CFA_ADVANCE = 0x40, /* these three: in the upper two bits */
	DW_CFA_OFFSET = 0x80,
	DW_CFA_RESTORE = 0xc0,
	DW_CFA_NOP = 0,
	DW_CFA_SET_LOC,
	DW_CFA_ADVANCE1,
	DW_CFA_ADVANCE2,
	DW_CFA_ADVANCE4,
	DW_CFA_OFFSET_EXTENDED,
	DW_CFA_RESTORE_EXTENDED,
	DW_CFA_UNDEFINED,
	DW_CFA_SAME_VALUE,
	DW_CFA_REGISTER,
	DW_CFA_REMEMBER_STATE,
	DW_CFA_RESTORE_STATE,
	DW_CFA_DEF_CFA,
	DW_CFA_DEF_CFA_REGISTER,
	DW_CFA_DEF_CFA_OFFSET,
	DW_CFA_DEF_CFA_EXPRESSION,
	DW_CFA_EXPRESSION,
	DW_CFA_OFFSET_EXTENDED_SF,
	DW_CFA_DEF_CFA_SF,
	DW_CFA_DEF_CFA_OFFSET_SF,
	DW_CFA_VAL_OFFSET,
	DW_CFA_VAL_OFFSET_SF,
	DW_CFA_VAL_EXPRESSION,
	DW_CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	DW_CFA_AARCH64_NEGATE_RA_STATE, /* signatures are taken off every address: nothing to note */
	DW_CFA_GNU_ARGS_SIZE,
	DW_CFA_GNU_NEGATIVE_OFFSET_EXTENDED,
};

struct where_saved {
	u8 kind; /* enum cfi_kind */
	s32 value;
};

/* A row while it is being made. */
struct cfi_row {
	u8 cfa;
	u8 cfa_reg;
	s32 cfa_value;
	struct where_saved regs[ARCH_REGS_MAX];
};

struct cie {
	u64 at; /* in its section; UINT64_MAX: empty slot */
	u64 code_align;
	s64 data_align;
	u8 addr_enc;
	u8 addr_size;
	bool has_augmentation_data, signal, good;
	u8 ra;
	struct cfi_row initial;
};

struct section {
	struct bytes all;
	u64 addr; /* of its first byte, when the image runs */
	bool is_eh;
};

struct fde {
	u64 start, size;
	u32 section;
	u32 spare;
	u64 at; /* where its instructions begin */
	u64 end;
	u64 cie;
};

struct cfi_builder {
	const struct arch *arch;
	const struct elfimg *from, *runtime;
	struct section sections[2];
	u32 nr_sections;
	u8 *expanded; /* .debug_frame, when it was compressed */
	VEC(struct fde) fdes;
	VEC(u32) starts;
	VEC(u32) rules;
	VEC(struct cfi_reg) units;
	VEC(u8) exprs;
	struct dict rule_of; /* hash of a rule -> its unit */
	struct dict expr_of;
	u32 last_rule; /* of equal rows one after the other */
	u32 nr_framed, nr_functions;
	struct cie cies[CIE_SLOTS];
	struct cfi_row stack[REMEMBER_MAX];
	struct budget budget;
	int err;
};

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static u64 read_address(struct bytes *b, unsigned size)
{
	return size == 8 ? bytes_u64(b) : size == 4 ? bytes_u32(b) : bytes_u16(b);
}

/* A pointer in one of .eh_frame's encodings; base: the section and where it lies. */
static u64 read_encoded(const struct cfi_builder *bd, const struct section *s, struct bytes *b,
			u8 enc, u8 addr_size)
{
	u64 here = s->addr + (u64)(b->at - (s->all.end - bytes_left(&s->all)));
	u64 v = 0;
	switch (enc & 0x0f) {
	case 0x00: v = read_address(b, addr_size); break;
	case 0x01: v = bytes_uleb(b); break;
	case 0x02: v = bytes_u16(b); break;
	case 0x03: v = bytes_u32(b); break;
	case 0x04: v = bytes_u64(b); break;
	case 0x09: v = (u64)bytes_sleb(b); break;
	case 0x0a: v = (u64)(s16)bytes_u16(b); break;
	case 0x0b: v = (u64)(s32)bytes_u32(b); break;
	case 0x0c: v = bytes_u64(b); break;
	default: b->bad = true;
	}
	if ((enc & 0x70) == 0x10)
		v += here;
	else if (enc &
		 0xf0) /* relative to something else, or behind a pointer: compilers do not, for code */
		b->bad = true;
	return bd->from->is64 ? v : v & UINT32_MAX;
}

static s32 narrow(s64 v, bool *bad)
{
	if (v < INT32_MIN || v > INT32_MAX)
		*bad = true;
	return (s32)v;
}

/* ---- rules and expressions, each kept once ---------------------------------------------------------------------- */

static s32 keep_expr(struct cfi_builder *b, const u8 *data, size_t len)
{
	u64 hash = hash_bytes(data, len);
	u32 at = dict_get(&b->expr_of, hash);
	if (at != DICT_NONE && b->exprs.at[at] + (b->exprs.at[at + 1] << 8) == (int)len &&
	    !memcmp(b->exprs.at + at + 2, data, len))
		return (s32)at;
	size_t need = b->exprs.nr + 2 + len;
	if (need > INT32_MAX || !vec_reserve(&b->exprs, need)) {
		b->err = -ENOMEM;
		return 0;
	}
	at = (u32)b->exprs.nr;
	b->exprs.at[at] = (u8)len;
	b->exprs.at[at + 1] = (u8)(len >> 8);
	memcpy(b->exprs.at + at + 2, data, len);
	b->exprs.nr = need;
	u32 got;
	if (dict_add(&b->expr_of, hash, at, &got))
		b->err = -ENOMEM;
	return (s32)at;
}

/* The row as a rule: its unit. */
static u32 keep_rule(struct cfi_builder *b, const struct cfi_row *r, const struct cie *c)
{
	struct cfi_reg units[ARCH_REGS_MAX + 1];
	const struct arch *a = b->arch;
	u32 nr = 1;
	u8 flags = (c->signal ? CFI_SIGNAL : 0) | (c->ra != a->ra ? CFI_OWN_RA : 0);
	struct where_saved ra = r->regs[c->ra];
	if (flags & CFI_OWN_RA)
		units[nr++] = ra.kind == CFI_SAME ? (struct cfi_reg){ .reg = a->pc,
								      .kind = CFI_REGISTER,
								      .value = c->ra }
						  : (struct cfi_reg){ .reg = a->pc,
								      .kind = ra.kind,
								      .value = ra.value };
	for (int i = 0; i < a->nr_regs - (flags & CFI_OWN_RA ? 1 : 0); i++)
		if (r->regs[i].kind != CFI_SAME)
			units[nr++] = (struct cfi_reg){ .reg = (u8)i,
							.kind = r->regs[i].kind,
							.value = r->regs[i].value };
	struct cfi_rule head = { .cfa = r->cfa,
				 .cfa_reg = r->cfa_reg,
				 .nr_regs = (u8)(nr - 1),
				 .flags = flags,
				 .cfa_value = r->cfa_value };
	memcpy(units, &head, sizeof(units[0]));
	if (!budget_steps(&b->budget, nr / 4 + 1, "the programs of its unwind tables"))
		b->err = -E2BIG;
	u64 hash = hash_bytes(units, nr * sizeof(*units));
	u32 at = dict_get(&b->rule_of, hash);
	if (at != DICT_NONE && at + nr <= b->units.nr &&
	    !memcmp(b->units.at + at, units, nr * sizeof(*units)))
		return at;
	if (!budget_bytes(&b->budget, RULE_BYTES + nr * sizeof(*units),
			  "the rules of its unwind tables")) {
		b->err = -E2BIG;
		return 0;
	}
	if (b->units.nr + nr > INT32_MAX || !vec_reserve(&b->units, b->units.nr + nr)) {
		b->err = -ENOMEM;
		return 0;
	}
	at = (u32)b->units.nr;
	memcpy(b->units.at + at, units, nr * sizeof(*units));
	b->units.nr += nr;
	u32 got;
	if (dict_add(&b->rule_of, hash, at, &got))
		b->err = -ENOMEM;
	return at;
}

static void add_row(struct cfi_builder *b, u64 start, u32 rule)
{
	if (b->err || (b->starts.nr && b->last_rule == rule))
		return;
	/* Several rows for one address: the last one holds. */
	if (b->starts.nr && b->starts.at[b->starts.nr - 1] == start) {
		b->rules.at[b->rules.nr - 1] = b->last_rule = rule;
		return;
	}
	if (b->starts.nr >= ROWS_MAX || !vec_reserve(&b->starts, b->starts.nr + 1) ||
	    !vec_reserve(&b->rules, b->rules.nr + 1)) {
		b->err = -ENOMEM;
		return;
	}
	b->starts.at[b->starts.nr++] = (u32)start;
	b->rules.at[b->rules.nr++] = rule;
	b->last_rule = rule;
}

/* ---- programs --------------------------------------------------------------------------------------------------- */

struct cfi_program {
	struct cfi_builder *b;
	const struct cie *cie;
	const struct section *section;
	struct bytes code;
	struct cfi_row row;
	u32 depth; /* remembered rows */
	u64 pc, end; /* file offsets; both 0: a CIE's, which has no place */
	u64 vaddr; /* of pc */
	bool bad;
	bool framed, moved; /* a frame pointer was set up; the stack pointer moved */
};

static void set_reg(struct cfi_program *p, u64 reg, u8 kind, s64 value)
{
	if (reg < p->b->arch->nr_regs)
		p->row.regs[reg] =
			(struct where_saved){ .kind = kind, .value = narrow(value, &p->bad) };
}

static void restore_reg(struct cfi_program *p, u64 reg)
{
	if (reg < p->b->arch->nr_regs)
		p->row.regs[reg] = p->cie->initial.regs[reg];
}

static s64 scaled(struct cfi_program *p, s64 factored)
{
	s64 v;
	if (__builtin_mul_overflow(factored, p->cie->data_align, &v)) {
		p->bad = true;
		return 0;
	}
	return v;
}

static void set_cfa(struct cfi_program *p, u64 reg, s64 offset)
{
	if (reg >= p->b->arch->nr_regs)
		p->bad = true;
	p->row.cfa = CFI_CFA_REG;
	p->row.cfa_reg = (u8)reg;
	p->row.cfa_value = narrow(offset, &p->bad);
}

static s32 take_expr(struct cfi_program *p)
{
	u64 len = bytes_uleb(&p->code);
	const u8 *at = len <= EXPR_MAX ? bytes_take(&p->code, len) : NULL;
	if (!at)
		p->bad = true;
	return at ? keep_expr(p->b, at, len) : 0;
}

static void put_row(struct cfi_program *p)
{
	const struct arch *a = p->b->arch;
	p->framed |= p->row.cfa == CFI_CFA_REG && p->row.cfa_reg == a->fp;
	p->moved |= p->row.cfa == CFI_CFA_REG && p->row.cfa_value != p->cie->initial.cfa_value;
	bool known = p->row.cfa == CFI_CFA_EXPR || p->row.cfa_reg != ARCH_NO_REG;
	add_row(p->b, p->pc, known ? keep_rule(p->b, &p->row, p->cie) : 0);
}

static void advance(struct cfi_program *p, u64 by)
{
	u64 bytes;
	if (!p->end) { /* a CIE has no place to advance from */
		p->bad = true;
		return;
	}
	if (__builtin_mul_overflow(by, p->cie->code_align, &bytes) || bytes > p->end - p->pc) {
		p->bad = true;
		return;
	}
	if (!bytes)
		return;
	put_row(p);
	p->pc += bytes;
	p->vaddr += bytes;
}

static void set_location(struct cfi_program *p)
{
	u64 to = read_encoded(p->b, p->section, &p->code, p->cie->addr_enc, p->cie->addr_size);
	if (p->code.bad || to < p->vaddr || !p->end || to - p->vaddr > p->end - p->pc) {
		p->bad = true;
		return;
	}
	if (to == p->vaddr)
		return;
	put_row(p);
	p->pc += to - p->vaddr;
	p->vaddr = to;
}

static void remember(struct cfi_program *p)
{
	if (p->depth < REMEMBER_MAX)
		p->b->stack[p->depth++] = p->row;
	else
		p->bad = true;
}

static void recall(struct cfi_program *p)
{
	if (p->depth)
		p->row = p->b->stack[--p->depth];
	else
		p->bad = true;
}

/* Those about the CFA. false: another one. */
static bool run_cfa(struct cfi_program *p, u8 op)
{
	struct bytes *c = &p->code;
	u64 reg;
	switch (op) {
	case DW_CFA_DEF_CFA:
		reg = bytes_uleb(c);
		set_cfa(p, reg, (s64)bytes_uleb(c));
		return true;
	case DW_CFA_DEF_CFA_SF:
		reg = bytes_uleb(c);
		set_cfa(p, reg, scaled(p, bytes_sleb(c)));
		return true;
	case DW_CFA_DEF_CFA_REGISTER: set_cfa(p, bytes_uleb(c), p->row.cfa_value); return true;
	case DW_CFA_DEF_CFA_OFFSET: set_cfa(p, p->row.cfa_reg, (s64)bytes_uleb(c)); return true;
	case DW_CFA_DEF_CFA_OFFSET_SF:
		set_cfa(p, p->row.cfa_reg, scaled(p, bytes_sleb(c)));
		return true;
	case DW_CFA_DEF_CFA_EXPRESSION:
		p->row.cfa_value = take_expr(p);
		p->row.cfa = CFI_CFA_EXPR;
		return true;
	}
	return false;
}

static void run_reg(struct cfi_program *p, u8 op)
{
	struct bytes *c = &p->code;
	u64 reg = bytes_uleb(c);
	switch (op) {
	case DW_CFA_OFFSET_EXTENDED:
		set_reg(p, reg, CFI_OFFSET, scaled(p, (s64)bytes_uleb(c)));
		break;
	case DW_CFA_OFFSET_EXTENDED_SF:
		set_reg(p, reg, CFI_OFFSET, scaled(p, bytes_sleb(c)));
		break;
	case DW_CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_reg(p, reg, CFI_OFFSET, scaled(p, -(s64)(bytes_uleb(c) & INT64_MAX)));
		break;
	case DW_CFA_VAL_OFFSET:
		set_reg(p, reg, CFI_VAL_OFFSET, scaled(p, (s64)bytes_uleb(c)));
		break;
	case DW_CFA_VAL_OFFSET_SF: set_reg(p, reg, CFI_VAL_OFFSET, scaled(p, bytes_sleb(c))); break;
	case DW_CFA_RESTORE_EXTENDED: restore_reg(p, reg); break;
	case DW_CFA_UNDEFINED: set_reg(p, reg, CFI_UNDEFINED, 0); break;
	case DW_CFA_SAME_VALUE: set_reg(p, reg, CFI_SAME, 0); break;
	case DW_CFA_REGISTER: {
		u64 in = bytes_uleb(c);
		bool known = in < p->b->arch->nr_regs;
		set_reg(p, reg, known ? CFI_REGISTER : CFI_UNDEFINED, known ? (s64)in : 0);
		break;
	}
	case DW_CFA_EXPRESSION: set_reg(p, reg, CFI_EXPR, take_expr(p)); break;
	case DW_CFA_VAL_EXPRESSION: set_reg(p, reg, CFI_VAL_EXPR, take_expr(p)); break;
	default: p->bad = true; /* of a vendor we do not know: its operands neither */
	}
}

static void run_one(struct cfi_program *p)
{
	struct bytes *c = &p->code;
	u8 op = bytes_u8(c), low = op & 0x3f;
	switch (op & 0xc0) {
	case DW_CFA_ADVANCE: advance(p, low); return;
	case DW_CFA_OFFSET: set_reg(p, low, CFI_OFFSET, scaled(p, (s64)bytes_uleb(c))); return;
	case DW_CFA_RESTORE: restore_reg(p, low); return;
	}
	switch (op) {
	case DW_CFA_NOP:
	case DW_CFA_AARCH64_NEGATE_RA_STATE:
	case DW_CFA_AARCH64_NEGATE_RA_STATE_WITH_PC: return;
	case DW_CFA_SET_LOC: set_location(p); return;
	case DW_CFA_ADVANCE1: advance(p, bytes_u8(c)); return;
	case DW_CFA_ADVANCE2: advance(p, bytes_u16(c)); return;
	case DW_CFA_ADVANCE4: advance(p, bytes_u32(c)); return;
	case DW_CFA_REMEMBER_STATE: remember(p); return;
	case DW_CFA_RESTORE_STATE: recall(p); return;
	case DW_CFA_GNU_ARGS_SIZE: (void)bytes_uleb(c); return;
	}
	if (!run_cfa(p, op))
		run_reg(p, op);
}

static bool run_program(struct cfi_program *p)
{
	if (!budget_steps(&p->b->budget, bytes_left(&p->code), "the programs of its unwind tables"))
		p->b->err = -E2BIG;
	while (bytes_left(&p->code) && !p->bad && !p->code.bad && !p->b->err)
		run_one(p);
	return !p->bad && !p->code.bad && !p->b->err;
}

/* ---- entries ---------------------------------------------------------------------------------------------------- */

struct cfi_entry {
	u64 at; /* where it begins, in its section */
	u64 id; /* of an FDE: where its CIE is; 0 in `is_cie` ones */
	bool is_cie;
	struct bytes body;
};

/* The entry at the cursor, which then follows it. false: the end, or damage. */
static bool next_entry(const struct section *s, struct bytes *cursor, struct cfi_entry *ret)
{
	const u8 *start = s->all.at;
	u64 at = (u64)(cursor->at - start);
	u64 len = bytes_u32(cursor);
	bool wide = len == UINT32_MAX;
	if (wide)
		len = bytes_u64(cursor);
	if (cursor->bad || !len || len > bytes_left(cursor))
		return false;
	struct bytes body = bytes_sub(cursor, len);
	u64 id_at = (u64)(body.at - start);
	u64 id = wide && !s->is_eh ? bytes_u64(&body) : bytes_u32(&body);
	u64 cie_id = s->is_eh ? 0 : wide ? UINT64_MAX : UINT32_MAX;
	if (body.bad)
		return false;
	*ret = (struct cfi_entry){ .at = at, .is_cie = id == cie_id, .body = body };
	/* .eh_frame counts back from this word, .debug_frame from the start of the section. */
	if (!ret->is_cie)
		ret->id = s->is_eh ? id_at - id : id;
	return true;
}

static bool read_augmentation(const struct cfi_builder *b, const struct section *s, struct cie *c,
			      const char *text, struct bytes *body)
{
	if (!*text)
		return true;
	if (*text++ != 'z')
		return false; /* of old compilers: what follows cannot be told */
	c->has_augmentation_data = true;
	struct bytes data = bytes_sub(body, bytes_uleb(body));
	for (; *text; text++) {
		switch (*text) {
		case 'R': c->addr_enc = bytes_u8(&data); break;
		case 'P': {
			/* The personality is skipped, whatever it is relative to. */
			u8 enc = bytes_u8(&data);
			struct bytes skip = data;
			if ((enc & 0x70) == 0x50)
				return false;
			(void)read_encoded(b, s, &skip, enc & 0x0f, c->addr_size);
			data.at = skip.at;
			data.bad |= skip.bad;
			break;
		}
		case 'L': bytes_skip(&data, 1); break;
		case 'S': c->signal = true; break;
		case 'B': /* signed return addresses with the second key */
		case 'G': /* tagged stack frames */ break;
		default: return !data.bad; /* the length is known: the rest can be left */
		}
	}
	return !data.bad;
}

static bool read_cie(struct cfi_builder *b, const struct section *s, u64 at, struct cie *c)
{
	*c = (struct cie){ .at = at, .addr_size = b->from->is64 ? 8 : 4 };
	struct bytes cursor = s->all;
	if (at > bytes_left(&cursor))
		return false;
	bytes_skip(&cursor, at);
	struct cfi_entry e;
	if (!next_entry(s, &cursor, &e) || !e.is_cie || bytes_left(&e.body) > CIE_BYTES_MAX)
		return false;
	struct bytes body = e.body;
	u8 version = bytes_u8(&body);
	const char *text = bytes_cstr(&body);
	if (!text || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4) {
		c->addr_size = bytes_u8(&body);
		if (bytes_u8(&body) || (c->addr_size != 8 && c->addr_size != 4))
			return false; /* segments */
	}
	c->code_align = bytes_uleb(&body);
	c->data_align = bytes_sleb(&body);
	u64 ra = version == 1 ? bytes_u8(&body) : bytes_uleb(&body);
	c->ra = (u8)ra;
	if (ra >= b->arch->nr_regs || body.bad || !read_augmentation(b, s, c, text, &body))
		return false;
	/* Rules that a CIE restores are those of the machine: every register keeps its value. */
	c->initial.cfa_reg = ARCH_NO_REG;
	struct cfi_program p = { .b = b, .cie = c, .section = s, .code = body, .row = c->initial };
	if (!run_program(&p))
		return false;
	c->initial = p.row;
	return true;
}

static const struct cie *find_cie(struct cfi_builder *b, u32 section, u64 at)
{
	struct cie *c = &b->cies[hash_u64(at + section) & (CIE_SLOTS - 1)];
	if (c->at != at) {
		bool good = read_cie(b, &b->sections[section], at, c);
		c->at = at;
		c->good = good;
	}
	return c->good ? c : NULL;
}

static void forget_cies(struct cfi_builder *b)
{
	for (size_t i = 0; i < CIE_SLOTS; i++)
		b->cies[i].at = UINT64_MAX;
}

/* What code it is about; its program runs later, in the order of addresses. */
static void note_fde(struct cfi_builder *b, u32 section, const struct cfi_entry *e)
{
	const struct section *s = &b->sections[section];
	const struct cie *c = find_cie(b, section, e->id);
	if (!c)
		return;
	struct bytes body = e->body;
	u64 start = read_encoded(b, s, &body, c->addr_enc, c->addr_size);
	u64 size = read_encoded(b, s, &body, c->addr_enc & 0x0f, c->addr_size);
	if (c->has_augmentation_data)
		bytes_skip(&body, bytes_uleb(&body));
	/* Functions that the linker dropped are left with an address of 0. */
	if (body.bad || !size || !start)
		return;
	struct fde *f = budget_bytes(&b->budget, FDE_BYTES, "the list of its functions")
				? vec_push(&b->fdes)
				: NULL;
	if (!f) {
		b->err = b->budget.stage ? -E2BIG : -ENOMEM;
		return;
	}
	*f = (struct fde){ .start = start,
			   .size = size,
			   .section = section,
			   .at = (u64)(body.at - s->all.at),
			   .end = (u64)(body.end - s->all.at),
			   .cie = e->id };
}

static void note_section(struct cfi_builder *b, u32 section)
{
	const struct section *s = &b->sections[section];
	struct bytes cursor = s->all;
	struct cfi_entry e;
	forget_cies(b);
	while (!b->err && next_entry(s, &cursor, &e))
		if (!e.is_cie)
			note_fde(b, section, &e);
}

static int by_start(const void *a, const void *b)
{
	const struct fde *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->section != y->section ? (x->section > y->section) - (x->section < y->section)
					: (x->at > y->at) - (x->at < y->at);
}

static void run_fde(struct cfi_builder *b, const struct fde *f, u64 start, u64 end)
{
	const struct section *s = &b->sections[f->section];
	const struct cie *c = find_cie(b, f->section, f->cie);
	if (!c)
		return;
	struct cfi_program p = {
		.b = b,
		.cie = c,
		.section = s,
		.row = c->initial,
		.pc = start,
		.end = end,
		.vaddr = f->start,
		.code = bytes_of(s->all.at + f->at, f->end - f->at, s->all.swap),
	};
	/* What a damaged program said before its damage holds; after it nothing is known. */
	bool good = run_program(&p);
	if (good && p.pc < end)
		put_row(&p);
	else if (!good)
		add_row(b, p.pc, 0);
	if (f->size >= FRAMED_MIN && p.moved) {
		b->nr_functions++;
		b->nr_framed += p.framed;
	}
}

/* Sections one after the other, so that .eh_frame is asked first where both speak of the same code. */
static void run_all(struct cfi_builder *b)
{
	u64 known = 0; /* where what we have written ends */
	forget_cies(b);
	for (size_t i = 0; i < b->fdes.nr && !b->err; i++) {
		const struct fde *f = &b->fdes.at[i];
		u64 start, end;
		if (!elfimg_offset_of(b->runtime, f->start, &start) ||
		    __builtin_add_overflow(start, f->size, &end) || end > UINT32_MAX ||
		    start < known)
			continue;
		if (start > known && b->starts.nr)
			add_row(b, known, 0);
		run_fde(b, f, start, end);
		known = end;
	}
	if (b->starts.nr)
		add_row(b, known, 0);
}

/* ---- sections --------------------------------------------------------------------------------------------------- */

static void add_section(struct cfi_builder *b, const u8 *data, u64 size, u64 addr, bool is_eh)
{
	b->sections[b->nr_sections++] = (struct section){
		.all = bytes_of(data, size, b->from->swap), .addr = addr, .is_eh = is_eh
	};
}

/* Without section headers: PT_GNU_EH_FRAME leads to a header that says where .eh_frame begins. It ends with a length of 0. */
static void find_by_segment(struct cfi_builder *b)
{
	const struct elfimg *e = b->from;
	struct elfimg_segment seg;
	for (u32 i = 0; elfimg_segment(e, i, &seg); i++) {
		if (seg.type != PT_GNU_EH_FRAME || seg.offset > e->size ||
		    seg.filesz > e->size - seg.offset || seg.filesz > e->real)
			continue;
		struct section hdr = { .all = bytes_of(e->data + seg.offset, seg.filesz, e->swap),
				       .addr = seg.vaddr };
		struct bytes c = hdr.all;
		if (bytes_u8(&c) != 1)
			return;
		u8 enc = bytes_u8(&c);
		bytes_skip(&c, 2);
		u64 addr = read_encoded(b, &hdr, &c, enc, e->is64 ? 8 : 4), offset;
		if (c.bad || !elfimg_offset_of(e, addr, &offset) || offset > e->size)
			return;
		add_section(b, e->data + offset, e->size - offset, addr, true);
		return;
	}
}

static void find_sections(struct cfi_builder *b)
{
	struct elfimg_section sec;
	const u8 *data;
	if (elfimg_section_by_name(b->from, ".eh_frame", &sec) &&
	    (data = elfimg_section_data(b->from, &sec)))
		add_section(b, data, sec.size, sec.addr, true);
	else
		find_by_segment(b);
	size_t size;
	bool there = elfimg_section_by_name(b->from, ".debug_frame", &sec) ||
		     elfimg_section_by_name(b->from, ".zdebug_frame", &sec);
	if (there &&
	    !elfimg_section_expand(b->from, &sec, min((u64)DEBUG_FRAME_MAX, b->budget.bytes), &data,
				   &size, &b->expanded))
		add_section(b, data, size, 0, false);
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static int make_table(const struct cfi_builder *b, struct cfi_table *t)
{
	struct cfi_head head = {
		.magic = CFI_MAGIC,
		.machine = b->arch->elf_machine,
		.nr_rows = (u32)b->starts.nr,
		.nr_units = (u32)b->units.nr,
		.exprs_size = (u32)b->exprs.nr,
		.nr_framed = b->nr_framed,
		.nr_functions = b->nr_functions,
	};
	size_t rows = b->starts.nr * sizeof(u32), units = b->units.nr * sizeof(struct cfi_reg);
	size_t size = sizeof(head) + 2 * rows + units + b->exprs.nr;
	u8 *block = malloc(size), *at = block;
	if (!block)
		return -ENOMEM;
	at = mempcpy(at, &head, sizeof(head));
	at = mempcpy(at, b->starts.at, rows);
	at = mempcpy(at, b->rules.at, rows);
	at = mempcpy(at, b->units.at, units);
	if (b->exprs.nr)
		memcpy(at, b->exprs.at, b->exprs.nr);
	int err = cfi_open_bytes(t, b->arch, block, size, false);
	if (err)
		free(block);
	return err;
}

static void builder_free(struct cfi_builder *b)
{
	dict_done(&b->rule_of);
	dict_done(&b->expr_of);
	vec_free(&b->fdes);
	vec_free(&b->starts);
	vec_free(&b->rules);
	vec_free(&b->units);
	vec_free(&b->exprs);
	free(b->expanded);
	free(b);
}

/* With the entries of all sections, not run yet. NULL: no memory. */
static struct cfi_builder *builder_new(const struct arch *a, const struct elfimg *from,
				       const struct elfimg *runtime)
{
	struct cfi_builder *b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->arch = a;
	b->from = from;
	b->runtime = runtime;
	budget_init(&b->budget, max(from->real, runtime->real));
	dict_init(&b->rule_of);
	dict_init(&b->expr_of);
	if (!vec_push(&b->units)) /* unit 0 is no rule */
		b->err = -ENOMEM;
	find_sections(b);
	for (u32 i = 0; i < b->nr_sections; i++)
		note_section(b, i);
	if (b->fdes.nr)
		qsort(b->fdes.at, b->fdes.nr, sizeof(*b->fdes.at), by_start);
	return b;
}

int cfi_build(struct cfi_table *t, const struct arch *a, const struct elfimg *from,
	      const struct elfimg *runtime)
{
	if (runtime->machine != a->elf_machine || from->machine != a->elf_machine)
		return -ENOEXEC;
	struct cfi_builder *b = builder_new(a, from, runtime);
	if (!b)
		return -ENOMEM;
	run_all(b);
	int err = b->err ? b->err : b->starts.nr ? make_table(b, t) : -ENOENT;
	builder_free(b);
	return err;
}

/* A function may be told twice, and damage makes ranges overlap: each ends where the next one starts. */
static size_t fill_ranges(const struct cfi_builder *b, struct cfi_range *ranges)
{
	size_t nr = 0;
	vec_for_each (&b->fdes, f) {
		struct cfi_range r;
		if (!elfimg_offset_of(b->runtime, f->start, &r.start) ||
		    __builtin_add_overflow(r.start, f->size, &r.end) || r.end > b->runtime->size)
			continue;
		if (nr && ranges[nr - 1].start >= r.start)
			continue;
		if (nr)
			ranges[nr - 1].end = min(ranges[nr - 1].end, r.start);
		ranges[nr++] = r;
	}
	return nr;
}

int cfi_ranges(const struct elfimg *e, struct cfi_range **ret, size_t *nr)
{
	const struct arch *a = arch_of_elf(e->machine);
	if (!a)
		return -ENOENT;
	struct cfi_builder *b = builder_new(a, e, e);
	if (!b)
		return -ENOMEM;
	int err = b->err ? b->err : b->fdes.nr ? 0 : -ENOENT;
	struct cfi_range *ranges = err ? NULL : calloc(b->fdes.nr, sizeof(*ranges));
	if (!err && !ranges)
		err = -ENOMEM;
	if (!err) {
		*nr = fill_ranges(b, ranges);
		*ret = ranges;
	}
	builder_free(b);
	return err;
}
