/* Numbers to text and back, by hand: printf is 20 times slower in the loops that matter. */
#pragma once

#include "base/types.h"

enum { NUM_DIGITS_MAX = 24 };

/*
 * Each writes without a terminator and returns the number of bytes. `to` has room for NUM_DIGITS_MAX: what lies behind the
 * text may be overwritten.
 */
unsigned num_u64(char *to, u64 v);
unsigned num_s64(char *to, s64 v);
unsigned num_hex(char *to, u64 v);
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
