#include "view/text_trace.h"

#include "base/json.h"
#include "base/printable.h"
#include "view/json_fields.h"
#include "view/syscall_data.h"
#include "view/syscall_words.h"

#include <string.h>

enum { ARGS_WIDTH = 70, COMM_SHOWN = 14 };
#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define PLAIN  "\033[m"

void text_trace_init(struct text_trace *t)
{
	*t = (struct text_trace){ .tasks = true };
	strbuf_init(&t->args);
}

void text_trace_done(struct text_trace *t)
{
	strbuf_done(&t->args);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

/* Milliseconds with three digits, to the nearest: what "%WIDTH.3f" makes of them. */
static void add_ms(struct strbuf *to, u64 ns, size_t width)
{
	char text[NUM_DIGITS_MAX + 4], digits[NUM_DIGITS_MAX];
	u64 us = ns / 1000 + (ns % 1000 >= 500);
	if (unlikely(ns % 1000 == 500)) { /* a double is above or below it */
		strbuf_printf(to, "%*.3f", (int)width, (double)ns / 1e6);
		return;
	}
	size_t len = num_u64(text, us / 1000);
	text[len++] = '.';
	(void)num_u64(digits, 1000 + us % 1000);
	memcpy(text + len, digits + 1, 3);
	len += 3;
	if (len < width)
		strbuf_fill(to, ' ', width - len);
	strbuf_add(to, text, len);
}

static void add_hex(struct strbuf *to, u64 v)
{
	strbuf_add(to, "0x", 2);
	strbuf_hex(to, v);
}

static void add_octal(struct strbuf *to, u64 v)
{
	char text[24];
	size_t at = sizeof(text);
	do
		text[--at] = (char)('0' + (v & 7));
	while (v >>= 3);
	strbuf_char(to, '0');
	strbuf_add(to, text + at, sizeof(text) - at);
}

/* ---- heads ------------------------------------------------------------------------------------------------------ */

static void add_time(const struct text_trace *t, u64 time_ns, struct strbuf *to)
{
	if (time_ns)
		add_ms(to, time_ns >= t->base_ns ? time_ns - t->base_ns : 0, 10);
	else
		strbuf_str(to, "         ?");
	strbuf_char(to, ' ');
}

static void add_duration(const struct text_trace *t, bool known, u64 ns, struct strbuf *to)
{
	enum { SLOW_NS = 1000000, MEDIUM_NS = 10000 };
	if (!t->durations)
		return;
	if (!known) {
		strbuf_str(to, "(         ): ");
		return;
	}
	const char *colour = !t->colour	       ? NULL
			     : ns >= SLOW_NS   ? RED
			     : ns >= MEDIUM_NS ? YELLOW
					       : NULL;
	strbuf_char(to, '(');
	if (colour)
		strbuf_str(to, colour);
	add_ms(to, ns, 6);
	strbuf_str(to, " ms");
	if (colour)
		strbuf_str(to, PLAIN);
	strbuf_str(to, "): ");
}

static void add_task(const struct text_trace *t, const struct syscall_thread *c, struct strbuf *to)
{
	if (!t->tasks)
		return;
	strbuf_add(to, c->comm, strnlen(c->comm, COMM_SHOWN));
	strbuf_char(to, '/');
	strbuf_s64(to, c->tid);
	strbuf_char(to, ' ');
}

static bool ends_with(const char *s, const char *end)
{
	size_t a = strlen(s), b = strlen(end);
	return a >= b && !strcmp(s + a - b, end);
}

/* ---- arguments -------------------------------------------------------------------------------------------------- */

static void add_value(const struct syscall_arg *a, s64 v, struct strbuf *to)
{
	switch (a->kind) {
	case SYSCALL_WORDS:
		syscall_words_print(a->words, a->size == 4 ? (u32)v : (u64)v, to);
		break;
	case SYSCALL_POINTER:
	case SYSCALL_PATH: add_hex(to, (u64)v); break;
	case SYSCALL_MODE: add_octal(to, (u64)v); break;
	default:
		if (a->is_signed)
			strbuf_s64(to, v);
		else if ((u64)v >= 1ull << 47 || (a->size == 8 && (u64)v >= 1u << 31))
			add_hex(to, (u64)v);
		else
			strbuf_u64(to, (u64)v);
	}
}

/* After its number; a name may be anything. */
static void add_fd_name(const struct text_trace *t, const struct syscall_thread *c,
			const struct syscall_arg *a, s64 v, struct strbuf *to)
{
	bool directory = a->kind == SYSCALL_WORDS && ends_with(a->name, "dfd");
	const char *name = t->fd_name && v >= 0 && (a->kind == SYSCALL_FD || directory)
				   ? t->fd_name(t->fd_names, c->pid, (s32)v)
				   : NULL;
	if (!name)
		return;
	strbuf_char(to, '<');
	(void)printable_add(to, name, strlen(name), 0);
	strbuf_char(to, '>');
}

static bool is_shown(const struct text_trace *t, const struct syscall_arg *a, s64 v)
{
	return v || t->zeros || (a->kind == SYSCALL_WORDS && syscall_words_zero(a->words));
}

enum args_part { ARGS_BEGUN, ARGS_ALL, ARGS_REST /* what became known at the end */ };

static void add_args(const struct text_trace *t, const struct syscall_thread *c,
		     enum args_part part, struct strbuf *to)
{
	const char *before = "";
	strbuf_str(to, c->call->name);
	strbuf_char(to, '(');
	for (u32 i = 0; i < c->call->nr_args; i++) {
		const struct syscall_arg *a = &c->call->args[i];
		s64 v = syscall_arg_value(a, c->args[i]);
		int piece = syscall_data_find(c, i, part == ARGS_REST);
		if (part == ARGS_REST ? piece < 0
				      : !is_shown(t, a, v) || !syscall_arg_counts(a, c->args))
			continue;
		strbuf_str(to, before);
		strbuf_str(to, a->name);
		strbuf_add(to, ": ", 2);
		if (piece >= 0)
			syscall_data_print(c, (u32)piece, part != ARGS_BEGUN, to);
		else
			add_value(a, v, to);
		add_fd_name(t, c, a, v, to);
		before = ", ";
	}
}

static void add_result(const struct syscall_thread *c, struct strbuf *to)
{
	if (syscall_failed(c->ret)) {
		const char *name = syscall_errno_name((int)-c->ret);
		strbuf_add(to, "-1 ", 3);
		if (name)
			strbuf_str(to, name);
		else
			strbuf_s64(to, -c->ret);
		strbuf_add(to, " (", 2);
		strbuf_str(to, strerrordesc_np((int)-c->ret)
				       ? strerrordesc_np((int)-c->ret)
				       : "begun again or an error of a driver");
		strbuf_char(to, ')');
	} else if (c->call->result == SYSCALL_RETURNS_ADDRESS) {
		if (c->ret)
			add_hex(to, (u64)c->ret);
		else
			strbuf_char(to, '0');
	} else if (c->call->result == SYSCALL_RETURNS_READY && !c->ret) {
		strbuf_str(to, "0 (Timeout)");
	} else {
		strbuf_s64(to, c->ret);
		if (c->ret_comm)
			strbuf_printf(to, " (%s)", c->ret_comm);
	}
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

static void pad(struct strbuf *to, size_t used, size_t width)
{
	strbuf_fill(to, ' ', used < width ? width - used : 1);
}

void text_trace_call(struct text_trace *t, const struct syscall_thread *c, struct strbuf *to)
{
	bool timed = c->enter_ns && c->exit_ns >= c->enter_ns;
	struct strbuf *line = &t->args;
	strbuf_reset(line);
	bool rest = c->printed || !c->enter_ns;
	if (rest)
		strbuf_str(line, " ... [continued]: ");
	add_args(t, c, rest ? ARGS_REST : ARGS_ALL, line);
	strbuf_char(line, ')');
	add_time(t, c->enter_ns, to);
	add_duration(t, timed, c->exit_ns - c->enter_ns, to);
	add_task(t, c, to);
	strbuf_add(to, line->data, line->len);
	pad(to, line->len, ARGS_WIDTH);
	strbuf_add(to, "= ", 2);
	add_result(c, to);
	strbuf_char(to, '\n');
}

void text_trace_begun(struct text_trace *t, const struct syscall_thread *c, struct strbuf *to)
{
	struct strbuf *line = &t->args;
	strbuf_reset(line);
	add_args(t, c, ARGS_BEGUN, line);
	strbuf_char(line, ')');
	add_time(t, c->enter_ns, to);
	add_duration(t, false, 0, to);
	add_task(t, c, to);
	strbuf_add(to, line->data, line->len);
	if (c->call->never_returns) {
		pad(to, line->len, ARGS_WIDTH);
		strbuf_str(to, "= ?\n");
		return;
	}
	if (line->len < ARGS_WIDTH - 4)
		strbuf_fill(to, ' ', ARGS_WIDTH - 4 - line->len);
	strbuf_str(to, " ...\n");
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

/* Addresses of code and data, which nobody reads in decimal. */
static bool is_address(const struct schema_field *f)
{
	return f->flags & FIELD_POINTER || strstr(f->name, "addr") || !strcmp(f->name, "ip") ||
	       ends_with(f->name, "_ip") || !strcmp(f->name, "call_site") ||
	       !strcmp(f->name, "caller") || ends_with(f->name, "_function");
}

static void add_elements(const struct schema *sc, const struct schema_field *f, const u8 *p,
			 u32 len, struct strbuf *to)
{
	u32 step = f->elem_size == 2 || f->elem_size == 4 || f->elem_size == 8 ? f->elem_size : 1;
	struct schema_field one = { .size = step, .flags = f->flags & FIELD_SIGNED };
	strbuf_char(to, '[');
	for (u32 at = 0; at + step <= len; at += step) {
		u64 v = schema_u64(sc, &one, p + at, step);
		if (at)
			strbuf_add(to, ", ", 2);
		if (f->flags & FIELD_SIGNED)
			strbuf_s64(to, (s64)v);
		else
			strbuf_u64(to, v);
	}
	strbuf_char(to, ']');
}

static void add_field(const struct schema *sc, const struct schema_field *f, u64 v,
		      const struct sample *s, struct strbuf *to)
{
	u32 len;
	if (f->flags & (FIELD_STRING | FIELD_ARRAY | FIELD_DATA_LOC | FIELD_REL_LOC)) {
		const u8 *p = schema_bytes(sc, f, s->raw, s->raw_size, &len);
		if (!p) {
			strbuf_char(to, '?');
		} else if (f->flags & FIELD_STRING) {
			strbuf_char(to, '"');
			strbuf_add(to, p, len);
			strbuf_char(to, '"');
		} else {
			add_elements(sc, f, p, len, to);
		}
	} else if (is_address(f)) {
		add_hex(to, v);
	} else if (f->flags & FIELD_SIGNED) {
		strbuf_s64(to, (s64)v);
	} else {
		strbuf_u64(to, v);
	}
}

static void add_fields(const struct text_trace *t, const struct sample *s, struct strbuf *to)
{
	const struct schema *sc = s->schema;
	const char *before = "";
	for (u32 i = sc->nr_common; i < sc->nr_fields; i++) {
		const struct schema_field *f = &sc->fields[i];
		bool plain =
			!(f->flags & (FIELD_STRING | FIELD_ARRAY | FIELD_DATA_LOC | FIELD_REL_LOC));
		u64 v = plain ? schema_u64(sc, f, s->raw, s->raw_size) : 1;
		if (!v && !t->zeros)
			continue;
		strbuf_str(to, before);
		strbuf_str(to, f->name);
		strbuf_add(to, ": ", 2);
		add_field(sc, f, v, s, to);
		before = ", ";
	}
}

void text_trace_event(struct text_trace *t, const struct syscall_thread *who, const char *name,
		      const struct sample *s, struct strbuf *to)
{
	add_time(t, s->time_ns, to);
	add_duration(t, false, 0, to);
	add_task(t, who, to);
	strbuf_str(to, name);
	strbuf_char(to, '(');
	if (s->schema && s->raw)
		add_fields(t, s, to);
	strbuf_str(to, ")\n");
}

/* ---- page faults ------------------------------------------------------------------------------------------------ */

void text_trace_fault(struct text_trace *t, const struct syscall_thread *who, u64 time_ns,
		      const struct text_trace_fault *f, struct strbuf *to)
{
	const struct text_trace_place *code = &f->code, *data = &f->data;
	add_time(t, time_ns, to);
	if (t->as_perf)
		strbuf_str(to, "( 0.000 ms): ");
	else
		add_duration(t, false, 0, to);
	add_task(t, who, to);
	strbuf_str(to, f->major ? "majfault [" : "minfault [");
	if (code->symbol) {
		(void)printable_add(to, code->symbol, strlen(code->symbol), 0);
		strbuf_char(to, '+');
	}
	add_hex(to, code->symbol || code->map ? code->offset : code->addr);
	strbuf_str(to, "] => ");
	if (data->map) {
		(void)printable_add(to, data->map, strlen(data->map), 0);
		strbuf_char(to, '@');
	}
	add_hex(to, data->map ? data->offset : data->addr);
	bool kernel = data->map ? data->addr >> 63 : f->kernel;
	strbuf_printf(to, " (%c%c)\n", data->map ? 'd' : '?', kernel ? 'k' : '.');
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static void json_head(struct json *j, const struct syscall_thread *c, u64 time_ns)
{
	json_object(j);
	json_key(j, "time_ns");
	if (time_ns)
		json_u64(j, time_ns);
	else
		json_null(j);
	json_put_s64(j, "pid", c->pid);
	json_put_s64(j, "tid", c->tid);
	json_put_str(j, "comm", c->comm);
}

static void json_piece(struct json *j, const struct syscall_thread *c, const char *name, u32 piece,
		       bool ended)
{
	struct strbuf text;
	size_t len;
	const char *string = syscall_data_string(c, piece, &len);
	json_key(j, name);
	if (string) {
		json_strn(j, string, len);
		return;
	}
	strbuf_init(&text);
	syscall_data_print(c, piece, ended, &text);
	json_strn(j, text.data, text.len);
	strbuf_done(&text);
}

static void json_arg(struct json *j, const struct syscall_arg *a, s64 v)
{
	if (a->kind == SYSCALL_WORDS) {
		struct strbuf text;
		strbuf_init(&text);
		syscall_words_print(a->words, a->size == 4 ? (u32)v : (u64)v, &text);
		json_put_str(j, a->name, strbuf_cstr(&text));
		strbuf_done(&text);
	} else if (a->is_signed || a->kind == SYSCALL_FD) {
		json_put_s64(j, a->name, v);
	} else {
		json_put_u64(j, a->name, (u64)v);
	}
}

void json_trace_call(const struct syscall_thread *c, bool ended, struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_COMPACT);
	json_head(&j, c, c->enter_ns);
	json_put_str(&j, "syscall", c->call->name);
	if (c->enter_ns) {
		json_key(&j, "args");
		json_object(&j);
		for (u32 i = 0; i < c->call->nr_args; i++) {
			const struct syscall_arg *a = &c->call->args[i];
			int piece = syscall_data_find(c, i, false);
			if (piece >= 0)
				json_piece(&j, c, a->name, (u32)piece, ended);
			else
				json_arg(&j, a, syscall_arg_value(a, c->args[i]));
		}
		json_object_end(&j);
	}
	if (ended) {
		json_put_s64(&j, "ret", c->ret);
		if (syscall_failed(c->ret) && syscall_errno_name((int)-c->ret))
			json_put_str(&j, "error", syscall_errno_name((int)-c->ret));
		json_put_u64(&j, "end_ns", c->exit_ns);
	}
	json_object_end(&j);
	(void)!json_end(&j);
}

void json_trace_event(const struct syscall_thread *who, const char *name, const u16 *before,
		      const struct sample *s, struct strbuf *to)
{
	struct json j;
	struct strbuf fields;
	strbuf_init(&fields);
	json_begin(&j, to, JSON_COMPACT);
	json_head(&j, who, s->time_ns);
	json_put_s64(&j, "cpu", s->cpu);
	json_put_str(&j, "event", name);
	if (s->schema && s->raw) {
		json_fields(&fields, s->schema, before, s);
		json_key(&j, "fields");
		json_value(&j, fields.data, fields.len);
	}
	json_object_end(&j);
	(void)!json_end(&j);
	strbuf_done(&fields);
}

static void json_fault_place(struct json *j, const char *key, const struct text_trace_place *p)
{
	json_key(j, key);
	json_object(j);
	json_put_u64(j, "addr", p->addr);
	if (p->map)
		json_put_str(j, "map", p->map);
	if (p->symbol)
		json_put_str(j, "symbol", p->symbol);
	if (p->map || p->symbol)
		json_put_u64(j, "offset", p->offset);
	json_object_end(j);
}

void json_trace_fault(const struct syscall_thread *who, const char *name, const struct sample *s,
		      const struct text_trace_fault *f, struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_COMPACT);
	json_head(&j, who, s->time_ns);
	json_put_s64(&j, "cpu", s->cpu);
	json_put_str(&j, "event", name);
	json_put_str(&j, "fault", f->major ? "major" : "minor");
	json_fault_place(&j, "code", &f->code);
	json_fault_place(&j, "data", &f->data);
	json_object_end(&j);
	(void)!json_end(&j);
}

/* ---- summaries -------------------------------------------------------------------------------------------------- */

static double ms(u64 ns)
{
	return (double)ns / 1e6;
}

static void add_row(struct syscall_row *r, const struct text_trace_summary *o, struct strbuf *to)
{
	strbuf_printf(to, "   %-15s %8llu %6llu %9.3f %9.3f %9.3f", r->call->name,
		      (unsigned long long)r->nr, (unsigned long long)r->nr_failed, ms(r->total_ns),
		      ms(r->min_ns), r->mean / 1e6);
	if (o->percentiles)
		strbuf_printf(to, " %9.3f", ms((u64)histogram_percentile(&r->times, 99)));
	strbuf_printf(to, " %9.3f %9.2f%%\n", ms(r->max_ns), syscall_row_spread(r));
	if (o->errors)
		vec_for_each (&r->errors, e)
			strbuf_printf(to, "\t\t\t\t%s: %llu\n",
				      syscall_errno_name(e->err) ? syscall_errno_name(e->err) : "?",
				      (unsigned long long)e->nr);
}

static void add_table(const struct syscall_task *task, const struct text_trace_summary *o,
		      struct strbuf *to)
{
	const char *p99 = o->percentiles ? "     p99  " : "";
	const char *unit = o->percentiles ? "    (msec)" : "";
	const char *rule = o->percentiles ? " ---------" : "";
	if (!task->rows.nr)
		return;
	strbuf_printf(to,
		      "\n   syscall            calls  errors  total       min       avg  %s     "
		      "max       "
		      "stddev\n",
		      p99);
	strbuf_printf(to,
		      "                                     (msec)    (msec)    (msec)%s    (msec) "
		      "       "
		      "(%%)\n",
		      unit);
	strbuf_printf(
		to,
		"   --------------- --------  ------ -------- --------- ---------%s ---------     "
		"------\n",
		rule);
	vec_for_each (&task->rows, r)
		add_row(r, o, to);
	strbuf_str(to, "\n\n");
}

void text_trace_summary(struct syscall_stat *s, const struct text_trace_summary *o,
			struct strbuf *to)
{
	strbuf_str(to, "\n Summary of events:\n\n");
	vec_for_each (&s->tasks, t) {
		if (s->together)
			strbuf_printf(to, " total, %llu events\n", (unsigned long long)t->nr_events);
		else
			strbuf_printf(to, " %s (%d), %llu events, %.1f%%", t->comm, t->tid,
				      (unsigned long long)t->nr_events,
				      s->nr_events
					      ? 100.0 * (double)t->nr_events / (double)s->nr_events
					      : 0.0);
		if (t->nr_faults[1])
			strbuf_printf(to, ", %llu majfaults", (unsigned long long)t->nr_faults[1]);
		if (t->nr_faults[0])
			strbuf_printf(to, ", %llu minfaults", (unsigned long long)t->nr_faults[0]);
		strbuf_str(to, s->together ? "" : "\n");
		add_table(t, o, to);
	}
}

static void json_row(struct json *j, struct syscall_row *r)
{
	json_object(j);
	json_put_str(j, "syscall", r->call->name);
	json_put_u64(j, "calls", r->nr);
	json_put_u64(j, "errors", r->nr_failed);
	json_put_u64(j, "total_ns", r->total_ns);
	if (r->nr_timed) {
		json_put_u64(j, "min_ns", r->min_ns);
		json_put_double(j, "avg_ns", r->mean);
		json_put_u64(j, "p99_ns", (u64)histogram_percentile(&r->times, 99));
		json_put_u64(j, "max_ns", r->max_ns);
		json_put_double(j, "stddev_percent", syscall_row_spread(r));
	}
	json_key(j, "errnos");
	json_object(j);
	vec_for_each (&r->errors, e)
		if (syscall_errno_name(e->err))
			json_put_u64(j, syscall_errno_name(e->err), e->nr);
	json_object_end(j);
	json_object_end(j);
}

int json_trace_summary(struct syscall_stat *s, u64 nr_lost, struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_COMPACT);
	json_object(&j);
	json_put_u64(&j, "events", s->nr_events);
	json_put_u64(&j, "lost", nr_lost);
	json_key(&j, "summary");
	json_array(&j);
	vec_for_each (&s->tasks, t) {
		json_object(&j);
		if (!s->together) {
			json_put_s64(&j, "pid", t->pid);
			json_put_s64(&j, "tid", t->tid);
			json_put_str(&j, "comm", t->comm);
		}
		json_put_u64(&j, "events", t->nr_events);
		json_put_u64(&j, "minor_faults", t->nr_faults[0]);
		json_put_u64(&j, "major_faults", t->nr_faults[1]);
		json_key(&j, "syscalls");
		json_array(&j);
		vec_for_each (&t->rows, r)
			json_row(&j, r);
		json_array_end(&j);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}
