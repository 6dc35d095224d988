#include "sym/unwind_cfi.h"
#include "base/dict.h"

#include <errno.h>
#include <string.h>

enum { CACHE_SLOTS = 1 << 12, CALL_BYTES = 8, SIGRETURN_BYTES = 16, LEAVE_BYTES = 32 };

/* address -> rule, valid for some time */
struct unwind_cfi_slot {
	u64 addr, space;
	u64 from, until;
	struct unwind_found found;
	bool mapped;
	bool vdso;
};

struct unwinder {
	struct unwind_tables *tables;
	const struct arch *arch;
	struct unwind_cfi_slot slots[CACHE_SLOTS];
};

/* A walk under way. */
struct unwind_cfi_walk {
	struct unwinder *u;
	const struct unwind_thread *th;
	struct cfi_memory mem;
	struct cfi_regs regs;
	bool exact; /* pc is no return address: it stands where the thread, or a signal, stopped it */
	const struct cfi_table *inner; /* of the file that the frame before is in; NULL: it has none */
	enum unwind_end end;
};

const char *unwind_end_text(enum unwind_end e)
{
	static const char *const texts[UNWIND_NR_ENDS] = {
		[UNWIND_WHOLE] = "whole",
		[UNWIND_SHORT_COPY] = "longer than the copy",
		[UNWIND_NO_TABLE] = "code without unwind tables",
		[UNWIND_BAD_FP] = "code without unwind tables or frame pointers",
		[UNWIND_LOST] = "a return address that is not code",
		[UNWIND_TOO_DEEP] = "too many frames",
		[UNWIND_NO_MAPS] = "a process with unknown mappings",
	};
	return texts[e];
}

struct unwinder *unwinder_new(struct unwind_tables *t)
{
	struct unwinder *u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->tables = t;
	u->arch = unwind_tables_arch(t);
	return u;
}

void unwinder_free(struct unwinder *u)
{
	free(u);
}

bool unwind_regs(const struct arch *a, u64 mask, const void *values, struct cfi_regs *ret)
{
	const u8 *at = values;
	ret->known = 0;
	for (; mask; mask &= mask - 1, at += 8) {
		unsigned bit = (unsigned)__builtin_ctzll(mask);
		u8 reg = bit < a->nr_perf ? a->of_perf[bit] : ARCH_NO_REG;
		if (reg == ARCH_NO_REG)
			continue;
		memcpy(&ret->value[reg], at, 8);
		ret->known |= 1ull << reg;
	}
	return ret->known >> a->pc & 1 && ret->known >> a->sp & 1;
}

static bool read_stack(const void *ctx, u64 addr, unsigned size, u64 *ret)
{
	const struct unwind_thread *th = ctx;
	u64 at = addr - th->stack_at;
	if (at >= th->stack_size || th->stack_size - at < size)
		return false;
	*ret = 0;
	memcpy(ret, th->stack + at, size);
	return true;
}

static bool is_known(const struct unwind_cfi_walk *w, unsigned reg)
{
	return w->regs.known >> reg & 1;
}

static struct unwind_cfi_slot *look_up_slow(struct unwind_cfi_walk *w, struct unwind_cfi_slot *s,
					    u64 addr)
{
	struct unwind_place p = { 0 };
	*s = (struct unwind_cfi_slot){ .addr = addr, .space = w->th->space };
	s->mapped = w->th->find(w->th->ctx, addr, &p);
	s->from = p.from;
	s->until = p.until;
	if (!s->mapped)
		return s;
	s->vdso = p.info->kind == IMAGE_KIND_VDSO;
	s->found = unwind_tables_find(w->u->tables, p.image, p.info, p.offset);
	/* Recordings may list data, too. */
	if (!s->found.rule)
		s->mapped = unwind_tables_is_code(w->u->tables, p.image, p.info, p.offset);
	return s;
}

static struct unwind_cfi_slot *look_up(struct unwind_cfi_walk *w, u64 addr)
{
	u64 time = w->th->time;
	u32 at = (u32)(hash_u64(addr ^ w->th->space << 20) >> 20) & (CACHE_SLOTS - 1);
	struct unwind_cfi_slot *s = &w->u->slots[at];
	if (likely(s->addr == addr && s->space == w->th->space && s->from <= time && time < s->until))
		return s;
	return look_up_slow(w, s, addr);
}

static bool stop(struct unwind_cfi_walk *w, enum unwind_end why)
{
	w->end = why;
	return false;
}

/* ---- by table --------------------------------------------------------------------------------------------------- */

/* Memory that is not in the copy: after it the stack goes on; anywhere else something is wrong. */
static enum unwind_end why_unread(const struct unwind_cfi_walk *w, int err)
{
	return err == -EFAULT ? UNWIND_SHORT_COPY : UNWIND_LOST;
}

