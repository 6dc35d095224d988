/* sonde flame: a recording, or a command that is recorded now, as a flame graph. */
#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "cmd/app/files.h"
#include "session/flame_code.h"
#include "session/outfile.h"
#include "cmd/record/record.h"
#include "session/recording.h"
#include "session/stacks.h"
#include "base/json.h"
#include "base/num.h"
#include "kern/procfs.h"
#include "session/choose.h"
#include "export/folded.h"
#include "view/html_flame.h"
#include "view/svg_flame.h"
#include "view/text_flame.h"
#include "view/tui_flame.h"
#include "view/tui_screen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_WIDTH = 120 }; /* where there is no terminal */
enum flame_form { FORM_HTML, FORM_SVG, FORM_FOLDED, FORM_TERM };

struct flame_opts {
	struct record_opts record; /* first: its option calls get this struct */
	struct opt_list inputs; /* several: one recording of several trace.dat */
	const char *output;
	const char *title;
	bool svg;
	bool folded;
	bool term;
	bool inverted;
	struct folded_opts fold;
	bool off_cpu, wall;
	u64 wakers;
	bool idle_stacks;
	bool open;
	bool code;
	u64 width;
	u64 max_nodes;
	u64 workers;
	struct symbol_opts symbols;
};

struct flame_job {
	struct app *app;
	struct flame_opts *o;
	enum flame_form form;
	const char *paths[FLAME_SIDES];
	u32 nr_paths;
	struct stacks_live *live; /* what is recorded now; NULL: recordings */
	const char *output;
	u64 cost_ns; /* of recording */
	struct recorder_stats recorded;
	struct wait_stacks_opts waits; /* --off-cpu, --wall */
	struct wait_result waited;
	struct number_list pids, tids;
	s32 command_pid;
	u64 nr_asleep; /* threads to which nothing happened */
	int status; /* of the command we ran */
	bool said; /* it was told why there is nothing to draw */
	struct flame flame;
};

static u64 own_cpu_ns(void)
{
	struct rusage ru;
	getrusage(RUSAGE_SELF, &ru);
	return (u64)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000 +
	       (u64)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000;
}

/* ---- recording ---- */

static bool wants_waits(const struct flame_job *j)
{
	return j->o->off_cpu || j->o->wall;
}

static int begin_stacks(void *ctx)
{
	struct flame_job *j = ctx;
	/* With -p or -t the command only says for how long. */
	if (!j->o->record.all && !j->pids.at.nr && !j->tids.at.nr)
		stacks_live_choose_root(j->live, j->command_pid);
	return stacks_live_start(j->live);
}

/* The scheduler's events of the whole system; with --wall, what runs is sampled as well. */
static int want_scheduler(struct flame_job *j, struct strbuf *clock)
{
	struct record_opts *r = &j->o->record;
	if (j->o->wall) {
		strbuf_printf(clock, "cpu-clock/freq=%s/", r->freq ? r->freq : "999");
		struct record_word *w = vec_push(&r->words.list);
		if (!w || clock->err)
			return -ENOMEM;
		*w = (struct record_word){ .text = strbuf_cstr(clock), .kind = WORD_EVENT };
	}
	r->freq = NULL;
	r->wide = true;
	r->command_pid = &j->command_pid;
	return 0;
}

/* j->said: there is nothing to draw, and it was said why; j->status is the command's. */
static int record_now(struct flame_job *j, int argc, char **argv)
{
	struct record_opts *r = &j->o->record;
	struct strbuf clock;
	j->live = stacks_live_new(&(struct stacks_live_opts){
		.option_names = j->app->diag.options,
		.hits = j->form == FORM_HTML && j->o->code && !wants_waits(j),
		.waits = wants_waits(j) ? &j->waits : NULL,
		.by_frame_pointer = !wants_waits(j) && r->call_graph &&
				    !strcmp(r->call_graph, "fp") && !r->quiet });
	if (!j->live)
		return -ENOMEM;
	r->source = stacks_live_source(j->live);
	r->begin = begin_stacks;
	r->begin_ctx = j;
	r->result = &j->recorded;
	if (!r->call_graph)
		r->call_graph = "auto";
	if (!r->freq && !r->live.period && !wants_waits(j))
		r->freq = "999";
	strbuf_init(&clock);
	int err = wants_waits(j) ? want_scheduler(j, &clock) : 0;
	if (!err)
		j->status = command_record.run(j->app, r, argc, argv);
	strbuf_done(&clock);
	if (err)
		return err;
	j->cost_ns = own_cpu_ns();
	if (j->status == APP_NOT_FOUND && j->app->diag.nr_errors)
		diag_hint(&j->app->diag,
			  "arguments that are not recordings are taken as a command to run");
	j->said = j->app->diag.nr_errors;
	return 0;
}

