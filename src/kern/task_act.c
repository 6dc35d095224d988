#include "kern/task_act.h"

#include "base/num.h"
#include "base/str.h"
#include "kern/proc_tasks_parse.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int start_of(s32 pid, u64 *ret)
{
	char path[32], text[1024];
	struct task t;
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (n <= 0 || !task_parse_stat(text, (size_t)n, &t))
		return -ESRCH;
	*ret = t.start_ticks;
	return 0;
}

int task_signal(s32 pid, u64 start_ticks, int signo)
{
	/* The descriptor keeps who it was opened for: if that is who was chosen, nobody else gets the signal. */
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	u64 start = 0;
	if (fd < 0 && errno != ENOSYS)
		return -errno;
	if (start_of(pid, &start) || start != start_ticks)
		return -ESRCH;
	long ret = fd < 0 ? kill(pid, signo) : syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0);
	return ret ? -errno : 0;
}

int task_renice(s32 tid, int nice)
{
	return setpriority(PRIO_PROCESS, (id_t)tid, nice) ? -errno : 0;
}

int signal_number(const char *text)
{
	u64 number;
	if (!num_parse_u64(text, 10, &number))
		return number > 0 && number <= (u64)SIGRTMAX ? (int)number : -EINVAL;
	if (str_starts(text, "SIG"))
		text += 3;
	for (int i = 1; i < NSIG; i++) {
		const char *name = sigabbrev_np(i);
		if (name && !strcasecmp(name, text))
			return i;
	}
	return -EINVAL;
}
