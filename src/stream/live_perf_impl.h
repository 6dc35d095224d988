/* What the parts of stream/live_perf share: live_perf_events, live_perf_open, live_perf_read. */
#pragma once

#include "stream/live_perf.h"

#include <pthread.h>

struct live_fd {
	int fd;
	u32 event;
	u32 ring; /* of `rings`, or of `kept` */
	u8 step; /* which size of stack copies it is for */
	bool overwrite;
	bool gone;
};

struct live_ring {
	struct perf_ring ring;
	u32 cpu; /* UINT32_MAX: all */
	s32 tid; /* of a ring that belongs to a thread; 0: to all on that CPU */
	int owner_fd;
	u64 taken; /* overwritten ones: the head at the last snapshot */
};

struct live_reader {
	struct live_perf *lp;
	pthread_t thread;
	bool running;
	unsigned index;
	s32 tid; /* 0: it has not begun */
	u32 first_ring, nr_rings;
	int epoll_fd;
	u64 done_round;
	bool busy; /* its last pass found a lot */
	u64 poked; /* the last call to empty the rings that it followed */
	int err;
};

struct live_perf {
	const struct sysroot *root;
	struct perf_opener opener;
	struct live_opts opts;
	VEC(struct live_event) events;
	struct cpuset online;
	VEC(s32) tids; /* targets; empty: whole CPUs */
	VEC(struct live_fd) fds;
	VEC(struct synth_id) ids; /* one a fd, same index */
	VEC(struct live_ring) rings;
	VEC(struct live_ring) kept; /* overwritten ones: nobody reads them before a snapshot */
	VEC(struct live_reader) readers;
	u32 weak_group;
	u64 ring_bytes;
	struct live_sink sink;
	int stop_fd;
	int gone_fd;
	int poke_fd; /* readable while readers are asked to empty their rings */
	u64 poke;
	size_t nr_gone;
	size_t nr_lasting; /* fds that no target's end closes */
	u64 round; /* from 1 */
	u64 claimed; /* the round whose end is being written */
	u32 rounds_owed; /* that end without data */
	u32 step; /* whose fds are on */
	bool on; /* they are, or will be with the command's exec */
	bool stopping;
	bool failed;
	pthread_cond_t begun; /* a reader has its tid, or has followed a poke */
	pthread_mutex_t lock; /* tid of readers, poke, poked, nr_gone, round, claimed, done_round, rounds_owed */
	pthread_mutex_t switch_lock; /* step, on, stopping: held while events are switched, which may take a while */
};

/* ---- live_perf_events: what is opened ---- */

/* Fills lp->events by lp->opts. */
int live_perf_add_events(struct live_perf *lp, struct diag *d) must_check;
/* What is opened of e for a size of stack copies beside the first; false: nothing. */
bool live_perf_larger_attr(const struct live_perf *lp, const struct live_event *e, u32 step,
			   struct perf_event_attr *ret);
/* weak_group becomes single events, each with its own pace. */
void live_perf_break_group(struct live_perf *lp, struct diag *d);

/* ---- live_perf_open: for whom ---- */

/* Opens all events for all targets, with rings: fills tids, fds, ids, rings, kept. */
int live_perf_open_targets(struct live_perf *lp, struct diag *d) must_check;

/* ---- live_perf_read: by whom the rings are read ---- */

int live_perf_make_readers(struct live_perf *lp) must_check;
