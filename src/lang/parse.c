/* Blocks, statements and what is around them. */
#include "lang/parse.h"

#include "lang/cdef.h"
#include "lang/macro.h"
#include "lang/scope.h"

#include "base/num.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void parse_fail(struct parser *p, int err, const char *fmt, ...)
{
	if (p->err)
		return;
	p->err = err;
	if (p->t.kind == TOKEN_BAD)
		return; /* the lexer has reported it */
	struct strbuf s;
	va_list ap;
	strbuf_init(&s);
	va_start(ap, fmt);
	strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	if (p->setting)
		diag_error(p->diag, err, "%s in the environment: %s", p->setting, strbuf_cstr(&s));
	else
		lang_error(p->diag, p->in->text, p->t.start, p->t.len, err, "%s", strbuf_cstr(&s));
	strbuf_done(&s);
}

void parse_next(struct parser *p)
{
	if (p->err)
		return;
	p->last_end = p->t.start + p->t.len;
	lex_next(&p->lex, &p->t);
	if (p->t.kind == TOKEN_BAD)
		p->err = p->lex.err;
}

bool parse_take(struct parser *p, enum token_kind kind)
{
	if (p->err || p->t.kind != kind)
		return false;
	parse_next(p);
	return true;
}

bool parse_expect(struct parser *p, enum token_kind kind, const char *what)
{
	if (parse_take(p, kind))
		return !p->err;
	if (!p->err && p->t.kind == TOKEN_END)
		parse_fail(p, -EINVAL, "expected %s, but the script ends here", what);
	else
		parse_fail(p, -EINVAL, "expected %s", what);
	return false;
}

bool parse_word(const struct parser *p, const char *word)
{
	return !p->err && p->t.kind == TOKEN_IDENT && !strcmp(p->t.text, word);
}

struct node *parse_node(struct parser *p, enum node_kind kind)
{
	struct node *n = arena_zalloc(p->arena, sizeof(*n));
	if (!n) {
		p->err = -ENOMEM;
		return NULL;
	}
	n->kind = kind;
	n->start = p->t.start;
	n->len = p->t.len;
	return n;
}

struct node *parse_end(struct parser *p, struct node *n)
{
	if (p->err || !n)
		return NULL;
	n->len = p->last_end > n->start ? p->last_end - n->start : 1;
	return n;
}

struct map *parse_map_named(struct parser *p, const char *name)
{
	struct map **at = &p->script->maps;
	for (; *at; at = &(*at)->next)
		if (!strcmp((*at)->name + 1, name))
			return *at;
	struct map *m = arena_zalloc(p->arena, sizeof(*m));
	char *full = arena_alloc(p->arena, strlen(name) + 2);
	if (!m || !full) {
		p->err = -ENOMEM;
		return NULL;
	}
	full[0] = '@';
	memcpy(full + 1, name, strlen(name) + 1);
	m->name = full;
	m->start = p->t.start;
	m->len = p->t.len;
	*at = m;
	return m;
}

static struct node *parse_statement(struct parser *p);

struct node *parse_block(struct parser *p)
{
	struct node *n = parse_node(p, NODE_BLOCK);
	if (!n || !parse_expect(p, TOKEN_LBRACE, "'{'"))
		return NULL;
	struct node **at = &n->list;
	while (!p->err && p->t.kind != TOKEN_RBRACE) {
		if (parse_take(p, TOKEN_SEMI))
			continue;
		struct node *s = parse_statement(p);
		if (!s)
			return NULL;
		*at = s;
		at = &s->next;
		n->nr++;
	}
	parse_expect(p, TOKEN_RBRACE, "'}'");
	return parse_end(p, n);
}