static int eval(struct unwind_cfi_walk *w, const struct cfi_table *t, s32 value, bool has_first,
		u64 first, u64 *ret)
{
	size_t len;
	const u8 *expr = cfi_expr(t, value, &len);
	return cfi_eval(expr, len, &w->regs, &w->mem, has_first, first, ret);
}

static int find_cfa(struct unwind_cfi_walk *w, const struct cfi_rule *r, const struct cfi_table *t,
		    u64 *ret)
{
	if (unlikely(r->cfa == CFI_CFA_EXPR))
		return eval(w, t, r->cfa_value, false, 0, ret);
	if (!is_known(w, r->cfa_reg))
		return -EBADMSG;
	*ret = w->regs.value[r->cfa_reg] + (u64)(s64)r->cfa_value;
	return 0;
}

/* The caller's value of one register: 0, -ENODATA when it is lost, -EFAULT, -EBADMSG. */
static int find_reg(struct unwind_cfi_walk *w, const struct cfi_reg *r, const struct cfi_table *t,
		    u64 cfa, u64 *ret)
{
	u64 at;
	int err;
	switch (r->kind) {
	case CFI_OFFSET: return read_stack(w->th, cfa + (u64)(s64)r->value, 8, ret) ? 0 : -EFAULT;
	case CFI_VAL_OFFSET: *ret = cfa + (u64)(s64)r->value; return 0;
	case CFI_REGISTER:
		*ret = w->regs.value[r->value];
		return is_known(w, (unsigned)r->value) ? 0 : -ENODATA;
	case CFI_EXPR:
		err = eval(w, t, r->value, true, cfa, &at);
		return err ? err : read_stack(w->th, at, 8, ret) ? 0 : -EFAULT;
	case CFI_VAL_EXPR: return eval(w, t, r->value, true, cfa, ret);
	default: return -ENODATA;
	}
}

/*
 * A function's end pops registers without a word in its rules, which go on naming the slot: it lies below the stack pointer by then
 * (out of the copy, too), and the register has its value again.
 */
static bool is_restored(const struct cfi_reg *r, u64 cfa, u64 sp)
{
	return r->kind == CFI_OFFSET && cfa + (u64)(s64)r->value < sp && cfa >= sp;
}

static bool step_by_rule(struct unwind_cfi_walk *w, const struct unwind_found *f)
{
	const struct arch *a = w->u->arch;
	const struct cfi_rule *r = f->rule;
	bool signal = r->flags & CFI_SIGNAL;
	u8 ra = r->flags & CFI_OWN_RA ? a->pc : a->ra;
	u64 cfa, sp = w->regs.value[a->sp];
	int err = find_cfa(w, r, f->table, &cfa);
	if (err)
		return stop(w, why_unread(w, err));
	struct cfi_regs next = w->regs;
	next.value[a->sp] = cfa;
	next.known |= 1ull << a->sp;
	for (u32 i = 0; i < r->nr_regs; i++) {
		const struct cfi_reg *reg = &r->regs[i];
		if (unlikely(is_restored(reg, cfa, sp)) && reg->reg != ra)
			continue;
		err = find_reg(w, reg, f->table, cfa, &next.value[reg->reg]);
		if (likely(!err)) {
			next.known |= 1ull << reg->reg;
			continue;
		}
		if (reg->reg == ra)
			return stop(w, err == -ENODATA ? UNWIND_WHOLE : why_unread(w, err));
		next.known &= ~(1ull << reg->reg);
	}
	if (!(next.known >> ra & 1))
		return stop(w, UNWIND_LOST);
	u64 pc = next.value[ra] & a->addr_mask;
	/* Stacks grow: a caller's frame lies above. Only a function that has not touched the stack may share it with its caller's. */
	bool same = cfa == sp && !(w->exact && pc != w->regs.value[a->pc]);
	if (!signal && (cfa < sp || same))
		return stop(w, UNWIND_LOST);
	if (!(next.known >> a->sp & 1))
		return stop(w, UNWIND_LOST);
	next.value[a->pc] = pc;
	next.known |= 1ull << a->pc;
	w->regs = next;
	w->exact = signal;
	return true;
}

/* ---- without a table -------------------------------------------------------------------------------------------- */

static size_t code_from(struct unwind_cfi_walk *w, u64 addr, bool before, u8 *to, size_t nr,
			bool again)
{
	struct unwind_place p;
	if (!w->th->find(w->th->ctx, addr - before, &p))
		return 0;
	if (p.info->kind != IMAGE_KIND_ANON)
		return unwind_tables_code(w->u->tables, p.image, p.info, p.offset + before, before,
					  to, nr);
	return w->th->code ? w->th->code(w->th->ctx, before ? addr - nr : addr, to, nr, again) : 0;
}

