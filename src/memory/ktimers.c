/*
 *	timer_bases (per-CPU) [1 to 3]        vectors[]: an hlist of timer_list.entry for each slot of the wheel
 *	hrtimer_bases (per-CPU).clock_base[]  active: red-black tree of hrtimer.node.node
 */
#include "memory/ktimers.h"

#include "memory/eval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BASES_MAX = 8, VECTORS_MAX = 1024, TIMERS_MAX = 1 << 17, STEPS_MAX = 1 << 20 };

/* How many elements a member or variable has, and the bytes of each. */
static void count_elements(struct ktype t, u32 *nr, u64 *bytes)
{
	struct ktype of;
	u64 elements = ktype_elements(&t);
	*nr = 1;
	if (elements && ktype_target(&t, &of)) {
		*nr = (u32)min(elements, (u64)UINT32_MAX);
		t = of;
	}
	*bytes = ktype_size(&t);
}

static int count_member(struct kspace *k, const char *type, const char *member, u32 *nr, u64 *bytes)
{
	struct ktype of, t;
	u64 bit;
	u8 bits;
	if (!kspace_find_type(k, type, BTF_BIT(BTF_OF_STRUCT), &of))
		return diag_error(k->diag, -ENOENT, "this kernel has no struct %s", type);
	int err = eval_path(k, &of, member, &t, &bit, &bits);
	if (!err)
		count_elements(t, nr, bytes);
	return err;
}

int ktimers_open(struct ktimers *t, struct kspace *k)
{
	struct memory *m;
	u64 head_bytes, next, active;
	*t = (struct ktimers){ .k = k };
	const struct eval_offset rows[] = {
		{ "timer_base", "clk", &t->at.clk },
		{ "timer_base", "vectors", &t->at.vectors },
		{ "timer_list", "entry", &t->at.entry },
		{ "timer_list", "expires", &t->at.expires },
		{ "timer_list", "function", &t->at.function },
		{ "hrtimer_cpu_base", "clock_base", &t->at.clock },
		{ "hrtimer_clock_base", "active", &active },
		{ "timerqueue_head", "rb_root", &next },
		{ "hrtimer_clock_base", "offset", &t->at.offset, true },
		{ "hrtimer", "node.node", &t->at.node },
		{ "hrtimer", "node.expires", &t->at.hr_expires },
		{ "hrtimer", "_softexpires", &t->at.soft },
		{ "hrtimer", "function", &t->at.hr_function },
	};
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = kspace_memory(k, &m);
	if (!err)
		err = kspace_global(k, "timer_bases", &t->wheels);
	if (!err)
		err = kspace_global(k, "hrtimer_bases", &t->clocks);
	if (!err)
		err = count_member(k, "timer_base", "vectors", &t->nr_vectors, &head_bytes);
	if (!err)
		err = count_member(k, "hrtimer_cpu_base", "clock_base", &t->nr_clocks,
				   &t->clock_bytes);
	if (err)
		return err;
	t->at.active = active + next;
	count_elements(t->wheels.type, &t->nr_wheels, &t->wheel_bytes);
	if (!t->wheels.is_per_cpu || !t->clocks.is_per_cpu || t->nr_wheels > BASES_MAX ||
	    t->nr_clocks > BASES_MAX || t->nr_vectors > VECTORS_MAX || head_bytes != sizeof(u64))
		return diag_error(k->diag, -ENOENT,
				  "this kernel's timer_bases have an unknown layout");
	return 0;
}

static int compare_timers(const void *a, const void *b)
{
	const struct ktimer *x = a, *y = b;
	return (x->expires > y->expires) - (x->expires < y->expires);
}

static void sort_timers(struct ktimers_list *l)
{
	if (l->timers.nr)
		qsort(l->timers.at, l->timers.nr, sizeof(*l->timers.at), compare_timers);
}

/* A CPU's copy of a variable, without a message where it has none. */
static int find_copy(struct ktimers *t, const struct kspace_global *g, u32 cpu, u64 *ret)
{
	struct diag quiet, *diag = t->k->diag;
	diag_init(&quiet);
	t->k->diag = &quiet;
	int err = kspace_per_cpu(t->k, g, cpu, ret);
	t->k->diag = diag;
	diag_done(&quiet);
	return err && err != -ENOMEM ? -ENOENT : err;
}

struct timer_walk {
	struct ktimers *t;
	struct ktimers_list *to;
};

static int add_timer(struct timer_walk *w, const struct ktimer *timer)
{
	struct ktimer *slot = w->to->timers.nr < TIMERS_MAX ? vec_push(&w->to->timers) : NULL;
	if (!slot)
		return w->to->timers.nr < TIMERS_MAX ? -ENOMEM : 1;
	*slot = *timer;
	return 0;
}