/* ---- what comes out ---- */

static const char *form_suffix(enum flame_form form)
{
	return form == FORM_SVG ? "flame.svg" : form == FORM_HTML ? "flame.html" : "-";
}

/* Of the recorder's command line: the command after "--", or all of it. */
static const char *what_ran(const char *line)
{
	const char *dashes = strstr(line, " -- ");
	return dashes && dashes[4] ? dashes + 4 : line;
}

/* Whether the word is -a, alone or among other options without a value: -ag. */
static bool is_all_cpus(const char *word, size_t len)
{
	static const char name[] = "--all-cpus";
	if (len == sizeof(name) - 1 && !memcmp(word, name, len))
		return true;
	return len > 1 && word[0] == '-' && strspn(word + 1, "agnqv") == len - 1 &&
	       memchr(word + 1, 'a', len - 1);
}

/* Of the recorder's options, the words up to the command: the first that is neither an option nor an option's value. */
static bool asked_for_all_cpus(const char *line)
{
	bool value = true; /* the first words are the program's and the verb's */
	for (u32 i = 0; *line; i++) {
		size_t len = strcspn(line, " ");
		bool option = *line == '-';
		if (i > 1 && (!strncmp(line, "-- ", 3) || (!option && !value)))
			return false;
		if (i > 1 && is_all_cpus(line, len))
			return true;
		/* Of options with one letter we know which take a value; of the others, what follows may be one. */
		value = i < 1 || (option && len > 1 &&
				  (line[1] == '-' ? !memchr(line, '=', len)
						  : len == 2 && strchr("eFcopturCmDjGkz", line[1])));
		line += len + strspn(line + len, " ");
	}
	return false;
}

/* More than one process has samples, or more than one command where processes are not told apart. */
static bool has_processes(const struct flame *f)
{
	vec_for_each (&f->tasks, t)
		if (t->pid != f->tasks.at[0].pid || t->comm != f->tasks.at[0].comm)
			return true;
	return false;
}

static void find_scope(struct flame *f)
{
	for (u32 i = 0; i < f->nr_sides; i++)
		f->sides[i].whole_system = f->sides[i].command && has_processes(f) &&
					   asked_for_all_cpus(flame_str(f, f->sides[i].command));
}

/* "whole system on build7, while sleep 5 ran" */
static void system_title(const struct flame *f, struct strbuf *to)
{
	const struct flame_side *s = &f->sides[0];
	const char *line = flame_str(f, s->command), *dashes = strstr(line, " -- ");
	strbuf_printf(to, "whole system%s%s", s->host ? " on " : "",
		      s->host ? flame_str(f, s->host) : "");
	if (dashes && dashes[4])
		strbuf_printf(to, ", while %s ran", dashes + 4);
}

static void make_title(const struct flame_job *j, struct strbuf *to)
{
	const struct flame *f = &j->flame;
	if (j->o->title)
		strbuf_str(to, j->o->title);
	else if (j->nr_paths > 1)
		strbuf_printf(to, "%s %s %s", j->paths[0],
			      j->form != FORM_TERM || term_utf8() ? "→" : "->", j->paths[1]);
	else if (f->sides[0].whole_system)
		system_title(f, to);
	else if (f->sides[0].command)
		strbuf_str(to, what_ran(flame_str(f, f->sides[0].command)));
	else
		strbuf_str(to, j->live ? "flame graph" : j->paths[0]);
}

static int render(struct flame_job *j, struct strbuf *to)
{
	struct strbuf title;
	strbuf_init(&title);
	find_scope(&j->flame);
	make_title(j, &title);
	int err = title.err;
	if (!err && j->form == FORM_HTML) {
		err = html_flame(&j->flame,
				 &(struct html_flame_opts){ .title = strbuf_cstr(&title),
							    .workers = (unsigned)j->o->workers },
				 to);
	} else if (!err && j->form == FORM_SVG) {
		err = svg_flame(&j->flame,
				&(struct svg_flame_opts){ .title = strbuf_cstr(&title),
							  .width = (u32)j->o->width,
							  .inverted = j->o->inverted },
				to);
	} else if (!err && j->form == FORM_TERM) {
		err = !strcmp(j->output, "-") && app_may_draw(j->app) && tui_possible()
			      ? tui_flame(&j->flame, strbuf_cstr(&title), j->app->colour)
			      : -ENOTTY;
		if (err == -ENOTTY)
			err = text_flame(&j->flame, j->app->wide ? (u32)TEXT_WIDTH : j->app->width,
					 to);
	} else if (!err) {
		err = export_folded(&j->flame, &j->o->fold, to);
	}
	strbuf_done(&title);
	return err;
}

