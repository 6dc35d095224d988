/*
 * Compiling a print fmt: the format string is cut into literals and conversions, each conversion takes the next argument's
 * tree and becomes one op. Plain loads get ops of their own, since they are nine of ten. What does not compile prints by
 * field after "[FAILED TO PARSE]".
 */
#include "wire/print_fmt.h"
#include "wire/print_fmt_impl.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static const char no_literal[OP_PAD];

struct ops {
	struct op *at;
	size_t nr, cap;
	struct strbuf literal; /* what stands before the next op */
};

static void take_literal(struct print_fmt_parser *p, struct ops *ops, struct op *op)
{
	size_t len = ops->literal.len;
	char *kept = arena_zalloc(p->arena, len + OP_PAD);
	if (!kept || ops->literal.err) {
		p->err = -ENOMEM;
		return;
	}
	if (len)
		memcpy(kept, ops->literal.data, len);
	op->pre = kept;
	op->pre_len = (u32)len;
	strbuf_reset(&ops->literal);
}

static struct op *add_op(struct print_fmt_parser *p, struct ops *ops, enum op_kind kind)
{
	if (ops->nr >= PRINT_OPS_MAX)
		return parser_fail(p, "it is too long");
	struct op *op = vec_push(ops);
	if (!op) {
		p->err = -ENOMEM;
		return NULL;
	}
	op->kind = (u8)kind;
	op->spec.prec = -1;
	take_literal(p, ops, op);
	return op;
}

static void add_literal(struct ops *ops, const char *str, size_t len)
{
	strbuf_add(&ops->literal, str, len);
}

/* ---- one conversion ---- */

static s32 scan_number(const char **at, const char *end)
{
	s32 v = 0;
	for (; *at < end && isdigit((unsigned char)**at); ++*at)
		v = min(v * 10 + (**at - '0'), (s32)PRINT_WIDTH_MAX);
	return v;
}

static void scan_flags(const char **at, const char *end, struct spec *s)
{
	static const char chars[] = "-0+ #";
	static const u8 bits[] = { SPEC_LEFT, SPEC_ZERO, SPEC_PLUS, SPEC_BLANK, SPEC_ALT };
	for (; *at < end; ++*at) {
		const char *hit = strchr(chars, **at);
		if (!hit || !**at)
			return;
		s->flags |= bits[hit - chars];
	}
}

static void scan_size(const char **at, const char *end, u8 long_size, struct spec *s)
{
	s->size = 4;
	unsigned longs = 0, shorts = 0;
	for (; *at < end; ++*at) {
		switch (**at) {
		case 'h': shorts++; break;
		case 'l': longs++; break;
		case 'L':
		case 'q':
		case 'j': longs += 2; break;
		case 'z':
		case 'Z':
		case 't': longs++; break;
		default:
			if (longs)
				s->size = longs > 1 ? 8 : long_size;
			else if (shorts)
				s->size = shorts > 1 ? 1 : 2;
			return;
		}
	}
}

/* The kernel takes every letter and digit after %p as part of it. */
static void scan_pointer(const char **at, const char *end, struct spec *s)
{
	for (size_t n = 0; *at < end && isalnum((unsigned char)**at); ++*at)
		if (n < sizeof(s->ext) - 1)
			s->ext[n++] = **at;
}

bool print_scan_spec(const char **at, const char *end, u8 long_size, struct spec *s)
{
	*s = (struct spec){ .prec = -1 };
	scan_flags(at, end, s);
	if (*at < end && **at == '*') {
		s->flags |= SPEC_WIDTH_ARG;
		++*at;
	} else {
		s->width = scan_number(at, end);
	}
	if (*at < end && **at == '.') {
		++*at;
		if (*at < end && **at == '*') {
			s->flags |= SPEC_PREC_ARG;
			++*at;
		} else {
			s->prec = scan_number(at, end);
		}
	}
	scan_size(at, end, long_size, s);
	if (*at >= end)
		return false;
	s->conv = *(*at)++;
	if (s->conv == 'i')
		s->conv = 'd';
	if (s->conv == 'p')
		scan_pointer(at, end, s);
	return s->conv && strchr("duxXocsp%", s->conv);
}

/* ---- ops ---- */

