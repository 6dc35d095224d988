/* `sonde sched map`: which thread runs where, a line for each switch. */
#include "cmd/sched/sched.h"

#include "base/json.h"
#include "cmd/app/commands.h"
#include "session/choose.h"
#include "stream/run.h"

#include <errno.h>
#include <string.h>

struct short_name {
	char text[2]; /* "A0", ". " */
	u32 comm; /* it was told with */
	bool told;
};

struct map_call {
	struct app *app;
	const struct sched_opts *o;
	struct thread_states *states;
	VEC(struct short_name) names; /* [thread] */
	VEC(u32) now; /* [cpu] -> thread */
	VEC(u32) columns; /* with --compact: CPUs in the order in which they came */
	char next[2];
	u32 nr_cpus;
	bool too_wide; /* for columns */
	struct cpuset cpus, color_cpus;
	struct number_list color_pids;
	struct choose choose;
	struct word_list tasks;
	struct json json;
};

/* A0 to Z0, A1 to Z9, and again. */
static void step_name(char name[2])
{
	if (name[0] < 'Z') {
		name[0]++;
		return;
	}
	name[0] = 'A';
	name[1] = name[1] < '9' ? (char)(name[1] + 1) : '0';
}

static struct short_name *name_of(struct map_call *m, u32 thread)
{
	while (thread >= m->names.nr)
		if (!vec_push(&m->names))
			return NULL;
	struct short_name *n = &m->names.at[thread];
	if (n->text[0])
		return n;
	if (!thread_at(m->states, thread)->tid) {
		memcpy(n->text, ". ", sizeof(n->text));
	} else {
		memcpy(n->text, m->next, sizeof(n->text));
		step_name(m->next);
	}
	return n;
}

static bool task_wanted(const struct map_call *m, u32 thread)
{
	const char *comm = thread_comm(m->states, thread);
	for (size_t i = 0; i < m->tasks.at.nr; i++)
		if (m->o->fuzzy ? strstr(comm, m->tasks.at.at[i]) != NULL
				: !strcmp(comm, m->tasks.at.at[i]))
			return true;
	return !m->tasks.at.nr;
}

static bool is_coloured(const struct map_call *m, u32 thread)
{
	vec_for_each (&m->color_pids.at, p)
		if (*p == thread_at(m->states, thread)->tid)
			return true;
	return false;
}

static void add_coloured(struct map_call *m, bool coloured, const char *start, const char *text,
			 size_t len)
{
	struct strbuf *to = &m->app->out;
	strbuf_str(to, coloured && m->app->colour ? start : "");
	strbuf_add(to, text, len);
	strbuf_str(to, coloured && m->app->colour ? "\033[m" : "");
}

static void add_cell(struct map_call *m, u32 cpu, s32 here)
{
	struct strbuf *to = &m->app->out;
	u32 thread = cpu < m->now.nr ? m->now.at[cpu] : THREAD_NONE;
	add_coloured(m, m->o->color_cpus && cpuset_has(&m->color_cpus, cpu), "\033[31m",
		     (s32)cpu == here ? "*" : " ", 1);
	if (thread == THREAD_NONE) {
		strbuf_str(to, "   ");
		return;
	}
	const char *text = task_wanted(m, thread) ? m->names.at[thread].text : "- ";
	add_coloured(m, is_coloured(m, thread), "\033[34m", text, 2);
	strbuf_char(to, ' ');
}

static u32 column_cpu(const struct map_call *m, u32 column)
{
	return m->o->compact ? m->columns.at[column] : column;
}