static size_t code_at(struct unwind_cfi_walk *w, u64 addr, bool before, u8 *to, size_t nr)
{
	return code_from(w, addr, before, to, nr, false);
}

/* A handler returns into a few instructions that end it; the kernel left all registers above. */
static bool is_signal_return(struct unwind_cfi_walk *w)
{
	const struct arch *a = w->u->arch;
	u8 code[SIGRETURN_BYTES];
	u64 pc = w->regs.value[a->pc];
	size_t nr = code_at(w, pc, false, code, sizeof(code));
	if (nr)
		return a->is_sigreturn(code, nr);
	return !w->exact && a->vdso_returns && look_up(w, pc)->vdso;
}

static bool step_by_signal(struct unwind_cfi_walk *w)
{
	const struct arch *a = w->u->arch;
	u64 sp = w->regs.value[a->sp];
	struct cfi_regs next = { 0 };
	for (unsigned i = 0; i < a->nr_regs; i++) {
		if (!read_stack(w->th, sp + (u64)a->signal_slots[i], 8, &next.value[i]))
			return stop(w, UNWIND_SHORT_COPY);
		next.known |= 1ull << i;
	}
	w->regs = next;
	w->exact = true;
	return true;
}

/* Does code before a return address call? Code that cannot be seen (made at run time) is believed. */
static bool follows_call(struct unwind_cfi_walk *w, u64 pc)
{
	u8 code[CALL_BYTES];
	if (!look_up(w, pc - 1)->mapped)
		return false;
	/* Code that is made at run time changes: a copy that says no is read once more. */
	for (int again = 0; again < 2; again++) {
		size_t nr = code_from(w, pc, true, code, sizeof(code), again);
		if (!nr || w->u->arch->after_call(code + nr, nr))
			return true;
	}
	return false;
}

/* A saved frame pointer leads up, or is 0 in the outermost frame, or belongs to code that has a table and uses it for something else. */
static bool may_be_saved(struct unwind_cfi_walk *w, u64 fp, u64 caller_fp, u64 pc)
{
	const struct cfi_rule *r = look_up(w, pc - 1)->found.rule;
	return !caller_fp || caller_fp > fp ||
	       (r && (r->cfa == CFI_CFA_EXPR || r->cfa_reg != w->u->arch->fp));
}

/*
 * Code that runs straight to its return says where that goes. 1: there; 0: it does not, or not to a place after a call; -1: the return
 * address is not in the copy any more.
 */
static int step_by_code(struct unwind_cfi_walk *w)
{
	const struct arch *a = w->u->arch;
	struct arch_leave l;
	u8 code[LEAVE_BYTES];
	u64 sp = w->regs.value[a->sp], pc;
	size_t nr = a->leave ? code_at(w, w->regs.value[a->pc], false, code, sizeof(code)) : 0;
	if (!nr || !a->leave(code, nr, &l) || !is_known(w, l.base))
		return 0;
	u64 base = w->regs.value[l.base], at = base + (u64)(s64)l.ra_at;
	if (at < sp || at % 8)
		return 0;
	if (!read_stack(w->th, at, 8, &pc)) {
		/* By the stack pointer it is near, whatever the copy has; a frame pointer may be anything. */
		bool near = l.base == a->sp;
		return near && !stop(w, UNWIND_SHORT_COPY) ? -1 : 0;
	}
	if (!pc || !follows_call(w, pc))
		return 0;
	struct cfi_regs next = w->regs;
	for (u32 i = 0; i < l.nr_saved; i++) {
		u8 reg = l.saved[i].reg;
		bool read = read_stack(w->th, base + (u64)(s64)l.saved[i].at, 8, &next.value[reg]);
		next.known = read ? next.known | 1ull << reg : next.known & ~(1ull << reg);
	}
	next.value[a->pc] = pc;
	next.value[a->sp] = at + 8;
	w->regs = next;
	w->exact = false;
	return 1;
}

/*
 * Code that was made at run time and is not in the recording (perf's own; ours has it, step_by_code) has called, and where it returns to is not
 * known. CPython's trampolines for perf keep all registers and take the eight bytes that align the stack. Above these stands an address
 * after a call, in the same file as what they called: the interpreter. Nothing else is believed.
 */
static bool step_by_trampoline(struct unwind_cfi_walk *w)
{
	enum { ALIGNING = 8 };
	const struct arch *a = w->u->arch;
	struct unwind_place p;
	u8 code[CALL_BYTES];
	u64 sp = w->regs.value[a->sp], pc = w->regs.value[a->pc];
	bool framed =
		is_known(w, a->fp) && w->regs.value[a->fp] == sp; /* its frame pointer leads on */
	if (w->exact || framed || a->ra != a->pc || !w->th->find(w->th->ctx, pc - 1, &p) ||
	    p.info->kind != IMAGE_KIND_ANON || code_at(w, pc, false, code, sizeof(code)) ||
	    !read_stack(w->th, sp + ALIGNING, 8, &pc))
		return false;
	const struct unwind_cfi_slot *s = look_up(w, pc - 1);
	if (!s->found.rule || !w->inner || s->found.table != w->inner)
		return false;
	size_t nr = code_at(w, pc, true, code, sizeof(code));
	if (!nr || !a->after_call(code + nr, nr))
		return false;
	w->regs.value[a->pc] = pc;
	w->regs.value[a->sp] = sp + ALIGNING + 8;
	return true;
}

