/*
 * The layouts are those of trace-cmd 3.1.6 and its plug-ins, found by looking at what it prints; tests/golden/ftrace holds
 * it to them by the byte.
 */
#include "view/text_events.h"
#include "base/turns.h"

#include "base/dict.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

enum {
	LABEL_WIDTH = 21, /* of "name:" */
	FUNCTION_INDENT = 3,
	GRAPH_INDENT = 2,
	COMM_MAX = 16,
	COMM_WIDTH = 16,
	COMM_WIDTH_LATENCY = 8,
	HEAD_MAX = 64, /* start of a line kept for the next one of the same task */
	NR_HEADS = 128,
	DIFF_WIDTH = 8,
	LABEL_MAX = 32, /* labels up to it are copied in one go */
};

enum event_kind {
	KIND_PRINT, /* as its print fmt says */
	KIND_FUNCTION,
	KIND_GRAPH_ENTRY,
	KIND_GRAPH_EXIT,
	KIND_STACK,
	KIND_SWITCH, /* printed by its program; tells names of tasks */
	KIND_WAKEUP,
};

/* How one kind of event is shown; made by each worker for itself when the first one comes. */
struct event_look {
	const struct schema *schema;
	enum event_kind kind;
	bool raw;
	char *label; /* "name:" and blanks */
	u32 label_len;
	const struct schema_field *fields[4];
	const struct schema *partner; /* KIND_GRAPH_*: of the other one; NULL: not in the file */
	const struct schema_field *partner_func, *partner_call, *partner_ret;
};

/* What is left open in a text. */
enum fix_kind { FIX_TASK, FIX_LEARN, FIX_INDENT, FIX_DIFF, FIX_BETWEEN };

struct fix {
	size_t at;
	enum fix_kind kind;
	s32 pid; /* FIX_INDENT: the CPU */
	u32 file; /* FIX_TASK, FIX_LEARN: whose task */
	u64 time; /* FIX_DIFF, FIX_BETWEEN: of the line */
	const char *parent;
	const char *func;
	char comm[COMM_MAX + 1];
};

/* "buffer:  comm-pid  [cpu]" of a task on a CPU; copied whole, hence the size. */
struct head {
	s32 pid;
	s32 cpu;
	u32 buffer;
	u32 len; /* 0: free */
	char text[HEAD_MAX];
};

struct func_stack {
	VEC(const char *) names;
};

struct text_events {
	struct sink sink;
	struct text_events_opts o;
	struct strbuf *out;
	size_t prefix_width;

	struct turns turns;

	/* Of whoever has the turn. */
	struct dict learned; /* file and pid -> index */
	VEC(char *) learned_comms;
	VEC(struct func_stack) stacks; /* by CPU */
	u64 nr_lines;
	u64 last_time; /* of the line written last */
	bool has_last;
};

struct text_shard {
	struct text_events *te;
	struct strbuf text;
	VEC(struct fix) fixes;
	struct event_look **looks; /* by index into catalog.events */
	size_t nr_looks;
	u64 nr_lines;
	u64 last_time; /* of the line before in this text */
	bool has_last;
	u64 milli; /* where the millisecond of the last line began, and its digits */
	char milli_text[NUM_DIGITS_MAX];
	u32 milli_len; /* 0: none yet */
	struct head heads[NR_HEADS];
};

static struct text_events *te_of(const struct sink *k)
{
	return container_of(k, struct text_events, sink);
}

/* ---- looks ---- */

static bool in_ftrace(const struct schema *s, const char *name)
{
	return !strcmp(s->system, "ftrace") && !strcmp(s->name, name);
}

static bool find_fields(struct event_look *look, const char *a, const char *b, const char *c,
			const char *d)
{
	const char *names[] = { a, b, c, d };
	for (unsigned i = 0; i < ARRAY_SIZE(names) && names[i]; i++) {
		look->fields[i] = schema_find(look->schema, names[i]);
		if (!look->fields[i])
			return false;
	}
	return true;
}

