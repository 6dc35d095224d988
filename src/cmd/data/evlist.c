/* sonde evlist: the events of a recording, and how each of them was set up. */
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "event/attr_text.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <string.h>

struct evlist_opts {
	const char *input;
	bool freq;
	bool groups;
	bool trace_fields;
	bool force;
};

static const struct opt evlist_rows[] = {
	OPT_STR('i', "input", struct evlist_opts, input, "FILE",
		"recording to read (perf.data); - for standard input"),
	OPT_FLAG('F', "freq", struct evlist_opts, freq, "show the sampling frequency or period"),
	OPT_FLAG('g', "group", struct evlist_opts, groups, "show each group on one line, in braces"),
	OPT_FLAG(0, "trace-fields", struct evlist_opts, trace_fields,
		 "show the names of tracepoint fields"),
	OPT_FLAG('f', "force", struct evlist_opts, force,
		 "accepted; file ownership is never checked", .hidden = true),
	OPT_END(),
};

static const struct opt_example evlist_examples[] = {
	{ "evlist", "which events are in ./perf.data" },
	{ "evlist -v -i FILE", "with every attribute passed to the kernel" },
	{ "evlist --trace-fields", "which fields its tracepoints have" },
	{ 0 },
};

static void evlist_defaults(void *opts)
{
	((struct evlist_opts *)opts)->input = "perf.data";
}

struct evlist {
	struct app *app;
	const struct evlist_opts *opts;
	const struct perfdata *file;
	const struct catalog *catalog;
};

static const char *name_of(const struct evlist *e, size_t i)
{
	return i < e->catalog->events.nr ? e->catalog->events.at[i].name : e->file->attrs.at[i].name;
}

static void print_trace_fields(const struct evlist *e, size_t i)
{
	struct strbuf *to = &e->app->out;
	const struct schema *s = i < e->catalog->events.nr ? e->catalog->events.at[i].schema : NULL;
	if (e->file->attrs.at[i].attr.type != PERF_TYPE_TRACEPOINT) {
		strbuf_str(to, ": (not a tracepoint)");
		return;
	}
	if (!s || s->nr_fields == s->nr_common) {
		strbuf_str(to, ": (no trace field)");
		return;
	}
	strbuf_str(to, ": trace_fields: ");
	for (u32 f = s->nr_common; f < s->nr_fields; f++)
		strbuf_printf(to, "%s%s", f > s->nr_common ? "," : "", s->fields[f].name);
}

static void print_event(const struct evlist *e, size_t i)
{
	struct strbuf *to = &e->app->out;
	const struct perf_event_attr *a = &e->file->attrs.at[i].attr;
	printable_name(to, name_of(e, i));
	if (e->app->verbose)
		attr_text(a, ":", ": ", to);
	else if (e->opts->freq)
		strbuf_printf(to, ": sample_%s=%llu", a->freq ? "freq" : "period",
			      (unsigned long long)a->sample_freq);
	if (e->opts->trace_fields)
		print_trace_fields(e, i);
}

static void print_group(const struct evlist *e, const struct perfdata_group *g)
{
	struct strbuf *to = &e->app->out;
	strbuf_printf(to, "%s{", g->name ? g->name : "");
	for (u32 i = 0; i < g->nr; i++)
		strbuf_printf(to, "%s%s", i ? "," : "", name_of(e, g->leader + i));
	strbuf_char(to, '}');
}

static int print_text(const struct evlist *e)
{
	struct bytes groups = perfdata_groups(e->file);
	struct perfdata_group g = { 0 };
	bool more = e->opts->groups && perfdata_next_group(e->file, &groups, &g),
	     tracepoints = false;
	for (u32 i = 0; i < e->file->attrs.nr;) {
		while (more && g.leader < i)
			more = perfdata_next_group(e->file, &groups, &g);
		bool group = more && g.leader == i && g.nr > 1;
		if (group)
			print_group(e, &g);
		else
			print_event(e, i);
		strbuf_char(&e->app->out, '\n');
		i += group ? g.nr : 1;
	}
	vec_for_each (&e->file->attrs, a)
		tracepoints |= a->attr.type == PERF_TYPE_TRACEPOINT;
	if (tracepoints && !e->opts->trace_fields)
		strbuf_printf(
			&e->app->out, "# Tip: use '%s evlist --trace-fields' to show fields for tracepoint events\n",
			e->app->prog);
	return e->app->out.err;
}

static int print_json(const struct evlist *e)
{
	struct json j;
	json_begin(&j, &e->app->out, JSON_PRETTY);
	json_array(&j);
	for (size_t i = 0; i < e->file->attrs.nr; i++) {
		const struct perf_event_attr *a = &e->file->attrs.at[i].attr;
		const struct schema *s =
			i < e->catalog->events.nr ? e->catalog->events.at[i].schema : NULL;
		json_object(&j);
		json_put_str(&j, "event", name_of(e, i));
		json_put_u64(&j, "type", a->type);
		json_put_u64(&j, "config", a->config);
		json_put_u64(&j, a->freq ? "sample_freq" : "sample_period", a->sample_freq);
		json_put_u64(&j, "sample_type", a->sample_type);
		json_put_u64(&j, "ids", e->file->attrs.at[i].nr_ids);
		if (s) {
			json_key(&j, "fields");
			json_array(&j);
			for (u32 f = s->nr_common; f < s->nr_fields; f++)
				json_str(&j, s->fields[f].name);
			json_array_end(&j);
		}
		json_object_end(&j);
	}
	json_array_end(&j);
	return json_end(&j);
}

/* A file says everything in its head; only a stream, a name that is missing or a tracepoint's fields need a walk through its data. */
static bool needs_walk(const struct evlist *e)
{
	if (e->file->is_pipe || e->opts->trace_fields || e->app->json)
		return true;
	vec_for_each (&e->file->attrs, a)
		if (!a->name)
			return true;
	return false;
}

static int evlist_run(struct app *app, void *opts, int argc, char **argv)
{
	struct evlist_opts *o = opts;
	struct source *src;
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s': only one recording at a time",
				 argv[1]);
	if (argc == 1)
		o->input = argv[0];
	int err = replay_perf_open(o->input, &src, &app->diag);
	if (err)
		return app_fail(app, err);
	struct evlist e = {
		.app = app, .opts = o, .file = replay_perf_file(src), .catalog = &src->catalog
	};
	if (needs_walk(&e))
		err = src->ops->prepare(src, 0, &app->diag);
	if (!err)
		err = app->json ? print_json(&e) : print_text(&e);
	src->ops->close(src);
	return err ? app_fail(app, err) : APP_DONE;
}

const struct command command_evlist = {
	.name = "evlist",
	.group = "Why",
	.summary = "list the events of a recording",
	.usage = "[OPTIONS] [FILE]",
	.about = "Reads the header of a perf.data file (ours or perf's) and prints its events, one "
		 "per line. -v adds the attributes passed to the kernel.",
	.examples = evlist_examples,
	.opts = evlist_rows,
	.opts_size = sizeof(struct evlist_opts),
	.defaults = evlist_defaults,
	.mixed_words = true,
	.run = evlist_run,
};
