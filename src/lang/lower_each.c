/*
 * Loops over maps, and over ranges that are long or not known: the kernel calls a function for each key or number. It is handed the address of a few words on the stack of the code that loops:
 *
 *	0: the frame of scratch memory    1: the context    2 ...: the addresses among the variables that its body has in registers
 *
 * and finds more words in that frame:
 *
 *	0: whether the block ends         1: where a range begins    2 ...: the numbers among these variables
 *
 * Variables are read at its start and written at its end. Variables in memory stay where they are; those on the stack are reached from that
 * address, or if another loop is around theirs, are in the frame. What a loop changes must not be on the stack: before 6.7 the verifier assumes that the function is called exactly once, with
 * the values that it knows from there, and removes the branches that are not taken then; since, it follows a counter that is compared
 * with something from value to value until it gives up. It knows nothing about values that come from a map.
 */
#include "lang/lower.h"

#include <errno.h>

enum { WORD_SCRATCH, WORD_CTX, WORD_ADDRESSES };
enum { SHARED_ENDS, SHARED_START, SHARED_NUMBERS };

static bool in_register(const struct var *v)
{
	return type_is_scalar(v->type) || (type_is_raw(v->type) && !v->is_copy);
}

static bool mentions(const struct node *n, const struct var *v)
{
	if (!n)
		return false;
	if ((n->kind == NODE_VAR || n->kind == NODE_RANGE || n->kind == NODE_FOR_MAP) && n->var == v)
		return true;
	for (const struct node *e = n->list; e; e = e->next)
		if (mentions(e, v))
			return true;
	return mentions(n->a, v) || mentions(n->b, v) || mentions(n->c, v);
}

/* A variable that goes to the body of the loop and comes back. */
static bool is_carried(const struct node *loop, const struct var *v)
{
	return in_register(v) && (v == loop->var || mentions(loop->c, v));
}

bool lower_is_looped(const struct node *n, const struct var *v)
{
	if (!n)
		return false;
	if ((n->kind == NODE_RANGE || n->kind == NODE_FOR_MAP) && n->var != v && mentions(n->c, v))
		return true;
	for (const struct node *e = n->list; e; e = e->next)
		if (lower_is_looped(e, v))
			return true;
	return lower_is_looped(n->a, v) || lower_is_looped(n->b, v) || lower_is_looped(n->c, v);
}

/* Writes the registers of numbers or of addresses to the words at a place, or reads them. */
static void move_vars(struct lower *l, const struct node *loop, struct place at, bool numbers,
		      bool write)
{
	for (struct var *v = l->block->vars; v; v = v->next) {
		if (!is_carried(loop, v) || type_is_scalar(v->type) != numbers)
			continue;
		if (write)
			ir_store(l->ir, at.base, at.off, v->reg, 8);
		else
			ir_load(l->ir, v->reg, at.base, at.off, 8);
		at.off += 8;
	}
}

static u32 count_vars(const struct lower *l, const struct node *loop, bool numbers)
{
	u32 nr = 0;
	for (struct var *v = l->block->vars; v; v = v->next)
		nr += is_carried(loop, v) && type_is_scalar(v->type) == numbers;
	return nr;
}

/* All of them; words and shared: see above. */
static void move_all(struct lower *l, const struct node *loop, struct place words,
		     struct place shared, bool write)
{
	move_vars(l, loop, place_at(words, WORD_ADDRESSES * 8), false, write);
	move_vars(l, loop, place_at(shared, SHARED_NUMBERS * 8), true, write);
}

/* The key and the value become the tuple of the loop. */
static void take_pair(struct lower *l, struct node *n, int key, int value)
{
	const struct program_type *t = n->var->type;
	struct map *m = n->a->map;
	struct place pair = lower_var_place(l, n->var);
	struct place to = place_at(pair, (s32)t->fields[1].offset);
	lower_copy(l, pair, (struct place){ key, 0 }, type_room(m->key));
	if (type_is_aggregate(m->value))
		lower_store(l, lower_map_read_key(l, m, pair), t->fields[1].type, to,
			    t->fields[1].type);
	else
		lower_copy(l, to, (struct place){ value, 0 }, type_room(m->value));
}

