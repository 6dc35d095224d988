/* What a probe hands over: arguments, result, where it is. */
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/token.h"

#include "base/num.h"
#include "image/usdt_notes.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* Offsets in struct pt_regs as programs see it. */
struct regs_layout {
	const char *machine;
	s32 args[8];
	u32 nr_args;
	s32 result, sp, ip;
	s32 stack_args; /* from the stack pointer to the first argument that is on the stack */
	s32 mode, mode_mask, mode_user; /* user mode is where these bits of the word are so */
};

static const struct regs_layout layouts[] = {
	{ "x86_64", { 112, 104, 96, 88, 72, 64 }, 6, 80, 152, 128, 8, 136, 3, 3 },
	{ "aarch64", { 0, 8, 16, 24, 32, 40, 48, 56 }, 8, 0, 248, 256, 0, 264, 15, 0 },
};

static const struct regs_layout *layout_of(const struct lang_input *in)
{
	struct utsname u;
	const char *machine = in->machine;
	if (!machine)
		machine = uname(&u) ? "" : u.machine;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (!strcmp(layouts[i].machine, machine))
			return &layouts[i];
	return NULL;
}

static bool has_regs(const struct program_probe *p)
{
	switch (p->provider) {
	case PROGRAM_KPROBE:
	case PROGRAM_KRETPROBE:
	case PROGRAM_UPROBE:
	case PROGRAM_URETPROBE:
	case PROGRAM_USDT:
	case PROGRAM_PROFILE:
	case PROGRAM_SOFTWARE:
	case PROGRAM_HARDWARE:
	case PROGRAM_WATCHPOINT: return true;
	default: return false;
	}
}

/* Its place in struct pt_regs; -1: no such register. */
static s32 register_offset(const struct regs_layout *y, const char *name)
{
	static const char *const x86[] = { "r15", "r14",     "r13", "r12", "bp",    "bx", "r11",
					   "r10", "r9",	     "r8",  "ax",  "cx",    "dx", "si",
					   "di",  "orig_ax", "ip",  "cs",  "flags", "sp", "ss" };
	u64 nr;
	if (!strcmp(name, "ip") || !strcmp(name, "pc"))
		return y->ip;
	if (!strcmp(name, "sp"))
		return y->sp;
	if (!strcmp(y->machine, "aarch64"))
		return (name[0] == 'r' || name[0] == 'x') && !num_parse_u64(name + 1, 10, &nr) &&
				       nr < 31
			       ? (s32)nr * 8
			       : -1;
	for (u32 i = 0; i < ARRAY_SIZE(x86); i++)
		if (!strcmp(name, x86[i]))
			return (s32)i * 8;
	return -1;
}

/* Argument nr of the sites of a USDT probe: what the kernel's language says about it. false: there is none. */
static bool usdt_argument(const struct lang_input *in, const struct program_probe *p, u32 nr,
			  struct usdt_arg *ret, struct strbuf *fetch)
{
	const struct regs_layout *y = layout_of(in);
	const char *at = p->arguments;
	if (!y || !at)
		return false;
	for (u32 i = 0; i <= nr; i++) {
		strbuf_reset(fetch);
		if (!usdt_next_arg(strcmp(y->machine, "x86_64") ? EM_AARCH64 : EM_X86_64, &at, ret,
				   fetch))
			return false;
	}
	return !fetch->err;
}

static const struct program_type *check_usdt_arg(struct checker *c, struct node *n)
{
	struct strbuf fetch;
	struct usdt_arg a = { 0 };
	const struct program_probe *p = c->probe;
	strbuf_init(&fetch);
	bool there = usdt_argument(c->in, p, (u32)(n->text[3] - '0'), &a, &fetch);
	strbuf_done(&fetch);
	if (!p->arguments)
		check_fail(c, n, -ENOENT,
			   "the arguments of %s are not known: there is no such probe", p->text);
	else if (!there)
		check_fail(c, n, -EINVAL, "%s has no %s: its arguments are '%s'", p->text, n->text,
			   p->arguments);
	else if (a.why_not)
		check_fail(c, n, -ENOTSUP, "%s cannot be read: %s", n->text, a.why_not);
	/* Of 64 bits whatever the site: a map has one type for all. */
	return c->err ? NULL : type_int(8, a.is_signed);
}

