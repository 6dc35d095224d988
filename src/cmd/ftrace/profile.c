/*
 * `sonde ftrace profile`: where tasks spend their time, as trace-cmd profile tells it:
 *
 *	task: sleep-1121
 *	  On CPU: 1200345 (3) Blocked: 1000513242 (1) Preempted: 234559 (2) Woken: 43405 (1)
 *	  Event: sched_switch:S (1) Total: 1000513242 Avg: 1000513242 Max: 1000513242(ts:12.345678) Min:1000513242(ts:12.345678)
 *	          |
 *	          + schedule (0xffffffff816c23b9)
 *	              100% (1) time:1000513242 max:1000513242(ts:12.345678) min:1000513242(ts:12.345678) avg:1000513242
 *	               do_nanosleep (0xffffffff816c4f1c)
 */
#include "cmd/ftrace/profile.h"

#include "analysis/event_times.h"
#include "view/latency.h"
#include "base/json.h"
#include "base/num.h"
#include "cmd/app/commands.h"
#include "cmd/ftrace/func_stat.h"
#include "cmd/ftrace/record.h"
#include "session/outfile.h"
#include "session/recording.h"
#include "stream/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_STEP = 2, STACK_INDENT = 10, DEPTH_MAX = 128, TASKS_MAX = 256 };

struct profile {
	struct app *app;
	struct source *src;
	struct event_times *times;
	const struct ftrace_profile_opts *o;
	struct strbuf *to;
};

/* ---- names ---- */

/* The saved name as everywhere; else what a scheduler event told. */
static const char *comm_of(void *ctx, s64 task)
{
	struct profile *p = ctx;
	const char *comm =
		task > 0 ? ftrace_env_comm(replay_ftrace_env(p->src, 0), (s32)task) : NULL;
	if (!comm || !strcmp(comm, "<...>"))
		comm = event_times_comm(p->times, task);
	return comm ? comm : task < 0 ? "<idle>" : "<...>";
}

static const char *symbol(const struct profile *p, u64 addr)
{
	u64 offset;
	return ftrace_env_symbol(replay_ftrace_env(p->src, 0), addr, &offset);
}

/* Of the function or the function graph tracer. */
static bool is_function(const struct event_time *r)
{
	return r->kind == EVENT_TIME_FUNCTION ||
	       (r->kind == EVENT_TIME_COUNT && r->label == EVENT_TIME_FUNC);
}

static void put_label(const struct profile *p, const struct event_time *r, struct strbuf *to)
{
	const char *name;
	char state[16];
	switch (r->label) {
	case EVENT_TIME_PLAIN: break;
	case EVENT_TIME_STATE:
		event_times_state(r->key, state);
		strbuf_printf(to, ":%s", state);
		break;
	case EVENT_TIME_HEX:
		if (p->o->human && !p->app->json && r->kind == EVENT_TIME_WAKE) /* a task's number */
			strbuf_printf(to, ":%lld", (long long)r->key);
		else
			strbuf_printf(to, ":0x%llx", (unsigned long long)r->key);
		break;
	case EVENT_TIME_NUMBER: strbuf_printf(to, ":%lld", (long long)r->key); break;
	case EVENT_TIME_SOFTIRQ:
		name = event_times_softirq(r->key);
		if (name)
			strbuf_printf(to, ":%s", name);
		else
			strbuf_printf(to, ":%llu", (unsigned long long)r->key);
		break;
	case EVENT_TIME_FUNC:
		name = symbol(p, r->key);
		if (!is_function(r))
			strbuf_char(to, ':');
		if (name)
			strbuf_str(to, name);
		else
			strbuf_printf(to, "0x%llx", (unsigned long long)r->key);
		break;
	}
}

/* "sched_switch:S", "func: vfs_read()" */
static void put_name(const struct profile *p, const struct event_time *r, struct strbuf *to)
{
	bool func = is_function(r);
	strbuf_str(to, func ? "func: " : r->event->name);
	put_label(p, r, to);
	if (func)
		strbuf_str(to, "()");
}

/* ---- text ---- */

static void put_ns(const struct profile *p, const char *name, u64 ns)
{
	strbuf_str(p->to, name);
	if (p->o->human)
		latency_put_time(p->to, ns);
	else
		strbuf_u64(p->to, ns);
}

