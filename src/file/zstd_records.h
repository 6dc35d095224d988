/*
 * Turns a run of records into COMPRESSED records: pieces of one continuous zstd stream. A reader unpacks each record into a
 * buffer whose size the COMPRESSED feature states, so the stream is flushed after at most that many bytes.
 */
#pragma once

#include "base/strbuf.h"

enum { ZSTD_RECORDS_PIECE = 256 << 10 };

struct zstd_records;

struct zstd_records *zstd_records_new(int level);
/* Adds input; finished records are appended to `to`. */
int zstd_records_add(struct zstd_records *z, const void *data, size_t len,
		     struct strbuf *to) must_check;
/* Everything added so far is in records after this. */
int zstd_records_flush(struct zstd_records *z, struct strbuf *to) must_check;
void zstd_records_free(struct zstd_records *z);
