#include "base/glob.h"

#include <string.h>

/* The character after a set "[...]", or NULL when it does not close. p: after the '['. */
static const char *set_end(const char *p)
{
	if (*p == '!' || *p == '^')
		p++;
	if (*p == ']')
		p++;
	for (; *p && *p != ']'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : NULL;
}

static u8 set_char(const char **p)
{
	if (**p == '\\' && (*p)[1])
		++*p;
	return (u8) * (*p)++;
}

static bool set_has(const char *p, const char *end, u8 c)
{
	bool inverted = *p == '!' || *p == '^', found = false;
	p += inverted;
	end--; /* at the ']' */
	do {
		u8 low = set_char(&p), high = low;
		if (*p == '-' && p + 1 < end) {
			p++;
			high = set_char(&p);
		}
		found = found || (c >= low && c <= high);
	} while (p < end);
	return found != inverted;
}

/* Matches one character of the name; the rest of the pattern, or NULL. */
static const char *match_one(const char *p, char c)
{
	const char *end;
	if (*p == '?')
		return p + 1;
	if (*p == '[' && (end = set_end(p + 1)))
		return set_has(p + 1, end, (u8)c) ? end : NULL;
	if (*p == '\\' && p[1])
		p++;
	return *p == c ? p + 1 : NULL;
}

/* Only the last star is ever retried: an earlier one could not do better. */
bool glob_match(const char *pattern, const char *name)
{
	const char *star = NULL, *retry = NULL;
	while (*name) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = name;
			continue;
		}
		const char *next = *pattern ? match_one(pattern, *name) : NULL;
		if (next) {
			pattern = next;
			name++;
		} else if (star) {
			pattern = star;
			name = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool glob_is_pattern(const char *text)
{
	return strpbrk(text, "*?[\\") != NULL;
}
