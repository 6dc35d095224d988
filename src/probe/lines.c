/* Source lines with those that can be probed, for -L. */
#include "event/closest.h"
#include "probe/find_dwarf.h"
#include "probe/lazy.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_AFTER = 3, LINES_MAX = 1 << 22 };

/* ---- the range ---- */

static int bad_range(const char *text, size_t at, size_t len, const char *what, struct diag *d)
{
	diag_error(d, -EINVAL, "%s", what);
	diag_span(d, text, at, len ? len : 1);
	return -EINVAL;
}

static bool number_at(const char *text, size_t *at, u32 *ret)
{
	u64 n = 0;
	size_t i = *at;
	for (; isdigit((u8)text[i]) && n < INT32_MAX; i++)
		n = 10 * n + (u64)(text[i] - '0');
	if (i == *at || n >= INT32_MAX)
		return false;
	*at = i;
	*ret = (u32)n;
	return true;
}

static int parse_range(const char *text, size_t at, struct probe_line_range *r, struct diag *d)
{
	size_t from = at;
	if (!number_at(text, &at, &r->start))
		return bad_range(text, from, strlen(text + from), "expected a line number", d);
	char mark = text[at];
	u32 second = 0;
	size_t after = at + 1;
	if (mark && (!strchr("+-", mark) || !number_at(text, &after, &second) || text[after]))
		return bad_range(text, at, strlen(text + at), "expected '-LAST' or '+COUNT'", d);
	if (mark == '+' && !second)
		return bad_range(text, at, strlen(text + at), "a count of lines is at least 1", d);
	if (mark)
		r->end = mark == '+' ? r->start + second - 1 : second;
	if (r->end < r->start)
		return bad_range(text, from, strlen(text + from),
				 "the last line is before the first", d);
	return 0;
}

/* The ':' before the lines: the last one that is not part of "::". */
static size_t find_colon(const char *text)
{
	size_t n = strlen(text), i = n;
	while (i && (isdigit((u8)text[i - 1]) || text[i - 1] == '+' || text[i - 1] == '-'))
		i--;
	return i && text[i - 1] == ':' && !(i > 1 && text[i - 2] == ':') ? i - 1 : n;
}

int probe_parse_lines(const char *text, struct arena *arena, struct probe_line_range *ret,
		      struct diag *d)
{
	struct probe_line_range r = { .text = text, .end = UINT32_MAX };
	size_t colon = find_colon(text), at = strcspn(text, "@");
	if (!colon || (at < colon && (!at || at + 1 == colon)))
		return bad_range(text, 0, strlen(text), "expected FUNCTION or FILE, and lines", d);
	bool is_file = at >= colon && memchr(text, '.', colon);
	if (at < colon || !is_file) {
		r.function = arena_strndup(arena, text, min(at, colon));
		r.function_span = (struct probe_span){ 0, (u32)min(at, colon) };
	}
	if (at < colon || is_file) {
		size_t from = is_file ? 0 : at + 1;
		r.file = arena_strndup(arena, text + from, colon - from);
		r.file_span = (struct probe_span){ (u32)from, (u32)(colon - from) };
	}
	int err = text[colon] ? parse_range(text, colon + 1, &r, d) : 0;
	if (!err && !r.function && !r.start)
		r.start = 1;
	if (!err)
		*ret = r;
	return err;
}

/* ---- the lines ---- */

struct search {
	struct dwcode_unit *u;
	const char *path; /* NULL: not found yet */
	u32 base; /* what lines of a function count from */
	u32 start, end; /* of the file */
	u32 before, after; /* lines with code around those; 0: none */
	VEC(u32) found;
	bool failed;
};

