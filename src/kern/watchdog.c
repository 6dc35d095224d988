#include "kern/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_all_but(int pipe_fd, const int *keep, size_t nr)
{
	int low = 3;
	size_t i = 0;
	/* Descriptors in order, the pipe's among them. */
	for (bool pipe_done = false; i < nr || !pipe_done;) {
		int next = i < nr && (pipe_done || keep[i] < pipe_fd) ? keep[i++] : pipe_fd;
		pipe_done |= next == pipe_fd;
		if (next > low)
			(void)close_range((unsigned)low, (unsigned)next - 1, 0);
		low = max(low, next + 1);
	}
	(void)close_range((unsigned)low, ~0u, 0);
}

static _Noreturn void watch(int pipe_fd, void (*orphaned)(void *ctx), void *ctx, const int *keep,
			    size_t nr)
{
	static const int ignored[] = { SIGINT,	SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
				       SIGUSR1, SIGUSR2, SIGTTOU, SIGTSTP };
	sigset_t none;
	char bye;
	ssize_t n;
	(void)setsid();
	(void)prctl(PR_SET_NAME, "sonde-watchdog");
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		(void)dup2(null, fd);
	close_all_but(pipe_fd, keep, nr);
	(void)!chdir("/");
	while ((n = read(pipe_fd, &bye, 1)) < 0 && errno == EINTR)
		;
	if (n != 1)
		orphaned(ctx);
	_exit(0);
}

int watchdog_start(struct watchdog *w, void (*orphaned)(void *ctx), void *ctx, const int *keep,
		   size_t nr_keep)
{
	int fds[2];
	*w = (struct watchdog){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid_t pid = fork();
	if (!pid) {
		(void)close(fds[1]);
		watch(fds[0], orphaned, ctx, keep, nr_keep);
	}
	int err = pid < 0 ? -errno : 0;
	(void)close(fds[0]);
	if (err) {
		(void)close(fds[1]);
		return err;
	}
	*w = (struct watchdog){ .pid = pid, .fd = fds[1] };
	return 0;
}

void watchdog_end(struct watchdog *w)
{
	char bye = 1;
	if (!w->pid)
		return;
	(void)!send(w->fd, &bye, 1, MSG_NOSIGNAL);
	(void)close(w->fd);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*w = (struct watchdog){ .fd = -1 };
}
