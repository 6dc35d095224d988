#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

u64 clock_ns(clockid_t id)
{
	struct timespec ts = { 0 };
	(void)clock_gettime(id, &ts);
	return (u64)ts.tv_sec * NS_PER_SEC + (u64)ts.tv_nsec;
}

void clock_add_sec(struct strbuf *to, u64 ns, unsigned digits)
{
	strbuf_u64(to, ns / NS_PER_SEC);
	if (!digits)
		return;
	strbuf_char(to, '.');
	char nine[NUM_DIGITS_MAX];
	(void)num_u64_pad0(nine, ns % NS_PER_SEC, 9);
	strbuf_add(to, nine, min(digits, 9u));
}

void clock_add_human(struct strbuf *to, u64 ns)
{
	static const struct {
		u64 scale;
		const char *unit;
	} units[] = { { NS_PER_SEC, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" } };
	size_t i = 0;
	while (i < ARRAY_SIZE(units) - 1 && ns < units[i].scale)
		i++;
	double v = (double)ns / (double)units[i].scale;
	int places = units[i].scale == 1 || v >= 100 ? 0 : v >= 10 ? 1 : 2;
	strbuf_printf(to, "%.*f %s", places, v, units[i].unit);
}

static int clock_unit(const char *s, u64 *ret)
{
	static const struct {
		const char *word;
		u64 ns;
	} units[] = {
		{ "", NS_PER_SEC },
		{ "s", NS_PER_SEC },
		{ "ms", 1000000 },
		{ "us", 1000 },
		{ "ns", 1 },
		{ "m", 60 * NS_PER_SEC },
		{ "min", 60 * NS_PER_SEC },
		{ "h", 3600 * NS_PER_SEC },
	};
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!strcmp(s, units[i].word)) {
			*ret = units[i].ns;
			return 0;
		}
	}
	return -EINVAL;
}

int clock_parse(const char *s, u64 *ret_ns)
{
	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	char *end;
	errno = 0;
	u64 whole = strtoull(s, &end, 10), part = 0, scale = 1, unit, ns;
	if (errno == ERANGE)
		return -ERANGE;
	if (*end == '.')
		for (end++; isdigit((unsigned char)*end); end++)
			if (scale < NS_PER_SEC) {
				part = part * 10 + (u64)(*end - '0');
				scale *= 10;
			}
	if (clock_unit(end, &unit))
		return -EINVAL;
	if (__builtin_mul_overflow(whole, unit, &ns) ||
	    __builtin_add_overflow(ns, (u64)((double)part * (double)unit / (double)scale + 0.5), &ns))
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}

/* ---- names ---- */

static const struct clock_kind kinds[] = {
	{ CLOCK_MONOTONIC, "monotonic", "mono", "mono" },
	{ CLOCK_MONOTONIC_RAW, "monotonic_raw", "raw", "mono_raw" },
	{ CLOCK_REALTIME, "realtime", "real", NULL },
	{ CLOCK_BOOTTIME, "boottime", "boot", "boot" },
	{ CLOCK_TAI, "tai", NULL, "tai" },
	{ CLOCK_NONE, NULL, NULL, "perf" },
	{ CLOCK_NONE, NULL, NULL, "local" },
	{ CLOCK_NONE, NULL, NULL, "global" },
	{ CLOCK_NONE, NULL, NULL, "uptime" },
	{ CLOCK_NONE, NULL, NULL, "tsc2nsec" },
};

const struct clock_kind *clock_by_name(const char *name)
{
	if (!strncasecmp(name, "CLOCK_", 6))
		name += 6;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if ((kinds[i].name && !strcasecmp(kinds[i].name, name)) ||
		    (kinds[i].alias && !strcasecmp(kinds[i].alias, name)))
			return &kinds[i];
	return NULL;
}

const struct clock_kind *clock_by_traced(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].traced && !strcmp(kinds[i].traced, name))
			return &kinds[i];
	return NULL;
}

const struct clock_kind *clock_by_id(clockid_t id)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].id == id && kinds[i].name)
			return &kinds[i];
	return NULL;
}

bool clock_traced_is_ns(const char *name)
{
	return !strncmp(name, "mono", 4) || clock_by_traced(name);
}
