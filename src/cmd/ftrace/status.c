/* `sonde ftrace status`: who traces what, and what dead runs have left. */
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "tracing/which.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct buffer_state {
	char tracer[64], clock[64];
	bool on;
	u64 nr_events; /* that are enabled */
	u64 nr_filters; /* functions */
	const char *owner; /* a run of ours; NULL: somebody else, or nobody */
	s32 owner_pid;
};

static u64 count_lines(const char *text)
{
	u64 n = 0;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static u64 lines_of(const struct tracing *t, const char *folder, const char *file)
{
	struct strbuf s;
	char path[PATH_MAX];
	strbuf_init(&s);
	(void)!str_path(path, sizeof(path), "%s%s", folder, file);
	if (tracing_read(t, path, &s))
		strbuf_reset(&s);
	const char *text = strbuf_cstr(&s);
	u64 n = *text == '#' ? 0 : count_lines(text);
	strbuf_done(&s);
	return n;
}

static void word_of(const struct tracing *t, const char *folder, const char *file, char *to,
		    size_t size)
{
	struct strbuf s;
	char path[PATH_MAX];
	strbuf_init(&s);
	(void)!str_path(path, sizeof(path), "%s%s", folder, file);
	const char *line = tracing_line(t, path, &s);
	const char *open = strchr(line, '[');
	(void)snprintf(to, size, "%.*s", open ? (int)strcspn(open + 1, "]") : (int)strlen(line),
		       open ? open + 1 : line);
	strbuf_done(&s);
}

static void look(const struct tracing *t, const struct journal_list *l, const char *folder,
		 const char *name, struct buffer_state *ret)
{
	char on[16];
	*ret = (struct buffer_state){ 0 };
	word_of(t, folder, "current_tracer", ret->tracer, sizeof(ret->tracer));
	word_of(t, folder, "trace_clock", ret->clock, sizeof(ret->clock));
	word_of(t, folder, "tracing_on", on, sizeof(on));
	ret->on = *on == '1';
	ret->nr_events = lines_of(t, folder, "set_event");
	ret->nr_filters = lines_of(t, folder, "set_ftrace_filter");
	vec_for_each (&l->items, i)
		vec_for_each (&i->instances, inst)
			if (!strcmp(*inst, name)) {
				ret->owner = i->title;
				ret->owner_pid = i->pid;
			}
}

static bool idle(const struct buffer_state *b)
{
	return !strcmp(b->tracer, "nop") && !b->nr_events && !b->nr_filters;
}

static void say_buffer(struct app *app, const char *name, const struct buffer_state *b)
{
	struct strbuf *o = &app->out;
	strbuf_printf(o, "  %-24s ", *name ? name : "(top)");
	if (idle(b))
		strbuf_str(o, "idle");
	else
		strbuf_printf(o, "%s, %llu %s enabled, %llu %s selected, clock %s%s", b->tracer,
			      (unsigned long long)b->nr_events,
			      str_plural(b->nr_events, "event", "events"),
			      (unsigned long long)b->nr_filters,
			      str_plural(b->nr_filters, "function", "functions"), b->clock,
			      b->on ? "" : ", stopped");
	if (b->owner)
		strbuf_printf(o, "; created by %d (%s)", b->owner_pid, b->owner);
	strbuf_char(o, '\n');
}

static const char *state_word(const struct journal_info *i)
{
	return i->alive ? "running" : i->kept ? "started" : "dead";
}

static void say_runs(struct app *app, const struct journal_list *l, int run_dir)
{
	struct strbuf *o = &app->out, holder;
	strbuf_str(o, "\nsonde runs:\n");
	if (!l->items.nr)
		strbuf_str(o, "  none\n");
	vec_for_each (&l->items, i) {
		strbuf_printf(o, "  %-8s %d  %s\n", state_word(i), i->pid, i->title);
		if (!i->alive && !i->kept)
			strbuf_str(o,
				   "           leftover: 'sonde ftrace reset --stale' undoes it\n");
		if (i->kept)
			strbuf_str(o, "           its settings stay until 'sonde ftrace reset'\n");
		vec_for_each (&i->instances, name)
			strbuf_printf(
				o,
				i->kept ? "           instance %s: 'sonde ftrace reset -B %s -d' "
					  "removes it\n"
					: "           instance %s\n",
				*name, *name);
		vec_for_each (&i->files, file)
			strbuf_printf(o, "           changed  %s\n", *file);
		if (i->recording)
			strbuf_printf(o, "           recording %s\n", i->recording);
	}
	strbuf_init(&holder);
	if (run_dir >= 0 && lock_holder(run_dir, "top-level buffer", &holder))
		strbuf_printf(o, "\nThe top-level buffer is locked by %s\n", strbuf_cstr(&holder));
	strbuf_done(&holder);
}

static void say_probes(struct app *app, const struct tracing *t)
{
	struct strbuf s;
	const char *file = tracing_has(t, "dynamic_events") ? "dynamic_events" : "kprobe_events";
	strbuf_init(&s);
	if (tracing_read(t, file, &s))
		strbuf_reset(&s);
	const char *text = strbuf_cstr(&s);
	strbuf_str(&app->out, "\nProbes:\n");
	if (!*text)
		strbuf_str(&app->out, "  none\n");
	while (*text) {
		size_t len = strcspn(text, "\n");
		strbuf_printf(&app->out, "  %.*s\n", (int)len, text);
		text += len + (text[len] == '\n');
	}
	strbuf_reset(&s);
	/* Functions with a callback: by tracers, kprobes, live patches or BPF programs. */
	if (!tracing_read(t, "enabled_functions", &s) && s.len)
		strbuf_printf(&app->out, "\nFunctions with something attached: %llu\n",
			      (unsigned long long)count_lines(strbuf_cstr(&s)));
	strbuf_done(&s);
}

/* What the kernel does with tracing when something goes wrong, by boot parameters or sysctls of the same names. */
static const struct {
	const char *name, *what;
} reactions[] = {
	{ "ftrace_dump_on_oops", "buffers are dumped to the console on an oops" },
	{ "traceoff_on_warning", "tracing stops on a warning" },
};

/* "" where it does nothing, or does not know of it. */
static const char *reaction(const struct tracing *t, size_t i, struct strbuf *s)
{
	char path[PATH_MAX];
	(void)!str_path(path, sizeof(path), "/proc/sys/kernel/%s", reactions[i].name);
	const char *value = tracing_line(t, path, s);
	return strcmp(value, "0") ? value : "";
}

static void say_reactions(struct app *app, const struct tracing *t)
{
	bool any = false;
	for (size_t i = 0; i < ARRAY_SIZE(reactions); i++) {
		struct strbuf s;
		strbuf_init(&s);
		const char *value = reaction(t, i, &s);
		if (*value)
			strbuf_printf(&app->out, "%s  %s (%s=%s)\n", any ? "" : "\nThe kernel:\n",
				      reactions[i].what, reactions[i].name, value);
		any |= *value != 0;
		strbuf_done(&s);
	}
}

static void json_reactions(struct json *j, const struct tracing *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(reactions); i++) {
		struct strbuf s;
		strbuf_init(&s);
		const char *value = reaction(t, i, &s);
		if (*value)
			json_put_str(j, reactions[i].name, value);
		strbuf_done(&s);
	}
}

