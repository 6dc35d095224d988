/* What user space does: printing, clearing, ending. */
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/format.h"
#include "lang/token.h"

#include "base/num.h"

#include <errno.h>
#include <string.h>

enum { FIELDS_MAX = 32 };

static const struct program_type *check_printf(struct checker *c, struct node *n)
{
	if (n->nr > FIELDS_MAX) {
		check_fail(c, n, -E2BIG, "more than %d arguments", FIELDS_MAX);
		return NULL;
	}
	return format_check(c, n) ? &type_void : NULL;
}

/* One record with the values of the arguments. Numbers are computed before it is reserved. */
static void send_values(struct lower *l, u32 action, struct node *args, bool control)
{
	struct value values[FIELDS_MAX];
	struct lower_record r;
	u32 i = 0;
	for (struct node *a = args; a; a = a->next, i++)
		if (type_is_scalar(a->type))
			values[i] = lower_expr(l, a);
	if (l->err)
		return;
	lower_record_begin(l, action, control, &r);
	i = 0;
	for (struct node *a = args; a && !l->err; a = a->next, i++) {
		struct place to = place_at(
			r.fields, (s32)l->program->actions.at[action].record.fields[i].offset);
		if (type_is_scalar(a->type))
			lower_store(l, values[i], a->type, to, a->type);
		else
			lower_output(l, a, to, a->type);
	}
	lower_record_end(l, &r);
}

static s64 action_of(struct lower *l, struct node *n, enum program_action_kind kind,
		     struct node *args)
{
	const struct program_type *types[FIELDS_MAX];
	u32 nr = 0;
	for (struct node *a = args; a; a = a->next) {
		types[nr] = check_whole_type(l->check, a->type);
		if (!types[nr++]) {
			lower_fail(l, a, -E2BIG, "this has too many members to be printed");
			return -1;
		}
	}
	return lower_action(l, n, kind, types, nr);
}

static s64 format_action(struct lower *l, struct node *n, enum program_action_kind kind, u8 stream)
{
	s64 action = action_of(l, n, kind, n->list->next);
	if (action < 0)
		return action;
	l->program->actions.at[action].format = n->list->text;
	l->program->actions.at[action].stream = stream;
	return action;
}

static s64 printf_action(struct lower *l, struct node *n)
{
	return format_action(l, n, PROGRAM_PRINTF, 0);
}
static s64 errorf_action(struct lower *l, struct node *n)
{
	return format_action(l, n, PROGRAM_PRINTF, 2);
}
static s64 warnf_action(struct lower *l, struct node *n)
{
	return format_action(l, n, PROGRAM_PRINTF, 1);
}
static s64 system_action(struct lower *l, struct node *n)
{
	return format_action(l, n, PROGRAM_SYSTEM, 0);
}
static s64 cat_action(struct lower *l, struct node *n)
{
	return format_action(l, n, PROGRAM_CAT, 0);
}

static struct value lower_formatted(struct lower *l, struct node *n)
{
	s64 action = n->builtin->action(l, n);
	if (action >= 0)
		send_values(l, (u32)action, n->list->next, false);
	return value_imm(0);
}

static const struct program_type *check_exit(struct checker *c, struct node *n)
{
	return !n->nr || check_number(c, n->list) ? &type_void : NULL;
}

static s64 exit_action(struct lower *l, struct node *n)
{
	return lower_action(l, n, PROGRAM_EXIT, (const struct program_type *[]){ &type_s64 }, 1);
}

/* Nothing of the block runs after it. */
static struct value lower_exit(struct lower *l, struct node *n)
{
	s64 action = exit_action(l, n);
	if (action < 0)
		return value_imm(0);
	struct lower_record r;
	struct value v = n->nr ? lower_expr(l, n->list) : value_imm(0);
	lower_record_begin(l, (u32)action, true, &r);
	lower_store(l, v, &type_s64, r.fields, &type_s64);
	lower_record_end(l, &r);
	ir_jump(l->ir, l->label_end);
	/* Code after it is never reached, and is taken out. */
	ir_place_label(l->ir, ir_label(l->ir));
	return value_imm(0);
}

/* "key", "value", "key.1" */
static bool parse_sort(const char *text, struct program_action *to)
{
	bool key = !strncmp(text, "key", 3);
	const char *rest = text + (key ? 3 : 5);
	u64 member = 0;
	if (!key && strncmp(text, "value", 5))
		return false;
	if (*rest && (*rest != '.' || num_parse_u64(rest + 1, 10, &member) || member > 31))
		return false;
	to->sort.by = key ? PROGRAM_SORT_KEY : PROGRAM_SORT_VALUE;
	to->sort.member = *rest ? (u8)(member + 1) : 0;
	return true;
}

