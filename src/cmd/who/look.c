/*
 * A pipe of our own commands instead of files:
 *
 *	trace -p PID                                          on the terminal
 *	sched record -g -o - -- sleep N | sched why -p PID    their text into memory
 *
 * Ctrl-C ends the collecting commands; sonde, and the commands that read from them, run to the end.
 */
#include "cmd/who/look.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { TEXT_MAX = 1 << 20 };

struct runner {
	int fds[3]; /* what its standard input, output and error are */
	bool by_ctrl_c; /* it may be ended so */
};

static int set_up(posix_spawn_file_actions_t *files, posix_spawnattr_t *attr, const struct runner *r)
{
	sigset_t none, plain;
	sigemptyset(&none);
	sigemptyset(&plain);
	sigaddset(&plain, SIGPIPE);
	if (r->by_ctrl_c)
		sigaddset(&plain, SIGINT);
	int err = 0;
	for (int i = 0; i < 3 && !err; i++)
		err = posix_spawn_file_actions_adddup2(files, r->fds[i], i);
	if (!err)
		err = posix_spawnattr_setsigmask(attr, &none);
	if (!err)
		err = posix_spawnattr_setsigdefault(attr, &plain);
	if (!err)
		err = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return err;
}

/* This program with other arguments. 0 or negative errno. */
static int start(const struct runner *r, const char *const *argv, pid_t *ret)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int err = posix_spawn_file_actions_init(&files);
	if (err)
		return -err;
	err = posix_spawnattr_init(&attr);
	if (!err) {
		err = set_up(&files, &attr, r);
		if (!err)
			err = posix_spawn(ret, "/proc/self/exe", &files, &attr,
					  (char *const *)(uintptr_t)argv, environ);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&files);
	return -err;
}

/* 0, or what it ended with. */
static int wait_for(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What was written to a file in memory. */
static void read_back(int fd, struct strbuf *to)
{
	off_t size = lseek(fd, 0, SEEK_END);
	size_t want = size > 0 ? min((size_t)size, (size_t)TEXT_MAX) : 0;
	char *room = want ? strbuf_room(to, want) : NULL;
	ssize_t n = room ? pread(fd, room, want, 0) : 0;
	if (n > 0)
		strbuf_commit(to, (size_t)n);
}

/* "sonde trace: no process 12" and hints: the first line, without its prefix. */
static void first_reason(int fd, struct strbuf *why)
{
	struct strbuf text;
	strbuf_init(&text);
	read_back(fd, &text);
	const char *at = strbuf_cstr(&text), *colon = strstr(at, ": ");
	size_t len = strcspn(at, "\n");
	if (colon && (size_t)(colon - at) < len) {
		len -= (size_t)(colon + 2 - at);
		at = colon + 2;
	}
	if (len)
		strbuf_add(why, at, len);
	strbuf_done(&text);
}

struct calm {
	struct sigaction interrupt, quit;
};

/* Ctrl-C is for the commands meanwhile. */
static void ignore_keys(struct calm *c)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	(void)sigaction(SIGINT, &ignore, &c->interrupt);
	(void)sigaction(SIGQUIT, &ignore, &c->quit);
}

static void heed_keys(const struct calm *c)
{
	(void)sigaction(SIGINT, &c->interrupt, NULL);
	(void)sigaction(SIGQUIT, &c->quit, NULL);
}

int who_trace(void *ctx, s32 pid, struct strbuf *why)
{
	char id[16];
	const char *argv[] = { "sonde", "trace", "-p", id, NULL };
	struct calm calm;
	pid_t child;
	(void)ctx;
	(void)snprintf(id, sizeof(id), "%d", pid);
	_cleanup_close_ int errors = memfd_create("sonde-errors", MFD_CLOEXEC);
	if (errors < 0)
		return -errno;
	ignore_keys(&calm);
	int err = start(&(struct runner){ { STDIN_FILENO, STDOUT_FILENO, errors }, true }, argv,
			&child);
	int status = err ? 0 : wait_for(child);
	heed_keys(&calm);
	first_reason(errors, why);
	if (err || !status || status == 128 + SIGINT)
		return err;
	return -EIO;
}

int who_waits(void *ctx, s32 pid, unsigned seconds, struct strbuf *text, struct strbuf *why)
{
	char id[16], limit[16];
	const char *record[] = { "sonde", "sched", "record", "-q",  "-g", "-o",
				 "-",	  "--",	   "sleep",  limit, NULL };
	const char *fold[] = { "sonde", "sched",  "why", "-p",		id,  "-i",
			       "-",	"--rows", "8",	 "--max-stack", "8", NULL };
	struct calm calm;
	pid_t first = 0, second = 0;
	int pipe_of[2];
	(void)ctx;
	(void)snprintf(id, sizeof(id), "%d", pid);
	(void)snprintf(limit, sizeof(limit), "%u", seconds);
	_cleanup_close_ int errors = memfd_create("sonde-errors", MFD_CLOEXEC);
	_cleanup_close_ int answer = memfd_create("sonde-waits", MFD_CLOEXEC);
	_cleanup_close_ int none = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (errors < 0 || answer < 0 || none < 0 || pipe2(pipe_of, O_CLOEXEC))
		return -errno;
	ignore_keys(&calm);
	int err = start(&(struct runner){ { none, pipe_of[1], errors }, true }, record, &first);
	if (!err)
		err = start(&(struct runner){ { pipe_of[0], answer, none }, false }, fold, &second);
	close(pipe_of[0]);
	close(pipe_of[1]);
	int recorded = first ? wait_for(first) : 0, folded = second ? wait_for(second) : 0;
	heed_keys(&calm);
	if (err)
		return err;
	if (recorded && recorded != 128 + SIGINT) {
		first_reason(errors, why);
		return -EIO;
	}
	read_back(answer, text);
	return folded ? -EIO : text->err;
}
