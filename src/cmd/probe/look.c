/* probe --line, --vars and --funcs: what can be probed. The layouts are perf's. */
#include "cmd/probe/probe.h"

#include "base/glob.h"
#include "base/json.h"
#include "base/str.h"
#include "image/usdt_notes.h"
#include "probe/args_btf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

/* ---- lines ------------------------------------------------------------------------------------------------------------------ */

static void print_lines(struct app *app, const struct probe_lines *l)
{
	struct strbuf *out = &app->out;
	bool colour = app_colours(app);
	strbuf_printf(out, "<%s%s%s:%u>\n", l->function ? l->function : "", l->function ? "@" : "",
		      l->path, l->first);
	vec_for_each (&l->at, line) {
		if (line->can_be_probed)
			strbuf_printf(out, "%s%7u%s  %s\n", colour ? "\033[34m" : "", line->number,
				      colour ? "\033[0m" : "", line->text);
		else
			strbuf_printf(out, "         %s\n", line->text);
	}
}

static int print_lines_json(struct app *app, const struct probe_lines *l)
{
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	json_put_str(&j, "function", l->function);
	json_put_str(&j, "file", l->path);
	json_key(&j, "lines");
	json_array(&j);
	vec_for_each (&l->at, line) {
		json_object(&j);
		json_put_u64(&j, "line", line->number);
		json_put_bool(&j, "can_be_probed", line->can_be_probed);
		json_put_str(&j, "text", line->text);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

int probe_cmd_lines(struct app *app, struct probe_opts *o)
{
	struct arena arena;
	struct probe_line_range range;
	struct probe_lines lines;
	arena_init(&arena);
	int err = probe_parse_lines(o->line, &arena, &range, &app->diag);
	if (!err) {
		err = probe_lines(&o->target, &range, &lines, &app->diag);
		if (!err && app->json)
			err = print_lines_json(app, &lines);
		else if (!err)
			print_lines(app, &lines);
		probe_lines_done(&lines);
	}
	arena_done(&arena);
	return err ? app_fail(app, err) : APP_DONE;
}

/* ---- variables -------------------------------------------------------------------------------------------------------------- */

static const char *state_word(const struct probe_var *v)
{
	return v->is_extern ? "EXT" : v->is_missing ? "INV" : "VAL";
}

static void print_vars(struct app *app, const char *text, const struct probe_vars *v, bool ranges)
{
	struct strbuf *out = &app->out;
	strbuf_printf(out, "Available variables at %s\n", text);
	vec_for_each (&v->at, at) {
		strbuf_printf(out, "\t@<%s+%llu>\n", at->function, (ull)at->offset);
		if (!at->nr_vars)
			strbuf_str(out, "\t\t(No matched variables)\n");
		for (u32 i = 0; i < at->nr_vars; i++) {
			const struct probe_var *var = &at->vars[i];
			strbuf_str(out, "\t\t");
			if (ranges)
				strbuf_printf(out, "[%s]\t", state_word(var));
			strbuf_printf(out, "%s\t%s", var->type, var->name);
			if (ranges && var->ranges)
				strbuf_printf(out, "\t@<%s>", var->ranges);
			strbuf_char(out, '\n');
		}
	}
}

static int print_vars_json(struct app *app, const struct probe_vars *v)
{
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_array(&j);
	vec_for_each (&v->at, at) {
		json_object(&j);
		json_put_str(&j, "function", at->function);
		json_put_u64(&j, "offset", at->offset);
		json_key(&j, "variables");
		json_array(&j);
		for (u32 i = 0; i < at->nr_vars; i++) {
			json_object(&j);
			json_put_str(&j, "type", at->vars[i].type);
			json_put_str(&j, "name", at->vars[i].name);
			json_put_bool(&j, "global", at->vars[i].is_extern);
			json_object_end(&j);
		}
		json_array_end(&j);
		json_object_end(&j);
	}
	json_array_end(&j);
	return json_end(&j);
}

/* Debug information, else what BTF says of the parameters of a function of the kernel. */
static int find_vars(struct app *app, struct probe_opts *o, const struct probe_request *r,
		     struct probe_vars *ret)
{
	struct diag without;
	diag_init(&without);
	int err = probe_vars(&o->target, r, ret, &without);
	if (err == -ENODATA && o->target.where != PROBE_BINARY && r->function && !r->has_line &&
	    !r->pattern && !r->file) {
		probe_vars_done(ret);
		*ret = (struct probe_vars){ 0 };
		arena_init(&ret->arena);
		int other = probe_vars_btf(&o->target, r, ret);
		if (!other)
			diag_note(&app->diag,
				  "without debug information: the parameters, from BTF");
		err = other ? err : 0;
	}
	if (err)
		diag_join(&app->diag, &without);
	diag_done(&without);
	return err;
}

int probe_cmd_vars(struct app *app, struct probe_opts *o)
{
	struct arena arena;
	struct probe_request r;
	struct probe_vars vars = { 0 };
	arena_init(&arena);
	int err = probe_parse(o->vars, &arena, &r, &app->diag);
	if (!err && r.nr_args)
		err = diag_error(&app->diag, -EINVAL, "-V takes a place, without arguments");
	if (!err) {
		err = find_vars(app, o, &r, &vars);
		if (!err && app->json)
			err = print_vars_json(app, &vars);
		else if (!err)
			print_vars(app, o->vars, &vars, o->target.ranges);
		probe_vars_done(&vars);
	}
	arena_done(&arena);
	return err ? app_fail(app, err) : APP_DONE;
}

/* ---- functions -------------------------------------------------------------------------------------------------------------- */

/* -F '%sdt_PROVIDER:NAME': static probes with their arguments. */
static int list_usdt(struct app *app, const struct probe_opts *o, const char *filter)
{
	struct elfimg e;
	struct usdt_notes notes;
	char name[512];
	if (o->target.where != PROBE_BINARY)
		return app_usage(app, "static probes are in files: -x FILE");
	int err = elfimg_open(&e, o->target.path, NULL);
	if (!err) {
		err = usdt_notes_read(&e, &notes);
		elfimg_close(&e);
	}
	if (err) {
		(void)diag_error(&app->diag, err, "cannot read %s: %s", o->target.path,
				 strerror(-err));
		return app_fail(app, err);
	}
	vec_for_each (&notes.at, n) {
		(void)snprintf(name, sizeof(name), "%%sdt_%s:%s", n->provider, n->name);
		if (glob_match(filter, name))
			strbuf_printf(&app->out, "%-40s %s%s\n", name, n->args,
				      n->semaphore ? "  (semaphore)" : "");
	}
	usdt_notes_done(&notes);
	return APP_DONE;
}

int probe_cmd_functions(struct app *app, struct probe_opts *o)
{
	struct probe_functions f;
	struct json j;
	const char *filter = o->funcs && *o->funcs ? o->funcs : o->filter;
	if (filter && *filter == '%')
		return list_usdt(app, o, filter);
	int err = probe_functions(&o->target, filter, !o->no_demangle, &f, &app->diag);
	if (!err && app->json) {
		json_begin(&j, &app->out, JSON_PRETTY);
		json_array(&j);
	}
	for (size_t i = 0; i < f.names.nr && !err; i++) {
		if (app->json)
			json_str(&j, f.names.at[i]);
		else
			strbuf_printf(&app->out, "%s\n", f.names.at[i]);
	}
	if (!err && app->json) {
		json_array_end(&j);
		err = json_end(&j);
	}
	probe_functions_done(&f);
	return err ? app_fail(app, err) : APP_DONE;
}
