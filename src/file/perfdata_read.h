/*
 * A perf.data file, stream or directory, opened for reading: header, attrs, features, and a walk over its records. All forms,
 * both byte orders, attrs of any age. Nothing of the file is trusted; what is damaged ends the walk, and `truncated` says so.
 * The file is mapped; records are borrowed until perfdata_close().
 *
 * A directory (perf record --threads) holds `data`, which is a file like any other, and data.0, data.1 ...: records without a
 * head, one file per ring. They are mapped one after the other, so that a record's place is one number in all forms; the
 * records lie in several ranges then, and each range has a compressed stream of its own.
 */
#pragma once

#include "base/arena.h"
#include "base/budget.h"
#include "base/diag.h"
#include "base/dict.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "wire/perf_record.h"
#include "wire/perf_sample.h"

struct perfdata_attr {
	struct perf_event_attr attr;
	struct perf_layout layout;
	const char *name; /* NULL: the file does not say */
	u64 nr_ids;
};

struct perfdata_feature {
	const u8 *at; /* NULL: absent */
	u64 size;
};

/* Records that follow each other: offsets into the map. */
struct perfdata_range {
	size_t at, end;
};

enum { PERFDATA_EXPANDS_MAX = 50 }; /* times */

struct perfdata {
	const u8 *map;
	size_t map_size;
	bool has_fd; /* it is one file, open as fd: a copy of a stretch costs less than mapping it */
	int fd;
	bool swap;
	bool is_pipe;
	bool compressed; /* some records hold compressed records */
	bool truncated; /* the walk met the end of the file, or damage, inside of a record */
	bool unfinished; /* the header was never completed: the recorder was killed */
	size_t data_at; /* first record */
	size_t data_end; /* end of the last one that can be whole */
	VEC(struct perfdata_range) more; /* of a directory's other files */
	VEC(struct perfdata_attr) attrs;
	struct dict ids; /* event id -> index of its attr */
	struct perfdata_feature features[FEAT_MAX];
	u64 feature_bits[FEAT_MAX / 64]; /* what the head says is there, empty ones too; files only */
	u64 head_data_size; /* as the head says */
	u32 *group_at; /* [event] -> where in GROUP_DESC the group that it leads begins, 0: it leads none; NULL: there are none */
	u32 nr_group_at;
	const char *folder; /* it is a directory, of this path; NULL: it is not */
	struct strbuf made; /* of a stream, by perfdata_pipe_record(): see perfdata_made.h */
	bool expands; /* compressed records become far more than they can be made of: what follows is not read */
	struct budget budget;
	struct arena arena;
};

/* path: a file, a directory, or "-": standard input, kept in memory when it is a pipe. 0 or negative errno with a diag. */
int perfdata_open(struct perfdata *p, const char *path, struct diag *d) must_check;
/* The same from bytes that the caller keeps (fuzzing, tests). `name` stands in messages. */
int perfdata_open_bytes(struct perfdata *p, const void *data, size_t size, const char *name,
			struct diag *d) must_check;
void perfdata_close(struct perfdata *p);

/* Bytes of the file, from its offset `at` on: 0, -EIO when they are not all there any more, -EINVAL after its end. */
int perfdata_copy(const struct perfdata *p, size_t at, size_t size, u8 *to) must_check;

/*
 * The record at *at, which then moves past it (and past payload that follows it). 1, 0 at the end, -EBADMSG when what is
 * there cannot be a record. *rec is borrowed; h is in host byte order. end: where to stop.
 */
int perfdata_record_any(const struct perfdata *p, const u8 **at, const u8 *end, const u8 **rec,
			struct perf_event_header *h);
static inline int perfdata_record(const struct perfdata *p, const u8 **at, const u8 *end,
				  const u8 **rec, struct perf_event_header *h)
{
	size_t left = (size_t)(end - *at);
	if (likely(left >= sizeof(*h))) {
		*h = perf_head(*at, p->swap);
		if (likely(h->type == PERF_RECORD_SAMPLE && h->size >= sizeof(*h) &&
			   h->size <= left)) {
			*rec = *at;
			*at += h->size;
			return 1;
		}
	}
	return perfdata_record_any(p, at, end, rec, h);
}

