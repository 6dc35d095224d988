/* `sonde ftrace reset`: leftovers of dead runs undone, or everything back to defaults. */
#include "base/cpuset.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "tracing/parts.h"
#include "cmd/ftrace/which_opts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct reset_opts {
	struct ftrace_which which;
	const char *size;
	bool remove, stale, force, dry_run;
};

struct resetting {
	const struct reset_opts *o;
	const struct tracing *t;
	struct journal *j;
	struct app *app;
};

/* Every file is optional, and some kernels refuse some: what cannot be written is not in force either. */
static void put(struct resetting *r, const char *folder, const char *file, const char *text,
		bool truncate)
{
	char path[PATH_MAX];
	(void)!str_path(path, sizeof(path), "%s%s", folder, file);
	if (tracing_has(r->t, path))
		(void)!journal_poke(r->j, path, text, truncate,
				    r->app->verbose ? &r->app->diag : NULL);
}

/* "SYSTEM:EVENT\tVALUE" lines exist on new kernels only: look at every event. */
static void reset_events(struct resetting *r, const char *folder)
{
	struct tracing_events all;
	struct strbuf s;
	char path[PATH_MAX], line[PATH_MAX];
	put(r, folder, "events/enable", "0\n", false);
	if (tracing_list_events(r->t, NULL, NULL, &all))
		return;
	strbuf_init(&s);
	vec_for_each (&all.items, e) {
		(void)!str_path(path, sizeof(path), "%sevents/%s/%s/filter", folder, e->system,
				e->name);
		const char *filter = tracing_line(r->t, path, &s);
		if (*filter && strcmp(filter, "none"))
			(void)!journal_poke(r->j, path, "0\n", false, NULL);
		(void)!str_path(path, sizeof(path), "%sevents/%s/%s/trigger", folder, e->system,
				e->name);
		strbuf_reset(&s);
		if (tracing_read(r->t, path, &s))
			continue;
		for (const char *p = strbuf_cstr(&s); *p;) {
			size_t len = strcspn(p, "\n");
			if (len && *p != '#' && len < sizeof(line) - 2) {
				/* "traceoff:count=5" and ":unlimited" are how the kernel prints counts. */
				(void)snprintf(line, sizeof(line), "!%.*s", (int)len, p);
				char *count = strstr(line, ":unlimited");
				if (!count)
					count = strstr(line, ":count=");
				if (count) {
					size_t cut = strcspn(count + 1, ": ") + 1;
					memmove(count, count + cut, strlen(count + cut) + 1);
				}
				(void)!journal_poke(r->j, path, line, false, NULL);
			}
			p += len + (p[len] == '\n');
		}
	}
	strbuf_done(&s);
	tracing_events_done(&all);
}

/* "vfs_read:traceoff:unlimited": commands stay when the list is emptied. */
static void reset_function_commands(struct resetting *r, const char *folder)
{
	struct strbuf s;
	char path[PATH_MAX], line[512];
	strbuf_init(&s);
	(void)!str_path(path, sizeof(path), "%sset_ftrace_filter", folder);
	if (tracing_read(r->t, path, &s))
		strbuf_reset(&s);
	for (const char *p = strbuf_cstr(&s); *p;) {
		size_t len = strcspn(p, "\n");
		if (*p != '#' && memchr(p, ':', len) && len < sizeof(line) - 2) {
			(void)snprintf(line, sizeof(line), "!%.*s", (int)len, p);
			char *tail = strstr(line, ":unlimited");
			if (!tail)
				tail = strstr(line, ":count=");
			if (tail)
				(void)snprintf(tail, sizeof(line) - (size_t)(tail - line), "%s",
					       strstr(line, ":count=") == tail ? ":0" : "");
			(void)!journal_poke(r->j, path, line, false, NULL);
		}
		p += len + (p[len] == '\n');
	}
	strbuf_done(&s);
}