/* The nearest to the event itself: files that are merged have their own each, one behind the other. */
static void find_partner(const struct text_events *te, struct event_look *look, u32 event,
			 const char *name)
{
	size_t nearest = SIZE_MAX;
	for (size_t i = 0; i < te->o.catalog->events.nr; i++) {
		const struct event_info *e = &te->o.catalog->events.at[i];
		size_t distance = i > event ? i - event : event - i;
		if (distance >= nearest || strcmp(e->name, name))
			continue;
		const struct schema *s = te->o.schema_of(te->o.ctx, (u32)i);
		if (!s || strcmp(s->system, "ftrace"))
			continue;
		nearest = distance;
		look->partner_func = schema_find(s, "func");
		look->partner_call = schema_find(s, "calltime");
		look->partner_ret = schema_find(s, "rettime");
		look->partner = look->partner_func ? s : NULL;
	}
}

static enum event_kind kind_of(const struct text_events *te, struct event_look *look, u32 event)
{
	const struct schema *s = look->schema;
	bool plain = te->o.plain || (te->o.plain_events && te->o.plain_events[event]);
	if (plain || look->raw || te->o.form == TEXT_EVENTS_JSON)
		return KIND_PRINT;
	if (in_ftrace(s, "function") && find_fields(look, "ip", "parent_ip", NULL, NULL))
		return KIND_FUNCTION;
	if (in_ftrace(s, "funcgraph_entry") && find_fields(look, "func", "depth", NULL, NULL)) {
		find_partner(te, look, event, "funcgraph_exit");
		return KIND_GRAPH_ENTRY;
	}
	if (in_ftrace(s, "funcgraph_exit") &&
	    find_fields(look, "func", "depth", "calltime", "rettime")) {
		find_partner(te, look, event, "funcgraph_entry");
		return KIND_GRAPH_EXIT;
	}
	if (in_ftrace(s, "kernel_stack") && find_fields(look, "caller", NULL, NULL, NULL))
		return KIND_STACK;
	if (strcmp(s->system, "sched"))
		return KIND_PRINT;
	if (!strcmp(s->name, "sched_switch") &&
	    find_fields(look, "prev_comm", "prev_pid", "next_comm", "next_pid"))
		return KIND_SWITCH;
	if ((!strcmp(s->name, "sched_wakeup") || !strcmp(s->name, "sched_wakeup_new")) &&
	    find_fields(look, "comm", "pid", NULL, NULL))
		return KIND_WAKEUP;
	return KIND_PRINT;
}

static struct event_look *make_look(struct text_shard *sh, const struct sample *s)
{
	struct event_look *look = calloc(1, sizeof(*look));
	if (!look)
		return NULL;
	struct strbuf label;
	strbuf_init(&label);
	strbuf_str(&label, s->schema->name);
	strbuf_char(&label, ':');
	while (label.len < LABEL_WIDTH && !label.err)
		strbuf_char(&label, ' ');
	strbuf_char(&label, ' ');
	look->label_len = (u32)label.len;
	while (label.len < LABEL_MAX && !label.err)
		strbuf_char(&label, ' ');
	look->label = strbuf_steal(&label);
	if (!look->label) {
		free(look);
		return NULL;
	}
	look->schema = s->schema;
	look->raw = sh->te->o.raw_fields || (sh->te->o.raw_events && sh->te->o.raw_events[s->event]);
	look->kind = kind_of(sh->te, look, s->event);
	sh->looks[s->event] = look;
	return look;
}

/* ---- left open ---- */

static struct fix *add_fix(struct text_shard *sh, enum fix_kind kind, s32 pid)
{
	struct fix *f = vec_push(&sh->fixes);
	if (!f) {
		sh->text.err = -ENOMEM;
		return NULL;
	}
	f->at = sh->text.len;
	f->kind = kind;
	f->pid = pid;
	return f;
}

/* Room for what others have to say before this line. */
static void add_between(struct text_shard *sh, const struct sample *s)
{
	struct fix *f = add_fix(sh, FIX_BETWEEN, s->tid);
	if (f)
		f->time = s->time_ns;
}

