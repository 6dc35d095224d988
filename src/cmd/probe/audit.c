/* probe --audit: what instruments this kernel, by source. probe --optimize: debug.kprobes-optimization. */
#include "cmd/probe/probe.h"

#include "base/json.h"
#include "kern/journal.h"
#include "probe/audit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char optimization_file[] = "/proc/sys/debug/kprobes-optimization";

static void print_rows(struct app *app, const struct audit_section *s)
{
	struct strbuf *out = &app->out;
	vec_for_each (&s->rows, r) {
		strbuf_printf(out, "  %-18s %-40s", r->kind, r->what);
		if (*r->state)
			strbuf_printf(out, "  %s", r->state);
		if (r->owner)
			strbuf_printf(out, "  by %s", r->owner);
		if (r->since)
			strbuf_printf(out, "  since %s", r->since);
		strbuf_char(out, '\n');
	}
	if (s->nr_more)
		strbuf_printf(out, "  and %llu more\n", (unsigned long long)s->nr_more);
}

static const char *switch_word(s8 value)
{
	return value < 0 ? "not known" : value ? "on" : "off";
}

static void print_text(struct app *app, const struct audit *a)
{
	struct strbuf *out = &app->out;
	bool colour = app_colours(app);
	for (u32 i = 0; i < a->nr; i++) {
		const struct audit_section *s = &a->sections[i];
		strbuf_printf(out, "%s%s%s%s (%s)\n", i ? "\n" : "", colour ? "\033[1m" : "",
			      s->name, colour ? "\033[0m" : "", s->source);
		if (s->missing)
			strbuf_printf(out, "  not read: %s\n", s->missing);
		else if (!s->rows.nr)
			strbuf_str(out, "  none\n");
		print_rows(app, s);
		strbuf_printf(out, "  proves: %s\n  cannot see: %s\n", s->proves, s->blind);
	}
	strbuf_printf(out,
		      "\nkprobes are %s, their optimization (debug.kprobes-optimization) is %s\n",
		      switch_word(a->enabled), switch_word(a->optimization));
}

static void put_switch(struct json *j, const char *key, s8 value)
{
	json_key(j, key);
	if (value < 0)
		json_null(j);
	else
		json_bool(j, value);
}

static void print_section_json(struct json *j, const struct audit_section *s)
{
	json_object(j);
	json_put_str(j, "name", s->name);
	json_put_str(j, "source", s->source);
	json_put_str(j, "proves", s->proves);
	json_put_str(j, "cannot_see", s->blind);
	json_put_str(j, "not_read", s->missing);
	json_key(j, "rows");
	json_array(j);
	vec_for_each (&s->rows, r) {
		json_object(j);
		json_put_str(j, "kind", r->kind);
		json_put_str(j, "what", r->what);
		json_put_str(j, "state", r->state);
		json_put_str(j, "owner", r->owner);
		json_put_str(j, "since", r->since);
		json_object_end(j);
	}
	json_array_end(j);
	json_put_u64(j, "left_out", s->nr_more);
	json_object_end(j);
}

static int print_json(struct app *app, const struct audit *a)
{
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	put_switch(&j, "kprobes_enabled", a->enabled);
	put_switch(&j, "kprobes_optimization", a->optimization);
	json_key(&j, "sources");
	json_array(&j);
	for (u32 i = 0; i < a->nr; i++)
		print_section_json(&j, &a->sections[i]);
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

int probe_cmd_audit(struct app *app, struct probe_opts *o)
{
	struct audit a;
	struct tracing t;
	const char *root = o->root ? o->root : "";
	int err = tracing_open(&t, root);
	if (err)
		return app_fail(app, err);
	err = audit_look(&a, &t, root);
	if (!err && app->json)
		err = print_json(app, &a);
	else if (!err)
		print_text(app, &a);
	audit_done(&a);
	tracing_close(&t);
	return err ? app_fail(app, err) : APP_DONE;
}

/* The setting outlives us, as asked; the journal is there while it is written. */
static int set_optimization(struct app *app, const struct tracing *t, const char *value)
{
	struct journal *j;
	char name[64];
	int err = journal_open(&j, t, &(struct journal_opts){ .title = "probe --optimize" },
			       &app->diag);
	if (err)
		return err;
	(void)snprintf(name, sizeof(name), "%s", journal_name(j));
	err = journal_set(j, optimization_file, value, &app->diag);
	if (!err)
		err = journal_keep(j);
	if (!err)
		err = journal_forget(journal_run_dir(j), name);
	journal_close(j, &app->diag);
	return err;
}

int probe_cmd_optimize(struct app *app, struct probe_opts *o)
{
	struct tracing t;
	struct strbuf now;
	int err = tracing_open(&t, "");
	if (err)
		return app_fail(app, err);
	strbuf_init(&now);
	bool on = !strcmp(o->optimize, "on") || !strcmp(o->optimize, "1");
	bool off = !strcmp(o->optimize, "off") || !strcmp(o->optimize, "0");
	if (*o->optimize && !on && !off)
		err = diag_error(&app->diag, -EINVAL, "invalid value '%s': on or off", o->optimize);
	else if (!tracing_has(&t, optimization_file))
		err = diag_error(&app->diag, -ENOTSUP,
				 "this kernel does not optimize kprobes (CONFIG_OPTPROBES)");
	else if (*o->optimize)
		err = set_optimization(app, &t, on ? "1" : "0");
	if (!err)
		strbuf_printf(&app->out, "debug.kprobes-optimization = %s\n",
			      tracing_line(&t, optimization_file, &now));
	strbuf_done(&now);
	tracing_close(&t);
	return err == -EINVAL ? app_usage_said(app) : err ? app_fail(app, err) : APP_DONE;
}
