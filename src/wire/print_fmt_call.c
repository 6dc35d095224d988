/*
 * What looks like a call in a print fmt: the helpers of the kernel's macros (__print_flags, __get_str ...), byte order, min and
 * max, and the few functions of the kernel whose texts are known. Each is a row of the table at the end.
 */
#include "wire/print_fmt_parse.h"

#include <string.h>

struct row_list {
	struct row_list *next;
	struct table_row row;
};

/*
 * { value, "name" }. A value that only the kernel knew matches nothing, a NULL name ends some tables: both are left out.
 */
static bool parse_row(struct print_fmt_parser *p, struct row_list **list, u32 *nr)
{
	token_expect(p, '{');
	if (token_accept(p, '}'))
		return !p->err;
	const struct print_fmt_node *value = parser_expr(p);
	token_expect(p, ',');
	const struct print_fmt_node *name = parser_expr(p);
	token_accept(p, ',');
	token_expect(p, '}');
	if (p->err)
		return false;
	if (!value->unknown && value->kind != NODE_NUM)
		return parser_fail(p, "a table row is not constant");
	if (value->unknown || name->kind != NODE_TEXT)
		return true;
	struct row_list *r = arena_zalloc(p->arena, sizeof(*r));
	if (!r)
		return parser_no_memory(p);
	r->row = (struct table_row){ .value = value->num, .str = name->str, .len = name->len };
	r->next = *list;
	*list = r;
	++*nr;
	return true;
}

static const u8 *direct_index(struct print_fmt_parser *p, const struct table_row *rows, u32 nr)
{
	u8 *direct = arena_zalloc(p->arena, 256);
	for (u32 i = 0; direct && i < nr; i++)
		if (rows[i].value < 256 && !direct[rows[i].value])
			direct[rows[i].value] = (u8)(i + 1);
	return direct;
}

static const struct print_fmt_table *table_of(struct print_fmt_parser *p, struct row_list *list,
					      u32 nr, bool symbolic)
{
	struct print_fmt_table *t = arena_zalloc(p->arena, sizeof(*t));
	struct table_row *rows = arena_array(p->arena, nr, sizeof(*rows));
	if (!t || !rows)
		return parser_no_memory(p);
	for (u32 i = nr; i-- > 0; list = list->next)
		rows[i] = list->row;
	t->rows = rows;
	t->nr = nr;
	if (symbolic && nr > 2 && nr < 255)
		t->direct = direct_index(p, rows, nr);
	return t;
}

static const struct print_fmt_table *parse_table(struct print_fmt_parser *p, bool symbolic)
{
	struct row_list *list = NULL;
	u32 nr = 0;
	while (token_accept(p, ',')) {
		if (p->tok == ')')
			break;
		if (!parse_row(p, &list, &nr))
			return NULL;
	}
	return p->err ? NULL : table_of(p, list, nr, symbolic);
}

static const struct print_fmt_node *call_flags(struct print_fmt_parser *p, u32 arg)
{
	const struct print_fmt_node *a = node_number(p, parser_expr(p));
	token_expect(p, ',');
	size_t len = 0;
	const char *delim = token_strings(p, &len);
	const struct print_fmt_table *t = parse_table(p, false);
	struct print_fmt_node *n = a && delim && t ? node_new(p, NODE_FLAGS, a, NULL) : NULL;
	if (!n)
		return NULL;
	n->str = delim;
	n->len = (u32)len;
	n->table = t;
	return n;
}

static const struct print_fmt_node *call_symbolic(struct print_fmt_parser *p, u32 arg)
{
	const struct print_fmt_node *a = node_number(p, parser_expr(p));
	const struct print_fmt_table *t = parse_table(p, true);
	struct print_fmt_node *n = a && t ? node_new(p, NODE_SYMBOLIC, a, NULL) : NULL;
	if (n)
		n->table = t;
	return n;
}

static const struct print_fmt_node *call_hex(struct print_fmt_parser *p, u32 kind)
{
	const struct print_fmt_node *a = node_bytes_only(p, parser_expr(p));
	token_expect(p, ',');
	const struct print_fmt_node *b = node_number(p, parser_expr(p));
	return a && b ? node_new(p, kind, a, b) : NULL;
}

/* __print_hex_dump(prefix, type, rowsize, groupsize, buf, len, ascii): the bytes only */
static const struct print_fmt_node *call_hex_dump(struct print_fmt_parser *p, u32 arg)
{
	const struct print_fmt_node *v[7] = { 0 };
	for (unsigned i = 0; i < 7; i++) {
		v[i] = parser_expr(p);
		if (i < 6)
			token_expect(p, ',');
	}
	const struct print_fmt_node *a = p->err ? NULL : node_bytes_only(p, v[4]);
	const struct print_fmt_node *b = p->err ? NULL : node_number(p, v[5]);
	return a && b ? node_new(p, NODE_HEX, a, b) : NULL;
}

