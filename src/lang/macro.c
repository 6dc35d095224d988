#include "lang/macro.h"

#include "lang/token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 16, NODES_MAX = 1 << 18 };

struct expander {
	struct script *script;
	struct arena *arena;
	const struct lang_input *in;
	struct diag *diag;
	u32 copies; /* of macros so far: their variables are told apart by it */
	u32 nodes;
	int err;
};

struct binding {
	const struct macro *macro; /* NULL: of a function */
	const struct function *function;
	struct node *result; /* FUNCTION: its variable, or NULL */
	struct node *args; /* of the call */
	u32 copy;
};

static int fail(struct expander *e, const struct node *n, const char *name, const char *text)
{
	if (!e->err)
		e->err = lang_error(e->diag, e->in->text, n->start, n->len, -EINVAL, "%s%s%s", name,
				    *name ? "() " : "", text);
	return e->err;
}

static const struct node *argument(const struct binding *b, enum node_kind kind, const char *name)
{
	const struct node *a = b->args;
	for (u32 i = 0; b->macro && i < b->macro->nr && a; i++, a = a->next)
		if (b->macro->params[i].kind == kind && !strcmp(b->macro->params[i].name, name))
			return a;
	return NULL;
}

static struct node *copy_tree(struct expander *e, const struct node *n, const struct binding *b);

static struct node *copy_list(struct expander *e, const struct node *n, const struct binding *b)
{
	struct node *first = NULL, **at = &first;
	for (; n && !e->err; n = n->next) {
		*at = copy_tree(e, n, b);
		if (*at)
			at = &(*at)->next;
	}
	return first;
}

static struct node *copy_node(struct expander *e, const struct node *n)
{
	struct node *to = arena_alloc(e->arena, sizeof(*to));
	if (!to || ++e->nodes > NODES_MAX) {
		if (to)
			fail(e, n, "", "the macros of the script grow too large");
		e->err = e->err ? e->err : -ENOMEM;
		return NULL;
	}
	*to = *n;
	to->next = NULL;
	return to;
}

static const char *own_name(struct expander *e, const char *name, u32 copy)
{
	char text[128];
	snprintf(text, sizeof(text), "%.100s#%u", name, copy);
	char *to = arena_strdup(e->arena, text);
	if (!to)
		e->err = -ENOMEM;
	return to;
}

/* Variables of loops have a name, too. */
static void rename_var(struct expander *e, struct node *to, const struct binding *b)
{
	const struct node *arg = argument(b, NODE_VAR, to->text);
	to->text = arg ? arg->text : own_name(e, to->text, b->copy);
}

/* typeof(x): x may be a parameter. */
static void copy_spec(struct expander *e, struct node *to, const struct binding *b)
{
	if (!to->spec || !to->spec->of)
		return;
	struct type_spec *s = arena_alloc(e->arena, sizeof(*s));
	if (!s) {
		e->err = -ENOMEM;
		return;
	}
	*s = *to->spec;
	s->of = copy_tree(e, s->of, b);
	to->spec = s;
}

/* b: NULL: a copy as it is, of an argument. */
static struct node *copy_tree(struct expander *e, const struct node *n, const struct binding *b)
{
	if (e->err || !n)
		return NULL;
	const struct node *arg =
		b && n->kind == NODE_IDENT ? argument(b, NODE_IDENT, n->text) : NULL;
	if (arg) {
		struct node *copy = copy_tree(e, arg, NULL);
		if (copy)
			copy->label = n->label;
		return copy;
	}
	struct node *to = copy_node(e, n);
	if (!to)
		return NULL;
	if (b && (n->kind == NODE_VAR || n->kind == NODE_RANGE || n->kind == NODE_FOR_MAP))
		rename_var(e, to, b);
	arg = b && n->kind == NODE_MAP ? argument(b, NODE_MAP, n->text) : NULL;
	if (arg) {
		to->map = arg->map;
		to->text = arg->text;
	}
	copy_spec(e, to, b);
	to->a = copy_tree(e, n->a, b);
	to->b = copy_tree(e, n->b, b);
	to->c = copy_tree(e, n->c, b);
	to->list = copy_list(e, n->list, b);
	if (b && b->function && n->kind == NODE_RETURN) {
		to->number = 1;
		to->b = copy_tree(e, b->result, NULL);
		if (!to->a != !b->result)
			fail(e, n, b->function->name,
			     b->result ? "has to return a value" : "returns no value");
	}
	return to;
}

/* A macro without parameters needs no parentheses. */
static const struct macro *find_macro(const struct script *s, const struct node *n)
{
	if (n->kind != NODE_CALL && n->kind != NODE_IDENT)
		return NULL;
	for (const struct macro *m = s->macros; m; m = m->next)
		if (!strcmp(m->name, n->text) && m->nr == n->nr)
			return m;
	return NULL;
}