/* "%di", "+16(%bp)", "\\5" */
static struct value lower_usdt_arg(struct lower *l, struct node *n)
{
	struct strbuf fetch;
	struct usdt_arg a = { 0 };
	const struct regs_layout *y = layout_of(l->in);
	int r = ir_reg(l->ir);
	s64 offset = 0;
	strbuf_init(&fetch);
	bool there = usdt_argument(l->in, l->probe, (u32)(n->text[3] - '0'), &a, &fetch);
	const char *text = strbuf_cstr(&fetch), *name = strchr(text, '%');
	if (there && *text == '\\' && !num_parse_s64(text + 1, 0, &offset)) {
		strbuf_done(&fetch);
		return value_imm(offset);
	}
	char reg[16] = "", number[32] = "";
	snprintf(reg, sizeof(reg), "%.*s", (int)strcspn(name ? name + 1 : "", ")"),
		 name ? name + 1 : "");
	snprintf(number, sizeof(number), "%.*s", (int)strcspn(text, "("), text);
	s32 place = there ? register_offset(y, reg) : -1;
	bool memory = *text != '%';
	if (place < 0 || (memory && num_parse_s64(number + (*number == '+'), 0, &offset)))
		lower_fail(l, n, -ENOTSUP, "%s is in a place that is not known: %s", n->text, text);
	strbuf_done(&fetch);
	if (l->err)
		return value_imm(0);
	const struct program_type *t = type_int(a.bytes, a.is_signed);
	ir_load(l->ir, r, l->ctx, place, 8);
	if (memory)
		return value_of(lower_read(l, r, (s32)offset, t, false));
	lower_fit(l, r, t);
	return value_of(r);
}

static const struct program_type *check_arg(struct checker *c, struct node *n)
{
	enum program_provider p = c->probe->provider;
	if (p == PROGRAM_USDT)
		return check_usdt_arg(c, n);
	if (p == PROGRAM_FENTRY || p == PROGRAM_FEXIT) {
		check_fail(c, n, -EINVAL, "%s has its arguments by name: args.NAME", c->probe->text);
		diag_hint(c->diag, "'sonde run -lv %s' lists them", c->probe->text);
		return NULL;
	}
	if (p != PROGRAM_KPROBE && p != PROGRAM_UPROBE && p != PROGRAM_RAW_TRACEPOINT) {
		check_fail(c, n, -EINVAL, "%s has no %s", c->probe->text, n->text);
		return NULL;
	}
	if (p != PROGRAM_RAW_TRACEPOINT && !layout_of(c->in)) {
		check_fail(c, n, -ENOTSUP, "arguments are not known for this machine");
		return NULL;
	}
	return &type_u64;
}

static struct value lower_arg(struct lower *l, struct node *n)
{
	u32 nr = (u32)(n->text[3] - '0');
	if (l->probe->provider == PROGRAM_USDT)
		return lower_usdt_arg(l, n);
	int r = ir_reg(l->ir);
	if (l->probe->provider == PROGRAM_RAW_TRACEPOINT) {
		ir_load(l->ir, r, l->ctx, (s32)nr * 8, 8);
		return value_of(r);
	}
	const struct regs_layout *y = layout_of(l->in);
	if (nr < y->nr_args) {
		ir_load(l->ir, r, l->ctx, y->args[nr], 8);
		return value_of(r);
	}
	ir_load(l->ir, r, l->ctx, y->sp, 8);
	return value_of(lower_read(l, r, y->stack_args + (s32)(nr - y->nr_args) * 8, &type_u64,
				   l->probe->provider == PROGRAM_KPROBE));
}

static const struct program_type *check_retval(struct checker *c, struct node *n)
{
	enum program_provider p = c->probe->provider;
	if (p == PROGRAM_FEXIT)
		return check_kernel_result(c, n, &n->number);
	if (p != PROGRAM_KRETPROBE && p != PROGRAM_URETPROBE) {
		check_fail(c, n, -EINVAL, "%s has no retval", c->probe->text);
		return NULL;
	}
	return &type_u64;
}

static struct value lower_retval(struct lower *l, struct node *n)
{
	const struct regs_layout *y = layout_of(l->in);
	int r = ir_reg(l->ir);
	if (l->probe->provider == PROGRAM_FEXIT) {
		ir_load(l->ir, r, l->ctx, (s32)n->number, 8);
		lower_fit(l, r, n->type);
		return value_of(r);
	}
	if (!y) {
		lower_fail(l, n, -ENOTSUP, "retval is not known for this machine");
		return value_imm(0);
	}
	ir_load(l->ir, r, l->ctx, y->result, 8);
	return value_of(r);
}

static const struct program_type *check_args_value(struct checker *c, struct node *n)
{
	return check_args(c, n);
}

static struct value lower_args(struct lower *l, struct node *n)
{
	(void)n;
	return (struct value){ .kind = VALUE_CTX, .reg = l->ctx };
}

