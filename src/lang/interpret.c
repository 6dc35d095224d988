#include "lang/interpret.h"

#include "lang/builtin.h"
#include "lang/interpret_impl.h"
#include "lang/token.h"
#include "lang/tree.h"

#include <errno.h>
#include <string.h>

enum { STEPS_MAX = 1 << 20, STEPS_ASKED = 1 << 14, BYTES_MAX = 1 << 20 };

u8 *interpret_bytes(struct interpreter *in, u32 size)
{
	u8 *p = arena_zalloc(&in->arena, max(size, 8u));
	if (!p)
		in->err = -ENOMEM;
	return p;
}

/* The value as it is kept in memory, as one of type t. */
void interpret_store(struct interpreter *in, struct ivalue v, const struct program_type *from,
		     u8 *to, const struct program_type *t)
{
	if (in->err || !to)
		return;
	if (type_is_scalar(t)) {
		memcpy(to, &v.number, 8);
		return;
	}
	if (t->kind == PROGRAM_TUPLE) {
		for (u32 i = 0; i < t->nr; i++) {
			struct ivalue m = { .bytes = v.bytes + from->fields[i].offset };
			memcpy(&m.number, m.bytes, 8);
			interpret_store(in, m, from->fields[i].type, to + t->fields[i].offset,
					t->fields[i].type);
		}
		return;
	}
	u32 have = type_room(from), room = type_room(t);
	memset(to, 0, room);
	memcpy(to, v.bytes, min(have, room));
	if (have > room)
		to[room - 1] = 0;
}

static struct ivalue load(struct interpreter *in, const u8 *from, const struct program_type *t)
{
	struct ivalue v = { 0 };
	if (type_is_scalar(t)) {
		memcpy(&v.number, from, 8);
		return v;
	}
	v.bytes = interpret_bytes(in, type_room(t));
	if (v.bytes)
		memcpy(v.bytes, from, type_room(t));
	return v;
}

u8 *interpret_key(struct interpreter *in, struct node *n)
{
	const struct program_type *t = n->map->key;
	u8 *key = interpret_bytes(in, n->nr ? type_room(t) : 8);
	u32 i = 0;
	for (struct node *k = n->list; k && !in->err; k = k->next, i++) {
		const struct program_type *kt = n->nr == 1 ? t : t->fields[i].type;
		interpret_store(in, interpret_eval(in, k), k->type,
				key + (n->nr == 1 ? 0 : t->fields[i].offset), kt);
	}
	return key;
}

int interpret_get(struct interpreter *in, const struct map *m, const u8 *key, u8 *value)
{
	int err = in->err ? in->err : in->ops->get(in->ctx, m->number, key, value);
	if (err && err != -ENOENT)
		in->err = err;
	return err;
}

/* Of all CPUs. */
static int interpret_read(struct interpreter *in, const struct map *m, const u8 *key, u8 *value)
{
	if (!in->ops->read)
		return interpret_get(in, m, key, value);
	int err = in->err ? in->err : in->ops->read(in->ctx, m->number, key, value);
	if (err && err != -ENOENT)
		in->err = err;
	return err;
}

void interpret_put(struct interpreter *in, const struct map *m, const u8 *key, const u8 *value)
{
	if (!in->err)
		in->err = in->ops->put(in->ctx, m->number, key, value);
}

static struct ivalue get_map(struct interpreter *in, struct node *n)
{
	const struct program_type *t = n->map->value;
	u8 *key = interpret_key(in, n), *value = interpret_bytes(in, type_room(t));
	if (in->err)
		return (struct ivalue){ 0 };
	if (interpret_get(in, n->map, key, value))
		memset(value, 0, type_room(t));
	return load(in, value, t);
}

