#include "lang/registers.h"

#include <errno.h>
#include <string.h>

enum { NONE = UINT32_MAX, CALLER_SAVED = 0x3c, CALLEE_SAVED = 0x3c0 };

struct registers_block {
	u32 from, end; /* instructions */
	u32 next[2]; /* NONE: no such way out */
	bool reached;
	u64 *in, *out, *def, *use;
};

struct flow {
	struct ir *ir;
	struct registers_block *blocks;
	u32 nr;
	u32 words; /* of a set of registers */
	u32 *label_block;
};

static void set_add(u64 *set, int reg)
{
	set[reg / 64] |= 1ull << (reg % 64);
}
static void set_remove(u64 *set, int reg)
{
	set[reg / 64] &= ~(1ull << (reg % 64));
}
static bool set_has(const u64 *set, int reg)
{
	return set[reg / 64] >> (reg % 64) & 1;
}

static bool ends_block(const struct ir_insn *in)
{
	return in->op == IR_JUMP || in->op == IR_IF || in->op == IR_EXIT;
}

static int find_blocks(struct flow *f)
{
	struct ir *ir = f->ir;
	u32 nr = 1;
	for (u32 i = 0; i < ir->insns.nr; i++)
		nr += ir->insns.at[i].op == IR_LABEL || ends_block(&ir->insns.at[i]);
	f->words = (u32)ir->nr_regs / 64 + 1;
	if ((u64)nr * f->words * 4 > 8u << 20)
		return -E2BIG;
	f->blocks = arena_array(ir->arena, nr, sizeof(*f->blocks));
	f->label_block = arena_array(ir->arena, (size_t)ir->nr_labels + 1, sizeof(u32));
	u64 *sets = arena_array(ir->arena, (size_t)nr * f->words * 4, sizeof(u64));
	if (!f->blocks || !f->label_block || !sets)
		return -ENOMEM;
	for (u32 at = 0; at < ir->insns.nr;) {
		struct registers_block *b = &f->blocks[f->nr++];
		b->from = at;
		do {
			if (ir->insns.at[at].op == IR_LABEL)
				f->label_block[ir->insns.at[at].label] = f->nr - 1;
			at++;
		} while (at < ir->insns.nr && !ends_block(&ir->insns.at[at - 1]) &&
			 ir->insns.at[at].op != IR_LABEL);
		b->end = at;
		b->in = sets;
		b->out = sets + f->words;
		b->def = sets + (size_t)2 * f->words;
		b->use = sets + (size_t)3 * f->words;
		sets += (size_t)4 * f->words;
	}
	return 0;
}

static void find_ways(struct flow *f)
{
	for (u32 i = 0; i < f->nr; i++) {
		struct registers_block *b = &f->blocks[i];
		const struct ir_insn *last = &f->ir->insns.at[b->end - 1];
		b->next[0] = b->next[1] = NONE;
		if (last->op != IR_JUMP && last->op != IR_EXIT && i + 1 < f->nr)
			b->next[0] = i + 1;
		if (last->op == IR_JUMP || last->op == IR_IF)
			b->next[1] = f->label_block[last->label];
	}
}

static int mark_reached(struct flow *f)
{
	u32 *todo = arena_array(f->ir->arena, (size_t)f->nr * 2 + 1, sizeof(u32));
	if (!todo)
		return -ENOMEM;
	u32 nr = 0;
	todo[nr++] = 0;
	while (nr) {
		struct registers_block *b = &f->blocks[todo[--nr]];
		if (b->reached)
			continue;
		b->reached = true;
		for (u32 k = 0; k < 2; k++)
			if (b->next[k] != NONE && !f->blocks[b->next[k]].reached)
				todo[nr++] = b->next[k];
	}
	return 0;
}

static void find_uses(struct flow *f, struct registers_block *b)
{
	int regs[8];
	memset(b->def, 0, f->words * sizeof(u64));
	memset(b->use, 0, f->words * sizeof(u64));
	for (u32 i = b->from; i < b->end; i++) {
		const struct ir_insn *in = &f->ir->insns.at[i];
		u32 nr = ir_reads(in, regs);
		for (u32 k = 0; k < nr; k++)
			if (!set_has(b->def, regs[k]))
				set_add(b->use, regs[k]);
		int w = ir_writes(in);
		if (w > IR_FP)
			set_add(b->def, w);
	}
}