/* Where the time of all threads went: "3 threads, 2.104 s: ..." */
static void say_waits(struct flame_job *j)
{
	const struct wait_sums *w = &j->waited.sums;
	u64 all_ns = w->running_ns + w->ready_ns + w->blocked_ns + w->unknown_ns;
	strbuf_printf(
		&j->app->err,
		"%s: %llu %s, %.3f s: running %.3f s%s, waiting for a CPU %.3f s, blocked %.3f "
		"s, unknown %.3f s\n",
		j->app->title, (unsigned long long)w->nr_threads,
		str_plural(w->nr_threads, "thread", "threads"), (double)all_ns / 1e9,
		(double)w->running_ns / 1e9, j->o->wall ? "" : " (not shown)",
		(double)w->ready_ns / 1e9, (double)w->blocked_ns / 1e9, (double)w->unknown_ns / 1e9);
	(void)strbuf_flush(&j->app->err);
}

/* Threads of the processes that were recorded: those to which nothing happened have no time. */
static void find_asleep(struct flame_job *j)
{
	struct sysroot root;
	struct procfs proc;
	if (sysroot_open(&root, NULL))
		return;
	procfs_init(&proc, &root);
	for (size_t i = 0; i < j->pids.at.nr; i++) {
		s32 *tids;
		size_t nr;
		if (!procfs_tids(&proc, j->pids.at.at[i], &tids, &nr))
			j->nr_asleep += wait_result_missing(&j->waited, tids, nr);
	}
	procfs_done(&proc);
	sysroot_close(&root);
}

/* What is not in the picture, or not exact. */
static void warn_waits(struct flame_job *j)
{
	const struct wait_sums *w = &j->waited.sums;
	struct diag *d = &j->app->diag;
	if (w->nr_gaps) {
		diag_warn(d,
			  "events were lost %llu %s: %.3f s of the threads' time is next to a gap "
			  "and not exact",
			  (unsigned long long)w->nr_gaps, str_plural(w->nr_gaps, "time", "times"),
			  (double)w->lossy_ns / 1e9);
		diag_hint(d, "larger buffers lose fewer: -m 16M");
	} else if (w->nr_bugs && w->unknown_ns) {
		diag_warn(d,
			  "%llu context switches do not continue the one before: %.3f s are "
			  "[unknown]",
			  (unsigned long long)w->nr_bugs, (double)w->unknown_ns / 1e9);
	}
	if (j->nr_asleep)
		diag_note(
			d, "%llu %s of the process had no events: blocked all the time, which is not shown",
			(unsigned long long)j->nr_asleep,
			str_plural(j->nr_asleep, "thread", "threads"));
	if (j->o->wall && w->running_ns && !w->nr_sampled) {
		diag_note(d, "the recording has no samples of running threads: that time is [not "
			     "sampled]");
		diag_hint(d, "sonde record --off-cpu -- COMMAND records both");
	}
}

static void json_waits(struct flame_job *j, struct json *js)
{
	json_key(js, "threads");
	json_array(js);
	vec_for_each (&j->waited.threads, t) {
		json_object(js);
		json_put_str(js, "comm", strtab_str(&j->waited.names, t->comm));
		json_put_s64(js, "pid", t->pid);
		json_put_s64(js, "tid", t->tid);
		json_put_u64(js, "wall_ns",
			     t->running_ns + t->ready_ns + t->blocked_ns + t->unknown_ns);
		json_put_u64(js, "running_ns", t->running_ns);
		json_put_u64(js, "ready_ns", t->ready_ns);
		json_put_u64(js, "blocked_ns", t->blocked_ns);
		json_put_u64(js, "unknown_ns", t->unknown_ns);
		json_put_u64(js, "lossy_ns", t->lossy_ns);
		json_object_end(js);
	}
	json_array_end(js);
}

