/* Searching in strings, names for numbers, options of the script. */
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/token.h"

#include "base/num.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const struct program_type *check_strcontains(struct checker *c, struct node *n)
{
	struct node *a = n->list, *b = a->next;
	if (!a->type || !b->type)
		return NULL;
	if (a->type->kind != PROGRAM_STRING || b->type->kind != PROGRAM_STRING) {
		check_fail(c, n, -EINVAL, "%s() takes two strings", n->text);
		return NULL;
	}
	if (b->kind != NODE_STRING || strlen(b->text) > 64) {
		check_fail(c, b, -ENOTSUP,
			   "%s() looks for a constant string of up to 64 bytes only, for now",
			   n->text);
		return NULL;
	}
	return strcmp(n->text, "strstr") ? &type_bool : &type_s64;
}

/*
 * Shift-and: bit k of the state is set when the last k + 1 bytes are the first of the needle. One step a byte, whatever the needle: a table
 * says where each byte occurs in it.
 */
static struct value lower_search(struct lower *l, struct node *n)
{
	struct ir *ir = l->ir;
	const char *needle = n->list->next->text;
	u32 len = (u32)strlen(needle), size = type_room(n->list->type);
	u64 table[256] = { 0 };
	struct value s = lower_expr(l, n->list);
	bool where = n->type->kind == PROGRAM_INT; /* strstr(): where it begins, or -1 */
	if (!len)
		return value_imm(!where);
	for (u32 i = 0; i < len; i++)
		table[(u8)needle[i]] |= 1ull << i;
	int found = ir_reg(ir), state = ir_reg(ir), i = ir_reg(ir), p = ir_reg(ir), x = ir_reg(ir);
	int at = ir_reg(ir), bit = ir_reg(ir), again = ir_label(ir), end = ir_label(ir),
	    yes = ir_label(ir);
	u32 off = lower_data(l, table, sizeof(table));
	ir_imm(ir, found, where ? -1 : 0);
	ir_imm(ir, state, 0);
	ir_imm(ir, bit, (s64)(1ull << (len - 1)));
	ir_imm(ir, i, 0);
	ir_place_label(ir, again);
	ir_lea(ir, p, s.reg, s.off);
	ir_alu(ir, BPF_ADD, p, i);
	ir_load(ir, x, p, 0, 1);
	ir_if_imm(ir, BPF_JEQ, x, 0, end);
	ir_map_value(ir, at, l->shared->data, off);
	ir_alu_imm(ir, BPF_LSH, x, 3);
	ir_alu(ir, BPF_ADD, at, x);
	ir_load(ir, x, at, 0, 8);
	ir_alu_imm(ir, BPF_LSH, state, 1);
	ir_alu_imm(ir, BPF_OR, state, 1);
	ir_alu(ir, BPF_AND, state, x);
	ir_if(ir, BPF_JSET, state, bit, yes);
	ir_alu_imm(ir, BPF_ADD, i, 1);
	ir_if_imm(ir, BPF_JLT, i, size, again);
	ir_jump(ir, end);
	ir_place_label(ir, yes);
	if (where) {
		ir_mov(ir, found, i);
		ir_alu_imm(ir, BPF_SUB, found, len - 1);
	} else {
		ir_imm(ir, found, 1);
	}
	ir_place_label(ir, end);
	lower_forget(l, found);
	return value_of(found);
}

/* Texts for the numbers from 0 on, in rows of the same size. */
enum { ERROR_ROWS = 135, ERROR_SIZE = 56, SIGNAL_ROWS = 66, SIGNAL_SIZE = 16 };

static const struct program_type *check_text_of(struct checker *c, struct node *n)
{
	bool error = !strcmp(n->text, "strerror");
	return check_number(c, n->list) ? type_string(c->arena, error ? ERROR_SIZE : SIGNAL_SIZE)
					: NULL;
}

/* The last of the rows is for what is outside of the table. */
static struct value pick_row(struct lower *l, struct node *n, const char *rows, u32 nr, u32 size)
{
	struct ir *ir = l->ir;
	int r = ir_reg(ir), at = ir_reg(ir), inside = ir_label(ir);
	u32 off = lower_data(l, rows, nr * size);
	ir_mov(ir, r, lower_reg(l, n->list));
	ir_if_imm(ir, BPF_JLT, r, nr - 1, inside);
	ir_imm(ir, r, nr - 1);
	ir_place_label(ir, inside);
	ir_alu_imm(ir, BPF_MUL, r, size);
	ir_map_value(ir, at, l->shared->data, off);
	ir_alu(ir, BPF_ADD, at, r);
	return (struct value){ .kind = VALUE_MEM, .reg = at };
}

static struct value lower_strerror(struct lower *l, struct node *n)
{
	char rows[ERROR_ROWS][ERROR_SIZE] = { { 0 } };
	for (int i = 0; i < ERROR_ROWS; i++) {
		const char *text = i < ERROR_ROWS - 1 ? strerrordesc_np(i) : NULL;
		strncpy(rows[i], text ? text : "Unknown error", ERROR_SIZE - 1);
	}
	return pick_row(l, n, rows[0], ERROR_ROWS, ERROR_SIZE);
}

