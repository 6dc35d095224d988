/* When the copies of stacks grow, and when they shrink again. */
#include "stream/stack_growth.h"

#include "tap.h"

static const struct stack_growth fresh = { .bytes = { 8192, 32768, 65528 } };

/* nr looks with as many stacks, short ones and losses in each. */
static u32 looks(struct stack_growth *g, struct stack_growth_counts *c, u32 nr, u64 stacks, u64 cut,
		 u64 lost)
{
	u32 step = g->step;
	while (nr--) {
		c->nr_stacks += stacks;
		c->nr_short += cut;
		c->nr_lost += lost;
		step = stack_growth_look(g, c);
	}
	return step;
}

static void grows(void)
{
	struct stack_growth g = fresh;
	struct stack_growth_counts c = { 0 };
	ok(looks(&g, &c, 1, 10, 10, 0) == 0, "ten stacks say nothing yet");
	ok(looks(&g, &c, 1, 10, 10, 0) == 1, "twenty of them do: more is copied");
	ok(looks(&g, &c, 3, 100, 100, 0) == 1, "stacks from before the change do not count");
	ok(looks(&g, &c, 1, 0, 0, 0) == 1, "nor does a look without any");
	ok(looks(&g, &c, 1, 100, 50, 0) == 2, "stacks that are still longer make it grow again");
	ok(looks(&g, &c, 20, 100, 100, 0) == 2, "up to the largest size");
}

static void stays(void)
{
	struct stack_growth g = fresh;
	struct stack_growth_counts c = { 0 };
	ok(looks(&g, &c, 100, 100, 4, 0) == 0, "a few long stacks change nothing");
	ok(looks(&g, &c, 1, 100, 90, 0) == 1, "many do, even late");
	g = fresh;
	c = (struct stack_growth_counts){ 0 };
	g.bytes[1] = g.bytes[2] = 0;
	ok(looks(&g, &c, 9, 100, 100, 0) == 0, "one size never changes");
}

static void shrinks(void)
{
	struct stack_growth g = fresh;
	struct stack_growth_counts c = { 0 };
	ok(looks(&g, &c, 2, 100, 0, 50) == 0, "losses before it grew are not its fault");
	ok(looks(&g, &c, 1, 100, 100, 0) == 1, "it grew");
	ok(looks(&g, &c, 3, 100, 100, 10) == 1, "losses while it settles may be older");
	ok(looks(&g, &c, 1, 100, 100, 10) == 0, "lost records take it back");
	ok(looks(&g, &c, 50, 100, 100, 0) == 0, "and it stays there");
	g = fresh;
	c = (struct stack_growth_counts){ 0 };
	(void)looks(&g, &c, 1, 100, 100, 0);
	ok(looks(&g, &c, 20, 1000, 0, 1) == 1, "a loss of one in a thousand does not");
}

int main(void)
{
	grows();
	stays();
	shrinks();
	return done_testing();
}