static void say_json(struct flame_job *j)
{
	struct json js;
	const struct flame_side *s = &j->flame.sides[j->flame.nr_sides - 1];
	json_begin(&js, &j->app->out, JSON_PRETTY);
	json_object(&js);
	json_put_str(&js, "file", j->output);
	json_put_u64(&js, "samples", s->nr_samples);
	json_put_u64(&js, "lost", s->nr_lost);
	if (s->nr_truncated || s->knows_truncated)
		json_put_u64(&js, "truncated_stacks", s->nr_truncated);
	json_put_u64(&js, "frames", j->flame.nr_all_nodes);
	json_put_u64(&js, "frames_joined", j->flame.nr_joined);
	json_put_double(&js, "recorder_cpu_seconds", (double)s->cost_ns / 1e9);
	if (wants_waits(j))
		json_waits(j, &js);
	json_object_end(&js);
	(void)!json_end(&js);
}

static void say_result(struct flame_job *j)
{
	const struct flame_side *s = &j->flame.sides[j->flame.nr_sides - 1];
	struct strbuf *to = &j->app->err;
	u64 nr_frames = j->flame.nr_all_nodes - j->flame.trees.nr;
	char full[4096];
	app_say(j->app);
	strbuf_printf(to, "%s: %s: %llu %s, %llu lost, %llu %s", j->app->title,
		      realpath(j->output, full) ? full : j->output,
		      (unsigned long long)s->nr_samples,
		      str_plural(s->nr_samples, "sample", "samples"), (unsigned long long)s->nr_lost,
		      (unsigned long long)nr_frames, str_plural(nr_frames, "frame", "frames"));
	if (j->flame.nr_joined)
		strbuf_printf(to, " (%llu small ones merged)",
			      (unsigned long long)j->flame.nr_joined);
	if (s->cost_ns)
		strbuf_printf(to, "; recorder used %.0f ms CPU", (double)s->cost_ns / 1e6);
	strbuf_char(to, '\n');
	(void)strbuf_flush(to);
	if (wants_waits(j))
		say_waits(j);
}