static bool is_plain(const struct spec *s)
{
	return !s->width && s->prec < 0 && !(s->flags & ~SPEC_ZERO & ~SPEC_LEFT);
}

static void take_load(struct op *op, enum op_kind kind)
{
	const struct print_fmt_node *n = op->arg;
	op->kind = (u8)kind;
	op->offset = n->kind == NODE_INDEX ? n->a->offset + (u32)n->b->num * n->size : n->offset;
	op->size = n->size;
	op->sign = n->sign;
	op->cut = op->spec.size;
	op->len = n->len;
	/* What is cut to its own size takes the conversion's sign, what is widened its own. */
	bool dec = op->spec.conv == 'd', whole = op->cut >= 8 || dec || !op->sign;
	op->direct =
		op->size && op->size <= 8 && (op->cut == op->size || (op->cut > op->size && whole));
	op->extend = op->cut == op->size ? dec : op->sign;
	op->shift = op->direct ? (u8)(64 - 8 * op->size) : 0;
}

/* A cast that the conversion's own width makes needless: %llx of (unsigned long long)REC->x. */
static const struct print_fmt_node *strip_cast(const struct print_fmt_node *n, const struct spec *s)
{
	while (n->kind == NODE_CAST && n->size >= s->size && n->a->size <= n->size &&
	       n->a->kind < NODE_BYTES)
		n = n->a;
	return n;
}

/* REC->args[2]: as good as a field of its own. */
static bool is_fixed_element(const struct print_fmt_node *n)
{
	return n->kind == NODE_INDEX && n->a->kind == NODE_BYTES && !n->a->loc &&
	       n->b->kind == NODE_NUM && n->b->num < n->a->len / n->size;
}

static void finish_number(struct print_fmt_parser *p, struct op *op)
{
	if (op->arg->kind >= NODE_BYTES) {
		parser_fail(p, "a string where a number is expected");
		return;
	}
	op->kind = op->spec.conv == 'c' ? OP_CHAR : OP_NUMBER;
	op->arg = strip_cast(op->arg, &op->spec);
	if (op->arg->kind != NODE_LOAD && !is_fixed_element(op->arg))
		return;
	if (!is_plain(&op->spec))
		take_load(op, (enum op_kind)op->kind); /* what a row may make of it */
	else if (op->spec.conv == 'd' || op->spec.conv == 'u')
		take_load(op, OP_LOAD_DEC);
	else if (op->spec.conv == 'x')
		take_load(op, OP_LOAD_HEX);
}

static void finish_text(struct print_fmt_parser *p, struct op *op)
{
	op->kind = OP_TEXT;
	if (op->arg->kind < NODE_BYTES) {
		struct print_fmt_node *n = arena_zalloc(p->arena, sizeof(*n));
		if (!n) {
			p->err = -ENOMEM;
			return;
		}
		n->kind = NODE_STRING_AT;
		n->a = op->arg;
		op->arg = n;
	}
	if (op->arg->kind == NODE_BYTES && !op->arg->loc && op->arg->len && !op->spec.width &&
	    op->spec.prec < 0 && !op->width && !op->prec)
		take_load(op, OP_LOAD_STR);
}

static const struct print_fmt_node *next_argument(struct print_fmt_parser *p)
{
	const struct print_fmt_node *n = parser_argument(p);
	return n ? n : parser_fail(p, "fewer arguments than conversions");
}

static const struct print_fmt_node *number_argument(struct print_fmt_parser *p)
{
	const struct print_fmt_node *n = next_argument(p);
	return n && n->kind >= NODE_BYTES ? parser_fail(p, "invalid width") : n;
}

static void add_conversion(struct print_fmt_parser *p, struct ops *ops, const struct spec *s)
{
	const struct print_fmt_node *width = s->flags & SPEC_WIDTH_ARG ? number_argument(p) : NULL;
	const struct print_fmt_node *prec = s->flags & SPEC_PREC_ARG ? number_argument(p) : NULL;
	const struct print_fmt_node *arg = next_argument(p);
	if (p->err)
		return;
	if (arg->unknown || (width && width->unknown) || (prec && prec->unknown)) {
		add_literal(ops, "?", 1);
		return;
	}
	struct op *op = add_op(p, ops, OP_NUMBER);
	if (!op)
		return;
	op->spec = *s;
	op->spec.flags &= (u8) ~(SPEC_WIDTH_ARG | SPEC_PREC_ARG);
	op->width = width;
	op->prec = prec;
	op->arg = arg;
	while (arg->kind == NODE_CAST)
		arg = arg->a;
	op->field = arg->kind == NODE_LOAD ? arg->field : NULL;
	if (s->conv == 's')
		finish_text(p, op);
	else if (s->conv == 'p')
		op->kind = OP_POINTER;
	else
		finish_number(p, op);
}

