/* Strings, buffers, addresses, stacks. */
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/token.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static const char *param_text(const struct lang_input *in, const struct node *n)
{
	const char *text = check_param(in, n->number);
	return text ? text : "";
}

static const struct program_type *check_str(struct checker *c, struct node *n)
{
	s64 len;
	u32 size = c->program->config.max_strlen;
	if (n->list->kind == NODE_PARAM)
		return type_string(c->arena, (u32)strlen(param_text(c->in, n->list)) + 1);
	if (!n->list->type)
		return NULL;
	if (n->list->type->kind == PROGRAM_STRING && n->nr == 2) { /* only cut */
		n->text = "strcap";
		n->builtin = builtin_find(n->text);
		return n->builtin->check(c, n);
	}
	if (n->list->type->kind == PROGRAM_STRING)
		return n->list->type;
	if (!check_number(c, n->list) || (n->nr == 2 && !check_number(c, n->list->next)))
		return NULL;
	if (n->nr == 2 && check_constant(c, n->list->next, &len)) {
		if (len < 0 || len >= 1 << 16) {
			check_fail(c, n->list->next, -EINVAL, "the length is outside of 0 to 65535");
			return NULL;
		}
		size = min(size, (u32)len + 1);
	}
	/* Room is a multiple of 8; how many bytes are read is in number. */
	n->number = size;
	return type_string(c->arena, size);
}

/* min(reg + more, limit), which the verifier can follow. */
static int bounded(struct lower *l, struct node *n, s64 more, u32 limit)
{
	int r = ir_reg(l->ir), small = ir_label(l->ir);
	ir_mov(l->ir, r, lower_reg(l, n));
	ir_alu_imm(l->ir, BPF_ADD, r, more);
	ir_if_imm(l->ir, BPF_JLE, r, limit, small);
	ir_imm(l->ir, r, limit);
	ir_place_label(l->ir, small);
	return r;
}

static struct value lower_str(struct lower *l, struct node *n)
{
	s64 len;
	if (n->list->kind == NODE_PARAM) {
		const char *text = param_text(l->in, n->list);
		int r = ir_reg(l->ir);
		u32 at = lower_data(l, text, (u32)strlen(text) + 1);
		ir_map_value(l->ir, r, l->shared->data, at);
		return (struct value){ .kind = VALUE_MEM, .reg = r };
	}
	if (n->list->type->kind == PROGRAM_STRING)
		return lower_expr(l, n->list);
	bool output;
	struct place to = lower_dest(l, n->type, &output);
	int address = lower_reg(l, n->list);
	struct ir_arg size = ir_arg_imm(n->number);
	if (n->nr == 2 && !check_constant(l->check, n->list->next, &len))
		size = ir_arg_reg(bounded(l, n->list->next, 1, (u32)n->number));
	if (!output)
		lower_zero(l, to, type_room(n->type));
	else
		ir_store_imm(l->ir, to.base, to.off, 0, 8);
	lower_read_sized(l, to, size, ir_arg_reg(address), true, false);
	return place_value(to);
}

static const struct program_type *check_buf(struct checker *c, struct node *n)
{
	s64 len = c->program->config.max_strlen - 4;
	if (!n->list->type)
		return NULL;
	if (n->list->type->kind == PROGRAM_ARRAY && n->nr == 1) {
		n->number = n->list->type->size;
		return type_plain(c->arena, PROGRAM_BUFFER, 4 + n->list->type->size);
	}
	bool text = n->list->type->kind == PROGRAM_STRING;
	if (n->nr != 2) {
		check_fail(c, n, -EINVAL, "buf() needs a length");
		return NULL;
	}
	if ((!text && !check_number(c, n->list)) || !check_number(c, n->list->next))
		return NULL;
	if (text)
		len = min(len, (s64)n->list->type->size);
	s64 known;
	if (check_constant(c, n->list->next, &known)) {
		if (known < 1 || known > 1 << 15) {
			check_fail(c, n->list->next, -EINVAL, "the length is outside of 1 to 32768");
			return NULL;
		}
		len = min(len, known);
	}
	n->number = len;
	return type_plain(c->arena, PROGRAM_BUFFER, 4 + (u32)len);
}

