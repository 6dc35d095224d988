/* Numbers to text and back, by hand: printf is 20 times slower in the loops that matter. */
#pragma once

#include "base/types.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { NUM_DIGITS_MAX = 24 };

/*
 * Each writes without a terminator and returns the number of bytes. `to` has room for NUM_DIGITS_MAX: what lies after the
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
/*
 * The next of a list of process or thread IDs, separated by commas, blanks or newlines as pgrep prints them. 1, and *at is after it; 0: the
 * list has ended; -EINVAL, and *len characters from *at are no such ID.
 */
int num_next_id(const char **at, size_t *len, s32 *ret) must_check;
/* "64K", "2M", "1G" (powers of 1024; lower case too; optional trailing B). */
int num_parse_size(const char *s, u64 *ret) must_check;

/* Eight characters, the first in the lowest byte of v; writes all of them. */
static inline void num_put_chars(char *to, u64 v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	memcpy(to, &v, sizeof(v));
}

/* The eight digits of v < 10^8 as characters, the first in the lowest byte: halves, pairs, digits, all lanes at once. */
static inline u64 num_dec_digits(u32 v)
{
	u64 x = v / 10000;
	x |= (u64)(v - (u32)x * 10000) << 32;
	u64 hundreds = x * 10486 >> 20 & 0x0000007f0000007full;
	x = hundreds | (x - 100 * hundreds) << 16;
	u64 tens = x * 103 >> 10 & 0x000f000f000f000full;
	x = tens | (x - 10 * tens) << 8;
	return x + 0x3030303030303030ull;
}

/* The last `len` of them. */
static inline void num_put_dec(char *to, u32 v, unsigned len)
{
	num_put_chars(to, num_dec_digits(v) >> (8 * (8 - len)));
}

/* How many decimal digits v has. */
static inline unsigned num_nr_digits(u64 v)
{
	static const u64 powers[20] = {
		0,
		10,
		100,
		1000,
		10000,
		100000,
		1000000,
		10000000,
		100000000,
		1000000000,
		10000000000,
		100000000000,
		1000000000000,
		10000000000000,
		100000000000000,
		1000000000000000,
		10000000000000000,
		100000000000000000,
		1000000000000000000,
		10000000000000000000u,
	};
	unsigned guess =
		(64 - (unsigned)__builtin_clzll(v | 1)) * 1233 >> 12; /* log10(2) = 1233 / 4096 */
	return guess + (v >= powers[guess]);
}

/* Numbers below a thousand: their digits, and how many there are. */
enum { NUM_SMALL = 1000 };
extern const char num_small[NUM_SMALL][4];

/* num_u64(), in line: small numbers are looked up; for the others the way through it hardly depends on how many
 * digits there are. */
static inline unsigned num_dec(char *to, u64 v)
{
	const u32 unit = 100000000;
	if (v < NUM_SMALL) {
		memcpy(to, num_small[v], sizeof(num_small[v]));
		return (unsigned)num_small[v][3];
	}
	unsigned len = num_nr_digits(v);
	if (likely(v < unit)) {
		num_put_dec(to, (u32)v, len);
		return len;
	}
	u64 high = v / unit;
	u32 top = (u32)(high / unit);
	if (top)
		num_put_dec(to, top, len - 16);
	num_put_dec(top ? to + len - 16 : to, (u32)(high - (u64)top * unit), top ? 8 : len - 8);
	num_put_dec(to + len - 8, (u32)(v - high * unit), 8);
	return len;
}

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

/* Sixteen bytes are written, whatever the number: no branch to be guessed wrong. */
static inline unsigned num_hex(char *to, u64 v)
{
	unsigned len = (64 - (unsigned)__builtin_clzll(v | 1) + 3) / 4;
	v <<= 64 - 4 * len; /* the first digit on top */
#ifdef __SSE2__
	const __m128i low = _mm_set1_epi8(0xf);
	__m128i x = _mm_cvtsi64_si128((s64)__builtin_bswap64(v));
	x = _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi16(x, 4), low), _mm_and_si128(x, low));
	__m128i letters =
		_mm_and_si128(_mm_cmpgt_epi8(x, _mm_set1_epi8(9)), _mm_set1_epi8('a' - '0' - 10));
	x = _mm_add_epi8(x, _mm_add_epi8(letters, _mm_set1_epi8('0')));
	_mm_storeu_si128((__m128i *)(void *)to, x);
#else
	num_put_chars(to, __builtin_bswap64(num_hex_digits((u32)(v >> 32))));
	num_put_chars(to + 8, __builtin_bswap64(num_hex_digits((u32)v)));
#endif
	return len;
}