/* A browser on this screen, and only if there is one and it is ours. */
static void open_page(struct flame_job *j)
{
	struct diag *d = &j->app->diag;
	const char *why = getenv("SSH_CONNECTION") || getenv("SSH_TTY") ? "this is an ssh session"
			  : !getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY") ? "no display"
			  : !geteuid() ? "a browser should not run as root"
				       : NULL;
	if (why) {
		diag_note(d, "--open: %s; the page is %s", why, j->output);
		return;
	}
	pid_t pid = fork();
	if (!pid) {
		if (fork())
			_exit(0);
		(void)setsid();
		(void)!freopen("/dev/null", "r+", stdin);
		(void)!freopen("/dev/null", "w", stdout);
		(void)!freopen("/dev/null", "w", stderr);
		(void)execlp("xdg-open", "xdg-open", j->output, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		(void)!waitpid(pid, NULL, 0);
}

/* What was recorded just now but could not be written where it should is not thrown away. */
static void keep_aside(struct flame_job *j, const struct strbuf *text)
{
	const char *folder = secure_getenv("TMPDIR");
	const char *suffix = j->form == FORM_HTML ? ".html" : j->form == FORM_SVG ? ".svg" : ".txt";
	struct strbuf path;
	strbuf_init(&path);
	strbuf_printf(&path, "%s/sonde-flame.XXXXXX%s", folder && *folder ? folder : "/tmp", suffix);
	int fd = path.err ? -1 : mkstemps(path.data, (int)strlen(suffix));
	if (fd >= 0 && write(fd, text->data, text->len) == (ssize_t)text->len)
		diag_note(&j->app->diag, "the flame graph is kept as %s", path.data);
	else if (fd >= 0)
		(void)unlink(path.data);
	if (fd >= 0)
		(void)close(fd);
	strbuf_done(&path);
}

static int write_out(struct flame_job *j)
{
	struct app *app = j->app;
	if (!strcmp(j->output, "-")) {
		int err = render(j, &app->out);
		return err;
	}
	struct strbuf text;
	strbuf_init(&text);
	int err = render(j, &text);
	if (!err) {
		err = outfile_write(j->output, text.data, text.len, false, &app->diag);
		if (err && j->live)
			keep_aside(j, &text);
	}
	strbuf_done(&text);
	if (!err && app->json)
		say_json(j);
	else if (!err)
		say_result(j);
	if (!err && j->o->open && j->form == FORM_HTML)
		open_page(j);
	return err;
}

/* "cycles, faults": what is on one side. */
static void list_events(const struct flame *f, const u64 *weights, struct strbuf *to)
{
	u32 nr = 0;
	for (u32 e = 0; e < f->events.nr; e++)
		if (weights[e] && nr++ < 3)
			strbuf_printf(to, nr > 1 ? ", %s" : "%s", flame_str(f, f->events.at[e]));
	if (nr > 3)
		strbuf_printf(to, " and %u more", nr - 3);
}

/* A difference is one of an event: of what only one side has, everything is new or gone. */
static int check_sides(struct flame_job *j)
{
	const struct flame *f = &j->flame;
	if (f->nr_sides < 2)
		return 0;
	_cleanup_free_ u64 *before = flame_event_weights(f, 0), *after = flame_event_weights(f, 1);
	if (!before || !after)
		return -ENOMEM;
	for (u32 e = 0; e < f->events.nr; e++)
		if (before[e] && after[e])
			return 0;
	struct strbuf a, b;
	strbuf_init(&a);
	strbuf_init(&b);
	list_events(f, before, &a);
	list_events(f, after, &b);
	diag_warn(&j->app->diag, "the recordings have no event in common: nothing to compare");
	diag_hint(&j->app->diag, "%s has %s, %s has %s: record both with the same -e", j->paths[0],
		  strbuf_cstr(&a), j->paths[1], strbuf_cstr(&b));
	strbuf_done(&a);
	strbuf_done(&b);
	return 0;
}

/* Of a page: as many as a browser draws without effort. */
static u32 max_nodes(const struct flame_opts *o)
{
	enum { USUAL = 400000, MOST = 1 << 30 };
	return o->max_nodes ? (u32)min(o->max_nodes, (u64)MOST) : USUAL;
}

/* Recordings, or what was recorded just now. */
static int load(struct flame_job *j)
{
	struct symbols *sy = app_symbols(j->app);
	struct stacks_opts o = { .paths = j->paths,
				 .nr_paths = j->nr_paths,
				 .inputs = &j->o->inputs,
				 .by_comm = j->form != FORM_HTML,
				 .max_nodes = j->form == FORM_HTML ? max_nodes(j->o) : 0,
				 .workers = (unsigned)j->o->workers,
				 .symbols = &j->o->symbols,
				 .waits = wants_waits(j) ? &j->waits : NULL,
				 .waited = &j->waited };
	int err = j->live ? 0 : stacks_load(sy, &o, &j->flame);
	if (err == -ENODATA && wants_waits(j))
		diag_hint(&j->app->diag,
			  "record them: %s record --off-cpu -- COMMAND, or %s sched "
			  "record -g -- COMMAND",
			  j->app->prog, j->app->prog);
	if (!j->live)
		return err;
	err = stacks_live_end(j->live, sy, &o, &j->flame);
	j->said = err == -ESRCH; /* the recorder never began */
	if (err)
		return err;
	struct flame_side *s = &j->flame.sides[0];
	s->cost_ns = j->cost_ns - min(j->cost_ns, stacks_live_cost_ns(j->live));
	s->nr_truncated = max(s->nr_truncated, j->recorded.nr_cut);
	s->knows_truncated |= j->recorded.nr_stacks > 0;
	return 0;
}

static int say_empty(struct flame_job *j)
{
	struct diag *d = &j->app->diag;
	(void)diag_error(d, -ENODATA, "no samples in %s", j->live ? "the recording" : j->paths[0]);
	if (j->live)
		diag_hint(d, "a command that sleeps or exits at once uses no CPU time to sample; "
			     "-F max samples more often");
	return -ENODATA;
}

static int say_no_waits(struct flame_job *j)
{
	struct diag *d = &j->app->diag;
	(void)diag_error(d, -ENODATA, "no waits of these threads in %s",
			 j->live ? "the recording" : j->paths[0]);
	if (!j->live && (j->pids.at.nr || j->tids.at.nr))
		diag_hint(d, "sonde sched timehist -s lists the threads of the recording");
	return -ENODATA;
}

static int add_code(struct flame_job *j)
{
	if (j->form != FORM_HTML || !j->o->code || j->nr_paths > 1)
		return 0;
	struct annotate_given given = { 0 };
	struct flame_code_from from = { .path = j->paths[0],
					.given = j->live ? &given : NULL,
					.names = app_symbols(j->app),
					.symbols = &j->o->symbols,
					.opener = files_opener() };
	if (j->live) {
		given.src = stacks_live_source(j->live);
		given.hits = stacks_live_hits(j->live, &given.frames);
	}
	return flame_code_add(&from, &j->flame);
}

static int draw(struct flame_job *j)
{
	int err = load(j);
	if (err)
		return err;
	if (!j->flame.points.nr)
		return wants_waits(j) ? say_no_waits(j) : say_empty(j);
	if (wants_waits(j)) {
		if (j->live)
			find_asleep(j);
		warn_waits(j);
		return write_out(j);
	}
	const struct flame_side *s = &j->flame.sides[0];
	if (s->nr_without == s->nr_samples) {
		bool trace = !j->live && recording_kind(j->paths[0]) == LOOKS_TRACEDAT;
		diag_warn(&j->app->diag, "the recording has no call chains: functions are shown "
					 "without their callers");
		diag_hint(&j->app->diag, "record them: %s",
			  trace ? "sonde ftrace record -T -e EVENT, or -p function_graph"
				: "sonde record -g -- COMMAND");
	}
	err = check_sides(j);
	if (!err)
		err = add_code(j);
	return err ? err : write_out(j);
}

/* A recording comes first: what follows are options and the other recording. */
static int take_recordings(struct flame_job *j, int argc, char **argv)
{
	struct app *app = j->app;
	struct opt_set sets[] = { { command_flame.opts, j->o }, { app_common_rows, &app->common } };
	int first;
	int ret = opts_parse_sets(sets, ARRAY_SIZE(sets), true, argc, argv, &first, &app->diag);
	app_decide(app);
	if (ret)
		return ret == -EINVAL || ret > 0 ? app_usage_said(app) : app_fail(app, ret);
	j->paths[j->nr_paths++] = argv[0];
	for (int i = first; i < argc; i++) {
		if (j->nr_paths == FLAME_SIDES)
			return app_usage(app, "unexpected argument '%s': at most two recordings",
					 argv[i]);
		j->paths[j->nr_paths++] = argv[i];
	}
	return 0;
}

/* A file that nobody can run: whoever names it means a recording. */
static bool is_no_program(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode) && access(path, X_OK);
}

/* Recordings in argv, or a command: no paths then. 0, or the exit status. */
static int find_input(struct flame_job *j, int argc, char **argv)
{
	const struct record_opts *r = &j->o->record;
	/* Of a recording, -p and -t choose threads. */
	bool live = (r->all || r->pids || r->tids || r->cpus) &&
		    !(wants_waits(j) && argc && recording_kind(argv[0]));
	if (j->o->inputs.items.nr)
		j->paths[j->nr_paths++] = recording_input(&j->o->inputs, NULL);
	else if (argc && !live && (recording_kind(argv[0]) || is_no_program(argv[0])))
		return take_recordings(j, argc, argv);
	else if (!argc && !live)
		j->paths[j->nr_paths++] = "perf.data";
	return 0;
}

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), tail = strlen(end);
	return len > tail && !strcmp(s + len - tail, end);
}

