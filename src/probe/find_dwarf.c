#include "probe/find_dwarf.h"
#include "base/glob.h"
#include "base/str.h"
#include "event/closest.h"
#include "image/demangle.h"
#include "probe/args_dwarf.h"
#include "probe/held.h"
#include "probe/lazy.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PROBES_MAX = 128 };

struct finder {
	struct debuginfo *info;
	const struct probe_request *r;
	probe_place_fn *fn;
	void *ctx;
	struct diag *d;
	struct dwcode_unit *u;
	VEC(u64) seen; /* addresses that were told already */
	const char *path; /* the file that lines are of; NULL: any */
	u32 line;
	struct lazy_lines lazy;
	bool alias; /* the name was found as a symbol */
	bool inlined_only; /* a return was asked for of what has no code of its own */
	struct closest near; /* lines: see nearest_line */
	u32 line_before, line_after; /* that have code, around the one asked for; 0: none */
	bool function_found, file_found;
};

bool probe_path_ends(const char *path, const char *tail)
{
	while (tail[0] == '.' && tail[1] == '/')
		tail += 2;
	size_t n = strlen(path), k = strlen(tail);
	return k && k <= n && !strcmp(path + n - k, tail) &&
	       (k == n || path[n - k - 1] == '/' || tail[0] == '/');
}

/* ---- telling a place ---- */

static bool was_told(struct finder *f, u64 pc)
{
	vec_for_each (&f->seen, at)
		if (*at == pc)
			return true;
	return false;
}

static int tell(struct finder *f, u32 scope, u64 pc)
{
	const struct dwcode_scope *s = &f->u->scopes.at[scope];
	u32 func = s->kind == DWCODE_FUNCTION ? scope : dwcode_function_at(f->u, pc);
	if (was_told(f, pc))
		return 0;
	if (func == DWCODE_NO_SCOPE)
		return diag_error(f->d, -ENOENT, "0x%llx is in no function", (unsigned long long)pc);
	if (f->r->is_return && (s->kind != DWCODE_FUNCTION || s->pc != pc)) {
		f->inlined_only = true;
		return 0;
	}
	u32 most = f->info->target->max_probes ? f->info->target->max_probes : PROBES_MAX;
	if (f->seen.nr >= most) {
		diag_error(f->d, -E2BIG, "'%s' is at more than %u places", f->r->text, most);
		diag_hint(f->d, "%s sets the limit", diag_option(f->d, DIAG_OPT_MAX_PROBES));
		return -E2BIG;
	}
	u64 *at = vec_push(&f->seen);
	if (!at)
		return -ENOMEM;
	*at = pc;
	struct probe_place p = { f->info, f->u, scope, func, pc, f->alias };
	return f->fn(f->ctx, &p);
}

/* ---- functions ---- */

/* "ns::f" is the demangled name of a function, or its end. */
static bool is_qualified(const struct dwcode_scope *s, const char *want)
{
	char *plain = s->linkage ? demangle(s->linkage, DEMANGLE_FULL) : NULL;
	bool same = false;
	if (plain) {
		size_t n = strlen(want), all = strlen(plain);
		const char *args = strchr(plain, '(');
		size_t name = args && !strchr(want, '(') ? (size_t)(args - plain) : all;
		same = name >= n && !strncmp(plain + name - n, want, n) &&
		       (name == n || (name > n + 1 && plain[name - n - 1] == ':'));
	}
	free(plain);
	return same;
}

static bool is_named(const struct dwcode_scope *s, const struct probe_request *r, bool is_glob)
{
	if (is_glob)
		return (s->name && glob_match(r->function, s->name)) ||
		       (s->linkage && glob_match(r->function, s->linkage));
	if ((s->name && !strcmp(s->name, r->function)) ||
	    (s->linkage && !strcmp(s->linkage, r->function)))
		return true;
	return strstr(r->function, "::") && is_qualified(s, r->function);
}

static bool wants_variables(const struct probe_request *r)
{
	for (u32 i = 0; i < r->nr_args; i++)
		if (r->args[i].value != PROBE_VALUE_FETCH && r->args[i].value != PROBE_VALUE_RETVAL)
			return true;
	return false;
}

