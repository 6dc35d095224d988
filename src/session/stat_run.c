/* The runs of `sonde stat`: counters are opened, the command is let go, and what happens until its end is answered. */
#include "session/stat_run.h"

#include "base/clock.h"

#include "kern/watchdog.h"
#include "session/output.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	TERM_WAIT_NS = 2000000000, /* for a command that is told to end */
	ALIVE_NS = 100000000, /* how often threads of -t are looked for */
};

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
	for (size_t e = 0; s->tell.verbose && e < spec->nr_events; e++) {
		u64 sum[3] = { 0 };
		for (size_t slot = 0; slot < spec->nr_slots; slot++) {
			const struct count *c = &s->now[e * spec->nr_slots + slot];
			sum[0] += c->value;
			sum[1] += c->enabled_ns;
			sum[2] += c->running_ns;
		}
		if (spec->events[e].supported)
			strbuf_printf(s->tell.err, "%s: %llu %llu %llu\n", spec->events[e].name,
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
	diag_warn(d, "cgroup %s: the kernel does not count events for this cgroup yet", c->cgroup);
	diag_hint(d, "with v2, enable a controller in the parent: echo +pids "
		     ">/sys/fs/cgroup/cgroup.subtree_control");
}

/* -v: why rows say <not supported>. */
static void say_unsupported(struct stat_session *s)
{
	struct diag *d = s->tell.diag;
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
			diag_warn(d, "%s counts what a whole package does: only with %s or %s",
				  e->name, s->o->labels->all, s->o->labels->cpus);
		else if (s->tell.verbose)
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
		s->run.over = true;
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
	s->run.over |= !alive;
	return 0;
}

static int switch_events(struct stat_session *s, bool on)
{
	int err = !s->counters ? 0
		  : on	       ? counters_enable(s->counters, NULL)
			       : counters_disable(s->counters, NULL);
	if (err)
		return diag_error(s->tell.diag, err, "cannot enable or disable counters: %s",
				  strerror(-err));
	return 0;
}

static int on_delay(void *ctx, u64 expired)
{
	struct stat_session *s = ctx;
	(void)expired;
	int err = switch_events(s, true);
	s->start_ns = s->last_ns = clock_monotonic_ns();
	stat_say_switched(s, true);
	return err;
}

/* What ends a run, or happens during it. */
struct watches {
	struct loop_source *list[4];
	size_t nr;
};

static int watch_timer(struct stat_session *s, struct watches *w, u64 first_ns, u64 every_ns,
		       loop_fn fn)
{
	int err = loop_add_timer(s->run.loop, first_ns, every_ns, fn, s, &w->list[w->nr]);
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
	int err = s->run.child.pid ? 0 : watch_targets(s, w);
	if (!err && o->delay_ms > 0)
		err = watch_timer(s, w, (u64)o->delay_ms * 1000000, 0, on_delay);
	if (!err && o->interval_ms)
		err = watch_timer(s, w, o->interval_ms * 1000000, o->interval_ms * 1000000,
				  on_interval);
	else if (!err && o->timeout_ms) {
		err = command_run_deadline(&s->run, o->timeout_ms * 1000000, &w->list[w->nr]);
		w->nr += !err;
	}
	return err;
}

static void unwatch(struct stat_session *s, struct watches *w)
{
	while (w->nr)
		loop_remove(s->run.loop, w->list[--w->nr]);
}

static int start(struct stat_session *s)
{
	const struct stat_opts *o = s->o;
	int err = 0;
	bool on_exec = s->plan.of_command && !o->delay_ms;
	getrusage(RUSAGE_CHILDREN, &s->usage_before);
	if (o->delay_ms)
		stat_say_switched(s, false);
	else if (!on_exec)
		err = switch_events(s, true);
	s->start_ns = s->last_ns = clock_monotonic_ns();
	return err ? err : command_run_go(&s->run, s->argc ? s->argv[0] : NULL, s->tell.diag);
}

static int wait_for_end(struct stat_session *s)
{
	struct watches w = { .nr = 0 };
	int err = watch(s, &w);
	if (!err)
		err = command_run_wait(&s->run);
	s->end_ns = s->run.ended ? s->run.ended_ns : clock_monotonic_ns();
	unwatch(s, &w);
	command_run_stop(&s->run, SIGTERM, TERM_WAIT_NS);
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
		.opened = output_attr_dir() ? output_attr : NULL,
		.opened_ctx = (void *)(uintptr_t)output_attr_dir(),
	};
	s->counters = counters_open(&s->root, &co, s->tell.diag);
	return s->counters ? stat_plan_opened(p) : -EIO;
}