static int add_line(void *ctx, const char *path, u32 line, u64 addr)
{
	struct search *s = ctx;
	const char *other_path;
	u32 other;
	if (path != s->path)
		return 0;
	if (probe_line_of(s->u, addr, &other_path, &other) && (other != line || other_path != path))
		return 0;
	if (line < s->start)
		s->before = max(s->before, line);
	if (line > s->end)
		s->after = s->after ? min(s->after, line) : line;
	if (line < s->start || line > s->end)
		return 0;
	u32 *to = s->found.nr < LINES_MAX ? vec_push(&s->found) : NULL;
	if (!to)
		return -ENOMEM;
	*to = line;
	return 0;
}

static u32 add_up(u32 a, u32 b)
{
	u32 sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT32_MAX : sum;
}

static int function_lines(struct search *s, const struct probe_line_range *r, u32 scope)
{
	const struct dwcode_scope *func = &s->u->scopes.at[scope];
	s->start = add_up(s->base, r->start);
	s->end = add_up(s->base, r->end);
	if (func->pc && !func->is_abstract)
		return probe_walk_lines(s->u, scope, add_line, s);
	int err = 0;
	for (u32 i = 0; i < s->u->scopes.nr && !err; i++)
		if (s->u->scopes.at[i].origin == func->at && s->u->scopes.at[i].pc)
			err = probe_walk_lines(s->u, i, add_line, s);
	return err;
}

static bool is_the_function(struct search *s, const struct probe_line_range *r, u32 i)
{
	const struct dwcode_scope *f = &s->u->scopes.at[i];
	const char *path, *name = f->name;
	bool foreign = f->kind == DWCODE_INLINED && dwcode_is_foreign(s->u, f);
	if (foreign)
		name = dwcode_name(s->u, f);
	if ((f->kind != DWCODE_FUNCTION && !foreign) || f->is_declaration ||
	    (!f->pc && !f->is_abstract) ||
	    !((name && !strcmp(name, r->function)) ||
	      (f->linkage && !strcmp(f->linkage, r->function))))
		return false;
	if (!dwcode_declared(s->u, f, &path, &s->base) ||
	    (r->file && !probe_path_ends(path, r->file)))
		return false;
	s->path = path;
	return true;
}

static int in_unit(struct search *s, const struct probe_line_range *r)
{
	if (r->function) {
		int err = 0;
		bool whole =
			false; /* a function; else instances of one that another unit describes */
		for (u32 i = 0; i < s->u->scopes.nr && !whole && !err; i++) {
			if (!is_the_function(s, r, i))
				continue;
			whole = s->u->scopes.at[i].kind == DWCODE_FUNCTION;
			err = function_lines(s, r, i);
		}
		return err;
	}
	s->start = r->start;
	s->end = r->end;
	for (u32 i = 0; i < dwcode_nr_files(s->u); i++) {
		const char *path = dwcode_path(s->u, i);
		if (path && probe_path_ends(path, r->file) && (!s->path || path == s->path)) {
			s->path = path;
			return probe_walk_lines(s->u, DWCODE_NO_SCOPE, add_line, s);
		}
	}
	return 0;
}

static int search_units(struct debuginfo *info, const struct probe_line_range *r, struct search *s,
			char **folder)
{
	_cleanup_free_ u32 *units = NULL;
	u32 nr = 0;
	int err = r->function ? dwnames_functions(info->names, r->function, false, &units, &nr)
			      : dwnames_files(info->names, r->file, &units, &nr);
	for (u32 i = 0; i < nr && !err && !(r->function && s->path); i++) {
		struct dwcode_unit u;
		err = dwcode_unit_open(info->code, units[i], &u);
		if (err) {
			err = err == -ENOENT ? 0 : err;
			continue;
		}
		s->u = &u;
		err = in_unit(s, r);
		if (s->path && !*folder && dwcode_folder(&u))
			*folder = strdup(dwcode_folder(&u));
		dwcode_unit_done(&u);
	}
	return err;
}

static int by_line(const void *l, const void *r)
{
	u32 a = *(const u32 *)l, b = *(const u32 *)r;
	return (a > b) - (a < b);
}

static bool can_probe(const struct search *s, u32 line)
{
	return s->found.nr && bsearch(&line, s->found.at, s->found.nr, sizeof(line), by_line);
}

