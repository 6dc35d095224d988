/* sonde stat: counts events of a command, of processes, of CPUs or cgroups, as perf stat does. */
#include "cmd/stat.h"

#include "base/clock.h"
#include "cmd/commands.h"
#include "cmd/written.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SHORT_MS = 100, /* below it our own work shows in the counts */
	TERM_WAIT_MS = 2000, /* for a command that is told to end */
	ALIVE_NS = 100000000, /* how often threads of -t are looked for */
};

/* ---- options ---------------------------------------------------------------------------------------------------- */

static int add_word(void *opts, enum stat_word_kind kind, const char *text)
{
	struct stat_word *w = vec_push(&((struct stat_opts *)opts)->words.list);
	if (!w)
		return -ENOMEM;
	*w = (struct stat_word){ .kind = kind, .text = text };
	return 0;
}

static int take_event(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	(void)d;
	return add_word(opts, STAT_WORD_EVENT, value);
}

static bool has_events(const struct stat_opts *o)
{
	vec_for_each (&o->words.list, w)
		if (w->kind == STAT_WORD_EVENT)
			return true;
	return false;
}

static int take_filter(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	if (!has_events(opts))
		return diag_error(d, -EINVAL, "--filter belongs behind the -e it is for");
	return add_word(opts, STAT_WORD_FILTER, value);
}

static int take_cgroup(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	(void)d;
	return add_word(opts, STAT_WORD_CGROUP, value);
}

static int check_options(const struct stat_opts *o, int argc, struct diag *d)
{
	bool repeats = o->repeat != 1;
	if (o->separator && o->json)
		return diag_error(d, -EINVAL, "-x and -j are two formats: choose one");
	if (o->table && !repeats)
		return diag_error(d, -EINVAL, "--table shows the runs of -r N");
	if (o->metric_only && repeats)
		return diag_error(d, -EINVAL, "--metric-only does not go with -r");
	if (o->interval_count && !o->interval_ms)
		return diag_error(d, -EINVAL, "--interval-count counts the intervals of -I MS");
	if (o->timeout_ms && o->interval_ms)
		return diag_error(d, -EINVAL, "--timeout does not go with -I: use --interval-count");
	if (repeats && !argc)
		return diag_error(d, -EINVAL, "-r repeats a command: which one?");
	if (o->record && repeats)
		return diag_error(d, -EINVAL, "-r does not go with 'stat record': it keeps one run");
	if (o->record && (o->append || o->log_fd_given))
		return diag_error(d, -EINVAL, "%s does not go with 'stat record': -o is its file",
				  o->append ? "--append" : "--log-fd");
	if (o->append && !o->output)
		return diag_error(d, -EINVAL, "--append belongs to -o FILE");
	if (o->output && o->log_fd_given)
		return diag_error(d, -EINVAL, "-o and --log-fd are two places: choose one");
	if (o->interval_ms && o->interval_ms < SHORT_MS / 10)
		diag_warn(d, "-I %llu: below 10 ms the reading itself shows in the counts",
			  (unsigned long long)o->interval_ms);
	return 0;
}

/* ---- a run -------------------------------------------------------------------------------------------------------- */

static u64 timeval_ns(const struct timeval *t)
{
	return (u64)t->tv_sec * 1000000000 + (u64)t->tv_usec * 1000;
}

static void read_usage(struct stat_session *s)
{
	struct rusage now;
	getrusage(RUSAGE_CHILDREN, &now);
	s->user_ns = timeval_ns(&now.ru_utime) - timeval_ns(&s->usage_before.ru_utime);
	s->system_ns = timeval_ns(&now.ru_stime) - timeval_ns(&s->usage_before.ru_stime);
}

static void read_counts(struct stat_session *s, u64 now_ns)
{
	const struct counters_clock clock = { .elapsed_ns = now_ns - s->start_ns,
					      .user_ns = s->user_ns,
					      .system_ns = s->system_ns };
	if (s->counters)
		counters_read(s->counters, &clock, s->now);
}

