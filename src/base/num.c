#include "base/num.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define SMALL(n)                                                                                   \
	{                                                                                          \
		(char)('0' + ((n) >= 100  ? (n) / 100                                              \
			      : (n) >= 10 ? (n) / 10                                               \
					  : (n))),                                                 \
			(char)('0' + ((n) >= 100 ? (n) / 10 % 10 : (n) % 10)),                     \
			(char)('0' + (n) % 10),                                                    \
			(n) >= 100  ? 3                                                            \
			: (n) >= 10 ? 2                                                            \
				    : 1                                                            \
	}
#define TEN(n)                                                                                     \
	SMALL(n), SMALL((n) + 1), SMALL((n) + 2), SMALL((n) + 3), SMALL((n) + 4), SMALL((n) + 5),  \
		SMALL((n) + 6), SMALL((n) + 7), SMALL((n) + 8), SMALL((n) + 9)
#define HUNDRED(n)                                                                                 \
	TEN(n), TEN((n) + 10), TEN((n) + 20), TEN((n) + 30), TEN((n) + 40), TEN((n) + 50),         \
		TEN((n) + 60), TEN((n) + 70), TEN((n) + 80), TEN((n) + 90)

const char num_small[NUM_SMALL][4] = { HUNDRED(0),   HUNDRED(100), HUNDRED(200), HUNDRED(300),
				       HUNDRED(400), HUNDRED(500), HUNDRED(600), HUNDRED(700),
				       HUNDRED(800), HUNDRED(900) };

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

int num_next_id(const char **at, size_t *len, s32 *ret)
{
	static const char between[] = ", \t\n";
	const char *p = *at + strspn(*at, between + 1);
	char word[16] = "";
	u64 id;
	*at = p;
	*len = strcspn(p, between);
	if (!*p)
		return 0;
	if (*len < sizeof(word))
		memcpy(word, p, *len);
	if (num_parse_u64(word, 10, &id) || !id || id > INT32_MAX)
		return -EINVAL;
	*ret = (s32)id;
	p += *len;
	p += strspn(p, between + 1);
	*at = p + (*p == ',');
	return 1;
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
