/*
 * Loops over maps: the kernel calls a function for each key. It is handed the address of a few words on the stack of the code that loops:
 *
 *	0: whether the block ends    1: the frame of scratch memory    2: the context    3 ...: the variables that are in registers
 *
 * These are read at its start and written at its end. Variables in memory stay where they are, and are reached from that address.
 */
#include "lang/lower.h"

#include <errno.h>

enum { WORD_ENDS, WORD_SCRATCH, WORD_CTX, WORD_VARS };

static bool in_register(const struct var *v)
{
	return type_is_scalar(v->type) || v->type->kind == PROGRAM_RECORD ||
	       v->type->kind == PROGRAM_ARRAY;
}

/* Writes the registers of variables to the words at a place, or reads them. */
static void move_vars(struct lower *l, struct place words, bool write)
{
	s32 at = words.off + WORD_VARS * 8;
	for (struct var *v = l->block->vars; v; v = v->next) {
		if (!in_register(v))
			continue;
		if (write)
			ir_store(l->ir, words.base, at, v->reg, 8);
		else
			ir_load(l->ir, v->reg, words.base, at, 8);
		at += 8;
	}
}

static u32 count_vars(const struct lower *l)
{
	u32 nr = 0;
	for (struct var *v = l->block->vars; v; v = v->next)
		nr += in_register(v);
	return nr;
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
static void lower_body(struct lower *l, struct node *n, u32 words_at)
{
	struct ir *ir = l->ir;
	enum { KEY = 2, VALUE, WORDS };
	int key = ir_reg(ir), value = ir_reg(ir), words = ir_reg(ir), code = ir_reg(ir);
	struct lower_loop loop = { ir_label(ir), ir_label(ir), NULL };
	int leave = ir_label(ir);
	l->stack_used = l->stack_max = 24;
	ir_param(ir, -8, KEY);
	ir_param(ir, -16, VALUE);
	ir_param(ir, -24, WORDS);
	ir_load(ir, key, IR_FP, -8, 8);
	ir_load(ir, value, IR_FP, -16, 8);
	ir_load(ir, words, IR_FP, -24, 8);
	for (struct var *v = l->block->vars; v; v = v->next)
		if (in_register(v))
			v->reg = ir_reg(ir);
	l->scratch = ir_reg(ir);
	l->ctx = ir_reg(ir);
	ir_load(ir, l->scratch, words, WORD_SCRATCH * 8, 8);
	ir_load(ir, l->ctx, words, WORD_CTX * 8, 8);
	move_vars(l, (struct place){ words, 0 }, false);
	l->var_base = words;
	l->var_shift = (s32)words_at;
	l->label_end = ir_label(ir);
	l->loop = &loop;
	take_pair(l, n, key, value);
	lower_statement(l, n->c);
	ir_place_label(ir, loop.next);
	ir_imm(ir, code, 0);
	ir_jump(ir, leave);
	ir_place_label(ir, l->label_end);
	ir_store_imm(ir, words, WORD_ENDS * 8, 1, 8);
	ir_place_label(ir, loop.end);
	ir_imm(ir, code, 1);
	ir_place_label(ir, leave);
	move_vars(l, (struct place){ words, 0 }, true);
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
	l->nr_callbacks++;
	ir_init(&cb->ir, l->arena);
	return cb;
}

void lower_for_map(struct lower *l, struct node *n)
{
	if (l->in_callback) {
		lower_fail(l, n, -ENOTSUP,
			   "a loop over a map inside of another one is not supported yet");
		return;
	}
	u32 size = (WORD_VARS + count_vars(l)) * 8;
	struct lower_callback *cb = add_callback(l);
	if (!cb)
		return;
	/* On the stack, whatever its size: addresses are among the words. */
	l->stack_used += size;
	l->stack_max = max(l->stack_max, l->stack_used);
	u32 words_at = l->stack_used;
	struct place words = { IR_FP, -(s32)words_at };
	if (!l->scratch)
		l->scratch = ir_reg(l->ir);
	ir_store_imm(l->ir, words.base, words.off + WORD_ENDS * 8, 0, 8);
	ir_store(l->ir, words.base, words.off + WORD_SCRATCH * 8, l->scratch, 8);
	ir_store(l->ir, words.base, words.off + WORD_CTX * 8, l->ctx, 8);
	move_vars(l, words, true);
	ir_call(l->ir, IR_NONE, HELPER_FOR_EACH, 4,
		(struct ir_arg[]){ ir_arg_map(n->a->map->number), ir_arg_func(l->nr_callbacks),
				   arg_place(words), ir_arg_imm(0) });
	move_vars(l, words, false);
	int ends = ir_reg(l->ir);
	ir_load(l->ir, ends, words.base, words.off + WORD_ENDS * 8, 8);
	ir_if_imm(l->ir, BPF_JNE, ends, 0, l->label_end);

	struct lower outer = *l;
	int regs[64];
	u32 nr = 0;
	for (struct var *v = l->block->vars; v; v = v->next) {
		if (nr == ARRAY_SIZE(regs)) {
			lower_fail(l, n, -E2BIG, "too many variables for a loop over a map");
			return;
		}
		regs[nr++] = v->reg;
	}
	l->ir = &cb->ir;
	l->in_callback = true;
	lower_body(l, n, words_at);
	cb->frame = l->stack_max;
	nr = 0;
	for (struct var *v = l->block->vars; v; v = v->next)
		v->reg = regs[nr++];
	if (cb->ir.err && !l->err)
		l->err = cb->ir.err;
	outer.scratch_max = max(outer.scratch_max, l->scratch_max);
	outer.err = l->err;
	*l = outer;
}