/* The function: to be called with l->ir of its own. */
static void lower_body(struct lower *l, struct node *n, u32 words_at, s32 shared_at)
{
	struct ir *ir = l->ir;
	bool range = n->kind == NODE_RANGE;
	int first = ir_reg(ir), value = ir_reg(ir), words = ir_reg(ir), code = ir_reg(ir);
	struct lower_loop loop = { ir_label(ir), ir_label(ir), NULL };
	int leave = ir_label(ir);
	l->stack_used = l->stack_max = 24;
	l->stack_limit = LOWER_STACK_CALLBACK;
	/* (index, words) of a range; (map, key, value, words) of a map */
	ir_param(ir, -8, range ? 1 : 2);
	ir_param(ir, -24, range ? 2 : 4);
	if (!range)
		ir_param(ir, -16, 3);
	ir_load(ir, first, IR_FP, -8, 8);
	ir_load(ir, words, IR_FP, -24, 8);
	if (!range)
		ir_load(ir, value, IR_FP, -16, 8);
	for (struct var *v = l->block->vars; v; v = v->next)
		if (is_carried(n, v))
			v->reg = ir_reg(ir);
	l->scratch = ir_reg(ir);
	l->ctx = ir_reg(ir);
	ir_load(ir, l->scratch, words, WORD_SCRATCH * 8, 8);
	ir_load(ir, l->ctx, words, WORD_CTX * 8, 8);
	struct place shared = { l->scratch, shared_at };
	move_all(l, n, (struct place){ words, 0 }, shared, false);
	l->var_base = words;
	l->var_shift = (s32)words_at;
	l->label_end = ir_label(ir);
	l->inline_end = -1;
	l->loop = &loop;
	if (range) {
		ir_load(ir, n->var->reg, shared.base, shared.off + SHARED_START * 8, 8);
		ir_alu(ir, BPF_ADD, n->var->reg, first);
	} else {
		take_pair(l, n, first, value);
	}
	lower_statement(l, n->c);
	ir_place_label(ir, loop.next);
	ir_imm(ir, code, 0);
	ir_jump(ir, leave);
	ir_place_label(ir, l->label_end);
	ir_store_imm(ir, shared.base, shared.off + SHARED_ENDS * 8, 1, 8);
	ir_place_label(ir, loop.end);
	ir_imm(ir, code, 1);
	ir_place_label(ir, leave);
	move_all(l, n, (struct place){ words, 0 }, shared, true);
	ir_exit(ir, code);
}

static struct lower_callback *add_callback(struct lower *l)
{
	struct lower_callback *cb = arena_zalloc(l->arena, sizeof(*cb)), **at = &l->callbacks;
	if (!cb) {
		l->err = -ENOMEM;
		return NULL;
	}
	while (*at)
		at = &(*at)->next;
	*at = cb;
	cb->number = ++l->nr_callbacks;
	cb->caller = l->callback;
	cb->depth = cb->caller ? cb->caller->depth + 1 : 0;
	ir_init(&cb->ir, l->arena);
	return cb;
}

/* How often a range runs: never more than bpf_loop() takes. */
static struct ir_arg range_length(struct lower *l, struct node *n, int start)
{
	enum { LONGEST = 1 << 23 };
	int nr = ir_reg(l->ir), some = ir_label(l->ir), done = ir_label(l->ir);
	ir_mov(l->ir, nr, lower_reg(l, n->b));
	ir_if(l->ir, BPF_JSGT, nr, start, some);
	ir_imm(l->ir, nr, 0);
	ir_jump(l->ir, done);
	ir_place_label(l->ir, some);
	ir_alu(l->ir, BPF_SUB, nr, start);
	ir_if_imm(l->ir, BPF_JLE, nr, LONGEST, done);
	ir_imm(l->ir, nr, LONGEST);
	ir_place_label(l->ir, done);
	return ir_arg_reg(nr);
}

