/*
 * Events on a live system: opens them for the targets, one ring a CPU, and reads the rings with a thread per group of them.
 *
 * A reader wakes when a ring is half full, or after flush_ns; it takes what all its rings hold in one pass and hands it to
 * the sink as spans of ring memory, which are given back to the kernel when the sink returns. Nothing is allocated on the way.
 * Unless told otherwise two rings share a reader, more on large machines: one reader takes about 2.5 GB a second, and 14 CPUs that do nothing
 * but system calls fill their rings with 3.5.
 *
 * With `overwrite` the events of interest have rings of their own, in which the newest records take the place of the oldest and
 * which nobody reads: live_perf_snapshot() hands out what they hold. Tasks and maps go the usual way.
 *
 * With `larger_stacks` each event that copies stacks is opened once more for every larger size. Those stay off until
 * live_perf_copy_stacks() chooses one: the kernel can switch events of whole trees of tasks, children included, but cannot change an attr.
 *
 * Rounds: round_done marks the end of one, in the order in which the sink is entered. No record that comes after two such
 * marks is older than any that came before the first: in between, every reader has made a whole pass.
 */
#pragma once

#include "base/cpuset.h"
#include "base/diag.h"
#include "event/event.h"
#include "kern/perf_event.h"
#include "kern/perf_ring.h"
#include "stream/synth.h"

struct live_event {
	struct perf_event_attr attr;
	char *name;
	const struct event_desc *desc; /* what was asked for; NULL: tracking */
	struct cpuset *cpus; /* only there; NULL: anywhere */
	u32 leader; /* index of the group's leader; its own when alone */
	u32 nr_members; /* on a leader */
	bool group_read; /* the leader samples for all (:S) */
	VEC(u64) ids;
	bool whole_cpus; /* opened for these, whatever is recorded (live_opts.output) */
	bool tracking; /* not asked for: it only carries the records about tasks and maps */
};

struct live_sink {
	/* Called by reader threads, each with its own index. 0 or negative errno, which stops the reading. */
	int (*take)(void *ctx, unsigned reader, const struct ring_span *spans, size_t nr,
		    bool round_done);
	void *ctx;
	s32 tid; /* of a thread that the sink has of its own; 0: none */
};

/*
 * Programs in the kernel that write into the rings: the event bpf-output is opened for whole CPUs then, whatever is recorded, and they are given
 * the rings to write to, and the tasks to follow. 0 or negative errno.
 */
struct live_output {
	/* A thread that is recorded; until_exec: from its next exec on. Not called where all are. */
	int (*add_target)(void *ctx, s32 tid, bool until_exec);
	int (*add_cpu)(void *ctx, u32 cpu, int fd);
	void *ctx;
};

enum { LIVE_RINGS_PER_READER = 16, LIVE_SPANS_MAX = LIVE_RINGS_PER_READER };
enum { LIVE_STACK_SIZES = 3 }; /* the first is live_opts.stack_bytes */

