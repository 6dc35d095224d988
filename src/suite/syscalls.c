/* syscall basic|getpgid|fork|execve: one system call in a loop. */
#include "base/clock.h"
#include "suite/impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOPS_CHEAP = 10000000, LOOPS_PROCESS = 10000 };

typedef int call_loop(u64 n);

/* The system call itself: the C library may remember answers. */
static int loop_getppid(u64 n)
{
	while (n--)
		(void)syscall(SYS_getppid);
	return 0;
}

static int loop_getpgid(u64 n)
{
	while (n--)
		(void)syscall(SYS_getpgid, 0);
	return 0;
}

static int wait_for(pid_t pid, bool must_succeed)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return must_succeed && status ? -ENOEXEC : 0;
}

static int loop_fork(u64 n)
{
	for (; n; n--) {
		pid_t pid = fork();
		if (!pid)
			_exit(0);
		int err = pid < 0 ? -errno : wait_for(pid, false);
		if (err)
			return err;
	}
	return 0;
}

static int loop_execve(u64 n)
{
	static char *const argv[] = { (char *)"true", NULL }, *const envp[] = { NULL };
	for (; n; n--) {
		pid_t pid = fork();
		if (!pid) {
			execve("/bin/true", argv, envp);
			_exit(127);
		}
		int err = pid < 0 ? -errno : wait_for(pid, true);
		if (err)
			return err;
	}
	return 0;
}

static int time_calls(const struct suite_params *p, struct suite_run *r, const char *name,
		      u64 fallback, call_loop *loop)
{
	u64 n;
	int err = suite_loops(r, p->loops, fallback, &n);
	if (err)
		return err;
	err = loop(min(n / 100 + 1, (u64)1000));
	u64 start = clock_monotonic_ns();
	if (!err)
		err = loop(n);
	u64 ns = clock_monotonic_ns() - start;
	if (err)
		return diag_error(r->diag, err, "%s failed: %s", name, strerror(-err));
	suite_add(r, NULL, "time", "s", (double)ns / 1e9);
	suite_add(r, NULL, "time_per_op", "us", (double)ns / 1e3 / (double)n);
	if (p->simple) {
		suite_simple_time(r, ns);
		return 0;
	}
	strbuf_printf(&r->text, "# Executed %llu %s() calls\n", (unsigned long long)n, name);
	suite_total_time(r, ns);
	strbuf_char(&r->text, '\n');
	suite_per_op(r, ns, n);
	return 0;
}

int suite_getppid(const struct suite_params *p, struct suite_run *r)
{
	return time_calls(p, r, "getppid", LOOPS_CHEAP, loop_getppid);
}

int suite_getpgid(const struct suite_params *p, struct suite_run *r)
{
	return time_calls(p, r, "getpgid", LOOPS_CHEAP, loop_getpgid);
}

int suite_fork(const struct suite_params *p, struct suite_run *r)
{
	return time_calls(p, r, "fork", LOOPS_PROCESS, loop_fork);
}

int suite_execve(const struct suite_params *p, struct suite_run *r)
{
	return time_calls(p, r, "execve", LOOPS_PROCESS, loop_execve);
}
