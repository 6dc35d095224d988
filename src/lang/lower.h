/*
 * From tree to IR, for one attach point. A value is a number, a register, or a place in memory that the code may read; an address of the
 * kernel's or a program's memory is only a number that helpers take.
 */
#pragma once

#include "lang/check.h"
#include "lang/ir.h"

enum value_kind {
	VALUE_NONE,
	VALUE_IMM, /* imm */
	VALUE_REG, /* reg */
	VALUE_MEM, /* at reg + off: own memory */
	VALUE_CTX, /* at reg + off: the context of the probe */
	VALUE_ADDR, /* at the address reg + off: memory of the kernel or of a program */
};

struct value {
	enum value_kind kind;
	bool own; /* ADDR: it is own memory all the same */
	int reg;
	s64 imm;
	s32 off;
};

struct place {
	int base;
	s32 off;
};

struct lower_loop {
	int next, end; /* labels */
	struct lower_loop *outer;
};

/* The body of a loop over a map: a function of its own. */
struct lower_callback {
	struct ir ir;
	u32 frame;
	u32 number; /* from 1 on */
	const struct lower_callback *caller; /* the loop around it; NULL: the code of the probe */
	u32 depth; /* loops around it */
	struct lower_callback *next; /* in the order of their numbers */
};

struct lower {
	struct checker *check;
	struct program *program;
	struct arena *arena;
	struct ir *ir;
	const struct lang_input *in;
	struct probe_block *block;
	const struct program_probe *probe;
	u32 point;
	int ctx; /* register */
	int scratch; /* register with the frame in scratch memory; 0: not asked for yet */
	int label_end;
	u32 stack_used, stack_max;
	u32 stack_limit; /* what is beyond goes to scratch memory */
	u32 scratch_used, scratch_max;
	struct lower_loop *loop;
	int inline_end; /* label behind the function that is being lowered; -1: none that can be reached */
	struct lower_shared *shared;
	/* Where the value that is being made is to go, if its maker can: lower_dest(). */
	/* Where variables in memory are: at fp, or for a callback at what its caller handed over. */
	int var_base;
	s32 var_shift;
	struct lower_callback *callback; /* that is being lowered; NULL: the code of the probe */
	bool is_tight; /* the stack was too small: temporary values go to scratch memory, and ranges are loops without callbacks */
	struct lower_callback *callbacks;
	u32 nr_callbacks;
	struct place want;
	u32 want_size; /* 0: nowhere */
	bool want_output; /* a record: what follows the end of a string is of no interest */
	int err;
};

/* What all codes of a program share: numbers in program.maps, UINT32_MAX: not needed yet. */
struct lower_shared {
	u32 ring, control, drops, full, data, scratch, stacks, facts;
	u32 scratch_size; /* of one frame */
	u32 zeros_size, stack_limit;
	struct strbuf bytes; /* of the data map */
};

/* Stack for what is small, else the frame in scratch memory. */
/* A code and a callback of it share 512 bytes with what finds no register. */
enum {
	LOWER_STACK_VALUE = 32,
	LOWER_STACK_MAX = 336,
	LOWER_STACK_TIGHT = 64,
	LOWER_STACK_CALLER = 40,
	LOWER_STACK_CALLBACK = 48,
	LOWER_SCRATCH_LEVELS = 4,
	LOWER_LOOPS_MAX = 4,
};

int lower_point(struct lower *l);
int lower_shared_finish(struct program *p, struct lower_shared *s) must_check;

int lower_fail(struct lower *l, const struct node *n, int err, const char *fmt, ...)
	printf_like(4, 5);
struct value lower_expr(struct lower *l, struct node *n);
/* A scalar in a register that is nobody else's. */
int lower_reg(struct lower *l, struct node *n);
int value_reg(struct lower *l, struct value v);
/* The value of n, as a value of type t, to memory. */
void lower_into(struct lower *l, struct node *n, struct place to, const struct program_type *t);
/* The same to a record of the ring. */
void lower_output(struct lower *l, struct node *n, struct place to, const struct program_type *t);
void lower_store(struct lower *l, struct value v, const struct program_type *from, struct place to,
		 const struct program_type *t);
/* Jumps to the label if n is false (or true), else goes on. */
void lower_branch(struct lower *l, struct node *n, int label, bool when);
void lower_statement(struct lower *l, struct node *n);
/* The code of a function of the script: its result is in n->a. */
void lower_inline(struct lower *l, struct node *n);

/* Memory for size bytes until the statement ends, not zeroed. */
struct place lower_temp(struct lower *l, u32 size);
/* In any case there: the verifier does not know what it holds. */
struct place lower_scratch(struct lower *l, u32 size);
/* Of a variable that is not in a register. */
struct place lower_var_place(const struct lower *l, const struct var *v);
/* The same for a value of the type: where it is wanted, else a temporary place. To be called before anything else is lowered. */
struct place lower_dest(struct lower *l, const struct program_type *t, bool *output);
/*
 * Makes the verifier forget what it knows about a number, by a detour through memory of a map. Of a loop that may end at any byte it would
 * follow each end separately through all that comes after.
 */
void lower_forget(struct lower *l, int reg);
void lower_zero(struct lower *l, struct place at, u32 size);
void lower_copy(struct lower *l, struct place to, struct place from, u32 size);
struct value place_value(struct place p);

