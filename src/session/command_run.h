/*
 * Waiting for the end of what is looked at: a command that was started for it, or whatever else ends it (a signal, a deadline, a program
 * that controls us, a source that the caller added to the loop). The order of calls:
 *
 *	command_run_open      the loop, and the signals that end it
 *	command_run_prepare   where there is a command: it has a process id now, and waits
 *	command_run_go        it is let go
 *	command_run_wait      until it ends, or something else
 *	command_run_stop, command_run_reap   it ends too
 *	command_run_close
 *
 * prepare to stop may be repeated: several runs of a command with one loop.
 */
#pragma once

#include "base/loop.h"
#include "session/child.h"
#include "session/control.h"

/*
 * Obeys a command of the control channel: 0 done, 1 done and the wait is over (both are acknowledged), -ENOTSUP it was not carried out and
 * is not acknowledged, or another errno, with which the wait ends.
 */
typedef int (*command_run_obey)(void *ctx, enum control_command command);

struct command_run_opts {
	bool hangup; /* SIGHUP ends the wait as SIGINT and SIGTERM do */
	bool forward; /* the first signal is the command's, too: it may end in its own way; the second one ends the wait */
};

struct command_run {
	struct loop *loop; /* for sources of the caller's own */
	struct child child; /* .pid 0: there is none */
	struct control control;
	int signal; /* the last one that came; 0: none */
	bool over; /* the wait is; who sets it returns 0 from its handler */
	bool told_to_stop; /* by the control channel */
	bool exec_failed;
	bool ended; /* the command, with this status of waitpid(), at this time of the monotonic clock */
	bool was_ended; /* by us: its status means nothing */
	int wait_status;
	u64 ended_ns;

	/* Of command_run.c. */
	struct command_run_opts opts;
	command_run_obey obey;
	void *obey_ctx;
	struct loop_source *control_source;
};

/* Nothing is open: for the initialiser of whoever has one. */
#define COMMAND_RUN_NONE                                                                           \
	{                                                                                          \
		.child = { .go_fd = -1, .exec_fd = -1 }, .control = {.fd = -1, .ack_fd = -1 }      \
	}

int command_run_open(struct command_run *r, const struct command_run_opts *o) must_check;
/* As child_prepare_as(); user NULL: as who we are. */
int command_run_prepare(struct command_run *r, char **argv, const struct child_user *user,
			struct diag *d) must_check;
/* As child_go(). .exec_failed: it could not be executed, and child_exec_status() is what to return. Nothing without a command. */
int command_run_go(struct command_run *r, const char *command, struct diag *d) must_check;
/* As control_open(); then, with a loop, who obeys. Nothing without an open channel. */
int command_run_control(struct command_run *r, const char *option, const char *text,
			struct diag *d) must_check;
int command_run_listen(struct command_run *r, command_run_obey obey, void *ctx) must_check;
/* The wait is over then, from now on; the source is the caller's to remove. */
int command_run_deadline(struct command_run *r, u64 ns, struct loop_source **ret) must_check;
/* 0, or negative errno of a handler. */
int command_run_wait(struct command_run *r) must_check;
/* A command that still runs is told to end. false: it has not after so long. */
bool command_run_ask(struct command_run *r, int signo, u64 patience_ns);
/* A command that still runs is told to end, and killed when it has not after so long. */
void command_run_stop(struct command_run *r, int signo, u64 patience_ns);
/* No loop any more: a second Ctrl-C ends us at once. */
void command_run_unwatch(struct command_run *r);
/* Without a loop: tells a command that still runs to end (0: lets it), and waits for it. */
void command_run_reap(struct command_run *r, int signo);
/* Between two runs: ends a command that was never let go. */
void command_run_forget(struct command_run *r);
void command_run_close(struct command_run *r);
