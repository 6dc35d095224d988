#include "session/command_run.h"
#include "base/clock.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static bool owns_terminal(void)
{
	return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* A terminal has sent Ctrl-C to the command already. */
static int on_signal(void *ctx, u64 signo)
{
	struct command_run *r = ctx;
	bool again = r->signal;
	r->signal = (int)signo;
	if (!r->opts.forward || !r->child.pid || r->ended || again) {
		r->over = true;
		return 0;
	}
	if (signo != SIGINT || !owns_terminal())
		(void)kill(r->child.pid, (int)signo);
	return 0;
}

static int on_child(void *ctx, u64 status)
{
	struct command_run *r = ctx;
	r->ended_ns = clock_monotonic_ns();
	r->ended = r->over = true;
	r->wait_status = (int)status;
	return 0;
}

static int on_deadline(void *ctx, u64 expired)
{
	(void)expired;
	((struct command_run *)ctx)->over = true;
	return 0;
}

static int obey(struct command_run *r, enum control_command command)
{
	int ret = r->obey(r->obey_ctx, command);
	if (ret >= 0)
		control_ack(&r->control);
	if (ret > 0)
		r->told_to_stop = r->over = true;
	return ret == -ENOTSUP ? 0 : ret;
}

static int on_control(void *ctx, u64 events)
{
	struct command_run *r = ctx;
	(void)events;
	int ret = 0;
	if (control_read(&r->control) <= 0) { /* nobody will say anything any more */
		loop_remove(r->loop, r->control_source);
		return 0;
	}
	/* What came after a command that ends the wait is for nobody. */
	for (enum control_command c; !ret && (c = control_next(&r->control)) != CONTROL_NONE;)
		ret = obey(r, c);
	return ret;
}

int command_run_open(struct command_run *r, const struct command_run_opts *o)
{
	r->opts = *o;
	r->loop = loop_new();
	int err = r->loop ? loop_add_signal(r->loop, SIGINT, on_signal, r) : -errno;
	if (!err)
		err = loop_add_signal(r->loop, SIGTERM, on_signal, r);
	if (!err && o->hangup)
		err = loop_add_signal(r->loop, SIGHUP, on_signal, r);
	return err;
}

int command_run_prepare(struct command_run *r, char **argv, const struct child_user *user,
			struct diag *d)
{
	r->ended = false;
	return child_prepare_as(&r->child, argv, loop_old_signals(r->loop), user, d);
}

int command_run_go(struct command_run *r, const char *command, struct diag *d)
{
	if (!r->child.pid)
		return 0;
	int err = child_go(&r->child, command, d);
	r->exec_failed = err;
	if (err)
		return err;
	err = loop_add_child(r->loop, r->child.pid, on_child, r);
	if (err)
		command_run_reap(r, SIGTERM);
	return err;
}

int command_run_control(struct command_run *r, const char *option, const char *text, struct diag *d)
{
	return control_open(&r->control, option, text, d);
}

int command_run_listen(struct command_run *r, command_run_obey fn, void *ctx)
{
	r->obey = fn;
	r->obey_ctx = ctx;
	return r->control.fd < 0 ? 0
				 : loop_add_fd(r->loop, r->control.fd, EPOLLIN, on_control, r,
					       &r->control_source);
}

int command_run_deadline(struct command_run *r, u64 ns, struct loop_source **ret)
{
	return loop_add_timer(r->loop, ns, 0, on_deadline, r, ret);
}

int command_run_wait(struct command_run *r)
{
	int ret = 0;
	while (!ret && !r->over)
		ret = loop_step(r->loop, -1);
	return min(ret, 0);
}

bool command_run_ask(struct command_run *r, int signo, u64 patience_ns)
{
	u64 limit = clock_monotonic_ns() + patience_ns;
	if (!r->child.pid || r->ended)
		return true;
	r->was_ended = true;
	(void)kill(r->child.pid, signo);
	while (!r->ended && clock_monotonic_ns() < limit)
		if (loop_step(r->loop, 100) < 0)
			break;
	return r->ended;
}

void command_run_stop(struct command_run *r, int signo, u64 patience_ns)
{
	if (!command_run_ask(r, signo, patience_ns))
		command_run_reap(r, SIGKILL);
}

void command_run_unwatch(struct command_run *r)
{
	loop_free(r->loop);
	r->loop = NULL;
}

void command_run_reap(struct command_run *r, int signo)
{
	if (!r->child.pid || r->ended)
		return;
	if (signo)
		(void)kill(r->child.pid, signo);
	while (waitpid(r->child.pid, &r->wait_status, 0) < 0 && errno == EINTR)
		;
	r->ended = true;
}

void command_run_forget(struct command_run *r)
{
	child_done(&r->child);
	r->child = (struct child){ .go_fd = -1, .exec_fd = -1 };
	r->over = false;
}

void command_run_close(struct command_run *r)
{
	control_close(&r->control);
	child_done(&r->child);
	command_run_unwatch(r);
}