/* ---- the text ---- */

static int fill_lines(const struct search *s, const char *text, struct probe_lines *ret)
{
	u32 last = s->found.at[s->found.nr - 1], number = 1;
	u32 end = s->end == UINT32_MAX || s->end < last ? add_up(last, LINES_AFTER) : s->end;
	for (const char *line = text; *line && number <= end; number++) {
		size_t len = strcspn(line, "\n");
		if (number >= s->start) {
			struct probe_line *to = vec_push(&ret->at);
			if (!to)
				return -ENOMEM;
			*to = (struct probe_line){ number - s->base, can_probe(s, number),
						   arena_strndup(&ret->arena, line, len) };
			if (!to->text)
				return -ENOMEM;
		}
		line += len + (line[len] == '\n');
	}
	return 0;
}

static int offer_name(void *ctx, const char *name)
{
	(void)closest_offer(ctx, name);
	return 0;
}

static int nothing_found(const struct debuginfo *info, const struct probe_line_range *r,
			 const struct search *s, struct diag *d)
{
	struct closest near;
	if (!s->path && dwcode_missing(info->code))
		return diag_error(d, -ENODATA, "debug information of '%s' is missing: it is in '%s'",
				  info->path, dwcode_missing(info->code));
	if (!s->path) {
		diag_error(d, -ENOENT,
			   r->function ? "no function '%s' in %s" : "no code of a file '%s' in %s",
			   r->function ? r->function : r->file, info->path);
		struct probe_span at = r->function ? r->function_span : r->file_span;
		diag_span(d, r->text, at.start, at.len);
		closest_init(&near, r->function ? r->function : "",
			     r->function ? strlen(r->function) : 0);
		bool offered =
			r->function && !dwnames_each(info->names, offer_name, &near) && near.best;
		if (offered && !strcmp(near.best, r->function))
			diag_hint(d, "there is one, but not in a file '%s'", r->file ? r->file : "");
		else if (offered)
			diag_hint(d, "did you mean '%s'?", near.best);
		return -ENOENT;
	}
	int err = diag_error(d, -ENOENT, "none of these lines of %s has code",
			     r->function ? r->function : r->file);
	u32 before = s->before > s->base ? s->before - s->base : 0;
	u32 after = s->after > s->base ? s->after - s->base : 0;
	if (before && after)
		diag_hint(d, "the nearest lines that can be probed are %u and %u", before, after);
	else if (before || after)
		diag_hint(d, "the nearest line that can be probed is %u", before ? before : after);
	return err;
}

static int show(const struct probe_target *target, const struct probe_line_range *r,
		struct search *s, const char *folder, struct probe_lines *ret, struct diag *d)
{
	_cleanup_free_ char *found = NULL, *text = NULL;
	qsort(s->found.at, s->found.nr, sizeof(u32), by_line);
	int err = source_read(target, folder, s->path, &found, &text, d);
	if (err)
		return err;
	ret->path = arena_strdup(&ret->arena, found);
	ret->function = r->function ? arena_strdup(&ret->arena, r->function) : NULL;
	ret->first = s->start - s->base;
	return ret->path ? fill_lines(s, text, ret) : -ENOMEM;
}

int probe_lines(const struct probe_target *target, const struct probe_line_range *range,
		struct probe_lines *ret, struct diag *d)
{
	struct debuginfo info;
	struct search s = { 0 };
	_cleanup_free_ char *folder = NULL;
	*ret = (struct probe_lines){ 0 };
	arena_init(&ret->arena);
	int err = debuginfo_open(&info, target, d);
	if (err)
		return err;
	err = search_units(&info, range, &s, &folder);
	if (!err && !s.found.nr)
		err = nothing_found(&info, range, &s, d);
	if (!err)
		err = show(target, range, &s, folder, ret, d);
	vec_free(&s.found);
	debuginfo_close(&info);
	return err;
}

void probe_lines_done(struct probe_lines *l)
{
	arena_done(&l->arena);
	vec_free(&l->at);
}
