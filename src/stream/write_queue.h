/*
 * What several threads have to write into one file.
 *
 * A file takes one write at a time. Who finds it free writes at once, from where the bytes are. Who finds it taken leaves a copy, and a
 * thread of the queue writes it: the rings that the bytes came from are free again meanwhile, which a flood does not forgive otherwise.
 * Copies go in the order in which they were left, several in one write. When they would take more memory than allowed, who comes waits.
 */
#pragma once

#include "base/types.h"

#include <sys/uio.h>

struct write_queue;

/* What a put stands for: the caller's, handed back when it is written. */
struct write_note {
	u32 from;
	u64 n[4];
};

struct write_queue_opts {
	/* One call at a time, of any thread. Pieces are whole puts. Negative errno is remembered, and nothing is written any more. */
	int (*write)(void *ctx, const struct iovec *iov, size_t nr);
	/* It was written; called as write() is, and must not put anything. */
	void (*written)(void *ctx, const struct write_note *note);
	void *ctx;
	u64 max_bytes; /* of copies; 0: usual */
};

/* Starts the thread. NULL: errno. */
struct write_queue *write_queue_new(const struct write_queue_opts *o);
s32 write_queue_tid(const struct write_queue *q); /* of its thread */
/* Of iov nothing is kept. nr is at most WRITE_QUEUE_IOV_MAX. A put begins at, and is a multiple of, 8 bytes; pieces may be cut there. */
enum { WRITE_QUEUE_IOV_MAX = 128 };
int write_queue_put(struct write_queue *q, const struct iovec *iov, size_t nr,
		    const struct write_note *note) must_check;
/* Returns when all that was put is written: 0, or the error. */
int write_queue_drain(struct write_queue *q) must_check;
u64 write_queue_bytes(struct write_queue *q); /* that wait */
void write_queue_free(struct write_queue *q);
