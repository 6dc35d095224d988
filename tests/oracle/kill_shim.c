/*
 * Preloaded: kills the program with SIGKILL at its n-th step towards the kernel (a write to a file of tracefs or to a journal, the making of
 * a folder), before or after the step is done.
 *
 *	KILL_AT=5 KILL_WHEN=before|after KILL_WATCHDOG=1 LD_PRELOAD=.../kill_shim.so sonde ftrace start ...
 *
 * Steps of children (the watchdog) do not count. KILL_WATCHDOG kills the first child too, so that nobody is left to undo.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t us, child;
static long at, steps;
static bool after, watchdog;

__attribute__((constructor)) static void begin(void)
{
	const char *n = getenv("KILL_AT"), *when = getenv("KILL_WHEN");
	us = getpid();
	at = n ? atol(n) : 0;
	after = when && !strcmp(when, "after");
	watchdog = getenv("KILL_WATCHDOG");
}

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void die(void)
{
	if (watchdog && child > 0) {
		(void)kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
	}
	(void)kill(us, SIGKILL);
}

/* Whether the step that begins now is the one. */
static bool is_due(void)
{
	if (getpid() != us || !at)
		return false;
	bool due = ++steps == at;
	if (due && !after)
		die();
	return due;
}

static bool is_step(int fd)
{
	char link[64], path[512];
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	return strstr(path, "/tracing/") || strstr(path, "/sonde/ftrace");
}

pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t(*)(void))next("fork");
	pid_t pid = real();
	if (pid > 0 && !child)
		child = pid;
	return pid;
}

ssize_t write(int fd, const void *data, size_t len)
{
	ssize_t (*real)(int, const void *, size_t) =
		(ssize_t(*)(int, const void *, size_t))next("write");
	bool due = getpid() == us && is_step(fd) && is_due();
	ssize_t n = real(fd, data, len);
	if (due)
		die();
	return n;
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	int (*real)(int, const char *, mode_t) =
		(int (*)(int, const char *, mode_t))next("mkdirat");
	bool due = is_due();
	int r = real(dir, path, mode);
	if (due)
		die();
	return r;
}
