/*
 * LD_PRELOAD for perf: writes a line for every perf_event_open into $SHIM_OUT and lets it succeed, so that attrs can be
 * compared on a machine without a PMU, and of machines that are not here (SYSFS_PATH). With $SHIM_RAW (a folder) the attr's
 * bytes too, behind fd, group_fd, cpu, pid and flags: a file named by the fd.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void write_raw(const struct perf_event_attr *a, int fd, int group, int cpu, int pid,
		      unsigned long flags)
{
	char path[512];
	const char *dir = getenv("SHIM_RAW");
	if (!dir || snprintf(path, sizeof(path), "%s/%d", dir, fd) >= (int)sizeof(path))
		return;
	FILE *f = fopen(path, "we");
	int ids[4] = { fd, group, cpu, pid };
	if (!f)
		return;
	fwrite(ids, sizeof(ids), 1, f);
	fwrite(&flags, sizeof(flags), 1, f);
	fwrite(a, sizeof(*a), 1, f);
	fclose(f);
}

static long shim_open(const struct perf_event_attr *a, int pid, int cpu, int group,
		      unsigned long flags)
{
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	FILE *f = fopen(getenv("SHIM_OUT"), "ae");
	if (!f)
		return -1;
	fprintf(f,
		"fd=%d group=%d cpu=%d pid=%d mmap=%d type=%u config=%#llx config1=%#llx "
		"config2=%#llx user=%d kernel=%d hv=%d "
		"idle=%d guest=%d host=%d precise=%d pinned=%d exclusive=%d bp_type=%u\n",
		fd, group, cpu, pid, a->mmap, a->type, (unsigned long long)a->config,
		(unsigned long long)a->config1, (unsigned long long)a->config2, a->exclude_user,
		a->exclude_kernel, a->exclude_hv, a->exclude_idle, a->exclude_guest,
		a->exclude_host, a->precise_ip, a->pinned, a->exclusive,
		a->type == PERF_TYPE_BREAKPOINT ? a->bp_type : 0);
	fclose(f);
	write_raw(a, fd, group, cpu, pid, flags);
	return fd;
}

/* Events have ids and share rings; whatever else is asked of one cannot be had. */
int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	va_list ap;
	va_start(ap, request);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	if (request == PERF_EVENT_IOC_ID) {
		*(unsigned long long *)arg = 1000 + (unsigned long long)fd;
		return 0;
	}
	if (request == PERF_EVENT_IOC_SET_OUTPUT)
		return 0;
	if (!real)
		real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	return real(fd, request, arg);
}

long syscall(long nr, ...)
{
	static long (*real)(long, ...);
	va_list ap;
	long a[6];
	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (nr == SYS_perf_event_open)
		return shim_open((const void *)a[0], (int)a[1], (int)a[2], (int)a[3],
				 (unsigned long)a[4]);
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return real(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}