/* The first row after the one of a function's entry, or the one that the compiler marks as the end of its prologue. */
static u64 after_prologue(struct dwcode_unit *u, const struct dwcode_scope *s)
{
	if (dwcode_unit_lines(u))
		return s->pc;
	const struct dwcode_line *rows = u->lines.at;
	u64 high = dwcode_high(u, s);
	size_t first = 0;
	/* Not where the function before it ends, which perf 6.1 takes for it. */
	while (first < u->lines.nr && (rows[first].addr != s->pc || rows[first].end))
		first++;
	size_t i = first;
	while (i < u->lines.nr && rows[i].addr < high && !rows[i].prologue_end && i == first)
		i++;
	if (first == u->lines.nr || i == u->lines.nr)
		return s->pc;
	return rows[i].addr < high ? rows[i].addr : rows[i - 1].addr;
}

/* Without optimisation parameters get to their places in the prologue, which is why perf goes past it for programs. */
static u64 entry_for(struct finder *f, const struct dwcode_scope *s)
{
	const struct probe_request *r = f->r;
	bool skip = f->info->target->where == PROBE_BINARY && !f->u->optimised && !r->is_return &&
		    !r->offset && wants_variables(r);
	return (skip ? after_prologue(f->u, s) : s->pc) + r->offset;
}

static int tell_lazy(struct finder *f, u32 scope);
static int tell_lines(struct finder *f);
static void note_lines_of(struct finder *f, u32 scope);

/* $arg1 is what a function is called with: the kernel takes it at an entry alone. */
static bool wants_entry(const struct probe_request *r)
{
	for (u32 i = 0; i < r->nr_args; i++) {
		const char *at = r->args[i].value == PROBE_VALUE_FETCH
					 ? strstr(r->args[i].text, "$arg")
					 : NULL;
		if (at && isdigit((unsigned char)at[4]))
			return true;
	}
	return false;
}

/* The function itself, compiled for those who call it. */
static bool has_own_code(const struct finder *f, const struct dwcode_scope *of)
{
	vec_for_each (&f->u->scopes, s)
		if (s->origin == of->at && s->kind == DWCODE_FUNCTION && s->pc)
			return true;
	return false;
}

static int tell_instances(struct finder *f, const struct dwcode_scope *of)
{
	int err = 0;
	const char *decl = NULL, *path;
	u32 decl_line = 0, line;
	(void)dwcode_declared(f->u, of, &decl, &decl_line);
	/* Bytes of its own code say nothing about other code that it became part of; perf probes in the middle of instructions there. */
	bool own_only = (f->r->offset || wants_entry(f->r)) && has_own_code(f, of);
	for (u32 i = 0; i < f->u->scopes.nr && !err; i++) {
		const struct dwcode_scope *s = &f->u->scopes.at[i];
		if (s->origin != of->at || s->kind == DWCODE_BLOCK || !s->pc ||
		    (own_only && s->kind != DWCODE_FUNCTION))
			continue;
		/* The compiler's own, where it inlined a function into what it split off it. */
		if (dwcode_called(f->u, s, &path, &line) && path == decl && line == decl_line)
			continue;
		err = f->r->pattern ? tell_lazy(f, i) : tell(f, i, s->pc + f->r->offset);
	}
	return err;
}

static int tell_function(struct finder *f, u32 scope)
{
	const struct dwcode_scope *s = &f->u->scopes.at[scope];
	u32 line;
	f->path = NULL;
	(void)dwcode_declared(f->u, s, &f->path, &line);
	if (f->r->has_line && f->r->line) {
		if (!f->path)
			return 0;
		f->line = line + f->r->line;
		int err = tell_lines(f);
		if (!err && !f->seen.nr)
			note_lines_of(f, scope);
		return err;
	}
	if (s->pc && !s->is_abstract)
		return f->r->pattern ? tell_lazy(f, scope) : tell(f, scope, entry_for(f, s));
	return f->info->target->no_inlines ? 0 : tell_instances(f, s);
}

/* What was inlined in this unit and is described in another: link-time optimisation. */
static int find_foreign(struct finder *f)
{
	int err = 0;
	for (u32 i = 0; i < f->u->scopes.nr && !err && !f->info->target->no_inlines; i++) {
		struct dwcode_scope s = f->u->scopes.at[i];
		u32 line;
		if (s.kind != DWCODE_INLINED || !s.pc || !dwcode_is_foreign(f->u, &s))
			continue;
		s.name = dwcode_name(f->u, &s);
		if (!is_named(&s, f->r, f->r->is_glob))
			continue;
		f->function_found = true;
		if (!dwcode_declared(f->u, &s, &f->path, &line) ||
		    (f->r->file && !probe_path_ends(f->path, f->r->file)))
			continue;
		f->file_found = true;
		if (f->r->has_line && f->r->line) {
			f->line = line + f->r->line;
			return tell_lines(f);
		}
		err = f->r->pattern ? tell_lazy(f, i) : tell(f, i, s.pc + f->r->offset);
	}
	return err;
}

