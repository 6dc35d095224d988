#include "bpf/value.h"

#include "bpf/naming.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <time.h>

static u64 load(const void *data, u32 size)
{
	u64 v = 0;
	memcpy(&v, data, min(size, (u32)sizeof(v)));
	return v;
}

static s64 extend(u64 v, u32 bits, bool is_signed)
{
	if (bits >= 64 || !bits)
		return (s64)v;
	v &= (1ull << bits) - 1;
	if (is_signed && v >> (bits - 1))
		v |= ~0ull << bits;
	return (s64)v;
}

s64 value_int(const struct program_type *t, const void *data)
{
	return extend(load(data, t->size), t->size * 8, t->is_signed);
}

s64 value_bits(const struct program_field *f, const void *data)
{
	const u8 *at = data;
	u64 v = load(at, f->type->size) >> f->bit_offset;
	return extend(v, f->bit_size, f->type->is_signed);
}

bool value_is_int(const struct program_type *t)
{
	switch (t->kind) {
	case PROGRAM_INT:
	case PROGRAM_BOOL:
	case PROGRAM_ENUM:
	case PROGRAM_POINTER:
	case PROGRAM_COUNT:
	case PROGRAM_SUM:
	case PROGRAM_MIN:
	case PROGRAM_MAX: return true;
	default: return false;
	}
}

size_t value_strlen(const struct program_type *t, const void *data)
{
	return strnlen(data, t->size);
}

static const char *enum_name(const struct program_type *t, s64 v)
{
	for (u32 i = 0; i < t->nr; i++)
		if (t->fields[i].offset == v)
			return t->fields[i].name;
	return NULL;
}

static void int_text(const struct value_style *s, const struct program_type *t, s64 v,
		     struct strbuf *to)
{
	if (s->hex)
		strbuf_printf(to, "0x%llx", (unsigned long long)v);
	else if (t->is_signed)
		strbuf_s64(to, v);
	else
		strbuf_u64(to, (u64)v);
}

void value_buffer_text(const struct program_type *t, const void *data, enum value_buffer how,
		       struct strbuf *to)
{
	if (t->size < 4)
		return;
	u32 len = (u32)load(data, 4);
	const u8 *bytes = (const u8 *)data + 4;
	len = min(len, t->size - 4);
	for (u32 i = 0; i < len; i++) {
		u8 c = bytes[i];
		if (how == VALUE_BUFFER_HEX)
			strbuf_printf(to, "%s%02x", i ? " " : "", c);
		else if (how == VALUE_BUFFER_MIXED && c >= 0x20 && c < 0x7f)
			strbuf_char(to, (char)c);
		else
			strbuf_printf(to, "\\x%02x", c);
	}
}

static void inet_text(const void *data, struct strbuf *to)
{
	u32 family = (u32)load(data, 4);
	char text[INET6_ADDRSTRLEN] = "";
	const void *address = (const u8 *)data + 4;
	if (family == AF_INET || family == AF_INET6)
		(void)inet_ntop((int)family, address, text, sizeof(text));
	strbuf_str(to, text);
}

static void mac_text(const u8 *m, struct strbuf *to)
{
	strbuf_printf(to, "%02X:%02X:%02X:%02X:%02X:%02X", m[0], m[1], m[2], m[3], m[4], m[5]);
}

void value_time(const struct value_style *s, const char *format, u64 boot_ns, struct strbuf *to)
{
	u64 ns = boot_ns + s->boot_to_wall_ns;
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	char text[256], with_fraction[256];
	if (!localtime_r(&seconds, &tm))
		return;
	/* %f: microseconds, which strftime() does not know. */
	size_t n = 0;
	for (const char *p = format; *p && n + 8 < sizeof(with_fraction); p++) {
		if (p[0] == '%' && p[1] == 'f') {
			n += (size_t)snprintf(with_fraction + n, sizeof(with_fraction) - n, "%06u",
					      (unsigned)(ns / 1000 % 1000000));
			p++;
		} else {
			with_fraction[n++] = *p;
			if (p[0] == '%' && p[1])
				with_fraction[n++] = *++p;
		}
	}
	with_fraction[n] = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the script's own */
	strbuf_add(to, text, strftime(text, sizeof(text), with_fraction, &tm));
#pragma GCC diagnostic pop
}

/* A struct, or a record of the script. */
static bool has_names(const struct program_type *t)
{
	return t->kind == PROGRAM_RECORD || (t->nr && t->fields[0].name);
}

