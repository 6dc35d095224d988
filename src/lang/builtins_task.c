/* The task, the CPU and the clock. */
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/token.h"

#include <errno.h>
#include <string.h>

static const struct program_type *check_u64(struct checker *c, struct node *n)
{
	(void)c;
	(void)n;
	return &type_u64;
}

static const struct program_type *check_u32(struct checker *c, struct node *n)
{
	(void)c;
	(void)n;
	return &type_u32;
}

static const struct program_type *check_comm(struct checker *c, struct node *n)
{
	(void)c;
	(void)n;
	return &type_comm;
}

static int call0(struct lower *l, u32 helper)
{
	int r = ir_reg(l->ir);
	ir_call(l->ir, r, helper, 0, NULL);
	return r;
}

static struct value lower_high(struct lower *l, u32 helper)
{
	int r = call0(l, helper);
	ir_alu_imm(l->ir, BPF_RSH, r, 32);
	return value_of(r);
}

static struct value lower_low(struct lower *l, u32 helper)
{
	int r = call0(l, helper);
	lower_fit(l, r, &type_u32);
	return value_of(r);
}

static struct value lower_pid(struct lower *l, struct node *n)
{
	return value_of(lower_task_number(l, false, n->number != 0));
}

static struct value lower_tid(struct lower *l, struct node *n)
{
	return value_of(lower_task_number(l, true, n->number != 0));
}

static struct value lower_uid(struct lower *l, struct node *n)
{
	(void)n;
	return lower_low(l, HELPER_UID_GID);
}

static struct value lower_gid(struct lower *l, struct node *n)
{
	(void)n;
	return lower_high(l, HELPER_UID_GID);
}

static struct value lower_comm(struct lower *l, struct node *n)
{
	bool output;
	struct place to = lower_dest(l, n->type, &output);
	/* Linux 6.1 leaves what follows the end of the name as it was. */
	if (!output)
		lower_zero(l, to, 16);
	ir_call(l->ir, IR_NONE, HELPER_COMM, 2, (struct ir_arg[]){ arg_place(to), ir_arg_imm(16) });
	return place_value(to);
}

static const struct program_type *check_nsecs(struct checker *c, struct node *n)
{
	static const struct {
		const char *name;
		s64 helper;
	} clocks[] = { { "boot", HELPER_KTIME_BOOT },
		       { "monotonic", HELPER_KTIME },
		       { "tai", HELPER_KTIME_TAI },
		       { "sw_tai", HELPER_KTIME_TAI } };
	n->number = HELPER_KTIME_BOOT;
	if (!n->nr)
		return &type_u64;
	for (size_t i = 0; i < ARRAY_SIZE(clocks) && n->list->kind == NODE_IDENT; i++)
		if (!strcmp(n->list->text, clocks[i].name)) {
			n->number = clocks[i].helper;
			return &type_u64;
		}
	check_fail(c, n->list, -EINVAL, "the clocks are boot, monotonic, tai and sw_tai");
	return NULL;
}

static struct value lower_nsecs(struct lower *l, struct node *n)
{
	return value_of(call0(l, (u32)n->number));
}

static struct value lower_elapsed(struct lower *l, struct node *n)
{
	(void)n;
	int now = call0(l, HELPER_KTIME_BOOT), start = ir_reg(l->ir);
	ir_map_value(l->ir, start, lower_facts(l), offsetof(struct program_facts, start_ns));
	ir_load(l->ir, start, start, 0, 8);
	ir_alu(l->ir, BPF_SUB, now, start);
	return value_of(now);
}

static int command_fact(struct lower *l)
{
	int r = ir_reg(l->ir);
	ir_map_value(l->ir, r, lower_facts(l), offsetof(struct program_facts, command));
	ir_load(l->ir, r, r, 0, 8);
	return r;
}

static struct value lower_cpid(struct lower *l, struct node *n)
{
	(void)n;
	return value_of(command_fact(l));
}

static const struct program_type *check_has_cpid(struct checker *c, struct node *n)
{
	(void)c;
	(void)n;
	return &type_bool;
}

static struct value lower_has_cpid(struct lower *l, struct node *n)
{
	(void)n;
	int r = command_fact(l);
	lower_fit(l, r, &type_bool);
	return value_of(r);
}

static struct value lower_cpu(struct lower *l, struct node *n)
{
	(void)n;
	return value_of(call0(l, HELPER_CPU));
}

static struct value lower_numaid(struct lower *l, struct node *n)
{
	(void)n;
	return value_of(call0(l, HELPER_NUMA_NODE));
}

static struct value lower_rand(struct lower *l, struct node *n)
{
	(void)n;
	return lower_low(l, HELPER_RANDOM);
}

static struct value lower_jiffies(struct lower *l, struct node *n)
{
	(void)n;
	return value_of(call0(l, HELPER_JIFFIES));
}

static struct value lower_cgroup(struct lower *l, struct node *n)
{
	(void)n;
	return value_of(call0(l, HELPER_CGROUP));
}

static const struct program_type *check_curtask(struct checker *c, struct node *n)
{
	(void)n;
	const struct program_type *t = check_struct(c, "struct task_struct");
	return t ? type_pointer(c->arena, t) : c->err ? NULL : &type_u64;
}

static struct value lower_curtask(struct lower *l, struct node *n)
{
	(void)n;
	return value_of(call0(l, HELPER_TASK));
}

static const struct program_type *check_username(struct checker *c, struct node *n)
{
	(void)n;
	return type_plain(c->arena, PROGRAM_USERNAME, 8);
}

