/* `sonde ftrace`: trace-cmd's commands. Called as trace-cmd, the program is this verb. */
#include "cmd/commands.h"

static const struct command *const subs[] = {
	&command_ftrace_record,
	&command_ftrace_report,
	&command_ftrace_convert,
	NULL,
};

static const struct opt_example examples[] = {
	{ "ftrace report", "print the events of trace.dat" },
	{ "ftrace report -t -l -i boot.dat", "nanoseconds, latency columns, another file" },
	{ 0 },
};

const struct command command_ftrace = {
	.name = "ftrace",
	.group = "Why",
	.summary = "the kernel's tracer: record and print its events",
	.usage = "COMMAND [OPTIONS]",
	.examples = examples,
	.subs = subs,
};