static void fields_text(const struct value_style *s, const struct program_type *t, const u8 *data,
			struct strbuf *to)
{
	bool named = has_names(t);
	strbuf_str(to, named ? "{ " : "(");
	for (u32 i = 0; i < t->nr; i++) {
		const struct program_field *f = &t->fields[i];
		if (i)
			strbuf_str(to, ", ");
		if (named)
			strbuf_printf(to, ".%s = ", f->name ? f->name : "");
		if (f->bit_size)
			int_text(s, f->type, value_bits(f, data + f->offset), to);
		else
			value_text(s, f->type, data + f->offset, to);
	}
	strbuf_str(to, named ? " }" : t->nr == 1 ? ",)" : ")");
}

static void array_text(const struct value_style *s, const struct program_type *t, const u8 *data,
		       struct strbuf *to)
{
	const struct program_type *element = t->fields[0].type;
	strbuf_char(to, '[');
	for (u32 i = 0; i < t->nr; i++) {
		if (i)
			strbuf_char(to, ',');
		value_text(s, element, data + (size_t)i * element->size, to);
	}
	strbuf_char(to, ']');
}

static u64 average(const void *data)
{
	u64 total = load(data, 8), count = load((const u8 *)data + 8, 8);
	return count ? (u64)((s64)total / (s64)count) : 0;
}

static void text_of_name(const struct value_style *s, const struct program_type *t,
			 const void *data, struct strbuf *to)
{
	switch (t->kind) {
	case PROGRAM_KSYM: naming_kernel(s->naming, load(data, 8), NAMING_NAME, to); break;
	case PROGRAM_USYM:
		naming_user(s->naming, (u32)load((const u8 *)data + 8, 4), load(data, 8),
			    NAMING_NAME, to);
		break;
	case PROGRAM_KSTACK:
	case PROGRAM_USTACK: naming_stack(s->naming, t, data, s->stack_indent, to); break;
	case PROGRAM_USERNAME: naming_uid(s->naming, (u32)load(data, 4), to); break;
	case PROGRAM_CGROUP_PATH: naming_cgroup(s->naming, load(data, 8), to); break;
	case PROGRAM_PROBE_NAME: {
		u64 place = load(data, 8);
		if (place < s->nr_places)
			strbuf_str(to, s->places[place]);
		else
			strbuf_u64(to, place);
		break;
	}
	default: break;
	}
}

void value_text(const struct value_style *s, const struct program_type *t, const void *data,
		struct strbuf *to)
{
	switch (t->kind) {
	case PROGRAM_VOID: break;
	case PROGRAM_INT:
	case PROGRAM_COUNT:
	case PROGRAM_SUM:
	case PROGRAM_MIN:
	case PROGRAM_MAX:
		int_text(s, t, t->kind == PROGRAM_INT ? value_int(t, data) : (s64)load(data, 8), to);
		break;
	case PROGRAM_BOOL: strbuf_str(to, value_int(t, data) ? "true" : "false"); break;
	case PROGRAM_ENUM: {
		const char *name = enum_name(t, value_int(t, data));
		if (name)
			strbuf_str(to, name);
		else
			int_text(s, t, value_int(t, data), to);
		break;
	}
	case PROGRAM_POINTER: strbuf_printf(to, "0x%llx", (unsigned long long)load(data, 8)); break;
	case PROGRAM_STRING: strbuf_add(to, data, value_strlen(t, data)); break;
	case PROGRAM_BUFFER: value_buffer_text(t, data, VALUE_BUFFER_MIXED, to); break;
	case PROGRAM_TUPLE:
	case PROGRAM_RECORD: fields_text(s, t, data, to); break;
	case PROGRAM_ARRAY: array_text(s, t, data, to); break;
	case PROGRAM_INET: inet_text(data, to); break;
	case PROGRAM_MAC: mac_text(data, to); break;
	case PROGRAM_TIMESTAMP: value_time(s, t->format, load(data, 8), to); break;
	case PROGRAM_AVG: strbuf_s64(to, (s64)average(data)); break;
	case PROGRAM_STATS:
		strbuf_printf(to,
			      s->old_layout ? "count %llu, average %lld, total %lld"
					    : "{ .count = %llu, .average = %lld, .total = %lld }",
			      (unsigned long long)load((const u8 *)data + 8, 8),
			      (long long)average(data), (long long)load(data, 8));
		break;
	default: text_of_name(s, t, data, to); break;
	}
}

