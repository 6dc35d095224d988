/*
 * One event as a line. The layouts are those of trace-cmd 3.1.6 and its plug-ins, found by looking at what it prints;
 * tests/golden/ftrace holds it to them by the byte.
 */
#include "view/text_events_impl.h"

#include "base/printable.h"

#include <string.h>

enum { COMM_WIDTH = 16, COMM_WIDTH_LATENCY = 8 };

size_t text_line_comm_width(const struct text_events_opts *o)
{
	return o->latency ? COMM_WIDTH_LATENCY : COMM_WIDTH;
}

void text_line_put_comm(char *to, const char *comm, size_t len, size_t width)
{
	size_t pad = len < width ? width - len : 0;
	memset(to, ' ', pad);
	memcpy(to + pad, comm, len);
}

static void add_task(struct text_shard *sh, const struct sample *s)
{
	const struct text_events_opts *o = &sh->te->o;
	size_t width = text_line_comm_width(o);
	const char *comm = "<...>";
	if (!COMM_IS_UNNAMED(s->comm))
		comm = strtab_str(&o->catalog->strings, s->comm);
	else if (!o->plain && !o->raw_fields)
		text_open_task(sh, s);
	size_t len = strlen(comm);
	if (o->latency)
		len = min(len, width);
	if (unlikely(sh->text.screen)) {
		printable_right(&sh->text, comm, width);
		return;
	}
	char *to = strbuf_room(&sh->text, max(len, width));
	if (!to)
		return;
	text_line_put_comm(to, comm, len, width);
	strbuf_commit(&sh->text, max(len, width));
}

/* "-1234  [000]": pid to five columns, CPU to three digits. */
static void add_pid_cpu(struct text_shard *sh, const struct sample *s)
{
	char *start = strbuf_room(&sh->text, 2 * NUM_DIGITS_MAX + 16), *to = start;
	if (!start)
		return;
	*to++ = '-';
	unsigned n = 1;
	if (unlikely(s->tid == -1)) /* the event has no task */
		*to = '?';
	else
		n = num_s64(to, s->tid);
	to += n;
	for (; n < 5; n++)
		*to++ = ' ';
	*to++ = ' ';
	if (sh->te->o.latency) {
		char digits[NUM_DIGITS_MAX];
		n = num_u64(digits, (u32)s->cpu);
		for (unsigned pad = n; pad < 3; pad++)
			*to++ = ' ';
		memcpy(to, digits, n);
		to += n;
	} else {
		*to++ = '[';
		to += num_u64_pad0(to, (u32)s->cpu, 3);
		*to++ = ']';
	}
	strbuf_commit(&sh->text, (size_t)(to - start));
}

static u32 common_number(const struct sample *s, s8 index)
{
	return index < 0
		       ? 0
		       : (u32)schema_u64(s->schema, &s->schema->fields[index], s->raw, s->raw_size);
}

static void add_latency_flags(struct text_shard *sh, const struct sample *s)
{
	const struct schema *sc = s->schema;
	u32 flags = common_number(s, sc->common_flags),
	    count = common_number(s, sc->common_preempt_count);
	bool hard = flags & 8, soft = flags & 0x10;
	if (sh->te->o.raw_fields) {
		strbuf_str(&sh->text, "-0x");
		strbuf_hex(&sh->text, flags);
		return;
	}
	char *start = strbuf_room(&sh->text, 2 * NUM_DIGITS_MAX), *to = start;
	if (!start)
		return;
	*to++ = flags & 1 ? 'd' : flags & 2 ? 'X' : '.';
	*to++ = flags & 4 ? 'N' : '.';
	*to++ = hard && soft ? 'H' : hard ? 'h' : soft ? 's' : '.';
	*to++ = count & 0xf ? "0123456789abcdef"[count & 0xf] : '.';
	*to++ = count & 0xf0 ? "0123456789abcdef"[count >> 4 & 0xf] : '.';
	if (sc->common_migrate_disable >= 0) {
		s32 depth = (s32)common_number(s, sc->common_migrate_disable);
		if (depth < 0)
			*to++ = '.';
		else
			to += num_u64(to, (u32)depth);
	}
	if (sc->common_lock_depth >= 0) {
		s32 depth = (s32)common_number(s, sc->common_lock_depth);
		if (depth < 0)
			*to++ = '.';
		else
			to += num_u64(to, (u32)depth);
	}
	strbuf_commit(&sh->text, (size_t)(to - start));
}

