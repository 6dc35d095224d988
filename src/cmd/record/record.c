/* sonde record: samples of a command, of processes or of the whole system into perf.data. */
#include "cmd/record/record.h"

#include "base/json.h"
#include "cmd/app/commands.h"
#include "cmd/app/files.h"
#include "session/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Somebody waits at the other end of a pipe, and what is read in one round is settled by the end of the next. */
enum { PIPE_FLUSH_NS = 400000000 };

static const struct record_labels labels = {
	.switch_output = "--switch-output",
	.max_size = "--max-size",
	.control = "--control",
};

/* ---- the run ---------------------------------------------------------------------------------------------------- */

/* All targets have ended, or nothing can be written any more. A command of ours then is about to tell its status. */
static int on_gone(void *ctx, u64 events)
{
	struct record_session *s = ctx;
	(void)events;
	if (!s->run.child.pid || recorder_failed(s->rec))
		return 1;
	loop_remove(s->run.loop, s->gone_source);
	return 0;
}

static void add_size(struct strbuf *to, u64 bytes)
{
	if (bytes < 1 << 20)
		strbuf_printf(to, "%.1f KB", (double)bytes / 1024);
	else
		strbuf_printf(to, "%.1f MB", (double)bytes / (1 << 20));
}

static int on_progress(void *ctx, u64 expired)
{
	struct record_session *s = ctx;
	struct recorder_stats st;
	(void)expired;
	if (!term_progress_due(&s->progress))
		return 0;
	struct strbuf line;
	strbuf_init(&line);
	recorder_stats(s->rec, &st);
	strbuf_printf(&line, "%s: %llu %s, ", s->tell.title, (unsigned long long)st.nr_samples,
		      str_plural(st.nr_samples, "sample", "samples"));
	add_size(&line, st.file_bytes);
	if (st.nr_lost)
		strbuf_printf(&line, ", %llu lost", (unsigned long long)st.nr_lost);
	term_progress_show(&s->progress, strbuf_cstr(&line));
	strbuf_done(&line);
	return 0;
}

static double cpu_seconds(void)
{
	struct rusage ru;
	getrusage(RUSAGE_SELF, &ru);
	return (double)ru.ru_utime.tv_sec + (double)ru.ru_stime.tv_sec +
	       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
}

/* perf's two lines, for those who parse them. */
static void say_as_perf(struct record_session *s, const struct recorder_stats *st)
{
	struct strbuf *to = s->tell.err;
	strbuf_printf(to, "[ perf record: Woken up %llu times to write data ]\n",
		      (unsigned long long)st->nr_passes);
	bool compressed = s->o->zstd && st->file_bytes;
	strbuf_printf(to, "[ perf record: Captured and wrote %.3f MB %s",
		      (double)(compressed ? st->file_bytes : st->data_bytes) / 1024 / 1024,
		      s->output);
	if (st->nr_samples)
		strbuf_printf(to, " (%llu samples)", (unsigned long long)st->nr_samples);
	if (compressed)
		strbuf_printf(to, ", compressed (original %.3f MB, ratio is %.3f)",
			      (double)st->data_bytes / 1024 / 1024,
			      (double)st->data_bytes / (double)st->file_bytes);
	strbuf_str(to, " ]\n");
}

