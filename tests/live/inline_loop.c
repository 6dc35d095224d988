/* main calls outer, which holds middle, which calls leaf, which holds twice, which holds mix. Lines are counted by the tests. */
#include <stdio.h>
#include <stdlib.h>
static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}
static inline __attribute__((always_inline)) unsigned twice(unsigned x)
{
	return mix(mix(x) + 1);
}
static __attribute__((noinline)) unsigned leaf(unsigned n)
{
	unsigned s = 1;
	for (unsigned i = 0; i < n; i++)
		s += twice(s + i);
	if (s == 4242)
		puts("a call, so that there is a frame");
	return s;
}
static inline __attribute__((always_inline)) unsigned middle(unsigned n)
{
	unsigned s = leaf(n);
	return s + 1;
}
__attribute__((noinline)) unsigned outer(unsigned n)
{
	unsigned s = middle(n);
	return s * 3;
}
int main(int argc, char **argv)
{
	unsigned s = 0;
	for (int i = 0; i < 200; i++)
		s += outer(argc > 1 ? (unsigned)atoi(argv[1]) : 200000);
	printf("%u\n", s);
	return 0;
}