static void cut_format(struct print_fmt_parser *p, struct ops *ops, const char *at, const char *end)
{
	while (at < end && !p->err) {
		const char *pct = memchr(at, '%', (size_t)(end - at));
		add_literal(ops, at, (size_t)((pct ? pct : end) - at));
		if (!pct)
			return;
		struct spec s;
		at = pct + 1;
		if (!print_scan_spec(&at, end, p->schema->long_size, &s))
			parser_fail(p, "unknown conversion");
		else if (s.conv == '%')
			add_literal(ops, "%", 1);
		else
			add_conversion(p, ops, &s);
	}
}

static int keep_ops(struct print_fmt_parser *p, struct ops *ops, const struct op **ret)
{
	if (ops->literal.len)
		(void)add_op(p, ops, OP_LITERAL);
	(void)add_op(p, ops, OP_END);
	strbuf_done(&ops->literal);
	int err = p->err;
	struct op *kept = err ? NULL : arena_array(p->arena, ops->nr, sizeof(*kept));
	if (!err && !kept)
		err = -ENOMEM;
	if (!err)
		*ret = memcpy(kept, ops->at, ops->nr * sizeof(*kept));
	vec_free(ops);
	return err;
}

static int print_compile_text(struct print_fmt_parser *p, const char *fmt, size_t len,
			      const struct op **ret)
{
	struct ops ops = { 0 };
	cut_format(p, &ops, fmt, fmt + len);
	if (!p->err && !parser_at_argument(p))
		parser_fail(p, "expected a comma between arguments");
	return keep_ops(p, &ops, ret);
}

static int compile_by_field(struct print_fmt_parser *p, const struct op **ret)
{
	struct ops ops = { 0 };
	static const char head[] = "[FAILED TO PARSE]";
	p->err = 0;
	add_literal(&ops, head, sizeof(head) - 1);
	(void)add_op(p, &ops, OP_FIELDS);
	return keep_ops(p, &ops, ret);
}

/* ---- layouts in C ---- */

static const struct schema_field **layout_fields(struct print_fmt_parser *p, const struct layout *l)
{
	const struct schema_field **fields =
		arena_array(p->arena, LAYOUT_FIELDS_MAX, sizeof(*fields));
	for (unsigned i = 0; fields && i < LAYOUT_FIELDS_MAX && l->fields[i]; i++) {
		bool optional = l->fields[i][0] == '?';
		fields[i] = schema_find(p->schema, l->fields[i] + optional);
		if (!fields[i] && !optional)
			return NULL;
	}
	return fields;
}

const struct layout *layout_find(const struct layout *rows, size_t nr, const struct schema *s)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(rows[i].system, s->system) && !strcmp(rows[i].event, s->name))
			return &rows[i];
	return NULL;
}

static const struct print_fmt_node *argument_after(const struct op *op, const char *literal)
{
	size_t len = strlen(literal);
	for (; op->kind != OP_END; op++)
		if (op->pre_len >= len && !memcmp(op->pre + op->pre_len - len, literal, len))
			return op->arg;
	return NULL;
}

/* Puts the layout's op in front of the plain program. A layout whose fields are not all there is left out. */
static int apply_layout(struct print_fmt_parser *p, struct print_prog *prog, const struct layout *l)
{
	const struct schema_field **fields = layout_fields(p, l);
	struct op *ops = arena_array(p->arena, 2, sizeof(*ops));
	if (!ops)
		return -ENOMEM;
	if (!fields)
		return 0;
	ops[0].kind = OP_CALL;
	ops[0].pre = no_literal;
	ops[0].call = l->print;
	ops[0].arg = l->after ? argument_after(prog->plain, l->after) : NULL;
	prog->ops = ops;
	prog->fields = fields;
	return 1;
}