static void put_at(const struct profile *p, const char *name, u64 ns, u64 at_ns)
{
	put_ns(p, name, ns);
	strbuf_printf(p->to, p->o->human ? " (at %llu.%06llu)" : "(ts:%llu.%06llu)",
		      (unsigned long long)((at_ns + 500) / 1000000000),
		      (unsigned long long)((at_ns + 500) / 1000 % 1000000));
}

static void put_stats(const struct profile *p, const struct event_time_stats *t)
{
	put_ns(p, " Total: ", t->total_ns);
	put_ns(p, " Avg: ", t->total_ns / t->nr);
	put_at(p, " Max: ", t->max_ns, t->max_at_ns);
	put_at(p, p->o->human ? " Min: " : " Min:", t->min_ns, t->min_at_ns);
}

static void put_address(const struct profile *p, u64 addr)
{
	const char *name = symbol(p, addr);
	strbuf_printf(p->to, "%s (0x%llx)\n", name ? name : "", (unsigned long long)addr);
}

static void put_margin(struct strbuf *to, const char *margin)
{
	strbuf_fill(to, ' ', STACK_INDENT);
	strbuf_str(to, margin);
}

static void sum_stacks(const struct event_time_stack *s, size_t nr, struct event_time_stats *sum)
{
	*sum = s[0].t;
	for (size_t i = 1; i < nr; i++) {
		sum->nr += s[i].t.nr;
		sum->total_ns += s[i].t.total_ns;
		if (s[i].t.max_ns > sum->max_ns) {
			sum->max_ns = s[i].t.max_ns;
			sum->max_at_ns = s[i].t.max_at_ns;
		}
		if (s[i].t.min_ns < sum->min_ns) {
			sum->min_ns = s[i].t.min_ns;
			sum->min_at_ns = s[i].t.min_at_ns;
		}
	}
}

/* How far they are equal, from `from` on. */
static u32 common_length(const struct event_time_stack *s, size_t nr, u32 from)
{
	u32 len = from;
	/* Sorted: the first and the last differ first. */
	while (len < s[0].nr_addrs && len < s[nr - 1].nr_addrs &&
	       s[0].addrs[len] == s[nr - 1].addrs[len])
		len++;
	return len;
}

/* Stacks that are equal before `from`, a branch for each place that follows there; whole: what 100 % is. */
static void put_stacks(const struct profile *p, const struct event_time_stack *s, size_t nr,
		       u32 from, u64 whole, char *margin, unsigned depth)
{
	struct strbuf *to = p->to;
	size_t end = strlen(margin);
	for (size_t i = 0, k; i < nr; i = k) {
		struct event_time_stats sum;
		for (k = i + 1; k < nr && s[i].nr_addrs > from && s[k].nr_addrs > from &&
				s[k].addrs[from] == s[i].addrs[from];)
			k++;
		/* Those that end here, where others go on. */
		while (k < nr && s[i].nr_addrs <= from && s[k].nr_addrs <= from)
			k++;
		if (s[i].nr_addrs <= from)
			continue;
		sum_stacks(s + i, k - i, &sum);
		u32 len = common_length(s + i, k - i, from);
		put_margin(to, margin);
		strbuf_str(to, "|\n");
		put_margin(to, margin);
		strbuf_str(to, "+ ");
		put_address(p, s[i].addrs[from]);
		margin[end] = k < nr ? '|' : ' ';
		margin[end + 1] = ' ';
		margin[end + 2] = '\0';
		put_margin(to, margin);
		strbuf_printf(to, "  %llu%% (%llu)",
			      (unsigned long long)(whole ? (sum.total_ns * 100 + whole / 2) / whole
							 : 100),
			      (unsigned long long)sum.nr);
		put_ns(p, " time:", sum.total_ns);
		put_at(p, " max:", sum.max_ns, sum.max_at_ns);
		put_at(p, " min:", sum.min_ns, sum.min_at_ns);
		put_ns(p, " avg:", sum.total_ns / sum.nr);
		strbuf_char(to, '\n');
		for (u32 n = from + 1; n < len; n++) {
			put_margin(to, margin);
			strbuf_str(to, "   ");
			put_address(p, s[i].addrs[n]);
		}
		if (k - i > 1 && depth + 1 < DEPTH_MAX) {
			memcpy(margin + end + 2, "  ", 3);
			put_stacks(p, s + i, k - i, len, sum.total_ns, margin, depth + 1);
		}
		margin[end] = '\0';
	}
}

enum { NR_SUMS = 4 };

static const char *const sum_names[NR_SUMS] = { "On CPU", "Blocked", "Preempted", "Woken" };

