#include "cmd/ftrace/func_stat.h"

#include "analysis/func_stat.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/loop.h"
#include "session/child.h"
#include "cmd/ftrace/record.h"
#include "tracing/setup_impl.h"
#include "stream/replay_ftrace.h"
#include "stream/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- the table ---- */

static void put_rows(struct strbuf *to, const struct func_stat_row *r, size_t nr)
{
	strbuf_str(to, "  Function                               Hit    Time            Avg        "
		       "     s^2\n"
		       "  --------                               ---    ----            ---        "
		       "     ---\n");
	for (; nr; nr--, r++)
		strbuf_printf(to, "  %-30s  %10llu    %-10.3f us   %-10.3f us   %-10.3f us\n",
			      r->name, (unsigned long long)r->hits, r->time_us,
			      r->time_us / (double)r->hits, func_stat_variance(r));
}

static int put_json(struct strbuf *to, const struct func_stat_row *r, size_t nr)
{
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	json_array(&j);
	for (; nr; nr--, r++) {
		json_object(&j);
		json_put_str(&j, "function", r->name);
		json_put_u64(&j, "hits", r->hits);
		json_put_double(&j, "time_us", r->time_us);
		json_put_double(&j, "average_us", r->time_us / (double)r->hits);
		json_put_double(&j, "variance_us2", func_stat_variance(r));
		json_object_end(&j);
	}
	json_array_end(&j);
	return json_end(&j);
}

static int print(struct app *app, struct func_stat *f)
{
	size_t nr;
	const struct func_stat_row *rows = func_stat_rows(f, &nr);
	if (func_stat_nr_gaps(f))
		diag_warn(
			&app->diag, "events were lost %llu times: calls in progress at those times are not counted",
			(unsigned long long)func_stat_nr_gaps(f));
	if (!nr)
		diag_note(&app->diag, "no function was called, or none was recorded");
	if (app->json)
		return put_json(&app->out, rows, nr);
	put_rows(&app->out, rows, nr);
	return 0;
}

/* ---- from a recording ---- */

static const char *symbol(void *ctx, u64 addr, u64 *offset)
{
	return ftrace_env_symbol(replay_ftrace_env(ctx, 0), addr, offset);
}

int ftrace_func_stat_file(struct app *app, const char *path)
{
	struct replay_ftrace_opts replay = { .style = PRINT_STYLE_KERNEL };
	struct run_tables tables = { 0 };
	struct source *src;
	int err = replay_ftrace_open(path, &replay, &src, &app->diag);
	if (err)
		return err;
	struct func_stat *f = func_stat_new(symbol, src);
	err = f ? stream_run(src, func_stat_sink(f), 1, &tables, &app->diag) : -ENOMEM;
	run_tables_done(&tables);
	if (!err)
		err = print(app, f);
	func_stat_free(f);
	src->ops->close(src);
	return err;
}

static int look(void *ctx, const char *path)
{
	return ftrace_func_stat_file(ctx, path);
}

/* ---- from the kernel's profiler ---- */

struct waiting {
	int wait_status;
	bool child_done;
};

static int on_signal(void *ctx, u64 what)
{
	(void)ctx;
	(void)what;
	return 1;
}

static int on_child(void *ctx, u64 what)
{
	struct waiting *w = ctx;
	w->wait_status = (int)what;
	w->child_done = true;
	return 1;
}

static int tick(void *ctx, u64 what)
{
	(void)ctx;
	(void)what;
	return 0;
}

static int wait_for_end(struct app *app, struct waiting *w, int argc, char **argv)
{
	struct child c = { .go_fd = -1, .exec_fd = -1 };
	struct loop *l = loop_new();
	int err = l ? loop_add_signal(l, SIGINT, on_signal, w) : -errno;
	if (!err)
		err = loop_add_signal(l, SIGTERM, on_signal, w);
	if (!err && argc)
		err = child_prepare(&c, argv, loop_old_signals(l), &app->diag);
	if (!err && argc)
		err = child_go(&c, argv[0], &app->diag);
	if (!err)
		err = argc ? loop_add_child(l, c.pid, on_child, w)
			   : loop_add_timer(l, NS_PER_SEC, NS_PER_SEC, tick, w, NULL);
	if (!err)
		err = loop_run(l);
	if (c.pid > 0 && !w->child_done)
		(void)kill(c.pid, SIGINT);
	child_done(&c);
	loop_free(l);
	return err;
}

