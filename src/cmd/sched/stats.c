/* `sonde sched stats`: what the kernel's scheduler counted meanwhile (/proc/schedstat), in the layout of perf 7's. */
#include "cmd/sched/sched.h"

#include "base/cpuset.h"
#include "base/json.h"
#include "cmd/app/commands.h"
#include "session/schedstat_run.h"
#include "view/text_schedstat.h"

#include <errno.h>
#include <stdio.h>

static const char default_file[] = "schedstat.txt";

/* One run, or two to be compared. */
struct stats_call {
	struct app *app;
	const struct sched_opts *o;
	struct cpuset cpus;
	struct schedstat_texts texts[2];
	struct schedstat all[2], mean[2];
	int nr;
};

static bool cpu_wanted(const struct stats_call *c, s32 cpu)
{
	return !c->o->cpus || cpuset_has(&c->cpus, (unsigned)cpu);
}

/* ---- printing ---- */

static void print_text(struct stats_call *c)
{
	struct strbuf *to = &c->app->out;
	const struct schedstat *b = c->nr > 1 ? &c->all[1] : NULL;
	text_schedstat_head(&c->all[0], b, to);
	if (!c->o->cpus)
		text_schedstat_cpu(&c->mean[0], b ? &c->mean[1] : NULL, -1, to);
	vec_for_each (&c->all[0].cpus, cpu)
		if (cpu_wanted(c, cpu->cpu))
			text_schedstat_cpu(&c->all[0], b, cpu->cpu, to);
}

static void put_balance(struct json *j, const struct schedstat *s, const struct schedstat_domain *d)
{
	char key[64];
	u32 nr;
	const struct schedstat_field *fields = schedstat_balance_fields(s->version, &nr);
	for (u32 kind = 0; kind < SCHEDSTAT_KINDS; kind++)
		for (u32 f = 0; f < nr; f++) {
			(void)snprintf(key, sizeof(key), "%s_%s",
				       schedstat_kind(s->version, kind)->key, fields[f].key);
			json_put_u64(j, key, d->v[kind * nr + f]);
		}
	for (u32 f = 0; f < SCHEDSTAT_REST; f++)
		json_put_u64(j, schedstat_rest_fields[f].key, d->v[SCHEDSTAT_KINDS * nr + f]);
}

