/* `sonde ftrace`: trace-cmd's commands. Called as trace-cmd, the program is this verb. */
#include "cmd/app/commands.h"

/* clang-format off */
static const struct command *const subs[] = {
	&command_ftrace_record,
	&command_ftrace_report,
	&command_ftrace_graph,
	&command_ftrace_list,
	&command_ftrace_start,
	&command_ftrace_set,
	&command_ftrace_stop,
	&command_ftrace_restart,
	&command_ftrace_clear,
	&command_ftrace_show,
	&command_ftrace_mark,
	&command_ftrace_snapshot,
	&command_ftrace_stack,
	&command_ftrace_stat,
	&command_ftrace_status,
	&command_ftrace_reset,
	&command_ftrace_extract,
	&command_ftrace_restore,
	&command_ftrace_dump,
	&command_ftrace_stream,
	&command_ftrace_profile,
	&command_ftrace_latency,
	&command_ftrace_hist,
	&command_ftrace_mem,
	&command_ftrace_sqlhist,
	&command_ftrace_split,
	&command_ftrace_convert,
	&command_ftrace_check_events,
	&command_ftrace_options,
	NULL,
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "ftrace report", "print the events of trace.dat" },
	{ "ftrace report -t -l -i boot.dat", "nanoseconds, latency columns, another file" },
	{ 0 },
};

/* Of trace-cmd: nothing here opens a socket. */
static const struct opt_example elsewhere[] = {
	{ "listen", "network recording is not supported: record there, copy the file, run 'ftrace "
		    "report' on it" },
	{ "agent", "guests are not supported: run 'ftrace record' in the guest, copy the file, and "
		   "merge both with 'ftrace report -i HOST.dat -i GUEST.dat'" },
	{ "setup-guest",
	  "guests are not supported: run 'ftrace record' in the guest and copy the file" },
	{ "attach", "merge host and guest files by time with 'ftrace report -i HOST.dat -i "
		    "GUEST.dat', and --ts-offset if their clocks differ" },
	{ 0 },
};

const struct command command_ftrace = {
	.name = "ftrace",
	.group = "Why",
	.summary = "the kernel's tracer: record and print its events",
	.usage = "COMMAND [OPTIONS]",
	.examples = examples,
	.subs = subs,
	.elsewhere = elsewhere,
};
