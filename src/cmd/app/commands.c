#include "cmd/app/commands.h"
#include "cmd/app/app.h"
#include "cmd/perf/perf.h"

/* One a line, so that merges of two new commands do not conflict. */
/* clang-format off */
const struct command *const commands[] = {
	&command_who,
	&command_stack,
	&command_list,
	&command_what,
	&command_how,
	&command_trace,
	&command_top,
	&command_record,
	&command_report,
	&command_stat,
	&command_script,
	&command_annotate,
	&command_lock,
	&command_kmem,
	&command_kvm,
	&command_kwork,
	&command_mem,
	&command_c2c,
	&command_flame,
	&command_timechart,
	&command_timeline,
	&command_export,
	&command_sql,
	&command_diff,
	&command_evlist,
	&command_buildid_list,
	&command_buildid_cache,
	&command_archive,
	&command_inject,
	&command_data,
	&command_probe,
	&command_ftrace,
	&command_sched,
	&command_run,
	&command_inspect,
	&command_doctor,
	&command_perf_kallsyms,
	&command_bench,
	&command_workload,
	&command_version,
	&command_help,
	NULL,
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "record -g -- make", "sample a command with its call stacks" },
	{ "report", "where its time went" },
	{ "flame -- make", "the same as a web page" },
	{ "ftrace record -e sched -- make", "kernel events while it runs" },
	{ "run -e 'tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }'",
	  "a script that runs in the kernel: system calls by program" },
	{ "doctor", "what this machine allows, what is missing, and how to fix it" },
	{ 0 },
};

const struct command program = {
	.name = "sonde",
	.summary = "one instrument for a running Linux system",
	.usage = "[OPTIONS] COMMAND [ARGS]",
	.examples = examples,
	.opts = app_global_rows,
	.opts_size = sizeof(struct app_common),
	.subs = commands,
};
