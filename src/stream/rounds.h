/*
 * A recording that is still being made, read from a pipe, as a row of small recordings, each to be replayed by itself:
 *
 *	pipe     maps  A1 B1  ROUND  A2 B2  ROUND  fork A3  ROUND ...
 *	round    [maps A1 B1]  [maps A2 B2] ...
 *
 * The recorder reads one ring after the other, and says when it has been at all of them. What is older than the newest record at
 * one such end is complete at the next one, as nothing older can come any more: those samples make a round. Everything that is not
 * a sample is kept and stands in front of every round, so that names and maps are known; samples are forgotten.
 */
#pragma once

#include "base/diag.h"
#include "base/types.h"

struct rounds;

struct round {
	const void *data; /* a stream for replay_perf_open_bytes(); until the next call */
	size_t size;
	u64 after, until; /* its records are of after < time <= until; the last: UINT64_MAX */
	bool last;
};

struct rounds_opts {
	bool whole; /* one round, at the end */
	size_t ready_bytes; /* while more is coming, a round is handed out when this much is held; 0: some megabytes */
};

/* fd is the caller's, and stays open until after close. NULL: no memory. */
struct rounds *rounds_open(int fd, const struct rounds_opts *o);
/*
 * Waits for a round: 1, or 0 when there was the last one, or negative errno. A stream that is damaged, or cut off inside of a
 * record, has its last round there, with a warning. A file that comes through a pipe, and a stream whose records have no times or
 * carry counts (each needs the one before), is one round.
 */
int rounds_next(struct rounds *r, struct round *ret, struct diag *d) must_check;
void rounds_close(struct rounds *r);
