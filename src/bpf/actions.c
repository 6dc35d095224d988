#include "bpf/actions.h"

#include "base/clock.h"
#include "bpf/map_view.h"
#include "bpf/metrics.h"
#include "bpf/printf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* A record as it lies in the ring. */
struct record {
	const struct program_action *action;
	const u8 *fields;
	u32 len; /* of fields */
	u32 probe;
};

static void emit_text(struct actions *a, const char *type, const char *text, size_t len)
{
	if (!a->json) {
		strbuf_add(a->out, text, len);
		return;
	}
	struct json j;
	json_begin(&j, a->out, JSON_COMPACT);
	json_object(&j);
	json_put_str(&j, "type", type);
	json_key(&j, "data");
	json_strn(&j, text, len);
	json_object_end(&j);
	(void)!json_end(&j);
}

/* The text of printf(), in a buffer of its own where it is not printed at once. */
static void render(const struct actions *a, const struct record *r, struct strbuf *to)
{
	printf_text(&a->style, r->action->format ? r->action->format : "", &r->action->record,
		    r->fields, to);
}

static u32 line_at(const char *text, u32 at)
{
	u32 line = 1;
	for (u32 i = 0; text && i < at && text[i]; i++)
		line += text[i] == '\n';
	return line;
}

static void do_printf(struct actions *a, const struct record *r)
{
	if (!a->json && !r->action->stream) {
		render(a, r, a->out);
		return;
	}
	struct strbuf text;
	strbuf_init(&text);
	render(a, r, &text);
	if (a->json) {
		static const char *const types[] = { "printf", "warnf", "errorf" };
		emit_text(a, types[min(r->action->stream, (u8)2)], strbuf_cstr(&text), text.len);
	} else {
		static const char *const marks[] = { "", "WARNING: ", "ERROR: " };
		strbuf_printf(a->err, "%sline %u: ", marks[min(r->action->stream, (u8)2)],
			      line_at(a->program->text, r->action->span_start));
		strbuf_add(a->err, strbuf_cstr(&text), text.len);
		if (!text.len || text.data[text.len - 1] != '\n')
			strbuf_char(a->err, '\n');
	}
	strbuf_done(&text);
}

static void do_print(struct actions *a, const struct record *r)
{
	if (!r->action->record.nr)
		return;
	const struct program_field *f = &r->action->record.fields[0];
	const void *value = r->fields + f->offset;
	if (!a->json) {
		map_value_text(&a->style, f->type, value, 0, a->out);
		strbuf_char(a->out, '\n');
		return;
	}
	struct json j;
	json_begin(&j, a->out, JSON_COMPACT);
	json_object(&j);
	json_put_str(&j, "type", "value");
	json_key(&j, "data");
	value_json(&a->style, f->type, value, &j);
	json_object_end(&j);
	(void)!json_end(&j);
}

static s64 field_or(const struct record *r, u32 i, s64 otherwise)
{
	const struct program_type *t = &r->action->record;
	if (i >= t->nr)
		return otherwise;
	return value_int(t->fields[i].type, r->fields + t->fields[i].offset);
}

/* key: of the only row to print, or NULL: all; unless_zero: then nothing is printed. */
static int print_map(struct actions *a, u32 map, const struct map_print *p, const void *key,
		     bool unless_zero)
{
	struct map_rows rows;
	const struct program_map *m = &a->program->maps.at[map];
	int rc = map_rows_read(&rows, m, a->loaded->maps[map], a->loaded->nr_cpus);
	if (rc)
		return rc;
	if (unless_zero && map_rows_are_zero(&rows)) {
		map_rows_done(&rows);
		return 0;
	}
	if (key)
		map_rows_keep(&rows, key);
	rc = map_rows_sort_by(&rows, p->order);
	if (!rc && a->json) {
		struct json j;
		json_begin(&j, a->out, JSON_COMPACT);
		map_rows_json(&rows, &a->style, p, &j);
		(void)!json_end(&j);
	} else if (!rc) {
		map_rows_text(&rows, &a->style, p, a->out);
	}
	map_rows_done(&rows);
	return rc;
}

static void map_error(struct actions *a, const char *what, u32 map, int err)
{
	if (err)
		strbuf_printf(a->err, "cannot %s %s: %s\n", what, a->program->maps.at[map].name,
			      strerror(-err));
}

