/*
 * The text has this form, kernel/trace/trace_events_hist.c:
 *
 *	# trigger info: hist:keys=common_pid.execname,len.log2:vals=hitcount,len:sort=hitcount:size=2048 [active]
 *
 *	{ common_pid: sh              [      1234], len: ~ 2^4  } hitcount:          2  len:         21
 *	{ stacktrace:
 *	         vfs_read+0x10/0x30
 *	} hitcount:          1
 *
 *	Totals:
 *	    Hits: 3
 *
 * Texts are padded on the right and numbers on the left, which tells a task named "12" from the number.
 */
#include "tracing/hist_text.h"

#include "base/num.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 8, SUMS_MAX = 16 };

struct hist_key {
	char *name; /* as rows have it */
	char *shown_as; /* after the dot: "execname"; NULL: nothing */
};

struct hist_reading {
	struct key_counts *t;
	struct hist_key keys[KEYS_MAX];
	size_t nr_keys;
};

/* ---- the head ---- */

static int add_key(struct hist_reading *r, const char *word, size_t len)
{
	if (r->nr_keys == KEYS_MAX)
		return -EBADMSG;
	struct hist_key *k = &r->keys[r->nr_keys++];
	k->name = arena_strndup(&r->t->arena, word, len);
	if (!k->name)
		return -ENOMEM;
	char *dot = strchr(k->name, '.');
	if (dot) {
		*dot = '\0';
		k->shown_as = dot + 1;
	}
	return key_counts_key(r->t, k->name);
}

static int add_sum(struct hist_reading *r, const char *word, size_t len)
{
	bool hits = len >= 8 && !strncmp(word, "hitcount", 8);
	if (hits || r->t->values.nr == SUMS_MAX)
		return 0;
	char *name = arena_strndup(&r->t->arena, word, strcspn(word, ".,: \n"));
	return name ? key_counts_sum(r->t, name) : -ENOMEM;
}

static int each_word(struct hist_reading *r, const char *list,
		     int (*add)(struct hist_reading *, const char *, size_t))
{
	int err = 0;
	for (const char *p = list; *p && !strchr(": \n", *p) && !err;) {
		size_t len = strcspn(p, ",: \n");
		err = add(r, p, len);
		p += len;
		p += *p == ',';
	}
	return err;
}

/* "hist:keys=A,B.hex:vals=hitcount,C:sort=..." */
static int read_trigger(struct hist_reading *r, const char *text)
{
	const char *info = strstr(text, "trigger info: ");
	const char *end = info ? strchrnul(info, '\n') : NULL;
	const char *keys = info ? strstr(info, ":keys=") : NULL;
	const char *values = info ? strstr(info, ":vals=") : NULL;
	if (!keys || keys >= end)
		return -EBADMSG;
	int err = each_word(r, keys + strlen(":keys="), add_key);
	if (!err && values && values < end)
		err = each_word(r, values + strlen(":vals="), add_sum);
	return err;
}

/* ---- a row ---- */

static bool is_as(const struct hist_key *k, const char *word)
{
	return k->shown_as && str_starts(k->shown_as, word);
}

/* "sh              [      1234]" */
static int named_value(struct key_counts *t, const char *text, size_t len, struct key_value *ret)
{
	const char *open = memrchr(text, '[', len);
	if (!open)
		return -EBADMSG;
	size_t end = (size_t)(open - text);
	while (end && text[end - 1] == ' ')
		end--;
	*ret = (struct key_value){ .type = KEY_VALUE_NAMED,
				   .text = arena_strndup(&t->arena, text, end),
				   .number = strtoull(open + 1, NULL, 10) };
	return ret->text ? 0 : -ENOMEM;
}

/* "[ffffffff81234567] vfs_read+0x10/0x30          " */
static int symbol_value(struct key_counts *t, const char *text, size_t len, struct key_value *ret)
{
	const char *close = memchr(text, ']', len), *end = text + len;
	if (*text != '[' || !close)
		return -EBADMSG;
	*ret = (struct key_value){ .type = KEY_VALUE_SYMBOL,
				   .number = strtoull(text + 1, NULL, 16) };
	const char *name = close + 1;
	while (name < end && *name == ' ')
		name++;
	size_t size = strcspn(name, " +");
	size = min(size, (size_t)(end - name));
	if (!size)
		return 0;
	ret->text = arena_strndup(&t->arena, name, size);
	ret->has_offset = name[size] == '+';
	if (ret->has_offset)
		ret->extra = strtoull(name + size + 1, NULL, 16);
	return ret->text ? 0 : -ENOMEM;
}

/* "~ 2^4 ", "~ 0-511" */
static int range_value(const struct hist_key *k, const char *text, struct key_value *ret)
{
	char *after;
	if (*text != '~')
		return -EBADMSG;
	if (is_as(k, "log2")) {
		const char *hat = strchr(text, '^');
		*ret = key_value_power_range(hat ? (unsigned)strtoul(hat + 1, NULL, 10) : 0);
		return 0;
	}
	*ret = (struct key_value){ .type = KEY_VALUE_RANGE,
				   .number = strtoull(text + 1, &after, 0) };
	if (*after != '-')
		return -EBADMSG;
	ret->extra = strtoull(after + 1, NULL, 0);
	return 0;
}

static int plain_value(struct key_counts *t, const char *text, size_t len, bool padded,
		       struct key_value *ret)
{
	char digits[NUM_DIGITS_MAX + 1];
	u64 u;
	s64 s;
	if (!padded && len && len < sizeof(digits)) {
		memcpy(digits, text, len);
		digits[len] = '\0';
		if (!num_parse_u64(digits, 10, &u)) {
			*ret = (struct key_value){ .type = KEY_VALUE_UNSIGNED, .number = u };
			return 0;
		}
		if (!num_parse_s64(digits, 10, &s)) {
			*ret = (struct key_value){ .type = KEY_VALUE_SIGNED, .number = (u64)s };
			return 0;
		}
	}
	*ret = (struct key_value){ .type = KEY_VALUE_TEXT,
				   .text = arena_strndup(&t->arena, text, len) };
	return ret->text ? 0 : -ENOMEM;
}