static const struct print_fmt_node *call_array(struct print_fmt_parser *p, u32 arg)
{
	const struct print_fmt_node *a = node_bytes_only(p, parser_expr(p));
	token_expect(p, ',');
	const struct print_fmt_node *b = node_number(p, parser_expr(p));
	token_expect(p, ',');
	const struct print_fmt_node *c = node_number(p, parser_expr(p));
	if (!a || !b || !c)
		return NULL;
	struct print_fmt_node *n = node_new(p, NODE_ARRAY, a, b);
	return n ? node_third(p, n, c) : NULL;
}

static const struct print_fmt_node *dynamic_field(struct print_fmt_parser *p)
{
	const struct schema_field *f = parser_field_name(p, true);
	if (f && !(f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC)))
		return parser_fail(p, "the field is not a data_loc");
	return f ? node_field(p, f) : NULL;
}

static const struct print_fmt_node *call_get(struct print_fmt_parser *p, u32 kind)
{
	const struct print_fmt_node *a = dynamic_field(p);
	if (!a || kind == NODE_BYTES)
		return a;
	struct print_fmt_node *n = node_new(p, kind, a, NULL);
	if (n)
		n->size = 4, n->sign = true;
	return n;
}

/* __print_bitmask(bytes, size) and __print_cpumask(bytes, size) */
static const struct print_fmt_node *call_mask(struct print_fmt_parser *p, u32 kind)
{
	const struct print_fmt_node *a = node_bytes_only(p, parser_expr(p));
	const struct print_fmt_node *b =
		token_accept(p, ',') ? node_number(p, parser_expr(p)) : NULL;
	return p->err ? NULL : node_new(p, kind, a, b);
}

static const struct print_fmt_node *call_ns(struct print_fmt_parser *p, u32 whole)
{
	const struct print_fmt_node *a = node_cast(p, node_number(p, parser_expr(p)), 8, false);
	if (whole)
		return node_binary(p, NODE_DIV, a, node_num(p, 1000000000, 8, false));
	/* the remainder, in microseconds */
	const struct print_fmt_node *rest =
		node_binary(p, NODE_MOD, a, node_num(p, 1000000000, 8, false));
	return node_cast(p, node_binary(p, NODE_DIV, rest, node_num(p, 1000, 8, false)), 4, false);
}

static const struct print_fmt_node *call_first(struct print_fmt_parser *p, u32 arg)
{
	const struct print_fmt_node *a = parser_expr(p);
	if (token_accept(p, ','))
		(void)parser_expr(p);
	return a;
}

static const struct print_fmt_node *call_choose(struct print_fmt_parser *p, u32 arg)
{
	const struct print_fmt_node *a = node_number(p, parser_expr(p));
	token_expect(p, ',');
	const struct print_fmt_node *b = parser_expr(p);
	token_expect(p, ',');
	const struct print_fmt_node *c = parser_expr(p);
	return node_cond(p, a, b, c);
}

static const struct print_fmt_node *call_constant_p(struct print_fmt_parser *p, u32 arg)
{
	const struct print_fmt_node *a = parser_expr(p);
	return a ? node_num(p, a->kind == NODE_NUM && !a->unknown, 4, true) : NULL;
}

/* The name of a type: words, or typeof() of a field. NULL: it cannot be told; p follows it. */
static const char *type_text(struct print_fmt_parser *p, size_t *len)
{
	if (token_accept_word(p, "typeof") || token_accept_word(p, "__typeof__")) {
		const char *type = NULL;
		token_expect(p, '(');
		if (token_accept_word(p, "REC") && token_accept(p, TOK_ARROW)) {
			const struct schema_field *f = parser_field_name(p, false);
			type = f && p->tok == ')' ? f->type : NULL;
		}
		token_skip_balanced(p);
		token_expect(p, ')');
		*len = type ? strlen(type) : 0;
		return type;
	}
	const char *from = p->tok_at, *to = from;
	while (p->tok == TOK_IDENT || p->tok == '*') {
		to = p->tok == '*' ? p->at : p->tok_at + p->tok_len;
		token_next(p);
	}
	*len = (size_t)(to - from);
	return from;
}

