/* Workloads that ask something of the kernel (or of malloc) exactly N times. */
#include "workload/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 4096, BLOCKS_IN_FILE = 256 };

static int failed(const struct workload_args *a, const char *what)
{
	int err = -errno;
	return diag_error(a->d, err, "%s: %s", what, strerror(-err));
}

/* The compiler knows malloc and would drop a pair that nobody looks at. */
WORKLOAD_FN void *workload_allocate(size_t size)
{
	void *p = malloc(size);
	__asm__ volatile("" : "+r"(p)::"memory");
	return p;
}

WORKLOAD_FN int workload_malloc(const struct workload_args *a)
{
	for (u64 i = 0; i < a->n; i++) {
		void *p = workload_allocate(1 + i % 4096);
		if (!p)
			return diag_error(a->d, -ENOMEM, "out of memory");
		free(p);
	}
	return 0;
}

WORKLOAD_FN void workload_touch(volatile char *page)
{
	WORKLOAD_KEEP_FRAME();
	*page = 1;
}

WORKLOAD_FN int workload_faults(const struct workload_args *a)
{
	if (!a->n)
		return 0;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = a->n * page;
	char *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return failed(a, "mmap");
	(void)madvise(map, size, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < size; at += page)
		workload_touch(map + at);
	(void)munmap(map, size);
	return 0;
}

WORKLOAD_FN int workload_syscalls(const struct workload_args *a)
{
	for (u64 i = 0; i < a->n; i++)
		(void)syscall(SYS_getppid);
	return 0;
}

/* Refused each time: no rule set is open. Both kinds of rules, whose number tools show by name. */
WORKLOAD_FN int workload_landlock(const struct workload_args *a)
{
	enum { PATH_BENEATH = 1, NET_PORT = 2 };
	u64 rule[2] = { 0 };
	for (u64 i = 0; i < a->n; i++) {
		(void)syscall(SYS_landlock_add_rule, -1, PATH_BENEATH, rule, 0);
		(void)syscall(SYS_landlock_add_rule, -1, NET_PORT, rule, 0);
	}
	return 0;
}

struct pingpong {
	int there[2];
	int back[2];
	u64 rounds;
};

static void *pong(void *arg)
{
	struct pingpong *p = arg;
	char c;
	for (u64 i = 0; i < p->rounds; i++)
		if (read(p->there[0], &c, 1) != 1 || write(p->back[1], &c, 1) != 1)
			break;
	return NULL;
}

static bool ping(struct pingpong *p)
{
	char c = 'x';
	for (u64 i = 0; i < p->rounds; i++)
		if (write(p->there[1], &c, 1) != 1 || read(p->back[0], &c, 1) != 1)
			return false;
	return true;
}

/* On one CPU every read has to wait for the other thread. */
WORKLOAD_FN int workload_switches(const struct workload_args *a)
{
	struct pingpong p = { .rounds = a->n };
	pthread_t thread;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return failed(a, "sched_setaffinity");
	if (pipe2(p.there, O_CLOEXEC) || pipe2(p.back, O_CLOEXEC))
		return failed(a, "pipe");
	int err = pthread_create(&thread, NULL, pong, &p);
	if (err)
		return diag_error(a->d, -err, "cannot start a thread: %s", strerror(err));
	bool good = ping(&p);
	(void)pthread_join(thread, NULL);
	return good ? 0 : diag_error(a->d, -EIO, "the other thread exited");
}

static int temporary_file(void)
{
	const char *dir = secure_getenv("TMPDIR");
	dir = dir && *dir ? dir : "/tmp";
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	char path[4096];
	if (snprintf(path, sizeof(path), "%s/sonde-io-XXXXXX", dir) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(path);
	return fd;
}

WORKLOAD_FN int workload_io(const struct workload_args *a)
{
	char block[BLOCK];
	memset(block, 'x', sizeof(block));
	_cleanup_close_ int fd = temporary_file();
	if (fd < 0)
		return failed(a, "cannot create a temporary file");
	for (u64 i = 0; i < a->n; i++) {
		off_t at = (off_t)(i % BLOCKS_IN_FILE) * BLOCK;
		if (pwrite(fd, block, BLOCK, at) != BLOCK)
			return failed(a, "cannot write to the temporary file");
		if (pread(fd, block, BLOCK, at) != BLOCK)
			return failed(a, "cannot read the temporary file");
	}
	return 0;
}

WORKLOAD_FN int workload_forks(const struct workload_args *a)
{
	for (u64 i = 0; i < a->n; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return failed(a, "fork");
		if (!pid)
			_exit(0);
		if (waitpid(pid, NULL, 0) != pid)
			return failed(a, "waitpid");
	}
	return 0;
}