/* One option of print(@x, top, div, (sort="key.1", desc=1, fmt="%x")). */
static bool take_option(struct checker *c, struct node *o, struct program_action *to)
{
	s64 v;
	if (!strcmp(o->label, "sort") && o->kind == NODE_STRING && parse_sort(o->text, to))
		return true;
	if (!strcmp(o->label, "desc") && check_constant(c, o, &v)) {
		to->sort.descending = v != 0;
		return true;
	}
	if (!strcmp(o->label, "fmt") && o->kind == NODE_STRING) {
		const char *at = strchr(o->text, '%');
		to->format = o->text;
		if (at && strspn(at + 1, "-+ #0123456789ldxXuio") == strlen(at + 1) && at[1])
			return true;
	}
	check_fail(c, o, -EINVAL,
		   "the options of print() are sort=\"key\" or \"value\" (with .0, .1 ... of a "
		   "tuple), "
		   "desc=1 and fmt=\"%%x\"");
	return false;
}

static bool take_options(struct checker *c, struct node *n, struct program_action *to)
{
	for (struct node *o = n->list; o; o = o->next)
		if (!take_option(c, o, to))
			return false;
	return true;
}

static bool is_options(const struct node *n)
{
	return n->kind == NODE_TUPLE && n->list && n->list->label;
}

/* print(args): all of them, each as print() shows it. Made anew for each attach point, whose arguments they are. */
static struct node *args_tuple(struct checker *c, struct node *args)
{
	const struct program_type *t = args->type;
	struct node *tuple = arena_zalloc(c->arena, sizeof(*tuple));
	if (!tuple)
		return NULL;
	*tuple = (struct node){ .kind = NODE_TUPLE, .start = args->start, .len = args->len };
	struct node **at = &tuple->list;
	for (u32 i = 0; i < t->nr && tuple->nr < FIELDS_MAX; i++) {
		const struct program_field *f = &t->fields[i];
		/* what all tracepoints begin with says nothing about this one */
		if (c->probe->provider == PROGRAM_TRACEPOINT && f->offset < 8)
			continue;
		struct node *name = arena_zalloc(c->arena, sizeof(*name));
		struct node *m = arena_zalloc(c->arena, sizeof(*m));
		struct node *text = f->location ? arena_zalloc(c->arena, sizeof(*text)) : m;
		if (!m || !name || !text)
			return NULL;
		*name = (struct node){ .kind = NODE_IDENT, .text = "args" };
		*m = (struct node){ .kind = NODE_MEMBER, .a = name, .text = f->name };
		if (f->location)
			*text = (struct node){ .kind = NODE_CALL, .text = "str", .list = m, .nr = 1 };
		name->start = m->start = text->start = args->start;
		name->len = m->len = text->len = args->len;
		text->label = f->name;
		*at = text;
		at = &text->next;
		tuple->nr++;
	}
	return tuple;
}

/* An aggregate that is no number: user space prints the row of its map. */
static bool is_picture(const struct program_type *t)
{
	return t->kind >= PROGRAM_STATS;
}

static const struct program_type *check_print(struct checker *c, struct node *n)
{
	struct node *a = n->list;
	if (a->kind == NODE_MAP && !a->nr) {
		s64 v;
		struct program_action ignored = { 0 };
		if (!a->map->value)
			return c->final ? (check_fail(c, a, -EINVAL, "map %s is never assigned",
						      a->map->name),
					   NULL)
					: NULL;
		for (struct node *o = a->next; o; o = o->next) {
			if (is_options(o)) {
				if (o->next || !take_options(c, o, &ignored))
					return NULL;
			} else if (!check_constant(c, o, &v) || v < 0) {
				check_fail(c, o, -EINVAL, "expected a constant number");
				return NULL;
			}
		}
		if (a->map->used_keyed || type_is_aggregate(a->map->value))
			return &type_void;
		(void)check_expr(c, a);
	}
	if (!a->type)
		return NULL;
	if (a->kind == NODE_MAP && a->nr && is_picture(a->type) && n->nr == 1)
		return &type_void;
	n->c = NULL;
	if (a->type == c->args[c->point]) {
		n->c = args_tuple(c, a);
		return n->c && check_expr(c, n->c) ? &type_void : NULL;
	}
	check_read(c, &n->list);
	a = n->list;
	if (c->err || !a->type)
		return NULL;
	if (n->nr > 1) {
		check_fail(c, a->next, -EINVAL, "only the print of a map takes more arguments");
		return NULL;
	}
	if (!check_is_copyable(a->type)) {
		check_wrong(c, a, "a value of type %s cannot be printed", a->type);
		return NULL;
	}
	return &type_void;
}

