/* Maps of the script. */
#include "lang/builtin.h"
#include "lang/lower.h"
#include "lang/token.h"

#include <errno.h>
#include <unistd.h>

static bool is_percpu(const struct program_map *m)
{
	return m->type == BPF_MAP_TYPE_PERCPU_HASH || m->type == BPF_MAP_TYPE_LRU_PERCPU_HASH ||
	       m->type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static const struct program_map *own(struct lower *l, const struct map *m)
{
	return &l->program->maps.at[m->number];
}

/* One entry that all CPUs share: its value is at a known address. */
static bool is_direct(struct lower *l, const struct map *m)
{
	return own(l, m)->type == BPF_MAP_TYPE_ARRAY;
}

struct place lower_map_key(struct lower *l, struct node *n)
{
	const struct program_type *t = n->map->key;
	if (!n->nr) {
		struct place zero = lower_temp(l, 8);
		ir_store_imm(l->ir, zero.base, zero.off, 0, 8);
		return zero;
	}
	struct place key = lower_temp(l, type_room(t));
	if (n->nr == 1) {
		lower_into(l, n->list, key, t);
		return key;
	}
	u32 i = 0;
	for (struct node *k = n->list; k; k = k->next, i++)
		lower_into(l, k, place_at(key, (s32)t->fields[i].offset), t->fields[i].type);
	return key;
}

static void lookup_to(struct lower *l, int dst, const struct map *m, struct place key)
{
	ir_call(l->ir, dst, HELPER_MAP_LOOKUP, 2,
		(struct ir_arg[]){ ir_arg_map(m->number), arg_place(key) });
}

int lower_map_lookup(struct lower *l, struct map *m, struct place key)
{
	int r = ir_reg(l->ir);
	lookup_to(l, r, m, key);
	return r;
}

static int direct_value(struct lower *l, const struct map *m)
{
	int r = ir_reg(l->ir);
	ir_map_value(l->ir, r, m->number, 0);
	return r;
}

static void update(struct lower *l, const struct map *m, int result, struct place key,
		   struct place value, u32 flags)
{
	ir_call(l->ir, result, HELPER_MAP_UPDATE, 4,
		(struct ir_arg[]){ ir_arg_map(m->number), arg_place(key), arg_place(value),
				   ir_arg_imm(flags) });
}

struct value lower_map_get(struct lower *l, struct node *n)
{
	struct map *m = n->map;
	const struct program_type *t = m->value;
	if (type_is_aggregate(t)) {
		lower_fail(l, n, -ENOTSUP,
			   "reading an aggregate in the kernel is not supported yet");
		return value_imm(0);
	}
	bool scalar = type_is_scalar(t);
	if (is_direct(l, m)) {
		int at = direct_value(l, m);
		struct value v = { .kind = VALUE_MEM, .reg = at };
		return scalar ? value_of(value_reg(l, v)) : v;
	}
	struct place to = { 0 };
	int r = ir_reg(l->ir), none = ir_label(l->ir);
	if (!scalar)
		to = lower_dest(l, t, NULL);
	struct place key = lower_map_key(l, n);
	if (scalar)
		ir_imm(l->ir, r, 0);
	else
		lower_zero(l, to, type_room(t));
	int at = lower_map_lookup(l, m, key);
	ir_if_imm(l->ir, BPF_JEQ, at, 0, none);
	if (scalar)
		ir_load(l->ir, r, at, 0, 8);
	else
		lower_copy(l, to, (struct place){ at, 0 }, type_room(t));
	ir_place_label(l->ir, none);
	return scalar ? value_of(r) : place_value(to);
}

/* A value of one CPU, made of zeros where there is none yet. Jumps to `full` when there is no room. */
static int aggregate_at(struct lower *l, struct node *n, int full)
{
	static const char zeros[1024];
	struct map *m = n->map;
	struct place key = lower_map_key(l, n);
	int at = lower_map_lookup(l, m, key), have = ir_label(l->ir), zero = ir_reg(l->ir);
	ir_if_imm(l->ir, BPF_JNE, at, 0, have);
	if (n->nr) {
		u32 size = type_room(m->value);
		const void *from = size > sizeof(zeros) ? arena_zalloc(l->arena, size) : zeros;
		if (!from) {
			l->err = -ENOMEM;
			return at;
		}
		/* First, since it may make the map whose number is shared->data. */
		u32 off = lower_data(l, from, size);
		ir_map_value(l->ir, zero, l->shared->data, off);
		update(l, m, IR_NONE, key, (struct place){ zero, 0 }, BPF_NOEXIST);
		lookup_to(l, at, m, key);
		ir_if_imm(l->ir, BPF_JNE, at, 0, have);
		lower_count_full(l, m->number);
	}
	ir_jump(l->ir, full);
	ir_place_label(l->ir, have);
	return at;
}

/* Takes the value of one CPU into the result, and into the count that an average needs. */
static void fold_cpu(struct lower *l, const struct program_type *t, int at, int result, int count)
{
	struct ir *ir = l->ir;
	int v = ir_reg(ir), set = ir_reg(ir), take = ir_label(ir), end = ir_label(ir);
	bool extreme = t->kind == PROGRAM_MIN || t->kind == PROGRAM_MAX;
	ir_load(ir, v, at, 0, 8);
	if (t->kind != PROGRAM_COUNT && t->kind != PROGRAM_SUM)
		ir_load(ir, set, at, 8, 8);
	if (!extreme) {
		ir_alu(ir, BPF_ADD, result, v);
		if (t->kind == PROGRAM_AVG)
			ir_alu(ir, BPF_ADD, count, set);
		return;
	}
	ir_if_imm(ir, BPF_JEQ, set, 0, end);
	ir_if_imm(ir, BPF_JEQ, count, 0, take);
	u8 keep = t->kind == PROGRAM_MIN ? (t->is_signed ? BPF_JSGE : BPF_JGE)
					 : (t->is_signed ? BPF_JSLE : BPF_JLE);
	ir_if(ir, keep, v, result, end);
	ir_place_label(ir, take);
	ir_mov(ir, result, v);
	ir_imm(ir, count, 1);
	ir_place_label(ir, end);
}

struct value lower_map_read(struct lower *l, struct node *n)
{
	return lower_map_read_key(l, n->map, lower_map_key(l, n));
}

struct value lower_map_read_key(struct lower *l, struct map *m, struct place key)
{
	struct ir *ir = l->ir;
	const struct program_type *t = m->value;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int cpu = ir_reg(ir), at = ir_reg(ir), result = ir_reg(ir), count = ir_reg(ir);
	int again = ir_label(ir), done = ir_label(ir);
	ir_imm(ir, cpu, 0);
	ir_imm(ir, result, 0);
	ir_imm(ir, count, 0);
	ir_place_label(ir, again);
	ir_call(ir, at, HELPER_MAP_LOOKUP_CPU, 3,
		(struct ir_arg[]){ ir_arg_map(m->number), arg_place(key), ir_arg_reg(cpu) });
	ir_if_imm(ir, BPF_JEQ, at, 0, done);
	fold_cpu(l, t, at, result, count);
	ir_alu_imm(ir, BPF_ADD, cpu, 1);
	ir_if_imm(ir, BPF_JLT, cpu, cpus > 0 ? cpus : 1, again);
	ir_place_label(ir, done);
	if (t->kind == PROGRAM_AVG)
		lower_arith(l, TOKEN_DIV, result, value_of(count), t->is_signed);
	return value_of(result);
}

static void store_new(struct lower *l, struct map *m, struct place key, struct place value)
{
	int r = ir_reg(l->ir), done = ir_label(l->ir);
	update(l, m, r, key, value, BPF_ANY);
	ir_if_imm(l->ir, BPF_JEQ, r, 0, done);
	lower_count_full(l, m->number);
	ir_place_label(l->ir, done);
}

void lower_map_assign(struct lower *l, struct node *n, struct node *value)
{
	struct map *m = n->map;
	if (type_is_aggregate(m->value)) {
		int end = ir_label(l->ir);
		int at = aggregate_at(l, n, end);
		value->type = m->value; /* whether it has a sign is known of all places together */
		value->builtin->add(l, value, at);
		ir_place_label(l->ir, end);
		return;
	}
	if (is_direct(l, m)) {
		if (type_is_scalar(m->value)) {
			struct value v = lower_expr(l, value);
			struct place at = { direct_value(l, m), 0 };
			lower_store(l, v, value->type, at, m->value);
			return;
		}
		/* The value may be made of the old one. */
		struct place tmp = lower_temp(l, type_room(m->value));
		lower_into(l, value, tmp, m->value);
		lower_copy(l, (struct place){ direct_value(l, m), 0 }, tmp, type_room(m->value));
		return;
	}
	struct place tmp = lower_temp(l, type_room(m->value));
	lower_into(l, value, tmp, m->value);
	struct place key = lower_map_key(l, n);
	store_new(l, m, key, tmp);
}

/* Adds to a number in a map; the result is what was there, or what is there now. */
static int add_to(struct lower *l, struct node *n, int by)
{
	struct map *m = n->map;
	int sum = ir_reg(l->ir);
	ir_mov(l->ir, sum, by);
	if (is_direct(l, m)) {
		ir_atomic_add(l->ir, direct_value(l, m), 0, sum, true);
		return sum;
	}
	struct place key = lower_map_key(l, n);
	int have = ir_label(l->ir), end = ir_label(l->ir), err = ir_reg(l->ir);
	int at = lower_map_lookup(l, m, key);
	ir_if_imm(l->ir, BPF_JNE, at, 0, have);
	struct place first = lower_temp(l, 8);
	ir_store(l->ir, first.base, first.off, by, 8);
	update(l, m, err, key, first, BPF_NOEXIST);
	int old = ir_reg(l->ir);
	ir_imm(l->ir, old, 0);
	ir_if_imm(l->ir, BPF_JEQ, err, 0, end);
	/* Somebody else made it meanwhile; or there is no room. */
	lookup_to(l, at, m, key);
	ir_if_imm(l->ir, BPF_JNE, at, 0, have);
	lower_count_full(l, m->number);
	ir_jump(l->ir, end);
	ir_place_label(l->ir, have);
	ir_atomic_add(l->ir, at, 0, sum, true);
	ir_mov(l->ir, old, sum);
	ir_place_label(l->ir, end);
	return old;
}

struct value lower_map_step(struct lower *l, struct node *n, int by, bool old)
{
	int one = ir_reg(l->ir);
	ir_imm(l->ir, one, by);
	int r = add_to(l, n, one);
	if (!old)
		ir_alu_imm(l->ir, BPF_ADD, r, by);
	return value_of(r);
}

void lower_map_compound(struct lower *l, struct node *n, u8 op, struct node *value, bool is_signed)
{
	struct value v = lower_expr(l, value);
	bool plain = !is_percpu(own(l, n->map));
	if (plain && (op == TOKEN_ADD || op == TOKEN_SUB)) {
		int by = ir_reg(l->ir);
		ir_mov(l->ir, by, value_reg(l, v));
		if (op == TOKEN_SUB)
			ir_neg(l->ir, by);
		(void)add_to(l, n, by);
		return;
	}
	int keep = value_reg(l, v), old = ir_reg(l->ir);
	ir_mov(l->ir, old, value_reg(l, lower_map_get(l, n)));
	lower_arith(l, op, old, v.kind == VALUE_IMM ? v : value_of(keep), is_signed);
	if (is_direct(l, n->map)) {
		ir_store(l->ir, direct_value(l, n->map), 0, old, 8);
		return;
	}
	struct place tmp = lower_temp(l, 8), key = lower_map_key(l, n);
	ir_store(l->ir, tmp.base, tmp.off, old, 8);
	store_new(l, n->map, key, tmp);
}