/* A CPU that came now gets a column: true. */
static int add_columns(struct map_call *m, s32 cpu, bool *fresh)
{
	while ((size_t)cpu >= m->now.nr) {
		u32 *at = vec_push(&m->now);
		if (!at)
			return -ENOMEM;
		*at = THREAD_NONE;
	}
	*fresh = false;
	m->nr_cpus = max(m->nr_cpus, (u32)cpu + 1);
	if (!m->o->compact)
		return 0;
	vec_for_each (&m->columns, c)
		if (*c == (u32)cpu)
			return 0;
	if (m->columns.nr > SCHED_COLUMNS_MAX)
		return 0;
	u32 *at = vec_push(&m->columns);
	if (!at)
		return -ENOMEM;
	*at = (u32)cpu;
	*fresh = true;
	return 0;
}

static void print_cells(struct map_call *m, s32 here)
{
	u32 nr = m->o->compact ? (u32)m->columns.nr : m->nr_cpus, shown = 0;
	if (m->o->cpus && !m->o->compact)
		nr = min(nr, (u32)CPUSET_MAX);
	for (u32 i = 0; i < nr && shown <= SCHED_COLUMNS_MAX && !m->too_wide; i++)
		shown += !m->o->cpus || cpuset_has(&m->cpus, column_cpu(m, i));
	m->too_wide |= shown > SCHED_COLUMNS_MAX;
	for (u32 i = 0; i < nr && !m->too_wide; i++)
		if (!m->o->cpus || cpuset_has(&m->cpus, column_cpu(m, i)))
			add_cell(m, column_cpu(m, i), here);
}

static void print_line(struct map_call *m, const struct thread_switch *s, bool fresh)
{
	struct strbuf *to = &m->app->out;
	struct short_name *n = &m->names.at[s->next];
	const struct sched_thread *t = thread_at(m->states, s->next);
	strbuf_str(to, "  ");
	print_cells(m, s->cpu);
	if (m->too_wide)
		strbuf_printf(to, "[%04d] %.2s ", s->cpu, n->text);
	strbuf_printf(to, "  %5llu.%06llu secs ", (unsigned long long)(s->time_ns / 1000000000),
		      (unsigned long long)(s->time_ns % 1000000000 / 1000));
	if ((!n->told || n->comm != t->comm) && task_wanted(m, s->next)) {
		strbuf_add(to, n->text, 2);
		strbuf_str(to, " => ");
		printable_name(to, t->tid ? thread_comm(m->states, s->next) : "swapper");
		strbuf_printf(to, ":%d", t->tid);
		n->told = true;
		n->comm = t->comm;
	}
	if (fresh)
		strbuf_printf(to, " (CPU %d)", s->cpu);
	strbuf_char(to, '\n');
}

static void json_line(struct map_call *m, const struct thread_switch *s)
{
	const struct sched_thread *t = thread_at(m->states, s->next);
	json_object(&m->json);
	json_put_u64(&m->json, "time_ns", s->time_ns);
	json_put_s64(&m->json, "cpu", s->cpu);
	json_put_str(&m->json, "comm", thread_comm(m->states, s->next));
	json_put_s64(&m->json, "tid", t->tid);
	json_object_end(&m->json);
}

static int on_switched(void *ctx, const struct thread_switch *s)
{
	struct map_call *m = ctx;
	bool fresh;
	int err = add_columns(m, s->cpu, &fresh);
	if (err || !name_of(m, s->next))
		return err ? err : -ENOMEM;
	m->now.at[s->cpu] = s->next;
	if ((m->o->cpus && !cpuset_has(&m->cpus, (unsigned)s->cpu)) ||
	    (!task_wanted(m, s->next) && !task_wanted(m, s->prev)))
		return 0;
	if (m->app->json)
		json_line(m, s);
	else
		print_line(m, s, fresh);
	return 0;
}

static const struct thread_states_ops ops = { .switched = on_switched };