static int find_functions(struct finder *f)
{
	bool is_glob = f->r->is_glob, told = false;
	int err = 0;
	for (u32 i = 0; i < f->u->scopes.nr && !err; i++) {
		const struct dwcode_scope *s = &f->u->scopes.at[i];
		const char *path;
		u32 line;
		if (s->kind != DWCODE_FUNCTION || s->is_declaration ||
		    (!s->pc && !s->is_abstract) || !is_named(s, f->r, is_glob))
			continue;
		f->function_found = true;
		if (f->r->file &&
		    (!dwcode_declared(f->u, s, &path, &line) || !probe_path_ends(path, f->r->file)))
			continue;
		f->file_found = true;
		/* A function's instances are told with it, but those of another unit's have nobody who does. */
		if (told && !is_glob && !strstr(f->r->function, "::") && !dwcode_is_foreign(f->u, s))
			continue;
		err = tell_function(f, i);
		told = true;
	}
	return err ? err : find_foreign(f);
}

/* ---- lines ---- */

/* The scope that a line belongs to: the function that was asked for, else the one declared closest above it. */
static u32 best_scope(struct finder *f, u64 pc)
{
	u32 best = DWCODE_NO_SCOPE, func = dwcode_function_at(f->u, pc), distance = UINT32_MAX, line;
	const char *path;
	for (u32 s = func; s != DWCODE_NO_SCOPE; s = dwcode_inlined_at(f->u, s, pc)) {
		const struct dwcode_scope *scope = &f->u->scopes.at[s];
		if (!dwcode_declared(f->u, scope, &path, &line) || (f->path && path != f->path))
			continue;
		const char *name = dwcode_name(f->u, scope);
		if (f->r->function) {
			struct dwcode_scope named = *scope;
			named.name = name;
			if (is_named(&named, f->r, f->r->is_glob))
				return s;
		} else if (line < f->line && f->line - line < distance) {
			distance = f->line - line;
			best = s;
		}
	}
	return best != DWCODE_NO_SCOPE ? best : func;
}

static int shared_line(struct finder *f, u64 addr, u32 line, u32 other)
{
	const char *path;
	u32 decl = 0;
	u32 scope = f->r->function ? best_scope(f, addr) : DWCODE_NO_SCOPE;
	/* As they were written: lines of a function count from its own. */
	if (scope == DWCODE_NO_SCOPE ||
	    !dwcode_declared(f->u, &f->u->scopes.at[scope], &path, &decl) || other < decl)
		decl = 0;
	diag_error(f->d, -EOPNOTSUPP,
		   "line %u of %s shares its code with line %u and cannot be probed alone",
		   line - decl, decl ? f->r->function : f->path, other - decl);
	diag_span(f->d, f->r->text, f->r->place_span.start, f->r->place_span.len);
	diag_hint(f->d, "probe %s:%u instead", decl ? f->r->function : f->path, other - decl);
	return -EOPNOTSUPP;
}

static void note_near(struct finder *f, u32 line)
{
	if (line < f->line)
		f->line_before = max(f->line_before, line);
	if (line > f->line)
		f->line_after = f->line_after ? min(f->line_after, line) : line;
}

/* Lines of a function that can be probed. */
static int near_line(void *ctx, const char *path, u32 line, u64 addr)
{
	struct finder *f = ctx;
	const char *other_path;
	u32 other;
	if (path == f->path && probe_line_of(f->u, addr, &other_path, &other) && other == line)
		note_near(f, line);
	return 0;
}

static void note_lines_of(struct finder *f, u32 scope)
{
	const struct dwcode_scope *s = &f->u->scopes.at[scope];
	if (s->pc && !s->is_abstract)
		(void)!probe_walk_lines(f->u, scope, near_line, f);
	for (u32 i = 0; s->is_abstract && i < f->u->scopes.nr; i++)
		if (f->u->scopes.at[i].origin == s->at && f->u->scopes.at[i].pc)
			(void)!probe_walk_lines(f->u, i, near_line, f);
}