static u32 file_of(const struct text_events *te, const struct sample *s)
{
	return te->o.file_of ? te->o.file_of[s->buffer] : 0;
}

/* The reference keeps the name of a task it did not know from the first scheduler event that tells it. */
static void learn_comm(struct text_shard *sh, const struct sample *s,
		       const struct schema_field *comm, const struct schema_field *pid_field)
{
	const struct text_events_opts *o = &sh->te->o;
	u32 len;
	s32 pid = (s32)schema_u64(s->schema, pid_field, s->raw, s->raw_size);
	if (o->has_comm(o->ctx, s->buffer, pid))
		return;
	const char *name = schema_bytes(s->schema, comm, s->raw, s->raw_size, &len);
	struct fix *f = name ? add_fix(sh, FIX_LEARN, pid) : NULL;
	if (!f)
		return;
	f->file = file_of(sh->te, s);
	memcpy(f->comm, name, min(len, (u32)COMM_MAX));
}

/* ---- pieces of a line ---- */

static void put_comm(char *to, const char *comm, size_t len, size_t width)
{
	size_t pad = len < width ? width - len : 0;
	memset(to, ' ', pad);
	memcpy(to + pad, comm, len);
}

static void add_task(struct text_shard *sh, const struct sample *s)
{
	const struct text_events_opts *o = &sh->te->o;
	size_t width = o->latency ? COMM_WIDTH_LATENCY : COMM_WIDTH;
	const char *comm = "<...>";
	if (!COMM_IS_UNNAMED(s->comm))
		comm = strtab_str(&o->catalog->strings, s->comm);
	else if (!o->plain && !o->raw_fields) {
		struct fix *f = add_fix(sh, FIX_TASK, s->tid);
		if (f)
			f->file = file_of(sh->te, s);
	}
	size_t len = strlen(comm);
	if (o->latency)
		len = min(len, width);
	char *to = strbuf_room(&sh->text, max(len, width));
	if (!to)
		return;
	put_comm(to, comm, len, width);
	strbuf_commit(&sh->text, max(len, width));
}

/* "-1234  [000]": pid to five columns, CPU to three digits. */
static void add_pid_cpu(struct text_shard *sh, const struct sample *s)
{
	char *start = strbuf_room(&sh->text, 2 * NUM_DIGITS_MAX + 16), *to = start;
	if (!start)
		return;
	*to++ = '-';
	unsigned n = num_s64(to, s->tid);
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
static void add_diff(const struct text_events_opts *o, u64 time, u64 before, struct strbuf *to)
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
		add_diff(&sh->te->o, s->time_ns, sh->last_time, &sh->text);
	} else {
		struct fix *f = add_fix(sh, FIX_DIFF, 0);
		if (f)
			f->time = s->time_ns;
	}
	sh->last_time = s->time_ns;
	sh->has_last = true;
}

static void add_symbol(struct text_shard *sh, u32 buffer, u64 addr, const char *prefix)
{
	u64 offset;
	const char *name = sh->te->o.symbol(sh->te->o.ctx, buffer, addr, &offset);
	if (name) {
		strbuf_str(&sh->text, name);
	} else {
		strbuf_str(&sh->text, prefix);
		strbuf_hex(&sh->text, addr);
	}
}

static u64 field(const struct event_look *look, unsigned i, const struct sample *s)
{
	return schema_u64(look->schema, look->fields[i], s->raw, s->raw_size);
}

static void add_place(struct text_shard *sh, const char *name, u64 addr, u64 offset)
{
	if (name) {
		strbuf_str(&sh->text, name);
	} else {
		strbuf_str(&sh->text, "0x");
		strbuf_hex(&sh->text, addr);
	}
	if (name && sh->te->o.functions.offset)
		strbuf_printf(&sh->text, "+0x%llx ", (unsigned long long)offset);
}