static struct node *parse_if(struct parser *p)
{
	struct node *n = parse_node(p, NODE_IF);
	parse_next(p);
	if (n && parse_word(p, "comptime")) {
		n->number = 1;
		parse_next(p);
	}
	if (!n || !(n->a = parse_expr(p)) || !(n->b = parse_block(p)))
		return NULL;
	if (parse_word(p, "else")) {
		parse_next(p);
		n->c = parse_word(p, "if") ? parse_statement(p) : parse_block(p);
		if (!n->c)
			return NULL;
	}
	return parse_end(p, n);
}

static struct node *parse_loop(struct parser *p, enum node_kind kind)
{
	struct node *n = parse_node(p, kind);
	parse_next(p);
	if (!n || !(n->a = parse_expr(p)) || !(n->b = parse_block(p)))
		return NULL;
	return parse_end(p, n);
}

static struct node *parse_for(struct parser *p)
{
	struct node *n = parse_node(p, NODE_FOR_MAP);
	parse_next(p);
	bool paren = parse_take(p, TOKEN_LPAREN);
	if (!n)
		return NULL;
	n->text = p->t.text;
	if (!parse_expect(p, TOKEN_VAR, "the variable of the loop") ||
	    !parse_expect(p, TOKEN_COLON, "':'") || !(n->a = parse_expr(p)))
		return NULL;
	if (parse_take(p, TOKEN_DOTDOT)) {
		n->kind = NODE_RANGE;
		n->b = parse_expr(p);
	} else if (n->a->kind != NODE_MAP || n->a->nr) {
		parse_fail(p, -EINVAL, "expected a map or a range (0..10)");
	}
	if (paren)
		parse_expect(p, TOKEN_RPAREN, "')'");
	if (p->err || !(n->c = parse_block(p)))
		return NULL;
	return parse_end(p, n);
}

static struct node *parse_let(struct parser *p)
{
	struct node *n = parse_node(p, NODE_LET);
	parse_next(p);
	if (!n)
		return NULL;
	n->a = parse_node(p, NODE_VAR);
	if (n->a)
		n->a->text = p->t.text;
	if (!parse_expect(p, TOKEN_VAR, "a variable"))
		return NULL;
	if (parse_take(p, TOKEN_COLON) && !(n->spec = parse_type(p)))
		return NULL;
	if (parse_take(p, TOKEN_ASSIGN) && !(n->b = parse_expr(p)))
		return NULL;
	return parse_end(p, n);
}

static struct node *parse_jump(struct parser *p)
{
	struct node *n = parse_node(p, parse_word(p, "break")	   ? NODE_BREAK
				       : parse_word(p, "continue") ? NODE_CONTINUE
								   : NODE_RETURN);
	parse_next(p);
	if (n && n->kind == NODE_RETURN && p->t.kind != TOKEN_SEMI && p->t.kind != TOKEN_RBRACE)
		n->a = parse_expr(p);
	return parse_end(p, n);
}

/* An expression; or an assignment, which is none. */
static struct node *parse_simple(struct parser *p)
{
	struct node *a = parse_expr(p);
	if (!a)
		return NULL;
	bool discard = a->kind == NODE_IDENT && !strcmp(a->text, "_");
	if (discard && parse_expect(p, TOKEN_ASSIGN, "'=' after '_'") && !(a = parse_expr(p)))
		return NULL;
	bool assign = !discard && p->t.kind >= TOKEN_ASSIGN && p->t.kind <= TOKEN_SHR_ASSIGN;
	struct node *n = parse_node(p, assign ? NODE_ASSIGN : NODE_EXPR);
	if (!n)
		return NULL;
	n->start = a->start;
	n->a = a;
	n->number = discard;
	if (assign) {
		n->op = (u8)p->t.kind;
		if (a->kind != NODE_VAR && a->kind != NODE_MAP)
			parse_fail(p, -EINVAL, "only variables and maps can be assigned to");
		parse_next(p);
		if (!(n->b = parse_expr(p)))
			return NULL;
	}
	a->unused = !assign;
	return parse_end(p, n);
}