/* " 12345.678": what the times of a millisecond begin with. */
static void set_milli(struct text_shard *sh, u64 milli, u64 unit)
{
	char digits[NUM_DIGITS_MAX];
	unsigned n = num_u64(digits, milli / 1000), pad = n < 5 ? 5 - n : 0;
	char *to = sh->milli_text;
	memset(to, ' ', pad + 1);
	memcpy(to + pad + 1, digits, n);
	to += pad + 1 + n;
	*to++ = '.';
	to += num_u64_pad0(to, milli % 1000, 3);
	sh->milli_len = (u32)(to - sh->milli_text);
	sh->milli = milli * unit;
}

/* v < 1000 */
static inline char *put_three(char *to, u32 v)
{
	u32 hundreds = v * 41 >> 12, rest = v - 100 * hundreds, tens = rest * 103 >> 10;
	to[0] = (char)('0' + hundreds);
	to[1] = (char)('0' + tens);
	to[2] = (char)('0' + rest - 10 * tens);
	return to + 3;
}

enum { TIME_MAX = 2 * NUM_DIGITS_MAX };

/* " 12345.678901: ", or the clock's own number in twelve columns. At most TIME_MAX bytes. */
static inline char *put_time(struct text_shard *sh, char *to, u64 time)
{
	const struct text_events_opts *o = &sh->te->o;
	if (unlikely(o->raw_time)) {
		char digits[NUM_DIGITS_MAX];
		unsigned n = num_u64(digits, time);
		for (unsigned pad = n; pad < 12; pad++)
			*to++ = ' ';
		memcpy(to, digits, n);
		to += n;
	} else {
		u64 unit = o->nanoseconds ? 1000000 : 1000; /* of a millisecond */
		if (!o->nanoseconds)
			time = (time + 500) / 1000;
		u64 part = time - sh->milli;
		if (unlikely(part >= unit || !sh->milli_len)) {
			u64 milli = time / unit;
			part = time - milli * unit;
			set_milli(sh, milli, unit);
		}
		memcpy(to, sh->milli_text, sizeof(sh->milli_text));
		to += sh->milli_len;
		if (unlikely(o->nanoseconds)) {
			u32 micro = (u32)part / 1000;
			to = put_three(to, micro);
			part -= (u64)micro * 1000;
		}
		to = put_three(to, (u32)part);
	}
	*to++ = ':';
	*to++ = ' ';
	return to;
}

/* "(+141)" in eight columns and a blank: microseconds, nanoseconds with full times; nothing before the first line. */
void text_line_add_diff(const struct text_events_opts *o, u64 time, u64 before, struct strbuf *to)
{
	char text[NUM_DIGITS_MAX + 8];
	unsigned n = 0;
	memcpy(text, "(+", 2);
	n = 2 + num_u64(text + 2, o->nanoseconds || o->raw_time
					  ? time - before
					  : (time + 500) / 1000 - (before + 500) / 1000);
	memcpy(text + n, ")", 2);
	strbuf_left(to, text, DIFF_WIDTH);
	strbuf_char(to, ' ');
}

/* The line before is known inside one text; its first line waits for its turn. */
static void add_line_diff(struct text_shard *sh, const struct sample *s)
{
	if (sh->has_last) {
		text_line_add_diff(&sh->te->o, s->time_ns, sh->last_time, &sh->text);
	} else {
		struct fix *f = text_open_add(sh, FIX_DIFF, 0);
		if (f)
			f->time = s->time_ns;
	}
	sh->last_time = s->time_ns;
	sh->has_last = true;
}

static void add_body(struct text_shard *sh, const struct event_look *look, const struct sample *s)
{
	switch (look->kind) {
	case KIND_FUNCTION:
	case KIND_GRAPH_ENTRY:
	case KIND_GRAPH_EXIT:
	case KIND_STACK: text_functions_add(sh, look, s); return;
	case KIND_SWITCH:
		text_open_learn(sh, s, look->fields[0], look->fields[1]);
		text_open_learn(sh, s, look->fields[2], look->fields[3]);
		break;
	case KIND_WAKEUP: text_open_learn(sh, s, look->fields[0], look->fields[1]); break;
	case KIND_PRINT: break;
	}
	if (look->raw)
		(void)look->schema->ops->print_fields(look->schema, s->raw, s->raw_size, &sh->text);
	else
		(void)look->schema->ops->print(look->schema, s->raw, s->raw_size, &sh->text);
}

static void add_lost(struct text_shard *sh, const struct sample *s)
{
	strbuf_str(&sh->text, "CPU:");
	strbuf_u64(&sh->text, (u32)s->cpu);
	strbuf_str(&sh->text, " [");
	if (s->missed != UINT32_MAX) {
		strbuf_u64(&sh->text, s->missed);
		strbuf_char(&sh->text, ' ');
	}
	strbuf_str(&sh->text, "EVENTS DROPPED]\n");
}

