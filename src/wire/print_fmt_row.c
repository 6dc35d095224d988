/*
 * Programs of literals and plain fields only, which most events' are: the same again as a row of steps of 32 bytes each, literal
 * included. What the payload must have and the most that can be written is known before, so running it asks once for both. Strings
 * that lie elsewhere in the payload have only as much room as a number: a longer one is left to the program.
 */
#include "wire/print_fmt_impl.h"

#include <errno.h>
#include <string.h>

enum { STEP_LITERAL = 24, OFFSET_MAX = UINT16_MAX - 8, ZEROS_MAX = 8 };

enum step_kind {
	STEP_NOTHING,
	STEP_UNSIGNED,
	STEP_SIGNED,
	STEP_HEX,
	STEP_COMM,
	STEP_ZEROS, /* a decimal number with zeros before it */
	STEP_STRING, /* at the place that a word tells */
};

struct print_step {
	u8 kind;
	u8 shift; /* of the eight bytes that end where the field ends: to the right, and they are the number */
	bool extend; /* with its sign; STEP_STRING: the place is counted from after the word */
	u8 width; /* STEP_ZEROS */
	u8 pre_len;
	bool sign; /* STEP_ZEROS: the conversion shows one */
	u16 offset; /* of these eight bytes, of the comm, or of the word */
	char pre[STEP_LITERAL];
};

static bool is_comm(const struct op *op)
{
	return op->kind == OP_LOAD_STR && op->len == PRINT_COMM_SIZE;
}

static bool is_string(const struct op *op)
{
	return op->kind == OP_TEXT && op->arg->kind == NODE_BYTES && op->arg->loc &&
	       !op->spec.width && op->spec.prec < 0 && !op->width && !op->prec;
}

/* %03d of a field. */
static bool has_zeros(const struct op *op)
{
	return op->kind == OP_NUMBER && (op->spec.conv == 'd' || op->spec.conv == 'u') &&
	       op->spec.flags == SPEC_ZERO && op->spec.width > 0 && op->spec.width <= ZEROS_MAX &&
	       op->spec.prec < 0 && !op->width && !op->prec;
}

static bool is_load(const struct op *op)
{
	return op->kind == OP_LOAD_DEC || op->kind == OP_LOAD_HEX || has_zeros(op);
}

static u32 offset_of(const struct op *op)
{
	return is_string(op) ? op->arg->offset : op->offset;
}

static u32 size_of(const struct op *op)
{
	return is_string(op) ? 4 : is_comm(op) ? PRINT_COMM_SIZE : op->size;
}

static bool fits(const struct op *op)
{
	if (op->kind == OP_LITERAL)
		return true;
	if (offset_of(op) > OFFSET_MAX)
		return false;
	return is_comm(op) || is_string(op) ||
	       (is_load(op) && op->direct && op->offset + op->size >= 8);
}

static enum step_kind kind_of(const struct op *op)
{
	if (is_comm(op) || is_string(op))
		return is_comm(op) ? STEP_COMM : STEP_STRING;
	if (op->kind == OP_LOAD_HEX)
		return STEP_HEX;
	return has_zeros(op) ? STEP_ZEROS : op->spec.conv == 'd' ? STEP_SIGNED : STEP_UNSIGNED;
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
	to->kind = (u8)kind_of(op);
	to->offset = (u16)(is_load(op) ? op->offset + op->size - 8 : offset_of(op));
	to->shift = op->shift;
	to->extend = is_string(op) ? op->arg->loc == FIELD_REL_LOC : op->extend;
	to->width = has_zeros(op) ? (u8)op->spec.width : 0;
	to->sign = op->spec.conv == 'd';
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
			needs = max(needs, offset_of(op) + size_of(op));
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

static inline char *put_zeros(const struct print_step *s, char *to, u64 v)
{
	u64 negative = s->sign & v >> 63;
	v = negative ? 0 - v : v;
	*to = '-';
	to += negative;
	unsigned len = num_nr_digits(v) + (unsigned)negative;
	num_put_chars(to, 0x3030303030303030ull);
	to += s->width > len ? s->width - len : 0;
	return to + num_dec(to, v);
}

/* NULL: it is not all there, or does not fit. */
static inline char *put_string(const struct print_step *s, const u8 *raw, u32 size, char *to)
{
	u32 word;
	memcpy(&word, raw + s->offset, sizeof(word));
	u32 at = (word & 0xffff) + (s->extend ? s->offset + 4u : 0), len = word >> 16;
	if (at > size || len > size - at)
		return NULL;
	len = (u32)strnlen((const char *)raw + at, len);
	return len <= NUM_DIGITS_MAX ? mempcpy(to, raw + at, len) : NULL;
}

int print_row_run(const struct print_prog *p, const u8 *raw, u32 size, struct strbuf *to)
{
	enum { STEP_MAX = STEP_LITERAL + ZEROS_MAX + NUM_DIGITS_MAX };
	char *start = strbuf_room(to, (size_t)p->nr_steps * STEP_MAX), *at = start;
	if (unlikely(!start))
		return to->err;
	for (const struct print_step *s = p->steps, *end = s + p->nr_steps; s < end; s++) {
		memcpy(at, s->pre, STEP_LITERAL);
		at += s->pre_len;
		/* One after the other: a jump by kind would be guessed wrong more often. */
		if (s->kind == STEP_HEX) {
			at += num_hex(at, load_step(s, raw));
		} else if (s->kind == STEP_SIGNED) {
			u64 v = load_step(s, raw), negative = v >> 63;
			*at = '-';
			at += negative;
			at += num_dec(at, negative ? 0 - v : v);
		} else if (s->kind == STEP_UNSIGNED) {
			at += num_dec(at, load_step(s, raw));
		} else if (s->kind == STEP_COMM) {
			at += print_put_comm(at, raw + s->offset);
		} else if (s->kind == STEP_ZEROS) {
			at = put_zeros(s, at, load_step(s, raw));
		} else if (s->kind == STEP_STRING && !(at = put_string(s, raw, size, at))) {
			return -EAGAIN;
		}
	}
	strbuf_commit(to, (size_t)(at - start));
	return 0;
}