static struct node *statement_of(struct parser *p, bool *block)
{
	*block = true;
	if (p->t.kind == TOKEN_LBRACE)
		return parse_block(p);
	if (parse_word(p, "if"))
		return parse_if(p);
	if (parse_word(p, "while"))
		return parse_loop(p, NODE_WHILE);
	if (parse_word(p, "unroll"))
		return parse_loop(p, NODE_UNROLL);
	if (parse_word(p, "for"))
		return parse_for(p);
	*block = false;
	if (parse_word(p, "let"))
		return parse_let(p);
	if (parse_word(p, "break") || parse_word(p, "continue") || parse_word(p, "return"))
		return parse_jump(p);
	return parse_simple(p);
}

static struct node *parse_statement(struct parser *p)
{
	bool block;
	if (p->depth >= PARSE_DEPTH_MAX) {
		parse_fail(p, -E2BIG, "statements nested too deeply");
		return NULL;
	}
	p->depth++;
	struct node *n = statement_of(p, &block);
	p->depth--;
	if (!n || p->err)
		return NULL;
	if (!block && p->t.kind != TOKEN_RBRACE)
		parse_expect(p, TOKEN_SEMI, "';'");
	return p->err ? NULL : n;
}

/* The end of the attach point at `at`: a blank, comma or brace outside of quotes. */
static u32 point_end(const struct parser *p, u32 at)
{
	bool quoted = false;
	const char *s = p->in->text;
	for (; at < p->lex.end && s[at] != '\n'; at++) {
		if (s[at] == '"')
			quoted = !quoted;
		if (!quoted && (isspace((unsigned char)s[at]) || s[at] == ',' || s[at] == '{'))
			break;
	}
	return at;
}

/* The name of a probe, name=begin: where the point begins. */
static u32 skip_name(const struct parser *p, u32 at)
{
	const char *s = p->in->text;
	u32 end = at;
	while (end < p->lex.end && (isalnum((unsigned char)s[end]) || s[end] == '_'))
		end++;
	return end > at && end < p->lex.end && s[end] == '=' ? end + 1 : at;
}

/* Attach points are not made of the tokens of expressions: they are read as text. */
static void parse_points(struct parser *p, struct probe_block *b)
{
	p->lex.at = skip_name(p, p->t.start);
	for (;;) {
		if (lex_skip(&p->lex)) {
			p->err = -EINVAL;
			return;
		}
		u32 start = p->lex.at, end = point_end(p, start);
		char *text = arena_strndup(p->arena, p->in->text + start, end - start);
		if (!text) {
			p->err = -ENOMEM;
			return;
		}
		p->err = provider_parse(p->in, p->program, text, start, end - start, p->diag);
		p->lex.at = end;
		if (!p->err && lex_skip(&p->lex))
			p->err = -EINVAL;
		if (p->err)
			return;
		b->nr_points++;
		if (p->lex.at >= p->lex.end || p->in->text[p->lex.at] != ',')
			break;
		p->lex.at++;
	}
	parse_next(p);
}

/* Whether `args` is used: then each event of a pattern has its own code, since fields may be anywhere. */
static bool uses_args(const struct node *n)
{
	if (!n)
		return false;
	if ((n->kind == NODE_IDENT || n->kind == NODE_CALL) && !strcmp(n->text, "args"))
		return true;
	for (const struct node *e = n->list; e; e = e->next)
		if (uses_args(e))
			return true;
	return uses_args(n->a) || uses_args(n->b) || uses_args(n->c);
}

static int add_event(struct parser *p, const struct program_probe *of, const char *system,
		     const char *name)
{
	struct program_probe *to = vec_push(&p->program->probes);
	struct strbuf text;
	if (!to)
		return -ENOMEM;
	*to = *of;
	strbuf_init(&text);
	strbuf_printf(&text, "tracepoint:%s:%s", system, name);
	to->target = arena_strdup(p->arena, system);
	to->name = arena_strdup(p->arena, name);
	to->text = arena_strdup(p->arena, strbuf_cstr(&text));
	to->is_glob = false;
	if (text.err)
		to->text = NULL;
	strbuf_done(&text);
	return to->target && to->name && to->text ? 0 : -ENOMEM;
}

