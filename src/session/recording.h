/*
 * A recording as a source of samples, whichever of the two formats it has: perf.data, or a trace.dat, whose events become samples
 * (stream/replay_ftrace.h). The first bytes of the file tell.
 */
#pragma once

#include "session/symbols.h"
#include "base/opts.h"
#include "file/looks.h"

/* By the first bytes; OTHER: neither, or it cannot be read. */
enum looks recording_kind(const char *path);

enum recording_use {
	RECORDING_EVENTS, /* every event as it was recorded */
	RECORDING_TIME, /* where time went: calls of the function graph tracer weigh what they took */
};
/* path: a file, or "-" (perf.data). */
int recording_open(struct symbols *sy, const char *path, enum recording_use use,
		   const struct symbol_opts *o, struct source **ret) must_check;
/*
 * What several -i name: trace.dat files of one kernel become one recording, merged by time; of perf.data the last one counts, as
 * with perf. path: the one that counts alone.
 */
const char *recording_input(const struct opt_list *inputs, const char *otherwise);
int recording_open_inputs(struct symbols *sy, const struct opt_list *inputs, const char *path,
			  enum recording_use use, const struct symbol_opts *o,
			  struct source **ret) must_check;
/* Names for its frames: a trace.dat brings the kernel's symbols. NULL: no memory. The source and the options are borrowed. */
struct names *recording_names(struct symbols *sy, struct source *src, const struct symbol_opts *o);
/* For what only perf.data has: 0, or -ENOTSUP with something said. */
int recording_needs_perf(const struct source *src, const char *path, const char *what,
			 struct diag *d) must_check;
/*
 * Events of a group that were read together (`:S`) are samples of their own, weighed by what each counted since the last one, which
 * takes one worker in the order of the file. Returns how many workers to run.
 */
unsigned recording_split_reads(const struct source *src, struct sink *sink, unsigned workers);