static void say_death(struct stat_session *s)
{
	if (s->run.ended && WIFSIGNALED(s->run.wait_status))
		strbuf_printf(s->tell.err, "%s: %s\n", s->argv[0],
			      strsignal(WTERMSIG(s->run.wait_status)));
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
	(void)strbuf_flush(s->tell.err);
	int status = system(command);
	if (status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
		return diag_error(s->tell.diag, -EIO, "%s: cannot run '%s'", option, command);
	return 0;
}

static void on_orphaned(void *ctx)
{
	(void)ctx; /* its end closes what it keeps */
}

/*
 * The kernel detaches tracepoints one at a time and waits for all CPUs after each (some 40 ms): several hundred take as long as 15 s,
 * and threads do not help, as all of it is under one lock. A process of its own keeps one event of each until we are gone, so that
 * the results need not wait. The events count nothing any more.
 */
static void leave_detaching(struct stat_session *s)
{
	enum { SEVERAL = 8 };
	if (!s->counters || s->detaching.pid)
		return;
	_cleanup_free_ int *fds = calloc(s->plan.counters.nr + 1, sizeof(*fds));
	u32 nr = fds ? counters_tracepoint_fds(s->counters, fds) : 0;
	if (nr < SEVERAL || watchdog_start(&s->detaching, on_orphaned, NULL, fds, nr))
		return;
	diag_note(
		s->tell.diag, "%u tracepoints are being detached in the background (process %d): the kernel is slow at it",
		nr, (int)s->detaching.pid);
}

void stat_run_end(struct stat_session *s)
{
	leave_detaching(s);
	counters_close(s->counters);
	s->counters = NULL;
	command_run_forget(&s->run);
}

static int run_once(struct stat_session *s, bool first)
{
	size_t nr = s->plan.counters.nr * s->plan.slots.nr;
	int err = s->o->pre ? shell(s, s->o->pre, s->o->labels->pre) : 0;
	if (s->o->sync_first)
		sync();
	s->end_ns = s->user_ns = s->system_ns = 0;
	memset(s->before, 0, nr * sizeof(*s->before));
	if (!err && s->argc) {
		err = command_run_prepare(&s->run, s->argv, NULL, s->tell.diag);
		if (!err)
			stat_plan_set_command(&s->plan, s->run.child.pid);
	}
	if (!err)
		err = open_counters(s);
	if (!err && s->o->record)
		err = stat_record_open(s);
	if (err)
		return err;
	if (first)
		say_unsupported(s);
	tell_say(&s->tell);
	err = start(s);
	if (!err)
		err = wait_for_end(s);
	if (!err && s->counters && !s->plan.of_command)
		err = switch_events(s, false);
	if (!err)
		err = finish_run(s);
	if (!err)
		err = stat_record_finish(s);
	if (!err && s->o->post)
		err = shell(s, s->o->post, s->o->labels->post);
	return err;
}

static void forget_runs(struct stat_session *s)
{
	stat_reset(&s->acc);
	s->elapsed.list.nr = 0;
	s->elapsed_mean = (struct stat_mean){ 0 };
}

int stat_run_all(struct stat_session *s)
{
	int err = 0;
	for (u64 i = 0; !err && (!s->o->repeat || i < s->o->repeat) && !s->run.signal; i++) {
		if (s->o->repeat > 1 && s->tell.verbose)
			strbuf_printf(s->tell.err, "[ %s: run %llu of %llu ]\n", s->tell.title,
				      (unsigned long long)i + 1, (unsigned long long)s->o->repeat);
		err = run_once(s, !i);
		stat_run_end(s);
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

/* The command may end in its own way and is counted to its end, unless it is asked for twice. */
int stat_run_watch(struct stat_session *s)
{
	int err = command_run_open(&s->run,
				   &(struct command_run_opts){ .hangup = true, .forward = true });
	if (!err && s->o->control)
		err = command_run_control(&s->run, s->o->labels->control, s->o->control,
					  s->tell.diag);
	return err ? err : command_run_listen(&s->run, stat_obey, s);
}