struct time_sum {
	u64 nr, ns;
};

/* What the task did as a whole; false: the scheduler tells nothing of it. */
static bool sum_task(const struct profile *p, size_t from, size_t to, struct time_sum sums[NR_SUMS])
{
	bool any = false;
	memset(sums, 0, NR_SUMS * sizeof(*sums));
	for (size_t i = from; i < to; i++) {
		const struct event_time *r = event_times_row(p->times, i);
		unsigned which;
		if (r->kind == EVENT_TIME_RUN)
			which = 0;
		else if (r->kind == EVENT_TIME_WAIT)
			which = r->key & EVENT_TIME_BLOCKED ? 1 : 2;
		else if (r->kind == EVENT_TIME_WAKE)
			which = 3;
		else
			continue;
		any = true;
		sums[which].nr += r->t.nr;
		sums[which].ns += r->t.total_ns;
	}
	return any;
}

static void put_summary(const struct profile *p, size_t from, size_t to)
{
	struct time_sum sums[NR_SUMS];
	if (!sum_task(p, from, to, sums))
		return;
	strbuf_char(p->to, ' ');
	for (size_t i = 0; i < NR_SUMS; i++) {
		strbuf_printf(p->to, " %s: ", sum_names[i]);
		put_ns(p, "", sums[i].ns);
		strbuf_printf(p->to, " (%llu)", (unsigned long long)sums[i].nr);
	}
	strbuf_char(p->to, '\n');
}

static void put_row(const struct profile *p, const struct event_time *r)
{
	char margin[(DEPTH_MAX + 1) * (2 * DEPTH_STEP) + 8] = "";
	strbuf_str(p->to, "  Event: ");
	put_name(p, r, p->to);
	strbuf_printf(p->to, " (%llu)", (unsigned long long)r->t.nr);
	if (r->kind != EVENT_TIME_COUNT)
		put_stats(p, &r->t);
	strbuf_char(p->to, '\n');
	if (!r->stacks.nr)
		return;
	struct event_time_stats sum;
	sum_stacks(r->stacks.at, r->stacks.nr, &sum);
	put_stacks(p, r->stacks.at, r->stacks.nr, 0, sum.total_ns, margin, 0);
	strbuf_char(p->to, '\n');
}

static void put_task(const struct profile *p, s64 task)
{
	if (task > INT32_MAX)
		strbuf_printf(p->to, "\ncpu: %lld\n", (long long)(INT64_MAX - task));
	else
		strbuf_printf(p->to, "\ntask: %s-%lld\n", comm_of((void *)p, task),
			      (long long)max(task, (s64)0));
}

/* Where the rows of a task end that begin at `from`. */
static size_t task_end(const struct profile *p, size_t from)
{
	size_t k = from;
	s64 task = event_times_row(p->times, from)->task;
	while (k < event_times_nr(p->times) && event_times_row(p->times, k)->task == task)
		k++;
	return k;
}

/*
 * With -F or -P: the scheduler's events of a task also tell of those before and after it on the CPU, which were not asked for. A child
 * that was followed has events that are its own: system calls, say. (The graph tracer of some kernels tells of others, too.)
 */
static bool is_wanted(const struct profile *p, size_t from, size_t to)
{
	if (!p->o->pids)
		return true;
	for (size_t i = 0; i < p->o->nr_pids; i++)
		if (event_times_row(p->times, from)->task == p->o->pids[i])
			return true;
	for (size_t i = from; i < to && p->o->children; i++) {
		const struct event_time *r = event_times_row(p->times, i);
		if (r->task > 0 && r->task <= INT32_MAX && strcmp(r->event->system, "sched") &&
		    strcmp(r->event->system, "irq") && strcmp(r->event->system, "ftrace"))
			return true;
	}
	return false;
}

static void put_columns(const struct profile *p, const struct time_sum *sums)
{
	for (size_t i = 0; i < NR_SUMS; i++) {
		struct strbuf cell;
		strbuf_init(&cell);
		latency_put_time(&cell, sums[i].ns);
		strbuf_char(p->to, ' ');
		strbuf_right(p->to, strbuf_cstr(&cell), 10);
		strbuf_done(&cell);
	}
}