/* -p and -t of a recording, or of what is recorded now. */
static int take_ids(struct flame_job *j, const char *text, const char *option,
		    struct number_list *to)
{
	const char *at = text;
	size_t len;
	s32 id;
	int more;
	while (at && (more = num_next_id(&at, &len, &id)) > 0) {
		s32 *slot = vec_push(&to->at);
		if (!slot)
			return app_fail(j->app, -ENOMEM);
		*slot = id;
	}
	if (at && more < 0)
		return app_usage(j->app, "%s: invalid ID '%.*s'", option, (int)len, at);
	return 0;
}

static int check_waits(struct flame_job *j)
{
	const struct flame_opts *o = j->o;
	const struct record_opts *r = &o->record;
	if (!wants_waits(j) && (o->wakers || o->idle_stacks))
		return app_usage(j->app, "%s needs --off-cpu or --wall",
				 o->wakers ? "--wakers" : "--idle-stacks");
	if (!wants_waits(j))
		return 0;
	if (o->off_cpu && o->wall)
		return app_usage(j->app, "--off-cpu and --wall are mutually exclusive: --wall is "
					 "both, running and waiting");
	if (o->wakers > OFF_CPU_HOPS_MAX)
		return app_usage(j->app, "--wakers: from 0 to %d", OFF_CPU_HOPS_MAX);
	if (!j->nr_paths && r->words.list.nr)
		return app_usage(j->app, "-e cannot be combined with --off-cpu and --wall: their "
					 "events are the scheduler's");
	if (!j->nr_paths && (r->live.period || r->cpus))
		return app_usage(j->app, "%s cannot be combined with --off-cpu and --wall",
				 r->cpus ? "-C" : "-c");
	int status = take_ids(j, r->pids, "-p", &j->pids);
	if (!status)
		status = take_ids(j, r->tids, "-t", &j->tids);
	j->waits = (struct wait_stacks_opts){ .fold = { .pids = j->pids.at.at,
							.nr_pids = j->pids.at.nr,
							.tids = j->tids.at.at,
							.nr_tids = j->tids.at.nr,
							.wall = o->wall,
							.wakers = (u32)o->wakers },
					      .whole_idle = o->idle_stacks };
	return status;
}

