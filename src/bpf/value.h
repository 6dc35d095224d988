/*
 * A value that a program stored or sent, as text, as JSON and as a key to sort by. The bytes come from the kernel, written by code that was
 * made with the same types: at least type->size bytes are there.
 */
#pragma once

#include "base/json.h"
#include "base/strbuf.h"
#include "model/program.h"

struct naming;

/* What values are printed with. */
struct value_style {
	struct naming *naming; /* names of addresses, users, groups; NULL: numbers */
	const char *const *places; /* [cookie]: the text of an attach point */
	u32 nr_places;
	u64 boot_to_wall_ns; /* what to add to CLOCK_BOOTTIME for the time of day */
	u32 stack_indent; /* blanks before a frame: 8 in values, 4 in keys */
	bool hex; /* integers */
	bool old_layout; /* as bpftrace 0.17 prints averages, statistics and the heads of pictures; else as 0.27 */
};

/* Of 1, 2, 4 or 8 bytes, extended by its sign; a bitfield's bits. */
s64 value_int(const struct program_type *t, const void *data);
s64 value_bits(const struct program_field *f, const void *data);
/* Whether it prints as a number, and compares as one. */
bool value_is_int(const struct program_type *t);
/* The text of a string type: up to its NUL, or its end. */
size_t value_strlen(const struct program_type *t, const void *data);

/* As print() and maps show it. */
void value_text(const struct value_style *s, const struct program_type *t, const void *data,
		struct strbuf *to);
/* A key of a map: the parts of a tuple without parentheses. */
void value_key_text(const struct value_style *s, const struct program_type *t, const void *data,
		    const char *separator, struct strbuf *to);
void value_json(const struct value_style *s, const struct program_type *t, const void *data,
		struct json *j);
/* Below 0, 0 or above: by number, by text, by the first part that differs. */
int value_compare(const struct program_type *t, const void *a, const void *b);

/* strftime(), with %f for microseconds; boot_ns: of CLOCK_BOOTTIME. */
void value_time(const struct value_style *s, const char *format, u64 boot_ns, struct strbuf *to);

enum value_buffer { VALUE_BUFFER_MIXED, VALUE_BUFFER_ESCAPED, VALUE_BUFFER_HEX };
/* "a\x01\xff", "\x61\x01\xff", "61 01 ff" */
void value_buffer_text(const struct program_type *t, const void *data, enum value_buffer how,
		       struct strbuf *to);
