/*
 * Sets of CPUs (or of nodes, or of any small numbers) in the kernel's two spellings: lists "0-3,7" with strides "0-10:2/4",
 * and masks "ff" or "00000001,80000000".
 */
#pragma once

#include "base/diag.h"
#include "base/strbuf.h"

enum { CPUSET_MAX = 4096 };

struct cpuset {
	u64 bits[CPUSET_MAX / 64];
};

static inline bool cpuset_has(const struct cpuset *s, unsigned cpu)
{
	return cpu < CPUSET_MAX && (s->bits[cpu / 64] >> (cpu % 64) & 1);
}
static inline void cpuset_add(struct cpuset *s, unsigned cpu)
{
	if (cpu < CPUSET_MAX)
		s->bits[cpu / 64] |= 1ull << (cpu % 64);
}
void cpuset_zero(struct cpuset *s);
unsigned cpuset_count(const struct cpuset *s);
/* The smallest member that is at least `from`, or -1. for (int c = cpuset_next(s, 0); c >= 0; c = cpuset_next(s, c + 1)) */
int cpuset_next(const struct cpuset *s, unsigned from);
/* Keeps only what is in both. */
void cpuset_and(struct cpuset *s, const struct cpuset *other);

/*
 * A list; white space at the end is allowed, as sysfs has it. 0, or -EINVAL and -ERANGE with a diag that points to the place.
 * An empty text is the empty set. *ret is written on success only.
 */
int cpuset_parse_list(const char *text, struct cpuset *ret, struct diag *d) must_check;
/* A hexadecimal mask, with or without 0x, commas between words of 32 bits. */
int cpuset_parse_mask(const char *text, struct cpuset *ret, struct diag *d) must_check;

void cpuset_add_list(const struct cpuset *s, struct strbuf *to);
/* Groups of eight digits after commas when it needs more than one, as the kernel prints them. */
void cpuset_add_mask(const struct cpuset *s, struct strbuf *to);