static int at_line(void *ctx, const char *path, u32 line, u64 addr)
{
	struct finder *f = ctx;
	const char *other_path;
	u32 other;
	if (path != f->path)
		return 0;
	if (!f->r->function)
		note_near(f, line);
	if (line != f->line)
		return 0;
	if (probe_line_of(f->u, addr, &other_path, &other) && other_path == path && other != line)
		return shared_line(f, addr, line, other);
	u32 scope = best_scope(f, addr);
	return scope == DWCODE_NO_SCOPE ? 0 : tell(f, scope, addr);
}

static int tell_lines(struct finder *f)
{
	return probe_walk_lines(f->u, DWCODE_NO_SCOPE, at_line, f);
}

/* ---- patterns ---- */

static int at_lazy_line(void *ctx, const char *path, u32 line, u64 addr)
{
	struct finder *f = ctx;
	if (path != f->path || !lazy_has(&f->lazy, line))
		return 0;
	f->line = line;
	u32 scope = best_scope(f, addr);
	return scope == DWCODE_NO_SCOPE ? 0 : tell(f, scope, addr);
}

static int tell_lazy(struct finder *f, u32 scope)
{
	int err = f->path ? lazy_read(&f->lazy, f->info->target, dwcode_folder(f->u), f->path,
				      f->r->pattern, f->d)
			  : 0;
	return err ? err : probe_walk_lines(f->u, scope, at_lazy_line, f);
}

/* ---- files ---- */

/* The units' own name of the file that was asked for. */
static bool find_file(struct finder *f)
{
	for (u32 i = 0; i < dwcode_nr_files(f->u); i++) {
		f->path = dwcode_path(f->u, i);
		if (f->path && probe_path_ends(f->path, f->r->file))
			return true;
	}
	return false;
}

static int find_source(struct finder *f)
{
	if (!find_file(f))
		return 0;
	f->file_found = true;
	f->line = f->r->line;
	return f->r->pattern ? tell_lazy(f, DWCODE_NO_SCOPE) : tell_lines(f);
}

/* ---- names that only symbols have: aliases, clones, parts ---- */

static int find_address(struct finder *f, u64 pc)
{
	u32 scope = dwcode_function_at(f->u, pc);
	if (scope == DWCODE_NO_SCOPE)
		return 0;
	f->function_found = true;
	const struct dwcode_scope *s = &f->u->scopes.at[scope];
	const char *path;
	u32 line;
	if (f->r->file &&
	    (!dwcode_declared(f->u, s, &path, &line) || !probe_path_ends(path, f->r->file)))
		return 0;
	f->file_found = f->alias = true;
	if (f->r->has_line && f->r->line && dwcode_declared(f->u, s, &f->path, &line)) {
		f->line = line + f->r->line;
		return tell_lines(f);
	}
	/* A return is the function's, whatever its name. */
	return tell(f, scope, s->pc == pc && !f->r->offset ? entry_for(f, s) : pc + f->r->offset);
}

static int in_unit(struct finder *f, u32 unit, int (*find)(struct finder *))
{
	struct dwcode_unit u;
	int err = dwcode_unit_open(f->info->code, unit, &u);
	if (err)
		return err == -ENOENT ? 0 : err;
	f->u = &u;
	err = find(f);
	dwcode_unit_done(&u);
	f->u = NULL;
	return err;
}

static int find_symbol_address(struct finder *f)
{
	struct debuginfo_symbol s;
	return f->r->form == PROBE_ADDRESS ? find_address(f, f->r->offset)
	       : debuginfo_symbol(f->info, f->r->function, false, &s) ? find_address(f, s.addr)
								      : 0;
}

static int find_alias(struct finder *f)
{
	struct debuginfo_symbol s = { .addr = f->r->offset };
	u32 unit;
	if (f->r->form != PROBE_ADDRESS &&
	    (f->r->is_glob || !debuginfo_symbol(f->info, f->r->function, false, &s)))
		return 0;
	return dwcode_unit_at(f->info->code, s.addr, &unit) ? in_unit(f, unit, find_symbol_address)
							    : 0;
}

/* ---- what was not found ---- */

static int offer(void *ctx, const char *name)
{
	struct finder *f = ctx;
	(void)closest_offer(&f->near, name);
	return 0;
}

/* Without the file that most of a unit is in, nobody can tell what is there. */
static int no_split_file(struct finder *f)
{
	diag_error(f->d, -ENODATA, "debug information of '%s' is missing: it is in '%s'",
		   f->info->path, dwcode_missing(f->info->code));
	diag_hint(f->d, "put that file back, or build without -gsplit-dwarf");
	return -ENODATA;
}