struct live_opts {
	const struct event_list *events; /* kept by the caller until live_perf_close() */
	u64 freq_hz; /* one of these, for events that do not bring their own; */
	u64 period; /* both 0: 4000 Hz, and every tracepoint */
	bool call_graph;
	u32 stack_bytes; /* registers and this much of the user's stack in each sample; 0: none */
	bool larger_stacks; /* more may be copied later; not of events in groups, nor of those with a size of their own */
	bool unwinds; /* the sink does it: as few registers as that takes, and chains of user space where it cannot */
	bool settle; /* rounds end also while nothing happens, so that what came is settled soon */
	bool data_addr; /* the address that was accessed, and maps of data */
	s8 sample_period, sample_time; /* in each sample: 1 always, -1 never, 0 where it is of use */
	bool sample_cpu; /* also where the samples are not of whole CPUs */
	bool raw_samples; /* also of events that are not known to have raw data */
	bool sample_identifier; /* also of a single event */
	bool map_build_ids; /* records of maps have build ids instead of inodes */
	bool all_cgroups; /* the cgroup of each sample, and records about new ones */
	bool per_thread; /* a ring for each thread, which hands nothing on to its children */
	bool as_perf; /* no more than perf asks for */
	bool weight; /* what the hardware says an access cost */
	bool per_thread_counts; /* a READ record for each thread that ends */
	bool running_times; /* how long events were on, with every count */
	u64 extra_sample_type; /* further bits of sample_type */
	u64 regs_intr, regs_user; /* registers of every sample, by perf's numbers; 0: none */
	bool no_user_chain, no_kernel_chain; /* parts of call chains that are not wanted */
	bool no_bpf_events; /* programs that are loaded meanwhile are not told */
	bool strict_freq; /* a frequency that is not to be had is an error */
	bool no_samples; /* side-band only */
	bool switches; /* context switches as records */
	bool namespaces;
	u64 branches; /* bits of branch_sample_type; 0: none */
	const int *cgroups; /* by event: descriptors of folders, -1: none; NULL: none at all */
	const struct live_output *output; /* for an event bpf-output in the list; NULL: it is like any other */
	const bool *exclude_self; /* by event: tracepoints that we do not want of ourselves; NULL: none */
	bool overwrite; /* the newest samples are kept, until they are asked for */
	bool only_user, only_kernel;
	bool no_exec_start; /* a command's events wait for live_perf_enable() too */
	bool no_inherit;
	bool system_wide;
	const struct cpuset *cpus; /* NULL: all online */
	const s32 *pids; /* whole processes */
	size_t nr_pids;
	const s32 *tids; /* single threads */
	size_t nr_tids;
	s32 command_pid; /* a child that waits to exec; 0: none */
	bool has_clock;
	s32 clock_id;
	u64 ring_bytes; /* of each CPU, rounded up to a power of two of pages; 0: 512 KiB */
	u64 flush_ns; /* 0: one second */
	bool at_once; /* a reader wakes for every sample; rounds end also while nothing happens */
	u64 min_bytes; /* woken, a reader leaves a ring alone that holds less */
	u32 rings_per_reader; /* at most LIVE_RINGS_PER_READER; 0: by how many rings there are */
	perf_opened_fn *opened; /* told of each event that was opened; may be NULL */
	void *opened_ctx;
};

struct live_perf;

/* Opens everything; nothing is counted yet. Fallbacks are noted in the diag. NULL: see the diag. */
struct live_perf *live_perf_open(const struct sysroot *root, const struct live_opts *opts,
				 struct diag *d);

const struct live_event *live_perf_events(const struct live_perf *lp, size_t *nr);
const struct synth_id *live_perf_ids(const struct live_perf *lp, size_t *nr);
const struct cpuset *live_perf_cpus(const struct live_perf *lp);
const s32 *live_perf_tids(const struct live_perf *lp, size_t *nr); /* nr 0: all */
unsigned live_perf_nr_readers(const struct live_perf *lp);
bool live_perf_sees_kernel(const struct live_perf *lp);

/* Starts the readers; then lets the events count (those of a command start with its exec). */
int live_perf_start(struct live_perf *lp, const struct live_sink *sink) must_check;
int live_perf_enable(struct live_perf *lp) must_check;
/* At any time after: lets all events count, or stops them. Those of a command too. */
void live_perf_toggle(struct live_perf *lp, bool on);
/* Bytes of stack that are copied at a step; 0: there is no such step. */
u32 live_perf_stack_bytes(const struct live_perf *lp, u32 step);
/* From any thread: from now on that much is copied. Nothing happens once the recording has been stopped. */
void live_perf_copy_stacks(struct live_perf *lp, u32 step);
/* Becomes readable when all targets have ended, or the sink failed. */
int live_perf_gone_fd(const struct live_perf *lp);
bool live_perf_failed(const struct live_perf *lp);
/* Stops the events, takes what is left, ends the readers. The sink's error, or 0. */
int live_perf_stop(struct live_perf *lp);
/* Between start and stop, from the thread that called start: returns when all that was in the rings has gone to the sink. */
void live_perf_flush(struct live_perf *lp);
/* With overwrite: what came since the last one, newest first, through the sink's take() as reader live_perf_nr_readers(). */
int live_perf_snapshot(struct live_perf *lp) must_check;
/* After stop: fn for each event id that lost samples; -ENOTSUP on kernels that do not count them per event. */
int live_perf_lost(struct live_perf *lp, void (*fn)(void *ctx, const struct synth_id *id, u64 lost),
		   void *ctx) must_check;
void live_perf_close(struct live_perf *lp);
