/* A command under the loop: its end, a deadline, one that will not end, one that cannot be run, and commands from outside. */
#include "tap.h"

#include "session/command_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void sh(char *text, char *argv[4])
{
	static char name[] = "sh", option[] = "-c";
	argv[0] = name;
	argv[1] = option;
	argv[2] = text;
	argv[3] = NULL;
}

static void is_s64(s64 got, s64 want, const char *what)
{
	ok(got == want, "%s (%lld, wanted %lld)", what, (long long)got, (long long)want);
}

/* A run of a shell command, let go. */
static void start(struct command_run *r, char *text)
{
	char *argv[4];
	sh(text, argv);
	is_s64(command_run_prepare(r, argv, NULL, NULL), 0, "a command");
	is_s64(command_run_go(r, argv[0], NULL), 0, "runs");
}

static void test_end(void)
{
	static const struct command_run_opts none;
	struct command_run r = COMMAND_RUN_NONE;
	char three[] = "exit 3", four[] = "exit 4";
	is_s64(command_run_open(&r, &none), 0, "a loop");
	start(&r, three);
	is_s64(command_run_wait(&r), 0, "the wait ends");
	ok(r.ended && !r.was_ended, "because the command did");
	is_s64(child_exit_status(r.wait_status), 3, "with its status");
	command_run_forget(&r);
	start(&r, four);
	ok(!r.ended && !r.over, "a second run begins anew");
	is_s64(command_run_wait(&r), 0, "and ends");
	is_s64(child_exit_status(r.wait_status), 4, "with its own status");
	command_run_close(&r);
}

/* The deadline comes while the command runs; it ignores SIGTERM, so it is killed. */
static void test_deadline(void)
{
	static const struct command_run_opts none;
	struct command_run r = COMMAND_RUN_NONE;
	char deaf[] = "trap '' TERM; echo ready; while :; do sleep 1; done";
	int ready[2], saved = dup(STDOUT_FILENO);
	char text[8], *argv[4];
	is_s64(command_run_open(&r, &none), 0, "a loop");
	is_s64(pipe(ready), 0, "a pipe");
	sh(deaf, argv);
	(void)fflush(stdout);
	dup2(ready[1], STDOUT_FILENO);
	int made = command_run_prepare(&r, argv, NULL, NULL);
	dup2(saved, STDOUT_FILENO);
	is_s64(made, 0, "a command");
	is_s64(command_run_go(&r, argv[0], NULL), 0, "runs");
	close(ready[1]);
	ok(read(ready[0], text, sizeof(text)) > 0, "it is deaf now");
	is_s64(command_run_deadline(&r, 1, NULL), 0, "a deadline");
	is_s64(command_run_wait(&r), 0, "ends the wait");
	ok(r.over && !r.ended, "not the command");
	command_run_stop(&r, SIGTERM, 1);
	ok(r.ended && r.was_ended, "we end it");
	ok(WIFSIGNALED(r.wait_status) && WTERMSIG(r.wait_status) == SIGKILL, "by force");
	command_run_close(&r);
	close(ready[0]);
	close(saved);
}

static void test_exec(void)
{
	static const struct command_run_opts none;
	struct command_run r = COMMAND_RUN_NONE;
	struct diag d;
	char name[] = "/nowhere/at/all", *argv[] = { name, NULL };
	diag_init(&d);
	is_s64(command_run_open(&r, &none), 0, "a loop");
	is_s64(command_run_prepare(&r, argv, NULL, &d), 0, "it can be prepared");
	is_s64(command_run_go(&r, argv[0], &d), -ENOENT, "but not executed");
	ok(r.exec_failed && d.nr_errors == 1, "which is said");
	is_s64(child_exec_status(-ENOENT), 127, "with the shell's status");
	command_run_close(&r);
	diag_done(&d);
}

static int obey(void *ctx, enum control_command command)
{
	*(unsigned *)ctx |= 1u << command;
	return command == CONTROL_STOP ? 1 : command == CONTROL_UNKNOWN ? -ENOTSUP : 0;
}

static void test_control(void)
{
	static const struct command_run_opts none;
	struct command_run r = COMMAND_RUN_NONE;
	int to_us[2], from_us[2];
	char text[64], acks[64];
	unsigned seen = 0;
	is_s64(pipe(to_us) | pipe(from_us), 0, "two pipes");
	(void)snprintf(text, sizeof(text), "fd:%d,%d", to_us[0], from_us[1]);
	is_s64(command_run_open(&r, &none), 0, "a loop");
	is_s64(command_run_control(&r, "--control", text, NULL), 0, "a channel");
	is_s64(command_run_listen(&r, obey, &seen), 0, "and who obeys");
	ok(write(to_us[1], "ping\nnonsense\nstop\n", 19) == 19, "three commands");
	is_s64(command_run_wait(&r), 0, "the last one ends the wait");
	ok(r.told_to_stop && !r.signal, "and is known for it");
	ok(seen == (1u << CONTROL_PING | 1u << CONTROL_UNKNOWN | 1u << CONTROL_STOP),
	   "all were seen");
	is_s64(read(from_us[0], acks, sizeof(acks)), 10, "two are acknowledged");
	command_run_close(&r);
	for (int i = 0; i < 2; i++) {
		close(to_us[i]);
		close(from_us[i]);
	}
}

/* The first signal is the command's; here it is the one that ends it. */
static void test_forward(void)
{
	struct command_run r = COMMAND_RUN_NONE;
	char ask[] = "trap 'exit 7' TERM; kill -TERM $PPID; while :; do sleep 0.05; done";
	const struct command_run_opts forward = { .forward = true };
	is_s64(command_run_open(&r, &forward), 0, "a loop");
	start(&r, ask);
	is_s64(command_run_wait(&r), 0, "the wait ends");
	is_s64(r.signal, SIGTERM, "a signal came");
	ok(r.ended && !r.was_ended, "and the command ended by itself");
	is_s64(child_exit_status(r.wait_status), 7, "as it wanted");
	command_run_close(&r);
}

int main(void)
{
	test_end();
	test_deadline();
	test_exec();
	test_control();
	test_forward();
	return done_testing();
}