static int reset_buffer(void *ctx, const char *folder, const char *name)
{
	static const char *const lists[] = { "set_ftrace_filter",  "set_ftrace_notrace",
					     "set_ftrace_pid",	   "set_ftrace_notrace_pid",
					     "set_event_pid",	   "set_event_notrace_pid",
					     "set_graph_function", "set_graph_notrace" };
	struct resetting *r = ctx;
	struct cpuset all = { 0 };
	struct strbuf mask;
	put(r, folder, "tracing_on", "0\n", false);
	put(r, folder, "current_tracer", "nop\n", false);
	reset_events(r, folder);
	reset_function_commands(r, folder);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		put(r, folder, lists[i], "", true);
	put(r, folder, "max_graph_depth", "0\n", false);
	put(r, folder, "tracing_thresh", "0\n", false);
	put(r, folder, "tracing_max_latency", "0\n", false);
	put(r, folder, "snapshot", "0\n", false);
	put(r, folder, "error_log", "", true);
	put(r, folder, "trace_clock", "local\n", false);
	for (long i = 0; i < sysconf(_SC_NPROCESSORS_CONF); i++)
		cpuset_add(&all, (unsigned)i);
	strbuf_init(&mask);
	cpuset_add_mask(&all, &mask);
	strbuf_char(&mask, '\n');
	put(r, folder, "tracing_cpumask", strbuf_cstr(&mask), false);
	strbuf_done(&mask);
	if (r->o->size) {
		char kb[32];
		(void)snprintf(kb, sizeof(kb), "%s\n", r->o->size);
		put(r, folder, "buffer_size_kb", kb, false);
	}
	put(r, folder, "trace", "", true);
	put(r, folder, "tracing_on", "1\n", false);
	if (r->o->remove && *name) {
		char path[PATH_MAX];
		(void)!str_path(path, sizeof(path), "instances/%s", name);
		if (r->o->dry_run)
			strbuf_printf(&r->app->out, "rmdir %s/%s\n", r->t->path, path);
		else if (unlinkat(r->t->dir, path, AT_REMOVEDIR))
			return diag_error(&r->app->diag, -errno, "cannot remove instance %s: %s",
					  name, strerror(errno));
	}
	return 0;
}

/* All of them: those of dynamic_events one by one, so that one in use does not keep the others. */
static void remove_probes(struct resetting *r)
{
	struct strbuf s;
	char line[512];
	const char *file = tracing_has(r->t, "dynamic_events") ? "dynamic_events" : "kprobe_events";
	strbuf_init(&s);
	if (tracing_read(r->t, file, &s))
		strbuf_reset(&s);
	for (const char *p = strbuf_cstr(&s); *p;) {
		size_t len = strcspn(p, "\n"), colon = strcspn(p, ":"), end = strcspn(p, " \n");
		if (colon < end && end - colon < sizeof(line) - 4) {
			(void)snprintf(line, sizeof(line), "-%.*s\n", (int)(end - colon), p + colon);
			(void)!journal_poke(r->j, file, line, false,
					    r->app->verbose ? &r->app->diag : NULL);
		}
		p += len + (p[len] == '\n');
	}
	strbuf_done(&s);
}

/*
 * What `ftrace start` and `set` have changed and nobody has changed since: options and sizes have no default that could be written. The
 * newest first. An instance that they made is not the top buffer's, and stays.
 */
static void undo_started(int run_dir, const struct tracing *t)
{
	struct journal_list l;
	if (journal_list_all(run_dir, &l))
		return;
	for (size_t i = l.items.nr; i-- > 0;) {
		const struct journal_info *info = &l.items.at[i];
		if (info->kept &&
		    (info->instances.nr || journal_undo_stale(run_dir, t, info->name, NULL, NULL)))
			(void)!journal_forget(run_dir, info->name);
	}
	journal_list_done(&l);
}

/* Those of `ftrace start` whose instances are gone and whose settings nobody has any more. */
static unsigned forget_ended(int run_dir, const struct tracing *t, bool dry)
{
	struct journal_list l;
	unsigned nr = 0;
	if (journal_list_all(run_dir, &l))
		return 0;
	vec_for_each (&l.items, info)
		if (info->kept && !info->alive && journal_is_over(run_dir, t, info->name) &&
		    (dry || !journal_forget(run_dir, info->name)))
			nr++;
	journal_list_done(&l);
	return nr;
}

static int reset_all(struct app *app, const struct reset_opts *o, const struct tracing *t)
{
	struct journal_opts jo = { .title = "reset",
				   .no_watchdog = true,
				   .dry = o->dry_run ? &app->out : NULL };
	struct resetting r = { .o = o, .t = t, .app = app };
	int err = journal_open(&r.j, t, &jo, &app->diag);
	if (err)
		return err;
	bool top = o->which.top || (!o->which.all && !o->which.names.items.nr);
	if (top && !o->dry_run)
		undo_started(journal_run_dir(r.j), t);
	err = ftrace_which_each(&o->which, t, reset_buffer, &r, &app->diag);
	if (!err && top)
		remove_probes(&r);
	if (!o->dry_run)
		(void)forget_ended(journal_run_dir(r.j), t, false);
	journal_close(r.j, &app->diag);
	return err;
}