/* Whether argN is used. */
static bool uses_arg_numbers(const struct node *n)
{
	if (!n)
		return false;
	if (n->kind == NODE_IDENT && !strncmp(n->text, "arg", 3) &&
	    isdigit((unsigned char)n->text[3]))
		return true;
	for (const struct node *e = n->list; e; e = e->next)
		if (uses_arg_numbers(e))
			return true;
	return uses_arg_numbers(n->a) || uses_arg_numbers(n->b) || uses_arg_numbers(n->c);
}

/* The sites of a USDT probe may have their arguments in different places: each gets its own code. */
static int expand_sites(struct parser *p, const struct program_probe *of)
{
	const struct lang_ops *ops = p->in->ops;
	const char *arguments;
	u32 nth = 0;
	int got = 1;
	while (got > 0) {
		got = ops->usdt_site(p->in->ctx, of, nth, &arguments);
		if (got <= 0)
			break;
		struct program_probe *to = vec_push(&p->program->probes);
		if (!to)
			return -ENOMEM;
		*to = *of;
		to->arguments = arena_strdup(p->arena, arguments);
		if (!to->arguments)
			return -ENOMEM;
		nth++;
	}
	return got == -ENOMEM ? got : (int)nth;
}

struct place_variants {
	struct parser *p;
	const struct program_probe *of;
	int nr;
};

static int add_variant(void *ctx, const char *key, const struct program_local *locals, u32 nr)
{
	struct place_variants *w = ctx;
	struct program_probe *to = vec_push(&w->p->program->probes);
	if (!to)
		return -ENOMEM;
	*to = *w->of;
	to->arguments = key;
	to->locals = locals;
	to->nr_locals = nr;
	w->nr++;
	return 0;
}

/* Variables may be elsewhere at each place that a line has. What is not known is reported where it is used. */
static int expand_places(struct parser *p, const struct program_probe *of)
{
	struct place_variants w = { .p = p, .of = of };
	size_t before = p->program->probes.nr;
	struct diag ignored;
	diag_init(&ignored);
	int err = p->in->ops->locals(p->in->ctx, of, p->arena, add_variant, &w, &ignored);
	diag_done(&ignored);
	if (err == -ENOMEM)
		return err;
	if (err) {
		p->program->probes.nr = before;
		return 0;
	}
	return w.nr;
}

static bool has_variables(const struct program_probe *p)
{
	if (p->provider == PROGRAM_KPROBE)
		return p->file != NULL;
	return p->provider == PROGRAM_UPROBE && (p->file || (p->name && !p->is_glob && !p->offset));
}

/* Attach points that are patterns are replaced by what they stand for. */
static int expand_point(struct parser *p, const struct program_probe *of, bool wanted, bool numbers)
{
	const struct lang_ops *ops = p->in->ops;
	const char *system, *name;
	u32 nth = 0;
	if (wanted && ops && ops->locals && has_variables(of)) {
		int places = expand_places(p, of);
		if (places)
			return min(places, 0);
	}
	if (numbers && of->provider == PROGRAM_USDT && ops && ops->usdt_site) {
		int sites = expand_sites(p, of);
		if (sites)
			return min(sites, 0);
	}
	int got = wanted && of->provider == PROGRAM_TRACEPOINT && of->is_glob && ops &&
		  ops->tracepoint_list;
	while (got > 0) {
		got = ops->tracepoint_list(p->in->ctx, of->target, of->name, nth, &system, &name);
		if (got > 0 && add_event(p, of, system, name))
			got = -ENOMEM;
		nth += got > 0;
	}
	if (got < 0 || nth)
		return got;
	struct program_probe *same = vec_push(&p->program->probes);
	if (!same)
		return -ENOMEM;
	*same = *of;
	return 0;
}

