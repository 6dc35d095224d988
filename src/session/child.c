#include "session/child.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int child_exec_status(int err)
{
	return err == -ENOENT ? CHILD_NOT_FOUND : CHILD_CANNOT_RUN;
}

int child_exit_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static int say_cannot_run(const char *command, int err, struct diag *d)
{
	return diag_error(d, err, "cannot run '%s': %s", command, strerror(-err));
}

static int can_run(const char *path)
{
	struct stat st;
	if (access(path, X_OK))
		return -errno;
	return !stat(path, &st) && S_ISDIR(st.st_mode) ? -EACCES : 0;
}

int child_find(const char *command, char *to, size_t size)
{
	if (strchr(command, '/')) {
		int err = str_path(to, size, "%s", command);
		return err ? err : can_run(to);
	}
	const char *path = getenv("PATH");
	int err = -ENOENT;
	for (const char *dir = path ? path : "/bin:/usr/bin"; dir;) {
		const char *colon = strchrnul(dir, ':');
		int got = str_path(to, size, "%.*s%s%s", (int)(colon - dir), dir,
				   colon > dir ? "/" : "", command);
		if (!got)
			got = can_run(to);
		if (!got)
			return 0;
		if (got == -EACCES)
			err = got;
		dir = *colon ? colon + 1 : NULL;
	}
	return err;
}

int child_check(const char *command, struct diag *d)
{
	char path[PATH_MAX];
	int err = child_find(command, path, sizeof(path));
	return err ? say_cannot_run(command, err, d) : 0;
}

/* What we were lent (set-user-id, file capabilities) is not for the command. Those of files end with exec by themselves. */
static int give_up_privileges(void)
{
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0,
		    0); /* a kernel without: nothing to clear */
	return setresgid(getgid(), getgid(), getgid()) || setresuid(getuid(), getuid(), getuid())
		       ? -1
		       : 0;
}

int child_user_find(struct child_user *u, const char *option, const char *name, struct diag *d)
{
	const struct passwd *pw = getpwnam(name);
	*u = (struct child_user){ 0 };
	if (!pw)
		return diag_error(d, -ENOENT, "%s %s: no such user", option, name);
	u->uid = pw->pw_uid;
	u->gid = pw->pw_gid;
	u->name = strdup(pw->pw_name);
	u->home = strdup(*pw->pw_dir ? pw->pw_dir : "/");
	u->shell = strdup(*pw->pw_shell ? pw->pw_shell : "/bin/sh");
	/* The first call says how many there are. */
	if (u->name)
		(void)getgrouplist(u->name, u->gid, NULL, &u->nr_groups);
	u->groups = calloc((size_t)max(u->nr_groups, 1), sizeof(*u->groups));
	if (u->name && u->home && u->shell && u->groups &&
	    getgrouplist(u->name, u->gid, u->groups, &u->nr_groups) >= 0)
		return 0;
	child_user_done(u);
	return diag_error(d, -ENOMEM, "%s %s: cannot read the user's groups", option, name);
}

void child_user_done(struct child_user *u)
{
	free(u->groups);
	free(u->name);
	free(u->home);
	free(u->shell);
	*u = (struct child_user){ 0 };
}

static int become_user(const struct child_user *u)
{
	return setgroups((size_t)u->nr_groups, u->groups) || setresgid(u->gid, u->gid, u->gid) ||
			       setresuid(u->uid, u->uid, u->uid) || setenv("HOME", u->home, true) ||
			       setenv("USER", u->name, true) || setenv("LOGNAME", u->name, true) ||
			       setenv("SHELL", u->shell, true)
		       ? -1
		       : 0;
}

static _Noreturn void child_main(int go_fd, int exec_fd, char **argv, const sigset_t *signals,
				 const struct child_user *user)
{
	char go;
	ssize_t n;
	/* Samples taken inside of exec already go by the command's name. */
	const char *slash = strrchr(argv[0], '/');
	(void)prctl(PR_SET_NAME, slash ? slash + 1 : argv[0]);
	while ((n = read(go_fd, &go, 1)) < 0 && errno == EINTR)
		;
	if (n != 1) /* the recorder is gone, or thought better of it */
		_exit(CHILD_CANNOT_RUN);
	if (signals)
		(void)sigprocmask(SIG_SETMASK, signals, NULL);
	if (user ? become_user(user) : getauxval(AT_SECURE) && give_up_privileges()) {
		int err = errno;
		(void)!write(exec_fd, &err, sizeof(err));
		_exit(CHILD_CANNOT_RUN);
	}
	execvp(argv[0], argv);
	int err = errno;
	(void)!write(exec_fd, &err, sizeof(err));
	_exit(CHILD_NOT_FOUND);
}

int child_prepare(struct child *c, char **argv, const sigset_t *signals, struct diag *d)
{
	return child_prepare_as(c, argv, signals, NULL, d);
}

int child_prepare_as(struct child *c, char **argv, const sigset_t *signals,
		     const struct child_user *user, struct diag *d)
{
	int go[2], exec[2];
	*c = (struct child){ .go_fd = -1, .exec_fd = -1 };
	if (pipe2(go, O_CLOEXEC))
		return diag_error(d, -errno, "cannot create a pipe: %s", strerror(errno));
	if (pipe2(exec, O_CLOEXEC)) {
		int err = diag_error(d, -errno, "cannot create a pipe: %s", strerror(errno));
		close(go[0]);
		close(go[1]);
		return err;
	}
	pid_t pid = fork();
	if (!pid) {
		close(go[1]);
		close(exec[0]);
		child_main(go[0], exec[1], argv, signals, user);
	}
	int err = pid < 0 ? diag_error(d, -errno, "cannot start a process: %s", strerror(errno)) : 0;
	close(go[0]);
	close(exec[1]);
	*c = (struct child){ .pid = max(pid, 0), .go_fd = go[1], .exec_fd = exec[0] };
	if (err)
		child_done(c);
	return err;
}

static void close_fd(int *fd)
{
	cleanup_close(fd);
	*fd = -1;
}

int child_go(struct child *c, const char *command, struct diag *d)
{
	int exec_errno = 0;
	char go = 1;
	if (write(c->go_fd, &go, 1) != 1)
		exec_errno = errno;
	close_fd(&c->go_fd);
	ssize_t n;
	while ((n = read(c->exec_fd, &exec_errno, sizeof(exec_errno))) < 0 && errno == EINTR)
		;
	close_fd(&c->exec_fd);
	if (!exec_errno)
		return 0;
	(void)waitpid(c->pid, NULL, 0);
	c->pid = 0;
	return say_cannot_run(command, -exec_errno, d);
}

void child_done(struct child *c)
{
	bool waits = c->go_fd >= 0;
	close_fd(&c->go_fd);
	close_fd(&c->exec_fd);
	if (waits && c->pid > 0)
		(void)waitpid(c->pid, NULL, 0);
	c->pid = 0;
}
