/*
 * Places in code by debugging information: functions with all instances that were inlined, lines, patterns. They are looked for as perf
 * 6.1 does it, in the same order, so that the same request means the same places.
 */
#pragma once

#include "probe/debuginfo.h"

/* A place that a request names. */
struct probe_place {
	struct debuginfo *info;
	struct dwcode_unit *unit;
	u32 scope; /* whose variables are meant: a function or an inlined instance */
	u32 func; /* the function around it that is not inlined */
	u64 pc;
	bool is_alias; /* the request's name is another name of the function */
};

/* 0, or negative errno with a diag: stops. */
typedef int probe_place_fn(void *ctx, const struct probe_place *place);

/* Calls fn for each place, once for each address. -ENOENT, -EOPNOTSUPP, -E2BIG with a diag; -ENOMEM. */
int probe_places(struct debuginfo *info, const struct probe_request *request, probe_place_fn *fn,
		 void *ctx, struct diag *d) must_check;

/* As probe_find(), by debugging information alone. */
int probe_find_dwarf(const struct probe_target *target, const struct probe_request *request,
		     struct probe_defs *defs, struct diag *d) must_check;
/* Whether a source's path ends so, at the start of a folder or file. */
bool probe_path_ends(const char *path, const char *tail);

/* The lines of a unit, or of a scope in it, as people see them: rows of its table, and where functions and inlined calls begin. */
typedef int probe_line_fn(void *ctx, const char *path, u32 line, u64 addr);
/* scope: DWCODE_NO_SCOPE: all. 0, fn's result if it is not 0, -ENOMEM. */
int probe_walk_lines(struct dwcode_unit *u, u32 scope, probe_line_fn *fn, void *ctx) must_check;
/* The line that stands for an address: a function's own at its entry, else that of the first row there. false: none. */
bool probe_line_of(struct dwcode_unit *u, u64 addr, const char **path, u32 *line);
/* The symbol that an address is in, or the function; "": none. */
void probe_symbol_at(const struct probe_place *p, const char **name, u64 *offset);
/* What a definition says about a place: symbol or binary, offset, function, line. -ENOENT: no part of the file has it; -ENOMEM. */
int probe_fill_place(const struct probe_place *p, struct arena *arena,
		     struct probe_def *def) must_check;
