/*
 * System calls at full speed, for a time: bench/record-many records them.
 *
 * usage: flood SECONDS CPUS	on CPUs 0 .. CPUS - 1, one process each; prints how many calls were made
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CPUS_MAX = 1024, AT_ONCE = 1000, APART = 16 };

static double now(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void call(int cpu, double from, double to, unsigned long *made)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
	while (now() < from)
		;
	while (now() < to) {
		for (int i = 0; i < AT_ONCE; i++)
			(void)syscall(SYS_getppid);
		*made += AT_ONCE;
	}
}

int main(int argc, char **argv)
{
	double seconds = argc == 3 ? strtod(argv[1], NULL) : 0, start = now() + 0.2;
	int nr = argc == 3 ? atoi(argv[2]) : 0;
	unsigned long *made, sum = 0;
	if (nr < 1 || nr > CPUS_MAX) {
		(void)fprintf(stderr, "usage: flood SECONDS CPUS\n");
		return 129;
	}
	made = mmap(NULL, CPUS_MAX * APART * sizeof(*made), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return 1;
	for (int i = 0; i < nr; i++)
		if (!fork()) {
			call(i, start, start + seconds, &made[i * APART]);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < nr; i++)
		sum += made[i * APART];
	(void)printf("%lu\n", sum);
	return 0;
}
