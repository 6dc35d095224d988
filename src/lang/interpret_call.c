/*
 * Functions of the language, run here: a row for each. What has no row only the kernel can do.
 */
#include "lang/interpret_impl.h"

#include "base/clock.h"
#include "lang/builtin.h"

#include <errno.h>
#include <string.h>

static struct ivalue number(s64 v)
{
	return (struct ivalue){ .number = v };
}

static u8 *text_of(struct interpreter *in, struct node *n)
{
	struct ivalue v = interpret_eval(in, n);
	return in->err ? NULL : v.bytes;
}

/* The first bytes of a string, zero behind. */
static s64 compare_bytes(struct interpreter *in, struct node *n)
{
	u32 len = (u32)n->number;
	u8 *a = interpret_bytes(in, len + 8), *b = interpret_bytes(in, len + 8);
	const struct node *na = n->list, *nb = na->next;
	u8 *ta = text_of(in, n->list), *tb = text_of(in, n->list->next);
	if (in->err || na->type->kind != PROGRAM_STRING || nb->type->kind != PROGRAM_STRING) {
		in->err = in->err ? in->err : -ENOTSUP;
		return 0;
	}
	memcpy(a, ta, min(len, type_room(na->type)));
	memcpy(b, tb, min(len, type_room(nb->type)));
	for (u32 i = 0; i < len; i++)
		if (a[i] != b[i])
			return a[i] - b[i];
	return 0;
}

static struct ivalue made_text(struct interpreter *in, struct node *n)
{
	struct ivalue v = { .bytes = interpret_bytes(in, type_room(n->type)) };
	u8 *a = text_of(in, n->list);
	u32 room = type_room(n->type), len = 0;
	if (in->err)
		return v;
	u32 most = min(room - 1, type_room(n->list->type) - 1);
	if (!strcmp(n->text, "strcap"))
		most = min(most, (u32)n->number);
	while (len < most && a[len]) {
		v.bytes[len] = a[len];
		len++;
	}
	if (!strcmp(n->text, "str_concat")) {
		u8 *b = text_of(in, n->list->next);
		u32 size = type_room(n->list->next->type);
		for (u32 i = 0; !in->err && i < size - 1 && b[i] && len < room - 1; i++)
			v.bytes[len++] = b[i];
	}
	return v;
}

static struct ivalue call_strlen(struct interpreter *in, struct node *n)
{
	u8 *s = text_of(in, n->list);
	return number(s ? (s64)strnlen((char *)s, type_room(n->list->type)) : 0);
}

static struct ivalue call_memcmp(struct interpreter *in, struct node *n)
{
	return number(compare_bytes(in, n));
}

static struct ivalue call_search(struct interpreter *in, struct node *n)
{
	u8 *s = text_of(in, n->list);
	const char *hit = s ? strstr((char *)s, n->list->next->text) : NULL;
	bool where = n->type->kind == PROGRAM_INT;
	return number(!where ? hit != NULL : hit ? hit - (const char *)s : -1);
}

/* What the checker knows. */
static struct ivalue call_known(struct interpreter *in, struct node *n)
{
	(void)in;
	return number(n->number);
}

static struct ivalue call_has_key(struct interpreter *in, struct node *n)
{
	struct node *m = n->list;
	u8 *key = interpret_key(in, m), *value = interpret_bytes(in, type_room(m->map->value));
	return number(!in->err && !interpret_get(in, m->map, key, value));
}

static struct ivalue call_delete(struct interpreter *in, struct node *n)
{
	struct node *m = n->list;
	u8 *key = interpret_key(in, m), *value = interpret_bytes(in, type_room(m->map->value));
	if (in->err)
		return number(0);
	if (!m->nr) {
		interpret_put(in, m->map, key, value);
		return number(1);
	}
	bool there = !interpret_get(in, m->map, key, value);
	if (there && !in->err)
		in->err = in->ops->remove(in->ctx, m->map->number, key);
	return number(there);
}

static struct ivalue call_strncmp(struct interpreter *in, struct node *n)
{
	struct node *m = n->list;
	struct ivalue a = interpret_eval(in, m), b = interpret_eval(in, m->next);
	u32 room = min(type_room(m->type), type_room(m->next->type));
	return number(!in->err && memcmp(a.bytes, b.bytes, min((u64)n->number, (u64)room)) != 0);
}

static struct ivalue call_bswap(struct interpreter *in, struct node *n)
{
	u64 x = (u64)interpret_eval(in, n->list).number;
	return number(n->type->size == 8   ? (s64)__builtin_bswap64(x)
		      : n->type->size == 4 ? (s64)__builtin_bswap32((u32)x)
		      : n->type->size == 2 ? (s64)__builtin_bswap16((u16)x)
					   : (s64)x);
}

/* The same value as another type: an address, text that is text already. */
static struct ivalue call_same(struct interpreter *in, struct node *n)
{
	return interpret_eval(in, n->list);
}

/* str($1), or of a string. */
static struct ivalue call_str(struct interpreter *in, struct node *n)
{
	if (n->list->kind != NODE_PARAM)
		return interpret_eval(in, n->list);
	const char *text = check_param(in->check.in, n->list->number);
	struct ivalue v = { .bytes = interpret_bytes(in, type_room(n->type)) };
	if (v.bytes && text)
		strncpy((char *)v.bytes, text, n->type->size - 1);
	return v;
}

/* A number that user space names: its last argument, but for a string with the format. */
static struct ivalue call_named(struct interpreter *in, struct node *n)
{
	struct node *a = n->list->kind == NODE_STRING ? n->list->next : n->list;
	struct ivalue v = interpret_eval(in, a), to = { .bytes = interpret_bytes(in, 8) };
	if (to.bytes)
		memcpy(to.bytes, &v.number, 8);
	return to;
}

