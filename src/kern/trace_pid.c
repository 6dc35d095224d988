#include "kern/trace_pid.h"

#include "base/num.h"
#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* PROC_PID_INIT_INO: the number of the first PID namespace is part of the kernel's interface. */
#define FIRST_NAMESPACE "pid:[4026531836]"

bool trace_pid_translates(const struct sysroot *root)
{
	char name[64];
	ssize_t n = readlinkat(root->dir_fd, "proc/self/ns/pid", name, sizeof(name) - 1);
	if (n < 0)
		return false;
	name[n] = 0;
	return strcmp(name, FIRST_NAMESPACE) != 0;
}

static int put(const struct tracing *t, const char *folder, const char *file, const char *text)
{
	char path[PATH_MAX];
	(void)!str_path(path, sizeof(path), "%s%s", folder, file);
	return tracing_write(t, path, text, !strcmp(file, "trace"));
}

/* SIGURG is ignored unless somebody handles it. si_errno is ours to choose: it tells this signal from all others. */
static int send_marked(s32 pid, int cookie)
{
	siginfo_t info = { .si_signo = SIGURG, .si_errno = cookie, .si_code = SI_QUEUE };
	info.si_pid = getpid();
	info.si_uid = getuid();
	return syscall(SYS_rt_sigqueueinfo, pid, SIGURG, &info) ? -errno : 0;
}

/* "... signal_generate: sig=23 errno=77 code=-1 comm=sonde pid=4711 grp=1 res=1" */
static int parse_pid(const char *text, int cookie, s32 *ret)
{
	char word[32];
	u64 pid;
	(void)snprintf(word, sizeof(word), " errno=%d ", cookie);
	const char *at = strstr(text, word), *end = at ? strchrnul(at, '\n') : NULL;
	const char *found = NULL;
	for (const char *p = at; p && (p = strstr(p, " pid=")) && p < end; p++)
		found = p + 5; /* the last: a comm may contain the word */
	if (!found)
		return -ENODATA;
	char digits[16];
	(void)snprintf(digits, sizeof(digits), "%.*s", (int)strspn(found, "0123456789"), found);
	if (num_parse_u64(digits, 10, &pid) || !pid || pid > INT_MAX)
		return -ENODATA;
	*ret = (s32)pid;
	return 0;
}

int trace_pid_find(const struct tracing *t, const char *folder, s32 pid, s32 *ret)
{
	char filter[64], path[PATH_MAX];
	struct timespec now;
	struct strbuf s;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	int cookie = (int)(((u32)getpid() * 2654435761u ^ (u32)now.tv_nsec) & INT_MAX) | 1;
	(void)snprintf(filter, sizeof(filter), "sig == %d && errno == %d\n", SIGURG, cookie);
	int err = put(t, folder, "events/signal/signal_generate/filter", filter);
	if (!err)
		err = put(t, folder, "events/signal/signal_generate/enable", "1\n");
	if (!err)
		err = put(t, folder, "tracing_on", "1\n");
	if (!err)
		err = send_marked(pid, cookie);
	if (err)
		return err;
	strbuf_init(&s);
	(void)!str_path(path, sizeof(path), "%strace", folder);
	err = tracing_read(t, path, &s);
	if (!err)
		err = parse_pid(strbuf_cstr(&s), cookie, ret);
	strbuf_done(&s);
	return err;
}
