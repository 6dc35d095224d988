/* base: mapped files that are truncated while they are read. */
#include "tap.h"

#include "base/guard.h"
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 64, THREADS = 4 };

static size_t page;

static bool is_s64(long got, long want, const char *what)
{
	return is_u64((u64)got, (u64)want, what);
}

static int make_file(char fill)
{
	int fd = memfd_create("guarded", MFD_CLOEXEC);
	char *buf = malloc(page);
	memset(buf, fill, page);
	for (int i = 0; i < PAGES; i++)
		if (write(fd, buf, page) != (ssize_t)page)
			return -1;
	free(buf);
	return fd;
}

static u64 sum(const u8 *at, size_t size)
{
	volatile u64 total = 0; /* or nobody would read at all */
	for (size_t i = 0; i < size; i += 64)
		total += at[i];
	return total;
}

struct shared {
	const u8 *map;
	atomic_int ready;
	atomic_bool go;
	atomic_ullong total;
};

static void *read_all(void *arg)
{
	struct shared *s = arg;
	atomic_fetch_add(&s->ready, 1);
	while (!atomic_load(&s->go))
		;
	atomic_fetch_add(&s->total, sum(s->map, PAGES * page));
	return NULL;
}

/* The file shrinks to half; four threads read all of it. */
static void test_threads(void)
{
	int fd = make_file(1);
	const void *map;
	is_s64(guard_map_input(fd, PAGES * page, true, NULL, "recording", &map), 0, "mapped");
	ok(!guard_is_cut(map, PAGES * page) && !guard_inputs_cut(), "whole so far");
	struct shared s = { .map = map };
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, read_all, &s);
	while (atomic_load(&s.ready) < THREADS)
		;
	ok(!ftruncate(fd, (off_t)(PAGES / 2 * page)), "truncated");
	atomic_store(&s.go, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	is_s64((long)s.total, (long)(THREADS * (PAGES / 2) * (page / 64)),
	       "every thread read what is left, and zeros");
	ok(guard_is_cut(map, PAGES * page), "it was cut");
	ok(guard_inputs_cut(), "an input was");
	guard_unmap(map, PAGES * page);
	char *name = guard_take_cut();
	is_str(name, "recording", "its name is told after it was unmapped");
	free(name);
	ok(!guard_take_cut() && !guard_inputs_cut(), "and once");
	close(fd);
}

static void test_last_page(void)
{
	int fd = make_file(1);
	const void *map;
	is_s64(guard_map_input(fd, PAGES * page, true, NULL, "x", &map), 0, "mapped");
	ok(!ftruncate(fd, (off_t)(PAGES * page - 8)), "8 bytes less: no page is gone");
	ok(guard_is_cut(map, PAGES * page), "it is noticed");
	char *name = guard_take_cut();
	is_str(name, "x", "its name, while it is mapped");
	free(name);
	guard_unmap(map, PAGES * page);
	ok(!guard_inputs_cut(), "told once");
	close(fd);
}

static void test_no_input(void)
{
	int fd = make_file(1), other = make_file(2);
	const void *map, *second;
	is_s64(guard_map(fd, PAGES * page, false, NULL, &map), 0, "mapped");
	is_s64(guard_map(other, PAGES * page, false, NULL, &second), 0, "another one");
	ok(!ftruncate(fd, 0), "emptied");
	is_s64((long)sum(map, PAGES * page), 0, "nothing but zeros");
	is_s64((long)sum(second, PAGES * page), (long)(2 * PAGES * (page / 64)),
	       "the other one is as it was");
	ok(guard_is_cut(map, PAGES * page) && !guard_is_cut(second, PAGES * page), "one was cut");
	ok(!guard_inputs_cut(), "no input was");
	guard_unmap(map, PAGES * page);
	guard_unmap(second, PAGES * page);
	close(fd);
	close(other);
}

/* Several files in one reserved range, as the parts of a recording that is a directory. */
static void test_range(void)
{
	int a = make_file(1), b = make_file(3);
	size_t size = PAGES * page;
	u8 *room =
		mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const void *map;
	is_s64(guard_map_input(a, size, true, room, "dir", &map), 0, "the first");
	is_s64(guard_map_input(b, size, true, room + size, "dir", &map), 0, "the second");
	ok(!ftruncate(a, 0) && !ftruncate(b, 0), "both emptied");
	is_s64((long)sum(room, 2 * size), 0, "nothing but zeros");
	guard_unmap(room, 2 * size);
	char *name = guard_take_cut();
	is_str(name, "dir", "one name");
	free(name);
	ok(!guard_take_cut(), "once for both");
	close(a);
	close(b);
}

static int death_of(void (*fn)(void))
{
	int status;
	pid_t pid = fork();
	if (!pid) {
		fn();
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void touch_unguarded(void)
{
	int fd = make_file(1);
	const u8 *map = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	if (!ftruncate(fd, 0))
		(void)sum(map, page);
}

static void send_bus(void)
{
	(void)kill(getpid(), SIGBUS);
}

static void touch_forgotten(void)
{
	int fd = make_file(1);
	const void *map;
	if (guard_map(fd, PAGES * page, false, NULL, &map))
		return;
	guard_unmap(map, PAGES * page);
	const u8 *again =
		mmap((void *)(uintptr_t)map, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
	if (!ftruncate(fd, 0))
		(void)sum(again, page);
}

static void test_others(void)
{
	is_s64(death_of(touch_unguarded), SIGBUS, "a fault elsewhere is fatal");
	is_s64(death_of(send_bus), SIGBUS, "a signal that somebody sent is fatal");
	is_s64(death_of(touch_forgotten), SIGBUS, "a mapping that was given back is not guarded");
}

static void test_many(void)
{
	enum { MANY = 3000 };
	static const void *maps[MANY];
	int fd = make_file(1), bad = 0;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++)
			bad += guard_map(fd, page, false, NULL, &maps[i]) != 0;
		for (int i = 0; i < MANY; i++)
			guard_unmap(maps[i], page);
	}
	is_s64(bad, 0, "thousands at a time, again and again");
	close(fd);
}

/* What is made from an input that was cut does not replace anything. */
static void test_kept(void)
{
	char path[] = "/tmp/test_guard.XXXXXX";
	int to = mkstemp(path), fd = make_file(1);
	const void *map;
	is_s64(guard_map_input(fd, PAGES * page, true, NULL, "in", &map), 0, "mapped");
	struct atomic_file k;
	is_s64(atomic_file_begin(&k, path, 0600), 0, "an output is begun");
	ok(write(k.fd, "half", 4) == 4 && !ftruncate(fd, 0), "the input is cut");
	is_s64(atomic_file_end(&k, 0), -EIO, "the output is not kept");
	struct stat st;
	ok(!fstat(to, &st) && !st.st_size, "the file is as it was");
	ok(access(k.aside, F_OK), "nothing is left beside it");
	guard_unmap(map, PAGES * page);
	free(guard_take_cut());
	close(fd);
	close(to);
	unlink(path);
}

static void test_mask(void)
{
	sigset_t set;
	guard_sigmask(&set);
	ok(sigismember(&set, SIGINT) && !sigismember(&set, SIGBUS), "faults are never blocked");
}

int main(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	guard_install();
	test_threads();
	test_last_page();
	test_no_input();
	test_range();
	test_others();
	test_many();
	test_kept();
	test_mask();
	return done_testing();
}