static int stack_value(struct key_counts *t, const char *text, size_t len, struct key_value *ret)
{
	char *lines = arena_alloc(&t->arena, len + 1);
	size_t size = 0;
	if (!lines)
		return -ENOMEM;
	for (const char *p = text, *end = text + len; p < end;) {
		p += strspn(p, " \n");
		size_t line = min(strcspn(p, "\n"), p < end ? (size_t)(end - p) : 0);
		memcpy(lines + size, p, line);
		size += line;
		if (line)
			lines[size++] = '\n';
		p += line + 1;
	}
	lines[size] = '\0';
	*ret = (struct key_value){ .type = KEY_VALUE_STACK, .text = lines };
	return 0;
}

/* What lies between "KEY: " and the next key, or the end. */
static int read_value(struct hist_reading *r, const struct hist_key *k, const char *text,
		      size_t len, struct key_value *ret)
{
	bool padded = len && text[len - 1] == ' ';
	while (len && *text == ' ') {
		text++;
		len--;
	}
	if (memchr(text, '\n', len))
		return stack_value(r->t, text, len, ret);
	while (len && text[len - 1] == ' ')
		len--;
	if (is_as(k, "execname") || is_as(k, "syscall"))
		return named_value(r->t, text, len, ret);
	if (is_as(k, "sym"))
		return symbol_value(r->t, text, len, ret);
	if (is_as(k, "log2") || is_as(k, "buckets"))
		return range_value(k, text, ret);
	if (is_as(k, "hex")) {
		*ret = (struct key_value){ .type = KEY_VALUE_UNSIGNED,
					   .number = strtoull(text, NULL, 16) };
		return 0;
	}
	return plain_value(r->t, text, len, padded, ret);
}

/* Where "NAME: " of the last such key begins in [text, end). */
static const char *find_key(const char *text, const char *end, const char *name, bool first)
{
	size_t len = strlen(name);
	for (const char *p = end; p-- > text;) {
		bool starts = first ? p == text : p >= text + 2 && p[-1] == ' ' && p[-2] == ',';
		if (starts && (size_t)(end - p) > len && !strncmp(p, name, len) && p[len] == ':')
			return p;
	}
	return NULL;
}

/* Keys from the last to the first: numbers at the end cannot be mistaken for a task's name. */
static int read_keys(struct hist_reading *r, const char *text, const char *end,
		     struct key_value *keys)
{
	for (size_t i = r->nr_keys; i-- > 0;) {
		const char *at = find_key(text, end, r->keys[i].name, !i);
		if (!at)
			return -EBADMSG;
		const char *value = at + strlen(r->keys[i].name) + 1;
		value += value < end && *value == ' ';
		int err = read_value(r, &r->keys[i], value, (size_t)(end - value), &keys[i]);
		if (err)
			return err;
		end = i ? at - 2 : at;
	}
	return 0;
}

/* "hitcount:          2  len:         21" */
static u64 read_number(const char *text, const char *name)
{
	const char *at = text, *end = strchrnul(text, '\n');
	size_t len = strlen(name);
	while ((at = strstr(at, name)) && at < end) {
		if (at[len] == ':' && (at == text || at[-1] == ' '))
			return strtoull(at + len + 1, NULL, 10);
		at += len;
	}
	return 0;
}

static int read_row(struct hist_reading *r, const char *text, const char *close)
{
	struct key_value keys[KEYS_MAX] = { 0 };
	u64 sums[SUMS_MAX] = { 0 };
	const char *end = close;
	if (end > text && end[-1] == ' ')
		end--; /* the blank of " }" */
	int err = read_keys(r, text, end, keys);
	if (err)
		return err;
	const char *numbers = close + strlen("} ");
	for (size_t i = 0; i < r->t->values.nr; i++)
		sums[i] = read_number(numbers, r->t->values.at[i]);
	return key_counts_add(r->t, keys, read_number(numbers, "hitcount"), sums);
}

/* ---- all ---- */

static int add_note(struct key_counts *t, const char *text, size_t len)
{
	const char **slot = vec_push(&t->notes);
	return slot && (*slot = arena_strndup(&t->arena, text, len)) ? 0 : -ENOMEM;
}

static int read_line(struct hist_reading *r, const char *line, size_t len)
{
	const char *text = line + strspn(line, " \t");
	if (!len || *line == '#' || text >= line + len || str_starts(text, "Totals:") ||
	    str_starts(text, "Entries:"))
		return 0;
	if (str_starts(text, "Hits:"))
		r->t->hits = strtoull(text + strlen("Hits:"), NULL, 10);
	else if (str_starts(text, "Dropped:"))
		r->t->dropped = strtoull(text + strlen("Dropped:"), NULL, 10);
	else
		return add_note(r->t, text, (size_t)(line + len - text));
	return 0;
}

int hist_text_parse(const char *text, struct key_counts *ret)
{
	struct hist_reading r = { .t = ret };
	int err = read_trigger(&r, text);
	for (const char *p = text; *p && !err;) {
		size_t len = strcspn(p, "\n");
		const char *close = str_starts(p, "{ ") ? strstr(p, "} hitcount:") : NULL;
		if (close) {
			err = read_row(&r, p + 2, close);
			len = (size_t)(strchrnul(close, '\n') - p);
		} else {
			err = read_line(&r, p, len);
		}
		p += len + (p[len] == '\n');
	}
	return err;
}
