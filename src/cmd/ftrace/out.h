/* Writing a trace.dat under its name only when it is whole. */
#pragma once

#include "base/outplace.h"
#include "cmd/app/app.h"
#include "file/tracedat_write.h"

/* 0 or negative errno with a diag; nothing is left behind then. */
int ftrace_write_file(const char *path, const struct tracedat_out *o, struct diag *d) must_check;
/* The same for a place that was found before. path: for messages. */
int ftrace_write_at(const struct outplace *to, const char *path, const struct tracedat_out *o,
		    struct diag *d) must_check;

/* Both options together: what a file gets. NULL where not given; a compression alone means version 7. */
int ftrace_choose_format(const char *version, const char *compression, struct tracedat_out *o,
			 struct diag *d) must_check;