/* The ranges of records: one, or more in a directory. Damage ends a range earlier: perfdata_cut(). */
size_t perfdata_nr_ranges(const struct perfdata *p);
struct perfdata_range perfdata_range(const struct perfdata *p, size_t i);
void perfdata_cut(struct perfdata *p, size_t i, size_t end);

/* The attr of an id; the first one when the id is unknown or 0 and there is no other. NULL: cannot be told. */
const struct perfdata_attr *perfdata_attr_of(const struct perfdata *p, u64 id);

/* Whether any event has a bit of sample_type. A pipe tells its events only in its first records, which this looks at. */
bool perfdata_has_sample_type(const struct perfdata *p, u64 bit);

/* HEADER_ATTR, EVENT_UPDATE, HEADER_FEATURE of pipe form; other types are ignored. */
int perfdata_pipe_record(struct perfdata *p, const u8 *rec,
			 const struct perf_event_header *h) must_check;

/* A feature that holds one string (HOSTNAME, OSRELEASE, ARCH ...): borrowed, NULL when absent or damaged. */
const char *perfdata_string(const struct perfdata *p, enum perf_feature f);

/* CLOCK_DATA: the clock of samples and the time of day at one moment. */
struct perfdata_clock {
	u32 id; /* CLOCK_MONOTONIC ... */
	u64 wall_ns, clock_ns;
};
/* false: the file does not say. */
bool perfdata_clock(const struct perfdata *p, struct perfdata_clock *ret);

/* u32 length, bytes: how strings stand in features. Borrowed; NULL (and b->bad or not) when damaged. */
const char *perfdata_take_string(struct bytes *b);

struct perfdata_group {
	const char *name; /* NULL: none was given */
	u32 leader, nr;
};
/* The groups of GROUP_DESC, in order of their leaders: a cursor, and the next one, checked against the events there are. */
struct bytes perfdata_groups(const struct perfdata *p);
bool perfdata_next_group(const struct perfdata *p, struct bytes *cursor, struct perfdata_group *ret);
/* The group of two events and more that an event leads. */
bool perfdata_group_led_by(const struct perfdata *p, u32 event, struct perfdata_group *ret);

/* Calls back for each entry of the BUILD_ID feature, or for the one in a BUILD_ID record. path and id are borrowed. */
int perfdata_build_ids(const struct perfdata *p,
		       int (*fn)(void *ctx, const char *path, const u8 *id, u32 id_size, u16 misc),
		       void *ctx) must_check;

int perfdata_build_id_record(const struct perfdata *p, const u8 *rec,
			     const struct perf_event_header *h,
			     int (*fn)(void *ctx, const char *path, const u8 *id, u32 id_size,
				       u16 misc),
			     void *ctx) must_check;

/*
 * The stream of COMPRESSED records, turned back into records. After _add(), _step() decompresses a bounded piece at a time, until
 * it returns 0; in between the caller uses what is there and drops it.
 */
struct perfdata_inflate;
struct perfdata_inflate *perfdata_inflate_new(void);
void perfdata_inflate_free(struct perfdata_inflate *z);
/* For another stream; what is left of the one before is forgotten. */
void perfdata_inflate_reset(struct perfdata_inflate *z);
/* Takes a COMPRESSED or COMPRESSED2 record, which stays borrowed until _step() returned 0. 0 or -EBADMSG. */
int perfdata_inflate_add(struct perfdata_inflate *z, const u8 *rec,
			 const struct perf_event_header *h, bool swap) must_check;
/* 1: something was added, 0: the record is used up; -EBADMSG: damaged, or too much for what it is made from; -ENOMEM. */
int perfdata_inflate_step(struct perfdata_inflate *z) must_check;
/* It ended because of that: what comes out is many times what was put in. */
bool perfdata_inflate_too_much(const struct perfdata_inflate *z);
/* What is there so far, and drop it from the front once used. */
const u8 *perfdata_inflate_data(const struct perfdata_inflate *z, size_t *size);
void perfdata_inflate_drop(struct perfdata_inflate *z, size_t size);