static int print_map(struct map_call *m, struct source *src)
{
	struct run_tables tables = { 0 };
	m->states = thread_states_new(&ops, m);
	if (!m->states)
		return -ENOMEM;
	m->nr_cpus = src->catalog.nr_cpus;
	if (m->app->json) {
		json_begin(&m->json, &m->app->out, JSON_PRETTY);
		json_array(&m->json);
	}
	int err = stream_run(src, thread_states_sink(m->states, false), 1, &tables, &m->app->diag);
	run_tables_done(&tables);
	if (!err && m->app->json) {
		json_array_end(&m->json);
		err = json_end(&m->json);
	}
	if (!err && m->too_wide) {
		diag_warn(&m->app->diag,
			  "more than %d CPUs: lines have the CPU, not a column for each",
			  SCHED_COLUMNS_MAX);
		diag_hint(&m->app->diag, "--cpus chooses the columns");
	}
	if (!err)
		sched_warn_losses(m->app, m->states, src);
	thread_states_free(m->states);
	return err;
}

static int parse(struct map_call *m)
{
	const struct sched_opts *o = m->o;
	struct diag *d = &m->app->diag;
	const char *at = o->color_pids;
	size_t len;
	s32 pid;
	int more = 1;
	while (at && (more = num_next_id(&at, &len, &pid)) > 0) {
		s32 *slot = vec_push(&m->color_pids.at);
		if (!slot)
			return -ENOMEM;
		*slot = pid;
	}
	if (more < 0)
		return diag_error(d, -EINVAL, "--color-pids: invalid process ID list '%s'",
				  o->color_pids);
	int err = o->cpus ? cpuset_parse_list(o->cpus, &m->cpus, d) : 0;
	if (!err && o->color_cpus)
		err = cpuset_parse_list(o->color_cpus, &m->color_cpus, d);
	if (!err && o->task_names)
		err = choose_words(&m->choose, o->task_names, &m->tasks);
	return err;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct sched_opts *o = opts;
	struct map_call m = { .app = app, .o = o, .next = { 'A', '0' } };
	struct source *src;
	int status = sched_take_input(app, o, argc, argv);
	if (status)
		return status;
	choose_init(&m.choose);
	int err = parse(&m);
	bool usage = err;
	if (!err)
		err = sched_open(app, o, &src);
	if (!err) {
		if (o->color_cpus || o->color_pids)
			(void)app_colours(app);
		err = print_map(&m, src);
		src->ops->close(src);
	}
	vec_free(&m.names);
	vec_free(&m.now);
	vec_free(&m.columns);
	vec_free(&m.color_pids.at);
	vec_free(&m.tasks.at);
	choose_done(&m.choose);
	return usage ? app_usage_said(app) : err ? app_fail(app, err) : APP_DONE;
}

/* clang-format off */
static const struct opt rows[] = {
	SCHED_INPUT_ROWS,
	OPT_FLAG(0, "compact", struct sched_opts, compact, "a column per CPU that had switches, in the order of its first one"),
	OPT_STR(0, "cpus", struct sched_opts, cpus, "LIST", "only these CPUs: 0,2-3"),
	OPT_STR(0, "task-name", struct sched_opts, task_names, "NAMES", "only switches to and from tasks of these names, separated by commas"),
	OPT_FLAG(0, "fuzzy-name", struct sched_opts, fuzzy, "with --task-name: also where the name is part of theirs"),
	OPT_STR(0, "color-cpus", struct sched_opts, color_cpus, "LIST", "highlight these CPUs"),
	OPT_STR(0, "color-pids", struct sched_opts, color_pids, "LIST", "highlight these threads"),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "sched map", "which thread ran on which CPU" },
	{ "sched map --compact", "only CPUs that did something" },
	{ "sched map --task-name make,cc1", "only these tasks" },
	{ 0 },
};

const struct command command_sched_map = {
	.name = "map",
	.summary = "show which thread ran on which CPU, a line per switch",
	.usage = "[OPTIONS] [FILE]",
	.about = "Threads have short names (A0, B0 ...), which are explained where they first "
		 "occur; '.' is an idle CPU, '*' marks the CPU that switched.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct sched_opts),
	.defaults = sched_defaults,
	.mixed_words = true,
	.same_opts = true,
	.run = run,
};