/* Macros ask whether something is an array; arrays of the kernel are nobody's to know here, and it is one. */
static const struct print_fmt_node *call_compatible(struct print_fmt_parser *p, u32 arg)
{
	size_t a_len, b_len = 0;
	const char *a = type_text(p, &a_len);
	const char *b = token_accept(p, ',') ? type_text(p, &b_len) : NULL;
	token_skip_balanced(p);
	return node_num(p, a && b && a_len == b_len && !memcmp(a, b, a_len), 4, true);
}

/* arg: bytes, and 16 when the value is little endian, 32 when the turn is unconditional */
static const struct print_fmt_node *swap_number(struct print_fmt_parser *p,
						const struct print_fmt_node *a, u32 arg)
{
	u8 size = arg & 15;
	bool turn = arg & 32 ? true : arg & 16 ? p->schema->big_endian : !p->schema->big_endian;
	if (!a || !turn)
		return a;
	struct print_fmt_node *n = node_new(p, NODE_SWAP, a, NULL);
	if (n)
		n->size = size;
	return n;
}

static const struct print_fmt_node *call_swap(struct print_fmt_parser *p, u32 arg)
{
	return swap_number(p, node_cast(p, node_number(p, parser_expr(p)), arg & 15, false), arg);
}

static const struct print_fmt_node *call_min_max(struct print_fmt_parser *p, u32 kind)
{
	const struct print_fmt_node *a = node_number(p, parser_expr(p));
	token_expect(p, ',');
	const struct print_fmt_node *b = node_number(p, parser_expr(p));
	return a && b ? node_cond(p, node_binary(p, kind, a, b), a, b) : NULL;
}

/*
 * Milliseconds need the kernel's HZ, which no event tells. Who knows it answers env->eval("HZ"); the plug-ins of trace-cmd
 * print jiffies, as if HZ were 1000. Otherwise the event prints by field: no number rather than a wrong one.
 */
static const struct print_fmt_node *call_jiffies(struct print_fmt_parser *p, u32 per_second)
{
	const struct print_fmt_node *a = node_cast(p, node_number(p, parser_expr(p)), 8, false);
	s64 hz = 0;
	bool known = p->env && p->env->eval && p->env->eval(p->env->ctx, "HZ", 2, &hz) && hz > 0;
	if (!known && p->style == PRINT_STYLE_TRACE_CMD)
		hz = 1000;
	if (hz <= 0)
		return parser_fail(p, "it needs the kernel's HZ");
	if (per_second % hz == 0)
		return node_cast(
			p, node_binary(p, NODE_MUL, a, node_num(p, per_second / (u64)hz, 8, false)),
			4, false);
	a = node_binary(p, NODE_MUL, a, node_num(p, per_second, 8, false));
	return node_cast(p, node_binary(p, NODE_DIV, a, node_num(p, (u64)hz, 8, false)), 4, false);
}

static const struct print_fmt_node *call_mc_event(struct print_fmt_parser *p, u32 arg)
{
	static const struct table_row rows[] = { { 0, "Corrected", 9 },
						 { 1, "Uncorrected", 11 },
						 { 2, "Deferred", 8 },
						 { 3, "Fatal", 5 },
						 { 4, "Info", 4 } };
	static const struct print_fmt_table table = { .rows = rows, .nr = ARRAY_SIZE(rows) };
	const struct print_fmt_node *a = node_number(p, parser_expr(p));
	/* everything else is "Info" */
	a = node_cond(p,
		      node_binary(p, NODE_LT, node_cast(p, a, 4, false), node_num(p, 4, 4, false)),
		      a, node_num(p, 4, 4, true));
	struct print_fmt_node *n = a ? node_new(p, NODE_SYMBOLIC, a, NULL) : NULL;
	if (n)
		n->table = &table;
	return n;
}

