/*
 * The kernel's event format text:
 *
 *	name: sched_switch
 *	ID: 316
 *	format:
 *		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *		...
 *	<blank line: the common fields end here>
 *		field:__data_loc char[] name;	offset:8;	size:4;	signed:0;
 *
 *	print fmt: "name=%s", __get_str(name)
 *
 * One pass counts the fields, so that the array is allocated once and after the limits were looked at; a second fills it.
 * Kernels before 2.6.33 have no "signed:"; then the type decides. Unknown lines are skipped: later kernels may add some.
 */
#include "wire/format.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum {
	FORMAT_TEXT_MAX = 1 << 20,
	FORMAT_FIELDS_MAX = 4096,
	FORMAT_NAME_MAX = 512,
	FORMAT_RECORD_MAX = 1 << 20, /* the largest sub-buffer is 64 KiB; leave room */
};

struct cut {
	const char *at;
	size_t len;
};

struct format_ctx {
	struct arena *arena;
	struct diag *diag;
	u8 long_size;
	u32 line;
};

static struct cut cut_of(const char *at, size_t len)
{
	return (struct cut){ .at = at, .len = len };
}

static struct cut cut_trim(struct cut c)
{
	while (c.len && isspace((unsigned char)c.at[0]))
		c.at++, c.len--;
	while (c.len && isspace((unsigned char)c.at[c.len - 1]))
		c.len--;
	return c;
}

static bool cut_starts(struct cut c, const char *word)
{
	size_t len = strlen(word);
	return c.len >= len && !memcmp(c.at, word, len);
}

/* Steps over the word, or leaves c alone. */
static bool cut_skip(struct cut *c, const char *word)
{
	if (!cut_starts(*c, word))
		return false;
	*c = cut_of(c->at + strlen(word), c->len - strlen(word));
	return true;
}

/* The piece before the separator; c steps past it. */
static struct cut cut_until(struct cut *c, char sep)
{
	const char *p = c->len ? memchr(c->at, sep, c->len) : NULL;
	size_t len = p ? (size_t)(p - c->at) : c->len;
	struct cut head = cut_of(c->at, len);
	len += p != NULL;
	*c = cut_of(c->at + len, c->len - len);
	return head;
}

static int cut_number(struct cut c, u32 *ret)
{
	c = cut_trim(c);
	u64 v = 0;
	if (!c.len || c.len > 10)
		return -EINVAL;
	for (size_t i = 0; i < c.len; i++) {
		if (!isdigit((unsigned char)c.at[i]))
			return -EINVAL;
		v = v * 10 + (u64)(c.at[i] - '0');
	}
	if (v > UINT32_MAX)
		return -EINVAL;
	*ret = (u32)v;
	return 0;
}

static int bad_line(struct format_ctx *f, struct cut line, const char *what)
{
	char text[160];
	size_t len = min(line.len, sizeof(text) - 1);
	memcpy(text, line.at, len);
	text[len] = '\0';
	int err = diag_error(f->diag, -EINVAL, "event format, line %u: %s", f->line, what);
	diag_span(f->diag, text, 0, len);
	return err;
}

/* ---- types ---- */

static bool has_word(struct cut c, const char *word)
{
	size_t len = strlen(word);
	for (size_t i = 0; i + len <= c.len; i++) {
		bool before = i && (isalnum((unsigned char)c.at[i - 1]) || c.at[i - 1] == '_');
		bool after = i + len < c.len &&
			     (isalnum((unsigned char)c.at[i + len]) || c.at[i + len] == '_');
		if (!before && !after && !memcmp(c.at + i, word, len))
			return true;
	}
	return false;
}

static bool type_is_signed(struct cut type)
{
	static const char *const words[] = { "int",   "long",  "short",	  "s8",	    "s16",
					     "s32",   "s64",   "pid_t",	  "__s8",   "__s16",
					     "__s32", "__s64", "ssize_t", "loff_t", "char" };
	if (has_word(type, "unsigned") || memchr(type.at, '*', type.len))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (has_word(type, words[i]))
			return true;
	return false;
}

