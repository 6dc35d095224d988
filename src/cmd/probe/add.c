/* probe --add and --definition: requests are parsed, found, named, and then added all together, or printed. */
#include "cmd/probe/probe.h"

#include "base/json.h"
#include "event/probe_elf.h"
#include "probe/names.h"

#include <errno.h>
#include <string.h>

struct added {
	struct probe_defs defs;
	struct arena arena; /* of the requests */
	VEC(struct probe_request) requests; /* one for each definition */
	struct probe_listing taken;
	bool has_taken;
	struct tracing tracing;
	struct probe_held *held; /* from one request to the next */
};

static void added_done(struct added *a)
{
	probe_defs_done(&a->defs);
	vec_free(&a->requests);
	if (a->has_taken)
		probe_listing_done(&a->taken);
	arena_done(&a->arena);
	tracing_close(&a->tracing);
	probe_held_free(a->held);
}

static int added_init(struct added *a, struct probe_opts *o)
{
	*a = (struct added){ 0 };
	probe_defs_init(&a->defs);
	arena_init(&a->arena);
	a->held = probe_held_new();
	if (!a->held)
		return -ENOMEM;
	return tracing_open(&a->tracing, o->root ? o->root : "");
}

/* Return addresses that a uretprobe put on a stack are lost when Go's run time moves it, and the program dies. */
static int check_returns(struct app *app, const struct probe_opts *o,
			 const struct probe_target *target, const struct probe_request *r)
{
	if (!r->is_return || target->where != PROBE_BINARY || o->force ||
	    !probe_elf_moves_stacks(target->path))
		return 0;
	int err = diag_error(&app->diag, -EPERM,
			     "return probes can crash %s: it is a Go program, which moves its "
			     "stacks",
			     target->path);
	diag_hint(&app->diag,
		  "probe the entry, or the instructions where it returns (--offsets); -f "
		  "does it all the same");
	return err;
}

static int find_one(struct app *app, struct probe_opts *o, struct probe_wish *w, struct added *a)
{
	struct probe_request r;
	size_t first = a->defs.at.nr;
	w->target.held = a->held;
	int err = probe_parse(w->text, &a->arena, &r, &app->diag);
	if (!err)
		err = check_returns(app, o, &w->target, &r);
	if (!err)
		err = probe_find(&w->target, &r, &a->defs, &app->diag);
	if (!err)
		err = probe_names_choose(&a->defs, first, &r, a->has_taken ? &a->taken : NULL,
					 o->force, &app->diag);
	for (size_t i = first; i < a->defs.at.nr && !err; i++) {
		struct probe_request *slot = vec_push(&a->requests);
		if (slot)
			*slot = r;
		else
			err = -ENOMEM;
	}
	return err;
}

/* ---- what was added -------------------------------------------------------------------------------------------------------- */

static void add_arg_words(const struct probe_request *r, struct strbuf *to)
{
	if (r->nr_args && r->form != PROBE_RAW)
		strbuf_str(to, " with");
	for (u32 i = 0; i < r->nr_args && r->form != PROBE_RAW; i++)
		strbuf_printf(to, " %.*s", (int)r->args[i].span.len,
			      r->text + r->args[i].span.start);
}

/* A raw line says its name itself. */
static void event_name(const struct probe_def *def, struct strbuf *to)
{
	if (!def->raw) {
		strbuf_printf(to, "%s:%s", def->group, def->event);
		return;
	}
	const char *colon = strchr(def->raw, ':');
	size_t len = colon ? strcspn(colon + 1, " \t") : 0;
	const char *slash = len ? memchr(colon + 1, '/', len) : NULL;
	if (slash)
		strbuf_printf(to, "%.*s:%.*s", (int)(slash - colon - 1), colon + 1,
			      (int)(colon + 1 + len - slash - 1), slash + 1);
	else
		strbuf_printf(to, "%.*s", (int)len, len ? colon + 1 : "");
}

/* -v: what is written. */
static void say_definitions(struct app *app, const struct added *a, bool dry)
{
	vec_for_each (&a->defs.at, def) {
		strbuf_str(&app->err, dry ? "Would write: " : "Writing event: ");
		probe_def_text(def, &app->err);
		strbuf_char(&app->err, '\n');
	}
}