/* "(mmu_update)", or nothing */
static const struct print_fmt_node *call_xen(struct print_fmt_parser *p, u32 arg)
{
#define ROW(n, name)                                                                               \
	{                                                                                          \
		n, "(" name ")", sizeof("(" name ")") - 1                                          \
	}
	static const struct table_row rows[] = {
		ROW(0, "set_trap_table"),
		ROW(1, "mmu_update"),
		ROW(2, "set_gdt"),
		ROW(3, "stack_switch"),
		ROW(4, "set_callbacks"),
		ROW(5, "fpu_taskswitch"),
		ROW(6, "sched_op_compat"),
		ROW(7, "dom0_op"),
		ROW(8, "set_debugreg"),
		ROW(9, "get_debugreg"),
		ROW(10, "update_descriptor"),
		ROW(12, "memory_op"),
		ROW(13, "multicall"),
		ROW(14, "update_va_mapping"),
		ROW(15, "set_timer_op"),
		ROW(16, "event_channel_op_compat"),
		ROW(17, "xen_version"),
		ROW(18, "console_io"),
		ROW(19, "physdev_op_compat"),
		ROW(20, "grant_table_op"),
		ROW(21, "vm_assist"),
		ROW(22, "update_va_mapping_otherdomain"),
		ROW(23, "iret"),
		ROW(24, "vcpu_op"),
		ROW(25, "set_segment_base"),
		ROW(26, "mmuext_op"),
		ROW(27, "acm_op"),
		ROW(28, "nmi_op"),
		ROW(29, "sched_op"),
		ROW(30, "callback_op"),
		ROW(31, "xenoprof_op"),
		ROW(32, "event_channel_op"),
		ROW(33, "physdev_op"),
		ROW(34, "hvm_op"),
		ROW(48, "arch_0"),
		ROW(49, "arch_1"),
		ROW(50, "arch_2"),
		ROW(51, "arch_3"),
		ROW(52, "arch_4"),
		ROW(53, "arch_5"),
		ROW(54, "arch_6"),
		ROW(55, "arch_7"),
	};
#undef ROW
	static const struct print_fmt_table table = { .rows = rows,
						      .nr = ARRAY_SIZE(rows),
						      .silent = true };
	const struct print_fmt_node *a = node_number(p, parser_expr(p));
	struct print_fmt_node *n = a ? node_new(p, NODE_SYMBOLIC, a, NULL) : NULL;
	if (n)
		n->table = &table;
	return n;
}

static const struct print_fmt_node *
call_text(struct print_fmt_parser *p, const struct print_fmt_node *a, const struct print_fmt_node *b,
	  void (*call)(struct print_ctx *, const struct print_fmt_node *))
{
	struct print_fmt_node *n = a && !p->err ? node_new(p, NODE_CALL, a, b) : NULL;
	if (n)
		n->call = call;
	return n;
}

static const struct print_fmt_node *call_scsi(struct print_fmt_parser *p, u32 arg)
{
	(void)parser_expr(p);
	token_expect(p, ',');
	const struct print_fmt_node *a = node_bytes_only(p, parser_expr(p));
	token_expect(p, ',');
	return call_text(p, a, node_number(p, parser_expr(p)), print_scsi_cdb);
}

static void text_device(struct print_ctx *c, const struct print_fmt_node *n)
{
	u64 dev = print_eval(c, n->a);
	strbuf_u64(c->to, dev >> 20 & 0xfff);
	strbuf_char(c->to, ':');
	strbuf_u64(c->to, dev & 0xfffff);
}

static const struct print_fmt_node *call_device(struct print_fmt_parser *p, u32 arg)
{
	return call_text(p, node_number(p, parser_expr(p)), NULL, text_device);
}

/* __le16_to_cpup(pointer) */
static const struct print_fmt_node *call_swap_at(struct print_fmt_parser *p, u32 arg)
{
	const struct print_fmt_node *a = node_bytes_only(p, parser_expr(p));
	struct print_fmt_node *n = a ? node_new(p, NODE_INDEX, a, node_num(p, 0, 4, true)) : NULL;
	if (!n)
		return NULL;
	n->size = arg & 15;
	return swap_number(p, n, arg);
}

static const struct print_fmt_node *call_sizeof(struct print_fmt_parser *p, u32 arg)
{
	struct mark m = token_mark(p);
	struct ctype t;
	bool sure;
	u64 size = 0;
	/* sizeof(struct { int:(-!!(condition)); }): a check of the compiler, of no size. */
	if (token_accept_word(p, "struct") && p->tok == '{') {
		token_skip_balanced(p);
		return node_num(p, 0, p->schema->long_size, false);
	}
	token_back(p, m);
	if (ctype_parse(p, &t, &sure) && p->tok == ')') {
		size = t.pointer ? p->schema->long_size : t.size;
	} else {
		token_back(p, m);
		const struct print_fmt_node *n = parser_expr(p);
		if (n && n->kind == NODE_NUM && n->unknown)
			return n;
		size = !n ? 0 : n->kind == NODE_BYTES && !n->loc ? n->len : n->size;
	}
	return size ? node_num(p, size, p->schema->long_size, false) : node_unknown(p);
}