static int reset_stale(struct app *app, const struct reset_opts *o, const struct tracing *t)
{
	struct journal_list l;
	unsigned nr = 0;
	bool left = false;
	int run_dir = run_dir_open(RUN_DIR, &app->diag);
	if (run_dir < 0)
		return run_dir;
	int err = journal_list_all(run_dir, &l);
	for (size_t i = 0; !err && i < l.items.nr; i++) {
		const struct journal_info *info = &l.items.at[i];
		if (info->alive || info->kept)
			continue;
		nr++;
		strbuf_printf(&app->err, "%s what %d left: %s\n",
			      o->dry_run ? "would undo" : "undoing", info->pid, info->title);
		if (!o->dry_run)
			err = journal_undo_stale(run_dir, t, info->name, parts_rescue, &app->diag);
		left |= err > 0;
		if (err == -EBUSY || err > 0)
			err = 0;
	}
	if (!err && left)
		err = diag_error(&app->diag, -EBUSY, "some settings could not be restored");
	unsigned ended = err ? 0 : forget_ended(run_dir, t, o->dry_run);
	if (ended)
		strbuf_printf(&app->err,
			      "%s %u run%s of 'ftrace start' with no remaining settings\n",
			      o->dry_run ? "would forget" : "forgot", ended, ended == 1 ? "" : "s");
	if (!err && !nr && !ended)
		strbuf_str(&app->err, "no leftovers\n");
	if (!err || l.items.nr)
		journal_list_done(&l);
	(void)close(run_dir);
	return err;
}

/* Others may have set up what goes: on a terminal we ask, else --force says it is meant. */
static bool may_reset(struct app *app, const struct reset_opts *o)
{
	char line[16];
	if (o->force || o->dry_run || app->dialect->reset_needs_no_force)
		return true;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		diag_error(&app->diag, -EPERM,
			   "a reset also undoes other people's settings and removes all probes");
		diag_hint(&app->diag,
			  "use --force if you mean it; --stale undoes only leftovers of dead sonde "
			  "runs; 'sonde ftrace status' shows what there is");
		return false;
	}
	strbuf_str(&app->err, "This resets everything in tracefs to its defaults, including other "
			      "people's settings, and removes all probes. Continue? [y/N] ");
	(void)strbuf_flush(&app->err);
	return fgets(line, sizeof(line), stdin) && (*line == 'y' || *line == 'Y');
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct reset_opts *o = opts;
	struct tracing t;
	if (argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	if (o->size && o->size[strspn(o->size, "0123456789")])
		return app_usage(app, "-b %s: expected kilobytes per CPU", o->size);
	if (!o->stale && !may_reset(app, o))
		return APP_FAILED;
	int err = ftrace_open(&t, &app->diag);
	if (err)
		return app_fail(app, err);
	err = o->stale ? reset_stale(app, o, &t) : reset_all(app, o, &t);
	tracing_close(&t);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt rows[] = {
	OPT_FLAG(0, "stale", struct reset_opts, stale, "Only undo leftovers of dead sonde runs"),
	OPT_FLAG(0, "force", struct reset_opts, force, "Do not ask"),
	FTRACE_WHICH_ROWS(struct reset_opts, which),
	OPT_FLAG('d', "delete", struct reset_opts, remove, "Also remove the instances"),
	OPT_STR('b', "buffer-size", struct reset_opts, size, "KB",
		"Also set the buffer size per CPU"),
	OPT_FLAG(0, "dry-run", struct reset_opts, dry_run, "Only print what would be written"),
	OPT_END(),
};

static const struct opt_example examples[] = {
	{ "ftrace reset --stale", "leftovers of killed runs" },
	{ "ftrace reset", "everything to defaults, after confirmation" },
	{ "ftrace reset -B mine -d --force", "an instance, and remove it" },
	{ 0 },
};

const struct command command_ftrace_reset = {
	.name = "reset",
	.summary = "undo leftovers of dead runs, or reset everything to defaults",
	.usage = "[OPTIONS]",
	.about = "--stale touches only settings that a sonde run changed and could not restore, "
		 "and only if they still hold that run's value. Without it, everybody's tracers, "
		 "events, filters, triggers, clocks and probes are reset, after confirmation or "
		 "with --force.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct reset_opts),
	.run = run,
};