/* With --json standard output holds one line, ours: what the command prints goes where messages go, as it does with -o -. */
static int take_stdout(struct record_session *s)
{
	s->json_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (s->json_fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return diag_error(s->tell.diag, -errno, "--json: standard output: %s",
				  strerror(errno));
	return 0;
}

static void give_stdout_back(struct record_session *s)
{
	if (s->json_fd < 0)
		return;
	(void)!dup2(s->json_fd, STDOUT_FILENO);
	cleanup_close(&s->json_fd);
	s->json_fd = -1;
}

static void say_json(struct record_session *s, const struct recorder_stats *st)
{
	struct json j;
	give_stdout_back(s);
	json_begin(&j, s->tell.out, JSON_COMPACT);
	json_object(&j);
	json_put_str(&j, "file", s->output);
	json_put_u64(&j, "bytes", st->file_bytes);
	json_put_u64(&j, "samples", st->nr_samples);
	json_put_u64(&j, "lost", st->nr_lost);
	json_put_u64(&j, "throttled", st->nr_throttled);
	if (st->nr_stacks) {
		json_put_u64(&j, "stacks", st->nr_stacks);
		json_put_u64(&j, "stacks_truncated", st->nr_cut);
		json_put_u64(&j, "stack_bytes", st->stack_bytes);
		json_put_u64(&j, "first_stack_bytes", st->first_stack_bytes);
		json_key(&j, "truncated_because");
		json_object(&j);
		for (int i = UNWIND_WHOLE + 1; i < UNWIND_NR_ENDS; i++)
			if (st->nr_ends[i])
				json_put_u64(&j, unwind_end_text((enum unwind_end)i),
					     st->nr_ends[i]);
		json_object_end(&j);
	}
	json_put_double(&j, "recorder_cpu_seconds", cpu_seconds());
	json_object_end(&j);
	(void)!json_end(&j);
	(void)strbuf_flush(s->tell.out);
}

/* How many stacks are truncated, and why: the reasons add up. */
static void add_stacks(struct strbuf *to, const struct recorder_stats *st)
{
	if (!st->nr_stacks)
		return;
	strbuf_printf(to, ", %llu of %llu stacks truncated", (unsigned long long)st->nr_cut,
		      (unsigned long long)st->nr_stacks);
	const char *before = " (";
	for (int i = UNWIND_WHOLE + 1; i < UNWIND_NR_ENDS; i++) {
		if (!st->nr_ends[i])
			continue;
		strbuf_printf(to, "%s%llu: %s", before, (unsigned long long)st->nr_ends[i],
			      unwind_end_text((enum unwind_end)i));
		before = ", ";
	}
	if (st->nr_cut)
		strbuf_str(to, ")");
}

/* Copies of stacks that grew meanwhile, and stacks that were longer all the same. */
static void report_stack_copies(struct record_session *s, const struct recorder_stats *st)
{
	struct diag *d = s->tell.diag;
	unsigned long long nr_short = st->nr_short;
	if (st->grown_after_ns && st->stack_bytes > st->first_stack_bytes)
		diag_note(d,
			  "many stacks did not fit into %u bytes: from %.1f s on, up to %u bytes "
			  "were copied; %llu %s truncated",
			  st->first_stack_bytes, (double)st->grown_after_ns / 1e9, st->stack_bytes,
			  nr_short, str_plural(nr_short, "stack is", "stacks are"));
	else if (st->grown_after_ns)
		diag_note(
			d, "larger stack copies caused lost records: back to %u bytes, %llu %s truncated",
			st->stack_bytes, nr_short, str_plural(nr_short, "stack is", "stacks are"));
	else if (st->nr_short * 20 > st->nr_stacks)
		diag_note(d, "%llu %s longer than the copied part and %s truncated", nr_short,
			  str_plural(nr_short, "stack was", "stacks were"),
			  str_plural(nr_short, "is", "are"));
	if (st->nr_short * 20 > st->nr_stacks)
		diag_hint(d, "--call-graph dwarf,65528 copies the maximum%s",
			  st->grown_after_ns ? " from the start" : "");
}

/* One line: file, samples, lost, stacks, cost, what was kept. */
static void say_ours(struct record_session *s, const struct recorder_stats *st,
		     const struct record_kept *kept, bool failed)
{
	struct strbuf *to = s->tell.err;
	const char *last = s->sw.kept.nr ? s->sw.kept.at[s->sw.kept.nr - 1] : s->output;
	strbuf_printf(to, "%s: %s: ", s->tell.title, s->pipe ? "standard output" : last);
	add_size(to, st->file_bytes);
	if (failed)
		strbuf_str(to, ", truncated");
	else
		strbuf_printf(to, ", %llu %s, %llu lost", (unsigned long long)st->nr_samples,
			      str_plural(st->nr_samples, "sample", "samples"),
			      (unsigned long long)st->nr_lost);
	if (s->o->zstd && st->file_bytes) {
		strbuf_str(to, ", compressed from ");
		add_size(to, st->data_bytes);
		strbuf_printf(to, " (%.1f:1)", (double)st->data_bytes / (double)st->file_bytes);
	}
	if (st->nr_throttled)
		strbuf_printf(to, ", throttled %llu %s", (unsigned long long)st->nr_throttled,
			      str_plural(st->nr_throttled, "time", "times"));
	add_stacks(to, st);
	strbuf_printf(to, "; recorder used %.0f ms CPU", cpu_seconds() * 1e3);
	if (kept->nr_files)
		strbuf_printf(to, "; %u %s kept in %s", kept->nr_files,
			      str_plural(kept->nr_files, "file", "files"), kept->dir);
	strbuf_char(to, '\n');
}

static void keep_images(struct record_session *s, u64 file_bytes, struct record_kept *kept)
{
	struct diag *d = s->tell.diag;
	record_keep_images(s, file_bytes, kept);
	if (kept->err)
		diag_warn(d, "cannot keep programs in %s: %s", kept->dir, strerror(-kept->err));
	if (kept->nr_large)
		diag_note(d, "%u large %s not kept: use `sonde buildid-cache -a` or `sonde archive`",
			  kept->nr_large,
			  str_plural(kept->nr_large, "program or library was",
				     "programs or libraries were"));
}

void record_say_result(struct record_session *s, bool failed)
{
	struct recorder_stats st;
	recorder_stats(s->rec, &st);
	if (st.nr_lost) {
		diag_warn(s->tell.diag, "%llu %s lost: ring buffers were full",
			  (unsigned long long)st.nr_lost,
			  str_plural(st.nr_lost, "record was", "records were"));
		diag_hint(s->tell.diag,
			  s->o->source_enough
				  ? "use a larger -m, or choose fewer calls and events with -e"
				  : "use a larger -m, a lower -F, --call-graph fp, or no "
				    "call chains");
	}
	run_probes_report(&s->probes, &s->events, s->tell.diag);
	if (st.nr_held_files)
		diag_note(s->tell.diag,
			  "%u %s could not be read: the file system did not respond in time",
			  st.nr_held_files,
			  str_plural(st.nr_held_files, "program or library",
				     "programs or libraries"));
	report_stack_copies(s, &st);
	if (s->by_frame_pointer && !failed && !s->pipe && !s->sw.on && !s->o->quiet && !s->perf_lines)
		record_look_at_chains(s, st.file_bytes);
	struct record_kept kept = { 0 };
	if (!failed)
		keep_images(s, st.file_bytes, &kept);
	tell_say(&s->tell);
	if (s->o->result)
		*s->o->result = st;
	if (s->o->quiet || s->o->result)
		return;
	if (s->tell.json) {
		say_json(s, &st);
	} else if (s->perf_lines) {
		say_as_perf(s, &st);
	} else {
		say_ours(s, &st, &kept, failed);
	}
	(void)strbuf_flush(s->tell.err);
}

/* Until the command ends, a signal comes, the targets are gone, or writing fails. */
static int wait_for_end(struct record_session *s)
{
	struct loop *loop = s->run.loop;
	int err = loop_add_fd(loop, recorder_gone_fd(s->rec), EPOLLIN, on_gone, s, &s->gone_source);
	if (!err)
		err = record_watch_files(s);
	if (!err)
		err = command_run_listen(&s->run, record_obey, s);
	if (!err && !s->o->quiet && s->progress.on)
		err = loop_add_timer(loop, 500000000, 500000000, on_progress, s, NULL);
	return err ? err : command_run_wait(&s->run);
}

/* Its status is not of its own making. */
static bool was_cut(const struct record_session *s)
{
	return s->run.signal || s->full || s->run.told_to_stop;
}

static int on_delay(void *ctx, u64 expired)
{
	struct record_session *s = ctx;
	(void)expired;
	return recorder_start(s->rec, s->tell.diag);
}

static int delay_start(struct record_session *s)
{
	return loop_add_timer(s->run.loop, (u64)s->o->delay_ms * 1000000, 0, on_delay, s, NULL);
}

/* As if by SIGPIPE, but a command's status comes first. */
static int reader_gone(struct record_session *s)
{
	if (s->o->source_enough && *s->o->source_enough) {
		if (s->o->result)
			recorder_stats(s->rec, s->o->result);
		return APP_DONE;
	}
	if (s->o->source)
		return APP_FAILED; /* it knows why */
	diag_done(s->tell.diag);
	if (s->run.ended && !s->run.signal)
		return child_exit_status(s->run.wait_status);
	record_app(s)->die_of = s->run.signal ? s->run.signal : SIGPIPE;
	return APP_DONE;
}

/* The reader left before anything began: the command was asked for all the same. */
static int run_unseen(struct record_session *s, char **argv)
{
	if (s->run.child.pid) {
		int err = command_run_go(&s->run, argv[0], s->tell.diag);
		if (err)
			return child_exec_status(err);
		command_run_reap(&s->run, was_cut(s) ? SIGTERM : 0);
	}
	return reader_gone(s);
}

static int session_run(struct record_session *s, struct recorder_opts *ro, char **argv)
{
	struct app *app = record_app(s);
	int begun = s->o->begin ? s->o->begin(s->o->begin_ctx) : 0;
	if (begun)
		return app_fail(app, begun);
	begun = record_folder_create(s, ro);
	if (begun)
		return app_fail(app, begun);
	s->rec = recorder_open(&s->root, ro, &app->diag);
	if (!s->rec)
		record_folder_remove(s);
	if (!s->rec)
		return errno == EPIPE ? run_unseen(s, argv) : app_fail(app, -EIO);
	record_watch_file(s);
	app_say(app); /* what we settled for, before the command says anything */
	int err = 0;
	if (s->o->delay_ms > 0)
		err = delay_start(s);
	else if (!s->o->delay_ms)
		err = recorder_start(s->rec, &app->diag);
	if (!err)
		err = record_trigger_start(s, &ro->live);
	if (err)
		return app_fail(app, err);
	err = command_run_go(&s->run, argv[0], &app->diag);
	if (err) {
		(void)!recorder_finish(s->rec, NULL);
		if (!s->pipe)
			recorder_discard(s->rec);
		record_folder_remove(s);
		return s->run.exec_failed ? child_exec_status(err) : app_fail(app, err);
	}
	term_progress_init(&s->progress, STDERR_FILENO);
	err = wait_for_end(s);
	term_progress_clear(&s->progress);
	record_trigger_end(s);
	int finish = recorder_finish(s->rec, &app->diag);
	if (!finish && s->sw.on)
		finish = record_keep_last(s);
	if (finish != -EPIPE)
		record_say_result(s, finish);
	command_run_unwatch(&s->run);
	/* Where nobody asked for its end it is not its fault: it may end by itself. */
	if (!s->o->source_enough || !*s->o->source_enough)
		command_run_reap(&s->run, was_cut(s) ? SIGTERM : 0);
	if (finish == -EPIPE)
		return reader_gone(s);
	if (finish)
		return APP_FAILED; /* said with the result */
	if (err)
		return app_fail(app, err);
	app->die_of = s->run.signal;
	return s->run.child.pid && !was_cut(s) ? child_exit_status(s->run.wait_status) : APP_DONE;
}

int record_realtime(struct record_session *s)
{
	struct sched_param p = { .sched_priority = (int)min(s->o->realtime, (u64)INT_MAX) };
	if (!sched_setscheduler(0, SCHED_FIFO, &p))
		return 0;
	diag_error(s->tell.diag, -errno, "-r %llu: %s", (unsigned long long)s->o->realtime,
		   strerror(errno));
	diag_hint(s->tell.diag, "expected a priority from 1 to 99, as root");
	return -EPERM;
}

/* -S is about AUX tracing, of which there is none without its hardware. */
static int no_aux_snapshot(struct record_session *s)
{
	enum { PERF_EINVAL_STATUS = 256 - EINVAL };
	if (record_app(s)->dialect->no_aux_status) {
		strbuf_str(s->tell.err, "No AUX area tracing to snapshot\n");
		return PERF_EINVAL_STATUS;
	}
	diag_error(s->tell.diag, -EINVAL, "-S: no AUX area tracing (Intel PT, SPE) to snapshot");
	diag_hint(s->tell.diag,
		  "--overwrite keeps the newest samples, --switch-output writes them");
	return app_usage_said(record_app(s));
}

static int record(struct record_session *s, int argc, char **argv)
{
	struct app *app = record_app(s);
	if (record_list_regs(s->o, &app->out))
		return APP_DONE;
	if (s->o->snapshot)
		return no_aux_snapshot(s);
	const char *words[1024];
	struct recorder_opts ro = { .version = SONDE_VERSION, .argv = words };
	int err = sysroot_open(&s->root, NULL);
	if (err)
		return app_fail(app, err);
	err = record_build_live(s, argc ? argv[0] : NULL, &ro);
	/* perf treats an unknown event as a usage error. */
	bool usage = err == -EINVAL || (err == -ENOENT && app->dialect->missing_event_is_usage);
	if (err)
		return usage ? app_usage_said(app) : app_fail(app, err);
	ro.tracing = &s->env.tracing;
	ro.live.opened = output_attr_dir() ? output_attr : NULL;
	ro.live.opened_ctx = (void *)(uintptr_t)output_attr_dir();
	if (s->o->zstd) {
		u64 level;
		if (num_parse_u64(s->o->zstd, 10, &level) || level > 22)
			return app_usage(app, "-z %s: expected a level from 1 to 22", s->o->zstd);
		ro.zstd_level = (int)level;
	}
	if (s->o->off_cpu && s->as_perf) {
		diag_warn(&app->diag, "--off-cpu: off-CPU time cannot be recorded (as with a perf "
				      "built without BUILD_BPF_SKEL=1)");
		diag_hint(&app->diag, "use -e sched:sched_switch -g to record the stacks where "
				      "tasks stop running, or sonde record --off-cpu");
	}
	if (!argc && !ro.live.system_wide && !ro.live.nr_pids && !ro.live.nr_tids)
		return app_usage(
			app,
			"nothing to record: give a command, -p PID, or -a for the whole system");
	output_owner(&ro.owner_uid, &ro.owner_gid);
	/* A pipe is a place for the recording; with --json it is one for the closing line, unless -o - says otherwise. */
	if (s->o->source)
		s->output = "memory";
	else
		err = output_take_stdout(s->o->output || !app->json ? s->o->output : "perf.data",
					 &s->output, &s->pipe_fd,
					 "sonde record -o - ... | sonde script -i -", &app->diag);
	if (err)
		return app_usage_said(app);
	s->pipe = s->pipe_fd >= 0 || s->o->source;
	ro.source = s->o->source;
	ro.no_file = s->o->source;
	ro.path = s->output;
	ro.pipe = s->pipe_fd >= 0;
	ro.pipe_fd = s->pipe_fd;
	if (s->pipe && !ro.live.flush_ns)
		ro.live.flush_ns = PIPE_FLUSH_NS;
	ro.no_build_ids = s->o->no_build_ids;
	if (s->o->switch_output &&
	    record_parse_switch(&s->sw, labels.switch_output, s->o->switch_output, &app->diag))
		return app_usage_said(app);
	s->sw.on |= s->o->timestamp_filename || s->o->triggers.list.nr;
	if (s->sw.on && s->pipe)
		return app_usage(app, "--switch-output needs -o FILE");
	if (s->o->kcore && (s->sw.on || s->pipe))
		return app_usage(app, "--kcore writes a directory: it cannot be combined with %s",
				 s->pipe ? "a pipe" : "--switch-output");
	ro.full_bytes = s->sw.bytes && s->o->max_size ? min(s->sw.bytes, s->o->max_size)
						      : s->sw.bytes | s->o->max_size;
	if (s->o->delay_ms < 0 && !s->o->control)
		return app_usage(app, "-D %lld waits forever without --control",
				 (long long)s->o->delay_ms);
	if (s->o->control) {
		err = command_run_control(&s->run, "--control", s->o->control, &app->diag);
		if (err)
			return err == -EINVAL ? app_usage_said(app) : app_fail(app, err);
	}
	if (s->o->dry_run)
		return APP_DONE;
	err = app->json && s->pipe_fd < 0 ? take_stdout(s) : 0;
	if (!err)
		err = record_watch_start(s);
	if (!err)
		err = command_run_open(&s->run, &(struct command_run_opts){ .hangup = true });
	if (!err)
		err = loop_add_signal(s->run.loop, SIGUSR2, record_on_usr2, s);
	if (!err && argc) {
		err = child_check(argv[0], &app->diag);
		if (err)
			return child_exec_status(err);
		err = command_run_prepare(&s->run, argv, NULL, &app->diag);
		/* With -p or -t the command only says for how long. */
		if (!ro.live.nr_pids && !ro.live.nr_tids)
			ro.live.command_pid = s->run.child.pid;
	}
	if (s->o->command_pid)
		*s->o->command_pid = s->run.child.pid;
	if (!err && ro.live.system_wide)
		err = record_watch_tasks(s);
	if (!err && s->o->realtime)
		err = record_realtime(s);
	if (err)
		return app_fail(app, err);
	if (s->pipe_fd >= 0) /* from here on: the command has its own */
		(void)signal(SIGPIPE, SIG_IGN);
	s->cmdline = output_cmdline(&s->root, words, ARRAY_SIZE(words), &ro.argc);
	return session_run(s, &ro, argv);
}

void record_session_done(struct record_session *s)
{
	record_trigger_end(s);
	recorder_close(s->rec);
	record_watch_end(s);
	give_stdout_back(s);
	vec_for_each (&s->sw.kept, name)
		free(*name);
	vec_free(&s->sw.kept);
	command_run_close(&s->run);
	sysroot_close(&s->root);
	vec_free(&s->pids.list);
	vec_free(&s->tids.list);
	vec_for_each (&s->watched.fds, fd)
		cleanup_close(fd);
	vec_free(&s->watched.fds);
	vec_free(&s->exclude_self);
	vec_for_each (&s->cgroups, fd)
		cleanup_close(fd);
	vec_free(&s->cgroups);
	if (s->has_env) {
		event_list_done(&s->events);
		event_env_close(&s->env);
		run_probes_close(&s->probes, s->tell.diag);
	}
	free(s->cmdline);
}

void record_call_init(struct record_call *call, struct app *app, const struct record_opts *o)
{
	*call = (struct record_call){ .app = app,
				      .s = { .tell = app_tell(app),
					     .names = app_symbols(app),
					     .opener = files_opener(),
					     .labels = &labels,
					     .perf_lines = app->dialect->perf_closing_lines,
					     .o = o,
					     .root = { .dir_fd = -1 },
					     .pipe_fd = -1,
					     .json_fd = -1,
					     .trigger = { .fd = -1 },
					     .run = COMMAND_RUN_NONE } };
}

static int record_run(struct app *app, void *opts, int argc, char **argv)
{
	struct record_call call;
	record_call_init(&call, app, opts);
	app_live(app);
	int status = record(&call.s, argc, argv);
	record_session_done(&call.s);
	vec_free(&((struct record_opts *)opts)->words.list);
	vec_free(&((struct record_opts *)opts)->triggers.list);
	return status;
}

static void record_defaults(void *opts)
{
	*(struct record_opts *)opts = (struct record_opts){ 0 };
}

/* clang-format off */
const struct opt record_rows[] = {
	OPT_HEADING("What to record"),
	OPT_CALL('e', "event", "EVENT", "Events, separated by commas (cycles, or cpu-clock where there is no PMU); see `sonde list`", record_take_event),
	OPT_CALL(0, "filter", "FILTER", "Filter for tracepoints of the preceding -e", record_take_filter),
	OPT_CALL(0, "exclude-perf", NULL, "Exclude tracepoint events of the recorder itself (preceding -e)", record_take_exclude_perf),
	OPT_STR('F', "freq", struct record_opts, freq, "HZ", "Samples per second per CPU, or 'max' (4000)"),
	OPT_UINT('c', "count", struct record_opts, live.period, "N", "Take one sample every N events instead"),
	OPT_FLAG('g', NULL, struct record_opts, graph, "Record call chains: --call-graph auto (called as perf: fp)"),
	OPT_STR(0, "call-graph", struct record_opts, call_graph, "HOW", "How to collect call chains: fp (frame pointers), dwarf[,BYTES] (unwind tables, copying this much stack: 8192), auto (as the programs need; copies grow up to 65528 bytes for long stacks), lbr (branch hardware)"),
	OPT_FLAG(0, "raw-stack", struct record_opts, raw_stack, "With dwarf: store raw stacks to be unwound by readers, as perf does"),
	OPT_HEADING("What to trace: tasks and CPUs"),
	OPT_FLAG('a', "all-cpus", struct record_opts, all, "The whole system"),
	OPT_STR('C', "cpu", struct record_opts, cpus, "LIST", "These CPUs only (0-3,8)"),
	OPT_STR('p', "pid", struct record_opts, pids, "PID", "Running processes with all their threads"),
	OPT_STR('t', "tid", struct record_opts, tids, "TID", "Running threads"),
	OPT_STR('u', "uid", struct record_opts, user, "USER", "Current processes of this user, by name or number"),
	OPT_STR('G', "cgroup", struct record_opts, cgroups, "NAME", "Only this cgroup; with commas: one for each event (needs -a)"),
	OPT_CALL('i', "no-inherit", NULL, "Exclude children and threads created later", record_take_inherit),
	OPT_FLAG(0, "per-thread", struct record_opts, per_thread, "One ring per thread instead of per CPU; excludes children and threads created later"),
	OPT_FLAG(0, "all-user", struct record_opts, live.only_user, "User space only"),
	OPT_FLAG(0, "all-kernel", struct record_opts, live.only_kernel, "Kernel only"),
	OPT_HEADING("How"),
	OPT_UINT('r', "realtime", struct record_opts, realtime, "PRIORITY", "Run the recorder itself as a real-time (FIFO) task"),
	OPT_FLAG(0, "strict-freq", struct record_opts, live.strict_freq, "Fail if -F exceeds what the system allows"),
	OPT_FLAG(0, "dry-run", struct record_opts, dry_run, "Only check the command line"),
	OPT_INT('D', "delay", struct record_opts, delay_ms, "MS", "Start sampling after this delay; -1: wait for --control"),
	OPT_STR(0, "control", struct record_opts, control, "HOW", "Take commands (enable, disable, snapshot, evlist, ping, stop): fd:IN[,ACK] or fifo:IN[,ACK]"),
	OPT_FLAG('d', "data", struct record_opts, live.data_addr, "Record the addresses that were accessed"),
	OPT_FLAG('W', "weight", struct record_opts, live.weight, "Record the cost of memory accesses, if the hardware supports it"),
	OPT_FLAG('b', "branch-any", struct record_opts, any_branch, "Record the last branches, if the hardware supports it"),
	OPT_STR('j', "branch-filter", struct record_opts, branches, "KINDS", "Record the last branches of these kinds (any_call,u)"),
	OPT_FLAG('s', "stat", struct record_opts, live.per_thread_counts, "Record the counts of each thread when it exits (report -T)"),
	OPT_FLAG('n', "no-samples", struct record_opts, live.no_samples, "No samples, only tasks and maps"),
	OPT_FLAG(0, "user-callchains", struct record_opts, user_chains, "Record only the user part of call chains"),
	OPT_FLAG(0, "kernel-callchains", struct record_opts, kernel_chains, "Record only the kernel part of call chains"),
	OPT_FLAG(0, "phys-data", struct record_opts, phys_data, "Record the physical addresses that were accessed"),
	OPT_FLAG(0, "data-page-size", struct record_opts, data_page_size, "Record the page size of accessed data"),
	OPT_FLAG(0, "code-page-size", struct record_opts, code_page_size, "Record the page size of code"),
	OPT_FLAG(0, "transaction", struct record_opts, transaction, "Record why transactions were aborted, if the hardware supports it"),
	OPT_STR('I', "intr-regs", struct record_opts, regs_intr, "REGS", "Record registers at the sample: all, or these (ax,ip); ? lists them",
		.optional = true, .fallback = "all"),
	OPT_STR(0, "user-regs", struct record_opts, regs_user, "REGS", "Record user registers in the same way", .optional = true, .fallback = "all"),
	OPT_FLAG(0, "running-time", struct record_opts, live.running_times, "Record enabled and running times with every count"),
	OPT_FLAG(0, "switch-events", struct record_opts, live.switches, "Record context switches"),
	OPT_FLAG(0, "namespaces", struct record_opts, live.namespaces, "Record namespaces of tasks"),
	OPT_CALL('P', "period", NULL, "Record the period in every sample, even if fixed", record_take_period),
	OPT_CALL('T', "timestamp", NULL, "Record the time in every sample (default)", record_take_time),
	OPT_FLAG(0, "sample-cpu", struct record_opts, live.sample_cpu, "Record the CPU in every sample, even without -a or -C (report -s cpu)"),
	OPT_STR('o', "output", struct record_opts, output, "FILE", "Write FILE (perf.data, or standard output if that is a pipe), or - for standard output"),
	OPT_SIZE(0, "max-size", struct record_opts, max_size, "SIZE", "Stop after writing this much"),
	OPT_STR(0, "switch-output", struct record_opts, switch_output, "WHEN", "Switch to a new file on SIGUSR2 (signal), by size (100M) or time (30s); named FILE.TIME",
		.optional = true, .fallback = "signal"),
	OPT_FLAG(0, "timestamp-filename", struct record_opts, timestamp_filename, "Name the file FILE.TIME"),
	OPT_UINT(0, "switch-max-files", struct record_opts, switch_max_files, "N", "Keep the last N files of --switch-output"),
	OPT_FLAG(0, "overwrite", struct record_opts, live.overwrite, "Keep only the newest samples that fit into the rings; write them at the end, or on --switch-output"),
	OPT_FLAG(0, "tail-synthesize", struct record_opts, ignored, "Tasks and maps are always followed", .hidden = true),
	OPT_STR('m', "mmap-pages", struct record_opts, ring, "PAGES", "Ring buffer size per CPU: pages, or a size like 4M (512K)"),
	OPT_STR('k', "clockid", struct record_opts, clock, "CLOCK", "Clock for timestamps: mono, raw, real, boot, tai"),
	OPT_STR('z', "compression-level", struct record_opts, zstd, "LEVEL", "Compress with zstd (level 1)",
		.optional = true, .fallback = "1"),
	OPT_FLAG(0, "no-buffering", struct record_opts, live.at_once, "Flush every sample immediately"),
	OPT_SIZE(0, "mmap-flush", struct record_opts, live.min_bytes, "SIZE", "Skip rings with less data than this on wake-up (1)"),
	OPT_FLAG('B', "no-buildid", struct record_opts, no_build_ids, "No build ID table in the file"),
	OPT_FLAG('N', "no-buildid-cache", struct record_opts, no_build_id_cache, "Do not keep the programs and libraries with samples (in $PERF_BUILDID_DIR or ~/.debug)"),
	OPT_FLAG(0, "buildid-all", struct record_opts, all_build_ids, "Keep all mapped programs and libraries, not only those with samples"),
	OPT_FLAG(0, "buildid-mmap", struct record_opts, live.map_build_ids, "Have the kernel put build IDs into map records"),
	OPT_FLAG(0, "timestamp-boundary", struct record_opts, ignored, "Times of the first and last sample are always recorded", .hidden = true),
	OPT_FLAG('q', "quiet", struct record_opts, quiet, "No summary line, no progress"),
	OPT_CALL(0, "switch-output-event", "EVENT", "Start a new file when EVENT occurs, like SIGUSR2 with --switch-output; EVENT itself is not recorded", record_take_trigger),
	OPT_STR(0, "threads", struct record_opts, ignored_text, "SPEC", "There is already one reader per 16 CPUs, and they share one file", .optional = true, .hidden = true),
	OPT_FLAG(0, "kcore", struct record_opts, kcore, "FILE becomes a directory that also holds the kernel's code and symbols (/proc/kcore), for annotate on any machine"),
	OPT_FLAG(0, "off-cpu", struct record_opts, off_cpu, "Also record where threads wait: the scheduler's events with call chains, of the whole system (flame --off-cpu, flame --wall, sched why)"),
	OPT_STR('S', "snapshot", struct record_opts, snapshot, "OPTS", "For AUX tracing (Intel PT, SPE), which is not supported", .optional = true, .fallback = "", .hidden = true),
	OPT_FLAG(0, "no-bpf-event", struct record_opts, live.no_bpf_events, "BPF programs loaded during the recording are not recorded", .hidden = true),
	OPT_FLAG(0, "bpf-event", struct record_opts, ignored, "Always on", .hidden = true),
	OPT_FLAG(0, "sample-identifier", struct record_opts, live.sample_identifier, "Record the event ID in every sample, even for a single event", .hidden = true),
	OPT_STR(0, "affinity", struct record_opts, ignored_text, "HOW", "Not needed", .hidden = true),
	OPT_STR(0, "aio", struct record_opts, ignored_text, "N", "Not needed", .optional = true, .hidden = true),
	OPT_STR(0, "num-thread-synthesize", struct record_opts, ignored_text, "N", "Not needed", .hidden = true),
	OPT_STR(0, "proc-map-timeout", struct record_opts, ignored_text, "MS", "Not needed", .hidden = true),
	OPT_STR(0, "synth", struct record_opts, ignored_text, "WHAT", "Everything is synthesised", .hidden = true),
	OPT_STR(0, "vmlinux", struct record_opts, ignored_text, "FILE", "Not needed", .hidden = true),
	OPT_STR(0, "debuginfod", struct record_opts, ignored_text, "URLS", "Nothing is downloaded", .optional = true, .hidden = true),
	OPT_FLAG(0, "group", struct record_opts, one_group, "All events in one group, as -e '{a,b}'"),
	OPT_FLAG(0, "all-cgroups", struct record_opts, live.all_cgroups, "Record the cgroup of every sample (report -s cgroup)"),
	OPT_STR(0, "aux-sample", struct record_opts, ignored_text, "OPTS", "AUX tracing (Intel PT, SPE) is not supported", .optional = true, .refused = true),
	OPT_STR(0, "clang-opt", struct record_opts, ignored_text, "OPTS", "BPF programs in C are not supported", .refused = true),
	OPT_STR(0, "clang-path", struct record_opts, ignored_text, "PATH", "BPF programs in C are not supported", .refused = true),
	OPT_FLAG('R', "raw-samples", struct record_opts, live.raw_samples, "Record raw data of all events, not only tracepoints", .hidden = true),
	OPT_FLAG('f', "force", struct record_opts, ignored, "Obsolete", .hidden = true),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example record_examples[] = {
	{ "record -g -- make", "where a command and its children spend their time" },
	{ "record -F 99 -a -g -- sleep 10", "the whole system for ten seconds" },
	{ "record -p 1234", "a running process, until Ctrl-C" },
	{ "record --call-graph fp -- make",
	  "call chains by frame pointer, like perf's -g: cheapest, if programs have them" },
	{ "record -e cpu-clock --user-regs=ip,sp -- ls",
	  "code address and stack pointer (script -F +uregs)" },
	{ "record -e page-faults -c 1 -- ls", "every page fault" },
	{ "record -e sched:sched_switch -a -- sleep 1", "every context switch, with its data" },
	{ "record -a -g --overwrite --switch-output",
	  "wait; kill -USR2 writes what just happened" },
	{ 0 },
};

const struct command command_record = {
	.name = "record",
	.group = "Why",
	.summary = "sample a command, a process or the system into perf.data",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "The file is an ordinary perf.data, readable by perf, hotspot and others. It is "
		 "complete at any moment, even if the recorder is killed. Recording ends with the "
		 "command, with Ctrl-C, or when all processes of -p have exited; the exit status "
		 "is that of the command.\nPrograms and libraries with samples are kept by build "
		 "ID in $PERF_BUILDID_DIR or ~/.debug, so that the recording can still be "
		 "symbolised after a program is rebuilt (-N turns this off; `sonde buildid-cache` "
		 "lists and removes them). Installed files become hard links where possible.\nWith "
		 "--json, standard output gets one line about the recording and nothing else; the "
		 "command's own output goes to standard error.",
	.examples = record_examples,
	.opts = record_rows,
	.opts_size = sizeof(struct record_opts),
	.defaults = record_defaults,
	.run = record_run,
};