void layout_plain(struct print_ctx *c)
{
	print_ops(c, c->prog->plain);
}

u64 layout_u64(struct print_ctx *c, unsigned i)
{
	const struct schema_field *f = c->prog->fields[i];
	return f ? print_load(c, f->offset, f->size, f->flags & FIELD_SIGNED) : 0;
}

const u8 *layout_bytes(struct print_ctx *c, unsigned i, u32 *len)
{
	const struct schema_field *f = c->prog->fields[i];
	*len = 0;
	if (!f)
		return NULL;
	struct print_fmt_node n = { .kind = NODE_BYTES,
				    .offset = f->offset,
				    .len = f->size,
				    .loc = f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC) };
	return print_bytes(c, &n, len);
}

void layout_str(struct print_ctx *c, unsigned i)
{
	u32 len;
	const u8 *p = layout_bytes(c, i, &len);
	if (p)
		strbuf_add(c->to, p, strnlen((const char *)p, len));
}

static bool after_0x(const struct op *op)
{
	return op->pre_len > 1 && !memcmp(op->pre + op->pre_len - 2, "0x", 2);
}

/*
 * For each field the conversion that shows it. The search goes on where the last one ended, and round: a field shown twice
 * follows the conversion that is near its neighbours'. As in libtraceevent it is over when the text's last piece was taken.
 */
static int compile_fields(struct print_fmt_parser *p, struct print_prog *prog)
{
	const struct schema *s = p->schema;
	u32 nr_ops = 0, at = 0, nr = s->nr_fields - s->nr_common;
	while (prog->plain[nr_ops].kind != OP_END)
		nr_ops++;
	struct field_op *fields = arena_array(p->arena, nr, sizeof(*fields));
	if (!fields)
		return -ENOMEM;
	for (u32 i = 0; i < nr && at < nr_ops; i++) {
		const struct schema_field *f = &s->fields[s->nr_common + i];
		for (u32 n = 0; n < nr_ops; n++) {
			const struct op *op = &prog->plain[(at + n) % nr_ops];
			if (op->field != f)
				continue;
			fields[i].op = op;
			fields[i].hex = after_0x(op);
			at = (u32)(op - prog->plain) + 1;
			break;
		}
	}
	prog->field_ops = fields;
	return 0;
}

static int compile_plain(struct print_fmt_parser *p, struct print_prog *prog, bool *whole)
{
	size_t len = 0;
	const char *fmt = parser_format(p, &len);
	int err = fmt ? print_compile_text(p, fmt, len, &prog->plain) : p->err;
	*whole = !err;
	if (!err)
		return compile_fields(p, prog);
	return err == -ENOMEM ? err : compile_by_field(p, &prog->plain);
}

static int compile_layout(struct print_fmt_parser *p, struct print_prog *prog, bool *whole)
{
	prog->ops = prog->plain;
	const struct layout *l =
		p->style == PRINT_STYLE_TRACE_CMD ? print_tracecmd_layout(p->schema) : NULL;
	const struct layout *own = print_ftrace_layout(p->schema);
	if (own)
		prog->field_ops = NULL; /* its print fmt says nothing about the fields */
	if (!l)
		l = own;
	int done = l ? apply_layout(p, prog, l) : 0;
	*whole |= done > 0;
	return done;
}

int print_prog_compile(struct arena *a, const struct schema *s, const struct print_env *env,
		       enum print_style style, const struct print_prog **ret, bool *whole,
		       struct diag *d)
{
	struct print_prog *prog = arena_zalloc(a, sizeof(*prog));
	if (!prog)
		return -ENOMEM;
	prog->schema = s;
	prog->env = env;
	prog->style = style;
	struct print_fmt_parser p;
	parser_init(&p, a, s, env, style);
	int err = compile_plain(&p, prog, whole);
	const char *what = p.what ? p.what : "it has no print fmt";
	if (!err)
		err = compile_layout(&p, prog, whole);
	if (err >= 0)
		err = print_row_compile(a, prog);
	if (err < 0)
		return err;
	if (!*whole)
		diag_note(d, "%s:%s is printed field by field: %s", s->system, s->name, what);
	*ret = prog;
	return 0;
}