static bool same_text(struct interpreter *in, struct node *n)
{
	struct ivalue a = interpret_eval(in, n->a), b = interpret_eval(in, n->b);
	if (n->a->type->kind != PROGRAM_STRING) {
		const struct program_type *t =
			type_join(&in->arena, n->a->type, n->b->type, false, false);
		u8 *x = interpret_bytes(in, t ? type_room(t) : 8);
		u8 *y = interpret_bytes(in, t ? type_room(t) : 8);
		if (!t || in->err)
			return false;
		interpret_store(in, a, n->a->type, x, t);
		interpret_store(in, b, n->b->type, y, t);
		return !memcmp(x, y, type_room(t));
	}
	return !in->err && !strncmp((char *)a.bytes, (char *)b.bytes,
				    min(type_room(n->a->type), type_room(n->b->type)));
}

static s64 scaled(const struct program_type *pointer, s64 by)
{
	u32 size = pointer->to ? pointer->to->size : 1;
	return size > 1 ? (s64)((u64)by * size) : by;
}

static s64 eval_binary(struct interpreter *in, struct node *n)
{
	s64 r = 0;
	if (n->op == TOKEN_LAND || n->op == TOKEN_LOR) {
		bool first = interpret_eval(in, n->a).number != 0;
		if (first == (n->op == TOKEN_LOR))
			return first;
		return interpret_eval(in, n->b).number != 0;
	}
	if (!type_is_scalar(n->a->type))
		return same_text(in, n) == (n->op == TOKEN_EQ);
	s64 a = interpret_eval(in, n->a).number, b = interpret_eval(in, n->b).number;
	if (n->type->kind == PROGRAM_POINTER) {
		bool left = n->a->type->kind == PROGRAM_POINTER;
		a = left ? a : scaled(n->b->type, a);
		b = left ? scaled(n->a->type, b) : b;
	}
	if (!check_fold(n->op, a, b, check_signed_op(n->a, n->b), &r))
		in->err = -ENOTSUP;
	return r;
}

static s64 eval_unary(struct interpreter *in, struct node *n)
{
	if (n->op == TOKEN_MUL) {
		in->err = -ENOTSUP;
		return 0;
	}
	s64 a = interpret_eval(in, n->a).number;
	a = n->op == TOKEN_SUB ? (s64)(0 - (u64)a) : n->op == TOKEN_TILDE ? ~a : !a;
	return check_fit(a, n->type);
}

static struct ivalue eval_ternary(struct interpreter *in, struct node *n)
{
	struct ivalue a = interpret_eval(in, n->a);
	struct node *taken = a.number ? n->b : n->c;
	struct ivalue v = taken ? interpret_eval(in, taken) : a;
	if (in->err || type_is_scalar(n->type) || n->type->kind == PROGRAM_VOID || !taken)
		return v;
	struct ivalue to = { .bytes = interpret_bytes(in, type_room(n->type)) };
	interpret_store(in, v, taken->type, to.bytes, n->type);
	return to;
}

static struct ivalue eval_tuple(struct interpreter *in, struct node *n)
{
	struct ivalue v = { .bytes = interpret_bytes(in, type_room(n->type)) };
	u32 i = 0;
	for (struct node *e = n->list; e && !in->err; e = e->next, i++)
		interpret_store(in, interpret_eval(in, e), e->type,
				v.bytes + n->type->fields[i].offset, n->type->fields[i].type);
	return v;
}

/* A byte of a string, or an element of an array that is here; what is outside is 0. */
static struct ivalue eval_element(struct interpreter *in, struct node *n)
{
	const struct program_type *t = n->a->type;
	struct ivalue a = interpret_eval(in, n->a), v = { 0 };
	u64 i = (u64)interpret_eval(in, n->b).number;
	u32 nr = t->kind == PROGRAM_STRING ? t->size : t->nr;
	if (!in->err && !type_is_scalar(n->type))
		in->err = -ENOTSUP;
	if (in->err || i >= nr)
		return v;
	memcpy(&v.number, a.bytes + i * n->type->size, n->type->size);
	v.number = check_fit(v.number, n->type);
	return v;
}

static struct ivalue eval_member(struct interpreter *in, struct node *n)
{
	struct ivalue a = interpret_eval(in, n->a);
	if (n->a->type->kind != PROGRAM_TUPLE)
		in->err = in->err ? in->err : -ENOTSUP;
	return in->err ? a : load(in, a.bytes + n->field->offset, n->type);
}