static s64 map_action(struct lower *l, struct node *n, enum program_action_kind kind)
{
	struct node *map = n->list;
	const struct program_type *types[] = { &type_s64, &type_s64, NULL };
	bool print = kind == PROGRAM_PRINT_MAP, one = print && map->nr;
	if (one)
		types[2] = check_whole_type(l->check, map->map->key);
	s64 action = one && !types[2] ? -1
				      : lower_action(l, n, kind, types,
						     one     ? 3
						     : print ? 2
							     : 0);
	if (action < 0)
		return action;
	l->program->actions.at[action].map = map->map->number;
	for (struct node *o = map->next; print && o; o = o->next)
		if (is_options(o))
			(void)take_options(l->check, o, &l->program->actions.at[action]);
	return action;
}

void output_print_numbers(const struct checker *c, const struct node *n, s64 *ret)
{
	const struct node *a = n->list->next;
	ret[0] = ret[1] = 0;
	for (int i = 0; i < 2 && a && !is_options(a); i++, a = a->next)
		(void)!check_constant(c, a, &ret[i]);
}

/* The first fields are two numbers. */
static void send_map_action(struct lower *l, struct node *n)
{
	s64 action = n->builtin->action(l, n);
	if (action < 0)
		return;
	const struct program_type *t = &l->program->actions.at[action].record;
	struct node *map = n->list;
	bool print = t->nr >= 2, one = t->nr > 2;
	s64 numbers[2];
	struct lower_record r;
	struct place key = { 0 };
	output_print_numbers(l->check, n, numbers);
	if (one)
		key = lower_map_key(l, map);
	lower_record_begin(l, (u32)action, true, &r);
	for (s32 i = 0; print && i < 2; i++)
		lower_store(l, value_imm(numbers[i]), &type_s64, place_at(r.fields, i * 8),
			    &type_s64);
	if (one)
		lower_copy(l, place_at(r.fields, 16), key, type_room(map->map->key));
	lower_record_end(l, &r);
}

/* Of a map, or of a row of one that is no number; else a value is printed. */
static bool prints_map(const struct node *n)
{
	const struct node *a = n->c ? n->c : n->list;
	return a->kind == NODE_MAP && (!a->nr || is_picture(a->map->value));
}

static s64 print_action(struct lower *l, struct node *n)
{
	return prints_map(n) ? map_action(l, n, PROGRAM_PRINT_MAP)
			     : action_of(l, n, PROGRAM_PRINT, n->c ? n->c : n->list);
}

static struct value lower_print(struct lower *l, struct node *n)
{
	if (prints_map(n)) {
		send_map_action(l, n);
		return value_imm(0);
	}
	s64 action = print_action(l, n);
	if (action >= 0)
		send_values(l, (u32)action, n->c ? n->c : n->list, false);
	return value_imm(0);
}

static const struct program_type *check_whole_map(struct checker *c, struct node *n)
{
	struct node *a = n->list;
	if (a->kind != NODE_MAP || a->nr) {
		check_fail(c, a, -EINVAL, "%s() takes a map without keys", n->text);
		return NULL;
	}
	if (!a->map->value && c->final)
		check_fail(c, a, -EINVAL, "map %s is never assigned", a->map->name);
	return a->map->value ? &type_void : NULL;
}

static s64 clear_action(struct lower *l, struct node *n)
{
	return map_action(l, n, PROGRAM_CLEAR);
}

static s64 zero_action(struct lower *l, struct node *n)
{
	return map_action(l, n, PROGRAM_ZERO);
}

static struct value lower_whole_map(struct lower *l, struct node *n)
{
	send_map_action(l, n);
	return value_imm(0);
}

static const struct program_type *check_time(struct checker *c, struct node *n)
{
	if (n->nr && n->list->kind != NODE_STRING) {
		check_fail(c, n->list, -EINVAL, "the format of time() has to be a string");
		return NULL;
	}
	return &type_void;
}

static s64 time_action(struct lower *l, struct node *n)
{
	s64 action =
		lower_action(l, n, PROGRAM_TIME, (const struct program_type *[]){ &type_u64 }, 1);
	if (action >= 0)
		l->program->actions.at[action].format = n->nr ? n->list->text : "%H:%M:%S\n";
	return action;
}

static struct value lower_time(struct lower *l, struct node *n)
{
	s64 action = time_action(l, n);
	if (action < 0)
		return value_imm(0);
	struct lower_record r;
	int now = ir_reg(l->ir);
	ir_call(l->ir, now, HELPER_KTIME_BOOT, 0, NULL);
	lower_record_begin(l, (u32)action, false, &r);
	lower_store(l, value_of(now), &type_u64, r.fields, &type_u64);
	lower_record_end(l, &r);
	return value_imm(0);
}

