/* `sonde timeline`: what every thread and CPU did, on a page to zoom. */
#include "cmd/timeline/timeline.h"

#include "base/num.h"
#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "cmd/record/preset.h"
#include "session/outfile.h"
#include "session/recording.h"
#include "session/timeline_run.h"
#include "view/html_timeline.h"
#include "view/json_timeline.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

struct timeline_opts {
	struct record_opts record; /* first: its option calls get this struct */
	const char *input;
	const char *output;
	const char *title;
	bool samples;
	u64 max_stack;
	struct symbol_opts symbols;
};

struct timeline_job {
	struct app *app;
	struct timeline_opts *o;
	const char *path; /* of a recording; NULL: there is none yet */
	s32 pid;
	s32 family; /* the command's process; 0: none was run */
	char folder[4096]; /* of the one we make; "": none */
	char made[4096 + 8];
	int status; /* of the command we ran */
};

size_t timeline_events(const char *events[TIMELINE_EVENTS_MAX + 1], bool samples)
{
	static const char *const wanted[] = {
		"sched:sched_switch",	    "sched:sched_waking",	"sched:sched_wakeup_new",
		"sched:sched_process_fork", "sched:sched_migrate_task",
	};
	size_t nr = 0;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		/* The first one is always asked for: if it is not there, that is what is said. */
		if (!i || record_kernel_has((const char *const[]){ wanted[i], NULL }))
			events[nr++] = wanted[i];
		else if (i == 1)
			events[nr++] = "sched:sched_wakeup";
	if (samples)
		events[nr++] = "cpu-clock/freq=999/";
	events[nr] = NULL;
	return nr;
}

/* ---- recording ---- */

static void remove_made(struct timeline_job *j)
{
	if (!*j->folder)
		return;
	(void)unlink(j->made);
	(void)rmdir(j->folder);
}

/* The whole system: who runs instead, and who wakes whom, may be anybody. */
static int record_now(struct timeline_job *j, int argc, char **argv)
{
	const char *events[TIMELINE_EVENTS_MAX + 1];
	const char *tmp = secure_getenv("TMPDIR");
	struct record_opts *r = &j->o->record;
	struct recorder_stats stats = { 0 };
	(void)snprintf(j->folder, sizeof(j->folder), "%s/sonde-timeline.XXXXXX",
		       tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(j->folder)) {
		int err = diag_error(&j->app->diag, -errno, "cannot make a folder %s", j->folder);
		*j->folder = '\0';
		return err;
	}
	(void)snprintf(j->made, sizeof(j->made), "%s/data", j->folder);
	(void)timeline_events(events, j->o->samples);
	r->pids = NULL;
	r->output = j->made;
	r->result = &stats;
	r->command_pid = &j->family;
	r->no_build_id_cache = true;
	if (!r->call_graph)
		r->call_graph = "fp";
	j->status = record_run_preset(
		j->app, r, &(struct record_preset){ .events = events, .system_wide = true }, argc,
		argv);
	j->path = access(j->made, R_OK) ? NULL : j->made;
	return 0;
}

/* ---- what comes out ---- */

/* Of the recorder's command line: the command after "--", or all of it. */
static const char *what_ran(const struct timeline *t)
{
	const char *line = strtab_str(&t->strings, t->command), *dashes = strstr(line, " -- ");
	return dashes && dashes[4] ? dashes + 4 : line;
}

static const char *title_of(const struct timeline *t, const struct timeline_draw *d)
{
	if (d->title)
		return d->title;
	if (t->command)
		return what_ran(t);
	return d->path ? d->path : "timeline";
}