/* A line for each task, before the details. */
static void print_overview(const struct profile *p)
{
	strbuf_printf(p->to, "# %-16s %8s", "Task", "PID");
	for (size_t i = 0; i < NR_SUMS; i++)
		strbuf_printf(p->to, " %10s", sum_names[i]);
	strbuf_char(p->to, '\n');
	for (size_t i = 0, k; i < event_times_nr(p->times); i = k) {
		struct time_sum sums[NR_SUMS];
		s64 task = event_times_row(p->times, i)->task;
		k = task_end(p, i);
		if (task > INT32_MAX || !is_wanted(p, i, k) || !sum_task(p, i, k, sums))
			continue;
		strbuf_printf(p->to, "  %-16s %8lld", comm_of((void *)p, task),
			      (long long)max(task, (s64)0));
		put_columns(p, sums);
		strbuf_char(p->to, '\n');
	}
}

static void print_text(const struct profile *p)
{
	if (p->o->human)
		print_overview(p);
	else
		strbuf_printf(p->to, "cpus=%u\n", replay_ftrace_file(p->src, 0)->nr_cpus);
	for (size_t i = 0, k; i < event_times_nr(p->times); i = k) {
		s64 task = event_times_row(p->times, i)->task;
		k = task_end(p, i);
		if (!is_wanted(p, i, k))
			continue;
		put_task(p, task);
		put_summary(p, i, k);
		for (size_t n = i; n < k; n++)
			if (event_times_row(p->times, n)->kind != EVENT_TIME_RUN)
				put_row(p, event_times_row(p->times, n));
	}
}

/* ---- JSON ---- */

static void json_stats(struct json *j, const struct event_time_stats *t, bool timed)
{
	json_put_u64(j, "count", t->nr);
	if (!timed)
		return;
	json_put_u64(j, "total_ns", t->total_ns);
	json_put_u64(j, "max_ns", t->max_ns);
	json_put_u64(j, "max_at_ns", t->max_at_ns);
	json_put_u64(j, "min_ns", t->min_ns);
	json_put_u64(j, "min_at_ns", t->min_at_ns);
}

static void json_row(const struct profile *p, struct json *j, const struct event_time *r)
{
	struct strbuf name;
	static const char *const kinds[] = { "off_cpu", "on_cpu",   "woken",
					     "pair",	"function", "count" };
	strbuf_init(&name);
	put_name(p, r, &name);
	json_object(j);
	json_put_str(j, "what", r->kind == EVENT_TIME_RUN ? "on_cpu" : strbuf_cstr(&name));
	json_put_str(j, "kind", kinds[r->kind]);
	strbuf_done(&name);
	json_stats(j, &r->t, r->kind != EVENT_TIME_COUNT);
	if (r->stacks.nr) {
		json_key(j, "stacks");
		json_array(j);
		vec_for_each (&r->stacks, s) {
			json_object(j);
			json_stats(j, &s->t, true);
			json_key(j, "frames");
			json_array(j);
			for (u32 i = 0; i < s->nr_addrs; i++) {
				char hex[24];
				const char *func = symbol(p, s->addrs[i]);
				(void)snprintf(hex, sizeof(hex), "0x%llx",
					       (unsigned long long)s->addrs[i]);
				json_str(j, func ? func : hex);
			}
			json_array_end(j);
			json_object_end(j);
		}
		json_array_end(j);
	}
	json_object_end(j);
}