static void add_function(struct text_shard *sh, const struct event_look *look,
			 const struct sample *s)
{
	u64 ip = field(look, 0, s), parent_ip = field(look, 1, s), offset = 0, parent_offset = 0;
	const struct text_events_opts *o = &sh->te->o;
	const char *parent = o->symbol(o->ctx, s->buffer, parent_ip, &parent_offset),
		   *func = o->symbol(o->ctx, s->buffer, ip, &offset);
	if (parent && !o->functions.flat) {
		struct fix *f = add_fix(sh, FIX_INDENT, s->cpu);
		if (f) {
			f->parent = parent;
			f->func = func;
		}
	}
	add_place(sh, func, ip, offset);
	if (o->functions.parent) {
		strbuf_str(&sh->text, " <-- ");
		add_place(sh, parent, parent_ip, parent_offset);
	}
}

static char slow_sign(u64 ns)
{
	static const struct {
		u64 above_ns;
		char sign;
	} signs[] = { { 1000000000, '$' }, { 1000000, '#' }, { 100000, '!' }, { 10000, '+' } };
	for (unsigned i = 0; i < ARRAY_SIZE(signs); i++)
		if (ns > signs[i].above_ns)
			return signs[i].sign;
	return ' ';
}

/* A sign for slow functions; microseconds, with decimals below seven digits. */
static void add_duration(struct text_shard *sh, u64 ns)
{
	char *start = strbuf_room(&sh->text, NUM_DIGITS_MAX + 32), *to = start;
	if (!start)
		return;
	*to++ = slow_sign(ns);
	*to++ = ' ';
	char *number = to;
	to += num_u64(to, ns / 1000);
	unsigned digits = (unsigned)(to - number);
	if (digits < 7) {
		*to++ = '.';
		to += num_u64_pad0(to, ns % 1000, 3);
	}
	digits = (unsigned)(to - number);
	memcpy(to, " us ", 4);
	to += 4;
	for (; digits < 7; digits++)
		*to++ = ' ';
	memcpy(to, "|  ", 3);
	to += 3;
	strbuf_commit(&sh->text, (size_t)(to - start));
}

static void add_no_duration(struct text_shard *sh)
{
	static const char blank[] = "             |  ";
	strbuf_add(&sh->text, blank, sizeof(blank) - 1);
}

static void add_graph_indent(struct text_shard *sh, u64 depth)
{
	strbuf_fill(&sh->text, ' ', (size_t)min(depth, (u64)512) * GRAPH_INDENT);
}

static void add_graph_depth(struct text_shard *sh, u64 depth)
{
	if (sh->te->o.functions.depth)
		strbuf_printf(&sh->text, " (%lld)", (long long)depth);
}

static u32 common_of(const struct schema *sc, s8 index, const void *raw, u32 size)
{
	return index < 0 ? 0 : (u32)schema_u64(sc, &sc->fields[index], raw, size);
}

/*
 * Whether a call and the return from it stand next to each other: then both are one line. The other record is of the look's
 * partner kind, same task, same function.
 */
static bool is_pair(const struct event_look *look, const struct sample *s, const void *other,
		    u32 size)
{
	const struct schema *mine = look->schema, *their = look->partner;
	if (!their || !other || common_of(their, their->common_type, other, size) != their->id)
		return false;
	return common_of(their, their->common_pid, other, size) ==
		       common_of(mine, mine->common_pid, s->raw, s->raw_size) &&
	       schema_u64(their, look->partner_func, other, size) ==
		       schema_u64(mine, look->fields[0], s->raw, s->raw_size);
}

static void add_graph_entry(struct text_shard *sh, const struct event_look *look,
			    const struct sample *s)
{
	bool leaf = is_pair(look, s, s->next_raw, s->next_size);
	if (leaf && look->partner_call && look->partner_ret)
		add_duration(sh, schema_u64(look->partner, look->partner_ret, s->next_raw,
					    s->next_size) -
					 schema_u64(look->partner, look->partner_call, s->next_raw,
						    s->next_size));
	else
		add_no_duration(sh);
	add_graph_indent(sh, field(look, 1, s));
	add_symbol(sh, s->buffer, field(look, 0, s), "");
	strbuf_str(&sh->text, leaf ? "();" : "() {");
	add_graph_depth(sh, field(look, 1, s));
}

