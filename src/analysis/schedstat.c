#include "analysis/schedstat.h"

#include "base/dict.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

enum { OLDEST = 15, NEWEST = 17, CPU_MAX = 1 << 16, WORD_MAX = 4096 };

struct schedstat_line {
	const char *at, *end; /* of the line */
	unsigned nr_line;
};

/* The next word of the line, or false. */
static bool next_word(struct schedstat_line *r, const char **word, size_t *len)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
		r->at++;
	*word = r->at;
	while (r->at < r->end && *r->at != ' ' && *r->at != '\t')
		r->at++;
	*len = (size_t)(r->at - *word);
	return *len != 0;
}

static bool to_number(const char *word, size_t len, u64 *ret)
{
	*ret = 0;
	for (size_t i = 0; i < len; i++) {
		if (word[i] < '0' || word[i] > '9' || *ret > (UINT64_MAX - 9) / 10)
			return false;
		*ret = *ret * 10 + (u64)(word[i] - '0');
	}
	return len != 0;
}

static bool next_number(struct schedstat_line *r, u64 *ret)
{
	const char *word;
	size_t len;
	return next_word(r, &word, &len) && to_number(word, len, ret);
}

/* "cpu12": what follows the word before. */
static bool number_after(const char *word, size_t len, const char *before, u64 *ret)
{
	size_t skip = strlen(before);
	return len > skip && !memcmp(word, before, skip) && to_number(word + skip, len - skip, ret);
}

/* Each CPU has one line, in the order of their numbers; so have the domains of each. */
static int read_cpu(struct schedstat *s, struct schedstat_line *r, u64 cpu)
{
	bool is_next = !s->cpus.nr || (s64)cpu > s->cpus.at[s->cpus.nr - 1].cpu;
	struct schedstat_cpu *c = cpu < CPU_MAX && is_next ? vec_push(&s->cpus) : NULL;
	if (!c)
		return cpu < CPU_MAX && is_next ? -ENOMEM : -EINVAL;
	c->cpu = (s32)cpu;
	for (u32 i = 0; i < SCHEDSTAT_CPU_FIELDS; i++)
		if (!next_number(r, &c->v[i]))
			return -EINVAL;
	return 0;
}

static int read_domain(struct schedstat *s, struct schedstat_line *r, u64 number)
{
	const char *word;
	size_t len;
	u32 nr;
	if (!s->cpus.nr || number > UINT32_MAX)
		return -EINVAL;
	const struct schedstat_domain *before =
		s->domains.nr ? &s->domains.at[s->domains.nr - 1] : NULL;
	s32 cpu = s->cpus.at[s->cpus.nr - 1].cpu;
	if (before && before->cpu == cpu && before->number >= number)
		return -EINVAL;
	struct schedstat_domain *d = vec_push(&s->domains);
	if (!d)
		return -ENOMEM;
	d->cpu = cpu;
	d->number = (u32)number;
	if (s->version >= 17) {
		if (!next_word(r, &word, &len) || len > WORD_MAX)
			return -EINVAL;
		d->name = arena_strndup(&s->arena, word, len);
	}
	if (!next_word(r, &word, &len) || len > WORD_MAX)
		return -EINVAL;
	d->cpus = arena_strndup(&s->arena, word, len);
	if (!d->cpus || (s->version >= 17 && !d->name))
		return -ENOMEM;
	(void)schedstat_balance_fields(s->version, &nr);
	for (u32 i = 0; i < nr * SCHEDSTAT_KINDS + SCHEDSTAT_REST; i++)
		if (!next_number(r, &d->v[i]))
			return -EINVAL;
	return 0;
}

static int read_line(struct schedstat *s, struct schedstat_line *r, struct diag *d)
{
	const char *word;
	size_t len;
	u64 n;
	if (!next_word(r, &word, &len))
		return 0;
	if (!s->version) {
		if (len != strlen("version") || memcmp(word, "version", len) || !next_number(r, &n))
			return diag_error(d, -EINVAL,
					  "not a copy of /proc/schedstat: no version at "
					  "its beginning");
		if (n < OLDEST || n > NEWEST)
			return diag_error(d, -ENOTSUP,
					  "version %llu of /proc/schedstat: only %d "
					  "to %d are supported",
					  (unsigned long long)n, OLDEST, NEWEST);
		s->version = (u32)n;
		return 0;
	}
	int err = 0;
	if (len == strlen("timestamp") && !memcmp(word, "timestamp", len))
		err = next_number(r, &s->jiffies) ? 0 : -EINVAL;
	else if (number_after(word, len, "cpu", &n))
		err = read_cpu(s, r, n);
	else if (number_after(word, len, "domain", &n))
		err = read_domain(s, r, n);
	return err == -EINVAL
		       ? diag_error(d, err, "/proc/schedstat: line %u cannot be read", r->nr_line)
		       : err;
}

