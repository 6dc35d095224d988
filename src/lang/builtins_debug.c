/*
 * debugf(): text for the kernel's trace buffer, where tools of tracefs read it (bpf_trace:bpf_trace_printk). The kernel formats: its conversions are
 * fewer than printf()'s, and numbers are given to it in 64 bits.
 */
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/format.h"

#include "base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { ARGS_MAX = 12, FORMAT_MAX = 512 };

/* One conversion for the kernel, s behind its '%': where it ends, NULL: the kernel has none like it. */
static const char *convert(const char *s, struct strbuf *to)
{
	strbuf_char(to, '%');
	if (*s == '%') {
		strbuf_char(to, '%');
		return s + 1;
	}
	while (*s && strchr("-+ #0", *s))
		strbuf_char(to, *s++);
	while (isdigit((unsigned char)*s))
		strbuf_char(to, *s++);
	while (*s && strchr("hljzt", *s))
		s++;
	if (!*s || !strchr("diuxXps", *s))
		return NULL;
	if (*s == 'p')
		strbuf_str(to, "llx");
	else if (*s == 's')
		strbuf_char(to, 's');
	else
		strbuf_printf(to, "ll%c", *s);
	return s + 1;
}

static bool kernel_format(const char *s, struct strbuf *to)
{
	while (s && *s) {
		if (*s != '%')
			strbuf_char(to, *s++);
		else
			s = convert(s + 1, to);
	}
	return s != NULL;
}

static const struct program_type *check_debugf(struct checker *c, struct node *n)
{
	if (!format_check(c, n))
		return NULL;
	struct strbuf text;
	strbuf_init(&text);
	bool known = kernel_format(n->list->text, &text);
	bool fits = text.len < FORMAT_MAX && n->nr - 1 <= ARGS_MAX;
	strbuf_done(&text);
	if (!known || !fits) {
		check_fail(c, n->list, known ? -E2BIG : -EINVAL,
			   known ? "the kernel prints no more than 12 values and 511 characters"
				 : "the kernel prints %%d, %%i, %%u, %%x, %%X, %%p and %%s, "
				   "without a precision");
		return NULL;
	}
	for (struct node *a = n->list->next; a; a = a->next)
		if (!type_is_scalar(a->type) && a->type->kind != PROGRAM_STRING) {
			check_wrong(c, a, "the kernel cannot print a value of type %s", a->type);
			return NULL;
		}
	return &type_void;
}

static struct value lower_debugf(struct lower *l, struct node *n)
{
	struct strbuf text;
	struct ir *ir = l->ir;
	u32 nr = n->nr - 1, i = 0;
	strbuf_init(&text);
	(void)kernel_format(n->list->text, &text);
	struct place args = nr ? lower_temp(l, nr * 8) : (struct place){ 0 };
	for (struct node *a = n->list->next; a && !l->err; a = a->next, i++) {
		struct value v = lower_expr(l, a);
		int r = ir_reg(ir);
		if (type_is_scalar(a->type))
			r = value_reg(l, v);
		else
			ir_lea(ir, r, v.reg, v.off);
		ir_store(ir, args.base, args.off + (s32)i * 8, r, 8);
	}
	int format = ir_reg(ir);
	u32 at = lower_data(l, strbuf_cstr(&text), (u32)text.len + 1);
	ir_map_value(ir, format, l->shared->data, at);
	ir_call(ir, IR_NONE, HELPER_TRACE_VPRINTK, 4,
		(struct ir_arg[]){ ir_arg_reg(format), ir_arg_imm((s64)text.len + 1),
				   nr ? arg_place(args) : ir_arg_imm(0), ir_arg_imm(nr * 8) });
	if (text.err && !l->err)
		l->err = -ENOMEM;
	strbuf_done(&text);
	return value_imm(0);
}

static const struct builtin rows[] = {
	{ "debugf", 1, BUILTIN_ANY, 0, check_debugf, lower_debugf, NULL,
	  "prints to the kernel's trace buffer", NULL, .form = "(FORMAT, VALUE...)" },
};

const struct builtin_group builtins_debug = { rows, ARRAY_SIZE(rows), "Output for other tracers" };