static int each_wheel_timer(void *ctx, const struct walk_node *node)
{
	struct timer_walk *w = ctx;
	struct ktimer timer = { .addr = node->addr };
	if (++w->t->steps > STEPS_MAX)
		return 1;
	struct memory_piece pieces[] = {
		{ timer.addr + w->t->at.expires, &timer.expires, sizeof(u64), 0 },
		{ timer.addr + w->t->at.function, &timer.function, sizeof(u64), 0 },
	};
	int err = memory_read_pieces(w->t->k->memory, pieces, ARRAY_SIZE(pieces));
	if (err || pieces[0].err || pieces[1].err)
		return err; /* it went */
	return add_timer(w, &timer);
}

static void empty(struct ktimers_list *l)
{
	l->timers.nr = 0;
	l->changed = false;
	l->offset = 0;
	l->clk = 0;
}

int ktimers_wheel(struct ktimers *t, u32 cpu, u32 n, struct ktimers_list *ret)
{
	u64 vectors[VECTORS_MAX], base;
	struct timer_walk w = { .t = t, .to = ret };
	struct memory *m = t->k->memory;
	empty(ret);
	int err = find_copy(t, &t->wheels, cpu, &base);
	if (err)
		return err;
	ret->base = base + n * t->wheel_bytes;
	err = memory_read(m, ret->base + t->at.clk, &ret->clk, sizeof(ret->clk));
	if (!err)
		err = memory_read(m, ret->base + t->at.vectors, vectors,
				  t->nr_vectors * sizeof(u64));
	for (u32 v = 0; !err && v < t->nr_vectors; v++) {
		struct walk_result end;
		const struct walk_list list = { .kind = WALK_LIST_HEAD,
						.start = ret->base + t->at.vectors + v * sizeof(u64),
						.offset = t->at.entry };
		if (!vectors[v])
			continue;
		err = walk_list(t->k, &list, each_wheel_timer, &w, &end);
		ret->changed |= !err && end.end != WALK_ENDED;
	}
	sort_timers(ret);
	return err;
}

static int each_hrtimer(void *ctx, const struct walk_node *node)
{
	struct timer_walk *w = ctx;
	struct ktimer timer = { .addr = node->addr };
	if (++w->t->steps > STEPS_MAX)
		return 1;
	struct memory_piece pieces[] = {
		{ timer.addr + w->t->at.hr_expires, &timer.expires, sizeof(u64), 0 },
		{ timer.addr + w->t->at.soft, &timer.soft, sizeof(u64), 0 },
		{ timer.addr + w->t->at.hr_function, &timer.function, sizeof(u64), 0 },
	};
	int err = memory_read_pieces(w->t->k->memory, pieces, ARRAY_SIZE(pieces));
	if (err || pieces[0].err || pieces[1].err || pieces[2].err)
		return err;
	return add_timer(w, &timer);
}

int ktimers_cpu_base(struct ktimers *t, u32 cpu, u64 *ret)
{
	return find_copy(t, &t->clocks, cpu, ret);
}

int ktimers_clock(struct ktimers *t, u32 cpu, u32 n, struct ktimers_list *ret)
{
	u64 base;
	struct timer_walk w = { .t = t, .to = ret };
	struct walk_result end;
	empty(ret);
	int err = find_copy(t, &t->clocks, cpu, &base);
	if (err)
		return err;
	ret->base = base + t->at.clock + n * t->clock_bytes;
	if (t->at.offset != EVAL_NO_OFFSET &&
	    memory_read(t->k->memory, ret->base + t->at.offset, &ret->offset, sizeof(ret->offset)))
		ret->offset = 0;
	err = walk_tree(t->k,
			&(struct walk_tree){ .kind = WALK_RBTREE,
					     .root = ret->base + t->at.active,
					     .offset = t->at.node },
			each_hrtimer, &w, &end);
	ret->changed = !err && end.end != WALK_ENDED;
	sort_timers(ret);
	return err;
}

/* What they are called has depended on how many there are (include/linux/timer.h, kernel/time/timer.c). */
const char *ktimers_wheel_name(const struct ktimers *t, u32 n)
{
	static const char *const old[] = { "BASE_STD", "BASE_DEF" };
	static const char *const now[] = { "BASE_LOCAL", "BASE_GLOBAL", "BASE_DEF" };
	if (t->nr_wheels > 2)
		return n < ARRAY_SIZE(now) ? now[n] : "?";
	return n < ARRAY_SIZE(old) ? old[n] : "?";
}

const char *ktimers_clock_name(u32 n)
{
	static const char *const names[] = { "CLOCK_MONOTONIC",	     "CLOCK_REALTIME",
					     "CLOCK_BOOTTIME",	     "CLOCK_TAI",
					     "CLOCK_MONOTONIC_SOFT", "CLOCK_REALTIME_SOFT",
					     "CLOCK_BOOTTIME_SOFT",  "CLOCK_TAI_SOFT" };
	return n < ARRAY_SIZE(names) ? names[n] : "?";
}