static void find_live(struct flow *f)
{
	for (u32 i = 0; i < f->nr; i++) {
		find_uses(f, &f->blocks[i]);
		memset(f->blocks[i].in, 0, f->words * sizeof(u64));
		memset(f->blocks[i].out, 0, f->words * sizeof(u64));
	}
	for (bool changed = true; changed;) {
		changed = false;
		for (u32 i = f->nr; i--;) {
			struct registers_block *b = &f->blocks[i];
			for (u32 w = 0; b->reached && w < f->words; w++) {
				u64 out = 0;
				for (u32 k = 0; k < 2; k++)
					if (b->next[k] != NONE)
						out |= f->blocks[b->next[k]].in[w];
				u64 in = b->use[w] | (out & ~b->def[w]);
				changed |= in != b->in[w] || out != b->out[w];
				b->in[w] = in;
				b->out[w] = out;
			}
		}
	}
}

/* Takes out what computes something that nobody reads: it becomes a label without a number. */
static bool remove_dead(struct flow *f)
{
	u64 *live = arena_array(f->ir->arena, f->words, sizeof(u64));
	bool removed = false;
	int regs[8];
	for (u32 i = 0; live && i < f->nr; i++) {
		struct registers_block *b = &f->blocks[i];
		memcpy(live, b->out, f->words * sizeof(u64));
		for (u32 k = b->end; k-- > b->from;) {
			struct ir_insn *in = &f->ir->insns.at[k];
			int w = ir_writes(in);
			if (w > IR_FP && !set_has(live, w)) {
				if (ir_is_pure(in)) {
					*in = (struct ir_insn){ .op = IR_LABEL,
								.dst = IR_NONE,
								.src = IR_NONE,
								.label = IR_NONE };
					removed = true;
					continue;
				}
				if (in->op == IR_CALL)
					in->dst = IR_NONE;
				if (in->op == IR_ATOMIC_ADD)
					in->fetch = false;
			}
			if (w > IR_FP)
				set_remove(live, w);
			u32 nr = ir_reads(in, regs);
			for (u32 r = 0; r < nr; r++)
				set_add(live, regs[r]);
		}
	}
	return removed;
}

/* Leaves only what can be reached; labels stay where they were. */
static void compact(struct flow *f)
{
	struct ir *ir = f->ir;
	u32 to = 0;
	for (u32 i = 0; i < f->nr; i++) {
		struct registers_block *b = &f->blocks[i];
		u32 from = to;
		for (u32 k = b->from; k < b->end; k++) {
			struct ir_insn *in = &ir->insns.at[k];
			bool keep = b->reached && !(in->op == IR_LABEL && in->label == IR_NONE);
			if (keep)
				ir->insns.at[to++] = *in;
		}
		b->from = from;
		b->end = to;
	}
	ir->insns.nr = to;
}

struct range {
	int reg;
	u32 from, end;
	bool crosses; /* a call */
	int hint; /* register it is copied from; IR_NONE */
};

static void extend(struct range *r, u32 at)
{
	r->from = min(r->from, at);
	r->end = max(r->end, at);
}

static void extend_set(const struct flow *f, struct range *ranges, const u64 *set, u32 at)
{
	for (u32 w = 0; w < f->words; w++)
		for (u64 bits = set[w]; bits; bits &= bits - 1)
			extend(&ranges[w * 64 + (u32)__builtin_ctzll(bits)], at);
}

static void find_ranges(const struct flow *f, struct range *ranges)
{
	int regs[8];
	for (int r = 0; r <= f->ir->nr_regs; r++)
		ranges[r] = (struct range){ .reg = r, .from = UINT32_MAX, .hint = IR_NONE };
	for (u32 i = 0; i < f->nr; i++) {
		const struct registers_block *b = &f->blocks[i];
		if (b->from == b->end)
			continue;
		extend_set(f, ranges, b->in, b->from * 2);
		extend_set(f, ranges, b->out, b->end * 2 - 1);
		for (u32 k = b->from; k < b->end; k++) {
			const struct ir_insn *in = &f->ir->insns.at[k];
			u32 nr = ir_reads(in, regs);
			for (u32 r = 0; r < nr; r++)
				extend(&ranges[regs[r]], k * 2);
			int w = ir_writes(in);
			if (w > IR_FP)
				extend(&ranges[w], k * 2 + 1);
			if (w > IR_FP && in->op == IR_MOV && in->src > IR_FP)
				ranges[w].hint = in->src;
		}
	}
}

