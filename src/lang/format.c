#include "lang/format.h"

#include "lang/check_impl.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* The conversion behind a '%'; *at is left behind it. 0: none. */
static char conversion(const char **at)
{
	const char *s = *at;
	while (*s && strchr("-+ #0", *s))
		s++;
	while (isdigit((unsigned char)*s))
		s++;
	if (*s == '.')
		for (s++; isdigit((unsigned char)*s);)
			s++;
	while (*s && strchr("hljzt", *s))
		s++;
	char c = *s;
	if (c)
		s++;
	if (c == 'r' && (*s == 'x' || *s == 'h'))
		s++;
	*at = s;
	return c;
}

static bool takes(char c, const struct program_type *t)
{
	switch (c) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
	case 'c':
	case 'p': return type_is_scalar(t);
	case 'r': return t->kind == PROGRAM_BUFFER;
	case 's':
		return !type_is_aggregate(t) && t->kind != PROGRAM_VOID &&
		       t->kind != PROGRAM_RECORD && t->kind != PROGRAM_ARRAY;
	default: return false;
	}
}

bool format_check(struct checker *c, struct node *n)
{
	if (n->list->kind != NODE_STRING) {
		check_fail(c, n->list, -EINVAL, "the format of %s() has to be a string", n->text);
		return false;
	}
	struct node **at = &n->list->next, *a = *at;
	u32 nr = 0;
	for (const char *s = n->list->text; *s;) {
		if (*s++ != '%')
			continue;
		if (*s == '%') {
			s++;
			continue;
		}
		char k = conversion(&s);
		if (!k || !strchr("diuxXocpsr", k)) {
			check_fail(c, n->list, -EINVAL, "unknown conversion '%%%c' in the format",
				   k ? k : ' ');
			return false;
		}
		nr++;
		if (!a) {
			check_fail(c, n, -EINVAL,
				   "the format has more conversions than the %u arguments",
				   n->nr - 1);
			return false;
		}
		check_read(c, at);
		a = *at;
		if (!a->type || c->err)
			return false;
		if (!takes(k, a->type)) {
			check_wrong(
				c, a,
				k == 's' ? "this string conversion cannot print a value of type %s"
					 : "this conversion cannot print a value of type %s",
				a->type);
			return false;
		}
		at = &a->next;
		a = *at;
	}
	if (a) {
		check_fail(c, a, -EINVAL, "the format has only %u conversions", nr);
		return false;
	}
	return true;
}
