/* Numbers to text and back, by hand: printf is 20 times slower in the loops that matter. */
#pragma once

#include "base/types.h"

#include <string.h>

enum { NUM_DIGITS_MAX = 24 };

/*
 * Each writes without a terminator and returns the number of bytes. `to` has room for NUM_DIGITS_MAX: what lies behind the
 * text may be overwritten.
 */
unsigned num_u64(char *to, u64 v);
unsigned num_s64(char *to, s64 v);
/* Zero-padded to width (at most 20). */
unsigned num_u64_pad0(char *to, u64 v, unsigned width);

/*
 * Whole-string parsers: 0, -EINVAL (not a number, or something after it) or -ERANGE.
 * base 0 takes 0x and 0 prefixes as strtoul does.
 */
int num_parse_u64(const char *s, int base, u64 *ret) must_check;
int num_parse_s64(const char *s, int base, s64 *ret) must_check;
/* "64K", "2M", "1G" (powers of 1024; lower case too; optional trailing B). */
int num_parse_size(const char *s, u64 *ret) must_check;

/* The eight hex digits of v as characters, the lowest in the lowest byte: all nibbles at once. */
static inline u64 num_hex_digits(u32 v)
{
	u64 x = v;
	x = (x | x << 16) & 0x0000ffff0000ffffull;
	x = (x | x << 8) & 0x00ff00ff00ff00ffull;
	x = (x | x << 4) & 0x0f0f0f0f0f0f0f0full;
	u64 letters = (x + 0x0606060606060606ull) >> 4 & 0x0101010101010101ull;
	return x + 0x3030303030303030ull + letters * ('a' - '0' - 10);
}

/* The last `len` of eight digits, the highest first; writes eight bytes. */
static inline void num_put_hex(char *to, u32 v, unsigned len)
{
	u64 digits = num_hex_digits(v) << (8 * (8 - len));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	digits = __builtin_bswap64(digits);
#endif
	memcpy(to, &digits, 8);
}

static inline unsigned num_hex(char *to, u64 v)
{
	unsigned len = v ? (64 - (unsigned)__builtin_clzll(v) + 3) / 4 : 1;
	if (len <= 8) {
		num_put_hex(to, (u32)v, len);
		return len;
	}
	num_put_hex(to, (u32)(v >> 32), len - 8);
	num_put_hex(to + len - 8, (u32)v, 8);
	return len;
}
