/* Stacks of inlined functions in call chains. */
#include "model/names.h"
#include "tap.h"

static s64 frame(struct frame_table *t, u64 offset, u32 mode)
{
	return frame_table_add(t, (struct frame){ .offset = offset, .image = 1, .mode = mode });
}

int main(void)
{
	struct frame_table frames;
	struct chain_table chains;
	if (frame_table_init(&frames) || chain_table_init(&chains))
		return 1;
	/* 1 main, 2 read (called, with one function inlined), 3 the kernel, 4 a leaf with two inlined */
	for (u64 i = 1; i <= 4; i++)
		(void)!frame(&frames, 16 * i, i == 3 ? FRAME_KERNEL : FRAME_USER);
	u32 to_kernel[] = { 1, 2, 3 }, to_leaf[] = { 1, 2, 4 };
	s64 a = chain_table_put(&chains, 11, to_kernel, 3),
	    b = chain_table_put(&chains, 12, to_leaf, 3);

	struct names_result none = { .nr_frames = frames.nr, .nr_ids = frames.nr };
	ok(!names_expand(&none, &frames, &chains), "without stacks");
	u32 nr;
	const u32 *c = chain_frames(&chains, (u32)a, &nr);
	ok(nr == 3 && c[1] == 2, "nothing changes");

	/* As a place that was entered from: 5 6. As one that called: 7 8 9. The leaf: 10 11 12; main as a caller: 13. */
	struct name_stack stacks[5] = { [2] = { 5, 2 }, [4] = { 10, 3 } };
	struct name_stack callers[5] = { [1] = { 13, 1 }, [2] = { 7, 3 }, [4] = { 10, 3 } };
	struct names_result n = {
		.nr_frames = frames.nr, .nr_ids = 14, .stacks = stacks, .callers = callers
	};
	ok(!names_expand(&n, &frames, &chains), "with stacks");
	c = chain_frames(&chains, (u32)a, &nr);
	u32 want_a[] = { 13, 5, 6, 3 };
	ok(nr == 4 && !memcmp(c, want_a, sizeof(want_a)),
	   "the kernel was entered from it: what ran there");
	c = chain_frames(&chains, (u32)b, &nr);
	u32 want_b[] = { 13, 7, 8, 9, 10, 11, 12 };
	ok(nr == 7 && !memcmp(c, want_b, sizeof(want_b)), "it called another: what holds the call");
	is_u64(chain_table_find(&chains, 12), (u64)b, "chains keep their ids and keys");
	is_u64(names_stack(&n, 3, false).first, 3, "a frame without a stack stands for itself");
	chain_table_done(&chains);
	frame_table_done(&frames);
	return done_testing();
}
