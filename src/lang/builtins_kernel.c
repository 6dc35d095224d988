/* What the kernel has numbers for: system calls, cgroups, addresses, per-CPU variables; and what changes what it does. */
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/token.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

enum { SYSCALL_ROWS = 512, SYSCALL_SIZE = 32 };

static const struct program_type *check_syscall_name(struct checker *c, struct node *n)
{
	if (!check_number(c, n->list))
		return NULL;
	if (!c->in->ops || !c->in->ops->syscall_name) {
		check_fail(c, n, -ENOTSUP, "the names of system calls are not known here");
		return NULL;
	}
	return type_string(c->arena, SYSCALL_SIZE);
}

static struct value lower_syscall_name(struct lower *l, struct node *n)
{
	struct ir *ir = l->ir;
	char(*names)[SYSCALL_SIZE] = arena_zalloc(l->arena, SYSCALL_ROWS * SYSCALL_SIZE);
	if (!names) {
		l->err = -ENOMEM;
		return value_imm(0);
	}
	/* The last row is for what is outside of the table. */
	static const char unknown[SYSCALL_SIZE] = "Unknown syscall";
	u32 nr = 0;
	for (u32 i = 0; i < SYSCALL_ROWS - 1; i++) {
		const char *name = l->in->ops->syscall_name(l->in->ctx, i);
		strncpy(names[i], name ? name : unknown, SYSCALL_SIZE - 1);
		nr = name ? i + 1 : nr;
	}
	memcpy(names[nr], unknown, SYSCALL_SIZE);
	u32 off = lower_data(l, names, (nr + 1) * SYSCALL_SIZE);
	int r = ir_reg(ir), at = ir_reg(ir), inside = ir_label(ir);
	ir_mov(ir, r, lower_reg(l, n->list));
	ir_if_imm(ir, BPF_JLT, r, nr, inside);
	ir_imm(ir, r, nr);
	ir_place_label(ir, inside);
	ir_alu_imm(ir, BPF_MUL, r, SYSCALL_SIZE);
	ir_map_value(ir, at, l->shared->data, off);
	ir_alu(ir, BPF_ADD, at, r);
	return (struct value){ .kind = VALUE_MEM, .reg = at };
}

static bool text_argument(struct checker *c, struct node *n)
{
	if (n->list->kind == NODE_STRING)
		return true;
	check_fail(c, n->list, -EINVAL, "%s() takes a string that is known before the script runs",
		   n->text);
	return false;
}

static const struct program_type *check_cgroupid(struct checker *c, struct node *n)
{
	const struct lang_ops *ops = c->in->ops;
	u64 id = 0;
	if (!text_argument(c, n))
		return NULL;
	int err = ops && ops->cgroup_id ? ops->cgroup_id(c->in->ctx, n->list->text, &id) : -ENOTSUP;
	if (err) {
		check_fail(c, n->list, err, "'%s' is no cgroup (of version 2)", n->list->text);
		return NULL;
	}
	n->number = (s64)id;
	return &type_u64;
}

static struct value lower_number(struct lower *l, struct node *n)
{
	(void)l;
	return value_imm(n->number);
}

static const struct program_type *check_pton(struct checker *c, struct node *n)
{
	u8 *bytes = arena_zalloc(c->arena, 16);
	if (!bytes || !text_argument(c, n))
		return NULL;
	bool wide = strchr(n->list->text, ':');
	if (inet_pton(wide ? AF_INET6 : AF_INET, n->list->text, bytes) != 1) {
		check_fail(c, n->list, -EINVAL, "'%s' is not an IP address", n->list->text);
		return NULL;
	}
	return type_array(c->arena, type_int(1, false), wide ? 16 : 4);
}

static struct value lower_pton(struct lower *l, struct node *n)
{
	u8 bytes[16] = { 0 };
	int r = ir_reg(l->ir);
	(void)!inet_pton(n->type->nr == 16 ? AF_INET6 : AF_INET, n->list->text, bytes);
	u32 at = lower_data(l, bytes, 16);
	ir_map_value(l->ir, r, l->shared->data, at);
	return (struct value){ .kind = VALUE_MEM, .reg = r };
}

/* A variable of each CPU is at its own address plus what the kernel added for the CPU. */
static const struct program_type *check_percpu(struct checker *c, struct node *n)
{
	const struct lang_ops *ops = c->in->ops;
	u64 symbol = 0, offsets = 0;
	if (!text_argument(c, n) || (n->nr == 2 && !check_number(c, n->list->next)))
		return NULL;
	int err = ops && ops->kernel_symbol ? 0 : -ENOTSUP;
	if (!err)
		err = ops->kernel_symbol(c->in->ctx, n->list->text, &symbol);
	if (!err)
		err = ops->kernel_symbol(c->in->ctx, "__per_cpu_offset", &offsets);
	if (err) {
		check_fail(c, n->list, err, "the address of '%s' is not known", n->list->text);
		return NULL;
	}
	n->number = (s64)symbol;
	if (!n->b)
		n->b = arena_zalloc(c->arena, sizeof(*n->b));
	if (!n->b)
		return NULL;
	*n->b = (struct node){ .kind = NODE_INT, .number = (s64)offsets, .type = &type_u64 };
	return &type_u64;
}