int parse_expand_points(struct parser *p)
{
	size_t nr = p->program->probes.nr;
	struct program_probe *old = arena_array(p->arena, nr + 1, sizeof(*old));
	int err = old ? 0 : -ENOMEM;
	if (!err && nr)
		memcpy(old, p->program->probes.at, nr * sizeof(*old));
	p->program->probes.nr = 0;
	for (struct probe_block *b = p->script->blocks; b && !err; b = b->next) {
		bool wanted = uses_args(b->predicate) || uses_args(b->body);
		bool numbers = uses_arg_numbers(b->predicate) || uses_arg_numbers(b->body);
		u32 first = (u32)p->program->probes.nr;
		for (u32 i = 0; i < b->nr_points && !err; i++)
			err = expand_point(p, &old[b->first_point + i], wanted, numbers);
		b->first_point = first;
		b->nr_points = (u32)p->program->probes.nr - first;
	}
	return err;
}

static void parse_probe(struct parser *p, struct probe_block ***at)
{
	struct probe_block *b = arena_zalloc(p->arena, sizeof(*b));
	if (!b) {
		p->err = -ENOMEM;
		return;
	}
	b->first_point = (u32)p->program->probes.nr;
	parse_points(p, b);
	if (parse_take(p, TOKEN_DIV)) {
		p->in_predicate = true;
		b->predicate = parse_expr(p);
		p->in_predicate = false;
		if (b->predicate)
			parse_expect(p, TOKEN_DIV, "'/' at the end of the predicate");
	}
	if (!p->err)
		b->body = parse_block(p);
	**at = b;
	*at = &b->next;
	p->script->nr_blocks++;
}

/* Settings of config blocks, with their old names. */
static const struct {
	const char *name, *old;
	size_t offset;
	u32 min, max;
} numbers[] = {
	{ "max_strlen", "strlen", offsetof(struct program, config.max_strlen), 8, 1 << 16 },
	{ "max_map_keys", "map_keys_max", offsetof(struct program, config.max_map_keys), 1, 1 << 28 },
	{ "max_probes", "probes_max", offsetof(struct program, config.max_probes), 1, 1 << 20 },
	{ "max_cat_bytes", "cat_bytes_max", offsetof(struct program, config.max_cat_bytes), 1,
	  1 << 28 },
	{ "perf_rb_pages", "", offsetof(struct program, config.ring_pages), 1, 1 << 20 },
};

/* These are about bpftrace's own inside, or have no meaning without LLVM: accepted. */
static const char *const ignored[] = {
	"cache_user_symbols", "lazy_symbolication", "log_size",		 "max_bpf_progs",
	"on_stack_limit",     "show_debug_info",    "use_blazesym",	 "unstable_tseries",
	"unstable_import",    "max_ast_nodes",	    "str_trunc_trailer", "unstable_macro",
	"unstable_map_decl",  "unstable_addr",	    "unstable_typeinfo", "unstable_dw_ustack",
};

/* What the kernel takes as compatible with its own. */
static const char *const licenses[] = { "GPL",		"GPL v2",	"GPL and additional rights",
					"Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL" };

static void set_license(struct parser *p)
{
	for (size_t i = 0; p->t.text && i < ARRAY_SIZE(licenses); i++)
		if (!strcmp(p->t.text, licenses[i])) {
			p->program->license = licenses[i];
			return;
		}
	parse_fail(p, -EINVAL, "the kernel gives its helpers only to code under the GPL: \"GPL\"");
}

static void set_stack_mode(struct parser *p)
{
	static const char *const modes[] = { "bpftrace", "perf", "raw", "build_id" };
	for (u8 i = 0; p->t.text && i < ARRAY_SIZE(modes); i++)
		if (!strcmp(p->t.text, modes[i])) {
			p->program->config.stack_mode = i;
			return;
		}
	parse_fail(p, -EINVAL, "expected bpftrace, perf, raw or build_id");
}

