/* `sonde sched`: what the scheduler did, from its events. */
#include "cmd/sched/sched.h"

#include "cmd/app/commands.h"
#include "session/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sched_defaults(void *opts)
{
	struct sched_opts *o = opts;
	o->input = "perf.data";
	o->cpu = -1;
	o->max_stack = 5;
	o->call_graph = true;
	o->max_threads = 10;
	o->max_rows = 5;
	o->why_stack = 4;
	o->critical_rows = 30;
	o->repeat = 10;
}

int sched_take_input(struct app *app, struct sched_opts *o, int argc, char **argv)
{
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s': only one recording at a time",
				 argv[1]);
	if (argc)
		o->input = argv[0];
	return 0;
}

static bool has_switches(const struct source *src)
{
	vec_for_each (&src->catalog.events, e)
		if (e->name && (strstr(e->name, "sched_switch") ||
				(e->schema && !strcmp(e->schema->name, "sched_switch"))))
			return true;
	return false;
}

int sched_open(struct app *app, const struct sched_opts *o, struct source **ret)
{
	app->diag.recorder = "sched record -- COMMAND";
	int err = recording_open(app_symbols(app), o->input, RECORDING_EVENTS, &o->symbols, ret);
	if (err)
		return err;
	err = (*ret)->ops->prepare(*ret, 0, &app->diag);
	if (!err && !has_switches(*ret)) {
		err = diag_error(&app->diag, -ENODATA, "%s has no sched:sched_switch events",
				 o->input);
		diag_hint(&app->diag,
			  "%s sched record -- COMMAND records them; so does ftrace record -e sched",
			  app->prog);
	}
	if (err)
		(*ret)->ops->close(*ret);
	return err;
}

void sched_warn_losses(struct app *app, const struct thread_states *ts, const struct source *src)
{
	const struct thread_states_totals *t = thread_states_totals(ts);
	u64 lost = src->catalog.nr_lost;
	/* A trace says it itself. */
	if ((lost || t->nr_gaps) && source_facts(src).kind != SOURCE_TRACE) {
		diag_warn(&app->diag,
			  "%llu %s lost while recording: times around the gaps are not exact",
			  (unsigned long long)lost, str_plural(lost, "event was", "events were"));
		diag_hint(&app->diag, "larger buffers lose fewer: sched record -m 16M");
	}
	if (t->nr_bugs)
		diag_warn(&app->diag,
			  "%llu of %llu context switches do not continue the one before%s",
			  (unsigned long long)t->nr_bugs, (unsigned long long)t->nr_switches,
			  lost || t->nr_gaps ? " (events were lost)" : "");
}

/* perf takes the first three letters of a verb, or more. */
static const struct command *find_prefix(const struct command *const *subs, const char *word)
{
	enum { SHORTEST = 3 };
	size_t len = strlen(word);
	for (; *subs && len >= SHORTEST; subs++)
		if (!strncmp((*subs)->name, word, len))
			return *subs;
	return NULL;
}

/* As if the verb had been written out, with the options before it after it. */
static int run_words(struct app *app, const struct command *cmd, const struct sched_opts *o,
		     int argc, char **argv)
{
	char **words = calloc((size_t)argc + 3, sizeof(*words));
	int nr = 0;
	if (!words)
		return app_fail(app, -ENOMEM);
	words[nr++] = (char *)cmd->name;
	if (cmd != &command_sched_record && cmd != &command_sched_stats) {
		words[nr++] = (char *)"-i";
		words[nr++] = (char *)o->input;
	}
	for (int i = 1; i < argc; i++)
		words[nr++] = argv[i];
	int status = app_command(app, cmd, nr, words);
	free(words);
	return status;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	if (argc && !strcmp(argv[0], "script"))
		return run_words(app, &command_script, opts, argc, argv);
	const struct command *sub = argc ? find_prefix(app->cmd->subs, argv[0]) : NULL;
	if (!argc)
		return app_usage(app, "no command given");
	if (!sub)
		return app_no_command(app, app->cmd, argv[0], NULL);
	return run_words(app, sub, opts, argc, argv);
}

static const struct opt rows[] = {
	SCHED_INPUT_ROWS,
	OPT_END(),
};

/* clang-format off */
static const struct command *const subs[] = {
	&command_sched_record,
	&command_sched_latency,
	&command_sched_why,
	&command_sched_critical,
	&command_sched_timehist,
	&command_sched_map,
	&command_sched_replay,
	&command_sched_stats,
	NULL,
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "sched record -- sleep 5", "record what the scheduler does for five seconds" },
	{ "sched latency", "who waited for a CPU, and how long" },
	{ "sched why -p 1234", "where all the time of a process went, and who it waited for" },
	{ "sched critical -p 1234",
	  "the chain of waits that made a process take as long as it did" },
	{ "sched timehist --state", "every run of every thread" },
	{ "sched script", "the events one by one" },
	{ "sched map", "which thread ran where, a line for each switch" },
	{ "sched stats -- make",
	  "what the scheduler counted during make, without recording events" },
	{ "sched replay -r 3", "replay the recorded load three times" },
	{ 0 },
};

const struct command command_sched = {
	.name = "sched",
	.group = "Why",
	.summary = "record the scheduler and show who waited for a CPU",
	.usage = "[-i FILE] COMMAND [OPTIONS]",
	.about = "All commands but 'record' and 'stats' read a recording of scheduler events: a "
		 "perf.data of "
		 "'sched record' (ours or perf's), or a trace.dat of 'ftrace record -e sched'. "
		 "'sched "
		 "script' prints the events one by one, as 'script' does.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct sched_opts),
	.defaults = sched_defaults,
	.subs = subs,
	.run = run,
};
