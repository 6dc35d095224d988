/* Shared by the files of `probe`. */
#pragma once

#include "cmd/app/app.h"
#include "probe/kernel.h"
#include "probe/spots.h"

/* One definition of the command line, with the target that the options before it named. */
struct probe_wish {
	const char *text;
	struct probe_target target;
};

struct probe_opts {
	VEC(struct probe_wish) add, define;
	struct opt_list del;
	struct probe_target target; /* of what comes next */
	const char *line, *vars, *funcs, *list, *offsets;
	bool has_list, has_funcs;
	bool audit;
	bool force, dry_run, quiet, cache, no_demangle;
	const char *filter;
	u64 max_probes;
	u64 pid, target_ns;
	const char *optimize; /* "on", "off"; "": shown */
	bool has_optimize;
	const char *root;
	struct arena arena;
	char cache_path[4096];
};

/* Why tracefs cannot be used (t->err); returns it. what: "add", "list". */
int probe_no_tracefs(struct app *app, const struct tracing *t, const char *what);
int probe_cmd_add(struct app *app, struct probe_opts *o);
int probe_cmd_define(struct app *app, struct probe_opts *o);
int probe_cmd_delete(struct app *app, struct probe_opts *o);
int probe_cmd_list(struct app *app, struct probe_opts *o);
int probe_cmd_lines(struct app *app, struct probe_opts *o);
int probe_cmd_vars(struct app *app, struct probe_opts *o);
int probe_cmd_audit(struct app *app, struct probe_opts *o);
int probe_cmd_optimize(struct app *app, struct probe_opts *o);
int probe_cmd_functions(struct app *app, struct probe_opts *o);
