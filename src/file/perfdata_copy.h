/*
 * A recording rewritten from another one: its head and features as they were, the records that the caller hands over, and a
 * table of build ids that may be longer. Into a file it is a file; into a pipe it is a stream, whatever the input was (a stream
 * stays one). Compressed records and directories become plain ones.
 */
#pragma once

#include "base/diag.h"
#include "file/perfdata_read.h"

struct perfdata_copy;

/* from: opened and, when it is a stream, walked. fd stays the caller's. NULL: see the diag. */
struct perfdata_copy *perfdata_copy_open(const struct perfdata *from, int fd, bool stream,
					 struct diag *d);
/* Before the first record; the same path is taken once, the first id counts. */
int perfdata_copy_build_id(struct perfdata_copy *c, const char *path, bool kernel, const u8 *id,
			   size_t size) must_check;
/* A whole record. Those that only describe the form of the file are left out: they are rewritten. */
int perfdata_copy_record(struct perfdata_copy *c, const void *rec,
			 const struct perf_event_header *h) must_check;
int perfdata_copy_finish(struct perfdata_copy *c) must_check;
void perfdata_copy_close(struct perfdata_copy *c);
