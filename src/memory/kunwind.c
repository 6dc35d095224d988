#include "memory/kunwind.h"

#include "memory/eval.h"
#include "memory/kmodules.h"

#include <errno.h>
#include <string.h>

/* arch/x86/include/asm/orc_types.h: what sp and bp of the caller are found from. */
enum orc_reg {
	ORC_UNDEFINED,
	ORC_PREV_SP,
	ORC_DX,
	ORC_DI,
	ORC_BP,
	ORC_SP,
	ORC_R10,
	ORC_R13,
	ORC_BP_INDIRECT,
	ORC_SP_INDIRECT
};
enum orc_type { ORC_END, ORC_CALL, ORC_REGS, ORC_REGS_PARTIAL };
enum { ORC_SIZE = 6, IRET_FRAME = 16 * sizeof(u64), ENTRIES_MAX = 1 << 24 };

struct orc {
	s16 sp_offset, bp_offset;
	enum orc_reg sp_reg, bp_reg;
	enum orc_type type;
	bool signal; /* ip is that of an instruction, not of what follows a call */
};

/* Tables of the kernel, or of one module. */
struct orc_table {
	u64 start, end; /* of the code; 0: the kernel's */
	u64 ips, entries;
	u32 nr;
};

struct kunwind {
	struct kspace *k;
	struct memory *m;
	bool is_x86;
	VEC(struct orc_table) tables; /* the kernel's first */
	struct {
		u64 sp, fp, pc; /* in task_struct */
		u64 frame_bp, frame_ret, frame_size; /* of inactive_task_frame */
		u64 ips, entries, nr; /* in module */
	} at;
	u32 type_shift, type_bits, signal_shift,
		end_shift; /* in the last two bytes of an entry; 0: there is none */
	bool has_type_names; /* since 6.4: 0 undefined, 1 end, 2 call ... */
	u64 ret_from_fork;
	u64 pac_mask;
};

/* ---- tables ---------------------------------------------------------------------------------------------------------------- */

static bool find_bits(const struct ktype *t, const char *name, u32 *shift, u32 *bits)
{
	enum { BEFORE = 32 }; /* sp_offset and bp_offset */
	struct btf_part p;
	if (btf_find_member(t->b, t->id, name, &p) || p.bit_offset < BEFORE ||
	    p.bit_offset >= ORC_SIZE * 8)
		return false;
	*shift = (u32)p.bit_offset - BEFORE;
	*bits = p.bits;
	return true;
}

static int find_form(struct kunwind *u)
{
	struct ktype t;
	u32 bits;
	if (!kspace_find_type(u->k, "orc_entry", BTF_BIT(BTF_OF_STRUCT), &t) ||
	    ktype_size(&t) != ORC_SIZE || !find_bits(&t, "type", &u->type_shift, &u->type_bits))
		return diag_error(u->k->diag, -ENOTSUP,
				  "this kernel's unwind tables (ORC) have an unknown form");
	u->has_type_names = !find_bits(&t, "end", &u->end_shift, &bits);
	if (!find_bits(&t, "signal", &u->signal_shift, &bits))
		u->signal_shift = 0;
	return 0;
}

static int add_kernel(struct kunwind *u)
{
	struct ksym ips, ips_end, entries;
	const struct ksyms *s;
	int err = kspace_syms(u->k, &s);
	if (err)
		return err;
	if (!ksyms_find(s, "__start_orc_unwind_ip", &ips) ||
	    !ksyms_find(s, "__stop_orc_unwind_ip", &ips_end) ||
	    !ksyms_find(s, "__start_orc_unwind", &entries) || ips_end.addr < ips.addr ||
	    (ips_end.addr - ips.addr) / sizeof(s32) > ENTRIES_MAX)
		return diag_error(u->k->diag, -ENOENT,
				  "this kernel has no unwind tables (CONFIG_UNWINDER_ORC)");
	struct orc_table *t = vec_push(&u->tables);
	if (!t)
		return -ENOMEM;
	*t = (struct orc_table){ .ips = ips.addr,
				 .entries = entries.addr,
				 .nr = (u32)((ips_end.addr - ips.addr) / sizeof(s32)) };
	return 0;
}

