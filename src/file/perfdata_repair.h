/*
 * Completes a perf.data file whose recorder was killed, ours or perf's: finds the end of the last whole record, writes the
 * table of features after it and then the header. A killed perf leaves a header that claims no data at all; a killed sonde at
 * worst one that is a moment old and has no features.
 *
 * What can be told again: the features that our files keep before their records, times of the first and last sample, build ids
 * that map records carry, how a compressed stream is to be unpacked. The rest of perf's features was in the memory of the dead.
 */
#pragma once

#include "base/diag.h"

struct perfdata_repaired {
	bool was_whole; /* nothing was done */
	bool lost_features; /* host, command line and so on are not known */
	bool lost_formats; /* there are tracepoints, but not how to read them */
	u64 nr_records, nr_samples; /* that are in it now */
	u64 kept_bytes; /* of records */
	u64 dropped_bytes; /* after the last whole record */
};

struct perfdata_repair_opts {
	const void *tracing_data; /* formats of tracepoints, for a file that has none; NULL: none */
	size_t tracing_data_size;
	bool in_dir; /* the file is the head of a directory with data.0 and so on */
};

/*
 * fd: open for reading and writing. 0 or negative errno with a diag; until the last write the file stays what it was for every
 * reader.
 */
int perfdata_repair(int fd, const char *name, const struct perfdata_repair_opts *o,
		    struct perfdata_repaired *ret, struct diag *d) must_check;