static void say_result(struct app *app, const struct timeline *t, const struct timeline_draw *d)
{
	char full[4096];
	u64 nr_threads = 0;
	vec_for_each (&t->tracks, k)
		nr_threads += k->tid != 0;
	app_say(app);
	strbuf_printf(
		&app->err,
		"%s: %s: %llu %s on %u %s in %.3f s, %llu switches, %llu samples, %llu lost\n",
		app->title, realpath(d->output, full) ? full : d->output,
		(unsigned long long)nr_threads, str_plural(nr_threads, "thread", "threads"),
		t->nr_cpus, str_plural(t->nr_cpus, "CPU", "CPUs"),
		(double)u64_less(t->last_ns, t->first_ns) / 1e9, (unsigned long long)t->nr_switches,
		(unsigned long long)t->instants.nr, (unsigned long long)t->nr_lost);
	(void)strbuf_flush(&app->err);
}

int timeline_draw(struct app *app, const struct timeline *t, const struct timeline_draw *d)
{
	struct html_timeline_opts ho = { .title = title_of(t, d),
					 .pid = d->pid,
					 .family = d->family };
	if (app->json)
		return json_timeline(t, &app->out);
	if (!strcmp(d->output, "-"))
		return html_timeline(t, &ho, &app->out);
	struct strbuf text;
	strbuf_init(&text);
	int err = html_timeline(t, &ho, &text);
	if (!err)
		err = outfile_write(d->output, text.data, text.len, false, &app->diag);
	strbuf_done(&text);
	if (!err)
		say_result(app, t, d);
	return err;
}

static int draw(struct timeline_job *j)
{
	struct timeline t;
	struct timeline_run_opts ro = { .path = j->path,
					.symbols = &j->o->symbols,
					.max_stack = (u32)min(j->o->max_stack, (u64)UINT16_MAX) };
	struct timeline_draw d = { .output = j->o->output,
				   .title = j->o->title,
				   .path = *j->folder ? NULL : j->path,
				   .pid = j->pid,
				   .family = j->family };
	timeline_init(&t);
	int err = timeline_load(app_symbols(j->app), &ro, &t);
	if (err == -ENODATA && !*j->folder)
		diag_hint(
			&j->app->diag, "%s sched record -g -- COMMAND records them, %s timeline -- COMMAND at once",
			j->app->prog, j->app->prog);
	if (!err)
		err = timeline_draw(j->app, &t, &d);
	timeline_done(&t);
	return err;
}

/* ---- what is asked ---- */

/* A recording comes first: what follows are options. */
static int take_recording(struct timeline_job *j, int argc, char **argv)
{
	struct app *app = j->app;
	struct opt_set sets[] = { { command_timeline.opts, j->o },
				  { app_common_rows, &app->common } };
	int first;
	int ret = opts_parse_sets(sets, ARRAY_SIZE(sets), true, argc, argv, &first, &app->diag);
	app_decide(app);
	if (ret)
		return ret == -EINVAL || ret > 0 ? app_usage_said(app) : app_fail(app, ret);
	if (first < argc)
		return app_usage(app, "unexpected argument '%s': only one recording at a time",
				 argv[first]);
	j->path = argv[0];
	return 0;
}

/* A recording in argv, or a command: no path then. 0, or the exit status. */
static int find_input(struct timeline_job *j, int argc, char **argv)
{
	const struct record_opts *r = &j->o->record;
	if (j->o->input && argc)
		return app_usage(j->app, "unexpected argument '%s': -i already names the recording",
				 argv[0]);
	if (j->o->input)
		j->path = j->o->input;
	else if (argc && recording_kind(argv[0]) != LOOKS_OTHER)
		return take_recording(j, argc, argv);
	else if (!argc && !r->all && !r->pids)
		j->path = "perf.data";
	return 0;
}

