/* Chains of shards into one table, on several threads, beside the plain way. */
#include "base/dict.h"
#include "model/frame.h"
#include "tap.h"

enum { SHARDS = 5, CHAINS = 30000, FRAMES = 50 };

static const unsigned workers[] = { 1, 2, 3, 16 };

static u64 seed = 88172645463325252ull;
static u64 rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* ---- chains ---- */

/* A chain is its number: so long, and of these offsets. */
static u32 chain_length(u32 number)
{
	return 1 + number % 7;
}

static u64 chain_offset(u32 number, u32 depth)
{
	return hash_u64(number * 8 + depth) % FRAMES;
}

static void add_chain(struct frame_table *f, struct chain_table *c, u32 number)
{
	u32 frames[8];
	if (chain_table_find(c, hash_u64(number)))
		return;
	for (u32 i = 0; i < chain_length(number); i++)
		frames[i] =
			(u32)frame_table_add(f, (struct frame){ .offset = chain_offset(number, i) });
	if (chain_table_put(c, hash_u64(number), frames, chain_length(number)) < 0)
		abort();
}

static bool is_chain(const struct run_tables *run, u32 id, u32 number)
{
	u32 nr;
	const u32 *row = chain_frames(&run->chains, id, &nr);
	bool good = nr == chain_length(number) && run->chains.chains[id].key == hash_u64(number);
	for (u32 i = 0; i < nr && good; i++)
		good = run->frames.frames[row[i]].offset == chain_offset(number, i);
	return good;
}

struct shards {
	struct frame_table frames[SHARDS];
	struct chain_table chains[SHARDS];
	u32 numbers[SHARDS][CHAINS]; /* what was added, in this order, again and again too */
	bool *there; /* [number] */
	u32 distinct;
};

static void fill(struct shards *s, u32 numbers)
{
	s->there = calloc(numbers, sizeof(*s->there));
	for (u32 i = 0; i < SHARDS; i++) {
		if (!s->there || frame_table_init(&s->frames[i]) || chain_table_init(&s->chains[i]))
			abort();
		/* One shard saw nothing, one little. */
		for (u32 k = 0; k < (i == 1 ? 0 : i == 2 ? 3 : CHAINS); k++) {
			u32 number = s->numbers[i][k] = (u32)(rnd() % numbers);
			add_chain(&s->frames[i], &s->chains[i], number);
			s->distinct += !s->there[number];
			s->there[number] = true;
		}
	}
}

static bool maps_are_right(const struct shards *s, const struct chain_part *parts,
			   const struct run_tables *run)
{
	for (u32 i = 0; i < SHARDS; i++) {
		for (u32 k = 0; k < (i == 1 ? 0 : i == 2 ? 3 : CHAINS); k++) {
			u32 number = s->numbers[i][k];
			u32 id = chain_table_find(&s->chains[i], hash_u64(number));
			if (!is_chain(run, parts[i].map_chain[id], number))
				return false;
		}
	}
	return true;
}

/* Of so many different ones; joined: what two shards have is there twice. */
static void test_chains(unsigned nr_workers, u32 numbers, bool joined)
{
	static struct shards s;
	s.distinct = 0;
	fill(&s, numbers);
	struct run_tables run = { 0 };
	struct chain_part parts[SHARDS] = { 0 };
	u32 *map_frame[SHARDS] = { 0 };
	run.frames = s.frames[0];
	for (u32 i = 0; i < SHARDS; i++) {
		if (i && frame_table_merge(&run.frames, &s.frames[i], &map_frame[i]))
			abort();
		parts[i] = (struct chain_part){ .from = &s.chains[i], .map_frame = map_frame[i] };
	}
	u32 all = 0;
	for (u32 i = 0; i < SHARDS; i++)
		all += s.chains[i].nr - 1;
	ok(chain_tables_apart(parts, SHARDS, nr_workers) == (numbers > 4 * CHAINS),
	   "whether shards have the same chains: %u of %u are distinct", s.distinct, all);
	ok(!(joined ? chain_tables_join(&run.chains, parts, SHARDS, nr_workers)
		    : chain_tables_merge(&run.chains, parts, SHARDS, nr_workers)),
	   "%u workers %s", nr_workers, joined ? "join" : "merge");
	is_u64(run.chains.nr - 1, joined ? all : s.distinct, "each chain is there once");
	ok(maps_are_right(&s, parts, &run), "and found by its old number");
	for (u32 i = 0; i < SHARDS; i++) {
		free(map_frame[i]);
		free(parts[i].map_chain);
		chain_table_done(&s.chains[i]);
		if (i)
			frame_table_done(&s.frames[i]);
	}
	free(s.there);
	run_tables_done(&run);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(workers); i++) {
		test_chains(workers[i], 2 * CHAINS, false);
		test_chains(workers[i], 2 * CHAINS, true);
		test_chains(workers[i], 64 * CHAINS, true);
	}
	return done_testing();
}
