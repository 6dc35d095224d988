/*
 * The event formats that a perf.data carries (its TRACING_DATA: the head of a trace.dat, without the pages), turned into schemas that
 * can be printed.
 */
#pragma once

#include "file/tracedat_read.h"
#include "stream/ftrace_env.h"

struct perf_formats {
	struct tracedat head;
	struct ftrace_env env;
	struct arena arena;
	bool open;
	/* For names of kernel functions when the recording has no list of its own (perf's have none). May be NULL. */
	const char *(*kallsyms)(void *ctx, size_t *len);
	void *kallsyms_ctx;
};

/* data is borrowed until done. 0, or negative errno with everything empty. */
int perf_formats_open(struct perf_formats *f, const void *data, size_t size) must_check;
void perf_formats_done(struct perf_formats *f);
/* The event with this id, ready to print; NULL: the file has no format for it, or a broken one. Not thread-safe. */
const struct schema *perf_formats_find(struct perf_formats *f, u64 id);