static struct value lower_buf(struct lower *l, struct node *n)
{
	bool output;
	s64 known;
	struct place to = lower_dest(l, n->type, &output);
	struct value v = lower_address(l, lower_expr(l, n->list));
	int address = ir_reg(l->ir), len = ir_reg(l->ir);
	ir_lea(l->ir, address, v.reg, v.off);
	struct ir_arg size = ir_arg_imm(n->number);
	if (n->nr == 2 && !check_constant(l->check, n->list->next, &known)) {
		len = bounded(l, n->list->next, 0, (u32)n->number);
		size = ir_arg_reg(len);
	} else {
		ir_imm(l->ir, len, n->number);
	}
	if (!output)
		lower_zero(l, to, type_room(n->type));
	ir_store(l->ir, to.base, to.off, len, 4);
	lower_read_sized(l, place_at(to, 4), size, ir_arg_reg(address), false, false);
	return place_value(to);
}

static const struct program_type *check_strncmp(struct checker *c, struct node *n)
{
	s64 len;
	struct node *a = n->list, *b = a->next;
	if (!a->type || !b->type)
		return NULL;
	if (a->type->kind != PROGRAM_STRING || b->type->kind != PROGRAM_STRING) {
		check_fail(c, n, -EINVAL, "strncmp() compares two strings");
		return NULL;
	}
	if (!check_constant(c, b->next, &len) || len < 0) {
		check_fail(c, b->next, -EINVAL, "expected a constant number");
		return NULL;
	}
	n->number = len;
	return &type_u64;
}

static struct value lower_strncmp(struct lower *l, struct node *n)
{
	struct node *na = n->list, *nb = na->next;
	struct value a = lower_expr(l, na), b = lower_expr(l, nb);
	u32 room = min(type_room(na->type), type_room(nb->type));
	u32 bytes = (u32)min(n->number, (s64)room);
	int r = ir_reg(l->ir), end = ir_label(l->ir), x = ir_reg(l->ir), y = ir_reg(l->ir);
	if (bytes > 512) {
		lower_fail(l, n, -ENOTSUP, "strncmp() of more than 512 bytes is not supported yet");
		return value_imm(0);
	}
	ir_imm(l->ir, r, 1);
	for (u32 i = 0; i < bytes; i += 8) {
		u32 rest = min(8u, bytes - i);
		ir_load(l->ir, x, a.reg, a.off + (s32)i, 8);
		ir_load(l->ir, y, b.reg, b.off + (s32)i, 8);
		ir_alu(l->ir, BPF_XOR, x, y);
		if (rest < 8)
			ir_alu_imm(l->ir, BPF_LSH, x, 64 - rest * 8);
		ir_if_imm(l->ir, BPF_JNE, x, 0, end);
	}
	ir_imm(l->ir, r, 0);
	ir_place_label(l->ir, end);
	return value_of(r);
}

static const struct program_type *check_strlen(struct checker *c, struct node *n)
{
	if (n->list->type && n->list->type->kind != PROGRAM_STRING) {
		check_fail(c, n->list, -EINVAL, "strlen() takes a string");
		return NULL;
	}
	return n->list->type ? &type_u64 : NULL;
}

static struct value lower_strlen(struct lower *l, struct node *n)
{
	struct ir *ir = l->ir;
	struct value s = lower_expr(l, n->list);
	u32 size = type_room(n->list->type);
	int i = ir_reg(ir), p = ir_reg(ir), x = ir_reg(ir), again = ir_label(ir), end = ir_label(ir);
	ir_imm(ir, i, 0);
	ir_place_label(ir, again);
	ir_lea(ir, p, s.reg, s.off);
	ir_alu(ir, BPF_ADD, p, i);
	ir_load(ir, x, p, 0, 1);
	ir_if_imm(ir, BPF_JEQ, x, 0, end);
	ir_alu_imm(ir, BPF_ADD, i, 1);
	ir_if_imm(ir, BPF_JLT, i, size, again);
	ir_place_label(ir, end);
	lower_forget(l, i);
	return value_of(i);
}

