/* `sonde data`: recordings as files: repairing and converting them. */
#include "cmd/app/commands.h"

static const struct command *const subs[] = {
	&command_data_convert,
	&command_data_repair,
	NULL,
};

static const struct opt_example examples[] = {
	{ "data repair perf.data", "repair the file of a recorder that was killed" },
	{ "data convert --to-json out.json", "./perf.data as one JSON file" },
	{ 0 },
};

const struct command command_data = {
	.name = "data",
	.group = "Why",
	.summary = "repair or convert a recording",
	.usage = "COMMAND [OPTIONS]",
	.examples = examples,
	.subs = subs,
};