static int add_module(void *ctx, const struct kmodule *m)
{
	struct kunwind *u = ctx;
	struct orc_table t = { .start = m->text, .end = m->text + m->size };
	if (memory_read(u->m, m->addr + u->at.ips, &t.ips, sizeof(t.ips)) ||
	    memory_read(u->m, m->addr + u->at.entries, &t.entries, sizeof(t.entries)) ||
	    memory_read(u->m, m->addr + u->at.nr, &t.nr, sizeof(t.nr)) || !t.nr ||
	    t.nr > ENTRIES_MAX)
		return 0;
	struct orc_table *slot = vec_push(&u->tables);
	if (!slot)
		return -ENOMEM;
	*slot = t;
	return 0;
}

static int find_x86(struct kunwind *u)
{
	struct ktype frame;
	struct ksym sym;
	struct walk_result r;
	const struct ksyms *s;
	const struct eval_offset rows[] = {
		{ "task_struct", "thread.sp", &u->at.sp },
		{ "inactive_task_frame", "bp", &u->at.frame_bp },
		{ "inactive_task_frame", "ret_addr", &u->at.frame_ret },
	};
	const struct eval_offset module[] = {
		{ "module", "arch.orc_unwind_ip", &u->at.ips, true },
		{ "module", "arch.orc_unwind", &u->at.entries, true },
		{ "module", "arch.num_orcs", &u->at.nr, true },
	};
	int err = eval_offsets(u->k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = find_form(u);
	if (!err)
		err = add_kernel(u);
	if (!err)
		err = eval_offsets(u->k, module, ARRAY_SIZE(module));
	if (err)
		return err;
	if (kspace_find_type(u->k, "inactive_task_frame", BTF_BIT(BTF_OF_STRUCT), &frame))
		u->at.frame_size = ktype_size(&frame);
	s = kspace_try_syms(u->k);
	if (s && (ksyms_find(s, "ret_from_fork_asm", &sym) || ksyms_find(s, "ret_from_fork", &sym)))
		u->ret_from_fork = sym.addr;
	if (u->at.nr == EVAL_NO_OFFSET)
		return 0;
	return kmodules_each(u->k, add_module, u, &r);
}

static int find_arm64(struct kunwind *u)
{
	const struct eval_offset rows[] = {
		{ "task_struct", "thread.cpu_context.sp", &u->at.sp },
		{ "task_struct", "thread.cpu_context.fp", &u->at.fp },
		{ "task_struct", "thread.cpu_context.pc", &u->at.pc },
	};
	if (u->k->dump && !dump_number(u->k->dump, "NUMBER(KERNELPACMASK)", 16, &u->pac_mask))
		u->pac_mask = 0;
	return eval_offsets(u->k, rows, ARRAY_SIZE(rows));
}

int kunwind_open(struct kspace *k, struct kunwind **ret)
{
	struct kunwind *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->k = k;
	u->is_x86 = kspace_is_x86(k);
	int err = kspace_memory(k, &u->m);
	u->is_x86 = kspace_is_x86(k);
	if (!err)
		err = u->is_x86 ? find_x86(u) : find_arm64(u);
	if (err)
		kunwind_close(u);
	else
		*ret = u;
	return err;
}

void kunwind_close(struct kunwind *u)
{
	if (!u)
		return;
	vec_free(&u->tables);
	free(u);
}

/* ---- one entry ------------------------------------------------------------------------------------------------------------- */

static const struct orc_table *table_of(const struct kunwind *u, u64 ip)
{
	const struct orc_table *best = NULL;
	struct ksym sym;
	u64 offset, size;
	const struct ksyms *s = kspace_try_syms(u->k);
	if (s && ksyms_at(s, ip, &sym, &offset, &size) && !sym.module_len)
		return &u->tables.at[0];
	for (size_t n = 1; n < u->tables.nr; n++) {
		const struct orc_table *t = &u->tables.at[n];
		if (ip >= t->start && ip < t->end && (!best || t->start > best->start))
			best = t;
	}
	return best;
}

/* The last entry whose code begins at or before ip. Each address is written as its distance from where it is written. */
static bool find_entry(struct kunwind *u, const struct orc_table *t, u64 ip, u64 *ret)
{
	u32 low = 0, high = t->nr;
	while (low < high) {
		u32 mid = low + (high - low) / 2;
		u64 at = t->ips + (u64)mid * sizeof(s32);
		s32 distance;
		if (memory_read(u->m, at, &distance, sizeof(distance)))
			return false;
		if (at + (u64)(s64)distance <= ip)
			low = mid + 1;
		else
			high = mid;
	}
	*ret = t->entries + (u64)(low - 1) * ORC_SIZE;
	return low > 0;
}

/* Until 6.3: call, registers, some registers; and a bit that says that the stack ends. Since: a type for each. */
static enum orc_type decode_type(const struct kunwind *u, u16 bits)
{
	static const enum orc_type before[] = { ORC_CALL, ORC_REGS, ORC_REGS_PARTIAL, ORC_END };
	static const enum orc_type now[] = { ORC_END, ORC_END, ORC_CALL, ORC_REGS,
					     ORC_REGS_PARTIAL };
	u32 type = bits >> u->type_shift & ((1u << u->type_bits) - 1);
	if (u->has_type_names)
		return type < ARRAY_SIZE(now) ? now[type] : ORC_END;
	if (bits >> u->end_shift & 1)
		return ORC_END;
	return type < ARRAY_SIZE(before) ? before[type] : ORC_END;
}

/* As the kernel does: code without tables (trampolines, BPF programs) has frame pointers, or ends the stack. */
static const struct orc by_frame_pointer = {
	.type = ORC_CALL, .sp_reg = ORC_BP, .sp_offset = 16, .bp_reg = ORC_PREV_SP, .bp_offset = -16
};

static struct orc find_orc(struct kunwind *u, u64 ip)
{
	u8 bytes[ORC_SIZE];
	u16 bits;
	u64 at;
	struct orc o;
	const struct orc_table *t = table_of(u, ip);
	if (!t || !find_entry(u, t, ip, &at) || memory_read(u->m, at, bytes, sizeof(bytes)))
		return by_frame_pointer;
	memcpy(&o.sp_offset, bytes, sizeof(s16));
	memcpy(&o.bp_offset, bytes + 2, sizeof(s16));
	memcpy(&bits, bytes + 4, sizeof(bits));
	o.sp_reg = (enum orc_reg)(bits & 0xf);
	o.bp_reg = (enum orc_reg)(bits >> 4 & 0xf);
	o.type = decode_type(u, bits);
	o.signal = u->signal_shift && bits >> u->signal_shift & 1;
	return o;
}

/* ---- x86 ------------------------------------------------------------------------------------------------------------------- */

struct state {
	u64 ip, sp, bp;
	u64 place; /* of ip */
	bool signal;
	struct kregs regs;
	bool has_regs;
};

static bool read_word(struct kunwind *u, u64 addr, u64 *ret)
{
	return !(addr & 7) && !memory_read(u->m, addr, ret, sizeof(*ret));
}

/* Where the caller's stack pointer was before the call. */
static bool find_sp(struct kunwind *u, const struct orc *o, const struct state *s, u64 *ret)
{
	u64 offset = (u64)(s64)o->sp_offset;
	switch (o->sp_reg) {
	case ORC_SP: *ret = s->sp + offset; return true;
	case ORC_BP: *ret = s->bp + offset; return true;
	case ORC_BP_INDIRECT: return read_word(u, s->bp + offset, ret);
	case ORC_SP_INDIRECT:
		if (!read_word(u, s->sp, ret))
			return false;
		*ret += offset;
		return true;
	case ORC_R10: *ret = s->regs.r10; return s->has_regs;
	case ORC_R13: *ret = s->regs.r13; return s->has_regs;
	case ORC_DI: *ret = s->regs.di; return s->has_regs;
	case ORC_DX: *ret = s->regs.dx; return s->has_regs;
	default: return false;
	}
}

static bool find_caller(struct kunwind *u, const struct orc *o, u64 sp, struct state *s)
{
	u64 iret[5];
	switch (o->type) {
	case ORC_CALL:
		s->place = sp - sizeof(u64);
		s->sp = sp;
		s->has_regs = false;
		s->signal = false;
		return read_word(u, s->place, &s->ip);
	case ORC_REGS:
		if (memory_read(u->m, sp, &s->regs, sizeof(s->regs)))
			return false;
		s->has_regs = true;
		s->ip = s->regs.ip;
		s->sp = s->regs.sp;
		s->place = sp + IRET_FRAME;
		s->signal = true;
		return !(s->regs.cs & 3);
	case ORC_REGS_PARTIAL:
		if (memory_read(u->m, sp, iret, sizeof(iret)))
			return false;
		s->has_regs = false;
		s->place = sp;
		s->ip = iret[0];
		s->sp = iret[3];
		s->signal = true;
		return !(iret[1] & 3);
	default: return false;
	}
}

static bool step_x86(struct kunwind *u, struct state *s)
{
	struct orc o = find_orc(u, s->signal ? s->ip : s->ip - 1);
	u64 sp, bp = s->bp, before = s->sp;
	if (o.type == ORC_END || !find_sp(u, &o, s, &sp))
		return false;
	if (o.bp_reg == ORC_PREV_SP && !read_word(u, sp + (u64)(s64)o.bp_offset, &bp))
		return false;
	if (o.bp_reg == ORC_BP && !read_word(u, s->bp + (u64)(s64)o.bp_offset, &bp))
		return false;
	if (!find_caller(u, &o, sp, s))
		return false;
	s->bp = s->has_regs && o.bp_reg == ORC_UNDEFINED ? s->regs.bp : bp;
	/* Interrupts have stacks of their own, so that only within one the pointer has to grow. Steps are counted anyway. */
	return o.type != ORC_CALL || o.sp_reg != ORC_SP || s->sp > before;
}

static bool begin_x86(struct kunwind *u, const struct ktask *t, const struct vmcore_cpu *cpu,
		      struct state *s)
{
	if (cpu) {
		memcpy(&s->regs, cpu->regs, sizeof(s->regs));
		s->has_regs = s->signal = true;
		s->ip = s->regs.ip;
		s->sp = s->regs.sp;
		s->bp = s->regs.bp;
		return !(s->regs.cs & 3);
	}
	u64 frame;
	if (!read_word(u, t->addr + u->at.sp, &frame) ||
	    !read_word(u, frame + u->at.frame_bp, &s->bp) ||
	    !read_word(u, frame + u->at.frame_ret, &s->ip))
		return false;
	s->sp = frame + u->at.frame_size;
	s->place = frame + u->at.frame_ret;
	s->signal = s->ip == u->ret_from_fork;
	return true;
}

/* ---- arm64 ----------------------------------------------------------------------------------------------------------------- */

enum { ARM64_FP = 29, ARM64_SP = 31, ARM64_PC = 32, ARM64_PSTATE = 33 };

static bool begin_arm64(struct kunwind *u, const struct ktask *t, const struct vmcore_cpu *cpu,
			struct state *s)
{
	if (cpu) {
		s->ip = cpu->regs[ARM64_PC];
		s->sp = cpu->regs[ARM64_SP];
		s->bp = cpu->regs[ARM64_FP];
		return cpu->regs[ARM64_PSTATE] & 0xf; /* else it was in its program */
	}
	return read_word(u, t->addr + u->at.pc, &s->ip) &&
	       read_word(u, t->addr + u->at.sp, &s->sp) && read_word(u, t->addr + u->at.fp, &s->bp);
}

/* A record of the caller's frame pointer and the return address. */
static bool step_arm64(struct kunwind *u, struct state *s)
{
	u64 next, ip, at = s->bp;
	if (!at || !read_word(u, at, &next) || !read_word(u, at + 8, &ip) || (next && next <= at))
		return false;
	s->ip = ip ? ip | u->pac_mask : 0;
	s->place = at + 8;
	s->bp = next;
	return true;
}

/* ---- a task ---------------------------------------------------------------------------------------------------------------- */

bool kunwind_regs(const struct kunwind *u, const struct ktask *task, const struct vmcore_cpu **ret)
{
	const struct vmcore *v = u->k->dump ? dump_vmcore(u->k->dump) : NULL;
	if (!v || !task->on_cpu || task->cpu >= v->cpus.nr)
		return false;
	*ret = &v->cpus.at[task->cpu];
	return true;
}

int kunwind_task(struct kunwind *u, const struct ktask *task, struct kframe frames[KSTACK_FRAMES],
		 u32 *nr)
{
	struct state s = { 0 };
	const struct vmcore_cpu *cpu = NULL;
	*nr = 0;
	if (task->on_cpu && !kunwind_regs(u, task, &cpu))
		return 0;
	bool more = u->is_x86 ? begin_x86(u, task, cpu, &s) : begin_arm64(u, task, cpu, &s);
	while (more && s.ip && *nr < KSTACK_FRAMES) {
		frames[(*nr)++] = (struct kframe){ s.ip, s.place };
		more = u->is_x86 ? step_x86(u, &s) : step_arm64(u, &s);
	}
	return 0;
}