int schedstat_parse(struct schedstat *s, const char *text, size_t len, size_t *used, struct diag *d)
{
	const char *at = text, *end = text + len;
	struct schedstat_line r = { 0 };
	int err = 0;
	*s = (struct schedstat){ 0 };
	arena_init(&s->arena);
	while (at < end && !err) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		r.at = at;
		r.end = eol ? eol : end;
		if (s->version && (size_t)(r.end - at) > strlen("version") &&
		    !memcmp(at, "version", strlen("version")))
			break;
		r.nr_line++;
		at = eol ? eol + 1 : end;
		err = read_line(s, &r, d);
	}
	if (!err && !s->cpus.nr)
		err = diag_error(d, -EINVAL, "not a copy of /proc/schedstat: it has no CPUs");
	*used = (size_t)(at - text);
	return err;
}

void schedstat_done(struct schedstat *s)
{
	vec_free(&s->cpus);
	vec_free(&s->domains);
	arena_done(&s->arena);
	*s = (struct schedstat){ 0 };
}

/* ---- difference -------------------------------------------------------------------------------------------------- */

static u64 less(u64 after, u64 before)
{
	return after > before ? after - before : 0;
}

static int copy_domain(struct schedstat *s, const struct schedstat_domain *from,
		       struct schedstat_domain **ret)
{
	struct schedstat_domain *d = vec_push(&s->domains);
	if (!d)
		return -ENOMEM;
	*d = *from;
	if (from->name)
		d->name = arena_strdup(&s->arena, from->name);
	d->cpus = arena_strdup(&s->arena, from->cpus);
	*ret = d;
	return d->cpus && (d->name || !from->name) ? 0 : -ENOMEM;
}

int schedstat_between(struct schedstat *s, const struct schedstat *before,
		      const struct schedstat *after, struct diag *d)
{
	*s = (struct schedstat){ .version = after->version,
				 .jiffies = less(after->jiffies, before->jiffies) };
	arena_init(&s->arena);
	if (before->version != after->version)
		return diag_error(d, -EINVAL, "copies of different versions: %u and %u",
				  before->version, after->version);
	for (size_t i = 0; i < after->cpus.nr; i++) {
		const struct schedstat_cpu *now = &after->cpus.at[i];
		const struct schedstat_cpu *old = schedstat_cpu_of(before, now->cpu);
		struct schedstat_cpu *c = old ? vec_push(&s->cpus) : NULL;
		if (old && !c)
			return -ENOMEM;
		for (u32 f = 0; old && f < SCHEDSTAT_CPU_FIELDS; f++)
			c->v[f] = less(now->v[f], old->v[f]);
		if (old)
			c->cpu = now->cpu;
	}
	for (size_t i = 0; i < after->domains.nr; i++) {
		const struct schedstat_domain *now = &after->domains.at[i];
		const struct schedstat_domain *old =
			schedstat_domain_of(before, now->cpu, now->number);
		struct schedstat_domain *to;
		if (!old)
			continue;
		int err = copy_domain(s, now, &to);
		if (err)
			return err;
		for (u32 f = 0; f < SCHEDSTAT_DOMAIN_FIELDS; f++)
			to->v[f] = less(now->v[f], old->v[f]);
	}
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct schedstat_domain *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

/* Of each number, those of all CPUs: they are said to be of CPU -1. */
static int sum_domains(struct schedstat *s, const struct schedstat *all)
{
	struct dict of;
	int err = 0;
	dict_init(&of);
	for (size_t i = 0; i < all->domains.nr && !err; i++) {
		const struct schedstat_domain *d = &all->domains.at[i];
		u32 fresh = (u32)s->domains.nr, at;
		struct schedstat_domain *to;
		err = dict_add(&of, d->number, fresh, &at) ? -ENOMEM : 0;
		if (!err && at == fresh) {
			err = copy_domain(s, d, &to);
			if (!err)
				to->cpu = -1;
			continue;
		}
		for (u32 f = 0; f < SCHEDSTAT_DOMAIN_FIELDS && !err; f++)
			s->domains.at[at].v[f] += d->v[f];
	}
	dict_done(&of);
	if (!err && s->domains.nr)
		qsort(s->domains.at, s->domains.nr, sizeof(*s->domains.at), by_number);
	return err;
}

int schedstat_mean(struct schedstat *s, const struct schedstat *all)
{
	*s = (struct schedstat){ .version = all->version, .jiffies = all->jiffies };
	arena_init(&s->arena);
	struct schedstat_cpu *sum = vec_push(&s->cpus);
	u64 nr = max(all->cpus.nr, (size_t)1);
	if (!sum)
		return -ENOMEM;
	sum->cpu = -1;
	vec_for_each (&all->cpus, c)
		for (u32 f = 0; f < SCHEDSTAT_CPU_FIELDS; f++)
			sum->v[f] += c->v[f];
	for (u32 f = 0; f < SCHEDSTAT_CPU_FIELDS; f++)
		sum->v[f] /= nr;
	int err = sum_domains(s, all);
	vec_for_each (&s->domains, d)
		for (u32 f = 0; f < SCHEDSTAT_DOMAIN_FIELDS; f++)
			d->v[f] /= nr;
	return err;
}
