#include "session/task_times.h"

#include "analysis/event_times.h"
#include "session/times_text.h"
#include "stream/run.h"

#include <string.h>

/* The saved name as everywhere; else what a scheduler event told. */
static const char *comm_of(void *ctx, s64 task)
{
	struct task_times *t = ctx;
	const char *comm = task > 0 ? source_task_name(t->src, 0, (s32)task) : NULL;
	if (!comm || !strcmp(comm, "<...>"))
		comm = event_times_comm(t->times, task);
	return comm ? comm : task < 0 ? "<idle>" : "<...>";
}

static const char *symbol(void *ctx, u64 addr)
{
	u64 offset;
	return source_symbol(((struct task_times *)ctx)->src, 0, addr, &offset);
}

static int make_sink(void *ctx, struct source *src, struct sink **ret)
{
	struct task_times *t = ctx;
	t->src = src;
	int err = event_times_new(&(struct event_times_opts){ .hooks = t->o->hooks.items.at,
							      .nr_hooks = (u32)t->o->hooks.items.nr,
							      .irqs_by_cpu = t->o->irqs_by_cpu,
							      .keep = t->o->keep,
							      .ctx = t->o->ctx },
				  &t->times, t->to.diag);
	if (!err)
		*ret = event_times_sink(t->times);
	return err;
}

/* What the numbers do not hold. */
static void say_missing(const struct task_times *t)
{
	struct diag *d = t->to.diag;
	u64 gaps = event_times_nr_gaps(t->times);
	int idle = event_times_idle_hook(t->times);
	if (gaps)
		diag_warn(
			d, "events were lost %llu times: intervals that began before a gap are not counted",
			(unsigned long long)gaps);
	if (idle >= 0)
		diag_warn(d, "-H %s: no such event, or it lacks the field",
			  t->o->hooks.items.at[idle]);
}

static int show(void *ctx, struct source *src)
{
	struct task_times *t = ctx;
	const struct task_times_opts *o = t->o;
	int err = event_times_finish(t->times, o->by_comm, comm_of, t);
	if (!err)
		err = times_text(&(struct event_times_view){ .times = t->times,
							     .to = t->to.out,
							     .json = t->to.json,
							     .human = o->human,
							     .nr_cpus = src->catalog.nr_cpus,
							     .pids = o->pids,
							     .nr_pids = o->nr_pids,
							     .children = o->children,
							     .ctx = t,
							     .comm_of = comm_of,
							     .symbol = symbol });
	if (!err)
		say_missing(t);
	return err;
}

struct trace_answer task_times_answer(struct task_times *t)
{
	return (struct trace_answer){ .sink = make_sink, .show = show, .ctx = t };
}

int task_times_run(struct task_times *t, struct source *src)
{
	struct run_tables tables = { 0 };
	struct sink *sink;
	int err = make_sink(t, src, &sink);
	if (!err)
		err = stream_run(src, sink, (unsigned)t->o->workers, &tables, t->to.diag);
	run_tables_done(&tables);
	return err ? err : show(t, src);
}

void task_times_done(struct task_times *t)
{
	event_times_free(t->times);
	t->times = NULL;
}
