/*
 * Samples beside a trace, on one clock: `ftrace record --with-samples` has a second recorder (this program's `record`) write a
 * perf.data in the same run; `ftrace report --samples` puts its samples between the events by time.
 */
#pragma once

#include "base/strbuf.h"
#include "cmd/app/app.h"

/* ---- recording ------------------------------------------------------------------------------------------------------------ */

struct ftrace_sampler {
	int pid; /* 0: none */
	int to, from; /* commands and answers */
};

struct ftrace_sampler_opts {
	const char *output;
	const char *clock; /* as tracefs calls it: mono, mono_raw */
	u64 frequency;
	const char *pids; /* comma separated, with what they start; NULL: the whole system */
};

/* The clock of both; -EINVAL with a diag where perf has none like it. clock: NULL for the default. */
int ftrace_sampler_clock(const char *clock, const char **ret, struct diag *d) must_check;
/* Returns when it is ready, and not yet sampling. Negative errno with a diag. */
int ftrace_sampler_start(struct ftrace_sampler *s, const struct ftrace_sampler_opts *o,
			 struct diag *d) must_check;
int ftrace_sampler_go(struct ftrace_sampler *s, struct diag *d) must_check;
/* Its file is whole afterwards. */
int ftrace_sampler_stop(struct ftrace_sampler *s, struct diag *d);

/* ---- reporting ------------------------------------------------------------------------------------------------------------- */

struct ftrace_samples;

/*
 * Reads all samples of a perf.data, with their names. clock: the trace's, NULL for local; -EINVAL with a diag when the times of the
 * two cannot be compared.
 */
int ftrace_samples_open(struct ftrace_samples **ret, struct app *app, const char *path,
			const char *trace, const char *clock) must_check;
void ftrace_samples_close(struct ftrace_samples *s);
/* Writes those that were not written yet and are not later than until_ns, as lines of a report or as JSON. */
void ftrace_samples_write(struct ftrace_samples *s, u64 until_ns, bool nanoseconds, bool json,
			  struct strbuf *to);
