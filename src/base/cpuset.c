#include "base/cpuset.h"

#include <errno.h>

static size_t lower_bound(const struct cpuset *s, u32 cpu)
{
	size_t lo = 0, hi = s->cpus.nr;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (s->cpus.at[mid] < cpu)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool cpuset_has(const struct cpuset *s, u32 cpu)
{
	size_t i = lower_bound(s, cpu);
	return i < s->cpus.nr && s->cpus.at[i] == cpu;
}

int cpuset_add(struct cpuset *s, u32 cpu)
{
	size_t i = lower_bound(s, cpu);
	if (i < s->cpus.nr && s->cpus.at[i] == cpu)
		return 0;
	if (!vec_push(&s->cpus))
		return -ENOMEM;
	memmove(s->cpus.at + i + 1, s->cpus.at + i, (s->cpus.nr - 1 - i) * sizeof(u32));
	s->cpus.at[i] = cpu;
	return 0;
}

static const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t' || *p == '\n')
		p++;
	return p;
}

/* A decimal number of at most CPUSET_CPU_MAX at *pp. */
static int parse_cpu(const char **pp, u32 *ret)
{
	const char *p = *pp;
	u32 v = 0;
	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (u32)(*p - '0');
		if (v > CPUSET_CPU_MAX)
			return -ERANGE;
	}
	*pp = p;
	*ret = v;
	return 0;
}

int cpuset_parse(struct cpuset *s, const char *list)
{
	const char *p = skip_blanks(list);
	while (*p) {
		u32 from, to;
		int err = parse_cpu(&p, &from);
		if (err)
			return err;
		to = from;
		if (*p == '-') {
			p++;
			err = parse_cpu(&p, &to);
			if (err)
				return err;
			if (to < from)
				return -EINVAL;
		}
		for (u32 cpu = from; cpu <= to; cpu++) {
			err = cpuset_add(s, cpu);
			if (err)
				return err;
		}
		p = skip_blanks(p);
		if (*p == ',')
			p = skip_blanks(p + 1);
		else if (*p)
			return -EINVAL;
	}
	return 0;
}

void cpuset_format(const struct cpuset *s, struct strbuf *to)
{
	for (size_t i = 0; i < s->cpus.nr;) {
		size_t j = i;
		while (j + 1 < s->cpus.nr && s->cpus.at[j + 1] == s->cpus.at[j] + 1)
			j++;
		if (i)
			strbuf_char(to, ',');
		strbuf_u64(to, s->cpus.at[i]);
		if (j > i) {
			strbuf_char(to, '-');
			strbuf_u64(to, s->cpus.at[j]);
		}
		i = j + 1;
	}
}

void cpuset_done(struct cpuset *s)
{
	vec_free(&s->cpus);
}