/* -v: what the kernel said, as perf shows it. */
static void say_counts(struct stat_session *s)
{
	const struct stat_spec *spec = &s->plan.spec;
	for (size_t e = 0; s->app->verbose && e < spec->nr_events; e++) {
		u64 sum[3] = { 0 };
		for (size_t slot = 0; slot < spec->nr_slots; slot++) {
			const struct count *c = &s->now[e * spec->nr_slots + slot];
			sum[0] += c->value;
			sum[1] += c->enabled_ns;
			sum[2] += c->running_ns;
		}
		if (spec->events[e].supported)
			strbuf_printf(&s->app->err, "%s: %llu %llu %llu\n", spec->events[e].name,
				      (unsigned long long)sum[0], (unsigned long long)sum[1],
				      (unsigned long long)sum[2]);
	}
}

/*
 * v2 gives a group the implicit perf_event controller only once its parent has handed down any other; until then the kernel
 * answers ENOENT, which looks like a missing event.
 */
static void say_no_controller(const struct counter *c, struct diag *d)
{
	diag_warn(d, "cgroup %s: the kernel does not count events by this group yet", c->cgroup);
	diag_hint(d, "v2 does when the parent has a controller enabled: echo +pids "
		     ">/sys/fs/cgroup/cgroup.subtree_control");
}

/* -v: why rows say <not supported>. */
static void say_unsupported(struct stat_session *s)
{
	struct diag *d = &s->app->diag;
	const char *said = NULL;
	vec_for_each (&s->plan.counters, c) {
		bool soft = c->desc->attr.type == PERF_TYPE_SOFTWARE;
		if (c->cgroup && c->why_not == -ENOENT && soft && said != c->cgroup) {
			say_no_controller(c, d);
			said = c->cgroup;
		}
		if (c->supported)
			continue;
		const struct event_desc *e = c->desc;
		if (e->is_uncore && !s->plan.system_wide)
			diag_warn(d, "%s counts what a whole package does: only with -a or -C",
				  e->name);
		else if (s->app->verbose)
			diag_note(d, "%s is not supported here: %s", e->name,
				  e->why_not ? e->why_not : strerror(-c->why_not));
	}
}

static int take_interval(struct stat_session *s, u64 now_ns)
{
	const struct stat_spec *spec = &s->plan.spec;
	size_t nr = (size_t)spec->nr_events * spec->nr_slots;
	read_counts(s, now_ns);
	say_counts(s);
	stat_delta(spec, s->now, s->before, s->delta);
	memcpy(s->before, s->now, nr * sizeof(*s->now));
	stat_reset(&s->acc);
	stat_add(&s->acc, s->delta);
	int err = stat_record_round(s, now_ns - s->start_ns, false);
	if (!err)
		err = stat_print_interval(s, now_ns);
	s->last_ns = now_ns;
	s->nr_intervals++;
	return err;
}

static int on_interval(void *ctx, u64 expired)
{
	struct stat_session *s = ctx;
	(void)expired;
	int err = take_interval(s, clock_monotonic_ns());
	if (err)
		return err;
	if (s->o->interval_count && s->nr_intervals >= s->o->interval_count)
		s->over = true;
	return 0;
}

static int on_timeout(void *ctx, u64 expired)
{
	(void)expired;
	((struct stat_session *)ctx)->over = true;
	return 0;
}

