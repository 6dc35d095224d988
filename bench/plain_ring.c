/*
 * One thread that takes what is in all CPUs' rings and writes it to one file, as perf record does, and does nothing else: what
 * bench/record-many holds `sonde record` to where there is no perf.
 *
 * usage: plain_ring EVENT-ID PAGES FILE COMMAND...	of a tracepoint; prints bytes and how many events were lost
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CPUS_MAX = 1024, PAGE = 4096 };

struct ring {
	struct perf_event_mmap_page *page;
	char *data;
};

static struct ring rings[CPUS_MAX];
static struct pollfd fds[CPUS_MAX];
static unsigned long size, written;

static int open_cpu(int cpu, unsigned long id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = id,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW,
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST,
		.sample_id_all = 1,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	void *p = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -1;
	rings[cpu] = (struct ring){ .page = p, .data = (char *)p + PAGE };
	fds[cpu] = (struct pollfd){ .fd = fd, .events = POLLIN };
	return 0;
}

static void put(int out, const char *data, unsigned long len)
{
	while (len) {
		ssize_t n = write(out, data, len);
		if (n <= 0) {
			perror("write");
			exit(1);
		}
		data += n;
		len -= (unsigned long)n;
		written += (unsigned long)n;
	}
}

static int take(struct ring *r, int out)
{
	unsigned long head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	unsigned long tail = r->page->data_tail, at = tail & (size - 1), len = head - tail;
	unsigned long first = len < size - at ? len : size - at;
	put(out, r->data + at, first);
	put(out, r->data, len - first);
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
	return len != 0;
}

static int take_all(int nr, int out)
{
	int any = 0;
	for (int i = 0; i < nr; i++)
		any |= take(&rings[i], out);
	return any;
}

int main(int argc, char **argv)
{
	int nr = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (argc < 5 || nr > CPUS_MAX) {
		(void)fprintf(stderr, "usage: plain_ring EVENT-ID PAGES FILE COMMAND...\n");
		return 129;
	}
	size = strtoul(argv[2], NULL, 10) * PAGE;
	int out = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	for (int i = 0; i < nr; i++)
		if (out < 0 || open_cpu(i, strtoul(argv[1], NULL, 10))) {
			perror("plain_ring");
			return 1;
		}
	for (int i = 0; i < nr; i++)
		(void)ioctl(fds[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	pid_t pid = fork();
	if (!pid) {
		execvp(argv[4], argv + 4);
		_exit(127);
	}
	while (!waitpid(pid, NULL, WNOHANG))
		if (!take_all(nr, out))
			(void)poll(fds, (nfds_t)nr, 100);
	unsigned long lost = 0;
	for (int i = 0; i < nr; i++) {
		struct {
			unsigned long value, id, lost;
		} count;
		(void)ioctl(fds[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		if (read(fds[i].fd, &count, sizeof(count)) == sizeof(count))
			lost += count.lost;
	}
	(void)take_all(nr, out);
	(void)printf("%lu bytes, %lu lost\n", written, lost);
	return 0;
}
