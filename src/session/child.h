/*
 * A command that is started to be looked at: it waits, with its process id known, until everything is set up, and then
 * execs. If we die before that, it ends by itself.
 */
#pragma once

#include "base/diag.h"

#include <signal.h>
#include <sys/types.h>

/* What a shell returns for a command that it cannot run, or cannot find. */
enum { CHILD_CANNOT_RUN = 126, CHILD_NOT_FOUND = 127 };

struct child {
	pid_t pid; /* 0: none */
	int go_fd;
	int exec_fd; /* tells why exec failed */
};

struct child_user {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int nr_groups;
	char *name, *home, *shell;
};

/* Whether the command can be found and run: 0, or -ENOENT, -EACCES with a diag. */
int child_check(const char *command, struct diag *d) must_check;
/* The file that would be run: 0, or -ENOENT, -EACCES. */
int child_find(const char *command, char *to, size_t size) must_check;
/* signals: the mask the command is given. */
int child_prepare(struct child *c, char **argv, const sigset_t *signals, struct diag *d) must_check;
/* The same as another user, with that user's groups, HOME, USER, LOGNAME and SHELL. */
int child_prepare_as(struct child *c, char **argv, const sigset_t *signals,
		     const struct child_user *user, struct diag *d) must_check;
/* -ENOENT with a diag: there is no such user. option: what messages call the option that named the user. */
int child_user_find(struct child_user *u, const char *option, const char *name,
		    struct diag *d) must_check;
void child_user_done(struct child_user *u);
/* Lets it exec; waits until it did. Negative errno of exec with a diag; the child is reaped then. */
int child_go(struct child *c, const char *command, struct diag *d) must_check;
/* Ends one that was never let go, and closes what is open. */
void child_done(struct child *c);

/* For -ENOENT 127, else 126: what a shell would return. */
int child_exec_status(int err);
/* The exit status that stands for a status of waitpid(): the command's own, or 128 + signal. */
int child_exit_status(int wait_status);