static int check_opts(struct flame_job *j)
{
	const struct flame_opts *o = j->o;
	if (o->svg + o->folded + o->term > 1)
		return app_usage(j->app, "--svg, --folded and --term are mutually exclusive");
	if (o->width < 200 || o->width > 20000)
		return app_usage(j->app, "--width: from 200 to 20000");
	j->form = o->folded						  ? FORM_FOLDED
		  : o->term						  ? FORM_TERM
		  : o->svg || (o->output && ends_with(o->output, ".svg")) ? FORM_SVG
									  : FORM_HTML;
	j->output = o->output ? o->output : form_suffix(j->form);
	if (!strcmp(j->output, "-") && j->form == FORM_HTML && term_is_tty(STDOUT_FILENO))
		return app_usage(j->app, "-o -: standard output is a terminal");
	return 0;
}

static int flame_run(struct app *app, void *opts, int argc, char **argv)
{
	struct flame_opts *o = opts;
	struct flame_job j = { .app = app, .o = o };
	if (o->inputs.items.nr && argc)
		return app_usage(app, "unexpected argument '%s': -i already names the recording",
				 argv[0]);
	int status = find_input(&j, argc, argv);
	if (!status)
		status = check_opts(&j);
	if (!status)
		status = check_waits(&j);
	if (status)
		return status;
	wait_result_init(&j.waited);
	o->record.off_cpu = wants_waits(&j);
	/* Before a command is run, or a large recording read, for nothing. */
	int err = outfile_check(j.output, &app->diag);
	if (err)
		return app_fail(app, err);
	flame_init(&j.flame);
	if (!j.nr_paths)
		err = record_now(&j, argc, argv);
	if (!err && !j.said)
		err = draw(&j);
	flame_done(&j.flame);
	stacks_live_free(j.live);
	wait_result_done(&j.waited);
	vec_free(&j.pids.at);
	vec_free(&j.tids.at);
	if (j.said)
		return j.status ? j.status : APP_FAILED;
	if (err)
		return app_fail(app, err);
	return j.status;
}

static void flame_defaults(void *opts)
{
	struct flame_opts *o = opts;
	o->width = 1200;
	o->symbols.min_unnamed = SYMBOLS_MIN_UNNAMED;
	o->code = true;
}

