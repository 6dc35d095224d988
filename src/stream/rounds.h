/*
 * A recording that is still being made, as a source with rounds (model/source.h): a stream of records that comes through a pipe, or that
 * somebody in this process puts in.
 *
 *	stream   maps  A1 B1  ROUND  A2 B2  ROUND  fork A3  ROUND ...
 *	round    [maps A1 B1]  [A2 B2]  [fork A3] ...
 *
 * The recorder reads one ring after the other, and says when it has been at all of them. What is older than the newest record at
 * one such end is complete at the next one, as nothing older can come any more: those records make a round. What they say of tasks and
 * maps is taken once (stream/tasks); samples are decoded as those of any recording (stream/replay_perf) and forgotten.
 */
#pragma once

#include "model/source.h"
#include "stream/tasks.h"

#include <sys/uio.h>

struct rounds_opts {
	int fd; /* a pipe; the caller's, and stays open until after close. -1: rounds_put() */
	bool whole; /* one round, at the end */
	u64 idle_ns; /* a round comes at least this often, if need be an empty one; 0: not without data */
	size_t fed_bytes; /* who puts in more than this, before it is read, waits; 0: some megabytes */
	size_t ready_bytes; /* while more is coming, a round is handed out when this much is held; 0: some megabytes */
};

/*
 * A stream that is damaged, or cut off inside of a record, has its last round there, with a warning. A file that comes through a pipe, and a
 * stream whose records have no times or carry counts (each needs the one before), is one round. replay_perf_file() and the others
 * of replay_perf.h work on it; the records of the file are those of the current round. 0 or -ENOMEM.
 */
int rounds_open(const struct rounds_opts *o, struct source **ret) must_check;

/*
 * From any thread: more of the stream, which may be cut anywhere. Waits while too much is waiting already; -EPIPE: nobody reads any more.
 */
int rounds_put(struct source *s, const struct iovec *iov, size_t nr) must_check;
/* That was all of it. */
void rounds_end(struct source *s);

/* By who reads: nothing more will be taken, whoever puts it in. */
void rounds_refuse(struct source *s);

/* How much is kept from round to round: what has to stay small. */
struct tasks_size rounds_size(const struct source *s);