/* Shown already, on the line of its call. */
static bool folded(const struct event_look *look, const struct sample *s)
{
	return is_pair(look, s, s->prev_raw, s->prev_size);
}

static void add_graph_exit(struct text_shard *sh, const struct event_look *look,
			   const struct sample *s)
{
	add_duration(sh, field(look, 3, s) - field(look, 2, s));
	add_graph_indent(sh, field(look, 1, s));
	strbuf_char(&sh->text, '}');
	if (sh->te->o.functions.tail) {
		strbuf_str(&sh->text, " /* ");
		add_symbol(sh, s->buffer, field(look, 0, s), "");
		strbuf_str(&sh->text, " */");
	}
	add_graph_depth(sh, field(look, 1, s));
}

static void add_stack(struct text_shard *sh, const struct event_look *look, const struct sample *s)
{
	struct schema_field addr = { .offset = look->fields[0]->offset,
				     .size = look->schema->long_size };
	u64 end = addr.size == 8 ? UINT64_MAX : UINT32_MAX;
	strbuf_str(&sh->text, "<stack trace >\n");
	for (; addr.offset + addr.size <= s->raw_size; addr.offset += addr.size) {
		u64 at = schema_u64(look->schema, &addr, s->raw, s->raw_size), offset;
		if (at == end)
			break;
		const char *name = sh->te->o.symbol(sh->te->o.ctx, s->buffer, at, &offset);
		strbuf_str(&sh->text, "=> ");
		if (name) {
			strbuf_str(&sh->text, name);
			strbuf_str(&sh->text, " (");
			strbuf_hex(&sh->text, at);
			strbuf_str(&sh->text, ")\n");
		} else {
			strbuf_hex(&sh->text, at);
			strbuf_char(&sh->text, '\n');
		}
	}
}