static const struct program_type *check_symbol(struct checker *c, struct node *n)
{
	if (!check_number(c, n->list))
		return NULL;
	bool user = !strcmp(n->text, "usym");
	return type_plain(c->arena, user ? PROGRAM_USYM : PROGRAM_KSYM, user ? 16 : 8);
}

static struct value lower_symbol(struct lower *l, struct node *n)
{
	struct place to = lower_dest(l, n->type, NULL);
	int r = lower_reg(l, n->list);
	ir_store(l->ir, to.base, to.off, r, 8);
	if (n->type->kind == PROGRAM_USYM) {
		ir_store(l->ir, to.base, to.off + 8, lower_task_number(l, false, false), 4);
		ir_store_imm(l->ir, to.base, to.off + 12, (s32)l->point, 4);
	}
	return place_value(to);
}

static const struct program_type *check_stack(struct checker *c, struct node *n)
{
	static const char *const modes[] = { "bpftrace", "perf", "raw", "build_id" };
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	struct node *a = n->list;
	s64 limit = 127;
	if (!t)
		return NULL;
	t->stack_mode = c->program->config.stack_mode;
	t->kind = !strcmp(n->text, "ustack") ? PROGRAM_USTACK : PROGRAM_KSTACK;
	t->size = sizeof(struct program_stack);
	if (a && a->kind == NODE_IDENT) {
		for (u32 i = 0; i < ARRAY_SIZE(modes); i++)
			if (!strcmp(modes[i], a->text))
				t->stack_mode = i;
		if (t->kind == PROGRAM_KSTACK && !strcmp(a->text, "build_id")) {
			check_fail(c, a, -EINVAL, "only a ustack has build IDs");
			return NULL;
		}
		a = a->next;
	}
	if (a && (!check_constant(c, a, &limit) || limit < 1 || limit > 127)) {
		check_fail(c, a, -EINVAL, "the depth of a stack is a constant from 1 to 127");
		return NULL;
	}
	t->stack_limit = (u32)limit;
	return t;
}

/* Names of stack modes are no values. */
static const struct program_type *check_mode(struct checker *c, struct node *n)
{
	(void)c;
	(void)n;
	return &type_void;
}

static struct value lower_mode(struct lower *l, struct node *n)
{
	lower_fail(l, n, -EINVAL, "'%s' is not a value", n->text);
	return value_imm(0);
}

/* Hashes nr bytes of addresses at a place. */
static int hash_stack(struct lower *l, struct place at, int bytes, u32 limit)
{
	struct ir *ir = l->ir;
	int hash = ir_reg(ir), prime = ir_reg(ir), i = ir_reg(ir), p = ir_reg(ir), x = ir_reg(ir);
	int again = ir_label(ir), done = ir_label(ir);
	ir_imm(ir, hash, 0x5851f42d4c957f2dll);
	ir_imm(ir, prime, (s64)0x9e3779b97f4a7c15ull);
	ir_imm(ir, i, 0);
	ir_place_label(ir, again);
	ir_if(ir, BPF_JSGE, i, bytes, done);
	ir_lea(ir, p, at.base, at.off);
	ir_alu(ir, BPF_ADD, p, i);
	ir_load(ir, x, p, 0, 8);
	ir_alu(ir, BPF_XOR, hash, x);
	ir_alu(ir, BPF_MUL, hash, prime);
	ir_mov(ir, x, hash);
	ir_alu_imm(ir, BPF_RSH, x, 29);
	ir_alu(ir, BPF_XOR, hash, x);
	ir_alu_imm(ir, BPF_ADD, i, 8);
	ir_if_imm(ir, BPF_JLT, i, (s64)limit * 8, again);
	ir_place_label(ir, done);
	return hash;
}