static void json_buffer(struct json *j, const char *name, const struct buffer_state *b)
{
	json_object(j);
	json_put_str(j, "name", name);
	json_put_str(j, "tracer", b->tracer);
	json_put_str(j, "clock", b->clock);
	json_put_bool(j, "on", b->on);
	json_put_u64(j, "events", b->nr_events);
	json_put_u64(j, "functions", b->nr_filters);
	if (b->owner)
		json_put_s64(j, "made_by", b->owner_pid);
	json_object_end(j);
}

static void json_strings(struct json *j, const char *key, const char *const *at, size_t nr)
{
	json_key(j, key);
	json_array(j);
	for (size_t i = 0; i < nr; i++)
		json_str(j, at[i]);
	json_array_end(j);
}

static int as_json(struct app *app, const struct tracing *t, const struct journal_list *l,
		   const struct ftrace_names *names)
{
	struct json j;
	struct buffer_state b;
	char folder[PATH_MAX];
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	json_put_str(&j, "tracefs", t->path);
	json_key(&j, "buffers");
	json_array(&j);
	look(t, l, "", "", &b);
	json_buffer(&j, "", &b);
	vec_for_each (&names->list, name) {
		(void)snprintf(folder, sizeof(folder), "instances/%s/", *name);
		look(t, l, folder, *name, &b);
		json_buffer(&j, *name, &b);
	}
	json_array_end(&j);
	json_key(&j, "runs");
	json_array(&j);
	vec_for_each (&l->items, i) {
		json_object(&j);
		json_put_s64(&j, "pid", i->pid);
		json_put_str(&j, "state", state_word(i));
		json_put_str(&j, "command", i->title);
		json_strings(&j, "instances", i->instances.at, i->instances.nr);
		json_strings(&j, "files", i->files.at, i->files.nr);
		if (i->recording)
			json_put_str(&j, "recording", i->recording);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_reactions(&j, t);
	json_object_end(&j);
	return json_end(&j);
}

/* What `ftrace start` set up and others have taken away since is nobody's. */
static void drop_ended(struct journal_list *l, const struct tracing *t, int run_dir)
{
	size_t nr = 0;
	vec_for_each (&l->items, i) {
		if (i->kept && !i->alive && journal_is_over(run_dir, t, i->name)) {
			vec_free(&i->instances);
			vec_free(&i->files);
		} else {
			l->items.at[nr++] = *i;
		}
	}
	l->items.nr = nr;
}

static int status(struct app *app, const struct tracing *t)
{
	struct journal_list l = { 0 };
	struct ftrace_names names;
	struct buffer_state b;
	char folder[PATH_MAX];
	int run_dir = run_dir_open(RUN_DIR, NULL);
	int err = run_dir < 0 ? 0 : journal_list_all(run_dir, &l);
	if (!err && run_dir >= 0)
		drop_ended(&l, t, run_dir);
	if (!err)
		err = ftrace_instances(t, &names);
	if (err)
		goto out;
	if (app->json) {
		err = as_json(app, t, &l, &names);
	} else {
		strbuf_printf(&app->out, "Buffers (%s):\n", t->path);
		look(t, &l, "", "", &b);
		say_buffer(app, "", &b);
		vec_for_each (&names.list, name) {
			(void)snprintf(folder, sizeof(folder), "instances/%s/", *name);
			look(t, &l, folder, *name, &b);
			say_buffer(app, *name, &b);
		}
		say_probes(app, t);
		say_runs(app, &l, run_dir);
		say_reactions(app, t);
	}
	ftrace_names_done(&names);
out:
	journal_list_done(&l);
	if (run_dir >= 0)
		(void)close(run_dir);
	return err;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct tracing t;
	(void)opts;
	if (argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	int err = ftrace_open(&t, &app->diag);
	if (err)
		return app_fail(app, err);
	err = status(app, &t);
	tracing_close(&t);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt rows[] = { OPT_END() };

static const struct opt_example examples[] = {
	{ "ftrace status", "buffers, probes, runs, leftovers" },
	{ 0 },
};

const struct command command_ftrace_status = {
	.name = "status",
	.summary = "show who is tracing what, and leftovers of dead runs",
	.usage = "",
	.about = "Shows every tracing buffer with its tracer and number of enabled events, the "
		 "defined probes, the sonde runs that changed something (running, started to stay, "
		 "or dead), who holds the lock of the top-level buffer, and whether the kernel "
		 "dumps buffers on an oops or stops tracing on a warning.",
	.examples = examples,
	.opts = rows,
	.run = run,
};