static void add_body(struct text_shard *sh, const struct event_look *look, const struct sample *s)
{
	switch (look->kind) {
	case KIND_FUNCTION: add_function(sh, look, s); return;
	case KIND_GRAPH_ENTRY: add_graph_entry(sh, look, s); return;
	case KIND_GRAPH_EXIT: add_graph_exit(sh, look, s); return;
	case KIND_STACK: add_stack(sh, look, s); return;
	case KIND_SWITCH:
		learn_comm(sh, s, look->fields[0], look->fields[1]);
		learn_comm(sh, s, look->fields[2], look->fields[3]);
		break;
	case KIND_WAKEUP: learn_comm(sh, s, look->fields[0], look->fields[1]); break;
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

/* Everything before the time. What a task's last line had is used again. */
static void add_head(struct text_shard *sh, const struct sample *s)
{
	struct strbuf *t = &sh->text;
	struct head *h = &sh->heads[((u32)s->tid * 8 + (u32)s->cpu) % NR_HEADS];
	if (likely(h->len && h->pid == s->tid && h->cpu == s->cpu && h->buffer == s->buffer &&
		   !s->missed)) {
		char *to = strbuf_room(t, HEAD_MAX);
		if (likely(to)) {
			memcpy(to, h->text, HEAD_MAX);
			strbuf_commit(t, h->len);
		}
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

static void add_line(struct text_shard *sh, const struct event_look *look, const struct sample *s)
{
	struct strbuf *t = &sh->text;
	if (look && look->kind == KIND_GRAPH_EXIT && folded(look, s))
		return;
	if (unlikely(sh->te->o.between))
		add_between(sh, s);
	add_head(sh, s);
	sh->nr_lines++;
	if (unlikely(!look)) {
		add_unknown(sh, s);
		return;
	}
	if (sh->te->o.latency)
		add_latency_flags(sh, s);
	char *start = strbuf_room(t, TIME_MAX + LABEL_MAX);
	if (unlikely(!start))
		return;
	char *to = put_time(sh, start, s->time_ns);
	if (unlikely(sh->te->o.diff)) {
		strbuf_commit(t, (size_t)(to - start));
		add_line_diff(sh, s);
		start = to = strbuf_room(t, LABEL_MAX);
		if (!start)
			return;
	}
	if (likely(look->label_len <= LABEL_MAX)) {
		memcpy(to, look->label, LABEL_MAX);
		strbuf_commit(t, (size_t)(to - start) + look->label_len);
	} else {
		strbuf_commit(t, (size_t)(to - start));
		strbuf_add(t, look->label, look->label_len);
	}
	add_body(sh, look, s);
	if (unlikely(sh->te->o.tail))
		sh->te->o.tail(sh->te->o.ctx, s, t);
	if (t->len && t->data[t->len - 1] != '\n')
		strbuf_char(t, '\n');
}

/* ---- JSON ---- */

static void json_text(struct strbuf *t, const char *s, size_t len)
{
	strbuf_char(t, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '"' || c == '\\') {
			strbuf_char(t, '\\');
			strbuf_char(t, (char)c);
		} else if (c < 0x20 || c >= 0x7f) {
			strbuf_printf(t, "\\u%04x", c);
		} else {
			strbuf_char(t, (char)c);
		}
	}
	strbuf_char(t, '"');
}

static void json_elements(struct strbuf *t, const struct schema *sc, const struct schema_field *f,
			  const u8 *p, u32 len)
{
	u32 step = f->elem_size == 1 || f->elem_size == 2 || f->elem_size == 4 || f->elem_size == 8
			   ? f->elem_size
			   : 1;
	struct schema_field one = { .size = step, .flags = f->flags & FIELD_SIGNED };
	strbuf_char(t, '[');
	for (u32 at = 0; at + step <= len; at += step) {
		u64 v = schema_u64(sc, &one, p + at, step);
		if (at)
			strbuf_char(t, ',');
		if (f->flags & FIELD_SIGNED)
			strbuf_s64(t, (s64)v);
		else
			strbuf_u64(t, v);
	}
	strbuf_char(t, ']');
}

static void json_field(struct strbuf *t, const struct schema *sc, const struct schema_field *f,
		       const struct sample *s)
{
	u32 len;
	json_text(t, f->name, strlen(f->name));
	strbuf_char(t, ':');
	bool single = !(f->flags & (FIELD_STRING | FIELD_ARRAY | FIELD_DATA_LOC | FIELD_REL_LOC)) &&
		      f->size <= 8;
	if (single) {
		u64 v = schema_u64(sc, f, s->raw, s->raw_size);
		if (f->flags & FIELD_SIGNED)
			strbuf_s64(t, (s64)v);
		else
			strbuf_u64(t, v);
		return;
	}
	const u8 *p = schema_bytes(sc, f, s->raw, s->raw_size, &len);
	if (!p)
		strbuf_str(t, "null");
	else if (f->flags & FIELD_STRING)
		json_text(t, (const char *)p, len);
	else
		json_elements(t, sc, f, p, len);
}

static void add_json(struct text_shard *sh, const struct event_look *look, const struct sample *s)
{
	struct strbuf *t = &sh->text;
	const struct text_events_opts *o = &sh->te->o;
	if (unlikely(o->between))
		add_between(sh, s);
	strbuf_str(t, o->raw_time ? "{\"time\":" : "{\"time_ns\":");
	strbuf_u64(t, s->time_ns);
	strbuf_str(t, ",\"cpu\":");
	strbuf_s64(t, s->cpu);
	strbuf_str(t, ",\"pid\":");
	strbuf_s64(t, s->tid);
	strbuf_str(t, ",\"comm\":");
	const char *comm =
		COMM_IS_UNNAMED(s->comm) ? NULL : strtab_str(&o->catalog->strings, s->comm);
	if (comm)
		json_text(t, comm, strlen(comm));
	else
		strbuf_str(t, "null");
	if (o->buffers && s->buffer < o->nr_buffers) {
		strbuf_str(t, ",\"buffer\":");
		json_text(t, o->buffers[s->buffer], strlen(o->buffers[s->buffer]));
	}
	if (s->missed) {
		strbuf_str(t, ",\"missed_before\":");
		if (s->missed == UINT32_MAX)
			strbuf_str(t, "null");
		else
			strbuf_u64(t, s->missed);
	}
	strbuf_str(t, ",\"system\":");
	if (look)
		json_text(t, look->schema->system, strlen(look->schema->system));
	else
		strbuf_str(t, "null");
	strbuf_str(t, ",\"event\":");
	if (look)
		json_text(t, look->schema->name, strlen(look->schema->name));
	else
		strbuf_str(t, "null");
	strbuf_str(t, ",\"fields\":{");
	for (u32 i = 0; look && i < look->schema->nr_fields; i++) {
		if (i)
			strbuf_char(t, ',');
		json_field(t, look->schema, &look->schema->fields[i], s);
	}
	strbuf_str(t, "}}\n");
	sh->nr_lines++;
}

/* ---- the turn: filling in and writing ---- */

static u64 task_key(const struct fix *f)
{
	return (u64)f->file << 32 | (u32)f->pid;
}

static const char *learned_comm(const struct text_events *te, const struct fix *f)
{
	u32 index = dict_get(&te->learned, task_key(f));
	return index == DICT_NONE ? NULL : te->learned_comms.at[index];
}

static int learn(struct text_events *te, const struct fix *f)
{
	u32 index;
	if (learned_comm(te, f))
		return 0;
	char **slot = vec_push(&te->learned_comms);
	if (!slot || !(*slot = strdup(f->comm)))
		return -ENOMEM;
	return dict_add(&te->learned, task_key(f), (u32)te->learned_comms.nr - 1, &index);
}

static bool set_name(struct func_stack *st, size_t at, const char *name)
{
	while (st->names.nr <= at)
		if (!vec_push(&st->names))
			return false;
	if (name)
		st->names.at[at] = name;
	return true;
}

/* How deep a function stands under those seen before on its CPU; the stack keeps what is deeper, as the reference does. */
static int indent_of(struct text_events *te, const struct fix *f, size_t *ret)
{
	while (te->stacks.nr <= (size_t)f->pid)
		if (!vec_push(&te->stacks))
			return -ENOMEM;
	struct func_stack *st = &te->stacks.at[f->pid];
	for (size_t i = 0; i < st->names.nr && st->names.at[i]; i++) {
		if (st->names.at[i] == f->parent || !strcmp(st->names.at[i], f->parent)) {
			*ret = i;
			return set_name(st, i + 1, f->func) ? 0 : -ENOMEM;
		}
	}
	*ret = 0;
	return set_name(st, 0, f->parent) && set_name(st, 1, f->func) ? 0 : -ENOMEM;
}

static void write_out(struct text_events *te, const char *data, size_t len)
{
	struct strbuf *out = te->out;
	if (!out->drain || len < out->cap / 2) {
		strbuf_add(out, data, len);
		return;
	}
	/* Large pieces go past the buffer. */
	if (!strbuf_flush(out))
		out->err = out->drain(out->ctx, data, len);
}

static int write_fixed(struct text_events *te, struct text_shard *sh)
{
	size_t done = 0, width = te->o.latency ? COMM_WIDTH_LATENCY : COMM_WIDTH;
	vec_for_each (&sh->fixes, f) {
		size_t depth;
		int err = 0;
		const char *comm;
		switch (f->kind) {
		case FIX_LEARN: err = learn(te, f); break;
		case FIX_TASK:
			comm = learned_comm(te, f);
			if (comm)
				put_comm(sh->text.data + f->at, comm, min(strlen(comm), width),
					 width);
			break;
		case FIX_INDENT:
			err = indent_of(te, f, &depth);
			if (err || !depth)
				break;
			strbuf_add(te->out, sh->text.data + done, f->at - done);
			strbuf_fill(te->out, ' ', depth * FUNCTION_INDENT);
			done = f->at;
			break;
		case FIX_BETWEEN:
			strbuf_add(te->out, sh->text.data + done, f->at - done);
			te->o.between(te->o.ctx, f->time, te->out);
			done = f->at;
			break;
		case FIX_DIFF:
			strbuf_add(te->out, sh->text.data + done, f->at - done);
			if (te->has_last)
				add_diff(&te->o, f->time, te->last_time, te->out);
			else
				strbuf_fill(te->out, ' ', DIFF_WIDTH + 1);
			done = f->at;
			break;
		}
		if (err)
			return err;
	}
	write_out(te, sh->text.data + done, sh->text.len - done);
	return te->out->err;
}

static int block_done(struct sink *k, void *state, u64 seq)
{
	struct text_events *te = te_of(k);
	struct text_shard *sh = state;
	if (!turns_wait(&te->turns, seq))
		return -ECANCELED;
	int err = sh->text.err;
	if (!err && sh->text.len)
		err = write_fixed(te, sh);
	if (sh->has_last) {
		te->last_time = sh->last_time;
		te->has_last = true;
		sh->has_last = false;
	}
	te->nr_lines += sh->nr_lines;
	sh->nr_lines = 0;
	sh->fixes.nr = 0;
	strbuf_reset(&sh->text);
	turns_end(&te->turns, err != 0);
	return err;
}

/* ---- the sink ---- */

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct text_shard *sh = state;
	for (size_t i = 0; i < b->nr; i++) {
		const struct sample *s = &b->samples[i];
		struct event_look *look = NULL;
		if (unlikely(sh->te->o.keep && !sh->te->o.keep(sh->te->o.ctx, s)))
			continue;
		if (likely(s->schema && s->event < sh->nr_looks)) {
			look = sh->looks[s->event];
			if (unlikely(!look) && !(look = make_look(sh, s)))
				return -ENOMEM;
		}
		if (sh->te->o.form == TEXT_EVENTS_JSON)
			add_json(sh, look, s);
		else
			add_line(sh, look, s);
	}
	return sh->text.err;
}

static int shard_new(struct sink *k, unsigned index, const struct shard *shard, void **state)
{
	struct text_events *te = te_of(k);
	struct text_shard *sh = calloc(1, sizeof(*sh));
	*state = sh;
	if (!sh)
		return -ENOMEM;
	sh->te = te;
	sh->nr_looks = te->o.catalog->events.nr;
	sh->looks = calloc(max(sh->nr_looks, (size_t)1), sizeof(*sh->looks));
	return sh->looks ? 0 : -ENOMEM;
}

static void shard_free(struct sink *k, void *state)
{
	struct text_shard *sh = state;
	for (size_t i = 0; sh->looks && i < sh->nr_looks; i++) {
		if (sh->looks[i])
			free(sh->looks[i]->label);
		free(sh->looks[i]);
	}
	free(sh->looks);
	vec_free(&sh->fixes);
	strbuf_done(&sh->text);
	free(sh);
}

static void cancel(struct sink *k)
{
	turns_cancel(&te_of(k)->turns);
}

static const struct sink_ops text_events_ops = {
	.needs = NEED_ORDER | NEED_RAW | NEED_COMM | NEED_NEIGHBOURS,
	.shard_new = shard_new,
	.feed = feed,
	.block_done = block_done,
	.shard_free = shard_free,
	.cancel = cancel,
};

int text_events_new(const struct text_events_opts *o, struct strbuf *out, struct sink **ret)
{
	struct text_events *te = calloc(1, sizeof(*te));
	if (!te)
		return -ENOMEM;
	te->sink = (struct sink){ .ops = &text_events_ops, .needs = text_events_ops.needs };
	te->o = *o;
	te->out = out;
	for (u32 i = 0; o->buffers && i < o->nr_buffers; i++)
		te->prefix_width = max(te->prefix_width, strlen(o->buffers[i]));
	turns_init(&te->turns);
	dict_init(&te->learned);
	*ret = &te->sink;
	return 0;
}

void text_events_free(struct sink *k)
{
	struct text_events *te = te_of(k);
	vec_for_each (&te->learned_comms, comm)
		free(*comm);
	vec_free(&te->learned_comms);
	vec_for_each (&te->stacks, st)
		vec_free(&st->names);
	vec_free(&te->stacks);
	dict_done(&te->learned);
	turns_done(&te->turns);
	free(te);
}

u64 text_events_nr_lines(const struct sink *k)
{
	return te_of(k)->nr_lines;
}