static struct ivalue eval_index(struct interpreter *in, struct node *n)
{
	s64 nr;
	if (n->a->type->kind == PROGRAM_STRING || n->a->type->kind == PROGRAM_ARRAY)
		return eval_element(in, n);
	struct ivalue a = interpret_eval(in, n->a);
	if (n->a->type->kind != PROGRAM_TUPLE || !check_constant(&in->check, n->b, &nr))
		in->err = in->err ? in->err : -ENOTSUP;
	if (in->err)
		return a;
	return load(in, a.bytes + n->a->type->fields[nr].offset, n->type);
}

static s64 eval_step(struct interpreter *in, struct node *n)
{
	s64 by = n->op == TOKEN_INC ? 1 : -1, old, new;
	if (n->a->kind == NODE_MAP) {
		u8 *key = interpret_key(in, n->a), value[8] = { 0 };
		(void)interpret_get(in, n->a->map, key, value);
		memcpy(&old, value, 8);
		new = (s64)((u64)old + (u64)by);
		memcpy(value, &new, 8);
		interpret_put(in, n->a->map, key, value);
		return n->number ? new : old;
	}
	struct var *v = n->a->var;
	old = (s64)v->value;
	new = check_fit((s64)((u64)old + (u64)scaled(v->type, by)), v->type);
	v->value = (u64) new;
	return n->number ? new : old;
}

/* The number that an aggregate of all CPUs is. */
static s64 aggregate_number(const struct program_type *t, const u8 *value)
{
	s64 v[2] = { 0 }, r = 0;
	memcpy(v, value, min(type_room(t), 16u));
	if (t->kind != PROGRAM_AVG)
		return v[0];
	(void)!check_fold(TOKEN_DIV, v[0], v[1], t->is_signed, &r);
	return r;
}

static s64 eval_read(struct interpreter *in, struct node *n)
{
	const struct program_type *t = n->map->value;
	u8 *key = interpret_key(in, n), *value = interpret_bytes(in, type_room(t));
	if (in->err || interpret_read(in, n->map, key, value))
		return 0;
	return aggregate_number(t, value);
}

static struct ivalue eval_text(struct interpreter *in, const struct node *n)
{
	struct ivalue v = { .bytes = interpret_bytes(in, type_room(n->type)) };
	if (v.bytes)
		strncpy((char *)v.bytes, n->text, type_room(n->type) - 1);
	return v;
}

static void run(struct interpreter *in, struct node *n);

static void clear_var(struct interpreter *in, struct var *v)
{
	v->value = 0;
	if (!type_is_scalar(v->type) && v->bytes)
		memset(v->bytes, 0, type_room(v->type));
}

static struct ivalue eval_block(struct interpreter *in, struct node *n)
{
	for (struct node *s = n->list; s && !in->err; s = s->next) {
		if (!s->next && s->kind == NODE_EXPR)
			return interpret_eval(in, s->a);
		run(in, s);
	}
	return (struct ivalue){ 0 };
}

/* A function of the script: its parameters, its body, its result. */
static struct ivalue eval_inline(struct interpreter *in, struct node *n)
{
	for (struct node *let = n->list; let && !in->err; let = let->next)
		run(in, let);
	if (n->a)
		clear_var(in, n->a->var);
	run(in, n->b);
	in->left = false;
	return n->a ? interpret_eval(in, n->a) : (struct ivalue){ 0 };
}

static struct ivalue eval_cast(struct interpreter *in, struct node *n)
{
	struct ivalue v = interpret_eval(in, n->a), to = { 0 };
	if (in->err)
		return to;
	if (type_is_scalar(n->type)) {
		if (n->a->type->kind == PROGRAM_ARRAY)
			memcpy(&v.number, v.bytes, n->type->size);
		to.number = check_fit(v.number, n->type);
		return to;
	}
	to.bytes = interpret_bytes(in, type_room(n->type));
	if (in->err)
		return to;
	if (n->type->kind == PROGRAM_ARRAY)
		memcpy(to.bytes, &v.number, n->type->size);
	else
		interpret_store(in, v, n->a->type, to.bytes, n->type);
	return to;
}