static bool step_by_frame_pointer(struct unwind_cfi_walk *w)
{
	const struct arch *a = w->u->arch;
	u64 fp = w->regs.value[a->fp], sp = w->regs.value[a->sp], caller_fp, pc;
	/* The ABIs ask of the outermost function that its frame pointer is 0; the kernel starts programs so. */
	if (is_known(w, a->fp) && !fp && !w->exact)
		return stop(w, UNWIND_WHOLE);
	if (!is_known(w, a->fp) || fp % 8 || fp < sp)
		return stop(w, UNWIND_NO_TABLE);
	if (!read_stack(w->th, fp, 8, &caller_fp) || !read_stack(w->th, fp + 8, 8, &pc))
		return stop(w, fp - w->th->stack_at > w->th->stack_size ? UNWIND_NO_TABLE
									: UNWIND_SHORT_COPY);
	pc &= a->addr_mask;
	if (!pc || !follows_call(w, pc) || !may_be_saved(w, fp, caller_fp, pc))
		return stop(w, UNWIND_BAD_FP);
	w->regs.known = 1ull << a->pc | 1ull << a->sp | 1ull << a->fp;
	w->regs.value[a->pc] = pc;
	w->regs.value[a->sp] = fp + 16;
	w->regs.value[a->fp] = caller_fp;
	w->exact = false;
	return true;
}

/*
 * Not every linker writes tables for its stubs (arm64's never do). A stub leaves everything as its caller's call made it: the return
 * address is in the link register, or on top of the stack.
 */
static bool is_stub(struct unwind_cfi_walk *w)
{
	struct unwind_place p;
	return w->exact && w->th->find(w->th->ctx, w->regs.value[w->u->arch->pc], &p) &&
	       unwind_tables_is_plt(w->u->tables, p.image, p.info, p.offset);
}

static bool step_by_stub(struct unwind_cfi_walk *w)
{
	const struct arch *a = w->u->arch;
	bool linked = a->ra != a->pc;
	u64 pc = w->regs.value[a->ra];
	if (!linked && !read_stack(w->th, w->regs.value[a->sp], 8, &pc))
		return stop(w, UNWIND_SHORT_COPY);
	pc &= a->addr_mask;
	if ((linked && !is_known(w, a->ra)) || !pc || !follows_call(w, pc))
		return stop(w, UNWIND_NO_TABLE);
	w->regs.value[a->pc] = pc;
	w->regs.value[a->sp] += linked ? 0 : 8;
	w->exact = false;
	return true;
}

/* ---- the walk --------------------------------------------------------------------------------------------------- */

static bool step(struct unwind_cfi_walk *w, const struct unwind_cfi_slot *s)
{
	if (likely(s->found.rule)) {
		struct unwind_found f = s->found; /* the slot may be reused on the way */
		return step_by_rule(w, &f);
	}
	if (is_signal_return(w))
		return step_by_signal(w);
	if (is_stub(w))
		return step_by_stub(w);
	int by_code = step_by_code(w);
	return by_code ? by_code > 0 : step_by_trampoline(w) || step_by_frame_pointer(w);
}

u32 unwind(struct unwinder *u, const struct unwind_thread *th, bool callers_less, u64 *pcs, u32 max,
	   enum unwind_end *end)
{
	struct unwind_cfi_walk w = { .u = u,
				     .th = th,
				     .mem = { .read = read_stack, .ctx = th },
				     .regs = *th->regs,
				     .exact = true };
	unsigned pc_at = u->arch->pc;
	u32 nr = 0;
	for (;;) {
		u64 pc = w.regs.value[pc_at], asked = pc - !w.exact;
		if (!pc && nr) {
			w.end = UNWIND_WHOLE;
			break;
		}
		const struct unwind_cfi_slot *s = look_up(&w, asked);
		/* Where a thread stopped is a fact, wherever it is; callers must be code. */
		if (nr && !s->mapped) {
			w.end = UNWIND_LOST;
			break;
		}
		if (nr == max) {
			w.end = UNWIND_TOO_DEEP;
			break;
		}
		pcs[nr++] = callers_less ? asked : pc;
		const struct cfi_table *table = s->found.rule ? s->found.table : NULL;
		if (!step(&w, s))
			break;
		w.inner = table;
	}
	*end = w.end;
	return nr;
}