static bool owns_terminal(void)
{
	return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/*
 * The first signal is the command's, too: it may end in its own way, and is counted to its end. A terminal has sent Ctrl-C to
 * it already. The second one ends the counting.
 */
static int on_signal(void *ctx, u64 signo)
{
	struct stat_session *s = ctx;
	bool again = s->stop_signal;
	s->stop_signal = (int)signo;
	if (!s->child.pid || s->child_ended || again) {
		s->over = true;
		return 0;
	}
	if (signo != SIGINT || !owns_terminal())
		(void)kill(s->child.pid, (int)signo);
	return 0;
}

static int on_child(void *ctx, u64 status)
{
	struct stat_session *s = ctx;
	s->end_ns = clock_monotonic_ns();
	s->child_ended = s->over = true;
	s->child_status = (int)status;
	return 0;
}

/* -t: threads have no descriptor to wait for on older kernels. */
static int on_look(void *ctx, u64 expired)
{
	struct stat_session *s = ctx;
	(void)expired;
	bool alive = false;
	for (size_t i = 0; i < s->plan.slots.nr && !alive; i++)
		alive = s->plan.slots.at[i].tid > 0 &&
			(!syscall(SYS_tkill, s->plan.slots.at[i].tid, 0) || errno != ESRCH);
	s->over |= !alive;
	return 0;
}

static int switch_events(struct stat_session *s, bool on)
{
	int err = !s->counters ? 0
		  : on	       ? counters_enable(s->counters, NULL)
			       : counters_disable(s->counters, NULL);
	if (err)
		return diag_error(&s->app->diag, err, "cannot switch the counters: %s",
				  strerror(-err));
	return 0;
}

/* Only where somebody waits for it: -D and --control. */
static void say_switched(struct stat_session *s, bool on)
{
	strbuf_str(&s->app->err, on ? "Events enabled\n" : "Events disabled\n");
	(void)strbuf_flush(&s->app->err);
}

static int on_delay(void *ctx, u64 expired)
{
	struct stat_session *s = ctx;
	(void)expired;
	int err = switch_events(s, true);
	s->start_ns = s->last_ns = clock_monotonic_ns();
	say_switched(s, true);
	return err;
}

static int control_enable(void *ctx, const char *name, bool on)
{
	struct stat_session *s = ctx;
	int err = !s->counters ? 0
		  : on	       ? counters_enable(s->counters, name)
			       : counters_disable(s->counters, name);
	if (!err && !name)
		say_switched(s, on);
	else if (!err)
		strbuf_printf(&s->app->err, "Event %s %s\n", name, on ? "enabled" : "disabled");
	(void)strbuf_flush(&s->app->err);
	return err;
}

static void control_list(void *ctx, int fd)
{
	struct stat_session *s = ctx;
	(void)fd;
	vec_for_each (&s->plan.events, e)
		strbuf_printf(&s->app->err, "%s\n", e->name);
	(void)strbuf_flush(&s->app->err);
}

static void control_stop(void *ctx)
{
	((struct stat_session *)ctx)->over = true;
}

static int on_control(void *ctx, u64 events)
{
	static const struct stat_control_ops ops = { control_enable, control_list, control_stop };
	struct stat_session *s = ctx;
	(void)events;
	if (stat_control_read(&s->control, &ops, s))
		return 0;
	return 0;
}

/* What ends a run, or happens during it. */
struct watches {
	struct loop_source *list[4];
	size_t nr;
};

static int watch_timer(struct stat_session *s, struct watches *w, u64 first_ns, u64 every_ns,
		       loop_fn fn)
{
	int err = loop_add_timer(s->loop, first_ns, every_ns, fn, s, &w->list[w->nr]);
	w->nr += !err;
	return err;
}

static int watch_targets(struct stat_session *s, struct watches *w)
{
	if (s->plan.tids.nr || s->plan.pids.nr)
		return watch_timer(s, w, ALIVE_NS, ALIVE_NS, on_look);
	return 0;
}

static int watch(struct stat_session *s, struct watches *w)
{
	const struct stat_opts *o = s->o;
	int err = s->child.pid ? loop_add_child(s->loop, s->child.pid, on_child, s)
			       : watch_targets(s, w);
	if (!err && o->delay_ms > 0)
		err = watch_timer(s, w, (u64)o->delay_ms * 1000000, 0, on_delay);
	if (!err && o->interval_ms)
		err = watch_timer(s, w, o->interval_ms * 1000000, o->interval_ms * 1000000,
				  on_interval);
	else if (!err && o->timeout_ms)
		err = watch_timer(s, w, o->timeout_ms * 1000000, 0, on_timeout);
	return err;
}

static void unwatch(struct stat_session *s, struct watches *w)
{
	while (w->nr)
		loop_remove(s->loop, w->list[--w->nr]);
}

/* A command that is still there when the counting is over is told to end. */
static void end_child(struct stat_session *s)
{
	if (!s->child.pid || s->child_ended)
		return;
	u64 end_ns = s->end_ns, limit = clock_monotonic_ns() + TERM_WAIT_MS * 1000000ull;
	s->child_was_ended = true;
	(void)kill(s->child.pid, SIGTERM);
	while (!s->child_ended && clock_monotonic_ns() < limit)
		if (loop_step(s->loop, 100) < 0)
			break;
	if (!s->child_ended) {
		(void)kill(s->child.pid, SIGKILL);
		while (waitpid(s->child.pid, &s->child_status, 0) < 0 && errno == EINTR)
			;
		s->child_ended = true;
	}
	s->end_ns = end_ns;
}

static int start(struct stat_session *s)
{
	const struct stat_opts *o = s->o;
	int err = 0;
	bool on_exec = s->plan.of_command && !o->delay_ms;
	getrusage(RUSAGE_CHILDREN, &s->usage_before);
	if (o->delay_ms)
		say_switched(s, false);
	else if (!on_exec)
		err = switch_events(s, true);
	s->start_ns = s->last_ns = clock_monotonic_ns();
	if (!err && s->child.pid)
		err = child_go(&s->child, s->argv[0], &s->app->diag);
	return err;
}

static int wait_for_end(struct stat_session *s)
{
	struct watches w = { .nr = 0 };
	int err = watch(s, &w);
	while (!err && !s->over)
		err = min(loop_step(s->loop, -1), 0);
	if (!s->end_ns)
		s->end_ns = clock_monotonic_ns();
	unwatch(s, &w);
	end_child(s);
	return err;
}

static int open_counters(struct stat_session *s)
{
	const struct stat_opts *o = s->o;
	struct stat_plan *p = &s->plan;
	if (!p->counters.nr)
		return 0;
	const struct counters_opts co = {
		.counters = p->counters.at,
		.nr_counters = (u32)p->counters.nr,
		.slots = p->slots.at,
		.nr_slots = (u32)p->slots.nr,
		.on_exec = p->of_command && !o->delay_ms,
		.no_inherit = o->no_inherit,
		.only_user = o->only_user,
		.only_kernel = o->only_kernel,
		.opened = written_attr_dir() ? written_attr : NULL,
		.opened_ctx = (void *)(uintptr_t)written_attr_dir(),
	};
	s->counters = counters_open(&s->root, &co, &s->app->diag);
	return s->counters ? stat_plan_opened(p) : -EIO;
}

static void say_death(struct stat_session *s)
{
	if (s->child_ended && WIFSIGNALED(s->child_status))
		strbuf_printf(&s->app->err, "%s: %s\n", s->argv[0],
			      strsignal(WTERMSIG(s->child_status)));
}

/* Sums up a run whose command has ended; in interval mode the last piece is printed. */
static int finish_run(struct stat_session *s)
{
	double *elapsed = vec_push(&s->elapsed.list);
	if (!elapsed)
		return -ENOMEM;
	*elapsed = (double)(s->end_ns - s->start_ns) / 1e9;
	stat_mean_add(&s->elapsed_mean, *elapsed);
	read_usage(s);
	say_death(s);
	bool counted_out = s->o->interval_count && s->nr_intervals >= s->o->interval_count;
	int err = 0;
	if (s->o->interval_ms && !counted_out)
		err = take_interval(s, s->end_ns);
	else {
		read_counts(s, s->end_ns);
		say_counts(s);
	}
	if (!s->o->interval_ms)
		err = stat_record_round(s, s->end_ns - s->start_ns, true);
	if (!s->o->interval_ms)
		stat_add(&s->acc, s->now);
	else
		stat_add(&s->total, s->now);
	return err;
}

static int shell(struct stat_session *s, const char *command, const char *option)
{
	(void)strbuf_flush(&s->app->err);
	int status = system(command);
	if (status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
		return diag_error(&s->app->diag, -EIO, "%s: cannot run '%s'", option, command);
	return 0;
}

static void end_run(struct stat_session *s)
{
	counters_close(s->counters);
	s->counters = NULL;
	child_done(&s->child);
	s->child = (struct child){ .go_fd = -1, .exec_fd = -1 };
}

/* 0, negative errno, or a positive exit status. */
static int run_once(struct stat_session *s, bool first)
{
	struct app *app = s->app;
	size_t nr = s->plan.counters.nr * s->plan.slots.nr;
	int err = s->o->pre ? shell(s, s->o->pre, "--pre") : 0;
	if (s->o->sync_first)
		sync();
	s->over = s->child_ended = false;
	s->end_ns = s->user_ns = s->system_ns = 0;
	memset(s->before, 0, nr * sizeof(*s->before));
	if (!err && s->argc) {
		err = child_prepare(&s->child, s->argv, loop_old_signals(s->loop), &app->diag);
		if (!err)
			stat_plan_set_command(&s->plan, s->child.pid);
	}
	if (!err)
		err = open_counters(s);
	if (!err && s->o->record)
		err = stat_record_open(s);
	if (err)
		return err;
	if (first)
		say_unsupported(s);
	app_say(app);
	err = start(s);
	if (err && s->argc && !s->child.pid)
		return child_exec_status(err);
	if (!err)
		err = wait_for_end(s);
	if (!err && s->counters && !s->plan.of_command)
		err = switch_events(s, false);
	if (!err)
		err = finish_run(s);
	if (!err)
		err = stat_record_finish(s);
	if (!err && s->o->post)
		err = shell(s, s->o->post, "--post");
	return err;
}

static void forget_runs(struct stat_session *s)
{
	stat_reset(&s->acc);
	s->elapsed.list.nr = 0;
	s->elapsed_mean = (struct stat_mean){ 0 };
}

static int run_all(struct stat_session *s)
{
	int err = 0;
	for (u64 i = 0; !err && (!s->o->repeat || i < s->o->repeat) && !s->stop_signal; i++) {
		if (s->o->repeat > 1 && s->app->verbose)
			strbuf_printf(&s->app->err, "[ %s: run %llu of %llu ]\n", s->app->title,
				      (unsigned long long)i + 1, (unsigned long long)s->o->repeat);
		err = run_once(s, !i);
		end_run(s);
		if (!err && !s->o->repeat) {
			err = stat_print_whole(s, &s->acc);
			forget_runs(s);
		}
	}
	if (err || !s->o->repeat)
		return err;
	if (!s->o->interval_ms)
		return stat_print_whole(s, &s->acc);
	return s->o->summary ? stat_print_whole(s, &s->total) : 0;
}

static int watch_signals(struct stat_session *s)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(signals) && !err; i++)
		err = loop_add_signal(s->loop, signals[i], on_signal, s);
	if (!err && s->o->control) {
		err = stat_control_open(&s->control, s->o->control, &s->app->diag);
		if (!err)
			err = loop_add_fd(s->loop, s->control.fd, EPOLLIN, on_control, s, NULL);
	}
	return err;
}

