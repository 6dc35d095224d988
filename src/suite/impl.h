/* What the benchmarks share. */
#pragma once

#include "suite/suite.h"

#include <pthread.h>
#include <sys/types.h>

enum { SUITE_THREADS_MAX = 4096, SUITE_RUNS_MAX = 100000, SUITE_SECONDS_MAX = 86400 };

/* part: copied; NULL: the whole. */
void suite_add(struct suite_run *r, const char *part, const char *name, const char *unit,
	       double value);

/* perf's lines: "     Total time: 0.125 [sec]", and the time alone in the simple format. */
void suite_total_time(struct suite_run *r, u64 ns);
void suite_simple_time(struct suite_run *r, u64 ns);
/* "      12.550800 usecs/op", "          79676 ops/sec" */
void suite_per_op(struct suite_run *r, u64 ns, u64 ops);

/* ret: the value, or the fallback for 0. -EINVAL with a diag: above max. */
int suite_limit(struct suite_run *r, const char *what, u64 value, u64 fallback, u64 max,
		u32 *ret) must_check;

/* The same for loops, of which there may be more. */
int suite_loops(struct suite_run *r, u64 value, u64 fallback, u64 *ret) must_check;

/* CPUs that this process may use, and the i-th of them, cyclically. */
u32 suite_nr_cpus(void);
int suite_cpu(u32 i);

/*
 * Threads, each on a CPU of its own as far as there are as many. They begin together: a thread that has prepared itself calls
 * suite_team_ready(), which returns when suite_team_go() is called, false if the run is given up. They end when the caller has set `done`
 * and suite_team_join() returns.
 */
struct suite_team {
	pthread_t *threads;
	pid_t *tids; /* set by suite_team_ready() */
	u32 nr, nr_started, nr_ready, nr_entered;
	bool go, failed;
	bool done; /* read with suite_team_is_done() */
	pthread_mutex_t lock;
	pthread_cond_t change;
};

struct suite_member {
	struct suite_team *team;
	u32 index;
	void *work; /* the caller's, one for all or one each */
	u64 ops;
	int err;
};

int suite_team_start(struct suite_team *t, struct suite_member *members, u32 nr, bool pin,
		     void *(*fn)(void *), struct suite_run *r) must_check;
bool suite_team_ready(struct suite_member *m);
static inline bool suite_team_is_done(struct suite_team *t)
{
	return __atomic_load_n(&t->done, __ATOMIC_RELAXED);
}
/* Waits until all are ready, and lets them begin. */
void suite_team_go(struct suite_team *t);
/* A thread calls this as the last thing before it goes to sleep in the kernel; the other returns when all of them do. */
void suite_team_enter(struct suite_member *m);
void suite_team_wait_asleep(struct suite_team *t);
void suite_team_join(struct suite_team *t);

/* Lets the team run for that long. Returns the actual time in ns. */
u64 suite_team_run(struct suite_team *t, u64 seconds);

int suite_lock_memory(const struct suite_params *p, struct suite_run *r) must_check;

int suite_messaging(const struct suite_params *p, struct suite_run *r);
int suite_pipe(const struct suite_params *p, struct suite_run *r);
int suite_getppid(const struct suite_params *p, struct suite_run *r);
int suite_getpgid(const struct suite_params *p, struct suite_run *r);
int suite_fork(const struct suite_params *p, struct suite_run *r);
int suite_execve(const struct suite_params *p, struct suite_run *r);
int suite_memcpy(const struct suite_params *p, struct suite_run *r);
int suite_memset(const struct suite_params *p, struct suite_run *r);
int suite_find_bit(const struct suite_params *p, struct suite_run *r);
int suite_futex_hash(const struct suite_params *p, struct suite_run *r);
int suite_futex_wake(const struct suite_params *p, struct suite_run *r);
int suite_futex_wake_parallel(const struct suite_params *p, struct suite_run *r);
int suite_futex_requeue(const struct suite_params *p, struct suite_run *r);
int suite_futex_lock_pi(const struct suite_params *p, struct suite_run *r);
int suite_epoll_wait(const struct suite_params *p, struct suite_run *r);
int suite_epoll_ctl(const struct suite_params *p, struct suite_run *r);
int suite_synthesize(const struct suite_params *p, struct suite_run *r);
int suite_kallsyms(const struct suite_params *p, struct suite_run *r);
int suite_open_close(const struct suite_params *p, struct suite_run *r);
int suite_breakpoint_thread(const struct suite_params *p, struct suite_run *r);
int suite_breakpoint_enable(const struct suite_params *p, struct suite_run *r);
