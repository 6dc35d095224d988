/* Chains with inlined functions put in: many of them, so that tables come from the kernel and not from malloc. */
#include "tap.h"
#include "model/names.h"

enum { CHAINS = 200000 };

int main(void)
{
	struct frame_table frames;
	struct chain_table chains;
	struct frame f = { .image = 1 };
	bool good = !frame_table_init(&frames) && !chain_table_init(&chains);
	u32 ids[4] = { 0 };
	for (u32 i = 1; i < 4 && good; i++) {
		f.offset = i;
		s64 id = frame_table_add(&frames, f);
		good = id > 0;
		ids[i] = (u32)id;
	}
	for (u32 i = 0; i < CHAINS && good; i++)
		good = chain_table_put(&chains, 1000 + i, (u32[]){ ids[1], ids[2], ids[3] }, 3) ==
		       i + 1;
	ok(good, "frames and chains");
	/* The second frame stands for two functions, 10 and 11, where it has called. */
	struct name_stack stacks[5] = { 0 }, callers[5] = { 0 };
	callers[ids[2]] = (struct name_stack){ 10, 2 };
	callers[ids[3]] = (struct name_stack){ 20, 3 };
	struct names_result n = { .nr_frames = frames.nr, .stacks = stacks, .callers = callers };
	is_u64((u64)names_expand(&n, &frames, &chains), 0, "expands");
	u32 nr, wrong = 0;
	for (u32 i = 1; i <= CHAINS; i++) {
		const u32 *c = chain_frames(&chains, i, &nr);
		wrong += nr != 4 || c[0] != ids[1] || c[1] != 10 || c[2] != 11 || c[3] != ids[3];
		wrong += chains.chains[i].key != 1000 + i - 1;
	}
	is_u64(wrong, 0,
	       "every chain has the inlined function, the last frame has not called anybody");
	/* What grows later grows from there. */
	ok(chain_table_put(&chains, 7, (u32[]){ ids[1] }, 1) > 0, "one more chain");
	chain_table_done(&chains);
	frame_table_done(&frames);
	return done_testing();
}