static int make_room(struct stat_session *s)
{
	size_t nr = max(s->plan.counters.nr * s->plan.slots.nr, (size_t)1);
	s->now = calloc(nr, sizeof(*s->now));
	s->before = calloc(nr, sizeof(*s->before));
	s->delta = calloc(nr, sizeof(*s->delta));
	if (!s->now || !s->before || !s->delta)
		return -ENOMEM;
	int err = stat_open(&s->acc, &s->plan.spec);
	return err ? err : stat_open(&s->total, &s->plan.spec);
}

static int stat_session(struct stat_session *s)
{
	struct app *app = s->app;
	struct diag *d = &app->diag;
	int err = check_options(s->o, s->argc, d);
	if (err)
		return app_usage_said(app);
	err = sysroot_open(&s->root, NULL);
	if (!err)
		err = stat_plan_init(&s->plan, s->o);
	if (!err)
		err = stat_plan_make(&s->plan, &s->root, s->argc, s->argv, d);
	if (err == -EINVAL)
		return app_usage_said(app);
	if (!err && s->argc) {
		err = child_check(s->argv[0], d);
		if (err)
			return child_exec_status(err);
	}
	if (!err)
		err = stat_print_open(s, d);
	if (!err)
		err = make_room(s);
	if (!err) {
		s->loop = loop_new();
		err = s->loop ? watch_signals(s) : -errno;
	}
	if (!err)
		err = run_all(s);
	if (err > 0)
		return err;
	if (err)
		return app_fail(app, err);
	app->die_of = s->stop_signal;
	bool own = s->argc && !s->stop_signal && !s->child_was_ended;
	return own ? child_exit_status(s->child_status) : APP_DONE;
}

