/* probe --list and --del. */
#include "cmd/probe/probe.h"

#include "base/json.h"
#include "base/num.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

int probe_no_tracefs(struct app *app, const struct tracing *t, const char *what)
{
	if (t->err != -EACCES)
		return tracing_explain(t, &app->diag);
	(void)diag_error(&app->diag, t->err, "this user cannot %s probes: tracefs is not readable",
			 what);
	diag_hint(&app->diag, "run it as root; -D, -L, -V and -F work without");
	return t->err;
}

static int open_listing(struct app *app, const struct probe_opts *o, struct tracing *t,
			struct probe_listing *l)
{
	int err = tracing_open(t, o->root ? o->root : "");
	if (err)
		return err;
	bool there = !t->err;
	err = there ? probe_list(t, l) : probe_no_tracefs(app, t, "list");
	if (there && err == -ENOTSUP) {
		(void)diag_error(&app->diag, err, "this kernel has no probes");
		diag_hint(&app->diag,
			  "CONFIG_KPROBE_EVENTS=y and CONFIG_UPROBE_EVENTS=y are missing");
	} else if (there && (err == -EACCES || err == -EPERM)) {
		(void)diag_error(&app->diag, err, "probes may not be listed by this user");
		diag_hint(&app->diag, "run it as root");
	}
	if (err)
		tracing_close(t);
	return err;
}

/* " a=%di b=%si" → " a b" */
static void add_arg_names(const char *args, struct strbuf *to)
{
	const char *at = args;
	bool first = true;
	while (*(at += strspn(at, " "))) {
		size_t len = strcspn(at, " "), name = strcspn(at, "= ");
		strbuf_printf(to, "%s %.*s", first ? " with" : "", (int)min(len, name), at);
		first = false;
		at += len;
	}
}

static void print_text(struct app *app, const struct probe_listed *p, const char *place)
{
	char name[300];
	struct strbuf *out = &app->out;
	(void)snprintf(name, sizeof(name), "%s:%s", p->group, p->event);
	strbuf_printf(out, "  %-20s (on %s", name, place);
	add_arg_names(p->args, out);
	strbuf_char(out, ')');
	if (!app->dialect->perf_closing_lines && p->has_hits) {
		strbuf_printf(out, "  hits %llu", (ull)p->hits);
		if (p->misses)
			strbuf_printf(out, ", missed %llu", (ull)p->misses);
	}
	strbuf_char(out, '\n');
}

static void print_json(struct json *j, const struct probe_listed *p, const char *place)
{
	json_object(j);
	json_put_str(j, "group", p->group);
	json_put_str(j, "event", p->event);
	json_put_str(j, "kind", (char[]){ p->letter, 0 });
	json_put_str(j, "place", p->place);
	json_put_str(j, "where", place);
	json_put_str(j, "arguments", p->args + strspn(p->args, " "));
	if (p->has_hits)
		json_put_u64(j, "hits", p->hits);
	if (p->has_misses)
		json_put_u64(j, "misses", p->misses);
	json_object_end(j);
}

static int by_name(const void *a, const void *b)
{
	const struct probe_listed *x = a, *y = b;
	int order = strcmp(x->group, y->group);
	return order ? order : strcmp(x->event, y->event);
}

int probe_cmd_list(struct app *app, struct probe_opts *o)
{
	struct tracing t;
	struct probe_listing l;
	struct json j;
	struct strbuf place;
	struct probe_spots spots;
	int err = open_listing(app, o, &t, &l);
	if (err)
		return app_fail(app, err);
	strbuf_init(&place);
	if (l.at.nr)
		qsort(l.at.at, l.at.nr, sizeof(*l.at.at), by_name);
	err = probe_spots_open(&spots, &l, o->root ? o->root : "");
	if (app->json) {
		json_begin(&j, &app->out, JSON_PRETTY);
		json_array(&j);
	}
	size_t shown = 0;
	for (size_t i = 0; i < l.at.nr && !err; i++) {
		const struct probe_listed *p = &l.at.at[i];
		if (o->list && *o->list && !probe_listed_matches(p, o->list))
			continue;
		shown++;
		strbuf_reset(&place);
		probe_spots_text(&spots, i, &place);
		if (app->json)
			print_json(&j, p, strbuf_cstr(&place));
		else
			print_text(app, p, strbuf_cstr(&place));
	}
	if (app->json) {
		json_array_end(&j);
		err = err ? err : json_end(&j);
	}
	if (!err && !shown && o->list && *o->list)
		diag_note(&app->diag, "no probe matches '%s'", o->list);
	probe_spots_close(&spots);
	strbuf_done(&place);
	probe_listing_done(&l);
	tracing_close(&t);
	return err ? app_fail(app, err) : APP_DONE;
}

/* With -x only probes on that file are meant. */
static bool is_meant(const struct probe_opts *o, const struct probe_listed *p, const char *pattern)
{
	size_t len = o->target.where == PROBE_BINARY ? strlen(o->target.path) : 0;
	return *p->event && probe_listed_matches(p, pattern) &&
	       (!len || (!strncmp(p->place, o->target.path, len) && p->place[len] == ':'));
}

/* With all places of its event: another pattern may mean it, too. */
static void mark_removed(struct probe_listing *l, const struct probe_listed *p)
{
	const char *event = p->event;
	vec_for_each (&l->at, other)
		if (!strcmp(other->event, event) && !strcmp(other->group, p->group))
			other->event = "";
}

int probe_cmd_delete(struct app *app, struct probe_opts *o)
{
	struct tracing t;
	struct probe_listing l;
	int err = open_listing(app, o, &t, &l), failed = 0;
	if (err)
		return app_fail(app, err);
	for (size_t i = 0; i < o->del.items.nr; i++) {
		const char *pattern = o->del.items.at[i];
		size_t hits = 0;
		vec_for_each (&l.at, p) {
			if (!is_meant(o, p, pattern))
				continue;
			hits++;
			err = o->dry_run ? 0 : probe_delete(&t, p, &app->diag);
			if (err)
				failed = err;
			else if (!o->quiet)
				strbuf_printf(&app->err, "Removed event: %s:%s\n", p->group,
					      p->event);
			if (!err)
				mark_removed(&l, p);
		}
		if (!hits) {
			failed = diag_error(&app->diag, -ENOENT, "\"%s\" does not hit any event",
					    pattern);
			diag_hint(&app->diag, "'%s probe -l' shows what there is", app->prog);
		}
	}
	probe_listing_done(&l);
	tracing_close(&t);
	return failed ? app_fail(app, failed) : APP_DONE;
}
