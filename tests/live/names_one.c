/* For names.t: functions that the compiler, the linker and the loader give several names, with inlined ones inside. */
#include <stdint.h>
#include <stdlib.h>

extern uint32_t two_work(uint32_t x);

static inline __attribute__((always_inline)) uint32_t mixer(uint32_t x)
{
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}

static inline __attribute__((always_inline)) uint32_t both(uint32_t x)
{
	return mixer(x) + mixer(x + 7);
}

static uint32_t chosen_one(uint32_t x)
{
	for (int i = 0; i < 50; i++)
		x = both(x);
	return x;
}

static uint32_t (*choose(void))(uint32_t)
{
	return chosen_one;
}

uint32_t chosen(uint32_t x) __attribute__((ifunc("choose")));

__attribute__((noinline)) uint32_t plain_name(uint32_t x)
{
	for (int i = 0; i < 50; i++)
		x = both(x) + (uint32_t)i;
	return x;
}

uint32_t __plain_name_alias(uint32_t x) __attribute__((alias("plain_name")));

__attribute__((noinline)) uint32_t versioned_now(uint32_t x)
{
	for (int i = 0; i < 50; i++)
		x = both(x) * 3;
	return x;
}
__asm__(".symver versioned_now, versioned@@TWO");

/* As two compilers of Rust write a method and a function. */
__attribute__((noinline)) uint32_t
old_rust(uint32_t x) __asm__("_ZN7mycrate5Thing4work17h0123456789abcdefE");
uint32_t old_rust(uint32_t x)
{
	for (int i = 0; i < 50; i++)
		x = both(x) ^ 5;
	return x;
}

__attribute__((noinline)) uint32_t new_rust(uint32_t x) __asm__("_RNvCs1234_7mycrate6helper");
uint32_t new_rust(uint32_t x)
{
	for (int i = 0; i < 50; i++)
		x = both(x) ^ 9;
	return x;
}

volatile uint32_t sink;

int main(int argc, char **argv)
{
	uint32_t x = 1;
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1); i++)
		sink = x = chosen(x) + plain_name(x) + __plain_name_alias(x) + versioned_now(x) +
			   old_rust(x) + new_rust(x) + two_work(x);
	return 0;
}
