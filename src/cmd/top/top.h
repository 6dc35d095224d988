/* The options of `sonde top`, for commands that are top of something (kvm top). */
#pragma once

#include "cmd/record/record.h"
#include "cmd/report/report.h"
#include "session/annotate_run.h"
#include "session/top.h"

struct top_cmd_opts {
	struct record_opts record; /* first: its option calls get this struct */
	struct report_opts report;
	struct top_opts top;
	struct annotate_opts code; /* how annotated functions are written */
	const char *delay;
	const char *keep;
	const char *listen, *token_file;
	u64 entries;
	const char *ignored;
	bool accepted;
	char record_mode[48]; /* the part of --call-graph that is about recording */
};

void top_defaults(void *opts);