static struct value lower_stack(struct lower *l, struct node *n)
{
	bool user = n->type->kind == PROGRAM_USTACK;
	u32 limit = n->type->stack_limit;
	struct place to = lower_dest(l, n->type, NULL);
	u32 map = lower_stacks(l, limit);
	/* The map's value is as large as the deepest stack of the script; so are all buffers. */
	struct place ips = lower_temp(l, 127 * 8);
	int bytes = ir_reg(l->ir), none = ir_label(l->ir),
	    pid = user ? lower_task_number(l, false, false) : 0;
	lower_zero(l, to, 16);
	if (user)
		ir_store(l->ir, to.base, to.off + 12, pid, 4);
	ir_call(l->ir, bytes, HELPER_GET_STACK, 4,
		(struct ir_arg[]){ ir_arg_reg(l->ctx), arg_place(ips), ir_arg_imm(limit * 8),
				   ir_arg_imm(user ? BPF_F_USER_STACK : 0) });
	ir_if_imm(l->ir, BPF_JSLE, bytes, 0, none);
	int hash = hash_stack(l, ips, bytes, limit);
	ir_store(l->ir, to.base, to.off, hash, 8);
	ir_alu_imm(l->ir, BPF_RSH, bytes, 3);
	ir_store(l->ir, to.base, to.off + 8, bytes, 4);
	/* The key is read by the kernel: a record of the ring is not memory that it takes on 6.1. */
	struct place key = lower_temp(l, 16);
	lower_copy(l, key, to, 16);
	ir_call(l->ir, IR_NONE, HELPER_MAP_UPDATE, 4,
		(struct ir_arg[]){ ir_arg_map(map), arg_place(key), arg_place(ips), ir_arg_imm(0) });
	ir_place_label(l->ir, none);
	return place_value(to);
}

static const struct program_type *check_ntop(struct checker *c, struct node *n)
{
	struct node *a = n->nr == 2 ? n->list->next : n->list;
	if (!a->type || (n->nr == 2 && !check_number(c, n->list)))
		return NULL;
	const struct program_type *t = a->type;
	if (t->kind == PROGRAM_ARRAY && (t->size == 4 || t->size == 16))
		return type_plain(c->arena, PROGRAM_INET, 20);
	if (!type_is_number(t)) {
		check_fail(
			c, a, -EINVAL,
			"ntop() takes an IPv4 address as a number, or an array of 4 or 16 bytes");
		return NULL;
	}
	return type_plain(c->arena, PROGRAM_INET, 20);
}

static struct value lower_ntop(struct lower *l, struct node *n)
{
	struct place to = lower_dest(l, n->type, NULL);
	struct node *a = n->nr == 2 ? n->list->next : n->list;
	bool array = a->type->kind == PROGRAM_ARRAY;
	bool wide = array && a->type->size == 16;
	struct value family =
		n->nr == 2 ? lower_expr(l, n->list) : value_imm(wide ? AF_INET6 : AF_INET);
	int f = value_reg(l, family), v = ir_reg(l->ir);
	struct value at = lower_expr(l, a);
	if (array) {
		at = lower_address(l, at);
		ir_lea(l->ir, v, at.reg, at.off);
	} else {
		ir_mov(l->ir, v, value_reg(l, at));
	}
	lower_zero(l, to, 24);
	ir_store(l->ir, to.base, to.off, f, 4);
	if (array)
		lower_read_bytes(l, place_at(to, 4), a->type->size, ir_arg_reg(v), false, at.own);
	else
		ir_store(l->ir, to.base, to.off + 4, v, 4);
	return place_value(to);
}

static const struct program_type *check_strftime(struct checker *c, struct node *n)
{
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	if (!t)
		return NULL;
	if (n->list->kind != NODE_STRING) {
		check_fail(c, n->list, -EINVAL, "the format of strftime() has to be a string");
		return NULL;
	}
	if (!check_number(c, n->list->next))
		return NULL;
	*t = (struct program_type){ .kind = PROGRAM_TIMESTAMP, .size = 8, .format = n->list->text };
	return t;
}

