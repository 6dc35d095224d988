#include "session/trace_run.h"
#include "base/guard.h"
#include "stream/run.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LOOK_NS = 100000000, END_NS = 500000000 };

/* ---- the thread ---- */

/* One worker: what is looked at needs its CPUs. */
static void *feed_sink(void *arg)
{
	struct trace_run *r = arg;
	struct run_tables tables = { 0 };
	u64 one = 1;
	r->err = stream_run(r->live.source, r->sink, 1, &tables, &r->diag);
	run_tables_done(&tables);
	ftrace_rounds_refuse(r->live.source);
	(void)!write(r->over_fd, &one, sizeof(one));
	return NULL;
}

static int start_thread(struct trace_run *r)
{
	sigset_t all, old;
	guard_sigmask(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the loop's */
	int err = -pthread_create(&r->thread, NULL, feed_sink, r);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	r->has_thread = !err;
	return err;
}

static void join_thread(struct trace_run *r)
{
	if (!r->has_thread)
		return;
	ftrace_rounds_end(r->live.source);
	(void)pthread_join(r->thread, NULL);
	r->has_thread = false;
	diag_join(r->opts.setup->diag, &r->diag);
}

/* ---- the loop ---- */

static int on_over(void *ctx, u64 events)
{
	(void)events;
	((struct trace_run *)ctx)->run.over = true;
	return 0;
}

static int on_look(void *ctx, u64 expired)
{
	struct trace_run *r = ctx;
	(void)expired;
	int err = ftrace_live_error(&r->live);
	if (err)
		return diag_error(r->opts.setup->diag, err, "cannot read the buffer: %s",
				  strerror(-err));
	return ftrace_top_watch_poll(&r->top);
}

void trace_run_end_command(struct command_run *r)
{
	if (r->signal && r->child.pid && !r->ended && !command_run_ask(r, r->signal, END_NS))
		(void)command_run_ask(r, SIGTERM, END_NS);
}

static int wait_for_end(struct trace_run *r)
{
	struct ftrace_setup *s = r->opts.setup;
	ftrace_top_watch_open(&r->top, s, &r->live.cpus, r->run.loop, r->opts.argv != NULL);
	int err = loop_add_timer(r->run.loop, LOOK_NS, LOOK_NS, on_look, r, NULL);
	if (!err)
		err = loop_add_fd(r->run.loop, r->over_fd, EPOLLIN, on_over, r, NULL);
	if (!err)
		err = command_run_go(&r->run, r->opts.argv ? r->opts.argv[0] : NULL, s->diag);
	if (!err)
		err = command_run_wait(&r->run);
	if (!err)
		trace_run_end_command(&r->run);
	ftrace_top_watch_close(&r->top);
	return err;
}

/* ---- the run ---- */

int trace_run_empty_buffers(struct ftrace_setup *s)
{
	int err = 0;
	for (size_t i = 0; i < s->buffers.nr && !err; i++) {
		const struct ftrace_buffer_opt *b = &s->buffers.at[i];
		struct strbuf path;
		strbuf_init(&path);
		strbuf_printf(&path, "%strace", b->folder);
		if (!b->made)
			err = journal_poke(s->journal, strbuf_cstr(&path), "", true, s->diag);
		strbuf_done(&path);
	}
	return err;
}

static int set_up(struct trace_run *r)
{
	struct ftrace_setup *s = r->opts.setup;
	int err = command_run_open(&r->run, &(struct command_run_opts){ .hangup = true });
	if (!err && r->opts.argv)
		err = command_run_prepare(&r->run, r->opts.argv, NULL, s->diag);
	if (!err)
		err = ftrace_setup_apply(s, true, r->run.child.pid);
	if (!err)
		err = trace_run_empty_buffers(s);
	if (!err)
		err = ftrace_live_open(&r->live, s, &r->opts.live);
	if (!err)
		err = r->opts.answer->sink(r->opts.answer->ctx, r->live.source, &r->sink);
	if (!err)
		err = start_thread(r);
	if (!err)
		err = ftrace_live_start(&r->live);
	return err ? err : ftrace_setup_switch(s, true);
}

static int dry_run(struct ftrace_setup *s)
{
	int err = ftrace_setup_apply(s, true, 0);
	return err ? err : ftrace_setup_switch(s, true);
}

int trace_run(struct trace_run *r, const struct trace_run_opts *o)
{
	*r = (struct trace_run){ .run = COMMAND_RUN_NONE, .opts = *o };
	diag_init(&r->diag);
	r->diag.options = o->setup->diag ? o->setup->diag->options : NULL;
	r->over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int err = r->over_fd < 0 ? -errno : ftrace_setup_begin(o->setup, true, NULL);
	if (!err && o->setup->dry_run)
		return dry_run(o->setup);
	if (!err && o->argv) {
		err = child_check(o->argv[0], o->setup->diag);
		r->run.exec_failed = err;
	}
	if (!err)
		err = set_up(r);
	if (!err)
		err = wait_for_end(r);
	r->began = !err;
	int stopped = r->live.s && o->setup->journal ? ftrace_live_stop(&r->live) : 0;
	join_thread(r);
	if (r->live.s)
		ftrace_live_stats(&r->live, &r->stats);
	return err ? err : stopped ? stopped : r->err;
}

int trace_run_signal(const struct trace_run *r)
{
	bool by_itself = r->run.ended && !r->run.was_ended;
	return by_itself ? 0 : r->run.signal;
}

void trace_run_done(struct trace_run *r)
{
	join_thread(r);
	ftrace_live_close(&r->live);
	command_run_close(&r->run);
	cleanup_close(&r->over_fd);
	diag_done(&r->diag);
}
