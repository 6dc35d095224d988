/* `sonde ftrace record`: tracing into a trace.dat. */
#include "cmd/ftrace/record.h"

#include "base/clock.h"
#include "cmd/app/commands.h"
#include "cmd/ftrace/profile.h"
#include "cmd/ftrace/format.h"
#include "cmd/ftrace/record_impl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHECK_NS = 100000000, END_STEPS = 50, END_STEP_NS = 10000000 };

static int on_signal(void *ctx, u64 what)
{
	struct ftrace_run *s = ctx;
	s->signal = (int)what;
	return 1;
}

/* SIGUSR2, or it is time for the next file. */
static int on_switch(void *ctx, u64 what)
{
	(void)what;
	return ftrace_recording_next_file(&((struct ftrace_run *)ctx)->rec);
}

static int on_child(void *ctx, u64 what)
{
	struct ftrace_run *s = ctx;
	s->wait_status = (int)what;
	s->child_done = true;
	return 1;
}

static int on_timer(void *ctx, u64 what)
{
	struct ftrace_run *s = ctx;
	(void)what;
	int err = ftrace_recording_error(&s->rec);
	if (err)
		return diag_error(&s->app->diag, err, "cannot read the buffer: %s", strerror(-err));
	if (s->o->max_size && ftrace_recording_bytes(&s->rec) >= s->o->max_size) {
		s->full = true;
		return 1;
	}
	int end = ftrace_top_watch_poll(&s->top);
	if (end)
		return end;
	if (s->sw.bytes && ftrace_recording_bytes(&s->rec) - s->rec.file_from >= s->sw.bytes)
		return ftrace_recording_next_file(&s->rec);
	if (!s->o->quiet && term_progress_due(&s->progress)) {
		char line[160];
		struct live_ftrace_stats st;
		ftrace_recording_stats(&s->rec, &st);
		(void)snprintf(line, sizeof(line), "%.1f s: %.1f MB, %llu events lost",
			       (double)(clock_monotonic_ns() - s->started_ns) / 1e9,
			       (double)ftrace_recording_bytes(&s->rec) / 1e6,
			       (unsigned long long)(st.overrun + st.dropped));
		term_progress_show(&s->progress, line);
	}
	return 0;
}

static int watch(struct ftrace_run *s)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(signals) && !err; i++)
		err = loop_add_signal(s->loop, signals[i], on_signal, s);
	if (!err && s->sw.on)
		err = loop_add_signal(s->loop, SIGUSR2, on_switch, s);
	return err;
}

/* --with-samples: everything by one clock. */
static int choose_clock(struct ftrace_run *s)
{
	const char *clock = NULL;
	vec_for_each (&s->s->buffers, b) {
		const char *own;
		int err = ftrace_sampler_clock(b->clock ? b->clock : clock, &own, &s->app->diag);
		if (err)
			return err;
		if (clock && strcmp(clock, own))
			return diag_error(&s->app->diag, -EINVAL,
					  "--with-samples: buffers use the clocks '%s' and '%s', "
					  "but samples can only use one",
					  clock, own);
		clock = b->clock = own;
	}
	return 0;
}

/* The sampler looks at what is traced: the command, the tasks of -P, or the whole system. */
static int start_sampler(struct ftrace_run *s)
{
	struct ftrace_setup *f = s->s;
	char path[PATH_MAX], pid[16];
	(void)snprintf(path, sizeof(path), "%s.perf", s->o->output);
	(void)snprintf(pid, sizeof(pid), "%d", (int)s->child.pid);
	struct ftrace_sampler_opts o = {
		.output = path,
		.clock = f->buffers.at[0].clock,
		.frequency = s->o->sample_freq,
		.pids = f->only_command ? pid : f->pids,
	};
	int err = ftrace_sampler_start(&s->sampler, &o, &s->app->diag);
	return err ? err : ftrace_sampler_go(&s->sampler, &s->app->diag);
}

