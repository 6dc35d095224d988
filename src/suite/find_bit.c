/* mem find_bit: bits that are set, found by counting zeros in words or by asking bit after bit. */
#include "base/clock.h"
#include "suite/impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BITS_MAX = 2048,
	OUTER_DEFAULT = 5,
	OUTER_MAX = 100000,
	INNER_DEFAULT = 100000,
	INNER_MAX = 1000000000
};

struct bit_map {
	u64 words[BITS_MAX / 64];
	u32 nr_bits;
};

/* Called for each bit, so that both loops do the same with what they find. */
__attribute__((noinline)) static void visit(u32 bit)
{
	__asm__ volatile("" ::"r"(bit) : "memory");
}

__attribute__((noinline)) static void visit_by_word(const struct bit_map *m)
{
	for (u32 at = 0; at < m->nr_bits; at += 64)
		for (u64 word = m->words[at / 64]; word; word &= word - 1)
			visit(at + (u32)__builtin_ctzll(word));
}

__attribute__((noinline)) static void visit_by_bit(const struct bit_map *m)
{
	for (u32 i = 0; i < m->nr_bits; i++)
		if (m->words[i / 64] >> (i % 64) & 1)
			visit(i);
}

static double time_us(void (*fn)(const struct bit_map *), const struct bit_map *m, u32 inner)
{
	u64 start = clock_monotonic_ns();
	for (u32 i = 0; i < inner; i++)
		fn(m);
	return (double)(clock_monotonic_ns() - start) / 1000;
}

/* of[0 .. outer): by word; then as many by bit. */
static void measure(struct suite_run *r, const struct bit_map *m, u32 nr_set, u32 outer, u32 inner,
		    double *of)
{
	char part[48];
	visit_by_word(m);
	visit_by_bit(m);
	(void)snprintf(part, sizeof(part), "%u of %u bits", nr_set, m->nr_bits);
	for (u32 i = 0; i < outer; i++) {
		of[i] = time_us(visit_by_word, m, inner);
		of[outer + i] = time_us(visit_by_bit, m, inner);
		suite_add(r, part, "for_each_set_bit", "us", of[i]);
		suite_add(r, part, "test_bit", "us", of[outer + i]);
	}
	struct suite_stats word = suite_stats(of, outer), bit = suite_stats(of + outer, outer);
	strbuf_printf(&r->text,
		      "%u operations %u bits set of %u bits\n"
		      "  Average for_each_set_bit took: %.3f usec (+- %.3f usec)\n"
		      "  Average test_bit loop took:    %.3f usec (+- %.3f usec)\n",
		      inner, nr_set, m->nr_bits, word.mean, word.error, bit.mean, bit.error);
}

int suite_find_bit(const struct suite_params *p, struct suite_run *r)
{
	u32 outer, inner;
	int err = suite_limit(r, "number of outer iterations", p->iterations, OUTER_DEFAULT,
			      OUTER_MAX, &outer);
	if (!err)
		err = suite_limit(r, "number of inner iterations", p->inner_iterations,
				  INNER_DEFAULT, INNER_MAX, &inner);
	double *times = err ? NULL : calloc(2 * (size_t)outer, sizeof(*times));
	if (!times)
		return err ? err : -ENOMEM;
	for (u32 nr = 1; nr <= BITS_MAX; nr *= 2)
		for (u32 set = 1; set <= nr; set *= 2) {
			struct bit_map m = { .nr_bits = nr };
			for (u32 i = 0; i < nr; i += nr / set)
				m.words[i / 64] |= 1ull << (i % 64);
			measure(r, &m, set, outer, inner, times);
		}
	free(times);
	return 0;
}
