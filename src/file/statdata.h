/*
 * Counts in a perf.data file, as `perf stat record` keeps them: a preface that says where was counted and how it is to be added
 * up, then rounds of counts.
 *
 *	EVENT_UPDATE*  units, scales and CPUs of events
 *	THREAD_MAP     nr, {tid, comm[16]} ...
 *	CPU_MAP        a list of u16, a bit mask, or a range
 *	STAT_CONFIG    nr, {tag, value} ...
 *	(STAT*         id, cpu, index of the thread, value, enabled, running
 *	 STAT_ROUND)*  interval or final, time
 *
 * Counts of rounds are since the start, not since the round before.
 */
#pragma once

#include "base/cpuset.h"
#include "base/strbuf.h"
#include "file/perfdata_read.h"
#include "model/machine.h"
#include "model/stat.h"

enum { STATDATA_COMM_MAX = 16, STATDATA_THREADS_MAX = 2700 }; /* a record has a size of 16 bits */

struct statdata_thread {
	s32 tid; /* -1: all */
	char comm[STATDATA_COMM_MAX];
};

struct statdata_round {
	u64 time_ns; /* since the start */
	bool final;
};

/* ---- writing: whole records at the end of `to` ---- */

void statdata_put_unit(struct strbuf *to, u64 id, const char *unit);
void statdata_put_scale(struct strbuf *to, u64 id, double scale);
void statdata_put_cpus(struct strbuf *to, u64 id, const struct cpuset *cpus);
void statdata_put_threads(struct strbuf *to, const struct statdata_thread *threads, u32 nr);
/* NULL: no CPU in particular. */
void statdata_put_cpu_map(struct strbuf *to, const struct cpuset *cpus);
void statdata_put_config(struct strbuf *to, enum stat_by by, u64 interval_ms);
void statdata_put_count(struct strbuf *to, u64 id, s32 cpu, u32 thread, const struct count *c);
/* What a process is called, for counts that are numbers of processes. */
void statdata_put_comm(struct strbuf *to, s32 pid, const char *comm);
void statdata_put_round(struct strbuf *to, const struct statdata_round *round);

/* ---- reading ---- */

struct statdata_event {
	const char *unit; /* borrowed; NULL: none */
	double scale; /* 0: none was given */
};

struct statdata {
	const struct perfdata *file;
	struct perfdata *learns; /* the same, of a stream whose attrs come with its records; NULL: they are known */
	enum stat_by by;
	u64 interval_ms;
	VEC(struct statdata_thread) threads;
	VEC(s32) cpus; /* -1: any */
	struct dict cpu_at; /* number of a CPU -> its index in cpus */
	VEC(struct statdata_event) events; /* one an attr of the file */
	const u8 *at; /* the next record */
	/* Is told of COMM records between counts; may be NULL. comm: at most `max` bytes, NUL or not. */
	int (*comm)(void *ctx, s32 pid, const char *comm, size_t max);
	void *comm_ctx;
};

/*
 * Reads the preface, up to the first count. -ENODATA: there are no counts in this file; -EBADMSG, -EFBIG: it is damaged, or
 * claims more than there can be; all with a diag.
 */
int statdata_open(struct statdata *s, struct perfdata *file, struct diag *d) must_check;
/* The same of a file that was read before: all its attrs are known. */
int statdata_open_known(struct statdata *s, const struct perfdata *file, struct diag *d) must_check;
void statdata_close(struct statdata *s);
/* Places: each thread on each CPU, slot = index of the CPU * threads + index of the thread. */
u32 statdata_nr_slots(const struct statdata *s);
/*
 * The counts up to the end of the next round, into to[event * slots + slot]; what a round does not tell keeps its value from
 * before. 1, 0 at the end, -EBADMSG when the file is truncated (to then has what was there).
 */
int statdata_next_round(struct statdata *s, struct count *to, struct statdata_round *ret) must_check;

/* Decodes the body of a CPU_MAP record into s->cpus. 0, -EBADMSG, -EFBIG or -ENOMEM. */
int statdata_cpu_map(struct statdata *s, struct bytes *b) must_check;

/* Core, socket, die of each CPU and the CPUs of each node, from the head of the file. 0 or -ENOMEM. */
int statdata_topology(const struct perfdata *file, struct machine *to) must_check;
