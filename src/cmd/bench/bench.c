/* `sonde bench`: what system calls, switches, copies, locks and instrumentation cost on this machine. A suite is a command of its own. */
#include "cmd/app/commands.h"
#include "cmd/bench/suites.h"

/* clang-format off */
static const struct command *const subs[] = {
	&command_bench_probe,
	&command_bench_sched,
	&command_bench_syscall,
	&command_bench_mem,
	&command_bench_futex,
	&command_bench_epoll,
	&command_bench_breakpoint,
	&command_bench_internals,
	&command_bench_all,
	NULL,
};

static const struct opt rows[] = {
	OPT_ENUM('f', "format", struct bench_suite_opts, format, "FORMAT", "Layout", bench_formats),
	OPT_UINT('r', "repeat", struct bench_suite_opts, p.repeat, "N", "Run each N times and show the spread"),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "bench sched pipe", "what two switches and two wake-ups cost" },
	{ "bench -r 5 syscall basic", "what a system call costs, and the spread over five runs" },
	{ "bench -f simple mem memcpy", "bytes per second as bare numbers" },
	{ "bench probe", "cost of one hit, by kind of probe" },
	{ 0 },
};

/* Of perf. */
static const struct opt_example elsewhere[] = {
	{ "numa", "not supported: run 'bench mem memcpy' under 'numactl --cpunodebind --membind' "
		  "to compare nodes" },
	{ "uprobe", "'bench probe uprobe uretprobe usdt' measures them" },
	{ 0 },
};

const struct command command_bench = {
	.name = "bench",
	.group = "About the machine and sonde",
	.summary = "measure the machine: system calls, switches, copies, locks, probes",
	.usage = "[OPTIONS] COLLECTION BENCHMARK [OPTIONS]",
	.about = "The collections other than 'probe' are perf's, with perf's options and layouts. "
		 "Times are CLOCK_MONOTONIC nanoseconds, taken after a warm-up run. When called as "
		 "perf, -r means what it means there: the number of runs of futex wake, "
		 "wake-parallel, requeue and of breakpoint.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct bench_suite_opts),
	.subs = subs,
	.elsewhere = elsewhere,
};
