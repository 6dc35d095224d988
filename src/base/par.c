#include "base/par.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAR_MAX = 256, HURRY_NICE = -10, HURRY_SLICE_NS = 100000 };

/* The kernel's, which libc has not named for long. A task that is not real-time asks for its slice by the runtime. */
struct task_sched_attr {
	u32 size, policy;
	u64 flags;
	s32 nice;
	u32 rt_priority;
	u64 slice_ns, deadline_ns, period_ns;
};

unsigned par_cpus(void)
{
	cpu_set_t *set;
	long conf = sysconf(_SC_NPROCESSORS_CONF);
	int cpus = (int)max(conf, 1024L);
	unsigned nr = 0;
	set = CPU_ALLOC(cpus);
	if (set && !sched_getaffinity(0, CPU_ALLOC_SIZE(cpus), set))
		nr = (unsigned)CPU_COUNT_S(CPU_ALLOC_SIZE(cpus), set);
	CPU_FREE(set);
	return nr ? nr : 1;
}

struct par_job {
	int (*fn)(void *, unsigned);
	void *ctx;
	unsigned index;
	int ret;
	bool started;
	pthread_t thread;
};

static void *par_main(void *arg)
{
	struct par_job *job = arg;
	job->ret = job->fn(job->ctx, job->index);
	return NULL;
}

int par_run(unsigned nr, int (*fn)(void *, unsigned), void *ctx)
{
	if (nr > PAR_MAX)
		nr = PAR_MAX;
	struct par_job *jobs = calloc(nr, sizeof(*jobs));
	if (!jobs)
		return -ENOMEM;
	for (unsigned i = 0; i < nr; i++) {
		jobs[i] = (struct par_job){ .fn = fn, .ctx = ctx, .index = i };
		if (i > 0)
			jobs[i].started = !pthread_create(&jobs[i].thread, NULL, par_main, &jobs[i]);
	}
	int ret = 0;
	for (unsigned i = 0; i < nr; i++)
		if (!jobs[i].started)
			par_main(&jobs[i]);
	for (unsigned i = 0; i < nr; i++) {
		if (jobs[i].started)
			(void)pthread_join(jobs[i].thread, NULL);
		if (jobs[i].ret < 0 && !ret)
			ret = jobs[i].ret;
	}
	free(jobs);
	return ret;
}

unsigned par_workers(unsigned asked, u64 nr, u64 least)
{
	u64 most = max(nr / max(least, (u64)1), (u64)1);
	return (unsigned)min(most, (u64)min(asked ? asked : par_cpus(), (unsigned)PAR_MAX));
}

struct par_items {
	int (*fn)(void *, unsigned, u32);
	void *ctx;
	u32 nr;
	atomic_uint next;
	atomic_bool stop;
};

static int par_take(void *ctx, unsigned worker)
{
	struct par_items *p = ctx;
	u32 index;
	while (!atomic_load(&p->stop) && (index = atomic_fetch_add(&p->next, 1)) < p->nr) {
		int err = p->fn(p->ctx, worker, index);
		if (err < 0) {
			atomic_store(&p->stop, true);
			return err;
		}
	}
	return 0;
}

int par_each(unsigned workers, u32 nr, int (*fn)(void *, unsigned, u32), void *ctx)
{
	struct par_items p = { .fn = fn, .ctx = ctx, .nr = nr };
	workers = max(min(workers, nr), 1u);
	return workers == 1 ? par_take(&p, 0) : par_run(workers, par_take, &p);
}

void par_hurry(void)
{
	struct task_sched_attr attr = { .size = sizeof(attr),
					.nice = HURRY_NICE,
					.slice_ns = HURRY_SLICE_NS };
	if (!syscall(SYS_sched_setattr, 0, &attr, 0))
		return;
	attr.nice = getpriority(PRIO_PROCESS, 0);
	(void)!syscall(SYS_sched_setattr, 0, &attr, 0);
}
