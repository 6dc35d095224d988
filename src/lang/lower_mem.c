/* Memory: places, copies, reads of the memory of others, records for the ring. */
#include "lang/lower.h"

#include "lang/token.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

int lower_fail(struct lower *l, const struct node *n, int err, const char *fmt, ...)
{
	if (l->err)
		return l->err;
	struct strbuf s;
	va_list ap;
	strbuf_init(&s);
	va_start(ap, fmt);
	strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	l->err = lang_error(l->check->diag, l->in->text, n->start, n->len, err, "%s",
			    strbuf_cstr(&s));
	strbuf_done(&s);
	return l->err;
}

struct place lower_temp(struct lower *l, u32 size)
{
	size = (size + 7) & ~7u;
	if (size <= LOWER_STACK_VALUE && l->stack_used + size <= l->stack_limit) {
		l->stack_used += size;
		l->stack_max = max(l->stack_max, l->stack_used);
		return (struct place){ IR_FP, -(s32)l->stack_used };
	}
	return lower_scratch(l, size);
}

struct place lower_scratch(struct lower *l, u32 size)
{
	size = (size + 7) & ~7u;
	if (!l->scratch)
		l->scratch = ir_reg(l->ir);
	/* the frame begins with its lock */
	struct place p = { l->scratch, (s32)(8 + l->scratch_used) };
	l->scratch_used += size;
	l->scratch_max = max(l->scratch_max, l->scratch_used);
	if (l->scratch_used > 30000 && !l->err)
		l->err = diag_error(l->check->diag, -E2BIG,
				    "%s: the values of one statement take more than 30000 bytes",
				    l->probe->text);
	return p;
}

void lower_forget(struct lower *l, int reg)
{
	u32 used = l->scratch_used;
	struct place at = lower_scratch(l, 8);
	ir_store(l->ir, at.base, at.off, reg, 8);
	ir_load(l->ir, reg, at.base, at.off, 8);
	l->scratch_used = used;
}

struct place lower_var_place(const struct lower *l, const struct var *v)
{
	if (v->in_scratch)
		return (struct place){ l->scratch, v->place };
	return (struct place){ l->var_base, v->place + l->var_shift };
}

struct place lower_dest(struct lower *l, const struct program_type *t, bool *output)
{
	struct place p = l->want;
	bool fits = l->want_size >= type_room(t);
	if (output)
		*output = fits && l->want_output;
	l->want_size = 0;
	l->want_output = false;
	return fits ? p : lower_temp(l, type_room(t));
}

struct value place_value(struct place p)
{
	return (struct value){ .kind = VALUE_MEM, .reg = p.base, .off = p.off };
}

void lower_zero(struct lower *l, struct place at, u32 size)
{
	if (size > 64) {
		/* Reading from nowhere fails, and then the helper zeroes all of it. */
		ir_call(l->ir, IR_NONE, HELPER_READ_KERNEL, 3,
			(struct ir_arg[]){ arg_place(at), ir_arg_imm(size), ir_arg_imm(0) });
		return;
	}
	for (u32 i = 0; i < size; i += 8)
		ir_store_imm(l->ir, at.base, at.off + (s32)i, 0, 8);
}

void lower_copy(struct lower *l, struct place to, struct place from, u32 size)
{
	if (to.base == from.base && to.off == from.off)
		return;
	if (size > 128) {
		int r = ir_reg(l->ir);
		ir_lea(l->ir, r, from.base, from.off);
		ir_call(l->ir, IR_NONE, HELPER_READ_KERNEL, 3,
			(struct ir_arg[]){ arg_place(to), ir_arg_imm(size), ir_arg_reg(r) });
		return;
	}
	for (u32 i = 0; i < size; i += 8) {
		int r = ir_reg(l->ir);
		ir_load(l->ir, r, from.base, from.off + (s32)i, 8);
		ir_store(l->ir, to.base, to.off + (s32)i, r, 8);
	}
}