static const struct {
	const char *name;
	const struct print_fmt_node *(*parse)(struct print_fmt_parser *p, u32 arg);
	u32 arg;
} calls[] = {
	{ "__print_flags", call_flags, 0 },
	{ "__print_flags_u64", call_flags, 0 },
	{ "__print_flags64", call_flags, 0 },
	{ "__print_symbolic", call_symbolic, 0 },
	{ "__print_symbolic_u64", call_symbolic, 0 },
	{ "__print_symbolic64", call_symbolic, 0 },
	{ "__get_str", call_get, NODE_BYTES },
	{ "__get_rel_str", call_get, NODE_BYTES },
	{ "__get_dynamic_array", call_get, NODE_BYTES },
	{ "__get_rel_dynamic_array", call_get, NODE_BYTES },
	{ "__get_sockaddr", call_get, NODE_BYTES },
	{ "__get_rel_sockaddr", call_get, NODE_BYTES },
	{ "__get_dynamic_array_len", call_get, NODE_DYN_LEN },
	{ "__get_rel_dynamic_array_len", call_get, NODE_DYN_LEN },
	{ "__get_bitmask", call_get, NODE_BITMASK },
	{ "__get_rel_bitmask", call_get, NODE_BITMASK },
	{ "__get_cpumask", call_get, NODE_CPUMASK },
	{ "__get_rel_cpumask", call_get, NODE_CPUMASK },
	{ "__print_hex", call_hex, NODE_HEX },
	{ "__print_hex_str", call_hex, NODE_HEX_STR },
	{ "__print_hex_dump", call_hex_dump, 0 },
	{ "__print_array", call_array, 0 },
	{ "__print_dynamic_array", call_array, 1 },
	{ "__print_bitmask", call_mask, NODE_BITMASK },
	{ "__print_cpumask", call_mask, NODE_CPUMASK },
	{ "__print_ns_to_secs", call_ns, 1 },
	{ "__print_ns_without_secs", call_ns, 0 },
	{ "sizeof", call_sizeof, 0 },
	{ "__builtin_choose_expr", call_choose, 0 },
	{ "__builtin_expect", call_first, 0 },
	{ "__builtin_expect_with_probability", call_first, 0 },
	{ "__builtin_constant_p", call_constant_p, 0 },
	{ "__builtin_types_compatible_p", call_compatible, 0 },
	{ "__builtin_bswap16", call_swap, 32 | 2 },
	{ "__builtin_bswap32", call_swap, 32 | 4 },
	{ "__builtin_bswap64", call_swap, 32 | 8 },
	{ "__fswab16", call_swap, 32 | 2 },
	{ "__fswab32", call_swap, 32 | 4 },
	{ "__fswab64", call_swap, 32 | 8 },
	{ "ntohs", call_swap, 2 },
	{ "htons", call_swap, 2 },
	{ "ntohl", call_swap, 4 },
	{ "htonl", call_swap, 4 },
	{ "be16_to_cpu", call_swap, 2 },
	{ "be32_to_cpu", call_swap, 4 },
	{ "be64_to_cpu", call_swap, 8 },
	{ "__be16_to_cpu", call_swap, 2 },
	{ "__be32_to_cpu", call_swap, 4 },
	{ "__be64_to_cpu", call_swap, 8 },
	{ "le16_to_cpu", call_swap, 16 | 2 },
	{ "le32_to_cpu", call_swap, 16 | 4 },
	{ "le64_to_cpu", call_swap, 16 | 8 },
	{ "__le16_to_cpu", call_swap, 16 | 2 },
	{ "__le32_to_cpu", call_swap, 16 | 4 },
	{ "__le64_to_cpu", call_swap, 16 | 8 },
	{ "min", call_min_max, NODE_LT },
	{ "max", call_min_max, NODE_GT },
	{ "jiffies_to_msecs", call_jiffies, 1000 },
	{ "jiffies_to_usecs", call_jiffies, 1000000 },
	{ "mc_event_error_type", call_mc_event, 0 },
	{ "xen_hypercall_name", call_xen, 0 },
	{ "scsi_trace_parse_cdb", call_scsi, 0 },
	{ "jbd2_dev_to_name", call_device, 0 },
	{ "__le16_to_cpup", call_swap_at, 16 | 2 },
	{ "__le32_to_cpup", call_swap_at, 16 | 4 },
	{ "cpumask_bits", call_first, 0 },
};

const struct print_fmt_node *parser_call(struct print_fmt_parser *p, const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (strlen(calls[i].name) != len || memcmp(calls[i].name, name, len))
			continue;
		const struct print_fmt_node *n = calls[i].parse(p, calls[i].arg);
		token_expect(p, ')');
		return p->err ? NULL : n;
	}
	if (len < 3 || memcmp(name, "__", 2))
		return parser_fail(p, "it calls a kernel function");
	/* arithmetic that macros left behind: __builtin_clzll, __ilog2_u64 */
	token_skip_balanced(p);
	token_expect(p, ')');
	return node_unknown(p);
}