static void add_buffer(struct text_shard *sh, const struct sample *s)
{
	const struct text_events_opts *o = &sh->te->o;
	const char *name = s->buffer < o->nr_buffers ? o->buffers[s->buffer] : "";
	strbuf_right(&sh->text, name, sh->te->prefix_width);
	strbuf_str(&sh->text, *name ? ": " : "  ");
}

/* An event whose format the file does not have. */
static void add_unknown(struct text_shard *sh, const struct sample *s)
{
	char *to = strbuf_room(&sh->text, TIME_MAX);
	if (to)
		strbuf_commit(&sh->text, (size_t)(put_time(sh, to, s->time_ns) - to));
	size_t start = sh->text.len;
	strbuf_str(&sh->text, "type ");
	strbuf_u64(&sh->text, s->id == UINT32_MAX ? 0 : s->id);
	strbuf_char(&sh->text, ':');
	while (sh->text.len - start < LABEL_WIDTH && !sh->text.err)
		strbuf_char(&sh->text, ' ');
	strbuf_str(&sh->text, " [UNKNOWN EVENT]\n");
}

/* Where the head of the task's last line is kept, if it is. */
static inline struct head *head_of(struct text_shard *sh, const struct sample *s)
{
	return &sh->heads[((u32)s->tid * 8 + (u32)s->cpu) % NR_HEADS];
}

static inline bool head_fits(const struct head *h, const struct sample *s)
{
	return h->len && h->pid == s->tid && h->cpu == s->cpu && h->buffer == s->buffer &&
	       !s->missed;
}

/* Everything before the time. */
static void add_head(struct text_shard *sh, const struct sample *s)
{
	struct strbuf *t = &sh->text;
	struct head *h = head_of(sh, s);
	if (head_fits(h, s)) {
		strbuf_add(t, h->text, h->len);
		return;
	}
	size_t start = t->len;
	if (sh->te->o.buffers)
		add_buffer(sh, s);
	if (unlikely(s->missed))
		add_lost(sh, s);
	add_task(sh, s);
	add_pid_cpu(sh, s);
	size_t len = t->len - start;
	if (s->missed || t->err || COMM_IS_UNNAMED(s->comm) || len > HEAD_MAX)
		return;
	*h = (struct head){ .pid = s->tid, .cpu = s->cpu, .buffer = s->buffer, .len = (u32)len };
	memcpy(h->text, t->data + start, len);
}

/* Everything before the body; false: there is none. */
static bool add_start(struct text_shard *sh, const struct event_look *look, const struct sample *s)
{
	struct strbuf *t = &sh->text;
	if (sh->te->o.between)
		text_open_between(sh, s);
	add_head(sh, s);
	if (!look) {
		add_unknown(sh, s);
		return false;
	}
	if (sh->te->o.latency)
		add_latency_flags(sh, s);
	char *start = strbuf_room(t, TIME_MAX);
	if (!start)
		return false;
	strbuf_commit(t, (size_t)(put_time(sh, start, s->time_ns) - start));
	if (sh->te->o.diff)
		add_line_diff(sh, s);
	strbuf_add(t, look->label, look->label_len);
	return true;
}

/* The same of most lines in one go: the task's head is known, and nobody wants anything between its parts. false: not this one. */
static inline bool copy_start(struct text_shard *sh, const struct event_look *look,
			      const struct sample *s)
{
	const struct head *h = head_of(sh, s);
	if (unlikely(!look || !look->copied || !head_fits(h, s)))
		return false;
	char *start = strbuf_room(&sh->text, HEAD_MAX + TIME_MAX + LABEL_MAX);
	if (unlikely(!start))
		return false;
	memcpy(start, h->text, HEAD_MAX);
	char *to = put_time(sh, start + h->len, s->time_ns);
	memcpy(to, look->label, LABEL_MAX);
	strbuf_commit(&sh->text, (size_t)(to - start) + look->label_len);
	return true;
}

void text_line_add(struct text_shard *sh, const struct event_look *look, const struct sample *s)
{
	struct strbuf *t = &sh->text;
	if (look && look->kind == KIND_GRAPH_EXIT && text_functions_folded(look, s))
		return;
	sh->nr_lines++;
	if (!likely(copy_start(sh, look, s)) && !add_start(sh, look, s))
		return;
	add_body(sh, look, s);
	if (unlikely(sh->te->o.tail))
		sh->te->o.tail(sh->te->o.ctx, s, t);
	if (t->len && t->data[t->len - 1] != '\n')
		strbuf_char(t, '\n');
}
