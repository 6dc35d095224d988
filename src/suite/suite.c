#include "suite/suite.h"

#include "base/clock.h"
#include "suite/impl.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const struct suite_bench benches[] = {
	{ "sched", "messaging", "messages between groups of processes", false, suite_messaging },
	{ "sched", "pipe", "two processes that wake each other through pipes", false, suite_pipe },
	{ "syscall", "basic", "getppid, a system call that does next to nothing", false,
	  suite_getppid },
	{ "syscall", "getpgid", "getpgid", false, suite_getpgid },
	{ "syscall", "fork", "fork, and the end of the child", false, suite_fork },
	{ "syscall", "execve", "fork and execve of a small program", false, suite_execve },
	{ "mem", "memcpy", "copying memory", false, suite_memcpy },
	{ "mem", "memset", "filling memory", false, suite_memset },
	{ "mem", "find_bit", "finding bits that are set", false, suite_find_bit },
	{ "futex", "hash", "the kernel's hash table of futexes", false, suite_futex_hash },
	{ "futex", "wake", "waking threads", true, suite_futex_wake },
	{ "futex", "wake-parallel", "waking threads from several threads", true,
	  suite_futex_wake_parallel },
	{ "futex", "requeue", "moving waiting threads to another futex", true, suite_futex_requeue },
	{ "futex", "lock-pi", "locks with priority inheritance", false, suite_futex_lock_pi },
	{ "epoll", "wait", "waiting for events of many files", false, suite_epoll_wait },
	{ "epoll", "ctl", "adding, changing and removing files", false, suite_epoll_ctl },
	{ "internals", "synthesize", "making the records that describe this process", false,
	  suite_synthesize },
	{ "internals", "kallsyms-parse", "reading the kernel's symbols", false, suite_kallsyms },
	{ "internals", "evlist-open-close", "opening and closing events", false, suite_open_close },
	{ "breakpoint", "thread", "threads that inherit hardware breakpoints", true,
	  suite_breakpoint_thread },
	{ "breakpoint", "enable", "switching a hardware breakpoint", true, suite_breakpoint_enable },
};

const struct suite_bench *suite_bench(size_t i)
{
	return i < ARRAY_SIZE(benches) ? &benches[i] : NULL;
}

const struct suite_bench *suite_find(const char *collection, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(benches); i++)
		if (!strcmp(benches[i].collection, collection) && !strcmp(benches[i].name, name))
			return &benches[i];
	return NULL;
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

void suite_run_init(struct suite_run *r, struct diag *d)
{
	*r = (struct suite_run){ .diag = d };
	strbuf_init(&r->text);
	arena_init(&r->arena);
}

void suite_run_done(struct suite_run *r)
{
	vec_for_each (&r->series, s)
		vec_free(&s->values);
	vec_free(&r->series);
	arena_done(&r->arena);
	strbuf_done(&r->text);
}

static bool same_part(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static struct suite_series *find_series(struct suite_run *r, const char *part, const char *name,
					const char *unit)
{
	vec_for_each (&r->series, s)
		if (!strcmp(s->name, name) && same_part(s->part, part))
			return s;
	const char *kept = part ? arena_strdup(&r->arena, part) : NULL;
	struct suite_series *s = part && !kept ? NULL : vec_push(&r->series);
	if (s)
		*s = (struct suite_series){ .part = kept, .name = name, .unit = unit };
	return s;
}

void suite_add(struct suite_run *r, const char *part, const char *name, const char *unit,
	       double value)
{
	struct suite_series *s = find_series(r, part, name, unit);
	double *at = s ? vec_push(&s->values) : NULL;
	if (at)
		*at = value;
	else
		r->err = -ENOMEM;
}

struct suite_stats suite_stats(const double *values, size_t nr)
{
	struct suite_stats s = { 0 };
	double squares = 0;
	if (!nr)
		return s;
	s.min = s.max = values[0];
	for (size_t i = 0; i < nr; i++) {
		s.mean += values[i] / (double)nr;
		s.min = fmin(s.min, values[i]);
		s.max = fmax(s.max, values[i]);
	}
	for (size_t i = 0; i < nr; i++)
		squares += (values[i] - s.mean) * (values[i] - s.mean);
	if (nr > 1)
		s.error = sqrt(squares / (double)(nr - 1) / (double)nr);
	if (s.mean != 0)
		s.error_percent = 100 * s.error / s.mean;
	return s;
}

void suite_total_time(struct suite_run *r, u64 ns)
{
	strbuf_printf(&r->text, " %14s: %llu.%03llu [sec]\n", "Total time",
		      (unsigned long long)(ns / NS_PER_SEC),
		      (unsigned long long)(ns % NS_PER_SEC / 1000000));
}

void suite_simple_time(struct suite_run *r, u64 ns)
{
	strbuf_printf(&r->text, "%llu.%03llu\n", (unsigned long long)(ns / NS_PER_SEC),
		      (unsigned long long)(ns % NS_PER_SEC / 1000000));
}

void suite_per_op(struct suite_run *r, u64 ns, u64 ops)
{
	double us = (double)ns / 1000;
	strbuf_printf(&r->text, " %14f usecs/op\n %14.0f ops/sec\n", us / (double)ops,
		      floor((double)ops / (us / 1e6)));
}

int suite_limit(struct suite_run *r, const char *what, u64 value, u64 fallback, u64 max, u32 *ret)
{
	if (value > max)
		return diag_error(r->diag, -EINVAL, "%s: %llu is above the limit of %llu", what,
				  (unsigned long long)value, (unsigned long long)max);
	*ret = (u32)(value ? value : fallback);
	return 0;
}

/* Products with it stay far from overflow. */
#define LOOPS_MAX 1000000000000ull

int suite_loops(struct suite_run *r, u64 value, u64 fallback, u64 *ret)
{
	if (value > LOOPS_MAX)
		return diag_error(r->diag, -EINVAL,
				  "number of loops: %llu is above the limit of %llu",
				  (unsigned long long)value, LOOPS_MAX);
	*ret = value ? value : fallback;
	return 0;
}

int suite_lock_memory(const struct suite_params *p, struct suite_run *r)
{
	if (!p->lock_memory || !mlockall(MCL_CURRENT | MCL_FUTURE))
		return 0;
	int err = -errno;
	return diag_error(r->diag, err, "cannot lock memory: %s", strerror(-err));
}

/* ---- CPUs ------------------------------------------------------------------------------------------------------- */

static u32 allowed(cpu_set_t *set)
{
	if (sched_getaffinity(0, sizeof(*set), set)) {
		CPU_ZERO(set);
		CPU_SET(0, set);
	}
	return (u32)CPU_COUNT(set);
}

u32 suite_nr_cpus(void)
{
	cpu_set_t set;
	return allowed(&set);
}

int suite_cpu(u32 i)
{
	cpu_set_t set;
	u32 left = i % allowed(&set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && !left--)
			return cpu;
	return 0;
}
