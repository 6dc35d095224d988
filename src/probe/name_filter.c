#include "probe/name_filter.h"
#include "base/glob.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

struct name_filter {
	char kind; /* '!' '&' '|', or 'g' */
	const struct name_filter *left, *right;
	const char *glob;
};

struct parse {
	const char *text, *at;
	struct arena *arena;
	struct diag *d;
	u32 depth;
};

static void skip_blanks(struct parse *p)
{
	while (isspace((u8)*p->at))
		p->at++;
}

static int fail(struct parse *p, const char *what)
{
	diag_error(p->d, -EINVAL, "%s", what);
	diag_span(p->d, p->text, (size_t)(p->at - p->text), 1);
	return -EINVAL;
}

static int node(struct parse *p, struct name_filter n, const struct name_filter **ret)
{
	struct name_filter *to = arena_alloc(p->arena, sizeof(*to));
	if (!to)
		return -ENOMEM;
	*to = n;
	*ret = to;
	return 0;
}

static int parse_or(struct parse *p, const struct name_filter **ret);

static int parse_glob(struct parse *p, const struct name_filter **ret)
{
	const char *end = p->at;
	while (*end && !isspace((u8)*end) && !strchr("&|()", *end) && (*end != '!' || end[-1] == '['))
		end += *end == '\\' && end[1] ? 2 : 1;
	if (end == p->at)
		return fail(p, "expected a name or a pattern");
	struct name_filter n = { .kind = 'g',
				 .glob = arena_strndup(p->arena, p->at, (size_t)(end - p->at)) };
	p->at = end;
	return n.glob ? node(p, n, ret) : -ENOMEM;
}

static int parse_unary(struct parse *p, const struct name_filter **ret)
{
	skip_blanks(p);
	char c = *p->at;
	if (c != '!' && c != '(')
		return parse_glob(p, ret);
	if (++p->depth > DEPTH_MAX)
		return fail(p, "the filter is nested too deeply");
	p->at++;
	struct name_filter n = { .kind = '!' };
	int err = c == '!' ? parse_unary(p, &n.left) : parse_or(p, ret);
	skip_blanks(p);
	if (!err && c == '(' && *p->at++ != ')') {
		p->at--;
		err = fail(p, "expected ')'");
	}
	p->depth--;
	return err || c == '(' ? err : node(p, n, ret);
}

static int parse_chain(struct parse *p, char op,
		       int (*below)(struct parse *, const struct name_filter **),
		       const struct name_filter **ret)
{
	const struct name_filter *left;
	int err = below(p, &left);
	for (skip_blanks(p); !err && *p->at == op; skip_blanks(p)) {
		struct name_filter n = { .kind = op, .left = left };
		p->at++;
		err = below(p, &n.right);
		if (!err)
			err = node(p, n, &left);
	}
	if (!err)
		*ret = left;
	return err;
}

static int parse_and(struct parse *p, const struct name_filter **ret)
{
	return parse_chain(p, '&', parse_unary, ret);
}

static int parse_or(struct parse *p, const struct name_filter **ret)
{
	return parse_chain(p, '|', parse_and, ret);
}

int name_filter_parse(const char *text, struct arena *arena, const struct name_filter **ret,
		      struct diag *d)
{
	struct parse p = { .text = text, .at = text, .arena = arena, .d = d };
	int err = parse_or(&p, ret);
	return err ? err : *p.at ? fail(&p, "expected '&' or '|'") : 0;
}

bool name_filter_match(const struct name_filter *f, const char *name)
{
	switch (f->kind) {
	case '!': return !name_filter_match(f->left, name);
	case '&': return name_filter_match(f->left, name) && name_filter_match(f->right, name);
	case '|': return name_filter_match(f->left, name) || name_filter_match(f->right, name);
	default: return glob_match(f->glob, name);
	}
}