/* The command is told to end too: by the same signal, then by SIGTERM; one that ignores both is left alone. */
static void end_command(struct ftrace_run *s)
{
	const int signals[] = { s->signal, SIGTERM };
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		(void)kill(s->child.pid, signals[i]);
		for (int k = 0; k < END_STEPS; k++) {
			int status;
			if (waitpid(s->child.pid, &status, WNOHANG) == s->child.pid) {
				s->wait_status = status;
				return;
			}
			(void)nanosleep(&(struct timespec){ .tv_nsec = END_STEP_NS }, NULL);
		}
	}
}

static int wait_for_end(struct ftrace_run *s, char **argv)
{
	int err = loop_add_timer(s->loop, CHECK_NS, CHECK_NS, on_timer, s, NULL);
	if (!err && s->sw.on && s->sw.every_ns)
		err = loop_add_timer(s->loop, s->sw.every_ns, s->sw.every_ns, on_switch, s, NULL);
	if (!err && argv) {
		err = child_go(&s->child, argv[0], &s->app->diag);
		s->exec_failed = err;
		if (err)
			return err;
		err = loop_add_child(s->loop, s->child.pid, on_child, s);
	}
	if (!err && !argv && !s->o->quiet) {
		bool theirs = s->app->dialect->traces_until_ctrl_c;
		strbuf_str(theirs && !s->o->to_err ? &s->app->out : &s->app->err,
			   theirs ? "Hit Ctrl^C to stop recording\n"
				  : "[ recording until Ctrl-C ]\n");
		(void)app_flush(s->app);
	}
	if (!err)
		err = loop_run(s->loop);
	term_progress_clear(&s->progress);
	if (!err && argv && !s->child_done && s->signal)
		end_command(s);
	return err;
}

static int session_status(const struct ftrace_run *s, bool command)
{
	/* "Hit Ctrl^C to stop recording": for trace-cmd that is how it ends. */
	if (s->signal == SIGINT && !command && s->app->dialect->traces_until_ctrl_c)
		return APP_DONE;
	if (s->signal && !(command && s->child_done)) {
		s->app->die_of = s->signal;
		return 128 + s->signal;
	}
	return command ? child_exit_status(s->wait_status) : APP_DONE;
}

static int prepare(struct ftrace_run *s)
{
	const struct record_opts *o = s->o;
	struct tracedat_out format = { .version = 7, .compression = COMPRESS_ZSTD };
	if (ftrace_choose_format(o->version, o->compression, &format, &s->app->diag))
		return -EINVAL;
	struct ftrace_recording_opts r = {
		.output = o->output,
		.temp = o->temp,
		.version = format.version,
		.compression = format.compression,
		.max_kb = o->max_kb,
		.sleep_us = o->sleep_us,
		.priority = o->priority,
		.poll = o->poll,
		.all_formats = o->all_formats,
		.date = o->date,
		.proc_map = o->proc_map,
		.has_ts_offset = o->has_ts_offset,
		.ts_offset = o->ts_offset,
		.numbered = o->switch_output != NULL,
		.file_done = ftrace_run_file_done,
		.ctx = s,
	};
	return ftrace_recording_init(&s->rec, s->s, &r);
}