static int read_tables(struct app *app, const struct tracing *t)
{
	struct func_stat *f = func_stat_new(NULL, NULL);
	struct strbuf text;
	char path[64];
	int err = f ? 0 : -ENOMEM;
	strbuf_init(&text);
	for (int cpu = 0; !err; cpu++) {
		(void)snprintf(path, sizeof(path), "trace_stat/function%d", cpu);
		strbuf_reset(&text);
		if (!tracing_has(t, path))
			break;
		err = tracing_read(t, path, &text);
		if (!err)
			err = func_stat_parse(f, strbuf_cstr(&text));
	}
	if (!err)
		err = print(app, f);
	func_stat_free(f);
	strbuf_done(&text);
	return err;
}

static int filter_functions(struct ftrace_setup *f)
{
	struct strbuf list;
	int err = 0;
	strbuf_init(&list);
	vec_for_each (&f->buffers.at[0].functions, name) {
		if (!err)
			err = ftrace_check_function(f, *name);
		strbuf_printf(&list, "%s\n", *name);
	}
	if (!err && list.len)
		err = journal_list(f->journal, "set_ftrace_filter", strbuf_cstr(&list), f->diag);
	strbuf_done(&list);
	return err;
}

static int with_profiler(struct app *app, struct ftrace_setup *f, int argc, char **argv)
{
	struct waiting w = { 0 };
	struct diag *d = &app->diag;
	int err = ftrace_setup_begin(f, false, NULL);
	if (!err)
		err = filter_functions(f);
	if (!err)
		err = journal_set(f->journal, "function_profile_enabled", "1", d);
	if (!err)
		err = wait_for_end(app, &w, argc, argv);
	if (!err)
		err = journal_set(f->journal, "function_profile_enabled", "0", d);
	if (!err)
		err = read_tables(app, &f->tracing);
	if (err)
		return app_fail(app, err);
	return w.child_done ? child_exit_status(w.wait_status) : APP_DONE;
}

static bool has_graph_tracer(const struct tracing *t)
{
	struct strbuf s;
	strbuf_init(&s);
	bool has = strstr(tracing_line(t, "available_tracers", &s), "function_graph");
	strbuf_done(&s);
	return has;
}

static int no_way(struct app *app)
{
	int err = diag_error(
		&app->diag, -EOPNOTSUPP,
		"this kernel has neither the function profiler nor the function_graph tracer");
	diag_hint(&app->diag, "'sonde ftrace profile --functions --input FILE' reads what was "
			      "recorded elsewhere with -p function_graph");
	return err;
}

int ftrace_func_stat_live(struct app *app, struct ftrace_setup *f, int argc, char **argv)
{
	struct tracing t;
	int status, err = ftrace_open(&t, &app->diag);
	bool tasks = f->pids || f->only_command; /* the profiler cannot choose them */
	bool profiler = !err && !tasks && tracing_has(&t, "function_profile_enabled");
	bool graph = !err && has_graph_tracer(&t);
	if (!err)
		tracing_close(&t);
	if (!err && !profiler)
		err = graph ? ftrace_take_tracer(f, "function_graph", false, &app->diag)
			    : no_way(app);
	if (!err && !profiler)
		return ftrace_record_and(app, f, argc, argv, look, app);
	if (!err)
		err = ftrace_setup_open(f, &app->diag, &app->out);
	status = err ? app_fail(app, err) : with_profiler(app, f, argc, argv);
	ftrace_setup_end(f);
	return status;
}