static void count_step(struct interpreter *in)
{
	in->steps++;
	if (!in->ops->go_on && in->steps > STEPS_MAX)
		in->err = -ELOOP;
	else if (in->ops->go_on && !(in->steps % STEPS_ASKED) && !in->ops->go_on(in->ctx))
		in->err = -EINTR;
}

static struct ivalue eval_node(struct interpreter *in, struct node *n)
{
	struct ivalue v = { 0 };
	if (type_is_scalar(n->type) && check_constant(&in->check, n, &v.number))
		return v;
	switch (n->kind) {
	case NODE_STRING: return eval_text(in, n);
	case NODE_VAR:
		if (type_is_scalar(n->var->type))
			v.number = (s64)n->var->value;
		else if (n->var->bytes)
			return load(in, n->var->bytes, n->var->type);
		return v;
	case NODE_MAP: return get_map(in, n);
	case NODE_IDENT:
	case NODE_CALL: return interpret_call(in, n);
	case NODE_UNARY: v.number = eval_unary(in, n); return v;
	case NODE_BINARY: v.number = eval_binary(in, n); return v;
	case NODE_TERNARY: return eval_ternary(in, n);
	case NODE_TUPLE: return eval_tuple(in, n);
	case NODE_INDEX: return eval_index(in, n);
	case NODE_CAST: return eval_cast(in, n);
	case NODE_MEMBER: return eval_member(in, n);
	case NODE_INLINE: return eval_inline(in, n);
	case NODE_BLOCK: return eval_block(in, n);
	case NODE_READ: v.number = eval_read(in, n->a); return v;
	case NODE_STEP: v.number = eval_step(in, n); return v;
	default: in->err = -ENOTSUP; return v;
	}
}

struct ivalue interpret_eval(struct interpreter *in, struct node *n)
{
	struct ivalue v = { 0 };
	if (!in->err)
		count_step(in);
	if (in->err)
		return v;
	in->depth++;
	v = eval_node(in, n);
	in->depth--;
	return v;
}

static void add_word(u8 *at, u32 index, u64 by)
{
	u64 v;
	memcpy(&v, at + (size_t)index * 8, 8);
	v += by;
	memcpy(at + (size_t)index * 8, &v, 8);
}

static u32 hist_bucket(u32 bits, s64 v)
{
	if (v < 0)
		return 0;
	if (v < 1 << bits)
		return (u32)v + 1;
	u32 power = 63 - (u32)__builtin_clzll((u64)v) - bits;
	return ((power + 1) << bits) + (u32)((u64)v >> power & ((1u << bits) - 1)) + 1;
}

static void add_extreme(u8 *at, const struct program_type *t, s64 v)
{
	s64 old[2];
	memcpy(old, at, 16);
	bool less = t->is_signed ? v < old[0] : (u64)v < (u64)old[0];
	bool more = t->is_signed ? v > old[0] : (u64)v > (u64)old[0];
	if (old[1] && !(t->kind == PROGRAM_MIN ? less : more))
		return;
	old[0] = v;
	old[1] = 1;
	memcpy(at, old, 16);
}

