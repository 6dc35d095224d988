/* `sonde ftrace record`: tracing into a trace.dat. */
#include "base/clock.h"
#include "cmd/app/commands.h"
#include "cmd/ftrace/format.h"
#include "cmd/ftrace/record_impl.h"
#include "cmd/ftrace/watch.h"
#include "cmd/record/beside.h"
#include "session/profile_events.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHECK_NS = 100000000 };

/* SIGUSR2, or it is time for the next file. */
static int on_switch(void *ctx, u64 what)
{
	(void)what;
	return ftrace_recording_next_file(&((struct ftrace_run *)ctx)->rec);
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

/* The clock of both; -EINVAL with a diag where perf has none like it. clock: NULL for the default. */
static int sample_clock(const char *clock, const char **ret, struct diag *d)
{
	*ret = clock ? clock : "mono";
	if (!strcmp(*ret, "mono") || !strcmp(*ret, "mono_raw"))
		return 0;
	int err = diag_error(
		d, -EINVAL,
		"--with-samples: samples cannot use the clock '%s', and times from two clocks "
		"cannot be merged",
		clock);
	diag_hint(d, "use -C mono or -C mono_raw, which both support");
	return err;
}

/* --with-samples: everything by one clock. */
static int choose_clock(struct ftrace_run *s)
{
	const char *clock = NULL;
	vec_for_each (&s->s->buffers, b) {
		const char *own;
		int err = sample_clock(b->clock ? b->clock : clock, &own, &s->app->diag);
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

/* Samples are of what is traced: the command, the tasks of -P, or the whole system. */
static int open_samples(struct ftrace_run *s, char **argv)
{
	const struct ftrace_setup *f = s->s;
	const struct clock_kind *kind = clock_by_traced(f->buffers.at[0].clock);
	struct strbuf path;
	strbuf_init(&path);
	strbuf_printf(&path, "%s.perf", s->o->output);
	s->samples_path = strbuf_steal(&path);
	struct record_beside_opts o = {
		.output = s->samples_path,
		.clock = kind ? kind->name : NULL,
		.frequency = s->o->sample_freq,
		.pids = f->only_command ? NULL : f->pids,
		.command_pid = f->only_command ? s->run.child.pid : 0,
		.program = argv ? argv[0] : NULL,
	};
	int err = s->samples_path ? record_beside_open(&s->samples, s->app, &o) : -ENOMEM;
	return err ? diag_error(&s->app->diag, err, "cannot record the samples of --with-samples")
		   : 0;
}

static int wait_for_end(struct ftrace_run *s, char **argv)
{
	struct loop *l = s->run.loop;
	int err = loop_add_timer(l, CHECK_NS, CHECK_NS, on_timer, s, NULL);
	if (!err && s->sw.on && s->sw.every_ns)
		err = loop_add_timer(l, s->sw.every_ns, s->sw.every_ns, on_switch, s, NULL);
	if (!err)
		err = command_run_go(&s->run, argv ? argv[0] : NULL, &s->app->diag);
	if (!err && !argv && !s->o->quiet) {
		bool theirs = s->app->dialect->traces_until_ctrl_c;
		strbuf_str(theirs && !s->o->to_err ? &s->app->out : &s->app->err,
			   theirs ? "Hit Ctrl^C to stop recording\n"
				  : "[ recording until Ctrl-C ]\n");
		(void)app_flush(s->app);
	}
	if (!err)
		err = command_run_wait(&s->run);
	term_progress_clear(&s->progress);
	if (!err)
		trace_run_end_command(&s->run);
	return err;
}

static int prepare(struct ftrace_run *s)
{
	const struct ftrace_record_opts *o = s->o;
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

/* Everything up to the switch. What forks comes first, then what has threads. */
static int set_up(struct ftrace_run *s, char **argv)
{
	struct ftrace_setup *f = s->s;
	struct diag *d = &s->app->diag;
	int err = command_run_open(&s->run, &(struct command_run_opts){ .hangup = true });
	if (!err && s->sw.on)
		err = loop_add_signal(s->run.loop, SIGUSR2, on_switch, s);
	if (!err && argv) {
		err = child_check(argv[0], d);
		s->run.exec_failed = err;
		if (!err)
			err = command_run_prepare(&s->run, argv, s->user.name ? &s->user : NULL, d);
	}
	if (!err)
		err = ftrace_recording_begin_file(&s->rec);
	if (!err)
		err = ftrace_setup_apply(f, true, s->run.child.pid);
	if (!err)
		err = trace_run_empty_buffers(f);
	if (!err && s->o->samples)
		err = open_samples(s, argv);
	if (!err)
		err = ftrace_recording_write_head(&s->rec);
	if (!err)
		err = ftrace_recording_start(&s->rec);
	if (!err && s->samples)
		err = record_beside_start(s->samples);
	s->started_ns = clock_monotonic_ns();
	term_progress_init(&s->progress, STDERR_FILENO);
	return err;
}

static int session_run(struct ftrace_run *s, char **argv)
{
	struct ftrace_setup *f = s->s;
	struct app *app = s->app;
	int err = prepare(s);
	if (err)
		return err == -EINVAL ? app_usage_said(app) : app_fail(app, err);
	if (s->o->switch_output &&
	    record_parse_switch(&s->sw, "--switch-output", s->o->switch_output, &app->diag))
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
	err = err ? err : set_up(s, argv);
	if (!err)
		err = ftrace_setup_switch(f, true);
	if (!err) {
		ftrace_top_watch_open(&s->top, f, &s->rec.cpus, s->run.loop, argv != NULL);
		err = wait_for_end(s, argv);
		ftrace_top_watch_close(&s->top);
	}
	int sampled = record_beside_stop(s->samples, s->run.exec_failed);
	if (!err)
		err = sampled;
	if (err) {
		ftrace_recording_stop(&s->rec);
		if (!s->run.exec_failed)
			ftrace_recording_keep(&s->rec);
		(void)app_fail(app, err);
		return s->run.exec_failed ? child_exec_status(err) : APP_FAILED;
	}
	err = ftrace_run_finish(s);
	if (err)
		ftrace_recording_keep(&s->rec);
	return err ? app_fail(app, err) : ftrace_run_status(app, &s->run, argv != NULL);
}

static int record(struct app *app, struct ftrace_record_opts *o, int argc, char **argv)
{
	struct ftrace_run s = { .app = app, .o = o, .s = &o->setup, .run = COMMAND_RUN_NONE };
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
	int status = err ? app_fail(app, err) : session_run(&s, argc ? argv : NULL);
	record_beside_close(s.samples);
	free(s.samples_path);
	child_user_done(&s.user);
	ftrace_recording_done(&s.rec);
	if (o->keep && !err && status != APP_FAILED && f->journal)
		(void)!journal_keep(f->journal);
	vec_for_each (&s.sw.kept, name)
		free(*name);
	vec_free(&s.sw.kept);
	command_run_close(&s.run);
	ftrace_setup_end(f);
	return status;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct ftrace_record_opts *o = opts;
	struct arena names;
	int status;
	if (!o->profile && (o->hooks.items.nr || o->only_given)) {
		ftrace_setup_end(&o->setup);
		return app_usage(app, "-H and -S need --profile");
	}
	arena_init(&names);
	int err = o->profile
			  ? profile_events(&o->setup, &o->hooks, o->only_given, &names, &app->diag)
			  : 0;
	if (err) {
		ftrace_setup_end(&o->setup);
		status = app_fail(app, err);
	} else {
		status = record(app, o, argc, argv);
	}
	arena_done(&names);
	return status;
}

/* clang-format off */
static const struct opt rows[] = {
	FTRACE_SETUP_ROWS,
	OPT_HEADING("The file"),
	OPT_STR('o', "output", struct ftrace_record_opts, output, "FILE", "Write FILE (trace.dat)"),
	OPT_FLAG(0, "profile", struct ftrace_record_opts, profile, "Also record what `ftrace report --profile` needs"),
	OPT_LIST('H', NULL, struct ftrace_record_opts, hooks, "HOOK", "With --profile: also record the two events of a hook"),
	OPT_FLAG('S', NULL, struct ftrace_record_opts, only_given, "With --profile: only what is named here"),
	OPT_FLAG('G', NULL, struct ftrace_record_opts, unused, "Passed on to `ftrace report --profile`", .hidden = true),
	OPT_FLAG(0, "by-comm", struct ftrace_record_opts, unused, "Passed on to `ftrace report --profile`", .hidden = true),
	OPT_STR(0, "compression", struct ftrace_record_opts, compression, "HOW", "zstd, zlib or none (zstd)"),
	OPT_STR(0, "file-version", struct ftrace_record_opts, version, "N", "File version: 6 or 7 (7)"),
	OPT_UINT('m', "max-kb", struct ftrace_record_opts, max_kb, "KB", "Keep only the newest KB kilobytes of each CPU"),
	OPT_SIZE(0, "max-size", struct ftrace_record_opts, max_size, "SIZE", "Stop after recording this much"),
	OPT_STR(0, "switch-output", struct ftrace_record_opts, switch_output, "WHEN", "Switch to a new file by size (100M), time (30s), or on SIGUSR2 (signal): FILE.1, FILE.2 ..."),
	OPT_UINT(0, "switch-max-files", struct ftrace_record_opts, switch_max_files, "N", "Keep the last N files of --switch-output"),
	OPT_STR(0, "temp", struct ftrace_record_opts, temp, "DIR", "Collect data in DIR instead of next to the file"),
	OPT_FLAG(0, "date", struct ftrace_record_opts, date, "Store wall clock times in the file"),
	OPT_INT(0, "ts-offset", struct ftrace_record_opts, ts_offset, "N", "Have readers add N to all times, in clock units", OPT_SEEN(struct ftrace_record_opts, has_ts_offset)),
	OPT_FLAG('a', "all-formats", struct ftrace_record_opts, all_formats, "Store the formats of all events, including those others may enable"),
	OPT_FLAG(0, "tsc2nsec", struct ftrace_record_opts, setup.tsc2nsec, "Use the CPU's counter as clock and store its conversion to nanoseconds; -C tsc2nsec selects the clock too"),
	OPT_FLAG(0, "proc-map", struct ftrace_record_opts, proc_map, "Store the memory maps of the processes of -P"),
	OPT_FLAG(0, "with-samples", struct ftrace_record_opts, samples, "Also record samples with the same clock (mono, or mono_raw with -C) into FILE.perf"),
	OPT_UINT(0, "sample-freq", struct ftrace_record_opts, sample_freq, "HZ", "--with-samples: samples per second (999)"),
	OPT_HEADING("Reading"),
	OPT_UINT('s', "sleep", struct ftrace_record_opts, sleep_us, "US", "Read at least this often (1000000)"),
	OPT_FLAG(0, "poll", struct ftrace_record_opts, poll, "Read continuously"),
	OPT_UINT('r', "priority", struct ftrace_record_opts, priority, "PRIO", "Real-time priority of the readers"),
	OPT_FLAG('k', "keep", struct ftrace_record_opts, keep, "Leave everything set up at the end"),
	OPT_FLAG('q', "quiet", struct ftrace_record_opts, quiet, "No summary line, no progress"),
	OPT_STR(0, "user", struct ftrace_record_opts, user_name, "USER", "Run the command as this user"),
	OPT_FLAG(0, "stderr", struct ftrace_record_opts, to_err, "Called as trace-cmd: write to standard error instead of standard output", .hidden = true),
	OPT_FLAG(0, "fork", struct ftrace_record_opts, unused, "use 'ftrace start --fork' to leave the command running", .refused = true),
	FTRACE_NEVER_ROWS(struct ftrace_record_opts),
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
	ftrace_setup_defaults(&((struct ftrace_record_opts *)opts)->setup);
	((struct ftrace_record_opts *)opts)->sample_freq = 999;
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
	.opts_size = sizeof(struct ftrace_record_opts),
	.defaults = defaults,
	.run = run,
};