/* 0: not known. */
static u32 type_size(struct cut type, u8 long_size)
{
	static const struct {
		const char *word;
		u8 size;
	} sizes[] = {
		{ "char", 1 },	   { "u8", 1 },	      { "s8", 1 },	 { "__u8", 1 },
		{ "__s8", 1 },	   { "bool", 1 },     { "uint8_t", 1 },	 { "short", 2 },
		{ "u16", 2 },	   { "s16", 2 },      { "__u16", 2 },	 { "__s16", 2 },
		{ "__be16", 2 },   { "__le16", 2 },   { "uint16_t", 2 }, { "u64", 8 },
		{ "s64", 8 },	   { "__u64", 8 },    { "__s64", 8 },	 { "__be64", 8 },
		{ "__le64", 8 },   { "uint64_t", 8 }, { "int64_t", 8 },	 { "loff_t", 8 },
		{ "sector_t", 8 }, { "u32", 4 },      { "s32", 4 },	 { "__u32", 4 },
		{ "__s32", 4 },	   { "__be32", 4 },   { "__le32", 4 },	 { "uint32_t", 4 },
		{ "int32_t", 4 },  { "pid_t", 4 },    { "gfp_t", 4 },	 { "dev_t", 4 },
	};
	if (memchr(type.at, '*', type.len))
		return long_size;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (has_word(type, sizes[i].word))
			return sizes[i].size;
	if (has_word(type, "long")) {
		for (size_t i = 0; i + 9 <= type.len; i++)
			if (!memcmp(type.at + i, "long long", 9))
				return 8;
		return long_size;
	}
	return has_word(type, "int") || has_word(type, "unsigned") || has_word(type, "enum") ? 4 : 0;
}

/* Copies with runs of blanks made one, no blank before [ or at the ends. */
static char *type_normal(struct arena *a, struct cut type, struct cut brackets)
{
	char *to = arena_alloc(a, type.len + brackets.len + 1);
	if (!to)
		return NULL;
	size_t n = 0;
	for (size_t i = 0; i < type.len; i++) {
		bool blank = isspace((unsigned char)type.at[i]);
		if (blank && (!n || to[n - 1] == ' '))
			continue;
		to[n++] = blank ? ' ' : type.at[i];
	}
	while (n && to[n - 1] == ' ')
		n--;
	memcpy(to + n, brackets.at, brackets.len);
	to[n + brackets.len] = '\0';
	return to;
}

/* ---- fields ---- */

/* "unsigned long args[6]" into type, name and brackets. */
static int split_decl(struct cut decl, struct cut *type, struct cut *name, struct cut *brackets)
{
	decl = cut_trim(decl);
	size_t end = decl.len;
	while (end && decl.at[end - 1] == ']') {
		while (end && decl.at[end - 1] != '[')
			end--;
		end -= end > 0;
	}
	*brackets = cut_of(decl.at + end, decl.len - end);
	size_t start = end;
	while (start && (isalnum((unsigned char)decl.at[start - 1]) || decl.at[start - 1] == '_'))
		start--;
	*name = cut_of(decl.at + start, end - start);
	*type = cut_trim(cut_of(decl.at, start));
	if (!name->len || !type->len || name->len > FORMAT_NAME_MAX ||
	    type->len > FORMAT_NAME_MAX || brackets->len > FORMAT_NAME_MAX)
		return -EINVAL;
	return 0;
}

static u32 bracket_count(struct cut brackets)
{
	u64 n = 1;
	while (brackets.len) {
		(void)cut_until(&brackets, '[');
		u32 dim;
		if (cut_number(cut_until(&brackets, ']'), &dim) || (n *= dim) > FORMAT_RECORD_MAX)
			return 0;
	}
	return (u32)n;
}

static void set_array(struct format_ctx *f, struct schema_field *field, struct cut type,
		      struct cut brackets)
{
	bool dynamic = field->flags & (FIELD_DATA_LOC | FIELD_REL_LOC);
	u32 elem = type_size(type, f->long_size);
	field->elem_size = field->size;
	field->nr_elems = 1;
	if (dynamic) {
		field->elem_size = elem ? elem : 1;
		return;
	}
	if (!brackets.len)
		return;
	field->flags |= FIELD_ARRAY;
	u32 nr = bracket_count(brackets);
	if (nr && field->size % nr == 0 && field->size)
		elem = field->size / nr;
	field->elem_size = elem ? elem : 1;
	field->nr_elems = field->size / field->elem_size;
}

static u32 type_flags(struct cut type, bool array)
{
	u32 flags = 0;
	if (cut_starts(type, "__data_loc"))
		flags |= FIELD_DATA_LOC;
	if (cut_starts(type, "__rel_loc"))
		flags |= FIELD_REL_LOC;
	bool pointer = memchr(type.at, '*', type.len);
	if (pointer)
		flags |= FIELD_POINTER;
	if (has_word(type, "long"))
		flags |= FIELD_LONG;
	array = array || (flags & (FIELD_DATA_LOC | FIELD_REL_LOC));
	if (array && !pointer && has_word(type, "char") && !has_word(type, "unsigned") &&
	    !has_word(type, "signed"))
		flags |= FIELD_STRING;
	return flags;
}

