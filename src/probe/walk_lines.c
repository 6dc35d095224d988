/* Which lines have code, as perf sees it: what -L numbers and :LINE takes. */
#include "probe/find_dwarf.h"

#include <errno.h>
#include <string.h>

/* The innermost inlined instance below a scope that holds an address. */
static u32 innermost(const struct dwcode_unit *u, u32 scope, u64 addr)
{
	u32 found = DWCODE_NO_SCOPE;
	for (u32 in = dwcode_inlined_at(u, scope, addr); in != DWCODE_NO_SCOPE;
	     in = dwcode_inlined_at(u, in, addr))
		found = in;
	return found;
}

/* Whether a row is the scope's own: not of what was inlined into it, unless it calls that there. */
static bool is_own_row(struct dwcode_unit *u, u32 scope, const struct dwcode_line *row,
		       const char *decl_path, u32 decl_line)
{
	const char *path;
	u32 line;
	if (!dwcode_has(u, &u->scopes.at[scope], row->addr))
		return false;
	u32 in = innermost(u, scope, row->addr);
	if (in == DWCODE_NO_SCOPE)
		return true;
	if (dwcode_called(u, &u->scopes.at[in], &path, &line) && path == decl_path &&
	    line == row->line)
		return true;
	/* One that was inlined into itself. */
	return dwcode_declared(u, &u->scopes.at[in], &path, &line) && path == decl_path &&
	       line == decl_line;
}

static int walk_rows(struct dwcode_unit *u, u32 scope, probe_line_fn *fn, void *ctx)
{
	const char *decl_path = NULL;
	u32 decl_line = 0;
	if (scope != DWCODE_NO_SCOPE)
		(void)dwcode_declared(u, &u->scopes.at[scope], &decl_path, &decl_line);
	int err = 0;
	for (size_t i = 0; i < u->lines.nr && !err; i++) {
		const struct dwcode_line *row = &u->lines.at[i];
		if (row->end || !row->stmt ||
		    (scope != DWCODE_NO_SCOPE && !is_own_row(u, scope, row, decl_path, decl_line)))
			continue;
		const char *path = dwcode_path(u, row->file);
		if (path)
			err = fn(ctx, path, row->line, row->addr);
	}
	return err;
}

/* The line where a function is declared stands for its entry, that of a call for the entry of what was inlined there. */
static int walk_function(struct dwcode_unit *u, u32 scope, bool deep, probe_line_fn *fn, void *ctx)
{
	const struct dwcode_scope *s = &u->scopes.at[scope];
	const char *path;
	u32 line;
	int err = 0;
	if (s->pc && dwcode_declared(u, s, &path, &line))
		err = fn(ctx, path, line, s->pc);
	for (u32 i = scope + 1; i < s->end && !err;) {
		const struct dwcode_scope *in = &u->scopes.at[i];
		i = in->kind == DWCODE_INLINED && !deep ? in->end : i + 1;
		if (in->kind != DWCODE_INLINED || !in->pc)
			continue;
		if (dwcode_called(u, in, &path, &line))
			err = fn(ctx, path, line, in->pc);
		if (!err && deep && dwcode_declared(u, in, &path, &line))
			err = fn(ctx, path, line, in->pc);
	}
	return err;
}

int probe_walk_lines(struct dwcode_unit *u, u32 scope, probe_line_fn *fn, void *ctx)
{
	int err = dwcode_unit_lines(u);
	if (err == -ENOENT)
		return 0;
	if (!err)
		err = walk_rows(u, scope, fn, ctx);
	if (err || scope != DWCODE_NO_SCOPE)
		return err ? err : walk_function(u, scope, false, fn, ctx);
	for (u32 i = 0; i < u->scopes.nr && !err; i++)
		if (u->scopes.at[i].kind == DWCODE_FUNCTION)
			err = walk_function(u, i, true, fn, ctx);
	return err;
}

/* The first row of an address that begins a statement. */
static const struct dwcode_line *row_for(const struct dwcode_unit *u, u64 addr)
{
	const struct dwcode_line *rows = u->lines.at;
	size_t lo = 0, hi = u->lines.nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (rows[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NULL;
	size_t i = lo - 1;
	while (i && rows[i].addr == addr && rows[i - 1].addr == addr)
		i--;
	while (i < u->lines.nr && rows[i].addr <= addr && !rows[i].stmt)
		i++;
	return i < u->lines.nr && rows[i].addr <= addr ? &rows[i] : NULL;
}

bool probe_line_of(struct dwcode_unit *u, u64 addr, const char **path, u32 *line)
{
	u32 func = dwcode_function_at(u, addr);
	if (func != DWCODE_NO_SCOPE && u->scopes.at[func].pc == addr &&
	    dwcode_declared(u, &u->scopes.at[func], path, line))
		return true;
	if (dwcode_unit_lines(u))
		return false;
	const struct dwcode_line *row = row_for(u, addr);
	*path = row ? dwcode_path(u, row->file) : NULL;
	*line = row ? row->line : 0;
	return *path && *line;
}
