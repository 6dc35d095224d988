#include "lang/dump.h"

#include "lang/token.h"
#include "lang/types.h"

static const char *const kind_names[] = {
	[NODE_INT] = "int",
	[NODE_BOOL] = "bool",
	[NODE_STRING] = "string",
	[NODE_IDENT] = "name",
	[NODE_VAR] = "variable",
	[NODE_MAP] = "map",
	[NODE_PARAM] = "parameter",
	[NODE_PARAM_COUNT] = "parameter count",
	[NODE_CALL] = "call",
	[NODE_UNARY] = "unary",
	[NODE_BINARY] = "binary",
	[NODE_TERNARY] = "ternary",
	[NODE_MEMBER] = "member",
	[NODE_INDEX] = "index",
	[NODE_CAST] = "cast",
	[NODE_TUPLE] = "tuple",
	[NODE_SIZEOF] = "sizeof",
	[NODE_OFFSETOF] = "offsetof",
	[NODE_TYPE] = "type",
	[NODE_INLINE] = "function",
	[NODE_STEP] = "step",
	[NODE_READ] = "read",
	[NODE_ASSIGN] = "assign",
	[NODE_EXPR] = "expression",
	[NODE_IF] = "if",
	[NODE_WHILE] = "while",
	[NODE_UNROLL] = "unroll",
	[NODE_RANGE] = "for range",
	[NODE_FOR_MAP] = "for map",
	[NODE_BLOCK] = "block",
	[NODE_RETURN] = "return",
	[NODE_BREAK] = "break",
	[NODE_CONTINUE] = "continue",
	[NODE_LET] = "let",
};

static void add_text(struct strbuf *to, const struct node *n)
{
	strbuf_str(to, " \"");
	for (s64 i = 0; i < n->number; i++) {
		char c = n->text[i];
		if (c == '\n')
			strbuf_str(to, "\\n");
		else if (c == '"' || c == '\\' || (u8)c < 32)
			strbuf_printf(to, "\\x%02x", (u8)c);
		else
			strbuf_char(to, c);
	}
	strbuf_char(to, '"');
}

static void dump_node(const struct node *n, u32 depth, bool types, struct strbuf *to)
{
	if (!n)
		return;
	strbuf_fill(to, ' ', (size_t)depth * 2);
	strbuf_str(to, kind_names[n->kind]);
	if (n->kind == NODE_INT || n->kind == NODE_BOOL || n->kind == NODE_PARAM)
		strbuf_printf(to, " %lld", (long long)n->number);
	else if (n->kind == NODE_STRING)
		add_text(to, n);
	else if (n->text)
		strbuf_printf(to, " %s", n->text);
	if (n->label)
		strbuf_printf(to, " .%s", n->label);
	if (n->op)
		strbuf_printf(to, " %s", token_text((enum token_kind)n->op));
	if (n->spec)
		strbuf_printf(to, " (%s%.*s)", n->spec->name, (int)min(n->spec->stars, 8u),
			      "********");
	if (types && n->type) {
		strbuf_str(to, " :: ");
		type_text(n->type, to);
	}
	strbuf_char(to, '\n');
	dump_node(n->a, depth + 1, types, to);
	dump_node(n->b, depth + 1, types, to);
	dump_node(n->c, depth + 1, types, to);
	for (const struct node *e = n->list; e; e = e->next)
		dump_node(e, depth + 1, types, to);
}

void dump_script(const struct script *s, const struct program *p, bool types, struct strbuf *to)
{
	for (const struct map *m = s->maps; types && m; m = m->next) {
		strbuf_printf(to, "%s[", m->name);
		if (m->used_keyed)
			type_text(m->key, to);
		strbuf_str(to, "] :: ");
		type_text(m->value, to);
		strbuf_char(to, '\n');
	}
	for (const struct probe_block *b = s->blocks; b; b = b->next) {
		for (u32 i = 0; i < b->nr_points; i++)
			strbuf_printf(to, "%s\n", p->probes.at[b->first_point + i].text);
		if (b->predicate) {
			strbuf_str(to, " predicate\n");
			dump_node(b->predicate, 1, types, to);
		}
		dump_node(b->body, 0, types, to);
	}
}
