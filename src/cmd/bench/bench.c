/* `sonde bench`: what instruments cost on this machine. A suite is a command of its own. */
#include "cmd/app/commands.h"

static const struct command *const subs[] = {
	&command_bench_probe,
	NULL,
};

static const struct opt_example examples[] = {
	{ "bench probe", "cost of one hit, by kind of probe" },
	{ 0 },
};

const struct command command_bench = {
	.name = "bench",
	.group = "About the machine and sonde",
	.summary = "measure what probes cost on this machine",
	.usage = "SUITE [OPTIONS]",
	.examples = examples,
	.subs = subs,
};