void value_key_text(const struct value_style *s, const struct program_type *t, const void *data,
		    const char *separator, struct strbuf *to)
{
	struct value_style in_key = *s;
	in_key.stack_indent = 4;
	if (t->kind != PROGRAM_TUPLE || has_names(t)) {
		value_text(&in_key, t, data, to);
		return;
	}
	for (u32 i = 0; i < t->nr; i++) {
		if (i)
			strbuf_str(to, separator);
		value_text(&in_key, t->fields[i].type, (const u8 *)data + t->fields[i].offset, to);
	}
}

static void json_fields(const struct value_style *s, const struct program_type *t, const u8 *data,
			struct json *j)
{
	bool named = has_names(t);
	if (named)
		json_object(j);
	else
		json_array(j);
	for (u32 i = 0; i < t->nr; i++) {
		const struct program_field *f = &t->fields[i];
		if (named)
			json_key(j, f->name ? f->name : "");
		if (f->bit_size)
			json_s64(j, value_bits(f, data + f->offset));
		else
			value_json(s, f->type, data + f->offset, j);
	}
	if (named)
		json_object_end(j);
	else
		json_array_end(j);
}

static void json_elements(const struct value_style *s, const struct program_type *t, const u8 *data,
			  struct json *j)
{
	const struct program_type *element = t->fields[0].type;
	json_array(j);
	for (u32 i = 0; i < t->nr; i++)
		value_json(s, element, data + (size_t)i * element->size, j);
	json_array_end(j);
}

static void json_number(const struct program_type *t, const void *data, struct json *j)
{
	s64 v = t->kind == PROGRAM_INT || t->kind == PROGRAM_POINTER ? value_int(t, data)
								     : (s64)load(data, 8);
	if (t->is_signed)
		json_s64(j, v);
	else
		json_u64(j, (u64)v);
}

static void json_stats(const void *data, struct json *j)
{
	json_object(j);
	json_put_u64(j, "count", load((const u8 *)data + 8, 8));
	json_put_s64(j, "average", (s64)average(data));
	json_put_s64(j, "total", (s64)load(data, 8));
	json_object_end(j);
}

void value_json(const struct value_style *s, const struct program_type *t, const void *data,
		struct json *j)
{
	switch (t->kind) {
	case PROGRAM_VOID: json_null(j); return;
	case PROGRAM_BOOL: json_bool(j, value_int(t, data)); return;
	case PROGRAM_INT:
	case PROGRAM_POINTER:
	case PROGRAM_COUNT:
	case PROGRAM_SUM:
	case PROGRAM_MIN:
	case PROGRAM_MAX: json_number(t, data, j); return;
	case PROGRAM_AVG: json_s64(j, (s64)average(data)); return;
	case PROGRAM_STATS: json_stats(data, j); return;
	case PROGRAM_TUPLE:
	case PROGRAM_RECORD: json_fields(s, t, data, j); return;
	case PROGRAM_ARRAY: json_elements(s, t, data, j); return;
	case PROGRAM_STRING: json_strn(j, data, value_strlen(t, data)); return;
	default: break;
	}
	struct strbuf text;
	strbuf_init(&text);
	value_text(s, t, data, &text);
	json_strn(j, text.data ? text.data : "", text.len);
	strbuf_done(&text);
}

static int compare_s64(s64 a, s64 b, bool is_signed)
{
	if (is_signed)
		return a < b ? -1 : a > b;
	return (u64)a < (u64)b ? -1 : (u64)a > (u64)b;
}

int value_compare(const struct program_type *t, const void *a, const void *b)
{
	switch (t->kind) {
	case PROGRAM_INT:
	case PROGRAM_BOOL:
	case PROGRAM_ENUM:
	case PROGRAM_POINTER: return compare_s64(value_int(t, a), value_int(t, b), t->is_signed);
	case PROGRAM_COUNT:
	case PROGRAM_SUM:
	case PROGRAM_MIN:
	case PROGRAM_MAX: return compare_s64((s64)load(a, 8), (s64)load(b, 8), t->is_signed);
	case PROGRAM_AVG:
	case PROGRAM_STATS: return compare_s64((s64)average(a), (s64)average(b), true);
	case PROGRAM_STRING: return strncmp(a, b, t->size);
	case PROGRAM_TUPLE:
	case PROGRAM_RECORD:
		for (u32 i = 0; i < t->nr; i++) {
			s64 at = t->fields[i].offset;
			int c = value_compare(t->fields[i].type, (const u8 *)a + at,
					      (const u8 *)b + at);
			if (c)
				return c;
		}
		return 0;
	default: return memcmp(a, b, t->size);
	}
}
