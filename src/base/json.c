#include "base/json.h"
#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

void json_begin(struct json *j, struct strbuf *to, enum json_style style)
{
	*j = (struct json){ .to = to, .style = style };
}

static void json_fail(struct json *j, int err)
{
	if (!j->err)
		j->err = err;
}

static bool in_object(const struct json *j)
{
	return j->depth && (j->objects >> (j->depth - 1) & 1);
}

static void new_line(struct json *j)
{
	if (j->style == JSON_COMPACT)
		return;
	strbuf_char(j->to, '\n');
	strbuf_fill(j->to, ' ', 2 * (size_t)j->depth);
}

/* What stands in front of the next element of the innermost level. */
static void separate(struct json *j)
{
	if (j->filled)
		strbuf_char(j->to, ',');
	if (j->depth)
		new_line(j);
	j->filled = true;
}

/* False: a value may not stand here. */
static bool value_begins(struct json *j)
{
	if (in_object(j) ? !j->keyed : !j->depth && j->filled) {
		json_fail(j, -EINVAL);
		return false;
	}
	if (!j->keyed)
		separate(j);
	j->keyed = false;
	return !j->err;
}

static void level_begin(struct json *j, bool object, char mark)
{
	if (j->depth == JSON_DEPTH_MAX)
		json_fail(j, -E2BIG);
	if (!value_begins(j))
		return;
	strbuf_char(j->to, mark);
	u64 bit = 1ull << j->depth;
	j->objects = object ? j->objects | bit : j->objects & ~bit;
	j->depth++;
	j->filled = false;
}

static void level_end(struct json *j, bool object, char mark)
{
	if (!j->depth || in_object(j) != object || j->keyed)
		json_fail(j, -EINVAL);
	if (j->err)
		return;
	j->depth--;
	if (j->filled)
		new_line(j);
	strbuf_char(j->to, mark);
	j->filled = true;
}

void json_object(struct json *j)
{
	level_begin(j, true, '{');
}

void json_object_end(struct json *j)
{
	level_end(j, true, '}');
}

void json_array(struct json *j)
{
	level_begin(j, false, '[');
}

void json_array_end(struct json *j)
{
	level_end(j, false, ']');
}

static void add_escaped(struct strbuf *to, u8 c)
{
	static const char letters[] = "btn\0fr"; /* from 0x08 on */
	if (c == '"' || c == '\\')
		strbuf_printf(to, "\\%c", c);
	else if (c >= 0x08 && c <= 0x0d && letters[c - 0x08])
		strbuf_printf(to, "\\%c", letters[c - 0x08]);
	else
		strbuf_printf(to, "\\u%04x", c);
}

static void add_quoted(struct strbuf *to, const char *str, size_t len)
{
	const u8 *s = (const u8 *)str, *end = s + len;
	strbuf_char(to, '"');
	while (s < end) {
		bool bad;
		size_t n = str_utf8_len(s, (size_t)(end - s), &bad);
		if (bad)
			strbuf_str(to, "\xef\xbf\xbd");
		else if (n == 1 && (*s < 0x20 || *s == '"' || *s == '\\'))
			add_escaped(to, *s);
		else
			strbuf_add(to, s, n);
		s += n;
	}
	strbuf_char(to, '"');
}

void json_key(struct json *j, const char *key)
{
	if (!in_object(j) || j->keyed)
		json_fail(j, -EINVAL);
	if (j->err)
		return;
	separate(j);
	add_quoted(j->to, key, strlen(key));
	strbuf_str(j->to, j->style == JSON_PRETTY ? ": " : ":");
	j->keyed = true;
}

void json_strn(struct json *j, const char *s, size_t len)
{
	if (value_begins(j))
		add_quoted(j->to, s, len);
}

void json_str(struct json *j, const char *s)
{
	if (s)
		json_strn(j, s, strlen(s));
	else
		json_null(j);
}

void json_value(struct json *j, const char *text, size_t len)
{
	if (value_begins(j))
		strbuf_add(j->to, text, len);
}

void json_u64(struct json *j, u64 v)
{
	if (value_begins(j))
		strbuf_u64(j->to, v);
}

void json_decimal(struct json *j, u64 whole, u64 part, unsigned digits)
{
	if (!value_begins(j))
		return;
	strbuf_u64(j->to, whole);
	for (; part && part % 10 == 0; part /= 10)
		digits--;
	char *text = part ? strbuf_room(j->to, NUM_DIGITS_MAX + 1) : NULL;
	if (!text)
		return;
	*text = '.';
	strbuf_commit(j->to, 1 + num_u64_pad0(text + 1, part, digits));
}

void json_s64(struct json *j, s64 v)
{
	if (value_begins(j))
		strbuf_s64(j->to, v);
}

void json_double(struct json *j, double v)
{
	if (!isfinite(v)) {
		json_null(j);
		return;
	}
	if (!value_begins(j))
		return;
	char text[32];
	for (int digits = 15; digits <= 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	char *comma = strchr(text, ','); /* some locales' decimal point */
	if (comma)
		*comma = '.';
	strbuf_str(j->to, text);
}

void json_bool(struct json *j, bool v)
{
	if (value_begins(j))
		strbuf_str(j->to, v ? "true" : "false");
}

void json_null(struct json *j)
{
	if (value_begins(j))
		strbuf_str(j->to, "null");
}

int json_end(struct json *j)
{
	if (j->depth || !j->filled)
		json_fail(j, -EINVAL);
	strbuf_char(j->to, '\n');
	return j->err ? j->err : j->to->err;
}

void json_put_str(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_str(j, s);
}

void json_put_u64(struct json *j, const char *key, u64 v)
{
	json_key(j, key);
	json_u64(j, v);
}

void json_put_s64(struct json *j, const char *key, s64 v)
{
	json_key(j, key);
	json_s64(j, v);
}

void json_put_double(struct json *j, const char *key, double v)
{
	json_key(j, key);
	json_double(j, v);
}

void json_put_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}