static int no_function(struct finder *f)
{
	const struct probe_request *r = f->r;
	diag_error(f->d, -ENOENT,
		   r->is_glob ? "no function matches '%s' in %s" : "no function '%s' in %s",
		   r->function, *f->info->path ? f->info->path : "the kernel");
	diag_span(f->d, r->text, r->function_span.start, r->function_span.len);
	closest_init(&f->near, r->function, strlen(r->function));
	if (!r->is_glob && !dwnames_each(f->info->names, offer, f) && f->near.best)
		diag_hint(f->d, "did you mean '%s'?", f->near.best);
	return -ENOENT;
}

static int no_line(struct finder *f)
{
	const struct probe_request *r = f->r;
	u32 line = r->line, before = f->line_before, after = f->line_after;
	if (r->function && f->line > r->line) {
		u32 decl = f->line - r->line;
		before = before > decl ? before - decl : 0;
		after = after > decl ? after - decl : 0;
	}
	diag_error(f->d, -ENOENT, "line %u of %s has no code", line,
		   r->function ? r->function : r->file);
	diag_span(f->d, r->text, r->place_span.start, r->place_span.len);
	if (before && after)
		diag_hint(f->d, "the nearest lines that can be probed are %u and %u", before, after);
	else if (before || after)
		diag_hint(f->d, "the nearest line that can be probed is %u",
			  before ? before : after);
	return -ENOENT;
}

static int not_found(struct finder *f)
{
	const struct probe_request *r = f->r;
	if (f->inlined_only) {
		diag_error(
			f->d,
			-EOPNOTSUPP, "'%s' is inlined wherever it is called: it has no return that could be probed",
			r->function);
		diag_span(f->d, r->text, r->place_span.start, r->place_span.len);
		return -EOPNOTSUPP;
	}
	if (!f->function_found && dwcode_missing(f->info->code))
		return no_split_file(f);
	if (r->function && !f->function_found)
		return no_function(f);
	if (r->file && !f->file_found) {
		diag_error(f->d, -ENOENT,
			   r->function ? "'%s' is not declared in a file '%s'"
				       : "no code of %s comes from a file '%s'",
			   r->function ? r->function : f->info->path, r->file);
		diag_span(f->d, r->text, r->file_span.start, r->file_span.len);
		if (r->function && isupper((u8)*r->file) && strchr(r->file, '_'))
			diag_hint(f->d, "a symbol's version is written with a backslash: '%s\\@%s'",
				  r->function, r->file);
		return -ENOENT;
	}
	if (r->has_line)
		return no_line(f);
	if (r->pattern) {
		diag_error(f->d, -ENOENT, "no line with code matches '%s'", r->pattern);
		diag_span(f->d, r->text, r->place_span.start, r->place_span.len);
		return -ENOENT;
	}
	return diag_error(f->d, -ENOENT, "'%s' was optimised away: no code of it is left",
			  r->function);
}

/* ---- all units ---- */

static const char *last_component(const char *name)
{
	const char *args = strchr(name, '('), *last = name;
	for (const char *at = name; (at = strstr(at, "::")) && (!args || at < args); at += 2)
		last = at + 2;
	return last;
}

static int units_for(struct finder *f, u32 **units, u32 *nr)
{
	const struct probe_request *r = f->r;
	if (r->form == PROBE_SOURCE)
		return dwnames_files(f->info->names, r->file, units, nr);
	const char *name = last_component(r->function);
	if (name == r->function || r->is_glob)
		return dwnames_functions(f->info->names, r->function, r->is_glob, units, nr);
	char word[512];
	size_t len = strcspn(name, "(<");
	if (len >= sizeof(word))
		return -ENOENT;
	memcpy(word, name, len);
	word[len] = '\0';
	return dwnames_functions(f->info->names, word, false, units, nr);
}

static int find_all(struct finder *f)
{
	_cleanup_free_ u32 *units = NULL;
	u32 nr = 0;
	if (f->r->form != PROBE_ADDRESS) {
		int err = units_for(f, &units, &nr);
		for (u32 i = 0; i < nr && !err; i++)
			err = in_unit(f, units[i],
				      f->r->form == PROBE_SOURCE ? find_source : find_functions);
		if (err)
			return err;
	}
	if (!f->seen.nr && !f->function_found && f->r->form != PROBE_SOURCE)
		return find_alias(f);
	return 0;
}

