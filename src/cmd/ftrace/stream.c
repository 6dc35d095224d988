/*
 * `sonde ftrace stream`: events printed as they come, no file. What was read since the last look becomes a small trace.dat in
 * memory, which is printed the way `report` prints files.
 */
#include "base/loop.h"
#include "session/child.h"
#include "cmd/app/commands.h"
#include "cmd/ftrace/setup_opts.h"
#include "tracing/top_watch.h"
#include "kern/cpu.h"
#include "stream/ftrace_meta.h"
#include "stream/live_ftrace.h"
#include "stream/replay_ftrace.h"
#include "stream/run.h"
#include "view/text_events.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_NS = 200000000, HELD_MAX = 256 << 20 };

struct stream_opts {
	struct ftrace_setup setup; /* first: its rows say so */
	struct ftrace_refused refused;
};

struct streaming {
	struct app *app;
	struct ftrace_setup *s;
	struct loop *loop;
	struct child child;
	struct ftrace_meta meta;
	bool has_meta;
	struct cpuset cpus;
	u32 nr_cpus;
	struct live_ftrace *live;
	struct ftrace_top_watch top;
	pthread_mutex_t lock;
	struct strbuf *held; /* pages of each CPU, not printed yet */
	struct strbuf *now; /* being printed */
	u64 dropped; /* bytes that were too many to hold */
	int wait_status;
	int signal;
	bool child_done;
};

static int take(void *ctx, u32 cpu, const void *pages, size_t bytes)
{
	struct streaming *x = ctx;
	pthread_mutex_lock(&x->lock);
	if (x->held[cpu].len + bytes > HELD_MAX)
		x->dropped += bytes;
	else
		strbuf_add(&x->held[cpu], pages, bytes);
	int err = x->held[cpu].err;
	pthread_mutex_unlock(&x->lock);
	return err;
}

static int read_now(void *ctx, u32 buffer, u32 cpu, u64 offset, void *to, size_t len)
{
	struct streaming *x = ctx;
	(void)buffer;
	memcpy(to, x->now[cpu].data + offset, len);
	return 0;
}

static const struct schema *schema_of(void *ctx, u32 event)
{
	return replay_ftrace_schema(ctx, event);
}

static const char *symbol(void *ctx, u32 buffer, u64 addr, u64 *offset)
{
	return ftrace_env_symbol(replay_ftrace_env(ctx, 0), addr, offset);
}

static bool has_comm(void *ctx, u32 buffer, s32 pid)
{
	return ftrace_env_comm_index(replay_ftrace_env(ctx, 0), pid) != DICT_NONE;
}

static int print_memory(struct streaming *x, const void *data, size_t size)
{
	struct replay_ftrace_opts ro = { .style = PRINT_STYLE_TRACE_CMD };
	struct source *src;
	struct sink *sink;
	struct run_tables tables = { 0 };
	struct replay_ftrace_input in = { .path = "the buffer", .data = data, .size = size };
	int err = replay_ftrace_open_files(&in, 1, &ro, &src, &x->app->diag);
	if (err)
		return err;
	struct text_events_opts view = {
		.form = x->app->json ? TEXT_EVENTS_JSON : TEXT_EVENTS_LINES,
		.ctx = src,
		.catalog = &src->catalog,
		.schema_of = schema_of,
		.symbol = symbol,
		.has_comm = has_comm,
	};
	err = text_events_new(&view, &x->app->out, &sink);
	if (!err) {
		err = stream_run(src, sink, 1, &tables, &x->app->diag);
		text_events_free(sink);
		run_tables_done(&tables);
	}
	src->ops->close(src);
	return err ? err : app_flush(x->app);
}

static int print_pages(struct streaming *x)
{
	struct tracedat_out_cpu *cpus = calloc(x->nr_cpus, sizeof(*cpus));
	u64 bytes = 0;
	if (!cpus)
		return -ENOMEM;
	pthread_mutex_lock(&x->lock);
	struct strbuf *swap = x->held;
	x->held = x->now;
	x->now = swap;
	pthread_mutex_unlock(&x->lock);
	for (u32 i = 0; i < x->nr_cpus; i++) {
		cpus[i] = (struct tracedat_out_cpu){ .cpu = i, .size = x->now[i].len };
		bytes += x->now[i].len;
	}
	struct tracedat_out_buffer b = { .name = "",
					 .page_size = live_ftrace_page_size(x->live),
					 .cpus = cpus,
					 .nr_cpus = x->nr_cpus };
	struct tracedat_out out = x->meta.out;
	struct strbuf names;
	strbuf_init(&names);
	int err = 0;
	if (bytes && !tracing_read(&x->s->tracing, "saved_cmdlines", &names))
		out.parts[TRACEDAT_CMDLINES] =
			(struct tracedat_text){ .data = strbuf_cstr(&names), .len = names.len };
	if (bytes) {
		out.version = 6;
		out.nr_cpus = x->nr_cpus;
		out.buffers = &b;
		out.nr_buffers = 1;
		out.read = read_now;
		out.ctx = x;
		_cleanup_close_ int fd = memfd_create("sonde stream", MFD_CLOEXEC);
		err = fd < 0 ? -errno : tracedat_write(fd, "memory", &out, &x->app->diag);
		off_t size = err ? 0 : lseek(fd, 0, SEEK_END);
		void *map =
			err ? MAP_FAILED : mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (!err)
			err = map == MAP_FAILED ? -errno : print_memory(x, map, (size_t)size);
		if (map != MAP_FAILED)
			(void)munmap(map, (size_t)size);
	}
	for (u32 i = 0; i < x->nr_cpus; i++)
		strbuf_reset(&x->now[i]);
	strbuf_done(&names);
	free(cpus);
	return err;
}