static void say_added(struct app *app, const struct added *a, bool dry)
{
	struct strbuf name, place;
	strbuf_init(&name);
	strbuf_init(&place);
	strbuf_printf(&app->err, "%s event%s:\n", dry ? "Would add" : "Added new",
		      a->defs.at.nr > 1 ? "s" : "");
	for (size_t i = 0; i < a->defs.at.nr; i++) {
		strbuf_reset(&name);
		strbuf_reset(&place);
		event_name(&a->defs.at.at[i], &name);
		probe_place_text(&a->defs.at.at[i], &a->requests.at[i], &place);
		add_arg_words(&a->requests.at[i], &place);
		strbuf_printf(&app->err, "  %-20s (on %s)\n", strbuf_cstr(&name),
			      strbuf_cstr(&place));
	}
	if (a->defs.at.nr && !dry)
		strbuf_printf(&app->err,
			      "\nYou can now use it in all %s tools, such as:\n\n\t%s record -e %s "
			      "-aR sleep 1\n\n",
			      app->prog, app->prog, strbuf_cstr(&name));
	strbuf_done(&name);
	strbuf_done(&place);
}

/* --json: what was added, or would be. */
static int print_json(struct app *app, const struct added *a)
{
	struct json j;
	struct strbuf text;
	strbuf_init(&text);
	json_begin(&j, &app->out, JSON_PRETTY);
	json_array(&j);
	vec_for_each (&a->defs.at, def) {
		json_object(&j);
		strbuf_reset(&text);
		event_name(def, &text);
		json_put_str(&j, "event", strbuf_cstr(&text));
		strbuf_reset(&text);
		probe_def_text(def, &text);
		json_put_str(&j, "definition", strbuf_cstr(&text));
		if (def->function)
			json_put_str(&j, "function", def->function);
		if (def->file)
			json_put_str(&j, "file", def->file);
		if (def->line)
			json_put_u64(&j, "line", def->line);
		json_object_end(&j);
	}
	json_array_end(&j);
	strbuf_done(&text);
	return json_end(&j);
}

static int find_all(struct app *app, struct probe_opts *o, struct probe_wish *wishes, size_t nr,
		    struct added *a)
{
	int err = 0;
	for (size_t i = 0; i < nr && !err; i++)
		err = find_one(app, o, &wishes[i], a);
	return err;
}

static void title_of(const struct probe_opts *o, struct strbuf *to)
{
	strbuf_str(to, "probe");
	for (size_t i = 0; i < o->add.nr; i++)
		strbuf_printf(to, " -a '%s'", o->add.at[i].text);
}

int probe_cmd_add(struct app *app, struct probe_opts *o)
{
	struct added a;
	struct strbuf title;
	int err = added_init(&a, o);
	strbuf_init(&title);
	/* Without tracefs a dry run still says what would be written. */
	if (!err && a.tracing.err && !o->dry_run)
		err = probe_no_tracefs(app, &a.tracing, "add");
	if (!err && !a.tracing.err) {
		int listed = probe_list(&a.tracing, &a.taken);
		a.has_taken = !listed;
		err = listed == -ENOMEM ? listed : 0;
	}
	if (!err)
		err = find_all(app, o, o->add.at, o->add.nr, &a);
	title_of(o, &title);
	if (!err && app->verbose)
		say_definitions(app, &a, o->dry_run);
	if (!err && !o->dry_run)
		err = probe_add(&a.tracing, &a.defs, strbuf_cstr(&title), &app->diag);
	if (!err && app->json)
		err = print_json(app, &a);
	else if (!err && !o->quiet)
		say_added(app, &a, o->dry_run && !app->dialect->perf_closing_lines);
	strbuf_done(&title);
	added_done(&a);
	return err ? app_fail(app, err) : APP_DONE;
}

int probe_cmd_define(struct app *app, struct probe_opts *o)
{
	struct added a;
	int err = added_init(&a, o);
	if (!err)
		err = find_all(app, o, o->define.at, o->define.nr, &a);
	if (!err && app->json)
		err = print_json(app, &a);
	for (size_t i = 0; i < a.defs.at.nr && !err && !app->json; i++) {
		probe_def_text(&a.defs.at.at[i], &app->out);
		strbuf_char(&app->out, '\n');
	}
	added_done(&a);
	return err ? app_fail(app, err) : APP_DONE;
}