/* ---- by field ---- */

static bool is_printable(const u8 *p, u32 len)
{
	for (u32 i = 0; i < len && p[i]; i++)
		if (!isprint(p[i]) && !isspace(p[i]))
			return false;
	return true;
}

static void field_array(struct print_ctx *c, const struct schema_field *f)
{
	struct print_fmt_node n = { .kind = NODE_BYTES,
				    .offset = f->offset,
				    .len = f->size,
				    .loc = f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC) };
	u32 len;
	const u8 *p = print_bytes(c, &n, &len);
	bool text = strstr(f->type, "char") || strstr(f->type, "u8") || strstr(f->type, "s8");
	if (p && text && is_printable(p, len)) {
		strbuf_add(c->to, p, strnlen((const char *)p, len));
		return;
	}
	strbuf_str(c->to, "ARRAY[");
	for (u32 i = 0; p && i < len; i++) {
		static const char digits[] = "0123456789abcdef";
		char hex[4] = { ',', ' ', digits[p[i] >> 4], digits[p[i] & 15] };
		strbuf_add(c->to, i ? hex : hex + 2, i ? 4 : 2);
	}
	strbuf_char(c->to, ']');
}

static void field_number(struct print_ctx *c, const struct schema_field *f)
{
	bool sign = f->flags & FIELD_SIGNED, hex = f->flags & FIELD_POINTER;
	u64 v = print_load(c, f->offset, f->size, sign);
	/* longs show in hex, except signed ones of 8 bytes */
	hex |= (f->flags & FIELD_LONG) && (!sign || f->size == 4);
	if (hex) {
		strbuf_add(c->to, "0x", 2);
		strbuf_hex(c->to, f->size == 4 ? (u32)v : v);
	} else if (sign) {
		struct spec s = { .conv = 'd', .size = 8, .width = f->size == 2 ? 2 : 0, .prec = -1 };
		print_number(c->to, &s, v);
	} else {
		strbuf_u64(c->to, v);
	}
}

void print_one_field(struct print_ctx *c, u32 index)
{
	const struct schema_field *f = &c->prog->schema->fields[index];
	const struct field_op *how =
		c->prog->field_ops ? &c->prog->field_ops[index - c->prog->schema->nr_common] : NULL;
	strbuf_char(c->to, ' ');
	strbuf_str(c->to, f->name);
	strbuf_char(c->to, '=');
	if (how && how->op) {
		if (how->hex)
			strbuf_add(c->to, "0x", 2);
		print_op(c, how->op);
	} else if (f->flags & (FIELD_ARRAY | FIELD_DATA_LOC | FIELD_REL_LOC)) {
		field_array(c, f);
	} else {
		field_number(c, f);
	}
}

int print_prog_run_fields(const struct print_prog *p, const void *raw, u32 size, struct strbuf *to)
{
	static const struct op by_field[] = { { .kind = OP_FIELDS, .pre = no_literal },
					      { .kind = OP_END } };
	struct print_prog prog = {
		.schema = p->schema, .env = p->env, .ops = by_field, .field_ops = p->field_ops
	};
	return print_prog_run(&prog, raw, size, to);
}

int print_fields(const struct schema *s, const struct print_env *env, const void *raw, u32 size,
		 struct strbuf *to)
{
	struct print_prog prog = { .schema = s, .env = env };
	return print_prog_run_fields(&prog, raw, size, to);
}

/* ---- for those who know schemas only ---- */

static int ops_print(const struct schema *s, const void *raw, u32 size, struct strbuf *to)
{
	return print_prog_run(s->impl, raw, size, to);
}

static int ops_print_fields(const struct schema *s, const void *raw, u32 size, struct strbuf *to)
{
	return print_prog_run_fields(s->impl, raw, size, to);
}

int print_attach(struct arena *a, struct schema *s, const struct print_env *env,
		 enum print_style style, struct diag *d)
{
	static const struct schema_ops ops = { .print = ops_print,
					       .print_fields = ops_print_fields };
	const struct print_prog *prog;
	bool whole;
	int err = print_prog_compile(a, s, env, style, &prog, &whole, d);
	if (err)
		return err;
	s->ops = &ops;
	s->impl = (void *)prog; /* only read through the ops */
	return 0;
}