static int check_args(struct expander *e, const struct macro *m, const struct node *call)
{
	const struct node *a = call->list;
	for (u32 i = 0; i < m->nr; i++, a = a->next) {
		if (m->params[i].kind == NODE_VAR && a->kind != NODE_VAR)
			return fail(e, a, m->name, "takes a variable here");
		if (m->params[i].kind == NODE_MAP && (a->kind != NODE_MAP || a->nr))
			return fail(e, a, m->name, "takes a map here");
	}
	return 0;
}

static void expand_node(struct expander *e, struct node *n, u32 depth);

static void expand_call(struct expander *e, struct node *n, const struct macro *m, u32 depth)
{
	if (depth >= DEPTH_MAX) {
		fail(e, n, m->name, "is a macro that uses itself");
		return;
	}
	if (check_args(e, m, n))
		return;
	struct binding b = { .macro = m, .args = n->list, .copy = ++e->copies };
	struct node *body = copy_tree(e, m->body, &b), *next = n->next;
	if (!body)
		return;
	bool unused = n->unused;
	const char *label = n->label;
	u32 start = n->start, len = n->len;
	*n = *body;
	n->label = label;
	n->next = next;
	n->unused = unused;
	n->start = start;
	n->len = len;
	for (struct node *s = n->list; s; s = s->next)
		if (!s->next && s->kind == NODE_EXPR)
			s->a->unused = unused;
	expand_node(e, n, depth + 1);
}

static const struct function *find_function(const struct script *s, const struct node *n)
{
	if (n->kind != NODE_CALL)
		return NULL;
	for (const struct function *f = s->functions; f; f = f->next)
		if (!strcmp(f->name, n->text))
			return f;
	return NULL;
}

static struct node *new_node(struct expander *e, const struct node *at, enum node_kind kind)
{
	struct node *n = copy_node(e, at);
	if (n)
		*n = (struct node){ .kind = kind, .start = at->start, .len = at->len };
	return n;
}

/* let $x: type = value; */
static struct node *make_let(struct expander *e, const struct node *at, const char *name,
			     struct type_spec *spec, struct node *value)
{
	struct node *let = new_node(e, at, NODE_LET), *var = new_node(e, at, NODE_VAR);
	if (!let || !var)
		return NULL;
	var->text = name;
	let->a = var;
	let->b = value;
	let->spec = spec;
	return let;
}

static void expand_function(struct expander *e, struct node *n, const struct function *f, u32 depth)
{
	if (depth >= DEPTH_MAX) {
		fail(e, n, f->name, "calls itself");
		return;
	}
	if (n->nr != f->nr) {
		fail(e, n, f->name, "is called with another number of arguments than it takes");
		return;
	}
	struct binding b = { .function = f, .copy = ++e->copies };
	struct node *lets = NULL, **at = &lets, *next;
	u32 i = 0;
	for (struct node *a = n->list; a && !e->err; a = next, i++) {
		next = a->next;
		a->next = NULL;
		*at = make_let(e, a, own_name(e, f->params[i].name, b.copy), f->specs[i], a);
		if (*at)
			at = &(*at)->next;
	}
	if (f->result && (b.result = new_node(e, n, NODE_VAR)))
		b.result->text = own_name(e, "result", b.copy);
	n->b = copy_tree(e, f->body, &b);
	n->a = b.result;
	n->kind = NODE_INLINE;
	n->list = lets;
	n->spec = f->result;
	if (!e->err)
		expand_node(e, n->b, depth + 1);
}

static void expand_node(struct expander *e, struct node *n, u32 depth)
{
	if (!n || e->err)
		return;
	for (struct node *a = n->list; a && !e->err; a = a->next)
		expand_node(e, a, depth);
	bool is_type = (n->kind == NODE_SIZEOF || n->kind == NODE_OFFSETOF) && n->a &&
		       n->a->kind == NODE_IDENT;
	if (!is_type)
		expand_node(e, n->a, depth);
	expand_node(e, n->b, depth);
	expand_node(e, n->c, depth);
	const struct macro *m = find_macro(e->script, n);
	const struct function *f = m ? NULL : find_function(e->script, n);
	if (m)
		expand_call(e, n, m, depth);
	else if (f)
		expand_function(e, n, f, depth);
	/* A bare name there is of a type. */
	if (n->spec && n->spec->of && n->spec->of->kind != NODE_IDENT)
		expand_node(e, n->spec->of, depth);
}

int macro_expand(struct script *s, struct arena *a, const struct lang_input *in, struct diag *d)
{
	struct expander e = { .script = s, .arena = a, .in = in, .diag = d };
	bool any = s->macros || s->functions;
	for (struct probe_block *b = s->blocks; any && b && !e.err; b = b->next) {
		expand_node(&e, b->predicate, 0);
		expand_node(&e, b->body, 0);
	}
	return e.err;
}
