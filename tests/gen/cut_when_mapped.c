/*
 * Runs a command and truncates a file at the moment when it has been mapped, before a byte of the mapping is read:
 *	cut_when_mapped FILE SIZE COMMAND...
 * Ends as the command does; 125: it never mapped the file, or it cannot be traced.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool maps_it(pid_t pid, const struct stat *st)
{
	char path[64], line[8192];
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *f = fopen(path, "re");
	bool found = false;
	while (f && !found && fgets(line, sizeof(line), f)) {
		unsigned long ino = 0;
		found = sscanf(line, "%*s %*s %*s %*s %lu", &ino) == 1 && ino == st->st_ino;
	}
	if (f)
		fclose(f);
	return found;
}

static void start(char **command)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(125);
	(void)raise(SIGSTOP);
	(void)execvp(command[0], command);
	_exit(125);
}

int main(int argc, char **argv)
{
	struct stat st;
	if (argc < 4 || stat(argv[1], &st))
		return 125;
	pid_t pid = fork(), got;
	if (!pid)
		start(argv + 3);
	int status, done = 125;
	bool cut = false;
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return 125;
	long opts = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
		    PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, opts) || ptrace(PTRACE_SYSCALL, pid, NULL, NULL))
		return 125;
	while ((got = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (got == pid) {
				done = WIFEXITED(status) ? WEXITSTATUS(status)
							 : 128 + WTERMSIG(status);
				break;
			}
			continue;
		}
		int signo = WSTOPSIG(status);
		if (signo == (SIGTRAP | 0x80) && !cut && maps_it(got, &st))
			cut = !truncate(argv[1], atol(argv[2]));
		/* New threads begin with a SIGSTOP of their own; events are traps. */
		bool ours = signo == (SIGTRAP | 0x80) || status >> 16 || signo == SIGSTOP;
		(void)ptrace(cut ? PTRACE_CONT : PTRACE_SYSCALL, got, NULL,
			     (void *)(long)(ours ? 0 : signo));
	}
	return cut ? done : 125;
}