static void call_each(struct lower *l, struct node *n, struct place words, struct place shared)
{
	struct ir_arg args[4] = { [1] = ir_arg_func(l->nr_callbacks), [2] = arg_place(words) };
	args[3] = ir_arg_imm(0);
	if (n->kind == NODE_RANGE) {
		int start = ir_reg(l->ir);
		ir_mov(l->ir, start, lower_reg(l, n->a));
		args[0] = range_length(l, n, start);
		ir_store(l->ir, shared.base, shared.off + SHARED_START * 8, start, 8);
	} else {
		args[0] = ir_arg_map(n->a->map->number);
	}
	ir_store_imm(l->ir, shared.base, shared.off + SHARED_ENDS * 8, 0, 8);
	ir_store(l->ir, words.base, words.off + WORD_SCRATCH * 8, l->scratch, 8);
	ir_store(l->ir, words.base, words.off + WORD_CTX * 8, l->ctx, 8);
	move_all(l, n, words, shared, true);
	ir_call(l->ir, IR_NONE, n->kind == NODE_RANGE ? HELPER_LOOP : HELPER_FOR_EACH, 4, args);
	move_all(l, n, words, shared, false);
	int ends = ir_reg(l->ir);
	ir_load(l->ir, ends, shared.base, shared.off + SHARED_ENDS * 8, 8);
	ir_if_imm(l->ir, BPF_JNE, ends, 0, l->label_end);
}

/* A function that does nothing is called for each key: the kernel says how often. */
void lower_count_keys(struct lower *l, struct node *n, const struct map *m, int result)
{
	struct lower_callback *cb = add_callback(l);
	(void)n;
	if (!cb)
		return;
	struct place words = lower_temp(l, 8);
	int code = ir_reg(&cb->ir);
	ir_store_imm(l->ir, words.base, words.off, 0, 8);
	ir_call(l->ir, result, HELPER_FOR_EACH, 4,
		(struct ir_arg[]){ ir_arg_map(m->number), ir_arg_func(l->nr_callbacks),
				   arg_place(words), ir_arg_imm(0) });
	ir_imm(&cb->ir, code, 0);
	ir_exit(&cb->ir, code);
	if (cb->ir.err && !l->err)
		l->err = cb->ir.err;
}

void lower_each(struct lower *l, struct node *n)
{
	if (l->callback && l->callback->depth + 1 >= LOWER_LOOPS_MAX) {
		lower_fail(l, n, -E2BIG, "more than %d loops over maps inside of each other",
			   LOWER_LOOPS_MAX);
		return;
	}
	u32 size = (WORD_ADDRESSES + count_vars(l, n, false)) * 8;
	struct lower_callback *cb = add_callback(l);
	if (!cb)
		return;
	/* On the stack, whatever its size: addresses are among the words. */
	l->stack_used += size;
	l->stack_max = max(l->stack_max, l->stack_used);
	u32 words_at = l->stack_used;
	struct place shared = lower_scratch(l, (SHARED_NUMBERS + count_vars(l, n, true)) * 8);
	call_each(l, n, (struct place){ IR_FP, -(s32)words_at }, shared);

	struct lower outer = *l;
	u32 nr = 0;
	for (struct var *v = l->block->vars; v; v = v->next)
		nr++;
	int *regs = arena_array(l->arena, nr + 1, sizeof(*regs));
	if (!regs) {
		l->err = -ENOMEM;
		return;
	}
	nr = 0;
	for (struct var *v = l->block->vars; v; v = v->next)
		regs[nr++] = v->reg;
	l->ir = &cb->ir;
	l->callback = cb;
	lower_body(l, n, words_at, shared.off);
	cb->frame = l->stack_max;
	nr = 0;
	for (struct var *v = l->block->vars; v; v = v->next)
		v->reg = regs[nr++];
	if (cb->ir.err && !l->err)
		l->err = cb->ir.err;
	outer.scratch_max = max(outer.scratch_max, l->scratch_max);
	outer.nr_callbacks = l->nr_callbacks;
	outer.err = l->err;
	*l = outer;
}