static void set_flag(struct parser *p, const char *name, bool value)
{
	if (!strcmp(name, "print_maps_on_exit"))
		p->program->config.no_final_maps = !value;
	else
		p->program->config.no_demangle = !strcmp(name, "no_cpp_demangle") == value;
}

static void set_missing(struct parser *p, const struct token *t)
{
	static const char *const words[] = { "error", "warn", "ignore" };
	for (u8 i = 0; i < 3; i++)
		if (t->text && !strcmp(words[i], t->text)) {
			p->program->config.missing_probes = i;
			return;
		}
	parse_fail(p, -EINVAL, "expected error, warn or ignore");
}

static void set_config(struct parser *p, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcmp(name, numbers[i].name) && strcmp(name, numbers[i].old))
			continue;
		if (p->t.kind != TOKEN_INT || p->t.number < numbers[i].min ||
		    p->t.number > numbers[i].max) {
			parse_fail(p, -EINVAL, "expected a number from %u to %u", numbers[i].min,
				   numbers[i].max);
			return;
		}
		memcpy((char *)p->program + numbers[i].offset, &(u32){ (u32)p->t.number },
		       sizeof(u32));
		return;
	}
	if (!strcmp(name, "stack_mode")) {
		set_stack_mode(p);
		return;
	}
	if (!strcmp(name, "license")) {
		set_license(p);
		return;
	}
	if (!strcmp(name, "missing_probes")) {
		set_missing(p, &p->t);
		return;
	}
	if (!strcmp(name, "print_maps_on_exit") || !strcmp(name, "cpp_demangle") ||
	    !strcmp(name, "no_cpp_demangle")) {
		set_flag(p, name, p->t.number || (p->t.text && !strcmp(p->t.text, "true")));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (!strcmp(name, ignored[i]))
			return;
	parse_fail(p, -EINVAL, "unknown setting '%s'", name);
}

/* BPFTRACE_MAX_STRLEN=64 in the environment. What is no setting is somebody else's. */
static void set_from_environment(struct parser *p, const char *entry)
{
	char name[64];
	const char *equal = strchr(entry, '=');
	size_t len = equal ? (size_t)(equal - entry) : 0;
	if (!str_starts(entry, "BPFTRACE_") || len < 10)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)min(len - 9, sizeof(name) - 1), entry + 9);
	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	static const char *const others[] = { "btf",	      "vmlinux", "kernel_source",
					      "kernel_build", "color",	 "debug_output" };
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!strcmp(name, others[i]))
			return;
	p->t = (struct token){ .kind = TOKEN_IDENT, .text = equal + 1 };
	if (!num_parse_u64(equal + 1, 0, &p->t.number))
		p->t.kind = TOKEN_INT;
	p->setting = entry;
	set_config(p, name);
	p->setting = NULL;
}