static int stat_run(struct app *app, void *opts, int argc, char **argv)
{
	struct stat_opts *o = opts;
	struct stat_session s = { .app = app,
				  .o = o,
				  .argc = argc,
				  .argv = argv,
				  .root = { .dir_fd = -1 },
				  .control = { .fd = -1, .ack_fd = -1 },
				  .child = { .go_fd = -1, .exec_fd = -1 } };
	o->json |= app->json;
	strbuf_init(&s.out);
	app_live(app);
	int status = stat_session(&s);
	end_run(&s);
	stat_record_close(&s);
	loop_free(s.loop);
	stat_control_close(&s.control);
	stat_close(&s.acc);
	stat_close(&s.total);
	free(s.now);
	free(s.before);
	free(s.delta);
	vec_free(&s.elapsed.list);
	strbuf_done(&s.out);
	if (s.close_out && close(s.out_fd) && !status) {
		diag_error(&app->diag, -errno, "cannot write '%s': %s", o->output, strerror(errno));
		status = APP_FAILED;
	}
	if (s.plan.opts)
		stat_plan_done(&s.plan);
	sysroot_close(&s.root);
	vec_free(&o->words.list);
	return status;
}

static int stat_run_recording(struct app *app, void *opts, int argc, char **argv)
{
	((struct stat_opts *)opts)->record = true;
	return stat_run(app, opts, argc, argv);
}