static void aggregate(struct interpreter *in, struct node *target, struct node *call)
{
	const struct program_type *t = target->map->value;
	u8 *key = interpret_key(in, target), *at = interpret_bytes(in, type_room(t));
	if (in->err)
		return;
	if (interpret_get(in, target->map, key, at))
		memset(at, 0, type_room(t));
	s64 v = call->nr ? interpret_eval(in, call->list).number : 1;
	switch (t->kind) {
	case PROGRAM_COUNT:
	case PROGRAM_SUM: add_word(at, 0, (u64)v); break;
	case PROGRAM_AVG:
	case PROGRAM_STATS:
		add_word(at, 0, (u64)v);
		add_word(at, 1, 1);
		break;
	case PROGRAM_MIN:
	case PROGRAM_MAX: add_extreme(at, t, v); break;
	case PROGRAM_HIST:
	case PROGRAM_QUANTILE: add_word(at, hist_bucket(t->hist.bits, v), 1); break;
	case PROGRAM_LHIST:
		add_word(at,
			 v < t->hist.min    ? 0
			 : v >= t->hist.max ? t->nr - 1
					    : (u32)((v - t->hist.min) / t->hist.step) + 1,
			 1);
		break;
	default: in->err = -ENOTSUP;
	}
	interpret_put(in, target->map, key, at);
}

static void set_var(struct interpreter *in, struct var *v, struct ivalue x,
		    const struct program_type *from)
{
	if (type_is_scalar(v->type)) {
		v->value = (u64)check_fit(x.number, v->type);
		return;
	}
	interpret_store(in, x, from, v->bytes, v->type);
}

static void assign(struct interpreter *in, struct node *n)
{
	u8 op = lower_plain_op(n->op);
	if (n->a->kind == NODE_MAP && type_is_aggregate(n->a->map->value)) {
		aggregate(in, n->a, n->b);
		return;
	}
	struct ivalue b = interpret_eval(in, n->b);
	if (in->err)
		return;
	if (n->a->kind == NODE_VAR && n->op != TOKEN_ASSIGN) {
		struct var *v = n->a->var;
		s64 r = 0, by = scaled(v->type, b.number);
		if (v->type->kind != PROGRAM_POINTER)
			by = b.number;
		if (!check_fold(op, (s64)v->value, by, check_signed_op(n->a, n->b), &r))
			in->err = -ENOTSUP;
		v->value = (u64)check_fit(r, v->type);
		return;
	}
	if (n->a->kind == NODE_VAR) {
		set_var(in, n->a->var, b, n->b->type);
		return;
	}
	const struct program_type *t = n->a->map->value;
	if (n->op != TOKEN_ASSIGN) {
		s64 old = get_map(in, n->a).number, r = 0;
		if (!check_fold(op, old, b.number, check_signed_op(n->a, n->b), &r))
			in->err = -ENOTSUP;
		b.number = r;
	}
	u8 *value = interpret_bytes(in, type_room(t)), *key = interpret_key(in, n->a);
	interpret_store(in, b, n->op == TOKEN_ASSIGN ? n->b->type : t, value, t);
	interpret_put(in, n->a->map, key, value);
}

/* Whether the loop goes on after its body. */
static bool run_body(struct interpreter *in, struct node *body)
{
	run(in, body);
	bool on = !in->err && !in->returned && !in->left && !in->broken;
	in->broken = in->continued = false;
	return on;
}

static void run_range(struct interpreter *in, struct node *n)
{
	s64 from = interpret_eval(in, n->a).number, end = interpret_eval(in, n->b).number;
	for (s64 i = from; i < end && !in->err; i++) {
		n->var->value = (u64)i;
		if (!run_body(in, n->c))
			break;
	}
}

struct each {
	struct interpreter *in;
	struct node *loop;
};

/* 1: enough. */
static int run_row(void *arg, const void *key)
{
	struct each *e = arg;
	struct interpreter *in = e->in;
	const struct map *m = e->loop->a->map;
	const struct program_type *t = e->loop->var->type, *from = m->value;
	u8 *row = e->loop->var->bytes, *value = interpret_bytes(in, type_room(from));
	if (in->err)
		return 1;
	/* It may have been deleted by an earlier round. */
	if (interpret_read(in, m, key, value))
		return in->err != 0;
	memcpy(row + t->fields[0].offset, key, type_room(m->key));
	if (type_is_aggregate(from)) {
		s64 number = aggregate_number(from, value);
		memcpy(row + t->fields[1].offset, &number, sizeof(number));
	} else {
		memcpy(row + t->fields[1].offset, value, type_room(from));
	}
	return !run_body(in, e->loop->c);
}

