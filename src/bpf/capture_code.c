/*
 * The programs of capture.h, instruction by instruction: they run at every system call, so each is written for what it has to do. Jumps go to
 * labels, which are resolved when a program is complete.
 *
 * What changes from piece to piece (how much was copied) is kept in memory, not in a register: the verifier then meets the same state before
 * every piece, and does not follow all combinations of them.
 */
#include "bpf/capture_impl.h"

#include "kern/bpf_insns.h"

#include <errno.h>
#include <unistd.h>

/* ---- jumps ------------------------------------------------------------------------------------------------------ */

static void add(struct capture_code *c, struct bpf_insn insn)
{
	if (c->nr < CAPTURE_INSNS)
		c->at[c->nr++] = insn;
	else
		c->full = true;
}

static u32 new_label(struct capture_code *c)
{
	if (c->nr_labels >= ARRAY_SIZE(c->labels)) {
		c->full = true;
		return 0;
	}
	c->labels[c->nr_labels] = -1;
	return c->nr_labels++;
}

static void place(struct capture_code *c, u32 label)
{
	c->labels[label] = (s32)c->nr;
}

static void jump(struct capture_code *c, struct bpf_insn insn, u32 label)
{
	if (c->nr_jumps >= ARRAY_SIZE(c->jumps)) {
		c->full = true;
		return;
	}
	c->jumps[c->nr_jumps++] = (struct capture_jump){ .at = c->nr, .label = label };
	add(c, insn);
}

static int resolve(struct capture_code *c)
{
	for (u32 i = 0; i < c->nr_jumps && !c->full; i++)
		c->at[c->jumps[i].at].off =
			(s16)(c->labels[c->jumps[i].label] - (s32)c->jumps[i].at - 1);
	return c->full ? -E2BIG : 0;
}

#define IF(op, dst, value)		 INSN(BPF_JMP | (op) | BPF_K, dst, 0, 0, value)
#define IF_REG(op, dst, src)		 INSN(BPF_JMP | (op) | BPF_X, dst, src, 0, 0)
#define GOTO				 INSN(BPF_JMP | BPF_JA, 0, 0, 0, 0)
#define LOAD_SIZE(size, dst, src, off)	 INSN(BPF_LDX | BPF_MEM | (size), dst, src, (s16)(off), 0)
#define STORE_SIZE(size, dst, off, src)	 INSN(BPF_STX | BPF_MEM | (size), dst, src, (s16)(off), 0)
#define STORE_IMM(size, dst, off, value) INSN(BPF_ST | BPF_MEM | (size), dst, 0, (s16)(off), value)
#define MATH(op, dst, value)		 INSN(BPF_ALU64 | (op) | BPF_K, dst, 0, 0, value)
#define MATH_REG(op, dst, src)		 INSN(BPF_ALU64 | (op) | BPF_X, dst, src, 0, 0)

static void add_map(struct capture_code *c, u32 dst, int map)
{
	add(c, INSN(BPF_LD | BPF_DW | BPF_IMM, dst, BPF_PSEUDO_MAP_FD, 0, map));
	add(c, INSN(0, 0, 0, 0, 0));
}

static void add_number(struct capture_code *c, u32 dst, u64 value)
{
	add(c, INSN(BPF_LD | BPF_DW | BPF_IMM, dst, 0, 0, (s32)value));
	add(c, INSN(0, 0, 0, 0, (s32)(value >> 32)));
}

/* ---- registers of the interrupted program ----------------------------------------------------------------------- */

/* What is copied of struct pt_regs, and where in it an argument, the number and the mode are. The structure is part of the kernel's ABI. */
struct capture_regs {
	u16 from, len;
	u16 args[SYSCALL_ARGS], compat_args[SYSCALL_ARGS], first_at_exit, nr;
	u16 mode;
	u32 mode_mask, mode_compat;
};

