/*
 * A second copy of the table of features, which our files carry right before their first record. The one that readers look for
 * follows the last record and is overwritten by the next ones: whoever finds a file in between (perfdata_repair) takes
 * this one. Other readers never see it: nothing in the header leads to it.
 */
#pragma once

#include "wire/perf_record.h"

#define PERFDATA_SPARE_MAGIC "sonde: features" /* with its NUL 16 bytes */

struct perfdata_spare {
	char magic[16];
	u64 features; /* bits; of those that were known at the start */
	struct perf_file_section sections[64]; /* by bit */
};
