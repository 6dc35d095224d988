/* `sonde sched record`: record, with the scheduler's events. */
#include "cmd/app/commands.h"
#include "cmd/record/preset.h"

#include <errno.h>

/* As perf does, in its order, as far as the kernel has them. */
static const char *const always[] = {
	"sched:sched_switch",	  "sched:sched_stat_runtime", "sched:sched_process_fork",
	"sched:sched_wakeup_new", "sched:sched_migrate_task", "sched:sched_stat_wait",
	"sched:sched_stat_sleep", "sched:sched_stat_iowait",
};
static const char waking[] = "sched:sched_waking", wakeup[] = "sched:sched_wakeup";

static bool has(const char *event)
{
	return record_kernel_has((const char *const[]){ event, NULL });
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	const char *events[ARRAY_SIZE(always) + 2];
	size_t nr = 0;
	/* The first one is always asked for: if it is not there, that is what is said. */
	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		if (!i || has(always[i]))
			events[nr++] = always[i];
	events[nr++] = has(waking) ? waking : wakeup;
	events[nr] = NULL;
	return record_run_preset(app, opts,
				 &(struct record_preset){ .events = events, .system_wide = true },
				 argc, argv);
}

static const struct opt_example examples[] = {
	{ "sched record -- make", "the whole system, until make has ended" },
	{ "sched record -g -- sleep 5", "with the stacks where threads left the CPU" },
	{ "sched record -o sched.data -m 16M", "until Ctrl-C, with larger buffers" },
	{ 0 },
};

const struct command command_sched_record = {
	.name = "record",
	.summary = "record what the scheduler does, on all CPUs",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Records switches, wake-ups (sched_waking where the kernel has it), migrations, "
		 "forks and accounted run time of the whole system. Takes all options of 'record'.",
	.examples = examples,
	.opts = record_rows,
	.opts_size = sizeof(struct record_opts),
	.run = run,
};