static struct value lower_strftime(struct lower *l, struct node *n)
{
	struct place to = lower_dest(l, n->type, NULL);
	ir_store(l->ir, to.base, to.off, lower_reg(l, n->list->next), 8);
	return place_value(to);
}

static const struct program_type *check_cgroup_path(struct checker *c, struct node *n)
{
	if (!check_number(c, n->list))
		return NULL;
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	if (n->nr == 2 && n->list->next->kind != NODE_STRING) {
		check_fail(c, n->list->next, -EINVAL,
			   "the hierarchy has to be a string: cgroup_path(cgroup, \"unified\")");
		return NULL;
	}
	if (t)
		*t = (struct program_type){ .kind = PROGRAM_CGROUP_PATH,
					    .size = 8,
					    .format = n->nr == 2 ? n->list->next->text : NULL };
	return t;
}

static struct value lower_cgroup_path(struct lower *l, struct node *n)
{
	struct place to = lower_dest(l, n->type, NULL);
	ir_store(l->ir, to.base, to.off, lower_reg(l, n->list), 8);
	return place_value(to);
}

static const struct program_type *check_bswap(struct checker *c, struct node *n)
{
	return check_number(c, n->list) ? type_int(n->list->type->size, false) : NULL;
}

static struct value lower_bswap(struct lower *l, struct node *n)
{
	int r = ir_reg(l->ir);
	ir_mov(l->ir, r, lower_reg(l, n->list));
	if (n->type->size > 1)
		ir_swap(l->ir, r, (u8)n->type->size);
	return value_of(r);
}

static const struct program_type *check_same(struct checker *c, struct node *n)
{
	return check_number(c, n->list) ? n->list->type : NULL;
}

static struct value lower_same(struct lower *l, struct node *n)
{
	return lower_expr(l, n->list);
}

static const struct program_type *check_signal(struct checker *c, struct node *n)
{
	static const struct {
		const char *name;
		int nr;
	} names[] = { { "KILL", 9 },  { "TERM", 15 }, { "INT", 2 },   { "HUP", 1 },
		      { "STOP", 19 }, { "CONT", 18 }, { "USR1", 10 }, { "USR2", 12 },
		      { "QUIT", 3 },  { "TRAP", 5 },  { "ABRT", 6 },  { "SEGV", 11 } };
	n->number = 0;
	if (n->list->kind != NODE_STRING)
		return check_number(c, n->list) ? &type_void : NULL;
	const char *s = n->list->text;
	if (!strncmp(s, "SIG", 3))
		s += 3;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i].name, s))
			n->number = names[i].nr;
	if (!n->number)
		check_fail(c, n->list, -EINVAL, "unknown signal '%s'", n->list->text);
	return n->number ? &type_void : NULL;
}

static struct value lower_signal(struct lower *l, struct node *n)
{
	struct value v = n->number ? value_imm(n->number) : lower_expr(l, n->list);
	bool thread = !strcmp(n->text, "signal_thread");
	ir_call(l->ir, IR_NONE, thread ? HELPER_SIGNAL_THREAD : HELPER_SIGNAL, 1,
		(struct ir_arg[]){ ir_arg_reg(value_reg(l, v)) });
	return value_imm(0);
}

