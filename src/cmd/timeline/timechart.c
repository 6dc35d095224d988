/* `sonde timechart`: perf's command line for a picture of a recording; the picture is our timeline. */
#include "cmd/timeline/timeline.h"

#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "cmd/record/preset.h"
#include "session/outfile.h"
#include "session/timeline_run.h"
#include "view/svg_timeline.h"

#include <errno.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 1000, TASKS_DEFAULT = 15 };
static const u64 SHOWN_NS =
	10000000; /* a thread that ran so long has a row; less until there are enough rows */

struct timechart_opts {
	const char *input, *output;
	u64 width, nr_tasks;
	const char *process, *highlight;
	bool only_cpus, only_tasks, topology, force, io;
	struct symbol_opts symbols;
};

struct timechart_record_opts {
	struct record_opts record; /* first: its option calls get this struct */
	bool power, tasks, io;
};

/* ---- drawing ---- */

/* Whether a list of names and IDs, separated by commas, has the thread or its process. */
static bool is_in_list(const char *list, const struct timeline *t, const struct timeline_track *k)
{
	const char *comm = strtab_str(&t->strings, k->comm);
	for (const char *at = list; *at; at += *at == ',') {
		size_t len = strcspn(at, ",");
		char *end;
		long id = strtol(at, &end, 10);
		if (end == at + len && len && (id == k->tid || id == k->pid))
			return true;
		if (len == strlen(comm) && !strncmp(at, comm, len))
			return true;
		at += len;
	}
	return false;
}

/* --highlight: a time in nanoseconds that a thread ran at least, or a name. */
static bool is_marked(const char *mark, const struct timeline *t, const struct timeline_track *k)
{
	char *end;
	unsigned long long ns = strtoull(mark, &end, 10);
	if (end > mark && !*end)
		return k->ns[TIMELINE_RUNNING] >= ns;
	return is_in_list(mark, t, k);
}

/* As perf does: who ran long enough, and if these are too few, a tenth of that, and so on. */
static void choose_tracks(const struct timechart_opts *o, const struct timeline *t, bool *wanted)
{
	u64 least = SHOWN_NS;
	for (bool again = true; again;) {
		u64 nr = 0;
		for (u32 i = 0; i < t->tracks.nr; i++) {
			const struct timeline_track *k = &t->tracks.at[i];
			wanted[i] = k->tid && (o->process ? is_in_list(o->process, t, k)
							  : k->ns[TIMELINE_RUNNING] >= least);
			nr += wanted[i];
		}
		again = !o->process && nr < o->nr_tasks && least;
		least /= 10;
	}
}

static int make_svg(struct app *app, const struct timechart_opts *o, const struct timeline *t,
		    struct strbuf *to)
{
	_cleanup_free_ bool *wanted = calloc(t->tracks.nr + 1, sizeof(*wanted));
	_cleanup_free_ bool *marked = calloc(t->tracks.nr + 1, sizeof(*marked));
	if (!wanted || !marked)
		return -ENOMEM;
	choose_tracks(o, t, wanted);
	for (u32 i = 0; i < t->tracks.nr; i++)
		marked[i] = o->highlight && is_marked(o->highlight, t, &t->tracks.at[i]);
	struct svg_timeline_opts so = { .title = t->command ? strtab_str(&t->strings, t->command)
							    : o->input,
					.width = (u32)o->width,
					.cpus = !o->only_tasks,
					.tasks = !o->only_cpus,
					.wanted = wanted,
					.marked = marked };
	int err = svg_timeline(t, &so, to);
	if (err == -E2BIG) {
		diag_error(&app->diag, err, "%u CPUs are too many for a picture", t->nr_cpus);
		diag_hint(&app->diag, "'timeline' makes a page of any number; -T draws no CPUs");
	}
	return err;
}

static int write_svg(struct app *app, const struct timechart_opts *o, const struct timeline *t)
{
	struct strbuf text;
	if (!strcmp(o->output, "-"))
		return make_svg(app, o, t, &app->out);
	strbuf_init(&text);
	int err = make_svg(app, o, t, &text);
	if (!err)
		err = outfile_write(o->output, text.data, text.len, false, &app->diag);
	strbuf_done(&text);
	if (!err)
		strbuf_printf(&app->err, "Written %.1f seconds of trace to %s.\n",
			      (double)u64_less(t->last_ns, t->first_ns) / 1e9, o->output);
	return err;
}

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), tail = strlen(end);
	return len > tail && !strcmp(s + len - tail, end);
}

static int draw(struct app *app, const struct timechart_opts *o)
{
	struct timeline t;
	struct timeline_run_opts ro = { .path = o->input, .symbols = &o->symbols, .max_stack = 4 };
	int err = app->json ? 0 : outfile_check(o->output, &app->diag);
	timeline_init(&t);
	if (!err)
		err = timeline_load(app_symbols(app), &ro, &t);
	if (err == -ENODATA)
		diag_hint(&app->diag, "%s timechart record -- COMMAND records them", app->prog);
	if (!err && (app->json || ends_with(o->output, ".html")))
		err = timeline_draw(
			app, &t, &(struct timeline_draw){ .output = o->output, .path = o->input });
	else if (!err)
		err = write_svg(app, o, &t);
	timeline_done(&t);
	return err;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	enum { WIDTH_LEAST = 100, WIDTH_MOST = 20000 };
	const struct timechart_opts *o = opts;
	/* perf takes the first three letters of its verb, or more. */
	if (argc && strlen(argv[0]) >= 3 && !strncmp("record", argv[0], strlen(argv[0])))
		return app_command(app, &command_timechart_record, argc, argv);
	if (argc)
		return app_usage(app, "unexpected argument '%s': -i names the recording", argv[0]);
	if (o->width < WIDTH_LEAST || o->width > WIDTH_MOST)
		return app_usage(app, "--width: from %d to %d", WIDTH_LEAST, WIDTH_MOST);
	if (o->only_cpus && o->only_tasks)
		return app_usage(app, "--power-only and --tasks-only are mutually exclusive");
	if (!strcmp(o->output, "-") && !app->json && term_is_tty(STDOUT_FILENO))
		return app_usage(app, "-o -: standard output is a terminal");
	int err = draw(app, o);
	return err ? app_fail(app, err) : APP_DONE;
}