static void do_map(struct actions *a, const struct record *r)
{
	u32 map = r->action->map;
	if (map >= a->program->maps.nr) {
		a->nr_bad++;
		return;
	}
	const struct program_map *m = &a->program->maps.at[map];
	int fd = a->loaded->maps[map];
	if (r->action->kind == PROGRAM_CLEAR) {
		map_error(a, "clear", map, map_clear(m, fd, a->loaded->nr_cpus));
		if (map < 64)
			a->cleared |= 1ull << map;
	} else if (r->action->kind == PROGRAM_ZERO) {
		map_error(a, "zero", map, map_zero(m, fd, a->loaded->nr_cpus));
	} else {
		struct map_print p = { .top = (u32)field_or(r, 0, 0),
				       .div = (u64)field_or(r, 1, 0),
				       .order = r->action };
		const struct program_type *t = &r->action->record;
		const void *key = t->nr > 2 ? r->fields + t->fields[2].offset : NULL;
		map_error(a, "print", map, print_map(a, map, &p, key, false));
	}
}

/* Arguments of a command: strings one after the other, of which those that are empty end it. */
static void do_join(struct actions *a, const struct record *r)
{
	const struct program_type *t = &r->action->record;
	if (!t->nr)
		return;
	const struct program_field *f = &t->fields[0];
	const u8 *data = r->fields + f->offset;
	struct strbuf text;
	strbuf_init(&text);
	bool array = f->type->kind == PROGRAM_ARRAY && f->type->nr;
	const struct program_type *element = array ? f->type->fields[0].type : f->type;
	for (u32 i = 0; i < (array ? f->type->nr : 1); i++) {
		const u8 *at = data + (size_t)i * element->size;
		size_t len = value_strlen(element, at);
		if (!len)
			break;
		if (i)
			strbuf_str(&text, r->action->format ? r->action->format : " ");
		strbuf_add(&text, at, len);
	}
	strbuf_char(&text, '\n');
	emit_text(a, "join", strbuf_cstr(&text), text.len);
	strbuf_done(&text);
}

static void do_time(struct actions *a, const struct record *r)
{
	struct strbuf text;
	strbuf_init(&text);
	u64 now = clock_ns(CLOCK_BOOTTIME);
	const char *format = r->action->format ? r->action->format : "%H:%M:%S\n";
	value_time(&a->style, format, (u64)field_or(r, 0, (s64)now), &text);
	emit_text(a, "time", strbuf_cstr(&text), text.len);
	strbuf_done(&text);
}