static int session_run(struct ftrace_run *s, int argc, char **argv)
{
	struct ftrace_setup *f = s->s;
	struct app *app = s->app;
	int err = prepare(s);
	if (err)
		return err == -EINVAL ? app_usage_said(app) : app_fail(app, err);
	if (s->o->switch_output && record_parse_switch(&s->sw, s->o->switch_output, &app->diag))
		return app_usage_said(app);
	if (s->sw.on && (s->rec.latency || s->o->max_kb))
		return app_usage(app, "--switch-output cannot be combined with %s",
				 s->rec.latency ? "a latency tracer" : "-m");
	if (s->o->samples && (s->sw.on || s->rec.latency))
		return app_usage(app, "--with-samples cannot be combined with %s",
				 s->rec.latency ? "a latency tracer" : "--switch-output");
	if (s->o->samples && choose_clock(s))
		return app_usage_said(app);
	err = ftrace_setup_begin(f, true, parts_rescue);
	if (!err && f->dry_run) {
		err = ftrace_setup_apply(f, true, 0);
		if (!err)
			err = ftrace_setup_switch(f, true);
		return err ? app_fail(app, err) : APP_DONE;
	}
	s->loop = loop_new();
	if (!err)
		err = s->loop ? watch(s) : -errno;
	if (!err && argc) {
		err = child_check(argv[0], &app->diag);
		if (err)
			return child_exec_status(err);
		err = child_prepare_as(&s->child, argv, loop_old_signals(s->loop),
				       s->user.name ? &s->user : NULL, &app->diag);
	}
	if (!err)
		err = ftrace_recording_begin_file(&s->rec);
	if (!err)
		err = ftrace_setup_apply(f, true, s->child.pid);
	/* What lay in a buffer before is not ours. */
	for (size_t i = 0; i < f->buffers.nr && !err; i++)
		if (!f->buffers.at[i].made) {
			char path[320];
			(void)snprintf(path, sizeof(path), "%strace", f->buffers.at[i].folder);
			err = journal_poke(f->journal, path, "", true, &app->diag);
		}
	if (!err)
		err = ftrace_recording_write_head(&s->rec);
	if (!err)
		err = ftrace_recording_start(&s->rec);
	if (!err && s->o->samples)
		err = start_sampler(s);
	s->started_ns = clock_monotonic_ns();
	term_progress_init(&s->progress, STDERR_FILENO);
	if (!err)
		err = ftrace_setup_switch(f, true);
	if (!err) {
		ftrace_top_watch_open(&s->top, f, &s->rec.cpus, s->loop, argc > 0);
		err = wait_for_end(s, argc ? argv : NULL);
		ftrace_top_watch_close(&s->top);
	}
	int sampled = ftrace_sampler_stop(&s->sampler, &app->diag);
	if (!err)
		err = sampled;
	if (err) {
		ftrace_recording_stop(&s->rec);
		if (!s->exec_failed)
			ftrace_recording_keep(&s->rec);
		(void)app_fail(app, err);
		return s->exec_failed ? child_exec_status(err) : APP_FAILED;
	}
	err = ftrace_run_finish(s);
	if (err)
		ftrace_recording_keep(&s->rec);
	return err ? app_fail(app, err) : session_status(s, argc > 0);
}

static int record(struct app *app, struct record_opts *o, int argc, char **argv, bool *ret_whole)
{
	struct ftrace_run s = {
		.app = app, .o = o, .s = &o->setup, .child = { .go_fd = -1, .exec_fd = -1 }
	};
	struct ftrace_setup *f = &o->setup;
	app_live(app);
	if (!o->output)
		o->output = "trace.dat";
	if (f->only_command && !argc) {
		ftrace_setup_end(f);
		return app_usage(app, "-F needs a command");
	}
	if (o->priority > 99) {
		ftrace_setup_end(f);
		return app_usage(app, "-r %llu: real-time priorities range from 1 to 99",
				 (unsigned long long)o->priority);
	}
	bool any = argc > 0 || o->setup.pids;
	vec_for_each (&f->buffers, b)
		any |= b->events.nr || b->tracer || b->functions.nr || b->graph.nr;
	if (!any) {
		ftrace_setup_end(f);
		return app_usage(app, "nothing to record: use -e EVENT or -p TRACER");
	}
	int err = ftrace_setup_open(f, &app->diag, &app->out);
	if (!err && o->user_name)
		err = child_user_find(&s.user, "--user", o->user_name, &app->diag);
	int status = err ? app_fail(app, err) : session_run(&s, argc, argv);
	child_done(&s.child);
	child_user_done(&s.user);
	ftrace_recording_done(&s.rec);
	if (o->keep && !err && status != APP_FAILED && f->journal)
		(void)!journal_keep(f->journal);
	vec_for_each (&s.sw.kept, name)
		free(*name);
	vec_free(&s.sw.kept);
	loop_free(s.loop);
	ftrace_setup_end(f);
	if (ret_whole)
		*ret_whole = s.rec.whole;
	return status;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct record_opts *o = opts;
	struct arena names;
	int status;
	if (!o->profile && (o->hooks.items.nr || o->only_given)) {
		ftrace_setup_end(&o->setup);
		return app_usage(app, "-H and -S need --profile");
	}
	arena_init(&names);
	int err = o->profile ? ftrace_profile_events(&o->setup, &o->hooks, o->only_given, &names,
						     &app->diag)
			     : 0;
	if (err) {
		ftrace_setup_end(&o->setup);
		status = app_fail(app, err);
	} else {
		status = record(app, o, argc, argv, NULL);
	}
	arena_done(&names);
	return status;
}

