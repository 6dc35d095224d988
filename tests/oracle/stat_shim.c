/*
 * A machine with hardware counters, played: loaded before perf or sonde (LD_PRELOAD), it turns every hardware, cache and raw
 * event into a software one that the kernel has, and answers reads of it with numbers that follow from the event alone. Both
 * programs then see the same machine, and their whole output can be compared, digits and all.
 *
 *	value    1000 * (17 + type * 7 + config % 13 * 31)
 *	enabled  2000000; running: the same, or, with STAT_SHIM_SHARE=N, N percent of it (0: never)
 *
 * STAT_SHIM_PMUS=1: events of PMUs with a number of their own (uncore) are played, too, but only on CPU 0.
 * STAT_SHIM_CPUS=N: CPUs from N on are there as well; the kernel opens on CPU % N for them.
 * STAT_SHIM_NONE lists configs (hexadecimal, blanks between) of hardware events that this machine has not.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FDS = 4096, MEMBERS = 32 };
static uint64_t values[FDS];
/* Groups that are read at one moment: the leader's own value, then those of its members as they were opened. */
static int grouped[FDS], members[FDS][MEMBERS], nr_members[FDS];

static int plays(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_HW_CACHE ||
	       a->type == PERF_TYPE_RAW || (a->type >= PERF_TYPE_MAX && getenv("STAT_SHIM_PMUS"));
}

static int absent(const struct perf_event_attr *a)
{
	const char *list = getenv("STAT_SHIM_NONE");
	while (list && *list) {
		char *end;
		uint64_t config = strtoull(list, &end, 16);
		if (end == list)
			break;
		if (a->type == PERF_TYPE_HARDWARE && a->config == config)
			return 1;
		list = end;
	}
	return 0;
}

static long real_call(long nr, long a, long b, long c, long d, long e, long f)
{
	static long (*next)(long, ...);
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return next(nr, a, b, c, d, e, f);
}

static long open_played(const struct perf_event_attr *a, long pid, long cpu, long group, long flags)
{
	struct perf_event_attr soft;
	if (absent(a)) {
		errno = ENOENT;
		return -1;
	}
	if (a->type >= PERF_TYPE_MAX && ((int)cpu || (int)pid != -1)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(&soft, a, sizeof(soft));
	soft.type = PERF_TYPE_SOFTWARE;
	soft.config = PERF_COUNT_SW_DUMMY;
	soft.config1 = soft.config2 = 0;
	/* Nothing is ever sampled: branches may be asked for. */
	soft.branch_sample_type = 0;
	soft.sample_type &= ~(unsigned long long)PERF_SAMPLE_BRANCH_STACK;
	long fd = real_call(SYS_perf_event_open, (long)&soft, pid, cpu, group, flags, 0);
	if (fd >= 0 && fd < FDS)
		values[fd] = 1000 * (17 + a->type * 7 + a->config % 13 * 31);
	if (fd >= 0 && fd < FDS) {
		int leader = (int)group;
		grouped[fd] = !!(a->read_format & PERF_FORMAT_GROUP);
		nr_members[fd] = 0;
		if (leader >= 0 && leader < FDS && nr_members[leader] < MEMBERS)
			members[leader][nr_members[leader]++] = (int)fd;
	}
	return fd;
}

long syscall(long nr, ...)
{
	va_list ap;
	long v[6];
	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		v[i] = va_arg(ap, long);
	va_end(ap);
	if (nr != SYS_perf_event_open)
		return real_call(nr, v[0], v[1], v[2], v[3], v[4], v[5]);
	const struct perf_event_attr *a = (const void *)v[0];
	const char *cpus = getenv("STAT_SHIM_CPUS");
	if (cpus && (int)v[2] >= atoi(cpus))
		v[2] = (int)v[2] % atoi(cpus);
	if (plays(a))
		return open_played(a, v[1], v[2], v[3], v[4]);
	long fd = real_call(nr, v[0], v[1], v[2], v[3], v[4], 0);
	if (fd >= 0 && fd < FDS)
		values[fd] = 0;
	return fd;
}

int close(int fd)
{
	if (fd >= 0 && fd < FDS)
		values[fd] = grouped[fd] = 0;
	return (int)real_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

ssize_t read(int fd, void *buf, size_t len)
{
	ssize_t n = real_call(SYS_read, fd, (long)buf, (long)len, 0, 0, 0);
	if (n >= 24 && fd >= 0 && fd < FDS && values[fd] && grouped[fd]) {
		uint64_t *v = buf;
		const char *share = getenv("STAT_SHIM_SHARE");
		uint64_t percent = share ? strtoull(share, NULL, 10) : 100;
		v[1] = 2000000;
		v[2] = 2000000 * percent / 100;
		for (uint64_t i = 0; i < v[0] && i <= (uint64_t)nr_members[fd]; i++) {
			int of = i ? members[fd][i - 1] : fd;
			v[3 + 2 * i] = percent ? values[of] : 0; /* behind it: the kernel's id */
		}
		return n;
	}
	if (n >= 24 && fd >= 0 && fd < FDS && values[fd]) {
		const char *share = getenv("STAT_SHIM_SHARE");
		uint64_t percent = share ? strtoull(share, NULL, 10) : 100;
		uint64_t count[3] = { percent ? values[fd] : 0, 2000000, 2000000 * percent / 100 };
		memcpy(buf, count, sizeof(count));
	}
	return n;
}
