/* A set of CPU numbers as the kernel writes it: "0-3,8". Kept as a sorted array without repeats. */
#pragma once

#include "base/strbuf.h"
#include "base/vec.h"

enum { CPUSET_CPU_MAX = 65535 };

struct cpuset {
	VEC(u32) cpus;
};

/* Adds what the list names (blanks and a trailing newline are allowed). -EINVAL, -ERANGE or -ENOMEM: the set may have grown. */
int cpuset_parse(struct cpuset *s, const char *list) must_check;
int cpuset_add(struct cpuset *s, u32 cpu) must_check;
bool cpuset_has(const struct cpuset *s, u32 cpu);
/* "0-3,8" */
void cpuset_format(const struct cpuset *s, struct strbuf *to);
void cpuset_done(struct cpuset *s);