static void parse_config(struct parser *p)
{
	parse_next(p);
	parse_expect(p, TOKEN_ASSIGN, "'='");
	parse_expect(p, TOKEN_LBRACE, "'{'");
	while (!p->err && p->t.kind != TOKEN_RBRACE) {
		char name[64] = "";
		if (p->t.kind == TOKEN_IDENT)
			snprintf(name, sizeof(name), "%s", p->t.text);
		for (char *c = name; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		const char *plain = str_starts(name, "bpftrace_") ? name + 9 : name;
		if (!parse_expect(p, TOKEN_IDENT, "the name of a setting") ||
		    !parse_expect(p, TOKEN_ASSIGN, "'='"))
			return;
		set_config(p, plain);
		parse_next(p);
		while (parse_take(p, TOKEN_SEMI) || parse_take(p, TOKEN_COMMA))
			;
	}
	parse_expect(p, TOKEN_RBRACE, "'}'");
}

/* let @m = lruhash(100); */
static void parse_declaration(struct parser *p)
{
	static const struct {
		const char *name;
		u32 type;
	} kinds[] = {
		{ "hash", BPF_MAP_TYPE_HASH },
		{ "lruhash", BPF_MAP_TYPE_LRU_HASH },
		{ "percpuhash", BPF_MAP_TYPE_PERCPU_HASH },
		{ "percpulruhash", BPF_MAP_TYPE_LRU_PERCPU_HASH },
	};
	parse_next(p);
	struct map *m = p->t.kind == TOKEN_MAP ? parse_map_named(p, p->t.text) : NULL;
	if (!parse_expect(p, TOKEN_MAP, "a map") || !parse_expect(p, TOKEN_ASSIGN, "'='") || !m)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (parse_word(p, kinds[i].name))
			m->type = kinds[i].type;
	if (!m->type)
		parse_fail(p, -EINVAL,
			   "expected the kind of map: hash, lruhash, percpuhash or percpulruhash");
	parse_next(p);
	parse_expect(p, TOKEN_LPAREN, "'('");
	if (p->t.kind == TOKEN_INT && (!p->t.number || p->t.number > 1 << 28))
		parse_fail(p, -EINVAL, "the number of keys is outside of 1 to %u", 1 << 28);
	m->max_entries = (u32)p->t.number;
	parse_expect(p, TOKEN_INT, "the number of keys");
	parse_expect(p, TOKEN_RPAREN, "')'");
	parse_take(p, TOKEN_SEMI);
}

/* Parameters that are maps are not maps of the script, unless it had them before. */
static void drop_params(struct parser *p, const struct macro *m, struct map *last)
{
	for (struct map **at = last ? &last->next : &p->script->maps; *at;) {
		bool param = false;
		for (u32 i = 0; i < m->nr; i++)
			param |= m->params[i].kind == NODE_MAP &&
				 !strcmp(m->params[i].name, (*at)->name + 1);
		if (param)
			*at = (*at)->next;
		else
			at = &(*at)->next;
	}
}

static void parse_macro(struct parser *p)
{
	struct macro *m = arena_zalloc(p->arena, sizeof(*m));
	parse_next(p);
	if (!m) {
		p->err = -ENOMEM;
		return;
	}
	m->name = p->t.text;
	m->start = p->t.start;
	m->len = p->t.len;
	if (!parse_expect(p, TOKEN_IDENT, "the name of the macro") ||
	    !parse_expect(p, TOKEN_LPAREN, "'('"))
		return;
	while (!p->err && p->t.kind != TOKEN_RPAREN) {
		enum token_kind k = p->t.kind;
		if (m->nr == ARRAY_SIZE(m->params) ||
		    (k != TOKEN_VAR && k != TOKEN_MAP && k != TOKEN_IDENT)) {
			parse_fail(p, -EINVAL,
				   "expected a parameter: name, $name or @name, at most 16");
			return;
		}
		m->params[m->nr++] = (struct macro_param){ .kind = k == TOKEN_VAR   ? NODE_VAR
								   : k == TOKEN_MAP ? NODE_MAP
										    : NODE_IDENT,
							   .name = p->t.text };
		parse_next(p);
		if (!parse_take(p, TOKEN_COMMA))
			break;
	}
	if (!parse_expect(p, TOKEN_RPAREN, "')'"))
		return;
	struct map *last = p->script->maps;
	while (last && last->next)
		last = last->next;
	m->body = parse_block(p);
	drop_params(p, m, last);
	m->next = p->script->macros;
	p->script->macros = m;
}

/* $name: type */
static void parse_params(struct parser *p, struct function *f)
{
	while (!p->err && p->t.kind == TOKEN_VAR) {
		if (f->nr == ARRAY_SIZE(f->params)) {
			parse_fail(p, -E2BIG, "a function of more than %zu parameters",
				   ARRAY_SIZE(f->params));
			return;
		}
		f->params[f->nr] = (struct macro_param){ .kind = NODE_VAR, .name = p->t.text };
		parse_next(p);
		if (parse_expect(p, TOKEN_COLON, "':' and the type of the parameter"))
			f->specs[f->nr] = parse_type(p);
		f->nr++;
		if (!parse_take(p, TOKEN_COMMA))
			return;
	}
}

static void parse_fn(struct parser *p)
{
	struct function *f = arena_zalloc(p->arena, sizeof(*f));
	parse_next(p);
	if (!f) {
		p->err = -ENOMEM;
		return;
	}
	f->name = p->t.text;
	for (const struct function *o = p->script->functions; o && f->name; o = o->next)
		if (!strcmp(o->name, f->name))
			parse_fail(p, -EINVAL, "there is a function '%s' already", f->name);
	if (!parse_expect(p, TOKEN_IDENT, "the name of the function") ||
	    !parse_expect(p, TOKEN_LPAREN, "'('"))
		return;
	parse_params(p, f);
	if (!parse_expect(p, TOKEN_RPAREN, "')'"))
		return;
	bool none = false;
	if (parse_take(p, TOKEN_COLON)) {
		none = parse_word(p, "void");
		f->result = parse_type(p);
	}
	if (none)
		f->result = NULL;
	f->body = p->err ? NULL : parse_block(p);
	f->next = p->script->functions;
	p->script->functions = f;
}

static void parse_top(struct parser *p, struct probe_block ***at)
{

	if (p->t.kind != TOKEN_IDENT) {
		parse_fail(p, -EINVAL, "expected a probe");
		return;
	}
	if (parse_word(p, "config")) {
		struct lexer l = p->lex;
		l.diag = NULL;
		if (!lex_skip(&l) && l.at < l.end && l.text[l.at] == '=') {
			parse_config(p);
			return;
		}
	}
	if (parse_word(p, "let")) {
		parse_declaration(p);
		return;
	}
	if (parse_word(p, "struct") || parse_word(p, "union") || parse_word(p, "enum") ||
	    parse_word(p, "typedef")) {
		cdef_parse(p);
		return;
	}
	if (parse_word(p, "macro")) {
		parse_macro(p);
		return;
	}
	if (parse_word(p, "import")) { /* import_all() has put the text in */
		parse_next(p);
		parse_expect(p, TOKEN_STRING, "the name of a file");
		parse_take(p, TOKEN_SEMI);
		return;
	}
	if (parse_word(p, "fn")) {
		parse_fn(p);
		return;
	}
	parse_probe(p, at);
}

static void default_config(struct program *p)
{
	p->config.max_strlen = 1024;
	p->config.max_map_keys = 4096;
	p->config.max_probes = 1024;
	p->config.max_cat_bytes = 10240;
	p->license = "GPL";
}

int parse_script(const struct lang_input *in, struct program *prog, struct script *ret,
		 struct diag *d)
{
	struct parser p = {
		.arena = &prog->arena, .in = in, .program = prog, .script = ret, .diag = d
	};
	struct probe_block **at = &ret->blocks;
	if (in->len > UINT32_MAX / 2)
		return diag_error(d, -E2BIG, "the script is too large");
	default_config(prog);
	for (const char *const *e = in->environment; e && *e && !p.err; e++)
		set_from_environment(&p, *e);
	lex_init(&p.lex, p.arena, in->text, (u32)in->len, d);
	parse_next(&p);
	while (!p.err && p.t.kind != TOKEN_END)
		parse_top(&p, &at);
	if (!p.err && !ret->blocks)
		p.err = diag_error(d, -EINVAL, "the script has no probe");
	if (!p.err)
		p.err = macro_expand(ret, p.arena, in, d);
	if (!p.err)
		p.err = scope_resolve(ret, p.arena);
	if (!p.err)
		p.err = parse_expand_points(&p);
	return p.err;
}