static struct value lower_percpu(struct lower *l, struct node *n)
{
	int cpu = ir_reg(l->ir), at = ir_reg(l->ir);
	if (n->nr == 2)
		ir_mov(l->ir, cpu, lower_reg(l, n->list->next));
	else
		ir_call(l->ir, cpu, HELPER_CPU, 0, NULL);
	ir_alu_imm(l->ir, BPF_LSH, cpu, 3);
	ir_imm(l->ir, at, n->b->number);
	ir_alu(l->ir, BPF_ADD, at, cpu);
	int r = lower_read(l, at, 0, &type_u64, true);
	ir_imm(l->ir, at, n->number);
	ir_alu(l->ir, BPF_ADD, r, at);
	return value_of(r);
}

static const struct program_type *check_uaddr(struct checker *c, struct node *n)
{
	const struct lang_ops *ops = c->in->ops;
	const struct program_probe *p = c->probe;
	u64 address = 0;
	if (!text_argument(c, n))
		return NULL;
	if (p->provider != PROGRAM_UPROBE && p->provider != PROGRAM_URETPROBE &&
	    p->provider != PROGRAM_USDT) {
		check_fail(c, n, -EINVAL, "uaddr() needs a probe in a program: %s is none", p->text);
		return NULL;
	}
	int err = ops && ops->user_symbol
			  ? ops->user_symbol(c->in->ctx, p->target, n->list->text, &address)
			  : -ENOTSUP;
	if (err) {
		check_fail(c, n->list, err, "%s has no symbol '%s'", p->target, n->list->text);
		return NULL;
	}
	n->number = (s64)address;
	return type_pointer(c->arena, &type_u64);
}

static const struct program_type *check_override(struct checker *c, struct node *n)
{
	enum program_provider p = c->probe->provider;
	if (p != PROGRAM_KPROBE) {
		check_fail(c, n, -EINVAL, "override() needs a kprobe: %s is none", c->probe->text);
		return NULL;
	}
	return check_number(c, n->list) ? &type_void : NULL;
}

static struct value lower_override(struct lower *l, struct node *n)
{
	int r = lower_reg(l, n->list);
	ir_call(l->ir, IR_NONE, HELPER_OVERRIDE, 2,
		(struct ir_arg[]){ ir_arg_reg(l->ctx), ir_arg_reg(r) });
	return value_imm(0);
}

/* The stack's frames, or the map's keys: those are counted one by one. */
static const struct program_type *check_len(struct checker *c, struct node *n)
{
	struct node *a = n->list;
	if (a->kind == NODE_MAP && !a->nr) {
		if (!a->map->value)
			return c->final ? (check_never_assigned(c, a), NULL) : NULL;
		if (a->map->used_scalar && !a->map->used_keyed) {
			check_fail(c, a, -EINVAL, "map %s has no keys to count", a->map->name);
			return NULL;
		}
		if (!c->in->callbacks) {
			check_fail(c, n, -ENOTSUP, "len() of a map needs a kernel with callbacks");
			return NULL;
		}
		return &type_s64;
	}
	if (!a->type)
		return NULL;
	if (a->type->kind == PROGRAM_KSTACK || a->type->kind == PROGRAM_USTACK)
		return &type_s64;
	return check_wrong(c, a, "len() takes a map or a stack, not a value of type %s", a->type);
}

static struct value lower_len(struct lower *l, struct node *n)
{
	struct node *a = n->list;
	int r = ir_reg(l->ir);
	if (a->kind == NODE_MAP && !a->nr) {
		lower_count_keys(l, n, a->map, r);
		return value_of(r);
	}
	struct value v = lower_expr(l, a);
	ir_load(l->ir, r, v.reg, v.off + (s32)offsetof(struct program_stack, nr), 4);
	return value_of(r);
}

static const struct builtin rows[] = {
	{ "syscall_name", 1, 1, 0, check_syscall_name, lower_syscall_name, NULL,
	  "name of a system call", .form = "(NUMBER)" },
	{ "cgroupid", 1, 1, 0, check_cgroupid, lower_number, NULL, "ID of the cgroup at a path",
	  .form = "(PATH)" },
	{ "pton", 1, 1, 0, check_pton, lower_pton, NULL, "bytes of an IP address",
	  .form = "(ADDRESS)" },
	{ "percpu_kaddr", 1, 2, 0, check_percpu, lower_percpu, NULL,
	  "address of a variable of one CPU", .form = "(SYMBOL[, CPU])" },
	{ "uaddr", 1, 1, 0, check_uaddr, lower_number, NULL, "address of a symbol of the program",
	  .form = "(SYMBOL)" },
	{ "override", 1, 1, BUILTIN_UNSAFE, check_override, lower_override, NULL,
	  "lets the function return at once", .form = "(RESULT)" },
	{ "len", 1, 1, 0, check_len, lower_len, NULL, "number of keys of a map, or of frames",
	  .form = "(@MAP|STACK)" },
};

const struct builtin_group builtins_kernel = { rows, ARRAY_SIZE(rows),
					       "Names and addresses of the kernel" };
