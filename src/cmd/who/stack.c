/* sonde stack: where all threads of a process are, or were. */
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "session/thread_stacks.h"

#include <string.h>

struct stack_cmd_opts {
	u64 max_frames;
	bool no_lines;
};

static void stack_defaults(void *opts)
{
	((struct stack_cmd_opts *)opts)->max_frames = 256;
}

static int stack_run(struct app *app, void *opts, int argc, char **argv)
{
	const struct stack_cmd_opts *o = opts;
	struct thread_stacks s;
	u64 pid;
	if (!argc)
		return app_usage(app, "no process ID or core given");
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s'", argv[1]);
	bool is_pid = !num_parse_u64(argv[0], 10, &pid);
	if (is_pid && (!pid || pid > INT32_MAX))
		return app_usage(app, "invalid process ID '%s'", argv[0]);
	struct thread_stacks_opts t = { .pid = is_pid ? (s32)pid : 0,
					.core = is_pid ? NULL : argv[0],
					.max_frames = (u32)min(o->max_frames, (u64)UINT32_MAX),
					.no_lines = o->no_lines };
	int err = thread_stacks_open(&s, &t, app_symbols(app), &app->diag);
	if (!err && app->json)
		err = thread_stacks_json(&s, &app->out);
	else if (!err)
		thread_stacks_text(&s, &app->out);
	thread_stacks_close(&s);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt stack_rows[] = {
	OPT_UINT('n', "max-frames", struct stack_cmd_opts, max_frames, "N",
		 "At most N frames of a thread (256)"),
	OPT_FLAG(0, "no-lines", struct stack_cmd_opts, no_lines,
		 "No source files, lines and inlined functions"),
	OPT_END(),
};

static const struct opt_example stack_examples[] = {
	{ "stack 1234", "where each thread of a process is, in its program and in the kernel" },
	{ "stack ./core", "where they were when it died" },
	{ "stack --json 1234", "for programs" },
	{ 0 },
};

const struct command command_stack = {
	.name = "stack",
	.group = "Why",
	.summary = "stacks of all threads of a process or core",
	.usage = "[OPTIONS] PID|CORE",
	.about = "Each thread is stopped for the time it takes to copy its registers and stack, "
		 "less "
		 "than a millisecond on a machine with a free CPU, and goes on while they are "
		 "unwound "
		 "by the unwind tables of its programs. Frames in the kernel come from /proc, for "
		 "threads that sleep, and need root.\n"
		 "As with any debugger, a system call that the thread waits in may return early: "
		 "those that "
		 "the kernel does not restart by itself, such as epoll_wait(), with EINTR.\n"
		 "Where a stack ends early, a line says why. Programs and libraries of a core have "
		 "to be "
		 "those that ran.",
	.examples = stack_examples,
	.opts = stack_rows,
	.opts_size = sizeof(struct stack_cmd_opts),
	.defaults = stack_defaults,
	.mixed_words = true,
	.run = stack_run,
};