static void stat_defaults(void *opts)
{
	*(struct stat_opts *)opts =
		(struct stat_opts){ .repeat = 1, .big_num = true, .scale = true };
}

/* clang-format off */
static const struct opt stat_rows[] = {
	OPT_HEADING("What to count"),
	OPT_CALL('e', "event", "EVENT", "Events, separated by commas; {a,b} is a group; `sonde list` shows them", take_event),
	OPT_CALL(0, "filter", "FILTER", "Only tracepoints of the -e before where this holds", take_filter),
	OPT_COUNT('d', "detailed", struct stat_opts, detailed, "Caches, too; twice and three times: more of them"),
	OPT_LIST('M', "metrics", struct stat_opts, metrics, "LIST|FILE", "Ratios and the events they need; or a file of lines NAME = EXPRESSION [; UNIT [; ABOUT]]"),
	OPT_FLAG('T', "transaction", struct stat_opts, transaction, "Transactions of Intel's TSX: cycles inside of them, aborted ones"),
	OPT_FLAG('n', "null", struct stat_opts, null_run, "Nothing: only the time"),
	OPT_FLAG(0, "all-user", struct stat_opts, only_user, "User space only"),
	OPT_FLAG(0, "all-kernel", struct stat_opts, only_kernel, "The kernel only"),
	OPT_FLAG('g', "group", struct stat_opts, group_all, "All events as one group"),
	OPT_HEADING("Of what"),
	OPT_FLAG('a', "all-cpus", struct stat_opts, all, "The whole system; with a command: while it runs"),
	OPT_STR('C', "cpu", struct stat_opts, cpus, "LIST", "These CPUs only (0-3,8)"),
	OPT_STR('p', "pid", struct stat_opts, pids, "PID", "Running processes with all their threads"),
	OPT_STR('t', "tid", struct stat_opts, tids, "TID", "Running threads"),
	OPT_FLAG('i', "no-inherit", struct stat_opts, no_inherit, "Not the children and threads made later"),
	OPT_CALL('G', "cgroup", "NAMES", "Each event before it in its cgroup; a single name is for all of them", take_cgroup),
	OPT_STR(0, "for-each-cgroup", struct stat_opts, each_cgroup, "NAMES", "All events once for each of these cgroups (names or patterns)"),
	OPT_HEADING("When"),
	OPT_UINT('I', "interval-print", struct stat_opts, interval_ms, "MS", "Print what was counted since the last time, every MS milliseconds"),
	OPT_UINT(0, "interval-count", struct stat_opts, interval_count, "N", "End after N intervals"),
	OPT_FLAG(0, "interval-clear", struct stat_opts, interval_clear, "Clear the screen before each interval"),
	OPT_UINT(0, "timeout", struct stat_opts, timeout_ms, "MS", "End after MS milliseconds"),
	OPT_INT('D', "delay", struct stat_opts, delay_ms, "MS", "Begin MS later; -1: when --control says so"),
	OPT_UINT('r', "repeat", struct stat_opts, repeat, "N", "Run the command N times and show mean and spread; 0: until Ctrl-C"),
	OPT_STR(0, "pre", struct stat_opts, pre, "COMMAND", "Run this before each run"),
	OPT_STR(0, "post", struct stat_opts, post, "COMMAND", "Run this after each run"),
	OPT_FLAG('S', "sync", struct stat_opts, sync_first, "sync() before each run"),
	OPT_STR(0, "control", struct stat_opts, control, "fd:CTL[,ACK]", "Obey 'enable', 'disable', 'ping', 'stop' from a descriptor or fifo:PATH"),
	OPT_HEADING("How counts are added up"),
	OPT_FLAG('A', "no-aggr", struct stat_opts, no_aggr, "Not at all: a row for each CPU"),
	OPT_FLAG(0, "per-core", struct stat_opts, per_core, "By core"),
	OPT_FLAG(0, "per-die", struct stat_opts, per_die, "By die"),
	OPT_FLAG(0, "per-socket", struct stat_opts, per_socket, "By socket"),
	OPT_FLAG(0, "per-node", struct stat_opts, per_node, "By NUMA node"),
	OPT_FLAG(0, "per-thread", struct stat_opts, per_thread, "By thread, with -p, -t or for all there are"),
	OPT_FLAG(0, "no-merge", struct stat_opts, no_merge, "A row for each instance of a PMU (uncore_imc_0, uncore_imc_1)"),
	OPT_HEADING("Output"),
	OPT_STR('x', "field-separator", struct stat_opts, separator, "SEP", "Rows with this between the fields, for programs; '\\t' is a tab"),
	OPT_FLAG('j', "json-output", struct stat_opts, json, "A JSON object a row"),
	OPT_STR('o', "output", struct stat_opts, output, "FILE", "Write FILE instead of standard error"),
	OPT_FLAG(0, "append", struct stat_opts, append, "Add to the FILE of -o"),
	OPT_INT(0, "log-fd", struct stat_opts, log_fd, "N", "Write to this open descriptor", OPT_SEEN(struct stat_opts, log_fd_given)),
	OPT_FLAG(0, "summary", struct stat_opts, summary, "After the intervals of -I: the whole"),
	OPT_FLAG(0, "no-csv-summary", struct stat_opts, no_csv_summary, "Rows of --summary do not begin with 'summary'"),
	OPT_FLAG(0, "metric-only", struct stat_opts, metric_only, "Only the ratios, as columns"),
	OPT_FLAG(0, "table", struct stat_opts, table, "The time of each run of -r"),
	OPT_FLAG('B', "big-num", struct stat_opts, big_num, "Groups of digits as the locale has them (the default); --no-big-num: none"),
	OPT_FLAG(0, "quiet", struct stat_opts, quiet, "No counts at all"),
	OPT_FLAG('c', "scale", struct stat_opts, scale, "Scale multiplexed counts to the whole time (the default); --no-scale: as they are"),
	OPT_FLAG(0, "metric-no-group", struct stat_opts, ignored, "Groups of -M are taken apart by themselves", .hidden = true),
	OPT_FLAG(0, "metric-no-merge", struct stat_opts, ignored, "", .hidden = true),
	OPT_FLAG(0, "hybrid-merge", struct stat_opts, ignored, "Rows of cpu_core and cpu_atom are one unless --no-merge", .hidden = true),
	OPT_FLAG(0, "topdown", struct stat_opts, ignored, "Write the formulae into a file for -M: the events are sonde list 'topdown*'", .refused = true),
	OPT_FLAG(0, "smi-cost", struct stat_opts, ignored, "Count -e msr/smi/,msr/aperf/,cycles", .refused = true),
	OPT_FLAG(0, "iostat", struct stat_opts, ignored, "Count the uncore_iio PMUs by name: sonde list 'uncore_iio*'", .refused = true),
	OPT_STR(0, "cputype", struct stat_opts, separator, "TYPE", "Name the PMU in the event: -e cpu_core/cycles/", .refused = true),
	OPT_FLAG(0, "percore-show-thread", struct stat_opts, ignored, "Use -A, or --per-core for the sum", .refused = true),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example stat_examples[] = {
	{ "stat -- make", "what a command and its children cost" },
	{ "stat -e cycles,instructions,cache-misses -r 5 -- ./job",
	  "these events, mean and spread of five runs" },
	{ "stat -a -- sleep 5", "the whole system for five seconds" },
	{ "stat -C 0-3 -A -e context-switches,page-faults -- sleep 1",
	  "a row for each of four CPUs" },
	{ "stat -p 1234", "a running process, until Ctrl-C" },
	{ "stat -a -e kmem:kmalloc -I 1000", "a tracepoint, second by second" },
	{ "stat -e '{cycles,instructions}:u' -x, -o counts.csv -- ./job",
	  "a group, as CSV in a file" },
	{ "stat -a -e task-clock,faults --for-each-cgroup 'system.slice/*' -- sleep 1",
	  "by cgroup" },
	{ 0 },
};

static const struct opt_example record_examples[] = {
	{ "stat record -- make", "count, show, and keep the counts in perf.data" },
	{ "stat record -a -A -I 1000 -o day.data", "every second, by CPU, into a file of its own" },
	{ 0 },
};

const struct command command_stat_record = {
	.name = "record",
	.summary = "count, and keep the counts in a file",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "All options are those of `sonde stat`, but -o names the file that keeps the "
		 "counts "
		 "(perf.data without it; '-' is a pipe). "
		 "`sonde stat report` and `perf stat report` show it.",
	.examples = record_examples,
	.opts = stat_rows,
	.opts_size = sizeof(struct stat_opts),
	.defaults = stat_defaults,
	.same_opts = true,
	.run = stat_run_recording,
};

static const struct command *const stat_subs[] = { &command_stat_record, &command_stat_report,
						   NULL };

const struct command command_stat = {
	.name = "stat",
	.group = "What is happening",
	.summary = "count events of a command, a process or the system",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Counts go to standard error, so that standard output stays the command's; "
		 "options and layouts are those of perf "
		 "stat. Without a command it counts until Ctrl-C. A counter that shared the "
		 "hardware with others is scaled "
		 "to the whole time, and the share of time it really ran stands at the end of its "
		 "row.\n"
		 "<not supported> means that this machine has no such counter, <not counted> that "
		 "it never ran.",
	.examples = stat_examples,
	.opts = stat_rows,
	.opts_size = sizeof(struct stat_opts),
	.defaults = stat_defaults,
	.subs = stat_subs,
	.run = stat_run,
};