#if defined(__x86_64__)
/* r15 r14 r13 r12 bp (at 32) bx r11 r10 r9 r8 ax cx dx si di orig_ax ip cs */
static const struct capture_regs layout = { .from = 32,
					    .len = 112,
					    .args = { 112, 104, 96, 56, 72, 64 },
					    .compat_args = { 40, 88, 96, 104, 112, 32 },
					    .first_at_exit = 112,
					    .nr = 120,
					    .mode = 136,
					    .mode_mask = 0xffff,
					    .mode_compat = 0x23 };
#elif defined(__aarch64__)
/* x0 .. x30 sp pc pstate orig_x0 syscallno */
static const struct capture_regs layout = { .from = 0,
					    .len = 288,
					    .args = { 0, 8, 16, 24, 32, 40 },
					    .compat_args = { 0, 8, 16, 24, 32, 40 },
					    .first_at_exit = 272,
					    .nr = 280,
					    .mode = 264,
					    .mode_mask = 0x10,
					    .mode_compat = 0x10 };
#else
static const struct capture_regs layout = { 0 };
#endif

/* The stack: a key, a task's value, and the copy of registers below them. */
enum {
	SLOT_KEY = -8,
	SLOT_TASK = -16, /* struct capture_task * */
	SLOT_NEW = -24, /* a value for the map of tasks */
	SLOT_NS = -32,
	SLOT_LEN = -40,
	REGS_TOP = -48,
};

static s16 reg_slot(u16 at)
{
	return (s16)(REGS_TOP - layout.len + at - layout.from);
}

/* ctx is in R6. Leaves if the registers cannot be read. */
static void add_read_regs(struct capture_code *c, u32 out)
{
	add(c, MOV(R1, R10));
	add(c, ADD_IMM(R1, REGS_TOP - layout.len));
	add(c, MOV_IMM(R2, layout.len));
	add(c, LOAD(R3, R6, 0));
	add(c, ADD_IMM(R3, layout.from));
	add(c, CALL(BPF_FUNC_probe_read_kernel));
	jump(c, IF(BPF_JNE, R0, 0), out);
}

/* ---- tasks ------------------------------------------------------------------------------------------------------ */

/* R0: thread group and thread as our namespace has them. */
static void add_current_ids(struct capture_code *c, const struct capture_namespace *ns)
{
	if (!ns->dev) {
		add(c, CALL(BPF_FUNC_get_current_pid_tgid));
		return;
	}
	add(c, STORE_IMM(BPF_DW, R10, SLOT_NS, 0));
	add_number(c, R1, ns->dev);
	add_number(c, R2, ns->ino);
	add(c, MOV(R3, R10));
	add(c, ADD_IMM(R3, SLOT_NS));
	add(c, MOV_IMM(R4, 8));
	add(c, CALL(BPF_FUNC_get_ns_current_pid_tgid));
	/* struct bpf_pidns_info has them the other way round. */
	add(c, LOAD_SIZE(BPF_W, R1, R10, SLOT_NS));
	add(c, LOAD_SIZE(BPF_W, R0, R10, SLOT_NS + 4));
	add(c, MATH(BPF_LSH, R0, 32));
	add(c, MATH_REG(BPF_OR, R0, R1));
}

static void add_lookup(struct capture_code *c, int map)
{
	add_map(c, R1, map);
	add(c, MOV(R2, R10));
	add(c, ADD_IMM(R2, SLOT_KEY));
	add(c, CALL(BPF_FUNC_map_lookup_elem));
}

/* The value at SLOT_NEW gets the key at SLOT_KEY; one that does not fit is counted. */
static void add_insert(struct capture_code *c, const struct capture *cap)
{
	u32 done = new_label(c);
	add_map(c, R1, cap->tasks);
	add(c, MOV(R2, R10));
	add(c, ADD_IMM(R2, SLOT_KEY));
	add(c, MOV(R3, R10));
	add(c, ADD_IMM(R3, SLOT_NEW));
	add(c, MOV_IMM(R4, BPF_ANY));
	add(c, CALL(BPF_FUNC_map_update_elem));
	jump(c, IF(BPF_JEQ, R0, 0), done);
	add(c, STORE_IMM(BPF_DW, R10, SLOT_KEY, 0));
	add_lookup(c, cap->count);
	jump(c, IF(BPF_JEQ, R0, 0), done);
	add(c, MOV_IMM(R1, 1));
	add(c, INSN(BPF_STX | BPF_XADD | BPF_DW, R0, R1, 0, 0));
	place(c, done);
}

