/* The head of a recording as the comment lines of `perf report --header`: where, when, with what and of what it was made. */
#pragma once

#include "base/strbuf.h"
#include "file/perfdata_read.h"

/*
 * path: as given to perfdata_open(); its time is that of the recording. full: topology, caches and memory too (-I). A stream must
 * have been walked before: its features lie between its records.
 */
int perf_header_text(const struct perfdata *p, const char *path, bool full,
		     struct strbuf *to) must_check;
/* What a stream says between its records, without the frame: `-I` alone. Nothing of a file. */
void perf_header_stream_text(const struct perfdata *p, struct strbuf *to);