/* clang-format off */
static const struct opt flame_rows[] = {
	OPT_LIST('i', "input", struct flame_opts, inputs, "FILE", "recording to draw (perf.data), or a trace.dat (several become one graph); - for standard input"),
	OPT_STR('o', "output", struct flame_opts, output, "FILE", "write FILE (flame.html; NAME.svg for a picture); - for standard output"),
	OPT_FLAG(0, "code", struct flame_opts, code, "include source and assembly of the hottest functions (default for recordings up to 32 MB; --no-code)"),
	OPT_FLAG(0, "off-cpu", struct flame_opts, off_cpu, "where threads wait instead of where they run: blocked, or ready but without a CPU, weighted by time"),
	OPT_FLAG(0, "wall", struct flame_opts, wall, "both, running and waiting: all of the threads' time"),
	OPT_UINT(0, "wakers", struct flame_opts, wakers, "N", "--off-cpu, --wall: above each wait, the stacks of N wakers: the thread that ended it, the one that woke that thread, and so on (0, at most 4)"),
	OPT_FLAG(0, "idle-stacks", struct flame_opts, idle_stacks, "--off-cpu, --wall: full stacks also for threads that wait for something to do (timers, connections, work)"),
	OPT_FLAG(0, "svg", struct flame_opts, svg, "a plain picture instead of a page"),
	OPT_FLAG(0, "folded", struct flame_opts, folded, "folded text to standard output: one stack and its weight per line"),
	OPT_FLAG(0, "term", struct flame_opts, term, "in the terminal: arrows move, Enter zooms, / searches, q quits"),
	OPT_FLAG(0, "samples", struct flame_opts, fold.samples, "--folded: sample counts, not weighted by period"),
	OPT_FLAG(0, "kinds", struct flame_opts, fold.kinds, "--folded: append _[k] to kernel functions, _[i] to inlined ones, _[j] to JIT-compiled code"),
	OPT_FLAG(0, "lines", struct flame_opts, fold.lines, "--folded: append file and hottest line to names"),
	OPT_FLAG(0, "inverted", struct flame_opts, inverted, "--svg: roots at the top"),
	OPT_UINT(0, "width", struct flame_opts, width, "PIXELS", "--svg: width in pixels (1200)"),
	OPT_STR(0, "title", struct flame_opts, title, "TEXT", "title (default: the recorded command)"),
	OPT_FLAG(0, "open", struct flame_opts, open, "open the page in a browser if there is a display"),
	OPT_UINT(0, "max-frames", struct flame_opts, max_nodes, "N", "merge the smallest branches beyond N frames (400000)"),
	OPT_UINT(0, "workers", struct flame_opts, workers, "N", "number of threads (default: one per CPU)"),
	OPT_HEADING("Recording"),
	OPT_CALL('e', "event", "EVENT", "events, separated by commas (cycles, else cpu-clock)", record_take_event),
	OPT_CALL(0, "filter", "FILTER", "filter for tracepoints of the preceding -e", record_take_filter),
	OPT_STR('F', "freq", struct flame_opts, record.freq, "HZ", "samples per second per CPU, or 'max' (999)"),
	OPT_UINT('c', "count", struct flame_opts, record.live.period, "N", "take one sample every N events instead"),
	OPT_FLAG('g', NULL, struct flame_opts, record.graph, "call chains are always recorded", .hidden = true),
	OPT_STR(0, "call-graph", struct flame_opts, record.call_graph, "HOW", "how to collect call chains: fp, dwarf, auto (auto)"),
	OPT_FLAG('a', "all-cpus", struct flame_opts, record.all, "the whole system"),
	OPT_STR('C', "cpu", struct flame_opts, record.cpus, "LIST", "these CPUs only (0-3,8)"),
	OPT_STR('p', "pid", struct flame_opts, record.pids, "PID", "running processes with all their threads"),
	OPT_STR('t', "tid", struct flame_opts, record.tids, "TID", "running threads"),
	OPT_STR('m', "mmap-pages", struct flame_opts, record.ring, "PAGES", "ring buffer size per CPU: pages, or a size like 4M (512K)"),
	SYMBOL_OPT_ROWS(struct flame_opts, symbols),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example flame_examples[] = {
	{ "flame -- make", "where a command and its children spend their time: flame.html" },
	{ "flame -a -F 99 -- sleep 10", "the whole system for ten seconds" },
	{ "flame perf.data -o page.html", "a recording, ours or perf's" },
	{ "flame before.data after.data", "what got slower, what got faster" },
	{ "flame --off-cpu -- make", "where its threads wait, and for how long" },
	{ "flame --wall -p PID --wakers 1",
	  "all of a process's time until Ctrl-C, with the waker of each wait" },
	{ "flame trace.dat", "kernel function calls by duration, or stacks of events" },
	{ "flame --term perf.data", "in this terminal, by keyboard" },
	{ "flame --folded perf.data", "stacks as text, for other tools" },
	{ 0 },
};

const struct command command_flame = {
	.name = "flame",
	.group = "Why",
	.summary = "draw a recording or a command as a flame graph",
	.usage = "[OPTIONS] [RECORDING [RECORDING] | [--] COMMAND [ARGS]]",
	.about =
		"Makes one self-contained HTML page that needs no network: a flame graph to zoom "
		"and search, over any time range, by thread, process or command, with callers and "
		"callees of a function, a table, and the difference between two recordings. "
		"Widths are weighted by period.\nArguments that are recordings are drawn; "
		"otherwise they are a command that is recorded first, with call chains, at 999 "
		"samples per second.\nFor a trace.dat, calls of the function graph tracer are "
		"weighted by their own duration; other events count 1 each, with the stacks "
		"recorded with them.\n--off-cpu and --wall need the scheduler's events: they are "
		"recorded on all CPUs, whatever is chosen, or come from a recording of 'record "
		"--off-cpu' or 'sched record -g', of which -p and -t choose threads. The innermost "
		"frames of a wait are where the thread left the CPU; the first one says whether it "
		"was [blocked], [waiting for a CPU], or [idle].",
	.examples = flame_examples,
	.opts = flame_rows,
	.opts_size = sizeof(struct flame_opts),
	.defaults = flame_defaults,
	.run = flame_run,
};