static struct value lower_username(struct lower *l, struct node *n)
{
	struct place to = lower_dest(l, n->type, NULL);
	struct value v = lower_low(l, HELPER_UID_GID);
	ir_store(l->ir, to.base, to.off, v.reg, 8);
	return place_value(to);
}

/* A name for a chain of members of the current task. */
static const struct program_type *check_chain(struct checker *c, struct node *n,
					      const char *const *members, u32 nr)
{
	if (!n->a) {
		struct node *at = arena_zalloc(c->arena, sizeof(*at));
		for (u32 i = 0; at && i <= nr; i++) {
			struct node *m = i ? arena_zalloc(c->arena, sizeof(*m)) : at;
			if (!m) {
				c->err = -ENOMEM;
				return NULL;
			}
			*m = (struct node){ .kind = i ? NODE_MEMBER : NODE_IDENT,
					    .start = n->start,
					    .len = n->len,
					    .text = i ? members[i - 1] : "curtask",
					    .a = i ? at : NULL };
			at = m;
		}
		n->a = at;
	}
	if (!c->in->btf) {
		check_fail(c, n, -ENOTSUP, "%s needs the types of the kernel", n->text);
		return NULL;
	}
	return n->a ? check_expr(c, n->a) : NULL;
}

static const struct program_type *check_ppid(struct checker *c, struct node *n)
{
	static const char *const members[] = { "real_parent", "tgid" };
	return check_chain(c, n, members, 2);
}

static const struct program_type *check_pcomm(struct checker *c, struct node *n)
{
	static const char *const members[] = { "real_parent", "comm" };
	return check_chain(c, n, members, 2);
}

static const struct program_type *check_leader_tid(struct checker *c, struct node *n)
{
	static const char *const members[] = { "group_leader", "pid" };
	return check_chain(c, n, members, 2);
}

static const struct program_type *check_leader_comm(struct checker *c, struct node *n)
{
	static const char *const members[] = { "group_leader", "comm" };
	return check_chain(c, n, members, 2);
}

/* pid is of the namespace that the run is in, as pid(curr_ns); pid(init) is the kernel's own number. */
static const struct program_type *check_pid(struct checker *c, struct node *n)
{
	const char *space = n->nr && n->list->kind == NODE_IDENT ? n->list->text : NULL;
	n->number = space && !strcmp(space, "init");
	if (!n->nr || n->number || (space && !strcmp(space, "curr_ns")))
		return &type_u32;
	check_fail(c, n->list, -EINVAL, "the namespaces of %s() are curr_ns and init", n->text);
	return NULL;
}

static struct value lower_chain(struct lower *l, struct node *n)
{
	return lower_expr(l, n->a);
}

static const struct builtin rows[] = {
	{ "pid", 0, 1, BUILTIN_VALUE, check_pid, lower_pid, NULL,
	  "process ID; NAMESPACE is curr_ns or init", .form = "[(NAMESPACE)]" },
	{ "tid", 0, 1, BUILTIN_VALUE, check_pid, lower_tid, NULL, "thread ID",
	  .form = "[(NAMESPACE)]" },
	{ "uid", 0, 0, BUILTIN_VALUE, check_u32, lower_uid, NULL, "user ID" },
	{ "gid", 0, 0, BUILTIN_VALUE, check_u32, lower_gid, NULL, "group ID" },
	{ "comm", 0, 0, BUILTIN_VALUE, check_comm, lower_comm, NULL, "name of the thread" },
	{ "username", 0, 0, BUILTIN_VALUE, check_username, lower_username, NULL, "name of the user" },
	{ "nsecs", 0, 1, BUILTIN_VALUE, check_nsecs, lower_nsecs, NULL,
	  "nanoseconds since boot, or of the clock monotonic, tai or sw_tai", .form = "[(CLOCK)]" },
	{ "elapsed", 0, 0, BUILTIN_VALUE, check_u64, lower_elapsed, NULL,
	  "nanoseconds since the script started" },
	{ "cpid", 0, 0, BUILTIN_VALUE, check_u64, lower_cpid, NULL,
	  "process ID of the command of -c, or 0" },
	{ "has_cpid", 0, 0, BUILTIN_VALUE, check_has_cpid, lower_has_cpid, NULL,
	  "whether there is a command" },
	{ "cpu", 0, 0, BUILTIN_VALUE, check_u32, lower_cpu, NULL, "number of the CPU" },
	{ "numaid", 0, 0, BUILTIN_VALUE, check_u32, lower_numaid, NULL, "number of the NUMA node" },
	{ "rand", 0, 0, BUILTIN_VALUE, check_u32, lower_rand, NULL, "random number" },
	{ "jiffies", 0, 0, BUILTIN_VALUE, check_u64, lower_jiffies, NULL, "ticks since boot" },
	{ "ppid", 0, 0, BUILTIN_VALUE, check_ppid, lower_chain, NULL, "process ID of the parent" },
	{ "pcomm", 0, 0, BUILTIN_VALUE, check_pcomm, lower_chain, NULL, "name of the parent" },
	{ "leader_tid", 0, 0, BUILTIN_VALUE, check_leader_tid, lower_chain, NULL,
	  "thread ID of the first thread" },
	{ "leader_comm", 0, 0, BUILTIN_VALUE, check_leader_comm, lower_chain, NULL,
	  "name of the first thread" },
	{ "cgroup", 0, 0, BUILTIN_VALUE, check_u64, lower_cgroup, NULL, "ID of the cgroup" },
	{ "curtask", 0, 0, BUILTIN_VALUE, check_curtask, lower_curtask, NULL,
	  "address of the task_struct" },
};

const struct builtin_group builtins_task = { rows, ARRAY_SIZE(rows),
					     "The task, the CPU and the clock" };