static void do_cat(struct actions *a, const struct record *r)
{
	enum { CAT_BYTES = 10240 };
	struct strbuf path, text;
	strbuf_init(&path);
	strbuf_init(&text);
	render(a, r, &path);
	u32 limit = a->program->config.max_cat_bytes ? a->program->config.max_cat_bytes : CAT_BYTES;
	int fd = open(strbuf_cstr(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = -1;
	char *room = fd < 0 ? NULL : strbuf_room(&text, limit);
	while (room && text.len < limit && (n = read(fd, room, limit - text.len)) > 0) {
		strbuf_commit(&text, (size_t)n);
		room = strbuf_room(&text, limit);
	}
	if (fd < 0)
		strbuf_printf(a->err, "cannot open '%s': %s\n", strbuf_cstr(&path), strerror(errno));
	else
		close(fd);
	if (text.len)
		emit_text(a, "cat", strbuf_cstr(&text), text.len);
	strbuf_done(&text);
	strbuf_done(&path);
}

/* Reads all that a command prints. */
static void read_command(FILE *f, struct strbuf *to)
{
	char block[4096];
	size_t n;
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		strbuf_add(to, block, n);
}

static void do_system(struct actions *a, const struct record *r)
{
	if (!a->allow_unsafe) {
		strbuf_str(a->err, "system() was not run: unsafe functions are not allowed\n");
		return;
	}
	struct strbuf command, text;
	strbuf_init(&command);
	strbuf_init(&text);
	render(a, r, &command);
	FILE *f = popen(strbuf_cstr(&command), "re");
	if (f) {
		read_command(f, &text);
		pclose(f);
		emit_text(a, "syscall", strbuf_cstr(&text), text.len);
	} else {
		strbuf_printf(a->err, "cannot run '%s': %s\n", strbuf_cstr(&command),
			      strerror(errno));
	}
	strbuf_done(&text);
	strbuf_done(&command);
}

static void do_runtime_error(struct actions *a, const struct record *r)
{
	const char *where =
		r->probe < a->program->probes.nr ? a->program->probes.at[r->probe].text : "a probe";
	s64 err = field_or(r, 0, 0);
	struct strbuf text;
	strbuf_init(&text);
	strbuf_printf(&text, "line %u: %s: cannot read memory: %s\n",
		      line_at(a->program->text, r->action->span_start), where,
		      strerror((int)(err < 0 ? -err : err)));
	if (a->json) {
		emit_text(a, "runtime_error", strbuf_cstr(&text), text.len);
	} else {
		strbuf_str(a->err, "WARNING: ");
		strbuf_add(a->err, strbuf_cstr(&text), text.len);
	}
	strbuf_done(&text);
}

static bool decode(const struct actions *a, const void *data, u32 len, struct record *r)
{
	struct program_record head;
	if (len < sizeof(head))
		return false;
	memcpy(&head, data, sizeof(head));
	if (head.action >= a->program->actions.nr)
		return false;
	r->action = &a->program->actions.at[head.action];
	r->fields = (const u8 *)data + sizeof(head);
	r->len = len - (u32)sizeof(head);
	r->probe = head.probe;
	return r->len >= r->action->record.size;
}

int actions_record(void *ctx, const void *data, u32 len)
{
	struct actions *a = ctx;
	struct record r;
	if (a->exit)
		return 1;
	a->nr_records++;
	if (!decode(a, data, len, &r)) {
		a->nr_bad++;
		return 0;
	}
	switch (r.action->kind) {
	case PROGRAM_PRINTF: do_printf(a, &r); break;
	case PROGRAM_PRINT: do_print(a, &r); break;
	case PROGRAM_PRINT_MAP:
	case PROGRAM_CLEAR:
	case PROGRAM_ZERO: do_map(a, &r); break;
	case PROGRAM_EXIT:
		a->exit = true;
		a->status = (s32)field_or(&r, 0, 0);
		return 1;
	case PROGRAM_JOIN: do_join(a, &r); break;
	case PROGRAM_TIME: do_time(a, &r); break;
	case PROGRAM_CAT: do_cat(a, &r); break;
	case PROGRAM_SYSTEM: do_system(a, &r); break;
	case PROGRAM_RUNTIME_ERROR: do_runtime_error(a, &r); break;
	}
	return 0;
}

static int compare_maps(const void *x, const void *y, void *ctx)
{
	const struct program *p = ctx;
	return strcmp(p->maps.at[*(const u32 *)x].name, p->maps.at[*(const u32 *)y].name);
}

/* The maps of the script, by name: their numbers, nr of them. NULL: no memory. */
static u32 *user_maps(const struct program *p, u32 *nr)
{
	u32 *order = calloc(max(p->maps.nr, (size_t)1), sizeof(*order));
	*nr = 0;
	for (u32 i = 0; order && i < p->maps.nr; i++)
		if (p->maps.at[i].role == PROGRAM_MAP_USER)
			order[(*nr)++] = i;
	if (order)
		qsort_r(order, *nr, sizeof(*order), compare_maps, (void *)(uintptr_t)p);
	return order;
}

int actions_print_maps(struct actions *a)
{
	u32 nr;
	_cleanup_free_ u32 *order = user_maps(a->program, &nr);
	int rc = order ? 0 : -ENOMEM;
	const struct map_print all = { 0 };
	for (u32 i = 0; !rc && i < nr; i++) {
		bool cleared = order[i] < 64 && a->cleared >> order[i] & 1;
		rc = print_map(a, order[i], &all, NULL,
			       cleared && a->program->maps.at[order[i]].is_scalar);
	}
	return rc;
}

int actions_metrics(struct actions *a, struct strbuf *to)
{
	u32 nr;
	_cleanup_free_ u32 *order = user_maps(a->program, &nr);
	int rc = order ? 0 : -ENOMEM;
	for (u32 i = 0; !rc && i < nr; i++) {
		struct map_rows rows;
		rc = map_rows_read(&rows, &a->program->maps.at[order[i]], a->loaded->maps[order[i]],
				   a->loaded->nr_cpus);
		if (rc)
			break;
		rc = map_rows_sort(&rows);
		if (!rc)
			metrics_map(&rows, &a->style, to);
		map_rows_done(&rows);
	}
	metrics_end(to);
	return rc;
}
