#include "stream/stack_growth.h"

enum {
	STACKS_MIN = 16, /* that say anything */
	STACKS_RECENT = 400, /* beyond these the older half is forgotten */
	SHORT_SHARE = 20, /* one of so many is a noticeable share */
	LOST_SHARE = 100, /* and one of so many is too much to lose */
	SETTLING_LOOKS = 3, /* stacks wait for two rounds before they are unwound */
};

static void change_step(struct stack_growth *g, u32 step)
{
	g->step = step;
	g->settling = SETTLING_LOOKS;
	g->sum_stacks = g->sum_short = g->sum_lost = g->sum_all = 0;
}

static bool may_grow(const struct stack_growth *g)
{
	u32 next = g->step + 1;
	return !g->stepped_back && next < STACK_GROWTH_SIZES && g->bytes[next];
}

u32 stack_growth_look(struct stack_growth *g, const struct stack_growth_counts *now)
{
	u64 stacks = now->nr_stacks - g->nr_stacks, cut = now->nr_short - g->nr_short;
	u64 lost = now->nr_lost - g->nr_lost;
	g->nr_stacks = now->nr_stacks;
	g->nr_short = now->nr_short;
	g->nr_lost = now->nr_lost;
	if (g->settling) {
		g->settling -= stacks > 0;
		return g->step;
	}
	g->sum_lost += lost;
	g->sum_all += stacks + lost;
	g->sum_stacks += stacks;
	g->sum_short += cut;
	if (g->step && g->sum_all >= STACKS_MIN && g->sum_lost * LOST_SHARE > g->sum_all) {
		g->stepped_back = true;
		change_step(g, g->step - 1);
	} else if (g->sum_stacks >= STACKS_MIN && g->sum_short * SHORT_SHARE > g->sum_stacks &&
		   may_grow(g)) {
		change_step(g, g->step + 1);
	} else if (g->sum_stacks > STACKS_RECENT) {
		g->sum_stacks /= 2;
		g->sum_short /= 2;
	}
	return g->step;
}
