/*
 * Rows as text, CSV or JSON, while they come. For a text table the first rows are held until it is known how wide they are; later ones that
 * are wider push the columns after them.
 */
#include "base/json.h"
#include "base/printable.h"
#include "session/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	HELD_ROWS = 1000,
	HELD_BYTES = 4 << 20,
	WIDTH_MAX = 60 /* one long name does not push columns off the screen */
};

struct print_column {
	char *name;
	size_t width;
	bool text; /* left-aligned */
};

struct query_printer {
	enum query_format format;
	struct strbuf *out;
	struct json json;
	VEC(struct print_column) columns;
	bool begun; /* JSON: the object; others: a result was printed */
	bool in_rows;
	/* Text: cells that are held, each ends with a NUL. */
	struct strbuf held;
	u32 nr_held;
	bool streaming;
	struct strbuf cell;
	u64 nr_rows;
};

struct query_printer *query_printer_new(enum query_format f, struct strbuf *out)
{
	struct query_printer *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->format = f;
	p->out = out;
	strbuf_init(&p->held);
	strbuf_init(&p->cell);
	p->cell.screen = p->held.screen = out->screen;
	return p;
}

static void drop_columns(struct query_printer *p)
{
	vec_for_each (&p->columns, c)
		free(c->name);
	p->columns.nr = 0;
}

void query_printer_free(struct query_printer *p)
{
	if (!p)
		return;
	drop_columns(p);
	vec_free(&p->columns);
	strbuf_done(&p->held);
	strbuf_done(&p->cell);
	free(p);
}

u64 query_printer_rows(const struct query_printer *p)
{
	return p->nr_rows;
}

/* ---- values ---- */

static void add_hex(struct strbuf *to, const struct query_cell *c)
{
	static const char digits[] = "0123456789abcdef";
	strbuf_str(to, "x'");
	for (size_t i = 0; i < c->len; i++) {
		u8 b = (u8)c->text[i];
		strbuf_char(to, digits[b >> 4]);
		strbuf_char(to, digits[b & 15]);
	}
	strbuf_char(to, '\'');
}

static void add_value(struct strbuf *to, const struct query_cell *c)
{
	switch (c->type) {
	case QUERY_INT: strbuf_s64(to, c->i); break;
	case QUERY_REAL: strbuf_printf(to, "%.15g", c->f); break;
	case QUERY_TEXT: strbuf_add(to, c->text, c->len); break;
	case QUERY_BLOB: add_hex(to, c); break;
	default: break;
	}
}

/* ---- CSV ---- */

static void csv_text(struct strbuf *to, const char *text, size_t len)
{
	bool plain = true;
	for (size_t i = 0; i < len; i++)
		plain &= !strchr(",\"\r\n", text[i]) && text[i];
	if (plain) {
		strbuf_add(to, text, len);
		return;
	}
	strbuf_char(to, '"');
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			strbuf_char(to, '"');
		strbuf_char(to, text[i]);
	}
	strbuf_char(to, '"');
}

static void csv_row(struct query_printer *p, const struct query_cell *cells, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		if (i)
			strbuf_char(p->out, ',');
		if (cells[i].type == QUERY_TEXT)
			csv_text(p->out, cells[i].text, cells[i].len);
		else
			add_value(p->out, &cells[i]);
	}
	strbuf_char(p->out, '\n');
}

/* ---- JSON ---- */

static void json_row(struct query_printer *p, const struct query_cell *cells, u32 nr)
{
	struct json *j = &p->json;
	json_object(j);
	for (u32 i = 0; i < nr; i++) {
		json_key(j, p->columns.at[i].name);
		switch (cells[i].type) {
		case QUERY_INT: json_s64(j, cells[i].i); break;
		case QUERY_REAL: json_double(j, cells[i].f); break;
		case QUERY_TEXT: json_strn(j, cells[i].text, cells[i].len); break;
		case QUERY_BLOB:
			strbuf_reset(&p->cell);
			add_hex(&p->cell, &cells[i]);
			json_strn(j, p->cell.data, p->cell.len);
			break;
		default: json_null(j);
		}
	}
	json_object_end(j);
}

static void json_begin_result(struct query_printer *p)
{
	struct json *j = &p->json;
	if (!p->begun) {
		json_begin(j, p->out, JSON_COMPACT);
		json_object(j);
		json_key(j, "results");
		json_array(j);
	}
	json_object(j);
	json_key(j, "columns");
	json_array(j);
	vec_for_each (&p->columns, c)
		json_str(j, c->name);
	json_array_end(j);
	json_key(j, "rows");
	json_array(j);
}

/* ---- text ---- */

/* Characters, not bytes. What is wider than one column of the terminal is rare in names. */
static size_t width_of(const char *text, size_t len)
{
	size_t n = 0;
	for (size_t i = 0; i < len; i++)
		n += ((u8)text[i] & 0xc0) != 0x80;
	return n;
}

static void add_cell(struct query_printer *p, u32 i, const char *text, size_t len)
{
	const struct print_column *c = &p->columns.at[i];
	size_t width = width_of(text, len);
	size_t pad = c->width > width ? c->width - width : 0;
	bool last = i + 1 == p->columns.nr;
	if (i)
		strbuf_str(p->out, "  ");
	for (size_t k = 0; k < pad && !c->text; k++)
		strbuf_char(p->out, ' ');
	strbuf_add(p->out, text, len);
	for (size_t k = 0; k < pad && c->text && !last; k++)
		strbuf_char(p->out, ' ');
	if (last)
		strbuf_char(p->out, '\n');
}

