/* `ftrace profile --functions`. */
#include "cmd/ftrace/func_stat.h"

#include "cmd/ftrace/watch.h"
#include "session/func_calls.h"

#include <errno.h>
#include <string.h>

enum { END_NS = 500000000 };

static struct func_calls calls_for(struct app *app)
{
	return (struct func_calls){ .to = { &app->out, &app->diag, app->json } };
}

int ftrace_func_stat_file(struct app *app, const char *path)
{
	struct func_calls c = calls_for(app);
	struct trace_answer a = func_calls_answer(&c);
	int err = trace_answer_file(&a, path, 1, &app->diag);
	func_calls_done(&c);
	return err;
}

static int with_tracer(struct app *app, struct ftrace_setup *f, int argc, char **argv)
{
	struct func_calls c = calls_for(app);
	struct ftrace_watch w = { .live.style = PRINT_STYLE_KERNEL,
				  .answer = func_calls_answer(&c) };
	int status = ftrace_watch(app, f, argc, argv, &w);
	func_calls_done(&c);
	return status;
}

static int with_profiler(struct app *app, struct ftrace_setup *f, char **argv)
{
	struct command_run r = COMMAND_RUN_NONE;
	struct func_calls c = calls_for(app);
	int err = ftrace_setup_begin(f, false, NULL);
	if (!err)
		err = command_run_open(&r, &(struct command_run_opts){ 0 });
	if (!err && argv)
		err = command_run_prepare(&r, argv, NULL, &app->diag);
	if (!err)
		err = func_calls_profile(f);
	if (!err)
		err = command_run_go(&r, argv ? argv[0] : NULL, &app->diag);
	if (!err)
		err = command_run_wait(&r);
	if (!err)
		(void)command_run_ask(&r, SIGINT, END_NS);
	if (!err)
		err = func_calls_profiled(&c, f);
	int status = err	   ? app_fail(app, err)
		     : r.was_ended ? APP_DONE
				   : child_exit_status(r.wait_status);
	func_calls_done(&c);
	command_run_close(&r);
	return status;
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
		return with_tracer(app, f, argc, argv);
	if (!err)
		err = ftrace_setup_open(f, &app->diag, &app->out);
	status = err ? app_fail(app, err) : with_profiler(app, f, argc ? argv : NULL);
	ftrace_setup_end(f);
	return status;
}