static struct ivalue call_nsecs(struct interpreter *in, struct node *n)
{
	(void)in;
	clockid_t clock = n->number == HELPER_KTIME	  ? CLOCK_MONOTONIC
			  : n->number == HELPER_KTIME_TAI ? CLOCK_TAI
							  : CLOCK_BOOTTIME;
	return number((s64)clock_ns(clock));
}

static struct ivalue call_elapsed(struct interpreter *in, struct node *n)
{
	(void)n;
	return number((s64)(clock_ns(CLOCK_BOOTTIME) - in->ops->start_ns(in->ctx)));
}

static int count_row(void *arg, const void *key)
{
	u64 *nr = arg;
	(void)key;
	++*nr;
	return 0;
}

static struct ivalue call_len(struct interpreter *in, struct node *n)
{
	u64 nr = 0;
	int err = in->ops->each(in->ctx, n->list->map->number, count_row, &nr);
	in->err = in->err ? in->err : err;
	return number((s64)nr);
}

/* A record as the kernel would have sent it. */
static struct ivalue send(struct interpreter *in, const struct node *n, const u8 *fields)
{
	const struct program_action *a = &in->program->actions.at[n->action];
	struct program_record head = { .action = n->action, .probe = in->probe };
	u8 *record = interpret_bytes(in, (u32)sizeof(head) + a->record.size);
	if (in->err)
		return number(0);
	memcpy(record, &head, sizeof(head));
	memcpy(record + sizeof(head), fields, a->record.size);
	in->err = in->ops->record(in->ctx, record, (u32)sizeof(head) + a->record.size);
	return number(0);
}

static struct ivalue send_values(struct interpreter *in, struct node *n, struct node *args)
{
	const struct program_type *t = &in->program->actions.at[n->action].record;
	u8 *fields = interpret_bytes(in, t->size);
	for (u32 i = 0; i < t->nr && !in->err; i++, args = args->next)
		interpret_store(in, interpret_eval(in, args), args->type,
				fields + t->fields[i].offset, t->fields[i].type);
	return in->err ? number(0) : send(in, n, fields);
}

static struct ivalue call_printf(struct interpreter *in, struct node *n)
{
	return send_values(in, n, n->list->next);
}

static struct ivalue call_print(struct interpreter *in, struct node *n)
{
	const struct program_action *a = &in->program->actions.at[n->action];
	if (a->kind == PROGRAM_PRINT)
		return send_values(in, n, n->c ? n->c : n->list);
	u8 *fields = interpret_bytes(in, a->record.size), *key = NULL;
	s64 numbers[2];
	output_print_numbers(&in->check, n, numbers);
	if (a->record.nr > 2)
		key = interpret_key(in, n->list);
	if (in->err)
		return number(0);
	memcpy(fields, numbers, sizeof(numbers));
	if (key)
		memcpy(fields + sizeof(numbers), key, type_room(a->record.fields[2].type));
	return send(in, n, fields);
}

static struct ivalue call_clear(struct interpreter *in, struct node *n)
{
	static const u8 nothing[8];
	return send(in, n, nothing);
}

static struct ivalue call_time(struct interpreter *in, struct node *n)
{
	u64 now = clock_ns(CLOCK_BOOTTIME);
	return send(in, n, (const u8 *)&now);
}

static struct ivalue call_exit(struct interpreter *in, struct node *n)
{
	s64 status = n->nr ? interpret_eval(in, n->list).number : 0;
	(void)send(in, n, (const u8 *)&status);
	in->returned = true;
	return number(0);
}

struct function_here {
	const char *name;
	struct ivalue (*call)(struct interpreter *in, struct node *n);
	bool takes_map;
};

static const struct function_here rows[] = {
	{ "strlen", call_strlen, false },   { "memcmp", call_memcmp, false },
	{ "strstr", call_search, false },   { "strcontains", call_search, false },
	{ "strcap", made_text, false },	    { "str_concat", made_text, false },
	{ "has_key", call_has_key, true },  { "delete", call_delete, true },
	{ "strncmp", call_strncmp, false }, { "bswap", call_bswap, false },
	{ "kptr", call_same, false },	    { "uptr", call_same, false },
	{ "str", call_str, false },	    { "ksym", call_named, false },
	{ "strftime", call_named, false },  { "cgroup_path", call_named, false },
	{ "nsecs", call_nsecs, false },	    { "elapsed", call_elapsed, false },
	{ "len", call_len, true },	    { "printf", call_printf, false },
	{ "errorf", call_printf, false },   { "warnf", call_printf, false },
	{ "system", call_printf, false },   { "cat", call_printf, false },
	{ "print", call_print, true },	    { "clear", call_clear, true },
	{ "zero", call_clear, true },	    { "time", call_time, false },
	{ "exit", call_exit, false },
};

static const struct function_here *find_row(const struct node *n)
{
	static const struct function_here known = { "is_", call_known, false };
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, n->text))
			return &rows[i];
	return !strncmp(n->text, "is_", 3) && strcmp(n->text, "is_err") ? &known : NULL;
}

bool interpret_knows(const struct node *call, bool *takes_map)
{
	const struct function_here *r = find_row(call);
	*takes_map = r && r->takes_map;
	return r != NULL;
}

struct ivalue interpret_call(struct interpreter *in, struct node *n)
{
	const struct function_here *r = find_row(n);
	/* Those need what only a run has. */
	bool run = r && (r->call == call_elapsed || r->call == call_len || r->call == call_printf ||
			 r->call == call_print || r->call == call_clear || r->call == call_time ||
			 r->call == call_exit);
	if (!r || (run && !in->ops->record)) {
		in->err = -ENOTSUP;
		return number(0);
	}
	return r->call(in, n);
}
