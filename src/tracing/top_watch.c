#include "tracing/top_watch.h"

#include "stream/live_ftrace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* While nothing is traced, looking often disturbs no trace, and little is missed when the program goes on. */
enum { RESUME_NS = 1000000 };

static bool is_on(const struct ftrace_top_watch *w)
{
	char value[8];
	ssize_t n = pread(w->fd, value, sizeof(value), 0);
	return n < 1 || *value != '0';
}

static u64 entries_written(const struct ftrace_top_watch *w)
{
	struct live_ftrace_stats st;
	live_ftrace_read_stats(&w->s->tracing, "", w->cpus, &st);
	return st.entries + st.overrun + st.dropped + st.read;
}

/* The unnamed buffer, when it is an instance that the run has made. */
static struct ftrace_buffer_opt *private_buffer(const struct ftrace_top_watch *w)
{
	vec_for_each (&w->s->buffers, b)
		if (!b->name && b->made)
			return b;
	return NULL;
}

void ftrace_top_watch_open(struct ftrace_top_watch *w, struct ftrace_setup *s,
			   const struct cpuset *cpus, struct loop *loop, bool has_command)
{
	char path[400];
	*w = (struct ftrace_top_watch){
		.s = s, .cpus = cpus, .loop = loop, .has_command = has_command
	};
	w->fd = openat(s->tracing.dir, "tracing_on", O_RDONLY | O_CLOEXEC);
	w->on = w->fd >= 0 && is_on(w);
	const struct ftrace_buffer_opt *b = private_buffer(w);
	if (!b)
		return;
	(void)!str_path(path, sizeof(path), "%soptions/copy_trace_marker", b->folder);
	w->counts = !tracing_has(&s->tracing, path);
	w->written = w->counts ? entries_written(w) : 0;
}

/* Another run of ours that has the top-level buffer switches it as it needs, and restores it: nobody meant us. */
static bool is_switched_by_another_run(const struct ftrace_top_watch *w)
{
	struct strbuf holder;
	if (w->s->lock_fd >= 0)
		return false;
	int run_dir = run_dir_open(w->s->run_dir ? w->s->run_dir : RUN_DIR, NULL);
	if (run_dir < 0)
		return false;
	strbuf_init(&holder);
	bool held = lock_holder(run_dir, "top-level buffer", &holder);
	strbuf_done(&holder);
	(void)close(run_dir);
	return held;
}

static int switch_ours(struct ftrace_top_watch *w, bool on)
{
	char path[400];
	const struct ftrace_buffer_opt *b = private_buffer(w);
	if (!b) /* it is the switch itself */
		return 0;
	(void)!str_path(path, sizeof(path), "%stracing_on", b->folder);
	return journal_set(w->s->journal, path, on ? "1" : "0", w->s->diag);
}

static int on_timer(void *ctx, u64 what)
{
	(void)what;
	return ftrace_top_watch_poll(ctx);
}

static int switched_off(struct ftrace_top_watch *w)
{
	w->stopped = true;
	int err = switch_ours(w, false);
	if (err || !w->has_command)
		return err ? err : 1;
	return w->timer ? 0 : loop_add_timer(w->loop, RESUME_NS, RESUME_NS, on_timer, w, &w->timer);
}

static int switched_on(struct ftrace_top_watch *w)
{
	if (w->timer)
		loop_remove(w->loop, w->timer);
	w->timer = NULL;
	return switch_ours(w, true);
}

int ftrace_top_watch_poll(struct ftrace_top_watch *w)
{
	if (!w->s || w->fd < 0 || is_on(w) == w->on)
		return 0;
	/* Looked at once more: the other run may have ended, and restored it, in between. */
	if (w->on && (is_switched_by_another_run(w) || is_on(w)))
		return 0;
	w->on = !w->on;
	return w->on ? switched_on(w) : switched_off(w);
}

static bool top_is_idle(const struct tracing *t)
{
	struct strbuf s;
	strbuf_init(&s);
	bool idle = !strcmp(tracing_line(t, "current_tracer", &s), "nop") &&
		    !*tracing_line(t, "set_event", &s);
	strbuf_done(&s);
	return idle;
}

static void warn_of_markers(const struct ftrace_top_watch *w)
{
	struct diag *d = w->s->diag;
	u64 now = entries_written(w);
	if (now <= w->written)
		return;
	if (top_is_idle(&w->s->tracing))
		diag_warn(d,
			  "%llu entries written to the top-level trace_marker were not recorded: "
			  "this kernel has no copy_trace_marker option",
			  (unsigned long long)(now - w->written));
	else
		diag_warn(d, "text written to the top-level trace_marker is not recorded: this "
			     "kernel has no copy_trace_marker option");
	diag_hint(d, "use %s to record in the top-level buffer itself, including markers",
		  w->s->names->top);
}

void ftrace_top_watch_close(struct ftrace_top_watch *w)
{
	if (!w->s)
		return;
	if (w->stopped)
		diag_note(w->s->diag,
			  w->has_command
				  ? "nothing was recorded while the top-level tracing_on was 0"
				  : "tracing_on was set to 0: recording ended");
	if (w->counts)
		warn_of_markers(w);
	if (w->timer)
		loop_remove(w->loop, w->timer);
	cleanup_close(&w->fd);
	w->s = NULL;
}