static int set_numbers(struct format_ctx *f, struct cut line, struct cut rest, struct cut type,
		       struct schema_field *field)
{
	bool has_offset = false, has_size = false, has_sign = false;
	while (rest.len) {
		struct cut part = cut_trim(cut_until(&rest, ';'));
		u32 sign;
		if (cut_skip(&part, "offset:"))
			has_offset = !cut_number(part, &field->offset);
		else if (cut_skip(&part, "size:"))
			has_size = !cut_number(part, &field->size);
		else if (cut_skip(&part, "signed:") && !cut_number(part, &sign)) {
			has_sign = true;
			field->flags |= sign ? FIELD_SIGNED : 0;
		}
	}
	if (!has_offset || !has_size)
		return bad_line(f, line, "field without offset or size");
	if (field->offset > FORMAT_RECORD_MAX || field->size > FORMAT_RECORD_MAX)
		return bad_line(f, line, "field beyond the end of any record");
	if (!has_sign && type_is_signed(type))
		field->flags |= FIELD_SIGNED;
	return 0;
}

static int parse_field(struct format_ctx *f, struct cut line, struct schema_field *field)
{
	struct cut rest = line;
	(void)cut_until(&rest, ':');
	struct cut decl = cut_until(&rest, ';'), type, name, brackets;
	if (split_decl(decl, &type, &name, &brackets))
		return bad_line(f, line, "field without type or name");
	field->flags = type_flags(type, brackets.len > 0);
	int err = set_numbers(f, line, rest, type, field);
	if (err)
		return err;
	if ((field->flags & (FIELD_DATA_LOC | FIELD_REL_LOC)) && field->size != 4)
		return bad_line(f, line, "a data_loc field is not 4 bytes wide");
	/* Old kernels write "char buf" with size 0 for "char buf[]". */
	if (!field->size && !brackets.len && !(field->flags & FIELD_POINTER) &&
	    has_word(type, "char"))
		field->flags |= FIELD_STRING | FIELD_ARRAY;
	set_array(f, field, type, brackets);
	field->name = arena_strndup(f->arena, name.at, name.len);
	field->type = type_normal(f->arena, type, brackets);
	return field->name && field->type ? 0 : -ENOMEM;
}

/* ---- the whole text ---- */

static bool is_field(struct cut line)
{
	return cut_starts(line, "field:") || cut_starts(line, "field special:");
}

static u32 count_fields(struct cut text)
{
	u32 nr = 0;
	while (text.len && nr <= FORMAT_FIELDS_MAX) {
		struct cut line = cut_trim(cut_until(&text, '\n'));
		if (cut_starts(line, "print fmt:"))
			break;
		nr += is_field(line);
	}
	return nr;
}

static void index_common(struct schema *s)
{
	const struct {
		const char *name;
		s8 *index;
	} rows[] = {
		{ "common_type", &s->common_type },
		{ "common_flags", &s->common_flags },
		{ "common_preempt_count", &s->common_preempt_count },
		{ "common_pid", &s->common_pid },
		{ "common_lock_depth", &s->common_lock_depth },
		{ "common_migrate_disable", &s->common_migrate_disable },
	};
	for (size_t r = 0; r < ARRAY_SIZE(rows); r++) {
		*rows[r].index = -1;
		for (u32 i = 0; i < s->nr_common && i < INT8_MAX; i++)
			if (!strcmp(s->fields[i].name, rows[r].name))
				*rows[r].index = (s8)i;
	}
}

/* Without a blank line to tell, the common fields are those that are called so. */
static u32 count_common(const struct schema *s)
{
	u32 n = 0;
	while (n < s->nr_fields && !strncmp(s->fields[n].name, "common_", 7))
		n++;
	return n;
}

static int parse_name(struct format_ctx *f, struct schema *s, struct cut line, struct cut value)
{
	value = cut_trim(value);
	if (!value.len || value.len > FORMAT_NAME_MAX)
		return bad_line(f, line, "expected an event name");
	s->name = arena_strndup(f->arena, value.at, value.len);
	return s->name ? 0 : -ENOMEM;
}

/* The print fmt runs to the end of the text: it may hold line ends. */
static int take_print_fmt(struct format_ctx *f, struct schema *s, struct cut text)
{
	text = cut_trim(text);
	if (!text.len)
		return 0;
	s->print_fmt = arena_strndup(f->arena, text.at, text.len);
	return s->print_fmt ? 0 : -ENOMEM;
}

