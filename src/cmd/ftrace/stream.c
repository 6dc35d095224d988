/* `sonde ftrace stream`: events printed as they come, no file. */
#include "cmd/app/commands.h"
#include "cmd/ftrace/watch.h"
#include "view/text_events.h"

/* A line is printed when its CPU, and all others, have been read twice since. */
enum { READ_NS = 50000000, HELD_BYTES = 64 << 20 };

struct stream_opts {
	struct ftrace_setup setup; /* first: its rows say so */
	struct ftrace_refused refused;
};

struct streaming {
	struct app *app;
	struct source *src;
	struct sink *lines;
};

static const struct schema *schema_of(void *ctx, u32 event)
{
	return source_schema(((struct streaming *)ctx)->src, event);
}

static const char *symbol(void *ctx, u32 buffer, u64 addr, u64 *offset)
{
	return source_symbol(((struct streaming *)ctx)->src, buffer, addr, offset);
}

static bool has_comm(void *ctx, u32 buffer, s32 pid)
{
	return source_task_name(((struct streaming *)ctx)->src, buffer, pid);
}

/* In the thread that has the sink; nobody else writes meanwhile. */
static int flush(void *ctx)
{
	return strbuf_flush(&((struct streaming *)ctx)->app->out);
}

static int make_sink(void *ctx, struct source *src, struct sink **ret)
{
	struct streaming *x = ctx;
	x->src = src;
	struct text_events_opts view = {
		.form = x->app->json ? TEXT_EVENTS_JSON : TEXT_EVENTS_LINES,
		.ctx = x,
		.catalog = &src->catalog,
		.schema_of = schema_of,
		.symbol = symbol,
		.has_comm = has_comm,
		.round_done = flush,
	};
	int err = text_events_new(&view, &x->app->out, &x->lines);
	*ret = x->lines;
	return err;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct ftrace_setup *f = &((struct stream_opts *)opts)->setup;
	struct streaming x = { .app = app };
	const struct ftrace_buffer_opt *b = f->buffers.nr ? &f->buffers.at[0] : NULL;
	struct ftrace_watch w = {
		.live = { .style = PRINT_STYLE_TRACE_CMD,
			  .nr_buffers = 1,
			  .no_symbols = b && !b->tracer && !b->stacks,
			  .fresh_names = true,
			  .interval_ns = READ_NS,
			  .held_bytes = HELD_BYTES },
		.answer = { .sink = make_sink, .ctx = &x },
		.warn_lost = true,
	};
	int status = ftrace_watch(app, f, argc, argv, &w);
	if (x.lines)
		text_events_free(x.lines);
	return status;
}

static void defaults(void *opts)
{
	ftrace_setup_defaults(&((struct stream_opts *)opts)->setup);
}

static const struct opt rows[] = {
	FTRACE_SETUP_ROWS,
	OPT_FLAG('k', NULL, struct stream_opts, refused.flag,
		 "use 'ftrace start' to leave everything set up", .refused = true),
	OPT_FLAG(0, "fork", struct stream_opts, refused.flag,
		 "use 'ftrace start --fork' to leave the command running", .refused = true),
	FTRACE_NEVER_ROWS(struct stream_opts),
	FTRACE_NO_FILE_ROWS(struct stream_opts),
	FTRACE_NO_PROFILE_ROWS(struct stream_opts),
	OPT_END(),
};

static const struct opt_example examples[] = {
	{ "ftrace stream -e sched:sched_process_exec", "programs as they start" },
	{ "ftrace stream -e syscalls:sys_enter_openat -F ls", "what a command opens" },
	{ 0 },
};

const struct command command_ftrace_stream = {
	.name = "stream",
	.summary = "trace and print immediately, without a file",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Like 'ftrace record', but events are printed as they come, in time order within "
		 "a fifth of a second.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct stream_opts),
	.defaults = defaults,
	.run = run,
};