static void add_delete(struct capture_code *c, int map)
{
	add_map(c, R1, map);
	add(c, MOV(R2, R10));
	add(c, ADD_IMM(R2, SLOT_KEY));
	add(c, CALL(BPF_FUNC_map_delete_elem));
}

static void add_current_key(struct capture_code *c)
{
	add(c, CALL(BPF_FUNC_get_current_task));
	add(c, STORE(R10, SLOT_KEY, R0));
}

/*
 * R0: the value of the current task. One that is known by its number only becomes known by its structure. Leaves if it is not followed.
 */
static void add_find_task(struct capture_code *c, const struct capture *cap,
			  const struct capture_namespace *ns, u32 out)
{
	u32 found = new_label(c);
	add_current_key(c);
	add_lookup(c, cap->tasks);
	jump(c, IF(BPF_JNE, R0, 0), found);
	add_current_ids(c, ns);
	add(c, STORE_IMM(BPF_DW, R10, SLOT_KEY, 0));
	add(c, STORE_SIZE(BPF_W, R10, SLOT_KEY, R0));
	add_lookup(c, cap->waiting);
	jump(c, IF(BPF_JEQ, R0, 0), out);
	add(c, LOAD(R1, R0, 0));
	add(c, STORE(R10, SLOT_NEW, R1));
	add_delete(c, cap->waiting);
	add_current_key(c);
	add_insert(c, cap);
	add_current_key(c);
	add_lookup(c, cap->tasks);
	jump(c, IF(BPF_JEQ, R0, 0), out);
	place(c, found);
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

/*
 * R6: ctx, R7: the call's row, R8: the scratch area. R9 is free.
 */
#define SCRATCH(field) ((s16)offsetof(struct capture_scratch, field))
enum { DATA_FULL = SYSCALL_PIECES * CAPTURE_PIECE_MAX };

/* R1: where the next piece goes; leaves when there is no more room. */
static void add_room(struct capture_code *c, u32 data_at, u32 full)
{
	add(c, LOAD(R1, R8, SCRATCH(used)));
	jump(c, IF(BPF_JGT, R1, DATA_FULL), full);
	add(c, MATH_REG(BPF_ADD, R1, R8));
	add(c, ADD_IMM(R1, (s32)data_at));
}

/* R2: at most as much as a piece can be; none: to the next one. */
static void add_limit(struct capture_code *c, u32 next)
{
	u32 fits = new_label(c);
	jump(c, IF(BPF_JEQ, R2, 0), next);
	jump(c, IF(BPF_JLE, R2, CAPTURE_PIECE_MAX), fits);
	add(c, MOV_IMM(R2, CAPTURE_PIECE_MAX));
	place(c, fits);
}

/* R0 bytes came. */
static void add_came(struct capture_code *c, s16 len_at)
{
	add(c, STORE_SIZE(BPF_H, R8, len_at, R0));
	add(c, LOAD(R1, R8, SCRATCH(used)));
	add(c, MATH_REG(BPF_ADD, R1, R0));
	add(c, STORE(R8, SCRATCH(used), R1));
}

/* An array of pointers: each string with its NUL. */
static void add_strings(struct capture_code *c, u32 data_at, s16 len_at, u32 next)
{
	enum { STRING_MAX = 256 };
	add(c, MOV(R1, R8));
	add(c, ADD_IMM(R1, SCRATCH(ptrs)));
	add(c, MOV_IMM(R2, sizeof(((struct capture_scratch *)0)->ptrs)));
	add(c, CALL(BPF_FUNC_probe_read_user));
	add(c, STORE_SIZE(BPF_H, R8, len_at, R0));
	jump(c, IF(BPF_JNE, R0, 0), next);
	for (u32 i = 0; i <= CAPTURE_STRINGS; i++) {
		add(c, LOAD(R3, R8, SCRATCH(ptrs) + (s16)(i * sizeof(u64))));
		jump(c, IF(BPF_JEQ, R3, 0), next);
		add_room(c, data_at, next);
		add(c, MOV_IMM(R2, i < CAPTURE_STRINGS ? STRING_MAX : 1));
		add(c, CALL(BPF_FUNC_probe_read_user_str));
		jump(c, IF(BPF_JSLE, R0, 0), next);
		jump(c, IF(BPF_JGT, R0, STRING_MAX), next);
		add(c, LOAD(R1, R8, SCRATCH(used)));
		add(c, MATH_REG(BPF_ADD, R1, R0));
		add(c, STORE(R8, SCRATCH(used), R1));
		add(c, LOAD_SIZE(BPF_H, R1, R8, len_at));
		add(c, MATH_REG(BPF_ADD, R1, R0));
		add(c, STORE_SIZE(BPF_H, R8, len_at, R1));
	}
	jump(c, GOTO, next);
}

/* One piece. at_exit: those of the end, and those of the entry that could not be read there. */
static void add_piece(struct capture_code *c, u32 i, bool at_exit, u32 data_at, s16 len_at, u32 done)
{
	s16 row = (s16)(offsetof(struct capture_row, pieces) + i * sizeof(struct syscall_piece));
	u32 next = new_label(c), bytes = new_label(c), fault = new_label(c), wanted = new_label(c);
	u32 strings = new_label(c), counted = new_label(c), small = new_label(c);
	add(c, LOAD_SIZE(BPF_B, R4, R7, row + (s16)offsetof(struct syscall_piece, how)));
	jump(c, IF(BPF_JEQ, R4, SYSCALL_PIECE_NONE), next);
	add(c, LOAD_SIZE(BPF_B, R2, R7, row + (s16)offsetof(struct syscall_piece, when)));
	if (at_exit) {
		u32 left_over = new_label(c);
		jump(c, IF(BPF_JEQ, R2, SYSCALL_AT_ENTER), left_over);
		/* A call that failed has written nothing. */
		add(c, LOAD(R2, R8, SCRATCH(args) + (s16)(SYSCALL_ARGS * sizeof(u64))));
		jump(c, IF(BPF_JSGE, R2, 0), wanted);
		place(c, left_over);
		add(c, LOAD(R2, R8, SCRATCH(again)));
		jump(c, IF(BPF_JSET, R2, 1 << i), wanted);
		jump(c, GOTO, next);
	} else {
		jump(c, IF(BPF_JSET, R2, SYSCALL_AT_ENTER), wanted);
		jump(c, GOTO, next);
	}
	place(c, wanted);
	add(c, LOAD_SIZE(BPF_B, R3, R7, row + (s16)offsetof(struct syscall_piece, arg)));
	add(c, MATH(BPF_AND, R3, 7));
	add(c, MATH(BPF_LSH, R3, 3));
	add(c, MATH_REG(BPF_ADD, R3, R8));
	add(c, LOAD(R3, R3, SCRATCH(args)));
	jump(c, IF(BPF_JEQ, R3, 0), next);
	add(c, LOAD_SIZE(BPF_H, R2, R7, row + (s16)offsetof(struct syscall_piece, max)));
	if (i + 1 == SYSCALL_PIECES)
		jump(c, IF(BPF_JEQ, R4, SYSCALL_PIECE_STRINGS), strings);
	jump(c, IF(BPF_JNE, R4, SYSCALL_PIECE_STRING), bytes);

	add_limit(c, next);
	add_room(c, data_at, done);
	add(c, CALL(BPF_FUNC_probe_read_user_str));
	jump(c, IF(BPF_JSLE, R0, 0), fault);
	jump(c, IF(BPF_JGT, R0, CAPTURE_PIECE_MAX), next);
	add_came(c, len_at);
	jump(c, GOTO, next);

	place(c, bytes);
	jump(c, IF(BPF_JEQ, R4, SYSCALL_PIECE_FIXED), counted);
	add(c, LOAD_SIZE(BPF_B, R5, R7, row + (s16)offsetof(struct syscall_piece, len_arg)));
	add(c, MATH(BPF_AND, R5, 7));
	add(c, MATH(BPF_LSH, R5, 3));
	add(c, MATH_REG(BPF_ADD, R5, R8));
	add(c, LOAD(R5, R5, SCRATCH(args)));
	/* The result is where a seventh argument would be; a negative one is larger than any piece, but nothing was written then. */
	jump(c, IF(BPF_JSLE, R5, 0), next);
	jump(c, IF(BPF_JGT, R5, CAPTURE_PIECE_MAX), counted);
	add(c, LOAD_SIZE(BPF_H, R1, R7, row + (s16)offsetof(struct syscall_piece, unit)));
	add(c, MATH_REG(BPF_MUL, R5, R1));
	jump(c, IF_REG(BPF_JLE, R2, R5), small);
	add(c, MOV(R2, R5));
	place(c, small);
	place(c, counted);
	add_limit(c, next);
	add(c, STORE(R10, SLOT_LEN, R2));
	add_room(c, data_at, done);
	add(c, CALL(BPF_FUNC_probe_read_user));
	jump(c, IF(BPF_JNE, R0, 0), fault);
	add(c, LOAD(R0, R10, SLOT_LEN));
	add_came(c, len_at);
	jump(c, GOTO, next);

	if (i + 1 == SYSCALL_PIECES) {
		place(c, strings);
		add_strings(c, data_at, len_at, next);
	}
	place(c, fault);
	add(c, STORE_IMM(BPF_H, R8, len_at, -EFAULT));
	if (!at_exit) {
		add(c, LOAD(R1, R8, SCRATCH(again)));
		add(c, MATH(BPF_OR, R1, 1 << i));
		add(c, STORE(R8, SCRATCH(again), R1));
	}
	place(c, next);
}

/* What is in the scratch area is written: head bytes, and the pieces. */
static void add_output(struct capture_code *c, const struct capture *cap, u32 head)
{
	u32 fits = new_label(c);
	add(c, LOAD(R5, R8, SCRATCH(used)));
	jump(c, IF(BPF_JLE, R5, DATA_FULL + CAPTURE_PIECE_MAX), fits);
	add(c, MOV_IMM(R5, 0));
	place(c, fits);
	add(c, ADD_IMM(R5, (s32)head));
	add(c, MOV(R1, R6));
	add_map(c, R2, cap->out);
	add(c, INSN(BPF_ALU | BPF_MOV | BPF_K, R3, 0, 0, -1)); /* BPF_F_CURRENT_CPU */
	add(c, MOV(R4, R8));
	add(c, ADD_IMM(R4, SCRATCH(record)));
	add(c, CALL(BPF_FUNC_perf_event_output));
}

/* ---- the programs ----------------------------------------------------------------------------------------------- */

static void add_leave(struct capture_code *c, u32 out)
{
	place(c, out);
	add(c, MOV_IMM(R0, 0));
	add(c, EXIT());
}

/* The task that makes the call: SLOT_TASK has its value, or 0 where all tasks are seen. R9: the flags of the record. */
static void add_check_task(struct capture_code *c, const struct capture *cap,
			   const struct capture_namespace *ns, u32 out)
{
	add(c, MOV_IMM(R9, 0));
	if (!cap->o.everybody) {
		add_find_task(c, cap, ns, out);
		add(c, STORE(R10, SLOT_TASK, R0));
		return;
	}
	add_current_ids(c, ns);
	add(c, MATH(BPF_RSH, R0, 32));
	jump(c, IF(BPF_JEQ, R0, (s32)getpid()), out);
	add_current_key(c);
	add_lookup(c, cap->tasks);
	add(c, STORE(R10, SLOT_TASK, R0));
}

/* R7: the row of the call whose number is in R1. */
static void add_find_row(struct capture_code *c, const struct capture *cap, u32 out)
{
	add(c, STORE_IMM(BPF_DW, R10, SLOT_KEY, 0));
	add(c, STORE_SIZE(BPF_W, R10, SLOT_KEY, R1));
	add_lookup(c, cap->table);
	jump(c, IF(BPF_JEQ, R0, 0), out);
	add(c, MOV(R7, R0));
	add(c, LOAD_SIZE(BPF_B, R1, R7, offsetof(struct capture_row, shown)));
	jump(c, IF(BPF_JEQ, R1, 0), out);
}

static void add_scratch(struct capture_code *c, const struct capture *cap, u32 out)
{
	add(c, STORE_IMM(BPF_DW, R10, SLOT_KEY, 0));
	add_lookup(c, cap->scratch);
	jump(c, IF(BPF_JEQ, R0, 0), out);
	add(c, MOV(R8, R0));
	add(c, STORE_IMM(BPF_DW, R8, SCRATCH(used), 0));
	add(c, STORE_IMM(BPF_DW, R8, SCRATCH(again), 0));
}

/* Calls of 32-bit programs have numbers of their own: in R1 they are moved to where the table has them. */
static void add_compat(struct capture_code *c)
{
	u32 native = new_label(c);
	add(c, LOAD(R2, R10, reg_slot(layout.mode)));
	add(c, MATH(BPF_AND, R2, (s32)layout.mode_mask));
	jump(c, IF(BPF_JNE, R2, (s32)layout.mode_compat), native);
	jump(c, IF(BPF_JGE, R1, SYSCALL_COMPAT), native);
	add(c, ADD_IMM(R1, SYSCALL_COMPAT));
	add(c, MATH(BPF_OR, R9, CAPTURE_COMPAT));
	place(c, native);
}

static void add_head(struct capture_code *c, enum capture_kind kind)
{
	add(c, STORE_IMM(BPF_W, R8, SCRATCH(record.enter.head.magic), CAPTURE_MAGIC));
	add(c, STORE_IMM(BPF_B, R8, SCRATCH(record.enter.head.kind), kind));
	add(c, STORE_SIZE(BPF_B, R8, SCRATCH(record.enter.head.flags), R9));
	add(c, STORE_IMM(BPF_H, R8, SCRATCH(record.enter.head.unused), 0));
	add(c, LOAD_SIZE(BPF_W, R1, R10, SLOT_LEN));
	add(c, STORE_SIZE(BPF_W, R8, SCRATCH(record.enter.head.nr), R1));
	add(c, STORE_IMM(BPF_W, R8, SCRATCH(record.enter.head.unused_too), 0));
	s16 len = kind == CAPTURE_ENTER ? SCRATCH(record.enter.len) : SCRATCH(record.exit.len);
	for (u32 i = 0; i < (SYSCALL_PIECES + 2) * sizeof(s16) / sizeof(u64); i++)
		add(c, STORE_IMM(BPF_DW, R8, len + (s16)(i * sizeof(u64)), 0));
}

static void add_args(struct capture_code *c, const u16 *from)
{
	for (u32 i = 0; i < SYSCALL_ARGS; i++) {
		add(c, LOAD(R1, R10, reg_slot(from[i])));
		add(c, STORE(R8, SCRATCH(args) + (s16)(i * sizeof(u64)), R1));
		add(c, STORE(R8, SCRATCH(record.enter.args) + (s16)(i * sizeof(u64)), R1));
	}
}

/* The pieces that could not be read are noted with the task. */
static void add_note_again(struct capture_code *c, const struct capture *cap)
{
	u32 done = new_label(c);
	if (cap->o.everybody) {
		add(c, LOAD(R1, R8, SCRATCH(again)));
		jump(c, IF(BPF_JEQ, R1, 0), done);
		add(c, STORE_IMM(BPF_W, R10, SLOT_NEW, TASK_ON));
		add(c, STORE_SIZE(BPF_W, R10, SLOT_NEW + 4, R1));
		add_current_key(c);
		add_insert(c, cap);
	} else {
		add(c, LOAD(R0, R10, SLOT_TASK));
		add(c, LOAD(R1, R8, SCRATCH(again)));
		add(c, STORE_SIZE(BPF_W, R0, offsetof(struct capture_task, again), R1));
	}
	place(c, done);
}

static void make_enter(struct capture_code *c, const struct capture *cap,
		       const struct capture_namespace *ns)
{
	u32 out = new_label(c), on = new_label(c), exec = new_label(c), output = new_label(c);
	u32 no_pieces = new_label(c), compat = new_label(c), known = new_label(c);
	add(c, MOV(R6, R1));
	add_check_task(c, cap, ns, out);
	if (!cap->o.everybody) {
		add(c, LOAD_SIZE(BPF_W, R1, R0, offsetof(struct capture_task, state)));
		jump(c, IF(BPF_JEQ, R1, TASK_ON), on);
		add(c, LOAD(R1, R6, 8));
		for (size_t i = 0; i < ARRAY_SIZE(cap->o.execs); i++)
			if (cap->o.execs[i] >= 0)
				jump(c, IF(BPF_JEQ, R1, (s32)cap->o.execs[i]), exec);
		jump(c, GOTO, out);
		place(c, exec);
		add(c, MOV_IMM(R9, CAPTURE_BEFORE_EXEC));
		place(c, on);
	}
	add_read_regs(c, out);
	add(c, LOAD(R1, R6, 8));
	add_compat(c);
	add(c, STORE(R10, SLOT_LEN, R1));
	add_find_row(c, cap, out);
	add_scratch(c, cap, out);
	add_head(c, CAPTURE_ENTER);
	jump(c, IF(BPF_JSET, R9, CAPTURE_COMPAT), compat);
	add_args(c, layout.args);
	jump(c, GOTO, known);
	place(c, compat);
	add_args(c, layout.compat_args);
	place(c, known);
	add(c, LOAD_SIZE(BPF_B, R1, R7, offsetof(struct capture_row, when)));
	jump(c, IF(BPF_JEQ, R1, 0), no_pieces);
	for (u32 i = 0; i < SYSCALL_PIECES; i++)
		add_piece(c, i, false,
			  offsetof(struct capture_scratch, record) + sizeof(struct capture_enter),
			  SCRATCH(record.enter.len) + (s16)(i * sizeof(s16)), output);
	place(c, output);
	add_note_again(c, cap);
	place(c, no_pieces);
	add_output(c, cap, sizeof(struct capture_enter));
	add_leave(c, out);
}

static void make_exit(struct capture_code *c, const struct capture *cap,
		      const struct capture_namespace *ns)
{
	u32 out = new_label(c), output = new_label(c), nothing = new_label(c), again = new_label(c);
	u32 known = new_label(c);
	add(c, MOV(R6, R1));
	add_check_task(c, cap, ns, out);
	if (!cap->o.everybody) {
		add(c, LOAD_SIZE(BPF_W, R1, R0, offsetof(struct capture_task, state)));
		jump(c, IF(BPF_JNE, R1, TASK_ON), out);
	}
	add_read_regs(c, out);
	add(c, LOAD_SIZE(BPF_W, R1, R10, reg_slot(layout.nr)));
	add_compat(c);
	add(c, STORE(R10, SLOT_LEN, R1));
	add_find_row(c, cap, out);
	add_scratch(c, cap, out);
	add_head(c, CAPTURE_EXIT);
	add(c, LOAD(R1, R6, 8));
	add(c, STORE(R8, SCRATCH(record.exit.ret), R1));
	add(c, STORE(R8, SCRATCH(args) + (s16)(SYSCALL_ARGS * sizeof(u64)), R1));
	/* What was left over at the entry. */
	add(c, LOAD(R0, R10, SLOT_TASK));
	jump(c, IF(BPF_JEQ, R0, 0), known);
	add(c, LOAD_SIZE(BPF_W, R2, R0, offsetof(struct capture_task, again)));
	add(c, STORE(R8, SCRATCH(again), R2));
	add(c, STORE_IMM(BPF_W, R0, offsetof(struct capture_task, again), 0));
	if (cap->o.everybody) {
		add_current_key(c);
		add_delete(c, cap->tasks);
	}
	place(c, known);
	add(c, LOAD(R2, R8, SCRATCH(again)));
	jump(c, IF(BPF_JNE, R2, 0), again);
	add(c, LOAD_SIZE(BPF_B, R2, R7, offsetof(struct capture_row, when)));
	jump(c, IF(BPF_JSET, R2, SYSCALL_AT_EXIT), again);
	jump(c, GOTO, nothing);
	place(c, again);
	for (u32 i = 0; i < SYSCALL_ARGS; i++) {
		add(c, LOAD(R1, R10, reg_slot(i ? layout.args[i] : layout.first_at_exit)));
		add(c, STORE(R8, SCRATCH(args) + (s16)(i * sizeof(u64)), R1));
	}
	for (u32 i = 0; i < SYSCALL_PIECES; i++)
		add_piece(c, i, true,
			  offsetof(struct capture_scratch, record) + sizeof(struct capture_exit),
			  SCRATCH(record.exit.len) + (s16)(i * sizeof(s16)), output);
	place(c, output);
	place(c, nothing);
	add_output(c, cap, sizeof(struct capture_exit));
	add_leave(c, out);
}

/* A child is followed as its parent is: sched_process_fork(parent, child), by the parent. */
static void make_fork(struct capture_code *c, const struct capture *cap,
		      const struct capture_namespace *ns)
{
	u32 out = new_label(c);
	add(c, MOV(R6, R1));
	add_find_task(c, cap, ns, out);
	add(c, LOAD_SIZE(BPF_W, R1, R0, offsetof(struct capture_task, state)));
	add(c, STORE_IMM(BPF_DW, R10, SLOT_NEW, 0));
	add(c, STORE_SIZE(BPF_W, R10, SLOT_NEW, R1));
	add(c, LOAD(R1, R6, 8));
	add(c, STORE(R10, SLOT_KEY, R1));
	add_insert(c, cap);
	add_leave(c, out);
}

static void make_exec(struct capture_code *c, const struct capture *cap,
		      const struct capture_namespace *ns)
{
	u32 out = new_label(c);
	add_find_task(c, cap, ns, out);
	add(c, STORE_IMM(BPF_W, R0, offsetof(struct capture_task, state), TASK_ON));
	add(c, STORE_IMM(BPF_W, R0, offsetof(struct capture_task, again), 0));
	add_leave(c, out);
}

static void make_end(struct capture_code *c, const struct capture *cap,
		     const struct capture_namespace *ns)
{
	u32 out = new_label(c);
	add_current_key(c);
	add_delete(c, cap->tasks);
	add_current_ids(c, ns);
	add(c, STORE_IMM(BPF_DW, R10, SLOT_KEY, 0));
	add(c, STORE_SIZE(BPF_W, R10, SLOT_KEY, R0));
	add_delete(c, cap->waiting);
	add_leave(c, out);
}

int capture_make(struct capture_code *code, enum capture_program which, const struct capture *c,
		 const struct capture_namespace *ns)
{
	static void (*const makers[])(struct capture_code *, const struct capture *,
				      const struct capture_namespace *) = {
		[PROGRAM_ENTER] = make_enter,	  [PROGRAM_EXIT] = make_exit,
		[PROGRAM_FORK] = make_fork,	  [PROGRAM_EXEC] = make_exec,
		[PROGRAM_END_OF_TASK] = make_end,
	};
	if (!layout.len)
		return -ENOTSUP;
	*code = (struct capture_code){ 0 };
	makers[which](code, c, ns);
	return resolve(code);
}