static int parse_lines(struct format_ctx *f, struct schema *s, struct schema_field *fields,
		       struct cut text)
{
	bool has_id = false, blank_seen = false;
	int err = 0;
	while (text.len && !err) {
		struct cut here = text;
		struct cut line = cut_trim(cut_until(&text, '\n'));
		struct cut value = line;
		f->line++;
		if (!line.len && s->nr_fields && !blank_seen) {
			blank_seen = true;
			s->nr_common = s->nr_fields;
		} else if (is_field(line)) {
			err = parse_field(f, line, &fields[s->nr_fields++]);
		} else if (cut_skip(&value, "name:")) {
			err = parse_name(f, s, line, value);
		} else if (cut_skip(&value, "ID:")) {
			has_id = true;
			if (cut_number(value, &s->id))
				err = bad_line(f, line, "invalid ID");
		} else if (cut_skip(&value, "print fmt:")) {
			err = take_print_fmt(
				f, s, cut_of(value.at, (size_t)(here.at + here.len - value.at)));
			break;
		}
	}
	if (err)
		return err;
	if (!s->name || !has_id)
		return diag_error(f->diag, -EINVAL, "not an event format: it has no %s line",
				  s->name ? "ID:" : "name:");
	if (!s->nr_common || s->nr_common == s->nr_fields)
		s->nr_common = count_common(s);
	return 0;
}

int format_parse(struct arena *a, const char *system, const char *text, size_t len, bool big_endian,
		 u8 long_size, struct schema **ret, struct diag *d)
{
	if (len > FORMAT_TEXT_MAX)
		return diag_error(d, -E2BIG, "the event format is %zu bytes long; %d are allowed",
				  len, FORMAT_TEXT_MAX);
	struct cut all = cut_of(text, strnlen(text, len));
	u32 nr = count_fields(all);
	if (nr > FORMAT_FIELDS_MAX)
		return diag_error(d, -E2BIG, "the event format has more than %d fields",
				  FORMAT_FIELDS_MAX);
	struct schema *s = arena_zalloc(a, sizeof(*s));
	struct schema_field *fields = arena_array(a, nr, sizeof(*fields));
	char *sys = arena_strdup(a, system);
	if (!s || !fields || !sys)
		return -ENOMEM;
	s->system = sys;
	s->fields = fields;
	s->big_endian = big_endian;
	s->long_size = long_size;
	struct format_ctx f = { .arena = a, .diag = d, .long_size = long_size };
	int err = parse_lines(&f, s, fields, all);
	if (err)
		return err;
	index_common(s);
	*ret = s;
	return 0;
}

/* ---- header_page ---- */

static void page_row(struct page_layout *p, struct cut name, const struct schema_field *f)
{
	if (name.len == 9 && !memcmp(name.at, "timestamp", 9)) {
		p->ts_offset = f->offset;
		p->ts_size = f->size;
	} else if (name.len == 6 && !memcmp(name.at, "commit", 6)) {
		p->commit_offset = f->offset;
		p->commit_size = f->size;
	} else if (name.len == 4 && !memcmp(name.at, "data", 4)) {
		p->data_offset = f->offset;
		p->data_size = f->size;
	}
}

static bool page_sane(const struct page_layout *p)
{
	return p->ts_size == 8 && (p->commit_size == 4 || p->commit_size == 8) &&
	       p->ts_offset + p->ts_size <= p->data_offset &&
	       p->commit_offset + p->commit_size <= p->data_offset && p->data_size;
}

int format_parse_header_page(const char *text, size_t len, u8 long_size, struct page_layout *ret)
{
	struct page_layout page = {
		.ts_size = 8,
		.commit_offset = 8,
		.commit_size = long_size,
		.data_offset = 8 + long_size,
		.data_size = 4096 - 8 - long_size,
	};
	if (!text) {
		*ret = page;
		return 0;
	}
	if (len > FORMAT_TEXT_MAX)
		return -E2BIG;
	struct cut rest = cut_of(text, strnlen(text, len));
	struct format_ctx f = { .long_size = long_size };
	while (rest.len) {
		struct cut line = cut_trim(cut_until(&rest, '\n'));
		if (!is_field(line))
			continue;
		struct schema_field field = { 0 };
		struct cut tail = line, type, name, brackets;
		(void)cut_until(&tail, ':');
		if (split_decl(cut_until(&tail, ';'), &type, &name, &brackets) ||
		    set_numbers(&f, line, tail, type, &field))
			return -EINVAL;
		page_row(&page, name, &field);
	}
	if (!page_sane(&page))
		return -EINVAL;
	*ret = page;
	return 0;
}
