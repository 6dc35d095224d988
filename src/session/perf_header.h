/* The head of a recording as the comment lines of `perf report --header`: where, when, with what and of what it was made. */
#pragma once

#include "base/strbuf.h"
#include "model/source.h"

/*
 * src: of perf events. path: as given when it was opened; its time is that of the recording. full: topology, caches and memory too (-I). A stream must
 * have been walked before: its features lie between its records.
 */
int perf_header_text(const struct source *src, const char *path, bool full,
		     struct strbuf *to) must_check;
/* What a stream says between its records, without the frame: `-I` alone. Nothing of a file. */
void perf_header_stream_text(const struct source *src, struct strbuf *to);