int probe_places(struct debuginfo *info, const struct probe_request *request, probe_place_fn *fn,
		 void *ctx, struct diag *d)
{
	struct finder f = { .info = info, .r = request, .fn = fn, .ctx = ctx, .d = d };
	if (request->form > PROBE_ADDRESS)
		return diag_error(d, -EINVAL, "'%s' is not a place in code", request->text);
	int err = find_all(&f);
	if (!err && !f.seen.nr)
		err = not_found(&f);
	vec_free(&f.seen);
	lazy_done(&f.lazy);
	return err;
}

/* ---- definitions ---- */

void probe_symbol_at(const struct probe_place *p, const char **name, u64 *offset)
{
	struct debuginfo_symbol s;
	const struct dwcode_scope *func = &p->unit->scopes.at[p->func];
	if (debuginfo_symbol_at(p->info, p->pc, &s)) {
		*name = s.name;
		*offset = p->pc - s.addr;
		return;
	}
	*name = func->linkage ? func->linkage : func->name ? func->name : "";
	*offset = p->pc - func->pc;
}

struct define {
	const struct probe_request *r;
	struct probe_defs *defs;
	struct diag *d;
};

int probe_fill_place(const struct probe_place *p, struct arena *arena, struct probe_def *def)
{
	struct debuginfo *i = p->info;
	const char *symbol, *path;
	u64 offset;
	u32 line;
	probe_symbol_at(p, &symbol, &offset);
	def->function = arena_strdup(arena, symbol);
	def->in_function = offset;
	const char *real = dwcode_name(p->unit, &p->unit->scopes.at[p->scope]);
	def->realname = real ? arena_strdup(arena, real) : def->function;
	if (probe_line_of(p->unit, p->pc, &path, &line)) {
		def->file = arena_strdup(arena, path);
		def->line = line;
	}
	if (i->target->where == PROBE_BINARY) {
		def->binary = arena_strdup(arena, i->path);
		return debuginfo_offset(i, p->pc, &def->offset) ? 0 : -ENOENT;
	}
	bool from_text = i->target->where == PROBE_KERNEL && i->text && p->pc >= i->text;
	def->symbol = from_text ? "_text" : def->function;
	def->offset = from_text ? p->pc - i->text : offset;
	def->module = i->target->where == PROBE_MODULE && i->target->module
			      ? arena_strdup(arena, i->target->module)
			      : NULL;
	return 0;
}

static int define(void *ctx, const struct probe_place *p)
{
	struct define *c = ctx;
	struct probe_def def = { .letter = c->r->is_return ? 'r' : 'p',
				 .is_return = c->r->is_return };
	int err = probe_fill_place(p, &c->defs->arena, &def);
	if (err)
		return diag_error(c->d, err, "no part of '%s' has the code at 0x%llx",
				  p->info->path, (unsigned long long)p->pc);
	err = probe_args_dwarf(p, c->r, &c->defs->arena, &def, c->d);
	struct probe_def *to = err ? NULL : vec_push(&c->defs->at);
	if (to)
		*to = def;
	return err ? err : to ? 0 : -ENOMEM;
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* The one that is held, where it is this target's. */
static int open_held(const struct probe_target *target, struct debuginfo **ret, struct diag *d)
{
	struct debuginfo *i = target->held->info;
	const struct probe_target *of = i ? i->target : NULL;
	if (of && of->where == target->where && is_same(of->path, target->path) &&
	    is_same(of->module, target->module) && is_same(of->root, target->root)) {
		i->target = target;
		*ret = i;
		return 0;
	}
	if (i)
		debuginfo_close(i);
	free(i);
	target->held->info = NULL;
	i = malloc(sizeof(*i));
	int err = i ? debuginfo_open(i, target, d) : -ENOMEM;
	if (err) {
		free(i);
		return err;
	}
	*ret = target->held->info = i;
	return 0;
}

int probe_find_dwarf(const struct probe_target *target, const struct probe_request *request,
		     struct probe_defs *defs, struct diag *d)
{
	struct debuginfo own, *info = &own;
	struct define c = { request, defs, d };
	size_t before = defs->at.nr;
	int err = target->held ? open_held(target, &info, d) : debuginfo_open(&own, target, d);
	if (err)
		return err;
	err = probe_places(info, request, define, &c, d);
	if (err)
		defs->at.nr = before;
	if (!target->held)
		debuginfo_close(&own);
	return err;
}
