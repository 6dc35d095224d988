/* The bytes of rounds: rounds.c finds them in the stream, rounds_source.c makes a source of them. */
#pragma once

#include "file/perfdata_read.h"
#include "stream/rounds.h"

struct rounds;

struct rounds_config {
	struct rounds_opts opts;
	struct perfdata *file; /* what its events look like; filled as the stream tells */
	/* Records that say something of the stream itself (attrs, features, formats, build ids); they stay until rounds_free(). */
	int (*describe)(void *ctx, const u8 *rec, const struct perf_event_header *h);
	void *ctx;
};

struct round_bytes {
	const u8 *data;
	size_t size;
	struct round facts;
	bool whole; /* the whole stream, with its head, as it came: the file is to be opened again */
};

/* NULL: no memory. */
struct rounds *rounds_new(const struct rounds_config *cfg);
void rounds_free(struct rounds *r);
/* 1, or 0 after the last one, or negative errno. The bytes are valid until the next call; those of a whole stream until rounds_free(). */
int rounds_next(struct rounds *r, struct round_bytes *ret, struct diag *d) must_check;
void rounds_stop(struct rounds *r);
int rounds_feed(struct rounds *r, const struct iovec *iov, size_t nr) must_check;
void rounds_feed_end(struct rounds *r);
void rounds_close_feed(struct rounds *r);