void lower_fit(struct lower *l, int reg, const struct program_type *t)
{
	if (t->kind == PROGRAM_BOOL) { /* v or -v has the highest bit, unless v is 0 */
		int negative = ir_reg(l->ir);
		ir_mov(l->ir, negative, reg);
		ir_neg(l->ir, negative);
		ir_alu(l->ir, BPF_OR, reg, negative);
		ir_alu_imm(l->ir, BPF_RSH, reg, 63);
		return;
	}
	if (t->size >= 8 || !type_is_number(t))
		return;
	u32 shift = 64 - t->size * 8;
	if (!t->is_signed && t->size < 4) {
		ir_alu_imm(l->ir, BPF_AND, reg, (1 << t->size * 8) - 1);
		return;
	}
	ir_alu_imm(l->ir, BPF_LSH, reg, shift);
	ir_alu_imm(l->ir, t->is_signed ? BPF_ARSH : BPF_RSH, reg, shift);
}

/* -k: a record where r is negative. */
static void report_error(struct lower *l, int r)
{
	if (!l->in->report_errors || l->err)
		return;
	const struct node at = { .start = l->ir->span, .len = 1 };
	int end = ir_label(l->ir);
	ir_if_imm(l->ir, BPF_JSGE, r, 0, end);
	s64 action = lower_action(l, &at, PROGRAM_RUNTIME_ERROR,
				  (const struct program_type *[]){ &type_s64 }, 1);
	if (action < 0)
		return;
	struct lower_record record;
	lower_record_begin(l, (u32)action, false, &record);
	lower_store(l, value_of(r), &type_s64, record.fields, &type_s64);
	lower_record_end(l, &record);
	ir_place_label(l->ir, end);
}

void lower_read_sized(struct lower *l, struct place to, struct ir_arg size, struct ir_arg address,
		      bool text, bool kernel)
{
	struct ir_arg args[] = { arg_place(to), size, address };
	u32 user_helper = text ? HELPER_READ_USER_STR : HELPER_READ_USER;
	u32 kernel_helper = text ? HELPER_READ_KERNEL_STR : HELPER_READ_KERNEL;
	int r = l->in->report_errors ? ir_reg(l->ir) : IR_NONE;
	if (kernel || address.kind != IR_ARG_REG) {
		ir_call(l->ir, r, kernel_helper, 3, args);
	} else {
		/* The kernel's half of the address space is the negative one. */
		int user = ir_label(l->ir), end = ir_label(l->ir);
		ir_if_imm(l->ir, BPF_JSGE, address.reg, 0, user);
		ir_call(l->ir, r, kernel_helper, 3, args);
		ir_jump(l->ir, end);
		ir_place_label(l->ir, user);
		ir_call(l->ir, r, user_helper, 3, args);
		ir_place_label(l->ir, end);
	}
	report_error(l, r);
}

void lower_read_bytes(struct lower *l, struct place to, u32 size, struct ir_arg address, bool text,
		      bool kernel)
{
	lower_read_sized(l, to, ir_arg_imm(size), address, text, kernel);
}

int lower_read(struct lower *l, int address, s32 off, const struct program_type *t, bool kernel)
{
	u32 stack = l->stack_used;
	struct place tmp = lower_temp(l, 8);
	int at = address, r = ir_reg(l->ir);
	if (off) {
		at = ir_reg(l->ir);
		ir_lea(l->ir, at, address, off);
	}
	ir_store_imm(l->ir, tmp.base, tmp.off, 0, 8);
	lower_read_bytes(l, tmp, t->size, ir_arg_reg(at), false, kernel);
	ir_load(l->ir, r, tmp.base, tmp.off, (u8)t->size);
	if (type_is_signed(t))
		lower_fit(l, r, t);
	l->stack_used = stack;
	return r;
}