static int on_timer(void *ctx, u64 what)
{
	struct streaming *x = ctx;
	(void)what;
	int err = live_ftrace_error(x->live);
	if (!err)
		err = print_pages(x);
	return err ? err : ftrace_top_watch_poll(&x->top);
}

static int on_signal(void *ctx, u64 what)
{
	((struct streaming *)ctx)->signal = (int)what;
	return 1;
}

static int on_child(void *ctx, u64 what)
{
	struct streaming *x = ctx;
	x->wait_status = (int)what;
	x->child_done = true;
	return 1;
}

static int open_all(struct streaming *x)
{
	struct ftrace_buffer_opt *b = &x->s->buffers.at[0];
	struct ftrace_meta_opts mo = { .root = &x->s->root,
				       .folder = b->folder,
				       .systems = *b->folder && b->systems.nr ? b->systems.at : NULL,
				       .nr_systems = b->systems.nr,
				       .no_kallsyms = !b->tracer && !b->stacks };
	struct live_ftrace_opts lo = { .folder = b->folder,
				       .cpus = &x->cpus,
				       .interval_ns = LOOK_NS / 2,
				       .take = take,
				       .ctx = x };
	x->nr_cpus = cpu_nr_present(&x->s->root);
	x->held = calloc(x->nr_cpus, sizeof(*x->held));
	x->now = calloc(x->nr_cpus, sizeof(*x->now));
	if (!x->held || !x->now)
		return -ENOMEM;
	for (u32 i = 0; i < x->nr_cpus; i++) {
		strbuf_init(&x->held[i]);
		strbuf_init(&x->now[i]);
	}
	int err = cpu_online(&x->s->root, &x->cpus);
	if (!err)
		err = ftrace_meta_read(&x->meta, &x->s->tracing, &mo, &x->app->diag);
	x->has_meta = !err;
	if (!err)
		err = ftrace_setup_note_tsc(x->s, &x->meta);
	if (!err)
		err = live_ftrace_open(&x->live, &x->s->tracing, &lo, &x->app->diag);
	return err ? err : live_ftrace_start(x->live);
}

static int stream(struct streaming *x, int argc, char **argv)
{
	struct app *app = x->app;
	struct ftrace_setup *s = x->s;
	int err = ftrace_setup_begin(s, true, NULL);
	if (!err && s->dry_run) {
		err = ftrace_setup_apply(s, true, 0);
		return err ? app_fail(app, err) : APP_DONE;
	}
	x->loop = loop_new();
	if (!err)
		err = x->loop ? loop_add_signal(x->loop, SIGINT, on_signal, x) : -errno;
	if (!err)
		err = loop_add_signal(x->loop, SIGTERM, on_signal, x);
	if (!err && argc) {
		err = child_check(argv[0], &app->diag);
		if (err)
			return child_exec_status(err);
		err = child_prepare(&x->child, argv, loop_old_signals(x->loop), &app->diag);
	}
	if (!err)
		err = ftrace_setup_apply(s, true, x->child.pid);
	if (!err)
		err = open_all(x);
	if (!err)
		err = ftrace_setup_switch(s, true);
	if (!err)
		ftrace_top_watch_open(&x->top, s, &x->cpus, x->loop, argc > 0);
	if (!err)
		err = loop_add_timer(x->loop, LOOK_NS, LOOK_NS, on_timer, x, NULL);
	if (!err && argc) {
		err = child_go(&x->child, argv[0], &app->diag);
		if (err)
			return child_exec_status(err);
		err = loop_add_child(x->loop, x->child.pid, on_child, x);
	}
	if (!err)
		err = loop_run(x->loop);
	ftrace_top_watch_close(&x->top);
	int off = ftrace_setup_switch(s, false);
	int got = x->live ? live_ftrace_stop(x->live) : 0;
	err = err ? err : off ? off : got ? got : print_pages(x);
	struct live_ftrace_stats st;
	live_ftrace_read_stats(&s->tracing, s->buffers.at[0].folder, &x->cpus, &st);
	if (st.overrun + st.dropped)
		diag_warn(&app->diag,
			  "%llu events were lost: use a larger buffer (-b) or fewer events",
			  (unsigned long long)(st.overrun + st.dropped));
	if (x->dropped)
		diag_warn(&app->diag,
			  "%llu bytes were dropped because they could not be printed fast enough",
			  (unsigned long long)x->dropped);
	if (err && err != -EPIPE)
		return app_fail(app, err);
	if (x->signal && !x->child_done) {
		if (x->child.pid)
			(void)kill(x->child.pid, x->signal);
		app->die_of = x->signal;
	}
	return argc && x->child_done ? child_exit_status(x->wait_status) : APP_DONE;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct streaming x = { .app = app,
			       .s = &((struct stream_opts *)opts)->setup,
			       .lock = PTHREAD_MUTEX_INITIALIZER,
			       .child = { .go_fd = -1, .exec_fd = -1 } };
	app_live(app);
	int err = ftrace_setup_open(x.s, &app->diag, &app->out);
	int status = err ? app_fail(app, err) : stream(&x, argc, argv);
	child_done(&x.child);
	live_ftrace_close(x.live);
	for (u32 i = 0; i < x.nr_cpus; i++) {
		if (x.held)
			strbuf_done(&x.held[i]);
		if (x.now)
			strbuf_done(&x.now[i]);
	}
	free(x.held);
	free(x.now);
	if (x.has_meta)
		ftrace_meta_done(&x.meta);
	loop_free(x.loop);
	ftrace_setup_end(x.s);
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
