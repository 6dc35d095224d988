/* `sonde sched replay`: does the recorded load again, with threads that run, sleep and wake each other, in the layout of perf sched replay. */
#include "cmd/sched/sched.h"

#include "base/json.h"
#include "cmd/app/commands.h"
#include "session/sched_replay.h"
#include "stream/run.h"

#include <errno.h>

enum { TOP_RULE = 60 };

struct replay_call {
	struct app *app;
	const struct sched_opts *o;
	struct replay_plan *plan;
	struct sched_replay_costs costs;
	struct json json;
};

typedef unsigned long long ull;

/* ---- printing ---- */

static void print_head(struct replay_call *c)
{
	struct strbuf *to = &c->app->out;
	struct replay_totals t = replay_plan_totals(c->plan);
	size_t nr;
	const struct replay_task *tasks = replay_plan_tasks(c->plan, &nr);
	strbuf_printf(to, "run measurement overhead: %llu nsecs\n", (ull)c->costs.run_ns);
	strbuf_printf(to, "sleep measurement overhead: %llu nsecs\n", (ull)c->costs.sleep_ns);
	strbuf_printf(to, "the run test took %llu nsecs\n", (ull)c->costs.run_test_ns);
	strbuf_printf(to, "the sleep test took %llu nsecs\n", (ull)c->costs.sleep_test_ns);
	strbuf_printf(to, "nr_run_events:        %llu\n", (ull)t.nr_runs);
	strbuf_printf(to, "nr_sleep_events:      %llu\n", (ull)(t.nr_sleeps + t.nr_naps));
	strbuf_printf(to, "nr_wakeup_events:     %llu\n", (ull)t.nr_sleeps);
	if (t.nr_naps)
		strbuf_printf(to, "timed sleeps:         %llu\n", (ull)t.nr_naps);
	if (t.nr_joined)
		strbuf_printf(to, "run atoms optimized: %llu\n", (ull)t.nr_joined);
	for (size_t i = 0; i < nr; i++) {
		const struct thread_states *ts = replay_plan_states(c->plan);
		struct strbuf name;
		strbuf_init(&name);
		name.screen = to->screen;
		printable_name(&name, thread_comm(ts, tasks[i].thread));
		strbuf_printf(to, "task %6zu (%20s:%10d), nr_events: %zu\n", i, strbuf_cstr(&name),
			      thread_at(ts, tasks[i].thread)->tid, tasks[i].steps.nr);
		strbuf_done(&name);
	}
	strbuf_fill(to, '-', TOP_RULE);
	strbuf_char(to, '\n');
}

static void json_head(struct replay_call *c)
{
	struct json *j = &c->json;
	struct replay_totals t = replay_plan_totals(c->plan);
	size_t nr;
	const struct replay_task *tasks = replay_plan_tasks(c->plan, &nr);
	json_begin(j, &c->app->out, JSON_PRETTY);
	json_object(j);
	json_put_u64(j, "run_overhead_ns", c->costs.run_ns);
	json_put_u64(j, "sleep_overhead_ns", c->costs.sleep_ns);
	json_put_u64(j, "runs", t.nr_runs);
	json_put_u64(j, "run_ns", t.run_ns);
	json_put_u64(j, "wakeups", t.nr_sleeps);
	json_put_u64(j, "timed_sleeps", t.nr_naps);
	json_key(j, "tasks");
	json_array(j);
	for (size_t i = 0; i < nr; i++) {
		const struct thread_states *ts = replay_plan_states(c->plan);
		json_object(j);
		json_put_str(j, "comm", thread_comm(ts, tasks[i].thread));
		json_put_s64(j, "tid", thread_at(ts, tasks[i].thread)->tid);
		json_put_u64(j, "steps", tasks[i].steps.nr);
		json_object_end(j);
	}
	json_array_end(j);
	json_key(j, "rounds");
	json_array(j);
}

/* ---- rounds ---- */

/* perf's running averages: of equal weight for all rounds. */
static double average(double before, double now, u64 nr)
{
	return (before * (double)(nr - 1) + now) / (double)nr;
}