int lower_task_number(struct lower *l, bool thread, bool first)
{
	struct ir *ir = l->ir;
	int r = ir_reg(ir);
	if (first || !l->in->pid_ns_ino) {
		ir_call(ir, r, HELPER_PID_TGID, 0, NULL);
		if (thread)
			lower_fit(l, r, &type_u32);
		else
			ir_alu_imm(ir, BPF_RSH, r, 32);
		return r;
	}
	/* Fails for tasks that are not in the namespace: then both are 0. */
	enum { THREAD = 0, PROCESS = 4 };
	u32 stack = l->stack_used;
	struct place to = lower_temp(l, 8);
	int dev = ir_reg(ir), ino = ir_reg(ir);
	ir_imm(ir, dev, (s64)l->in->pid_ns_dev);
	ir_imm(ir, ino, (s64)l->in->pid_ns_ino);
	ir_store_imm(ir, to.base, to.off, 0, 8);
	ir_call(ir, IR_NONE, HELPER_NS_PID_TGID, 4,
		(struct ir_arg[]){ ir_arg_reg(dev), ir_arg_reg(ino), arg_place(to), ir_arg_imm(8) });
	ir_load(ir, r, to.base, to.off + (thread ? THREAD : PROCESS), 4);
	l->stack_used = stack;
	return r;
}

static u32 own_map(struct lower *l, u32 *number, struct program_map m)
{
	if (*number != UINT32_MAX)
		return *number;
	struct program_map *to = vec_push(&l->program->maps);
	if (!to) {
		l->err = -ENOMEM;
		return 0;
	}
	*to = m;
	*number = (u32)l->program->maps.nr - 1;
	return *number;
}

u32 lower_ring(struct lower *l)
{
	return own_map(l, &l->shared->ring,
		       (struct program_map){ .name = "ring",
					     .role = PROGRAM_MAP_RING,
					     .type = BPF_MAP_TYPE_RINGBUF });
}

static u32 control_ring(struct lower *l)
{
	return own_map(l, &l->shared->control,
		       (struct program_map){ .name = "control",
					     .role = PROGRAM_MAP_CONTROL,
					     .type = BPF_MAP_TYPE_RINGBUF,
					     .max_entries = 4096 });
}

/* One entry whose value the code reaches without a call. */
static struct program_map array_map(const char *name, enum program_map_role role, u32 size)
{
	return (struct program_map){ .name = name,
				     .role = role,
				     .type = BPF_MAP_TYPE_ARRAY,
				     .key_size = 4,
				     .value_size = size,
				     .max_entries = 1 };
}

u32 lower_data(struct lower *l, const void *bytes, u32 size)
{
	struct strbuf *s = &l->shared->bytes;
	own_map(l, &l->shared->data, array_map("data", PROGRAM_MAP_DATA, 0));
	u32 room = (size + 7) & ~7u;
	for (u32 at = 0; at + room <= s->len; at += 8)
		if (!memcmp(s->data + at, bytes, size))
			return at;
	u32 at = (u32)s->len;
	strbuf_add(s, bytes, size);
	strbuf_fill(s, 0, room - size);
	return at;
}

u32 lower_facts(struct lower *l)
{
	return own_map(l, &l->shared->facts,
		       array_map("facts", PROGRAM_MAP_FACTS, sizeof(struct program_facts)));
}

u32 lower_scratch_map(struct lower *l)
{
	struct program_map m = array_map("scratch", PROGRAM_MAP_SCRATCH, 0);
	m.type = BPF_MAP_TYPE_PERCPU_ARRAY;
	m.max_entries = LOWER_SCRATCH_LEVELS;
	return own_map(l, &l->shared->scratch, m);
}

u32 lower_stacks(struct lower *l, u32 limit)
{
	l->shared->stack_limit = max(l->shared->stack_limit, limit);
	return own_map(l, &l->shared->stacks,
		       (struct program_map){ .name = "stacks",
					     .role = PROGRAM_MAP_STACKS,
					     .type = BPF_MAP_TYPE_LRU_HASH,
					     .key_size = sizeof(struct program_stack),
					     .max_entries = 16384 });
}