enum { JOIN_MAX = 16 };

static const struct program_type *check_join(struct checker *c, struct node *n)
{
	if (!check_number(c, n->list))
		return NULL;
	if (n->nr == 2 && n->list->next->kind != NODE_STRING) {
		check_fail(c, n->list->next, -EINVAL, "the delimiter has to be a string");
		return NULL;
	}
	return &type_void;
}

static const struct program_type *join_type(struct lower *l)
{
	struct program_type *t = arena_zalloc(l->arena, sizeof(*t));
	struct program_field *e = arena_zalloc(l->arena, sizeof(*e));
	const struct program_type *text =
		type_string(l->arena, min(l->program->config.max_strlen, 1024u));
	if (!t || !e || !text)
		return NULL;
	e->type = text;
	*t = (struct program_type){
		.kind = PROGRAM_ARRAY, .fields = e, .nr = JOIN_MAX, .size = text->size * JOIN_MAX
	};
	return t;
}

/* Strings up to the first pointer that is NULL; the one after the last is empty. */
static struct value lower_join(struct lower *l, struct node *n)
{
	const struct program_type *t = join_type(l);
	s64 action =
		t ? lower_action(l, n, PROGRAM_JOIN, (const struct program_type *[]){ t }, 1) : -1;
	if (action < 0) {
		l->err = -ENOMEM;
		return value_imm(0);
	}
	struct lower_record r;
	u32 size = t->fields->type->size;
	int at = lower_reg(l, n->list), end = ir_label(l->ir);
	l->program->actions.at[action].format = n->nr == 2 ? n->list->next->text : " ";
	lower_record_begin(l, (u32)action, false, &r);
	for (u32 i = 0; i < JOIN_MAX; i++)
		ir_store_imm(l->ir, r.fields.base, r.fields.off + (s32)(i * size), 0, 1);
	for (u32 i = 0; i < JOIN_MAX; i++) {
		int p = lower_read(l, at, (s32)i * 8, &type_u64, false);
		ir_if_imm(l->ir, BPF_JEQ, p, 0, end);
		lower_read_bytes(l, place_at(r.fields, (s32)(i * size)), size, ir_arg_reg(p), true,
				 false);
	}
	ir_place_label(l->ir, end);
	lower_record_end(l, &r);
	return value_imm(0);
}

static const struct builtin rows[] = {
	{ "printf", 1, BUILTIN_ANY, 0, check_printf, lower_formatted, NULL, "prints formatted text",
	  printf_action, .form = "(FORMAT, VALUE...)" },
	{ "errorf", 1, BUILTIN_ANY, 0, check_printf, lower_formatted, NULL, "prints an error",
	  errorf_action, .form = "(FORMAT, VALUE...)" },
	{ "warnf", 1, BUILTIN_ANY, 0, check_printf, lower_formatted, NULL, "prints a warning",
	  warnf_action, .form = "(FORMAT, VALUE...)" },
	{ "print", 1, 4, 0, check_print, lower_print, NULL, "prints a value or a map", print_action,
	  .form = "(VALUE|@MAP[, TOP[, DIV[, OPTIONS]]])" },
	{ "clear", 1, 1, 0, check_whole_map, lower_whole_map, NULL, "removes all keys of a map",
	  clear_action, .form = "(@MAP)" },
	{ "zero", 1, 1, 0, check_whole_map, lower_whole_map, NULL, "sets all values of a map to 0",
	  zero_action, .form = "(@MAP)" },
	{ "exit", 0, 1, 0, check_exit, lower_exit, NULL, "ends the script", exit_action,
	  .form = "([STATUS])" },
	{ "time", 0, 1, 0, check_time, lower_time, NULL, "prints the time of day", time_action,
	  .form = "([FORMAT])" },
	{ "join", 1, 2, 0, check_join, lower_join, NULL, "prints an array of strings", NULL,
	  .form = "(STRINGS[, SEPARATOR])" },
	{ "cat", 1, BUILTIN_ANY, 0, check_printf, lower_formatted, NULL, "prints a file",
	  cat_action, .form = "(FORMAT, VALUE...)" },
	{ "system", 1, BUILTIN_ANY, BUILTIN_UNSAFE, check_printf, lower_formatted, NULL,
	  "runs a command", system_action, .form = "(FORMAT, VALUE...)" },
};

const struct builtin_group builtins_output = { rows, ARRAY_SIZE(rows), "Output" };

/* Those above whose argument is the map, not its value. */
bool check_map_as_argument(const struct builtin *b)
{
	static const char *const names[] = { "print", "clear", "zero", "len", "delete", "has_key" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], b->name))
			return true;
	return false;
}
