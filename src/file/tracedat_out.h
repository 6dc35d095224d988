/* Writing a trace.dat under its name only when it is whole. */
#pragma once

#include "base/outplace.h"
#include "file/tracedat_write.h"

/* 0 or negative errno with a diag; nothing is left behind then. */
int tracedat_write_file(const char *path, const struct tracedat_out *o, struct diag *d) must_check;
/* The same for a place that was found before. path: for messages. */
int tracedat_write_at(const struct outplace *to, const char *path, const struct tracedat_out *o,
		      struct diag *d) must_check;
