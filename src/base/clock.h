/* Time as nanoseconds, and as text. */
#pragma once

#include "base/strbuf.h"

#include <time.h>

#define NS_PER_SEC 1000000000ull

u64 clock_ns(clockid_t id);
static inline u64 clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* "12.000345678": seconds with `digits` (0 to 9) places; cut, not rounded, so that equal stamps stay equal. */
void clock_add_sec(struct strbuf *to, u64 ns, unsigned digits);
/* A duration for people, three figures and a unit: "15 ns", "1.23 us", "45.6 ms", "789 s". */
void clock_add_human(struct strbuf *to, u64 ns);
/* "1.5s", "200ms", "3" (seconds by default) to nanoseconds: 0, -EINVAL or -ERANGE. */
int clock_parse(const char *s, u64 *ret_ns) must_check;

/* A clock of the kernel under the names of its interfaces. */
struct clock_kind {
	clockid_t id; /* CLOCK_NONE: one that programs cannot read */
	const char *name; /* clock_gettime's and perf's, in small letters: "monotonic_raw"; NULL: perf's own */
	const char *alias; /* "raw"; NULL: none */
	const char *traced; /* tracefs': "mono_raw"; NULL: it has none */
};

enum { CLOCK_NONE = -1 };

/* By name or alias, also with CLOCK_ before it, in any case; NULL: none. */
const struct clock_kind *clock_by_name(const char *name);
const struct clock_kind *clock_by_traced(const char *name);
const struct clock_kind *clock_by_id(clockid_t id);
/* Whether the numbers of this clock of tracefs are nanoseconds; those of others (counter, x86-tsc) mean something else. */
bool clock_traced_is_ns(const char *name);