static void put_run(const struct stats_call *c, struct json *j, const struct schedstat *s)
{
	json_object(j);
	json_put_u64(j, "version", s->version);
	json_put_u64(j, "elapsed_jiffies", s->jiffies);
	json_key(j, "cpus");
	json_array(j);
	vec_for_each (&s->cpus, cpu) {
		if (!cpu_wanted(c, cpu->cpu))
			continue;
		json_object(j);
		json_put_s64(j, "cpu", cpu->cpu);
		for (u32 f = 0; f < SCHEDSTAT_CPU_FIELDS; f++)
			json_put_u64(j, schedstat_cpu_fields[f].key, cpu->v[f]);
		json_object_end(j);
	}
	json_array_end(j);
	json_key(j, "domains");
	json_array(j);
	vec_for_each (&s->domains, d) {
		if (!cpu_wanted(c, d->cpu))
			continue;
		json_object(j);
		json_put_s64(j, "cpu", d->cpu);
		json_put_u64(j, "domain", d->number);
		if (d->name)
			json_put_str(j, "name", d->name);
		json_put_str(j, "cpus", d->cpus);
		put_balance(j, s, d);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static int print_json(struct stats_call *c)
{
	struct json j;
	json_begin(&j, &c->app->out, JSON_PRETTY);
	json_object(&j);
	json_key(&j, "runs");
	json_array(&j);
	for (int i = 0; i < c->nr; i++)
		put_run(c, &j, &c->all[i]);
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

/* ---- running ---- */

static void call_init(struct stats_call *c, struct app *app, const struct sched_opts *o)
{
	*c = (struct stats_call){ .app = app, .o = o };
	for (int i = 0; i < 2; i++)
		schedstat_texts_init(&c->texts[i]);
}

static void call_done(struct stats_call *c)
{
	for (int i = 0; i < 2; i++) {
		schedstat_texts_done(&c->texts[i]);
		schedstat_done(&c->all[i]);
		schedstat_done(&c->mean[i]);
	}
}

static int parse_cpus(struct stats_call *c)
{
	if (!c->o->cpus || !cpuset_parse_list(c->o->cpus, &c->cpus, &c->app->diag))
		return 0;
	return app_usage_said(c->app);
}

static int show(struct stats_call *c, int nr)
{
	int err = 0;
	for (c->nr = 0; c->nr < nr && !err; c->nr++) {
		err = schedstat_of_texts(&c->all[c->nr], &c->texts[c->nr], &c->app->diag);
		if (!err)
			err = schedstat_mean(&c->mean[c->nr], &c->all[c->nr]);
	}
	if (!err && nr > 1 && c->all[0].version != c->all[1].version)
		err = diag_error(&c->app->diag, -EINVAL, "versions %u and %u cannot be compared",
				 c->all[0].version, c->all[1].version);
	if (!err && c->app->json)
		err = print_json(c);
	else if (!err)
		print_text(c);
	return err;
}

static int run_live(struct app *app, void *opts, int argc, char **argv)
{
	struct stats_call c;
	int command_status = 0;
	call_init(&c, app, opts);
	int status = parse_cpus(&c);
	if (!status) {
		int err = schedstat_watch(&c.texts[0], argc ? argv : NULL, &command_status,
					  &app->diag);
		if (!err)
			err = show(&c, 1);
		status = !err		  ? command_status
			 : command_status ? command_status
					  : app_fail(app, err);
	}
	call_done(&c);
	return status;
}

static int run_record(struct app *app, void *opts, int argc, char **argv)
{
	const struct sched_opts *o = opts;
	const char *path = o->stats_file ? o->stats_file : default_file;
	struct stats_call c;
	int command_status = 0;
	call_init(&c, app, opts);
	int err = schedstat_watch(&c.texts[0], argc ? argv : NULL, &command_status, &app->diag);
	if (!err)
		err = schedstat_save(&c.texts[0], path, &app->diag);
	if (!err)
		diag_note(&app->diag, "wrote %s", path);
	call_done(&c);
	return !err || command_status ? command_status : app_fail(app, err);
}

static int run_report(struct app *app, void *opts, int argc, char **argv)
{
	const struct sched_opts *o = opts;
	struct stats_call c;
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s': 'diff' compares two", argv[1]);
	call_init(&c, app, opts);
	int status = parse_cpus(&c);
	if (!status) {
		const char *path = argc ? argv[0] : o->stats_file ? o->stats_file : default_file;
		int err = schedstat_load(&c.texts[0], path, &app->diag);
		if (!err)
			err = show(&c, 1);
		status = err ? app_fail(app, err) : APP_DONE;
	}
	call_done(&c);
	return status;
}

static int run_diff(struct app *app, void *opts, int argc, char **argv)
{
	struct stats_call c;
	if (argc != 2)
		return app_usage(app, "two files of 'sched stats record' are needed");
	call_init(&c, app, opts);
	int status = parse_cpus(&c);
	if (!status) {
		int err = schedstat_load(&c.texts[0], argv[0], &app->diag);
		if (!err)
			err = schedstat_load(&c.texts[1], argv[1], &app->diag);
		if (!err)
			err = show(&c, 2);
		status = err ? app_fail(app, err) : APP_DONE;
	}
	call_done(&c);
	return status;
}

/* ---- commands ---- */

#define CPUS_ROW                                                                                   \
	OPT_STR('C', "cpu", struct sched_opts, cpus, "LIST",                                       \
		"only these CPUs, without the means of all: 0,2-3")

static const struct opt stats_rows[] = { CPUS_ROW, OPT_END() };
static const struct opt save_rows[] = {
	OPT_STR('o', "output", struct sched_opts, stats_file, "FILE", "write FILE (schedstat.txt)"),
	OPT_END(),
};
static const struct opt report_rows[] = {
	OPT_STR('i', "input", struct sched_opts, stats_file, "FILE", "read FILE (schedstat.txt)"),
	CPUS_ROW,
	OPT_END(),
};
static const struct opt diff_rows[] = { CPUS_ROW, OPT_END() };

static const struct opt_example record_examples[] = {
	{ "sched stats record -o before.txt -- make", "what the scheduler did during make" },
	{ 0 },
};
static const struct opt_example report_examples[] = {
	{ "sched stats report before.txt", "means over all CPUs, then each CPU and its domains" },
	{ 0 },
};
static const struct opt_example diff_examples[] = {
	{ "sched stats diff before.txt after.txt", "two runs side by side" },
	{ 0 },
};

static const struct command command_stats_record = {
	.name = "record",
	.summary = "save the scheduler's counters before and after a command",
	.usage = "[-o FILE] [--] [COMMAND [ARGS]]",
	.about = "The file is the text of /proc/schedstat twice, one after the other. Without a "
		 "command, until Ctrl-C.",
	.examples = record_examples,
	.opts = save_rows,
	.opts_size = sizeof(struct sched_opts),
	.same_opts = true,
	.run = run_record,
};
static const struct command command_stats_report = {
	.name = "report",
	.summary = "show what was counted between the two readings",
	.usage = "[OPTIONS] [FILE]",
	.examples = report_examples,
	.opts = report_rows,
	.opts_size = sizeof(struct sched_opts),
	.mixed_words = true,
	.same_opts = true,
	.run = run_report,
};
static const struct command command_stats_diff = {
	.name = "diff",
	.summary = "compare two recordings",
	.usage = "[OPTIONS] FILE FILE",
	.examples = diff_examples,
	.opts = diff_rows,
	.opts_size = sizeof(struct sched_opts),
	.mixed_words = true,
	.same_opts = true,
	.run = run_diff,
};

static const struct command *const subs[] = { &command_stats_record, &command_stats_report,
					      &command_stats_diff, NULL };

static const struct opt_example examples[] = {
	{ "sched stats -- make", "what the scheduler did during make" },
	{ "sched stats record -o before.txt -- make", "save it" },
	{ "sched stats diff before.txt after.txt", "and compare" },
	{ 0 },
};

const struct command command_sched_stats = {
	.name = "stats",
	.summary = "what the scheduler counted, per CPU and scheduling domain",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "The difference of /proc/schedstat over a command, or until Ctrl-C: calls of the "
		 "scheduler, wake-ups, time that tasks ran and waited, load balancing. No events "
		 "are "
		 "recorded, so it costs little. kernel.sched_schedstats is set to 1 meanwhile. "
		 "Percentages in parentheses are shares of the counter above; the number between "
		 "dollar signs is the average number of jiffies between two occurrences.",
	.examples = examples,
	.opts = stats_rows,
	.opts_size = sizeof(struct sched_opts),
	.defaults = sched_defaults,
	.subs = subs,
	.run = run_live,
};