static inline struct value value_imm(s64 v)
{
	return (struct value){ .kind = VALUE_IMM, .imm = v };
}
static inline struct value value_of(int reg)
{
	return (struct value){ .kind = VALUE_REG, .reg = reg };
}
static inline struct place place_at(struct place p, s32 off)
{
	return (struct place){ p.base, p.off + off };
}
static inline struct ir_arg arg_place(struct place p)
{
	return ir_arg_address(p.base, p.off);
}

/* A scalar of a type, at an address of somebody else's memory. */
int lower_read(struct lower *l, int address, s32 off, const struct program_type *t, bool kernel);
/* helper(to, size, address): of the kernel or of a program, by the address. */
void lower_read_bytes(struct lower *l, struct place to, u32 size, struct ir_arg address, bool text,
		      bool kernel);
/* The same for a size that is in a register. */
void lower_read_sized(struct lower *l, struct place to, struct ir_arg size, struct ir_arg address,
		      bool text, bool kernel);
/* Loads a register of the code that is probed ("di", "x0") into r. false: with an error. */
bool lower_probe_register(struct lower *l, const char *name, int r);
/* Cuts and extends what is in the register as the type says. */
void lower_fit(struct lower *l, int reg, const struct program_type *t);
/* A number for a map of the run's own, made when it is first asked for. */
u32 lower_ring(struct lower *l);
/* Text in the data map: its offset. */
u32 lower_data(struct lower *l, const void *bytes, u32 size);

/*
 * A record for the action: begin() reserves it, the fields are written to its place, end() sends it. control: must not get lost.
 * The code between begin and end runs only where there was room.
 */
struct lower_record {
	struct place fields;
	int reg, label_full;
	bool control;
};
void lower_record_begin(struct lower *l, u32 action, bool control, struct lower_record *r);
void lower_record_end(struct lower *l, struct lower_record *r);
/* A new action; the record type is made of nr fields. -1: no memory. */
s64 lower_action(struct lower *l, const struct node *n, enum program_action_kind kind,
		 const struct program_type *const *types, u32 nr);

/* A struct or array in own memory is read as one of the kernel's: always VALUE_ADDR. */
struct value lower_address(struct lower *l, struct value v);

/* lower_each.c */
/* How many keys the map has now. */
void lower_count_keys(struct lower *l, struct node *n, const struct map *m, int result);
/* A loop whose body is a callback: over a map or a range. */
void lower_each(struct lower *l, struct node *n);
/* Whether a variable is used in a loop of that statement other than as the variable of the loop. */
bool lower_is_looped(const struct node *n, const struct var *v);

/* lower_map.c */
struct value lower_map_get(struct lower *l, struct node *n);
void lower_map_assign(struct lower *l, struct node *n, struct node *value);
struct value lower_map_step(struct lower *l, struct node *n, int by, bool old);
/* The key of a map's use, in memory; with one entry: zero. */
struct place lower_map_key(struct lower *l, struct node *n);
/* The value's address or 0. */
int lower_map_lookup(struct lower *l, struct map *m, struct place key);

/* The kernel's helpers that the code calls. */
enum lower_helper {
	HELPER_MAP_LOOKUP = 1,
	HELPER_MAP_UPDATE = 2,
	HELPER_MAP_DELETE = 3,
	HELPER_KTIME = 5,
	HELPER_RANDOM = 7,
	HELPER_CPU = 8,
	HELPER_PID_TGID = 14,
	HELPER_UID_GID = 15,
	HELPER_COMM = 16,
	HELPER_TASK = 35,
	HELPER_NUMA_NODE = 42,
	HELPER_OVERRIDE = 58,
	HELPER_GET_STACK = 67,
	HELPER_CGROUP = 80,
	HELPER_SIGNAL = 109,
	HELPER_READ_USER = 112,
	HELPER_READ_KERNEL = 113,
	HELPER_READ_USER_STR = 114,
	HELPER_READ_KERNEL_STR = 115,
	HELPER_SIGNAL_THREAD = 117,
	HELPER_JIFFIES = 118,
	HELPER_NS_PID_TGID = 120,
	HELPER_KTIME_BOOT = 125,
	HELPER_RING_RESERVE = 131,
	HELPER_RING_SUBMIT = 132,
	HELPER_FOR_EACH = 164,
	HELPER_FUNC_IP = 173,
	HELPER_LOOP = 181,
	HELPER_COOKIE = 174,
	HELPER_TRACE_VPRINTK = 177,
	HELPER_MAP_LOOKUP_CPU = 195,
	HELPER_KTIME_TAI = 208,
};

/* The operator of "+=" is "+". */
u8 lower_plain_op(u8 assign);

/* lower_mem.c */
/* Number of the current process, or thread: of the run's own PID namespace, or (first) as the kernel itself has it. */
int lower_task_number(struct lower *l, bool thread, bool first);
u32 lower_facts(struct lower *l);
u32 lower_scratch_map(struct lower *l);
u32 lower_stacks(struct lower *l, u32 limit);
void lower_count_full(struct lower *l, u32 map);
void lower_count_drop(struct lower *l);
/* a op b of numbers; a is changed. */
void lower_arith(struct lower *l, u8 op, int a, struct value b, bool is_signed);
/* The same for a key that is in memory. */
struct value lower_map_read_key(struct lower *l, struct map *m, struct place key);
/* The number that an aggregate is, over all CPUs. */
struct value lower_map_read(struct lower *l, struct node *n);
/* @x op= value */
void lower_map_compound(struct lower *l, struct node *n, u8 op, struct node *value, bool is_signed);