static int check_opts(struct timeline_job *j)
{
	const char *at = j->o->record.pids;
	size_t len;
	if (at && num_next_id(&at, &len, &j->pid) <= 0)
		return app_usage(j->app, "-p: invalid process ID '%s'", j->o->record.pids);
	if (!strcmp(j->o->output, "-") && !j->app->json && term_is_tty(STDOUT_FILENO))
		return app_usage(j->app, "-o -: standard output is a terminal");
	return 0;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct timeline_opts *o = opts;
	struct timeline_job j = { .app = app, .o = o };
	int status = find_input(&j, argc, argv);
	if (!status)
		status = check_opts(&j);
	if (status)
		return status;
	/* Before a command is run, or a large recording read, for nothing. */
	int err = app->json ? 0 : outfile_check(o->output, &app->diag);
	if (!err && !j.path)
		err = record_now(&j, argc, argv);
	if (!err && j.path)
		err = draw(&j);
	remove_made(&j);
	return err ? app_fail(app, err) : j.status;
}

static void defaults(void *opts)
{
	struct timeline_opts *o = opts;
	o->output = "timeline.html";
	o->samples = true;
	o->max_stack = 32;
	o->symbols.min_unnamed = SYMBOLS_MIN_UNNAMED;
}

/* clang-format off */
static const struct opt rows[] = {
	OPT_STR('i', "input", struct timeline_opts, input, "FILE", "recording to draw: a perf.data (default), or a trace.dat"),
	OPT_STR('o', "output", struct timeline_opts, output, "FILE", "write FILE (timeline.html); - for standard output"),
	OPT_STR('p', "pid", struct timeline_opts, record.pids, "PID", "show this process first; without a command, record until Ctrl-C"),
	OPT_STR(0, "title", struct timeline_opts, title, "TEXT", "title (default: the recorded command)"),
	OPT_UINT(0, "max-stack", struct timeline_opts, max_stack, "N", "maximum number of frames per call chain, of the kernel and of the program each (32)"),
	OPT_HEADING("Recording"),
	OPT_CALL('e', "event", "EVENT", "more events to show on the threads that they happen to", record_take_event),
	OPT_CALL(0, "filter", "FILTER", "filter for tracepoints of the preceding -e", record_take_filter),
	OPT_FLAG(0, "samples", struct timeline_opts, samples, "also sample what runs, 999 times per second per CPU (default; --no-samples)"),
	OPT_STR(0, "call-graph", struct timeline_opts, record.call_graph, "HOW", "how to collect call chains: fp, dwarf, auto (fp)"),
	OPT_FLAG('a', "all-cpus", struct timeline_opts, record.all, "without a command: the whole system, until Ctrl-C"),
	OPT_STR('m', "mmap-pages", struct timeline_opts, record.ring, "PAGES", "ring buffer size per CPU: pages, or a size like 16M (4M)"),
	SYMBOL_OPT_ROWS(struct timeline_opts, symbols),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "timeline -- make",
	  "who ran where and who waited for whom, while make runs: timeline.html" },
	{ "timeline -p 1234 -- sleep 5",
	  "five seconds of the whole system, with one process first" },
	{ "timeline perf.data -o page.html", "a recording of 'sched record', ours or perf's" },
	{ "timeline trace.dat", "one of 'ftrace record -e sched'" },
	{ "timeline --json perf.data", "the same as data" },
	{ 0 },
};

const struct command command_timeline = {
	.name = "timeline",
	.group = "How did it develop",
	.summary = "draw what threads and CPUs did over time as a web page",
	.usage = "[OPTIONS] [RECORDING | [--] COMMAND [ARGS]]",
	.about =
		"Makes one self-contained HTML page that needs no network: a track per CPU and "
		"thread, "
		"with running, ready to run, and blocked as colours, samples below, and wake-ups "
		"as "
		"arrows. Zoom with W and S or the wheel, move with A and D, search, click a thread "
		"to "
		"show only its process, and drag over a range for what threads did, where the time "
		"went and what was waited for in it.\nAn argument that "
		"is a recording is drawn; otherwise the arguments are a command, and the whole "
		"system is recorded while it runs; the command's processes come first.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct timeline_opts),
	.defaults = defaults,
	.run = run,
};
