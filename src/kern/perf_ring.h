/*
 * The memory that the kernel shares with us for one CPU's records:
 *
 *	page 0   perf_event_mmap_page: data_head (kernel writes), data_tail (we write)
 *	page 1.. 2^n pages of records, which wrap at the end
 *
 * Positions only grow; position & mask is the place. A record starts 8-byte aligned, so its 8-byte header never wraps; its
 * body may. What is readable is handed out as one or two pieces without copying, and given back by consume().
 *
 * An overwritten ring (write_backward) is written from the end towards the start: head falls, the newest record is at head.
 */
#pragma once

#include "base/types.h"

#include <linux/perf_event.h>

struct perf_ring {
	struct perf_event_mmap_page *page;
	const u8 *data;
	u64 size_bytes;
	bool overwrite;
};

struct ring_span {
	const u8 *at[2];
	size_t len[2]; /* len[1] is 0 when it does not wrap */
	u64 head; /* for consume() */
};

/* nr_pages: a power of two. -EPERM: more memory than the user may lock. */
int perf_ring_open(struct perf_ring *r, int fd, size_t nr_pages, bool overwrite) must_check;
void perf_ring_close(struct perf_ring *r);

/* Everything written and not yet consumed; false: nothing. */
bool perf_ring_peek(const struct perf_ring *r, struct ring_span *ret);
void perf_ring_consume(struct perf_ring *r, u64 head);
/*
 * Overwritten rings, while their output is paused: the whole records from the newest backwards to those whose end was
 * overwritten, or to where the head was before (since; 0: from the start). They come newest first.
 */
bool perf_ring_snapshot(const struct perf_ring *r, u64 since, struct ring_span *ret);

/*
 * Walks the records of a span: *pos starts at 0. The header is borrowed from the span, or from scratch (64 KiB) when the
 * record wraps and `whole` asks for its body in one piece. NULL: end, or a record that makes no sense (*pos then is not the
 * span's length).
 */
const struct perf_event_header *ring_span_next(const struct ring_span *s, size_t *pos, bool whole,
					       void *scratch);
static inline size_t ring_span_len(const struct ring_span *s)
{
	return s->len[0] + s->len[1];
}
/* n bytes at offset from `pos` in the span, copied; false: beyond its end. */
bool ring_span_copy(const struct ring_span *s, size_t pos, void *to, size_t n);