int ftrace_record_and(struct app *app, struct ftrace_setup *f, int argc, char **argv,
		      int (*look)(void *ctx, const char *path), void *ctx)
{
	const char *tmp = getenv("TMPDIR");
	char folder[PATH_MAX], path[PATH_MAX + 16];
	bool json = app->json, whole = false;
	if (snprintf(folder, sizeof(folder), "%s/sonde-ftrace-XXXXXX",
		     tmp && *tmp ? tmp : "/tmp") >= (int)sizeof(folder) ||
	    !mkdtemp(folder)) {
		int err = diag_error(&app->diag, -errno, "cannot create a directory in %s: %s",
				     tmp && *tmp ? tmp : "/tmp", strerror(errno));
		ftrace_setup_end(f);
		return app_fail(app, err);
	}
	(void)snprintf(path, sizeof(path), "%s/trace.dat", folder);
	struct record_opts o = { .setup = *f, .output = path };
	o.quiet = true;
	app->json = false; /* of the answer, not of the recording */
	int status = record(app, &o, argc, argv, &whole);
	app->json = json;
	*f = o.setup;
	int err = whole ? look(ctx, path) : 0;
	if (err)
		status = app_fail(app, err);
	if (err && err != -ENODATA) {
		diag_note(&app->diag, "the recording was saved as %s", path);
		return status;
	}
	(void)unlink(path);
	(void)rmdir(folder);
	return status;
}