static const struct builtin rows[] = {
	{ "str", 1, 2, 0, check_str, lower_str, NULL, "string at an address",
	  .form = "(ADDRESS[, LENGTH])" },
	{ "buf", 1, 2, 0, check_buf, lower_buf, NULL, "bytes at an address",
	  .form = "(ADDRESS[, LENGTH])" },
	{ "strncmp", 3, 3, 0, check_strncmp, lower_strncmp, NULL,
	  "0 where two strings begin the same", .form = "(STRING, STRING, LENGTH)" },
	{ "strlen", 1, 1, 0, check_strlen, lower_strlen, NULL, "length of a string",
	  .form = "(STRING)" },
	{ "ksym", 1, 1, 0, check_symbol, lower_symbol, NULL, "name of a kernel address",
	  .form = "(ADDRESS)" },
	{ "usym", 1, 1, 0, check_symbol, lower_symbol, NULL, "name of an address of the process",
	  .form = "(ADDRESS)" },
	{ "kstack", 0, 2, BUILTIN_VALUE, check_stack, lower_stack, NULL,
	  "kernel stack; MODE is bpftrace, perf or raw", .form = "[([MODE,] [DEPTH])]" },
	{ "ustack", 0, 2, BUILTIN_VALUE, check_stack, lower_stack, NULL,
	  "user stack; MODE may also be build_id", .form = "[([MODE,] [DEPTH])]" },
	{ "perf", 0, 0, BUILTIN_VALUE | BUILTIN_WORD, check_mode, lower_mode, NULL,
	  "mode of stacks" },
	{ "bpftrace", 0, 0, BUILTIN_VALUE | BUILTIN_WORD, check_mode, lower_mode, NULL,
	  "mode of stacks" },
	{ "raw", 0, 0, BUILTIN_VALUE | BUILTIN_WORD, check_mode, lower_mode, NULL, "mode of stacks" },
	{ "build_id", 0, 0, BUILTIN_VALUE | BUILTIN_WORD, check_mode, lower_mode, NULL,
	  "mode of stacks" },
	{ "boot", 0, 0, BUILTIN_VALUE | BUILTIN_WORD, check_mode, lower_mode, NULL,
	  "clock of nsecs()" },
	{ "monotonic", 0, 0, BUILTIN_VALUE | BUILTIN_WORD, check_mode, lower_mode, NULL,
	  "clock of nsecs()" },
	{ "tai", 0, 0, BUILTIN_VALUE | BUILTIN_WORD, check_mode, lower_mode, NULL,
	  "clock of nsecs()" },
	{ "sw_tai", 0, 0, BUILTIN_VALUE | BUILTIN_WORD, check_mode, lower_mode, NULL,
	  "clock of nsecs()" },
	{ "curr_ns", 0, 0, BUILTIN_VALUE | BUILTIN_WORD, check_mode, lower_mode, NULL,
	  "namespace of pid()" },
	{ "init", 0, 0, BUILTIN_VALUE | BUILTIN_WORD, check_mode, lower_mode, NULL,
	  "namespace of pid()" },
	{ "ntop", 1, 2, 0, check_ntop, lower_ntop, NULL, "IP address as text",
	  .form = "([FAMILY,] ADDRESS)" },
	{ "strftime", 2, 2, 0, check_strftime, lower_strftime, NULL, "time as text",
	  .form = "(FORMAT, NS)" },
	{ "cgroup_path", 1, 2, 0, check_cgroup_path, lower_cgroup_path, NULL, "path of a cgroup",
	  .form = "(ID[, HIERARCHY])" },
	{ "bswap", 1, 1, 0, check_bswap, lower_bswap, NULL, "bytes in the other order",
	  .form = "(NUMBER)" },
	{ "kptr", 1, 1, 0, check_same, lower_same, NULL, "address of the kernel",
	  .form = "(ADDRESS)" },
	{ "uptr", 1, 1, 0, check_same, lower_same, NULL, "address of the process",
	  .form = "(ADDRESS)" },
	{ "signal", 1, 1, BUILTIN_UNSAFE, check_signal, lower_signal, NULL,
	  "sends a signal to the process", .form = "(SIGNAL)" },
	{ "signal_thread", 1, 1, BUILTIN_UNSAFE, check_signal, lower_signal, NULL,
	  "sends a signal to the thread", .form = "(SIGNAL)" },
};

const struct builtin_group builtins_text = { rows, ARRAY_SIZE(rows),
					     "Strings, stacks and addresses" };
