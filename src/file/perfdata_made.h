/*
 * What programs told about the code that they made at run time, kept in the recording: perf-PID.map and jit-PID.dump as they were at its
 * end. It is the last thing in the file and nothing in the header leads to it: perf never sees it. (A feature of our own would be the
 * place for it, but perf inject 6.1 does not survive a feature that it does not know.)
 *
 * A stream has it in its last records: EVENT_UPDATE of a kind that perf does not know and passes over, each with a piece of it.
 *
 *	for each file: kind u32, pid u32, size u64, bytes, padding to 8
 *	at the end: size of all that u64, magic
 */
#pragma once

#include "base/bytes.h"
#include "base/strbuf.h"
#include "file/perfdata_read.h"

enum perfdata_made_kind { PERFDATA_MADE_MAP = 1, PERFDATA_MADE_DUMP = 2 };

void perfdata_put_made(struct strbuf *to, enum perfdata_made_kind kind, u32 pid, const void *data,
		       size_t size);
/* When all are told. */
void perfdata_put_made_end(struct strbuf *to);

/* What such a record is about, instead of a unit, a scale or a name. */
#define PERFDATA_MADE_UPDATE 0x74696a65646e6f73ull /* "sondejit" */
/* The records of a stream. made: all files, with the end. event_id: of one that the stream has described. */
void perfdata_put_made_records(struct strbuf *to, u64 event_id, const struct strbuf *made);

/* One of those files; the bytes are borrowed from the recording. */
struct perfdata_made {
	u32 kind; /* enum perfdata_made_kind; others are to be passed over */
	u32 pid;
	const u8 *data;
	size_t size;
};

/* All of it, with its end; size 0: there is none. */
struct perfdata_feature perfdata_made_all(const struct perfdata *p);
/* A walk over the files: the cursor before the first, then each. false: there are no more, or damage. */
struct bytes perfdata_made_start(const struct perfdata *p);
bool perfdata_made_next(struct bytes *cursor, struct perfdata_made *ret);