/* clang-format off */
static const struct opt rows[] = {
	FTRACE_SETUP_ROWS,
	OPT_HEADING("The file"),
	OPT_STR('o', "output", struct record_opts, output, "FILE", "Write FILE (trace.dat)"),
	OPT_FLAG(0, "profile", struct record_opts, profile, "Also record what `ftrace report --profile` needs"),
	OPT_LIST('H', NULL, struct record_opts, hooks, "HOOK", "With --profile: also record the two events of a hook"),
	OPT_FLAG('S', NULL, struct record_opts, only_given, "With --profile: only what is named here"),
	OPT_FLAG('G', NULL, struct record_opts, unused, "Passed on to `ftrace report --profile`", .hidden = true),
	OPT_FLAG(0, "by-comm", struct record_opts, unused, "Passed on to `ftrace report --profile`", .hidden = true),
	OPT_STR(0, "compression", struct record_opts, compression, "HOW", "zstd, zlib or none (zstd)"),
	OPT_STR(0, "file-version", struct record_opts, version, "N", "File version: 6 or 7 (7)"),
	OPT_UINT('m', "max-kb", struct record_opts, max_kb, "KB", "Keep only the newest KB kilobytes of each CPU"),
	OPT_SIZE(0, "max-size", struct record_opts, max_size, "SIZE", "Stop after recording this much"),
	OPT_STR(0, "switch-output", struct record_opts, switch_output, "WHEN", "Switch to a new file by size (100M), time (30s), or on SIGUSR2 (signal): FILE.1, FILE.2 ..."),
	OPT_UINT(0, "switch-max-files", struct record_opts, switch_max_files, "N", "Keep the last N files of --switch-output"),
	OPT_STR(0, "temp", struct record_opts, temp, "DIR", "Collect data in DIR instead of next to the file"),
	OPT_FLAG(0, "date", struct record_opts, date, "Store wall clock times in the file"),
	OPT_INT(0, "ts-offset", struct record_opts, ts_offset, "N", "Have readers add N to all times, in clock units", OPT_SEEN(struct record_opts, has_ts_offset)),
	OPT_FLAG('a', "all-formats", struct record_opts, all_formats, "Store the formats of all events, including those others may enable"),
	OPT_FLAG(0, "tsc2nsec", struct record_opts, setup.tsc2nsec, "Use the CPU's counter as clock and store its conversion to nanoseconds; -C tsc2nsec selects the clock too"),
	OPT_FLAG(0, "proc-map", struct record_opts, proc_map, "Store the memory maps of the processes of -P"),
	OPT_FLAG(0, "with-samples", struct record_opts, samples, "Also record samples with the same clock (mono, or mono_raw with -C) into FILE.perf"),
	OPT_UINT(0, "sample-freq", struct record_opts, sample_freq, "HZ", "--with-samples: samples per second (999)"),
	OPT_HEADING("Reading"),
	OPT_UINT('s', "sleep", struct record_opts, sleep_us, "US", "Read at least this often (1000000)"),
	OPT_FLAG(0, "poll", struct record_opts, poll, "Read continuously"),
	OPT_UINT('r', "priority", struct record_opts, priority, "PRIO", "Real-time priority of the readers"),
	OPT_FLAG('k', "keep", struct record_opts, keep, "Leave everything set up at the end"),
	OPT_FLAG('q', "quiet", struct record_opts, quiet, "No summary line, no progress"),
	OPT_STR(0, "user", struct record_opts, user_name, "USER", "Run the command as this user"),
	OPT_FLAG(0, "stderr", struct record_opts, to_err, "Called as trace-cmd: write to standard error instead of standard output", .hidden = true),
	OPT_FLAG(0, "fork", struct record_opts, unused, "use 'ftrace start --fork' to leave the command running", .refused = true),
	FTRACE_NEVER_ROWS(struct record_opts),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "ftrace record -e sched -- ls", "scheduler events while a command runs" },
	{ "ftrace record -e 'sched:sched_switch/next_pid==0/'",
	  "an event with a filter, until Ctrl-C" },
	{ "ftrace record -p function -l 'vfs_*' -F ls", "functions of one command" },
	{ "ftrace record -e graph:do_sys_openat2 -- ls",
	  "one function and all its callees, with durations" },
	{ "ftrace record -e call:vfs_read -F -- cat /etc/hostname",
	  "a function with its arguments and return value" },
	{ "ftrace record -e sched --switch-output 100M --switch-max-files 5",
	  "files of 100 MB each, keeping the last five" },
	{ "ftrace record --with-samples -e sched -- make",
	  "events and samples of one run: `ftrace report --samples trace.dat.perf`" },
	{ "ftrace record --dry-run -e irq -b 4M", "what would be written to tracefs" },
	{ 0 },
};

static void defaults(void *opts)
{
	ftrace_setup_defaults(&((struct record_opts *)opts)->setup);
	((struct record_opts *)opts)->sample_freq = 999;
}

const struct command command_ftrace_record = {
	.name = "record",
	.summary = "trace a command or the system into a trace.dat",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Records in a private tracing instance, which is removed afterwards; tracers that "
		 "exist only once in the kernel use the top-level buffer, under a lock. All other "
		 "changes are undone at the end, even when the recorder is killed. -f and -R apply "
		 "to the preceding -e; everything after -B applies to that instance. Recording "
		 "ends with the command or with Ctrl-C; the exit status is that of the command. "
		 "Text that programs write to the top-level trace_marker is recorded if the kernel "
		 "can copy it. Writing 0 to the top-level tracing_on ends a recording without a "
		 "command; with a command, recording pauses until the switch is 1 again (it is "
		 "checked every 0.1 s; with --top the kernel obeys it directly).",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct record_opts),
	.defaults = defaults,
	.run = run,
};
