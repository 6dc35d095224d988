/*
 * The ring buffer of a program (BPF_MAP_TYPE_RINGBUF), read where it lies: no record is copied. The kernel maps the data twice in a row, so that
 * a record that wraps is in one piece.
 */
#pragma once

#include "base/types.h"

struct ring {
	u64 *consumer; /* page that we write */
	const u64 *producer; /* page of the kernel, followed by the data */
	const u8 *data;
	u64 size; /* a power of two */
	size_t page;
	int fd;
	u64 nr_records, nr_bytes; /* read so far */
};

/* size: max_entries of the map. fd stays the caller's, and can be polled. Negative errno. */
int ring_open(struct ring *r, int fd, u32 size) must_check;
void ring_close(struct ring *r);

/* A whole record, valid until the callback returns. 0: go on; others end the reading and are returned, the record is consumed. */
typedef int ring_fn(void *ctx, const void *data, u32 len);
/*
 * All records that are there now (not those that come while it reads: a flood cannot hold the caller). Returns 0, or what fn returned.
 */
int ring_drain(struct ring *r, ring_fn *fn, void *ctx);
/* Bytes that are there and not read yet. */
u64 ring_pending(const struct ring *r);
