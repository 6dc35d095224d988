#include "base/par.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
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
