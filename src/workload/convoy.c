/*
 * A convoy: threads that wait for one kernel lock, for a time that is known. The lock is that of a file (its inode), which whoever writes to
 * the file holds meanwhile. One thread writes from a page that is not there yet (userfaultfd), so it keeps the lock until the page is
 * handed over: when all others have been waiting for as long as was asked for.
 */
#include "base/clock.h"
#include "workload/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CONVOY_MAX = 1024, PATIENCE_MS = 60000 };

struct convoy_waiter {
	pthread_t thread;
	int file;
	pid_t tid;
	bool started; /* tid is known: the write comes next */
	u64 waited_ns;
	ssize_t written;
};

struct convoy {
	int file, faults;
	char *page; /* missing, until it is handed over */
	size_t page_bytes;
	ssize_t written;
};

static int failed(const struct workload_args *a, const char *what)
{
	int err = -errno;
	return diag_error(a->d, err, "%s: %s", what, strerror(-err));
}

static u64 now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

static int open_convoy(const struct workload_args *a, struct convoy *c)
{
	struct uffdio_api api = { .api = UFFD_API };
	c->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	c->file = memfd_create("sonde-convoy", MFD_CLOEXEC);
	if (c->file < 0)
		return failed(a, "cannot create a file in memory");
	c->faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (c->faults < 0 || ioctl(c->faults, UFFDIO_API, &api))
		return failed(a, "userfaultfd");
	c->page = mmap(NULL, c->page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	if (c->page == MAP_FAILED)
		return failed(a, "mmap");
	struct uffdio_register reg = {
		.range = { .start = (u64)(uintptr_t)c->page, .len = c->page_bytes },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	return ioctl(c->faults, UFFDIO_REGISTER, &reg) ? failed(a, "UFFDIO_REGISTER") : 0;
}

/* The lock's owner. */
WORKLOAD_FN void *workload_convoy_owner(void *arg);
WORKLOAD_FN void *workload_convoy_owner(void *arg)
{
	struct convoy *c = arg;
	c->written = write(c->file, c->page, c->page_bytes);
	return NULL;
}

WORKLOAD_FN void *workload_convoy_waiter(void *arg);
WORKLOAD_FN void *workload_convoy_waiter(void *arg)
{
	struct convoy_waiter *w = arg;
	w->tid = (pid_t)syscall(SYS_gettid);
	__atomic_store_n(&w->started, true, __ATOMIC_RELEASE);
	u64 from = now_ns();
	w->written = pwrite(w->file, "x", 1, 0);
	w->waited_ns = now_ns() - from;
	return NULL;
}

/* The owner has the lock: it asks for the page. */
static int wait_for_owner(const struct workload_args *a, const struct convoy *c)
{
	struct uffd_msg msg;
	struct pollfd p = { .fd = c->faults, .events = POLLIN };
	if (poll(&p, 1, PATIENCE_MS) != 1 || read(c->faults, &msg, sizeof(msg)) != sizeof(msg))
		return diag_error(a->d, -ETIMEDOUT, "the lock's owner did not get the lock");
	return 0;
}

static bool is_asleep(pid_t tid)
{
	char path[64], text[512];
	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	const char *end = strrchr(text, ')');
	return end && end[1] == ' ' && end[2] == 'D';
}

static void wait_for_waiters(struct convoy_waiter *w, unsigned nr)
{
	u64 until = now_ns() + (u64)PATIENCE_MS * 1000000;
	for (unsigned i = 0; i < nr && now_ns() < until;) {
		if (__atomic_load_n(&w[i].started, __ATOMIC_ACQUIRE) && is_asleep(w[i].tid))
			i++;
		else
			(void)usleep(1000);
	}
}

static int hand_over(const struct workload_args *a, const struct convoy *c)
{
	_cleanup_free_ char *zeros = calloc(1, c->page_bytes);
	struct uffdio_copy copy = { .dst = (u64)(uintptr_t)c->page,
				    .src = (u64)(uintptr_t)zeros,
				    .len = c->page_bytes };
	if (!zeros)
		return -ENOMEM;
	return ioctl(c->faults, UFFDIO_COPY, &copy) ? failed(a, "UFFDIO_COPY") : 0;
}

static int run_convoy(const struct workload_args *a, struct convoy *c, struct convoy_waiter *w)
{
	pthread_t owner;
	unsigned nr = 0;
	int err = pthread_create(&owner, NULL, workload_convoy_owner, c);
	if (err)
		return diag_error(a->d, -err, "cannot start a thread: %s", strerror(err));
	int ret = wait_for_owner(a, c);
	for (; !ret && !err && nr < a->threads; nr += !err) {
		w[nr].file = c->file;
		err = pthread_create(&w[nr].thread, NULL, workload_convoy_waiter, &w[nr]);
	}
	if (err)
		ret = diag_error(a->d, -err, "cannot start a thread: %s", strerror(err));
	wait_for_waiters(w, nr);
	struct timespec hold = { .tv_sec = (time_t)(a->n / 1000),
				 .tv_nsec = (long)(a->n % 1000) * 1000000 };
	(void)nanosleep(&hold, NULL);
	int handed = hand_over(a, c);
	for (unsigned i = 0; i < nr; i++)
		(void)pthread_join(w[i].thread, NULL);
	(void)pthread_join(owner, NULL);
	return ret ? ret : handed;
}

WORKLOAD_FN int workload_convoy(const struct workload_args *a)
{
	struct convoy c = { .file = -1, .faults = -1, .page = MAP_FAILED };
	struct convoy_waiter *w = calloc(min(a->threads, (unsigned)CONVOY_MAX), sizeof(*w));
	int err = w ? open_convoy(a, &c) : -ENOMEM;
	if (!err)
		err = run_convoy(a, &c, w);
	for (unsigned i = 0; !err && i < a->threads; i++)
		strbuf_printf(a->out, "%d %llu\n", w[i].tid, (unsigned long long)w[i].waited_ns);
	if (c.page != MAP_FAILED)
		(void)munmap(c.page, c.page_bytes);
	cleanup_close(&c.faults);
	cleanup_close(&c.file);
	free(w);
	return err;
}
