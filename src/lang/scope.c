#include "lang/scope.h"

#include "base/vec.h"
#include "lang/token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct known {
	const char *name, *unique;
};

struct scope {
	struct arena *arena;
	VEC(struct known) known; /* of the blocks around, the innermost last */
	VEC(const char *) flat; /* names that belong to the whole probe */
	VEC(const char *) seen; /* a name for each variable so far */
	bool rename; /* else only `flat` is found out */
	int err;
};

u32 scope_plain(const char *name)
{
	return (u32)strcspn(name, "#");
}

static bool is_flat(const struct scope *s, const char *name)
{
	if (strchr(name, '#')) /* a macro's own */
		return true;
	vec_for_each (&s->flat, f)
		if (!strcmp(*f, name))
			return true;
	return false;
}

static const struct known *find(const struct scope *s, const char *name)
{
	for (size_t i = s->known.nr; i; i--)
		if (!strcmp(s->known.at[i - 1].name, name))
			return &s->known.at[i - 1];
	return NULL;
}

static const char *unique_name(struct scope *s, const char *name)
{
	u32 nr = 1;
	char text[160];
	vec_for_each (&s->seen, o)
		nr += !strcmp(*o, name);
	const char **slot = vec_push(&s->seen);
	if (!slot) {
		s->err = -ENOMEM;
		return name;
	}
	*slot = name;
	if (nr == 1)
		return name;
	snprintf(text, sizeof(text), "%.120s#b%u", name, nr);
	char *copy = arena_strdup(s->arena, text);
	if (!copy)
		s->err = -ENOMEM;
	return copy ? copy : name;
}

static void rename_to(struct scope *s, const char **text, const struct known *k)
{
	if (s->rename && k)
		*text = k->unique;
}

static void declare(struct scope *s, const char **text)
{
	if (is_flat(s, *text))
		return;
	struct known *k = vec_push(&s->known);
	if (!k) {
		s->err = -ENOMEM;
		return;
	}
	*k = (struct known){ *text, *text };
	if (s->rename)
		k->unique = unique_name(s, *text);
	rename_to(s, text, k);
}

static void read_var(struct scope *s, const char **text)
{
	if (is_flat(s, *text))
		return;
	const struct known *k = find(s, *text);
	if (k || s->rename) {
		rename_to(s, text, k);
		return;
	}
	const char **slot = vec_push(&s->flat);
	if (slot)
		*slot = *text;
	else
		s->err = -ENOMEM;
}

static void visit(struct scope *s, struct node *n);

static void visit_list(struct scope *s, struct node *n)
{
	for (; n && !s->err; n = n->next)
		visit(s, n);
}

static void visit_inside(struct scope *s, struct node *n)
{
	size_t before = s->known.nr;
	visit_list(s, n->list);
	visit(s, n->b);
	s->known.nr = before;
}

static void visit_assign(struct scope *s, struct node *n)
{
	visit(s, n->b);
	if (n->a->kind != NODE_VAR || n->op != TOKEN_ASSIGN || find(s, n->a->text))
		visit(s, n->a);
	else
		declare(s, &n->a->text);
}

static void visit_for(struct scope *s, struct node *n)
{
	size_t before = s->known.nr;
	visit(s, n->a);
	visit(s, n->b);
	declare(s, &n->text);
	visit(s, n->c);
	s->known.nr = before;
}

static void visit(struct scope *s, struct node *n)
{
	if (!n || s->err)
		return;
	if (n->spec && n->spec->of)
		visit(s, n->spec->of);
	switch (n->kind) {
	case NODE_VAR: read_var(s, &n->text); break;
	case NODE_BLOCK:
	case NODE_INLINE: visit_inside(s, n); break;
	case NODE_ASSIGN: visit_assign(s, n); break;
	case NODE_LET:
		visit(s, n->b);
		declare(s, &n->a->text);
		break;
	case NODE_RANGE:
	case NODE_FOR_MAP: visit_for(s, n); break;
	default:
		visit(s, n->a);
		visit(s, n->b);
		visit(s, n->c);
		visit_list(s, n->list);
	}
}

static void visit_block(struct scope *s, struct probe_block *b, bool rename)
{
	s->rename = rename;
	s->known.nr = 0;
	visit(s, b->predicate);
	visit(s, b->body);
}

int scope_resolve(struct script *script, struct arena *a)
{
	struct scope s = { .arena = a };
	for (struct probe_block *b = script->blocks; b && !s.err; b = b->next) {
		s.flat.nr = s.seen.nr = 0;
		visit_block(&s, b, false);
		visit_block(&s, b, true);
	}
	vec_free(&s.known);
	vec_free(&s.flat);
	vec_free(&s.seen);
	return s.err;
}
