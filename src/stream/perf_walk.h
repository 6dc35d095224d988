/* All records of a perf.data file one after the other, compressed ones unpacked; and those about tasks and maps, in time order. */
#pragma once

#include "file/perfdata_read.h"

/*
 * Calls back for each whole record. place: its offset in the file; of unpacked ones, after the file's end. rec is borrowed until
 * the call returns when place is not in the file, else until the file is closed. Stops at damage without an error: prepare() of
 * the source has said where. 0, or what fn returned.
 */
int perf_walk(const struct perfdata *file,
	      int (*fn)(void *ctx, const u8 *rec, const struct perf_event_header *h, u64 place),
	      void *ctx) must_check;

/* When a sample was taken; 0: it does not say. */
u64 perf_walk_time(const struct perfdata *file, const u8 *rec, const struct perf_event_header *h);
/* One of the records that are no samples, decoded by the layout of the event it belongs to. -EBADMSG: not one of the known ones. */
int perf_walk_side(const struct perfdata *file, const u8 *rec, const struct perf_event_header *h,
		   struct perf_side *ret) must_check;

/* Whose and when it was, of any kernel record but SAMPLE; all zero where records do not say. */
struct perf_id_trailer perf_walk_who(const struct perfdata *file, const u8 *rec,
				     const struct perf_event_header *h);

/* The same of PERF_RECORD_READ. */
int perf_walk_read(const struct perfdata *file, const u8 *rec, const struct perf_event_header *h,
		   struct perf_read *ret) must_check;

struct perf_sides_row {
	struct perf_side side;
	u64 time; /* 0 in files without times */
	u64 place;
};

struct perf_sides {
	VEC(struct perf_sides_row) rows; /* by time, then place */
	struct arena arena;
};

/* The attrs must be known: a stream was walked before. */
int perf_sides_read(struct perf_sides *s, const struct perfdata *file) must_check;
void perf_sides_done(struct perf_sides *s);

/* Whether all records carry times, so that there is an order other than that of the file. */
bool perf_file_has_times(const struct perfdata *file);