static int mark_crossing(const struct flow *f, struct range *ranges)
{
	u32 *calls = arena_array(f->ir->arena, f->ir->insns.nr + 2, sizeof(u32));
	if (!calls)
		return -ENOMEM;
	/* calls[i]: how many are before instruction i */
	for (u32 i = 0; i < f->ir->insns.nr; i++)
		calls[i + 1] = calls[i] + (f->ir->insns.at[i].op == IR_CALL);
	for (int r = 1; r <= f->ir->nr_regs; r++) {
		struct range *g = &ranges[r];
		if (g->from == UINT32_MAX)
			continue;
		/* calls at i with from < 2i < end */
		u32 first = g->from / 2 + 1, last = (g->end + 1) / 2;
		g->crosses = last > first && calls[last] > calls[first];
	}
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : x->reg - y->reg;
}

struct scan {
	struct registers *out;
	const struct range *active[10]; /* by register of the machine */
	u32 *slot_end; /* by slot */
	u32 nr_slots, frame;
};

static void spill(struct scan *s, const struct range *g)
{
	u32 slot = 0;
	while (slot < s->nr_slots && s->slot_end[slot] >= g->from)
		slot++;
	if (slot == s->nr_slots)
		s->nr_slots++;
	s->slot_end[slot] = g->end;
	s->out->reg[g->reg] = -1;
	s->out->slot[g->reg] = -(s32)(s->frame + 8 * (slot + 1));
}

/* One that is given to another already, and lives longest; or -1. */
static int victim(const struct scan *s, u32 allowed)
{
	int best = -1;
	for (int r = 2; r < 10; r++)
		if (allowed >> r & 1 && s->active[r] &&
		    (best < 0 || s->active[r]->end > s->active[best]->end))
			best = r;
	return best;
}

static int pick(const struct scan *s, const struct range *g, u32 allowed)
{
	if (g->hint > IR_FP) {
		s8 h = s->out->reg[g->hint];
		if (h > 0 && allowed >> h & 1 && !s->active[h])
			return h;
	}
	for (int r = 2; r < 10; r++)
		if (allowed >> r & 1 && !s->active[r])
			return r;
	return -1;
}

static void assign_one(struct scan *s, const struct range *g)
{
	u32 allowed = g->crosses ? CALLEE_SAVED : CALLER_SAVED | CALLEE_SAVED;
	for (int r = 2; r < 10; r++)
		if (s->active[r] && s->active[r]->end < g->from)
			s->active[r] = NULL;
	int r = pick(s, g, allowed);
	if (r < 0) {
		r = victim(s, allowed);
		if (r < 0 || s->active[r]->end <= g->end) {
			spill(s, g);
			return;
		}
		spill(s, s->active[r]);
	}
	s->out->reg[g->reg] = (s8)r;
	s->active[r] = g;
}

static int scan_ranges(struct flow *f, u32 frame, struct registers *ret)
{
	struct ir *ir = f->ir;
	size_t nr = (size_t)ir->nr_regs + 1;
	struct range *ranges = arena_array(ir->arena, nr, sizeof(*ranges));
	struct scan s = { .out = ret, .frame = frame };
	ret->reg = arena_array(ir->arena, nr, 1);
	ret->slot = arena_array(ir->arena, nr, sizeof(s32));
	s.slot_end = arena_array(ir->arena, nr, sizeof(u32));
	if (!ranges || !ret->reg || !ret->slot || !s.slot_end)
		return -ENOMEM;
	find_ranges(f, ranges);
	if (mark_crossing(f, ranges))
		return -ENOMEM;
	qsort(ranges, nr, sizeof(*ranges), compare_ranges);
	for (size_t i = 0; i < nr && ranges[i].from != UINT32_MAX; i++)
		assign_one(&s, &ranges[i]);
	ret->stack = frame + 8 * s.nr_slots;
	return 0;
}

int registers_assign(struct ir *ir, u32 frame, struct registers *ret)
{
	struct flow f = { .ir = ir };
	int err = find_blocks(&f);
	if (err)
		return err;
	find_ways(&f);
	err = mark_reached(&f);
	if (err)
		return err;
	for (u32 round = 0; round < 8; round++) {
		find_live(&f);
		if (!remove_dead(&f))
			break;
	}
	find_live(&f);
	compact(&f);
	return scan_ranges(&f, frame, ret);
}