static int play(struct replay_call *c, struct sched_replay *r)
{
	s64 wanted = c->o->repeat;
	double wall = 0, cpu = 0;
	int err = 0;
	for (u64 i = 1; (wanted <= 0 || i <= (u64)wanted) && !err; i++) {
		struct sched_replay_round one = sched_replay_round(r);
		double wall_ms = (double)one.wall_ns / 1e6, cpu_ms = (double)one.cpu_ns / 1e6;
		wall = average(wall, wall_ms, i);
		cpu = average(cpu, cpu_ms, i);
		if (c->app->json) {
			json_object(&c->json);
			json_put_u64(&c->json, "wall_ns", one.wall_ns);
			json_put_u64(&c->json, "cpu_ns", one.cpu_ns);
			json_object_end(&c->json);
			continue;
		}
		strbuf_printf(&c->app->out, "#%-3llu: %0.3f, ravg: %0.2f, cpu: %0.2f / %0.2f\n",
			      (ull)i, wall_ms, wall, cpu_ms, cpu);
		err = app_flush(c->app);
	}
	return err;
}

static int replay(struct replay_call *c)
{
	struct app *app = c->app;
	struct sched_replay *r = NULL;
	size_t nr;
	(void)replay_plan_tasks(c->plan, &nr);
	if (!nr)
		return diag_error(&app->diag, -ENODATA, "%s: no task to replay", c->o->input);
	c->costs = sched_replay_measure();
	int err = sched_replay_new(c->plan, &c->costs, &r, &app->diag);
	if (err)
		return err;
	if (app->json)
		json_head(c);
	else
		print_head(c);
	if (!app->json)
		err = app_flush(app);
	if (!err)
		err = play(c, r);
	sched_replay_free(r);
	if (!err && app->json) {
		json_array_end(&c->json);
		json_object_end(&c->json);
		err = json_end(&c->json);
	}
	return err;
}

static int load_and_replay(struct replay_call *c)
{
	struct run_tables tables = { 0 };
	struct source *src;
	int err = sched_open(c->app, c->o, &src);
	if (err)
		return err;
	c->plan = replay_plan_new();
	err = c->plan ? stream_run(src, replay_plan_sink(c->plan), 1, &tables, &c->app->diag)
		      : -ENOMEM;
	run_tables_done(&tables);
	if (!err)
		err = replay_plan_finish(c->plan);
	if (!err && !c->app->dialect->quiet_notes)
		sched_warn_losses(c->app, replay_plan_states(c->plan), src);
	src->ops->close(src);
	if (!err)
		err = replay(c);
	replay_plan_free(c->plan);
	return err;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct sched_opts *o = opts;
	struct replay_call c = { .app = app, .o = o };
	int status = sched_take_input(app, o, argc, argv);
	if (status)
		return status;
	if (app->json && o->repeat <= 0)
		return app_usage(app, "--json needs a number of rounds: -r N");
	int err = load_and_replay(&c);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt rows[] = {
	SCHED_INPUT_ROWS,
	OPT_INT('r', "repeat", struct sched_opts, repeat, "N",
		"replay N times (10); 0 or -1: until Ctrl-C"),
	OPT_END(),
};

static const struct opt_example examples[] = {
	{ "sched replay", "the recorded load ten times, with the time of each round" },
	{ "sched replay -r 1 -i before.data", "once" },
	{ 0 },
};

const struct command command_sched_replay = {
	.name = "replay",
	.summary = "replay a recorded load and measure how long it takes",
	.usage = "[OPTIONS] [FILE]",
	.about = "Each recorded thread is replayed by one that uses as much CPU time. It sleeps "
		 "until the thread that woke it wakes it again, or for the recorded time if an "
		 "interrupt ended the sleep. Compare the times of rounds between kernels, "
		 "settings or schedulers. The first number of a round is its duration, the second "
		 "the average so far; then CPU time and its average, all in milliseconds.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct sched_opts),
	.defaults = sched_defaults,
	.mixed_words = true,
	.same_opts = true,
	.run = run,
};