static int print_json(const struct profile *p)
{
	struct json j;
	json_begin(&j, p->to, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "gaps", event_times_nr_gaps(p->times));
	json_key(&j, "tasks");
	json_array(&j);
	for (size_t i = 0, k; i < event_times_nr(p->times); i = k) {
		s64 task = event_times_row(p->times, i)->task;
		k = task_end(p, i);
		if (!is_wanted(p, i, k))
			continue;
		json_object(&j);
		if (task > INT32_MAX) {
			json_put_u64(&j, "cpu", (u64)(INT64_MAX - task));
		} else {
			json_put_u64(&j, "pid", (u64)max(task, (s64)0));
			if (task < 0)
				json_put_u64(&j, "cpu", (u64)(-1 - task));
			json_put_str(&j, "comm", comm_of((void *)p, task));
		}
		json_key(&j, "times");
		json_array(&j);
		for (size_t n = i; n < k; n++)
			json_row(p, &j, event_times_row(p->times, n));
		json_array_end(&j);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

int ftrace_profile_print(struct app *app, struct source *src, const struct ftrace_profile_opts *o,
			 bool (*keep)(void *ctx, const struct sample *s), void *ctx,
			 struct strbuf *to)
{
	struct profile p = { .app = app, .src = src, .o = o, .to = to };
	struct run_tables tables = { 0 };
	int err = event_times_new(&(struct event_times_opts){ .hooks = o->hooks.items.at,
							      .nr_hooks = (u32)o->hooks.items.nr,
							      .irqs_by_cpu = o->irqs_by_cpu,
							      .keep = keep,
							      .ctx = ctx },
				  &p.times, &app->diag);
	if (err)
		return err;
	err = stream_run(src, event_times_sink(p.times), (unsigned)o->workers, &tables, &app->diag);
	run_tables_done(&tables);
	if (!err)
		err = event_times_finish(p.times, o->by_comm, comm_of, &p);
	if (!err && app->json)
		err = print_json(&p);
	else if (!err)
		print_text(&p);
	if (!err && event_times_nr_gaps(p.times))
		diag_warn(
			&app->diag, "events were lost %llu times: intervals that began before a gap are not counted",
			(unsigned long long)event_times_nr_gaps(p.times));
	int idle = err ? -1 : event_times_idle_hook(p.times);
	if (idle >= 0)
		diag_warn(&app->diag, "-H %s: no such event, or it lacks the field",
			  o->hooks.items.at[idle]);
	event_times_free(p.times);
	return err;
}

/* ---- the command ---- */

struct profile_cmd_opts {
	struct ftrace_setup setup; /* first: its rows say so */
	struct ftrace_refused refused;
	struct ftrace_profile_opts o;
	const char *input, *output;
	bool only_given, to_err, functions;
};

struct looking {
	struct app *app;
	struct profile_cmd_opts *o;
};

/* The tasks of -P and -F, as the events have them. */
static int chosen_tasks(const struct ftrace_setup *f, s32 pids[TASKS_MAX])
{
	const char *at = f->pids;
	size_t len;
	int nr = 0;
	while (at && nr < TASKS_MAX - 1 && num_next_id(&at, &len, &pids[nr]) > 0)
		nr++;
	if (f->only_command && f->command_pid > 0)
		pids[nr++] = f->command_pid;
	return nr;
}

static int look(void *ctx, const char *path)
{
	const struct looking *l = ctx;
	s32 pids[TASKS_MAX];
	int chosen = l->o->input ? 0 : chosen_tasks(&l->o->setup, pids);
	l->o->o.human = !l->app->dialect->plain_times;
	l->o->o.pids = chosen ? pids : NULL;
	l->o->o.nr_pids = (size_t)chosen;
	l->o->o.children = l->o->setup.children;
	struct replay_ftrace_opts replay = { .style = PRINT_STYLE_KERNEL };
	struct source *src;
	struct strbuf text;
	int err = replay_ftrace_open(path, &replay, &src, &l->app->diag);
	if (err)
		return err;
	bool whole = l->o->output != NULL;
	strbuf_init(&text);
	err = ftrace_profile_print(l->app, src, &l->o->o, NULL, NULL,
				   whole	  ? &text
				   : l->o->to_err ? &l->app->err
						  : &l->app->out);
	if (!err && whole)
		err = text.err ? text.err
			       : outfile_write(l->o->output, strbuf_cstr(&text), text.len, false,
					       &l->app->diag);
	strbuf_done(&text);
	src->ops->close(src);
	return err;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct profile_cmd_opts *o = opts;
	struct looking l = { .app = app, .o = o };
	if (o->output && outfile_check(o->output, &app->diag)) {
		ftrace_setup_end(&o->setup);
		return app_fail(app, -EACCES);
	}
	if (o->functions && o->input && !argc) {
		ftrace_setup_end(&o->setup);
		int err = ftrace_func_stat_file(app, o->input);
		return err ? app_fail(app, err) : APP_DONE;
	}
	if (o->functions && !o->input)
		return ftrace_func_stat_live(app, &o->setup, argc, argv);
	if (o->input) {
		int err = argc ? 0 : look(&l, o->input);
		ftrace_setup_end(&o->setup);
		if (argc)
			return app_usage(app, "--input reads a file: unexpected command");
		return err ? app_fail(app, err) : APP_DONE;
	}
	if (argc && recording_kind(argv[0])) {
		ftrace_setup_end(&o->setup);
		(void)diag_error(&app->diag, -EINVAL, "'%s' is a recording, not a command to run",
				 argv[0]);
		diag_hint(&app->diag, "sonde ftrace report --profile -i %s, or profile --input",
			  argv[0]);
		return app_usage_said(app);
	}
	for (size_t i = 0; i < o->o.hooks.items.nr; i++) {
		struct event_times_hook h;
		if (event_times_parse_hook(o->o.hooks.items.at[i], &h, &app->diag)) {
			ftrace_setup_end(&o->setup);
			return app_usage_said(app);
		}
	}
	struct arena names;
	int status;
	arena_init(&names);
	int err = ftrace_profile_events(&o->setup, &o->o.hooks, o->only_given, &names, &app->diag);
	if (err) {
		ftrace_setup_end(&o->setup);
		status = app_fail(app, err);
	} else {
		status = ftrace_record_and(app, &o->setup, argc, argv, look, &l);
	}
	arena_done(&names);
	return status;
}

static void defaults(void *opts)
{
	ftrace_setup_defaults(&((struct profile_cmd_opts *)opts)->setup);
}

/* clang-format off */
static const struct opt rows[] = {
	OPT_HEADING("The profile"),
	OPT_STR(0, "input", struct profile_cmd_opts, input, "FILE", "Profile this trace.dat instead of recording"),
	OPT_STR('o', "output", struct profile_cmd_opts, output, "FILE", "Write the profile to FILE"),
	OPT_FLAG(0, "stderr", struct profile_cmd_opts, to_err, "Write the profile to standard error"),
	OPT_FLAG(0, "functions", struct profile_cmd_opts, functions, "Instead, print hits, time, average and variance of each kernel function, from the kernel's profiler (trace_stat) or function_graph; select functions with -l"),
	OPT_LIST('H', "hook", struct profile_cmd_opts, o.hooks, "HOOK", "Time between two events: [SYSTEM:]EVENT,FIELD[,PIDFIELD]/[SYSTEM:]EVENT,FIELD[,FLAGS]; p: on one CPU, s: with stack, g: global, not per task"),
	OPT_FLAG('S', "only-given", struct profile_cmd_opts, only_given, "Only the events and tracers named here"),
	OPT_FLAG('G', "global-irqs", struct profile_cmd_opts, o.irqs_by_cpu, "Interrupts per CPU, not per interrupted task"),
	OPT_FLAG(0, "by-comm", struct profile_cmd_opts, o.by_comm, "Merge tasks with the same name"),
	OPT_UINT(0, "threads", struct profile_cmd_opts, o.workers, "N", "Number of threads (default: one per CPU)", .hidden = true),
	FTRACE_SETUP_ROWS,
	OPT_FLAG('k', NULL, struct profile_cmd_opts, refused.flag, "use 'ftrace start' to leave everything set up", .refused = true),
	OPT_FLAG(0, "fork", struct profile_cmd_opts, refused.flag, "use 'ftrace start --fork' to leave the command running", .refused = true),
	OPT_FLAG('q', "quiet", struct profile_cmd_opts, refused.flag, "No summary line", .hidden = true),
	OPT_FLAG(0, "profile", struct profile_cmd_opts, refused.flag, "It is one", .hidden = true),
	FTRACE_NEVER_ROWS(struct profile_cmd_opts),
	FTRACE_NO_FILE_ROWS(struct profile_cmd_opts),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "ftrace profile -F -c -- make", "where a command and its children spend their time" },
	{ "ftrace profile sleep 5", "the whole system, for five seconds" },
	{ "ftrace profile --input trace.dat", "from an earlier recording" },
	{ "ftrace profile --functions -l 'vfs_*' -- ls", "how often and how long functions ran" },
	{ "ftrace profile -S -H block:block_rq_issue,sector/block:block_rq_complete,sector,g sleep "
	  "5",
	  "disk latency" },
	{ 0 },
};

const struct command command_ftrace_profile = {
	.name = "profile",
	.summary = "show where tasks spend their time: on CPU, blocked, in interrupts and system "
		   "calls",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Records scheduler, interrupt and system call events, and one level of the "
		 "function graph tracer if the kernel has it, while the command runs or until "
		 "Ctrl-C. Then prints one line per task, followed by how often and how long: "
		 "count, total, average, longest and shortest (called as trace-cmd: without the "
		 "lines, in nanoseconds), with the kernel stacks where tasks left the CPU and were "
		 "woken. Entries like sched_switch:S show the time a task was off the CPU, by the "
		 "state it left in (R+: preempted).",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct profile_cmd_opts),
	.defaults = defaults,
	.run = run,
};