/* An iterator's context is a struct: ctx->task. */
static const struct program_type *check_ctx(struct checker *c, struct node *n)
{
	char name[64];
	if (c->probe->provider != PROGRAM_ITER)
		return &type_u64;
	snprintf(name, sizeof(name), "struct bpf_iter__%s", c->probe->name);
	const struct program_type *t = check_struct(c, name);
	if (!t)
		check_fail(c, n, -ENOTSUP, "the kernel has no type for the context of %s",
			   c->probe->text);
	return t;
}

static struct value lower_ctx(struct lower *l, struct node *n)
{
	if (n->type->kind == PROGRAM_RECORD)
		return (struct value){ .kind = VALUE_CTX, .reg = l->ctx };
	int r = ir_reg(l->ir);
	ir_mov(l->ir, r, l->ctx);
	return value_of(r);
}

/* A map of the block has one type of key, whichever attach point it is. */
static bool has_glob(const struct program *p, const struct probe_block *b)
{
	for (u32 i = 0; i < b->nr_points; i++)
		if (p->probes.at[b->first_point + i].is_glob)
			return true;
	return false;
}

/* What is written is what it is, unless it stands for many. */
static const struct program_type *check_probe(struct checker *c, struct node *n)
{
	(void)n;
	if (has_glob(c->program, c->block))
		return type_plain(c->arena, PROGRAM_PROBE_NAME, 8);
	return type_string(c->arena, (u32)strlen(c->probe->text) + 1);
}

static struct value lower_name_of(struct lower *l, const char *name)
{
	int r = ir_reg(l->ir);
	u32 at = lower_data(l, name, (u32)strlen(name) + 1);
	ir_map_value(l->ir, r, l->shared->data, at);
	return (struct value){ .kind = VALUE_MEM, .reg = r };
}

static struct value lower_probe(struct lower *l, struct node *n)
{
	if (n->type->kind == PROGRAM_STRING)
		return lower_name_of(l, l->probe->text);
	struct place to = lower_dest(l, n->type, NULL);
	int r = ir_reg(l->ir);
	ir_call(l->ir, r, HELPER_COOKIE, 1, (struct ir_arg[]){ ir_arg_reg(l->ctx) });
	ir_store(l->ir, to.base, to.off, r, 8);
	return place_value(to);
}

static const struct program_type *check_func(struct checker *c, struct node *n)
{
	const struct program_probe *p = c->probe;
	bool kernel = p->provider == PROGRAM_KPROBE || p->provider == PROGRAM_KRETPROBE ||
		      p->provider == PROGRAM_FENTRY || p->provider == PROGRAM_FEXIT;
	bool user = p->provider == PROGRAM_UPROBE || p->provider == PROGRAM_URETPROBE;
	if (!kernel && !user) {
		check_fail(c, n, -EINVAL, "%s is not at a function", p->text);
		return NULL;
	}
	if (kernel && (c->script->uses_ksym || has_glob(c->program, c->block)))
		return type_plain(c->arena, PROGRAM_KSYM, 8);
	if (p->is_glob || !p->name) {
		check_fail(c, n, -ENOTSUP, "func is not supported for %s yet", p->text);
		return NULL;
	}
	return type_string(c->arena, (u32)strlen(p->name) + 1);
}

static struct value lower_func(struct lower *l, struct node *n)
{
	if (n->type->kind == PROGRAM_STRING)
		return lower_name_of(l, l->probe->name);
	struct place to = lower_dest(l, n->type, NULL);
	int r = ir_reg(l->ir);
	ir_call(l->ir, r, HELPER_FUNC_IP, 1, (struct ir_arg[]){ ir_arg_reg(l->ctx) });
	ir_store(l->ir, to.base, to.off, r, 8);
	return place_value(to);
}

static const struct program_type *check_reg(struct checker *c, struct node *n)
{
	if (!has_regs(c->probe)) {
		check_fail(c, n, -EINVAL, "%s has no registers", c->probe->text);
		return NULL;
	}
	const struct regs_layout *y = layout_of(c->in);
	if (n->list->kind != NODE_STRING || !y) {
		check_fail(c, n, -EINVAL, "expected the name of a register");
		return NULL;
	}
	s32 offset = register_offset(y, n->list->text);
	if (offset < 0) {
		check_fail(c, n->list, -EINVAL, "no register '%s' on %s", n->list->text, y->machine);
		return NULL;
	}
	n->number = offset;
	return &type_u64;
}