static void run_each(struct interpreter *in, struct node *n)
{
	struct each e = { .in = in, .loop = n };
	if (!in->ops->each) {
		in->err = -ENOTSUP;
		return;
	}
	int err = in->ops->each(in->ctx, n->a->map->number, run_row, &e);
	if (err && !in->err)
		in->err = err;
}

static void run(struct interpreter *in, struct node *n)
{
	s64 times;
	if (in->err || in->returned || in->left || in->broken || in->continued)
		return;
	count_step(in);
	/* Between statements nothing is kept but variables. */
	if (!in->depth && in->arena.total_bytes > BYTES_MAX) {
		arena_done(&in->arena);
		arena_init(&in->arena);
	}
	switch (n->kind) {
	case NODE_BLOCK:
		for (struct node *s = n->list; s; s = s->next)
			run(in, s);
		break;
	case NODE_ASSIGN: assign(in, n); break;
	case NODE_LET:
		if (n->b)
			set_var(in, n->a->var, interpret_eval(in, n->b), n->b->type);
		else
			clear_var(in, n->a->var);
		break;
	case NODE_EXPR: (void)interpret_eval(in, n->a); break;
	case NODE_IF:
		if (interpret_eval(in, n->a).number)
			run(in, n->b);
		else if (n->c)
			run(in, n->c);
		break;
	case NODE_WHILE:
		while (!in->err && interpret_eval(in, n->a).number && run_body(in, n->b))
			;
		break;
	case NODE_UNROLL:
		if (check_constant(&in->check, n->a, &times))
			while (times-- > 0 && run_body(in, n->b))
				;
		break;
	case NODE_RANGE: run_range(in, n); break;
	case NODE_FOR_MAP: run_each(in, n); break;
	case NODE_RETURN:
		if (n->number) {
			if (n->b)
				set_var(in, n->b->var, interpret_eval(in, n->a), n->a->type);
			in->left = true;
			break;
		}
		if (n->a)
			(void)interpret_eval(in, n->a);
		in->returned = true;
		break;
	case NODE_BREAK: in->broken = true; break;
	case NODE_CONTINUE: in->continued = true; break;
	default: in->err = -ENOTSUP;
	}
}

static struct probe_block *find_block(const struct script *s, u32 probe)
{
	for (struct probe_block *b = s->blocks; b; b = b->next)
		if (probe >= b->first_point && probe < b->first_point + b->nr_points)
			return b;
	return NULL;
}

static int prepare(struct interpreter *in, struct lang_tree *t, struct probe_block *b, u32 probe,
		   struct diag *d)
{
	in->check.in = &t->in;
	in->check.script = &t->script;
	in->check.diag = d;
	/* The nodes of a block for one point only have its types already. */
	int err = b->nr_points > 1 ? check_point(&in->check, b, probe) : 0;
	if (err)
		return err;
	arena_init(&in->arena);
	arena_init(&in->vars);
	for (struct var *v = b->vars; v; v = v->next) {
		v->value = 0;
		v->bytes = type_is_scalar(v->type)
				   ? NULL
				   : arena_zalloc(&in->vars, max(type_room(v->type), 8u));
		if (!type_is_scalar(v->type) && !v->bytes)
			in->err = -ENOMEM;
	}
	return 0;
}

int lang_interpret(const struct program *p, u32 probe, const struct interpret_ops *ops, void *ctx,
		   struct diag *d)
{
	struct lang_tree *t = p->tree;
	struct interpreter in = {
		.check = t->check, .program = p, .probe = probe, .ops = ops, .ctx = ctx
	};
	struct probe_block *b = find_block(&t->script, probe);
	int err = b ? prepare(&in, t, b, probe, d) : -EINVAL;
	if (err)
		return err;
	if (!b->predicate || interpret_eval(&in, b->predicate).number)
		run(&in, b->body);
	for (struct var *v = b->vars; v; v = v->next)
		v->bytes = NULL;
	arena_done(&in.arena);
	arena_done(&in.vars);
	return in.err;
}
