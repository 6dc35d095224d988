/* Sinks that read payloads: memory that is held, and functions that call themselves. */
#include "analysis/graph_time.h"
#include "analysis/mem_held.h"
#include "tap.h"

#include <stdlib.h>

/* ---- memory ---- */

struct piece {
	u64 site, ptr;
	u32 req, alloc;
};

static const struct schema_field piece_fields[] = {
	{ .name = "call_site", .offset = 0, .size = 8 },
	{ .name = "ptr", .offset = 8, .size = 8 },
	{ .name = "bytes_req", .offset = 16, .size = 4 },
	{ .name = "bytes_alloc", .offset = 20, .size = 4 }
};
static const struct schema kmalloc = {
	.system = "kmem", .name = "kmalloc", .fields = piece_fields, .nr_fields = 4
};
static const struct schema kfree = {
	.system = "kmem", .name = "kfree", .fields = piece_fields, .nr_fields = 2
};

static const char *no_symbol(void *ctx, u64 addr, u64 *offset)
{
	return NULL;
}

static void test_held(void)
{
	static const struct piece pieces[] = {
		{ 1, 100, 90, 96 }, { 1, 200, 50, 64 }, { 1, 100, 0, 0 }, { 1, 300, 8, 8 }
	};
	struct mem_held *m = mem_held_new(&(struct mem_held_env){ .symbol = no_symbol });
	struct sink *k = mem_held_sink(m);
	void *state;
	size_t nr;
	if (k->ops->shard_new(k, 0, NULL, &state))
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct sample s = { .event = i == 2,
				    .schema = i == 2 ? &kfree : &kmalloc,
				    .raw = &pieces[i],
				    .raw_size = sizeof(pieces[i]) };
		if (k->ops->feed(k, state, &(struct batch){ &s, 1 }))
			abort();
	}
	const struct mem_held_row *r = mem_held_rows(m, &nr);
	ok(nr == 1 && r->alloc == 72 && r->req == 58, "what is held in the end");
	ok(r->total_alloc == 168 && r->max_alloc == 160 && r->max_req == 140,
	   "in all, and at most");
	ok(r->max_waste == 20, "the most that was wasted at once is of all pieces together");
	struct kmem_totals t = mem_held_totals(m);
	ok(t.nr_allocs == 3 && t.alloc == 168 && t.freed == 96 && t.nr_frees == 1, "totals");
	mem_held_free(m);
}

static void feed_piece(struct sink *k, void *state, bool frees, s32 cpu, struct piece p)
{
	struct sample s = { .event = frees,
			    .cpu = cpu,
			    .schema = frees ? &kfree : &kmalloc,
			    .raw = &p,
			    .raw_size = sizeof(p) };
	if (k->ops->feed(k, state, &(struct batch){ &s, 1 }))
		abort();
}

/* Frees elsewhere, frees of nothing, and frees that nobody saw. */
static void test_missed(void)
{
	struct mem_held *m = mem_held_new(&(struct mem_held_env){ 0 });
	struct sink *k = mem_held_sink(m);
	struct kmem_row *rows;
	void *state;
	size_t nr;
	if (k->ops->shard_new(k, 0, NULL, &state))
		abort();
	feed_piece(k, state, false, 0, (struct piece){ 1, 100, 10, 16 });
	feed_piece(k, state, true, 1, (struct piece){ 9, 100, 0, 0 });
	feed_piece(k, state, true, 1, (struct piece){ 9, 500, 0, 0 });
	feed_piece(k, state, false, 0, (struct piece){ 2, 100, 20, 32 });
	feed_piece(k, state, false, 0, (struct piece){ 2, 100, 20, 32 });
	struct kmem_totals t = mem_held_totals(m);
	ok(t.nr_unseen_frees == 1, "memory that is allocated twice was freed in between");
	ok(t.nr_unseen_allocs == 1 && t.freed == 16, "a free of unknown memory frees nothing");
	ok(!mem_held_sites(m, &rows, &nr) && nr == 2, "two call sites");
	ok(rows[0].nr_pingpong == 1 && rows[0].held == 0, "freed on another CPU");
	ok(rows[1].nr_hits == 2 && rows[1].held == 32 && rows[1].alloc == 64, "held once");
	free(rows);
	ok(!mem_held_addresses(m, &rows, &nr) && nr == 1, "one address");
	ok(rows[0].nr_hits == 3 && rows[0].alloc == 80 && rows[0].held == 32, "of all");
	free(rows);
	mem_held_free(m);
}

/* ---- calls ---- */

struct call {
	u64 func;
	u64 start, end;
	u32 depth;
};

static const struct schema_field call_fields[] = { { .name = "func", .offset = 0, .size = 8 },
						   { .name = "calltime", .offset = 8, .size = 8 },
						   { .name = "rettime", .offset = 16, .size = 8 },
						   { .name = "depth", .offset = 24, .size = 4 } };
static const struct schema schemas[] = {
	{ .id = 1,
	  .system = "ftrace",
	  .name = "funcgraph_entry",
	  .fields = call_fields,
	  .nr_fields = 4 },
	{ .id = 2, .system = "ftrace", .name = "funcgraph_exit", .fields = call_fields, .nr_fields = 4 },
};

static void test_recursion(void)
{
	/* f { f { } } f { }: 10 with 4 inside, then 3. */
	static const struct {
		bool exit;
		struct call c;
	} events[] = { { false, { .func = 7 } }, { false, { .func = 7, .depth = 1 } },
		       { true, { 7, 0, 4, 1 } }, { true, { 7, 0, 10, 0 } },
		       { false, { .func = 7 } }, { true, { 7, 0, 3, 0 } } };
	struct graph_time *g = graph_time_new();
	struct sink *k = graph_time_sink(g);
	void *state;
	if (k->ops->shard_new(k, 0, NULL, &state))
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		struct sample s = { .event = events[i].exit,
				    .tid = 9,
				    .time_ns = i,
				    .schema = &schemas[events[i].exit],
				    .raw = &events[i].c,
				    .raw_size = sizeof(struct call) };
		if (k->ops->feed(k, state, &(struct batch){ &s, 1 }))
			abort();
	}
	ok(!k->ops->block_done(k, state, 0) && graph_time_nr_funcs(g) == 1, "one function");
	const struct graph_func *f = graph_time_func(g, 0);
	ok(f->calls == 3 && f->total_ns == 13,
	   "of a call inside of itself only the outer one counts");
	ok(f->self_ns == 13 && f->max_ns == 10, "its own time, and the longest call");
	ok(!graph_time_nr_open(g) && !graph_time_nr_headless(g), "nothing is open");
	k->ops->shard_free(k, state);
	graph_time_free(g);
}

int main(void)
{
	test_held();
	test_missed();
	test_recursion();
	return done_testing();
}