static const struct program_type *check_usermode(struct checker *c, struct node *n)
{
	enum program_provider p = c->probe->provider;
	if (p != PROGRAM_PROFILE && p != PROGRAM_SOFTWARE && p != PROGRAM_HARDWARE &&
	    p != PROGRAM_WATCHPOINT) {
		check_fail(c, n, -EINVAL,
			   "usermode needs a profile, software, hardware or watchpoint probe");
		return NULL;
	}
	if (!layout_of(c->in)) {
		check_fail(c, n, -ENOTSUP, "usermode is not known for this machine");
		return NULL;
	}
	return type_int(1, false);
}

static struct value lower_usermode(struct lower *l, struct node *n)
{
	const struct regs_layout *y = layout_of(l->in);
	int r = ir_reg(l->ir), yes = ir_reg(l->ir), end = ir_label(l->ir);
	(void)n;
	ir_load(l->ir, r, l->ctx, y->mode, 8);
	ir_alu_imm(l->ir, BPF_AND, r, y->mode_mask);
	ir_imm(l->ir, yes, 1);
	ir_if_imm(l->ir, BPF_JEQ, r, y->mode_user, end);
	ir_imm(l->ir, yes, 0);
	ir_place_label(l->ir, end);
	return value_of(yes);
}

static struct value lower_register(struct lower *l, struct node *n)
{
	int r = ir_reg(l->ir);
	ir_load(l->ir, r, l->ctx, (s32)n->number, 8);
	return value_of(r);
}

bool lower_probe_register(struct lower *l, const char *name, int r)
{
	const struct regs_layout *y = layout_of(l->in);
	s32 at = y ? register_offset(y, name) : -1;
	const struct node probe = { .start = l->probe->span_start, .len = l->probe->span_len };
	if (at < 0)
		lower_fail(l, &probe, -ENOTSUP, "register '%s' is not known for this machine", name);
	else
		ir_load(l->ir, r, l->ctx, at, 8);
	return at >= 0;
}

static const struct program_type *check_kaddr(struct checker *c, struct node *n)
{
	u64 address;
	const struct lang_ops *ops = c->in->ops;
	if (n->list->kind != NODE_STRING) {
		check_fail(c, n->list, -EINVAL, "expected the name of a symbol");
		return NULL;
	}
	int err = ops && ops->kernel_symbol ? ops->kernel_symbol(c->in->ctx, n->list->text, &address)
					    : -ENOENT;
	if (err) {
		check_fail(c, n->list, err, "the address of '%s' is not known", n->list->text);
		return NULL;
	}
	n->number = (s64)address;
	return &type_u64;
}

static struct value lower_kaddr(struct lower *l, struct node *n)
{
	(void)l;
	return value_imm(n->number);
}

#define ARG(n)                                                                                     \
	{                                                                                          \
		n, 0, 0, BUILTIN_VALUE | BUILTIN_WORD, check_arg, lower_arg, NULL,                 \
			"argument of the function"                                                 \
	}

static const struct builtin rows[] = {
	{ "arg0", 0, 0, BUILTIN_VALUE, check_arg, lower_arg, NULL,
	  "first argument of the function; arg1 to arg9: those that follow" },
	ARG("arg1"),
	ARG("arg2"),
	ARG("arg3"),
	ARG("arg4"),
	ARG("arg5"),
	ARG("arg6"),
	ARG("arg7"),
	ARG("arg8"),
	ARG("arg9"),
	{ "retval", 0, 0, BUILTIN_VALUE, check_retval, lower_retval, NULL, "result of the function" },
	{ "args", 0, 0, BUILTIN_VALUE, check_args_value, lower_args, NULL,
	  "arguments of the probe, or variables of a line, by name" },
	{ "ctx", 0, 0, BUILTIN_VALUE, check_ctx, lower_ctx, NULL, "address of the context" },
	{ "probe", 0, 0, BUILTIN_VALUE, check_probe, lower_probe, NULL, "name of the probe" },
	{ "func", 0, 0, BUILTIN_VALUE, check_func, lower_func, NULL, "name of the function" },
	{ "kaddr", 1, 1, 0, check_kaddr, lower_kaddr, NULL, "address of a kernel symbol",
	  .form = "(SYMBOL)" },
	{ "usermode", 0, 0, BUILTIN_VALUE, check_usermode, lower_usermode, NULL,
	  "whether the CPU was in user mode" },
	{ "reg", 1, 1, 0, check_reg, lower_register, NULL, "register of the CPU", .form = "(NAME)" },
};

const struct builtin_group builtins_probe = { rows, ARRAY_SIZE(rows), "The probe" };
