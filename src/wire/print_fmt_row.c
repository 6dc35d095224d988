/*
 * Programs of literals and plain fields only, which most events' are: the same again as a row of steps of 32 bytes each, literal
 * included. What the payload must have and the most that can be written is known before, so running it asks once for both.
 */
#include "wire/print_fmt_impl.h"

#include <errno.h>
#include <string.h>

enum { STEP_LITERAL = 24, OFFSET_MAX = 1 << 24 };

enum step_kind { STEP_NOTHING, STEP_UNSIGNED, STEP_SIGNED, STEP_HEX, STEP_COMM };

struct print_step {
	u8 kind;
	u8 shift; /* of the eight bytes that end where the field ends: to the right, and they are the number */
	bool extend; /* with its sign */
	u8 pre_len;
	u32 offset; /* of these eight bytes, or of the comm */
	char pre[STEP_LITERAL];
};

static bool is_comm(const struct op *op)
{
	return op->kind == OP_LOAD_STR && op->len == PRINT_COMM_SIZE;
}

static bool fits(const struct op *op)
{
	if (op->kind == OP_LITERAL)
		return true;
	if (op->offset > OFFSET_MAX)
		return false;
	return is_comm(op) || ((op->kind == OP_LOAD_DEC || op->kind == OP_LOAD_HEX) && op->direct &&
			       op->offset + op->size >= 8);
}

static u32 steps_of(const struct op *op)
{
	return 1 + op->pre_len / (STEP_LITERAL + 1);
}

static struct print_step *put_step(struct print_step *to, const struct op *op)
{
	u32 done = 0;
	for (; op->pre_len - done > STEP_LITERAL; done += STEP_LITERAL, to++) {
		to->pre_len = STEP_LITERAL;
		memcpy(to->pre, op->pre + done, STEP_LITERAL);
	}
	to->pre_len = (u8)(op->pre_len - done);
	memcpy(to->pre, op->pre + done, to->pre_len);
	if (op->kind == OP_LITERAL)
		return to + 1;
	to->kind = is_comm(op)		     ? STEP_COMM
		   : op->kind == OP_LOAD_HEX ? STEP_HEX
		   : op->spec.conv == 'd'    ? STEP_SIGNED
					     : STEP_UNSIGNED;
	to->offset = is_comm(op) ? op->offset : op->offset + op->size - 8;
	to->shift = op->shift;
	to->extend = op->extend;
	return to + 1;
}

/* A conversion cut to less than the field is has its bytes at the field's beginning: `direct` is for the others only. */
int print_row_compile(struct arena *a, struct print_prog *prog)
{
	u32 nr = 0, needs = 0;
	if (prog->schema->big_endian || __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		return 0;
	for (const struct op *op = prog->ops; op->kind != OP_END; op++) {
		if (!fits(op))
			return 0;
		nr += steps_of(op);
		if (op->kind != OP_LITERAL)
			needs = max(needs, op->offset + (is_comm(op) ? PRINT_COMM_SIZE : op->size));
	}
	if (!nr)
		return 0;
	struct print_step *steps = arena_array(a, nr, sizeof(*steps)), *to = steps;
	if (!steps)
		return -ENOMEM;
	for (const struct op *op = prog->ops; op->kind != OP_END; op++)
		to = put_step(to, op);
	prog->steps = steps;
	prog->nr_steps = (u32)(to - steps);
	prog->steps_need = needs;
	return 0;
}

static inline u64 load_step(const struct print_step *s, const u8 *raw)
{
	u64 v;
	memcpy(&v, raw + s->offset, 8);
	return s->extend ? (u64)((s64)v >> s->shift) : v >> s->shift;
}

int print_row_run(const struct print_prog *p, const u8 *raw, struct strbuf *to)
{
	enum { STEP_MAX = STEP_LITERAL + NUM_DIGITS_MAX };
	char *start = strbuf_room(to, (size_t)p->nr_steps * STEP_MAX), *at = start;
	if (unlikely(!start))
		return to->err;
	for (const struct print_step *s = p->steps, *end = s + p->nr_steps; s < end; s++) {
		memcpy(at, s->pre, STEP_LITERAL);
		at += s->pre_len;
		switch ((enum step_kind)s->kind) {
		case STEP_HEX: at += num_hex(at, load_step(s, raw)); break;
		case STEP_SIGNED: {
			u64 v = load_step(s, raw), negative = v >> 63;
			*at = '-';
			at += negative;
			at += num_dec(at, negative ? 0 - v : v);
			break;
		}
		case STEP_UNSIGNED: at += num_dec(at, load_step(s, raw)); break;
		case STEP_COMM: at += print_put_comm(at, raw + s->offset); break;
		case STEP_NOTHING: break;
		}
	}
	strbuf_commit(to, (size_t)(at - start));
	return 0;
}