static void put_head(struct query_printer *p)
{
	vec_for_each (&p->columns, c)
		c->width = max(c->width, width_of(c->name, strlen(c->name)));
	for (u32 i = 0; i < p->columns.nr; i++)
		add_cell(p, i, p->columns.at[i].name, strlen(p->columns.at[i].name));
}

static void put_held(struct query_printer *p)
{
	const char *at = p->held.data;
	put_head(p);
	for (u32 row = 0; row < p->nr_held; row++)
		for (u32 i = 0; i < p->columns.nr; i++) {
			u32 len;
			memcpy(&len, at, sizeof(len));
			add_cell(p, i, at + sizeof(len), len);
			at += sizeof(len) + len;
		}
	strbuf_reset(&p->held);
	p->nr_held = 0;
	p->streaming = true;
}

/* A name, not lines: control characters are escaped. */
static void text_cell(struct query_printer *p, const struct query_cell *c)
{
	strbuf_reset(&p->cell);
	if (c->type == QUERY_TEXT)
		printable_name_len(&p->cell, c->text, c->len);
	else
		add_value(&p->cell, c);
	(void)strbuf_cstr(&p->cell);
}

static int text_row(struct query_printer *p, const struct query_cell *cells, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		struct print_column *c = &p->columns.at[i];
		text_cell(p, &cells[i]);
		if (p->cell.err)
			return p->cell.err;
		u32 len = (u32)p->cell.len;
		if (p->streaming) {
			add_cell(p, i, p->cell.data, len);
			continue;
		}
		c->width = max(c->width, min(width_of(p->cell.data, len), (size_t)WIDTH_MAX));
		c->text |= cells[i].type == QUERY_TEXT || cells[i].type == QUERY_BLOB;
		strbuf_add(&p->held, &len, sizeof(len));
		strbuf_add(&p->held, p->cell.data, len);
	}
	p->nr_held += !p->streaming;
	if (!p->held.err && (p->nr_held == HELD_ROWS || p->held.len > HELD_BYTES))
		put_held(p);
	return p->held.err;
}

/* ---- the sink ---- */

static bool name_taken(const struct query_printer *p, const char *name)
{
	vec_for_each (&p->columns, c)
		if (c->name && !strcmp(c->name, name))
			return true;
	return false;
}

/* Members of an object have different names: the second "tid" is "tid:1". */
static int add_column(struct query_printer *p, const char *name)
{
	struct strbuf s;
	strbuf_init(&s);
	strbuf_str(&s, name);
	for (u32 n = 1; p->format == QUERY_JSON && name_taken(p, strbuf_cstr(&s)); n++) {
		strbuf_reset(&s);
		strbuf_printf(&s, "%s:%u", name, n);
	}
	struct print_column *c = vec_push(&p->columns);
	if (c)
		c->name = strbuf_steal(&s);
	strbuf_done(&s);
	return c && c->name ? 0 : -ENOMEM;
}

static int columns(void *ctx, const char *const *names, u32 nr)
{
	struct query_printer *p = ctx;
	int err = 0;
	drop_columns(p);
	for (u32 i = 0; i < nr && !err; i++)
		err = add_column(p, names[i]);
	if (err)
		return err;
	if (p->format == QUERY_JSON)
		json_begin_result(p);
	else if (p->begun)
		strbuf_char(p->out, '\n');
	for (u32 i = 0; i < nr && p->format == QUERY_CSV; i++) {
		strbuf_str(p->out, i ? "," : "");
		csv_text(p->out, names[i], strlen(names[i]));
	}
	if (p->format == QUERY_CSV)
		strbuf_char(p->out, '\n');
	p->begun = p->in_rows = true;
	p->streaming = false;
	return p->out->err;
}

static int row(void *ctx, const struct query_cell *cells, u32 nr)
{
	struct query_printer *p = ctx;
	int err = 0;
	p->nr_rows++;
	if (p->format == QUERY_TEXT_TABLE)
		err = text_row(p, cells, nr);
	else if (p->format == QUERY_CSV)
		csv_row(p, cells, nr);
	else
		json_row(p, cells, nr);
	return err ? err : p->out->err;
}

static int end(void *ctx)
{
	struct query_printer *p = ctx;
	if (!p->in_rows)
		return 0;
	p->in_rows = false;
	if (p->format == QUERY_TEXT_TABLE && !p->streaming && !p->held.err)
		put_held(p);
	if (p->format == QUERY_JSON) {
		json_array_end(&p->json);
		json_object_end(&p->json);
	}
	return p->out->err;
}

struct query_sink query_printer_sink(struct query_printer *p)
{
	return (struct query_sink){ .columns = columns, .row = row, .end = end, .ctx = p };
}

int query_printer_end(struct query_printer *p)
{
	int err = end(p);
	if (p->format != QUERY_JSON)
		return err;
	if (!p->begun) {
		json_begin(&p->json, p->out, JSON_COMPACT);
		json_object(&p->json);
		json_key(&p->json, "results");
		json_array(&p->json);
	}
	json_array_end(&p->json);
	json_object_end(&p->json);
	return json_end(&p->json);
}