static struct value lower_signal_name(struct lower *l, struct node *n)
{
	char rows[SIGNAL_ROWS][SIGNAL_SIZE] = { { 0 } };
	for (int i = 1; i < SIGNAL_ROWS - 1; i++) {
		const char *text = sigabbrev_np(i);
		if (text) {
			memcpy(rows[i], "SIG", 3);
			strncpy(rows[i] + 3, text, SIGNAL_SIZE - 4);
		}
	}
	return pick_row(l, n, rows[0], SIGNAL_ROWS, SIGNAL_SIZE);
}

static const struct program_type *check_macaddr(struct checker *c, struct node *n)
{
	const struct program_type *t = n->list->type;
	if (!t)
		return NULL;
	bool bytes = (t->kind == PROGRAM_ARRAY && t->size == 6) || t->kind == PROGRAM_POINTER;
	if (!bytes) {
		check_fail(c, n->list, -EINVAL, "macaddr() takes an array of 6 bytes or a pointer");
		return NULL;
	}
	return type_plain(c->arena, PROGRAM_MAC, 6);
}

static struct value lower_macaddr(struct lower *l, struct node *n)
{
	struct place to = lower_dest(l, n->type, NULL);
	struct value v = lower_address(l, lower_expr(l, n->list));
	int at = ir_reg(l->ir);
	ir_lea(l->ir, at, v.reg, v.off);
	lower_zero(l, to, 8);
	lower_read_bytes(l, to, 6, ir_arg_reg(at), false, v.own);
	return place_value(to);
}

static const struct program_type *check_ncpus(struct checker *c, struct node *n)
{
	(void)c;
	(void)n;
	return &type_u64;
}

static struct value lower_ncpus(struct lower *l, struct node *n)
{
	(void)l;
	(void)n;
	return value_imm(sysconf(_SC_NPROCESSORS_CONF));
}

/* The value of --name=value or --name; NULL: not given. */
static const char *find_option(const struct lang_input *in, const char *name)
{
	size_t len = strlen(name);
	for (u32 i = 0; i < in->nr_params; i++) {
		const char *p = in->params[i];
		if (strncmp(p, "--", 2) || strncmp(p + 2, name, len))
			continue;
		if (!p[2 + len])
			return "";
		if (p[2 + len] == '=')
			return p + 3 + len;
	}
	return NULL;
}

/* getopt("name", default, "help") is a constant of the type of its default; without one, whether the option was given. */
static const struct program_type *check_getopt(struct checker *c, struct node *n)
{
	struct node *name = n->list, *other = name->next;
	if (name->kind != NODE_STRING || (n->nr == 3 && other->next->kind != NODE_STRING)) {
		check_fail(c, n, -EINVAL, "the name and the help of an option have to be strings");
		return NULL;
	}
	const char *given = find_option(c->in, name->text);
	s64 v = 0;
	if (other && other->kind == NODE_STRING) {
		n->kind = NODE_STRING;
		n->text = given ? given : other->text;
		n->number = (s64)strlen(n->text);
	} else if (!other || other->kind == NODE_BOOL) {
		n->kind = NODE_BOOL;
		n->number = given ? strcmp(given, "false") && strcmp(given, "0")
				  : other && other->number;
	} else if (check_constant(c, other, &v)) {
		n->kind = NODE_INT;
		if (given && num_parse_s64(given, 0, &v)) {
			check_fail(c, n, -EINVAL, "option --%s needs a number, not '%s'",
				   name->text, given);
			return NULL;
		}
		n->number = v;
	} else {
		check_fail(c, other, -EINVAL, "the default of an option has to be a constant");
		return NULL;
	}
	n->list = NULL;
	n->nr = 0;
	return check_expr(c, n);
}

static struct value no_value(struct lower *l, struct node *n)
{
	lower_fail(l, n, -EINVAL, "getopt() is a constant");
	return value_imm(0);
}

static const struct builtin rows[] = {
	{ "strcontains", 2, 2, 0, check_strcontains, lower_search, NULL,
	  "whether a string contains another", .form = "(STRING, NEEDLE)" },
	{ "strstr", 2, 2, 0, check_strcontains, lower_search, NULL,
	  "where a string is in another, or -1", .form = "(STRING, NEEDLE)" },
	{ "strerror", 1, 1, 0, check_text_of, lower_strerror, NULL, "text of an errno",
	  .form = "(ERRNO)" },
	{ "signal_name", 1, 1, 0, check_text_of, lower_signal_name, NULL, "name of a signal",
	  .form = "(NUMBER)" },
	{ "macaddr", 1, 1, 0, check_macaddr, lower_macaddr, NULL, "MAC address as text",
	  .form = "(BYTES)" },
	{ "ncpus", 0, 0, BUILTIN_VALUE, check_ncpus, lower_ncpus, NULL, "number of CPUs" },
	{ "getopt", 1, 3, 0, check_getopt, no_value, NULL, "value of an option of the script",
	  .form = "(NAME[, DEFAULT[, HELP]])" },
};

const struct builtin_group builtins_search = { rows, ARRAY_SIZE(rows),
					       "Strings and names of numbers" };
