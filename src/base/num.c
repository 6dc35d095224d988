#include "base/num.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

unsigned num_u64(char *to, u64 v)
{
	return num_dec(to, v);
}

unsigned num_s64(char *to, s64 v)
{
	if (v >= 0)
		return num_u64(to, (u64)v);
	*to = '-';
	return 1 + num_u64(to + 1, 0 - (u64)v);
}

unsigned num_u64_pad0(char *to, u64 v, unsigned width)
{
	char tmp[NUM_DIGITS_MAX];
	unsigned len = num_u64(tmp, v);
	unsigned zeros = len < width ? width - len : 0;
	memset(to, '0', zeros);
	memcpy(to + zeros, tmp, len);
	return zeros + len;
}

int num_parse_u64(const char *s, int base, u64 *ret)
{
	if (!isxdigit((unsigned char)*s))
		return -EINVAL;
	char *end;
	errno = 0;
	unsigned long long v = strtoull(s, &end, base);
	if (errno == ERANGE)
		return -ERANGE;
	if (end == s || *end)
		return -EINVAL;
	*ret = v;
	return 0;
}

int num_parse_s64(const char *s, int base, s64 *ret)
{
	const char *digits = *s == '-' || *s == '+' ? s + 1 : s;
	if (!isxdigit((unsigned char)*digits))
		return -EINVAL;
	char *end;
	errno = 0;
	long long v = strtoll(s, &end, base);
	if (errno == ERANGE)
		return -ERANGE;
	if (end == s || *end)
		return -EINVAL;
	*ret = v;
	return 0;
}

int num_parse_size(const char *s, u64 *ret)
{
	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	char *end;
	errno = 0;
	u64 v = strtoull(s, &end, 10);
	if (errno == ERANGE)
		return -ERANGE;
	unsigned shift = 0;
	if (*end && *end != 'B' && *end != 'b') {
		static const char units[] = "kmgt";
		const char *unit = strchr(units, tolower((unsigned char)*end));
		if (!unit)
			return -EINVAL;
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
	}
	if (*end == 'B' || *end == 'b')
		end++;
	if (*end)
		return -EINVAL;
	if (shift && v >> (64 - shift))
		return -ERANGE;
	*ret = v << shift;
	return 0;
}
