#include "base/cpuset.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

void cpuset_zero(struct cpuset *s)
{
	memset(s, 0, sizeof(*s));
}

unsigned cpuset_count(const struct cpuset *s)
{
	unsigned nr = 0;
	for (size_t i = 0; i < ARRAY_SIZE(s->bits); i++)
		nr += (unsigned)__builtin_popcountll(s->bits[i]);
	return nr;
}

int cpuset_next(const struct cpuset *s, unsigned from)
{
	for (unsigned word = from / 64; word < ARRAY_SIZE(s->bits); word++) {
		u64 bits = s->bits[word];
		if (word == from / 64)
			bits &= ~0ull << (from % 64);
		if (bits)
			return (int)(word * 64 + (unsigned)__builtin_ctzll(bits));
	}
	return -1;
}

void cpuset_and(struct cpuset *s, const struct cpuset *other)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->bits); i++)
		s->bits[i] &= other->bits[i];
}

struct list_parser {
	const char *text;
	const char *at;
	struct diag *d;
};

static int list_error(const struct list_parser *p, const char *from, int err, const char *why)
{
	size_t len = (size_t)(p->at - from);
	diag_error(p->d, err, "invalid CPU list '%s': %s", p->text, why);
	diag_span(p->d, p->text, (size_t)(from - p->text), max(len, (size_t)1));
	return err;
}

static int list_number(struct list_parser *p, unsigned *ret)
{
	const char *from = p->at;
	unsigned v = 0;
	if (!isdigit((unsigned char)*p->at))
		return list_error(p, from, -EINVAL, "expected a number");
	for (; isdigit((unsigned char)*p->at); p->at++)
		v = min(v * 10 + (unsigned)(*p->at - '0'), (unsigned)CPUSET_MAX);
	if (v >= CPUSET_MAX)
		return list_error(p, from, -ERANGE, "CPU numbers go up to 4095");
	*ret = v;
	return 0;
}

/* "A", "A-B" or "A-B:USED/STRIDE" */
static int list_range(struct list_parser *p, struct cpuset *set)
{
	const char *from = p->at;
	unsigned first = 0, last, used = 1, stride = 1;
	int err = list_number(p, &first);
	last = first;
	if (!err && *p->at == '-') {
		p->at++;
		err = list_number(p, &last);
		if (!err && *p->at == ':') {
			p->at++;
			err = list_number(p, &used);
			if (!err && *p->at != '/')
				err = list_error(p, p->at, -EINVAL, "expected '/'");
			p->at += !err;
			err = err ? err : list_number(p, &stride);
		}
	}
	if (err)
		return err;
	if (last < first || !stride || !used || used > stride)
		return list_error(p, from, -EINVAL, "empty range");
	for (unsigned cpu = first; cpu <= last; cpu++)
		if ((cpu - first) % stride < used)
			cpuset_add(set, cpu);
	return 0;
}

int cpuset_parse_list(const char *text, struct cpuset *ret, struct diag *d)
{
	struct list_parser p = { text, text, d };
	struct cpuset set;
	cpuset_zero(&set);
	while (*p.at && !isspace((unsigned char)*p.at)) {
		int err = list_range(&p, &set);
		if (err)
			return err;
		if (*p.at != ',')
			break;
		p.at++;
		if (!*p.at)
			return list_error(&p, p.at, -EINVAL, "unexpected end");
	}
	if (p.at[strspn(p.at, " \t\n")])
		return list_error(&p, p.at, -EINVAL, "unexpected character");
	*ret = set;
	return 0;
}

static int mask_error(const char *text, const char *at, int err, const char *why, struct diag *d)
{
	diag_error(d, err, "invalid CPU mask '%s': %s", text, why);
	diag_span(d, text, (size_t)(at - text), 1);
	return err;
}

/* From the right, four bits a digit; a comma starts the next 32. */
int cpuset_parse_mask(const char *text, struct cpuset *ret, struct diag *d)
{
	struct cpuset set;
	cpuset_zero(&set);
	const char *start = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? text + 2 : text;
	const char *end = start + strcspn(start, " \t\n");
	if (end == start || end[strspn(end, " \t\n")])
		return mask_error(text, end, -EINVAL, "expected a hexadecimal number", d);
	unsigned bit = 0;
	for (const char *p = end; p-- > start;) {
		if (*p == ',') {
			bit = (bit + 31) / 32 * 32;
			continue;
		}
		if (!isxdigit((unsigned char)*p))
			return mask_error(text, p, -EINVAL, "not a hexadecimal digit", d);
		unsigned digit = isdigit((unsigned char)*p)
					 ? (unsigned)(*p - '0')
					 : (unsigned)(tolower((unsigned char)*p) - 'a' + 10);
		if (digit && bit + 3 >= CPUSET_MAX)
			return mask_error(text, p, -ERANGE, "CPU numbers go up to 4095", d);
		if (digit)
			set.bits[bit / 64] |= (u64)digit << (bit % 64);
		bit += 4;
	}
	*ret = set;
	return 0;
}

void cpuset_add_list(const struct cpuset *s, struct strbuf *to)
{
	const char *comma = "";
	for (int first = cpuset_next(s, 0); first >= 0;) {
		int last = first;
		while (cpuset_has(s, (unsigned)last + 1))
			last++;
		strbuf_printf(to, "%s%d", comma, first);
		if (last > first)
			strbuf_printf(to, "-%d", last);
		comma = ",";
		first = cpuset_next(s, (unsigned)last + 1);
	}
}

void cpuset_add_mask(const struct cpuset *s, struct strbuf *to)
{
	bool any = false;
	for (size_t i = ARRAY_SIZE(s->bits) * 2; i-- > 0;) {
		u32 word = (u32)(s->bits[i / 2] >> (i % 2 * 32));
		if (any)
			strbuf_printf(to, ",%08x", word);
		else if (word || !i)
			strbuf_printf(to, "%x", word);
		any = any || word;
	}
}
