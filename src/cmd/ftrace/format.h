/* The options that say which kind of trace.dat is written. */
#pragma once

#include "base/diag.h"
#include "file/tracedat_write.h"

/* Both options together: what a file gets. NULL where not given; a compression alone means version 7. */
int ftrace_choose_format(const char *version, const char *compression, struct tracedat_out *o,
			 struct diag *d) must_check;