static void defaults(void *opts)
{
	struct timechart_opts *o = opts;
	o->input = "perf.data";
	o->output = "output.svg";
	o->width = WIDTH_DEFAULT;
	o->nr_tasks = TASKS_DEFAULT;
	o->symbols.min_unnamed = SYMBOLS_MIN_UNNAMED;
}

/* ---- recording ---- */

static int run_record(struct app *app, void *opts, int argc, char **argv)
{
	static const char *const power[] = { "power:cpu_idle", "power:cpu_frequency" };
	struct timechart_record_opts *o = opts;
	const char *events[TIMELINE_EVENTS_MAX + 1];
	size_t nr = timeline_events(events, false);
	for (size_t i = 0; i < ARRAY_SIZE(power) && o->power; i++)
		if (record_kernel_has((const char *const[]){ power[i], NULL }))
			events[nr++] = power[i];
	events[nr] = NULL;
	return record_run_preset(app, &o->record,
				 &(struct record_preset){ .events = events, .system_wide = true },
				 argc, argv);
}

/* clang-format off */
static const struct opt record_opt_rows[] = {
	OPT_STR('o', "output", struct timechart_record_opts, record.output, "FILE", "write FILE (perf.data)"),
	OPT_FLAG('g', "callchain", struct timechart_record_opts, record.graph, "with the stacks where threads left the CPU"),
	OPT_FLAG('T', "tasks-only", struct timechart_record_opts, tasks, "only what tasks do (default)"),
	OPT_FLAG('P', "power-only", struct timechart_record_opts, power, "also record idle states and frequencies of CPUs, for other tools"),
	OPT_FLAG('I', "io-only", struct timechart_record_opts, io, "use 'record -e syscalls:*' to record I/O", .refused = true),
	OPT_STR('m', "mmap-pages", struct timechart_record_opts, record.ring, "PAGES", "ring buffer size per CPU: pages, or a size like 16M (4M)"),
	OPT_END(),
};

static const struct opt rows[] = {
	OPT_STR('i', "input", struct timechart_opts, input, "FILE", "recording to draw: perf.data (default), or a trace.dat"),
	OPT_STR('o', "output", struct timechart_opts, output, "FILE", "write FILE (output.svg); NAME.html for a page; - for standard output"),
	OPT_UINT('w', "width", struct timechart_opts, width, "PIXELS", "width of the rows in pixels (1000)"),
	OPT_UINT('n', "proc-num", struct timechart_opts, nr_tasks, "N", "draw at least N threads if there are so many (15)"),
	OPT_STR('p', "process", struct timechart_opts, process, "LIST", "only threads and processes of these names or IDs"),
	OPT_STR(0, "highlight", struct timechart_opts, highlight, "WHAT", "highlight threads of this name, or that ran so many nanoseconds"),
	OPT_FLAG('T', "tasks-only", struct timechart_opts, only_tasks, "no rows for CPUs"),
	OPT_FLAG('P', "power-only", struct timechart_opts, only_cpus, "rows for CPUs only"),
	OPT_FLAG('t', "topology", struct timechart_opts, topology, "accepted; CPUs are in the order of their numbers", .hidden = true),
	OPT_FLAG('f', "force", struct timechart_opts, force, "accepted; file ownership is never checked", .hidden = true),
	OPT_FLAG(0, "io-skip-eagain", struct timechart_opts, io, "I/O is not drawn", .refused = true),
	SYMBOL_OPT_ROWS(struct timechart_opts, symbols),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example record_examples[] = {
	{ "timechart record -- make", "the whole system, until make has ended" },
	{ "timechart record -g -o chart.data -- sleep 5",
	  "with the stacks where threads left the CPU" },
	{ 0 },
};

const struct command command_timechart_record = {
	.name = "record",
	.summary = "record what 'timechart' draws, on all CPUs",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Records the scheduler's switches, wake-ups, migrations and forks.",
	.examples = record_examples,
	.opts = record_opt_rows,
	.opts_size = sizeof(struct timechart_record_opts),
	.run = run_record,
};

static const struct command *const subs[] = {
	&command_timechart_record,
	NULL,
};

static const struct opt_example examples[] = {
	{ "timechart record -- make", "record what the scheduler does while make runs" },
	{ "timechart", "draw perf.data: output.svg" },
	{ "timechart -i perf.data -o chart.html", "a page to zoom, as 'timeline' makes it" },
	{ "timechart -p make,cc1 -w 2000", "only these tasks, twice as wide" },
	{ 0 },
};

const struct command command_timechart = {
	.name = "timechart",
	.group = "How did it develop",
	.summary = "draw what CPUs and threads did over time as a picture",
	.usage = "[OPTIONS] [record ...]",
	.about = "The command line of perf timechart. Rows are CPUs, then threads that ran for 10 "
		 "ms and more, or less if these are fewer than -n asks for. Idle states, "
		 "frequencies and I/O are not drawn. 'timeline' makes a page to zoom and search.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct timechart_opts),
	.defaults = defaults,
	.subs = subs,
	.run = run,
};