static void count_up(struct lower *l, u32 map, u32 index)
{
	int at = ir_reg(l->ir), one = ir_reg(l->ir);
	ir_map_value(l->ir, at, map, index * 8);
	ir_imm(l->ir, one, 1);
	ir_atomic_add(l->ir, at, 0, one, false);
}

void lower_count_full(struct lower *l, u32 map)
{
	own_map(l, &l->shared->full, array_map("full", PROGRAM_MAP_FULL, 0));
	count_up(l, l->shared->full, map);
}

void lower_count_drop(struct lower *l)
{
	own_map(l, &l->shared->drops, array_map("drops", PROGRAM_MAP_DROPS, 0));
	count_up(l, l->shared->drops, l->point);
}

int lower_shared_finish(struct program *p, struct lower_shared *s)
{
	vec_for_each (&p->maps, m) {
		switch (m->role) {
		case PROGRAM_MAP_DROPS: m->value_size = 8 * (u32)p->probes.nr; break;
		case PROGRAM_MAP_FULL: m->value_size = 8 * (u32)p->maps.nr; break;
		case PROGRAM_MAP_SCRATCH: m->value_size = s->scratch_size; break;
		case PROGRAM_MAP_STACKS: m->value_size = 8 * s->stack_limit; break;
		case PROGRAM_MAP_DATA:
			m->value_size = max(8u, (u32)s->bytes.len);
			m->flags = BPF_F_RDONLY_PROG;
			char *copy = arena_zalloc(&p->arena, m->value_size);
			if (!copy || s->bytes.err)
				return -ENOMEM;
			memcpy(copy, s->bytes.data, s->bytes.len);
			m->init = copy;
			break;
		default: break;
		}
	}
	return 0;
}

s64 lower_action(struct lower *l, const struct node *n, enum program_action_kind kind,
		 const struct program_type *const *types, u32 nr)
{
	struct program_action *a = vec_push(&l->program->actions);
	struct program_field *f = arena_array(l->arena, nr + 1, sizeof(*f));
	if (!a || !f) {
		l->err = -ENOMEM;
		return -1;
	}
	*a = (struct program_action){ .kind = kind, .span_start = n->start, .span_len = n->len };
	a->record = (struct program_type){ .kind = PROGRAM_RECORD, .fields = f, .nr = nr };
	for (u32 i = 0; i < nr; i++) {
		f[i] = (struct program_field){ .type = types[i], .offset = a->record.size };
		a->record.size += type_room(types[i]);
	}
	return (s64)l->program->actions.nr - 1;
}

void lower_record_begin(struct lower *l, u32 action, bool control, struct lower_record *r)
{
	u32 size = (u32)sizeof(struct program_record) + l->program->actions.at[action].record.size;
	int have = ir_label(l->ir), head = ir_reg(l->ir);
	r->reg = ir_reg(l->ir);
	r->label_full = ir_label(l->ir);
	struct ir_arg args[] = { ir_arg_map(lower_ring(l)), ir_arg_imm(size), ir_arg_imm(0) };
	ir_call(l->ir, r->reg, HELPER_RING_RESERVE, 3, args);
	ir_if_imm(l->ir, BPF_JNE, r->reg, 0, have);
	if (control) {
		args[0] = ir_arg_map(control_ring(l));
		ir_call(l->ir, r->reg, HELPER_RING_RESERVE, 3, args);
		ir_if_imm(l->ir, BPF_JNE, r->reg, 0, have);
	}
	lower_count_drop(l);
	ir_jump(l->ir, r->label_full);
	ir_place_label(l->ir, have);
	ir_imm(l->ir, head, (s64)((u64)l->point << 32 | action));
	ir_store(l->ir, r->reg, 0, head, 8);
	r->fields = (struct place){ r->reg, sizeof(struct program_record) };
}

void lower_record_end(struct lower *l, struct lower_record *r)
{
	ir_call(l->ir, IR_NONE, HELPER_RING_SUBMIT, 2,
		(struct ir_arg[]){ ir_arg_reg(r->reg), ir_arg_imm(0) });
	ir_place_label(l->ir, r->label_full);
}
