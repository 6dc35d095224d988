/* base: files that somebody else named: foreign and opener. */
#include "tap.h"

#include "base/clock.h"
#include "base/foreign.h"
#include "base/mounts.h"
#include "base/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/test_foreign.XXXXXX";

static bool is_err(int got, int want, const char *what)
{
	bool good = ok(got == want, "%s", what);
	if (!good)
		printf("#   got  %d\n#   want %d\n", got, want);
	if (got >= 0)
		close(got);
	return good;
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "made %s", path);
	close(fd);
}

static bool holds(int fd, const char *want, const char *what)
{
	char got[64] = "";
	ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof(got) - 1);
	bool good = ok(n >= 0 && !strcmp(got, want), "%s", what);
	if (!good)
		printf("#   descriptor %d: '%s'\n", fd, got);
	if (fd >= 0)
		close(fd);
	return good;
}

/* root/: what a container sees; outside: what it must not reach. */
static void make_tree(void)
{
	ok(mkdtemp(dir) && !chdir(dir), "a folder");
	put("plain", "plain");
	ok(!mkfifo("fifo", 0644) && !symlink("fifo", "to_fifo") && !symlink("plain", "to_plain") &&
		   !symlink("/dev/zero", "to_device") && !symlink("loop", "loop"),
	   "a pipe and links");
	ok(!mkdir("root", 0755) && !mkdir("root/lib", 0755) && !mkdir("root/usr", 0755), "a root");
	put("root/lib/a.so", "inside");
	put("outside", "outside");
	char text[64];
	(void)snprintf(text, sizeof(text), "%s/outside", dir);
	ok(!symlink("/lib/a.so", "root/absolute") && !symlink("lib", "root/lib64") &&
		   !symlink("../../../lib/a.so", "root/usr/up") && !symlink(text, "root/escape") &&
		   !symlink("../outside", "root/dots") && !symlink("loop", "root/loop") &&
		   !mkfifo("root/fifo", 0644) && !symlink("/fifo", "root/to_fifo"),
	   "links in it");
}

static void test_open(void)
{
	holds(foreign_open("plain", 0), "plain", "a file");
	holds(foreign_open("to_plain", 0), "plain", "a link to a file");
	is_err(foreign_open("to_plain", FOREIGN_NOFOLLOW), -ELOOP, "a link that is not followed");
	holds(foreign_open("plain", FOREIGN_NOFOLLOW), "plain",
	      "a file where links are not followed");
	is_err(foreign_open("fifo", 0), -EINVAL, "a pipe");
	is_err(foreign_open("to_fifo", 0), -EINVAL, "a link to a pipe");
	is_err(foreign_open("to_device", 0), -EINVAL, "a link to a device");
	is_err(foreign_open("/dev/tty", 0), -EINVAL, "a terminal");
	is_err(foreign_open("root", 0), -EISDIR, "a folder");
	is_err(foreign_open("nothing", 0), -ENOENT, "nothing");
	is_err(foreign_open("loop", 0), -ELOOP, "a link to itself");
}

static void test_root(unsigned flags)
{
	int root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	holds(foreign_open_in_root(root, "/lib/a.so", flags), "inside", "in a root: a file");
	holds(foreign_open_in_root(root, "/lib64/./a.so", flags), "inside", "in a root: by a link");
	holds(foreign_open_in_root(root, "/absolute", flags), "inside",
	      "in a root: an absolute link");
	holds(foreign_open_in_root(root, "/usr/up", flags), "inside", "in a root: dots stay in it");
	is_err(foreign_open_in_root(root, "/escape", flags), -ENOENT, "in a root: a link out of it");
	is_err(foreign_open_in_root(root, "/dots", flags), -ENOENT, "in a root: dots out of it");
	is_err(foreign_open_in_root(root, "/../outside", flags), -ENOENT,
	       "in a root: a path out of it");
	is_err(foreign_open_in_root(root, "/fifo", flags), -EINVAL, "in a root: a pipe");
	is_err(foreign_open_in_root(root, "/to_fifo", flags), -EINVAL,
	       "in a root: a link to a pipe");
	is_err(foreign_open_in_root(root, "/loop", flags), -ELOOP, "in a root: a link to itself");
	is_err(foreign_open_in_root(root, "/lib/none/x", flags), -ENOENT, "in a root: nothing");
	is_err(foreign_open_in_root(root, "/lib/a.so/x", flags), -ENOTDIR,
	       "in a root: below a file");
	is_err(foreign_open_in_root(root, "/absolute", flags | FOREIGN_NOFOLLOW), -ELOOP,
	       "in a root: a link that is not followed");
	close(root);
}

/* The first four bytes; a file that begins with "hold" holds us for good. */
static unsigned look(int fd, u8 *note)
{
	ssize_t n = pread(fd, note, 4, 0);
	if (n == 4 && !memcmp(note, "hold", 4))
		(void)poll(NULL, 0, -1);
	return n > 0 ? (unsigned)n : 0;
}

static void test_opener(void)
{
	struct opener *o = opener_new(look);
	struct opener_result r;
	struct opener_job job = { .dir = AT_FDCWD, .path = "plain", .want_fd = true };
	ok(!opener_open(o, &job, &r) && r.note_size == 4 && !memcmp(r.note, "plai", 4), "a note");
	holds(r.fd, "plain", "and the file");
	job.want_fd = false;
	ok(!opener_open(o, &job, &r) && r.fd == -1 && r.note_size == 4, "a note alone");
	holds(opener_open_path(o, "plain", 0), "plain", "a path");
	holds(opener_open_path(NULL, "plain", 0), "plain", "a path without an opener");
	is_err(opener_open_path(o, "fifo", 0), -EINVAL, "a pipe");
	job = (struct opener_job){ .dir = AT_FDCWD, .root = "root", .path = "/absolute" };
	ok(!opener_open(o, &job, &r) && !memcmp(r.note, "insi", 4), "a file in a root");
	job.path = "/escape";
	is_err(opener_open(o, &job, &r), -ENOENT, "a link out of it");
	int at = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	job = (struct opener_job){ .dir = at, .path = "lib/a.so", .want_fd = true };
	ok(!opener_open(o, &job, &r), "relative to a descriptor");
	holds(r.fd, "inside", "and it is that");
	close(at);
	opener_free(o);
}

static void test_wanted(void)
{
	struct opener *o = opener_new(look);
	struct opener_result r;
	struct stat st;
	ok(!stat("plain", &st), "its number");
	struct opener_job job = { .dir = AT_FDCWD,
				  .path = "plain",
				  .dev_major = major(st.st_dev),
				  .dev_minor = minor(st.st_dev),
				  .ino = st.st_ino };
	put("plain (deleted)", "trap");
	ok(!opener_open(o, &job, &r), "the file that is mapped");
	job.path = "plain (deleted)";
	is_err(opener_open(o, &job, &r), -ESTALE, "another one of the name of a deleted one");
	int map = open("plain", O_RDONLY | O_CLOEXEC);
	char link[64];
	(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)getpid(), map);
	job.map = link;
	ok(!opener_open(o, &job, &r) && !memcmp(r.note, "plai", 4),
	   "what the map leads to comes first");
	close(map);
	opener_free(o);
}

static void test_time(void)
{
	struct opener *o = opener_new(look);
	struct opener_result r;
	struct opener_job job = { .dir = AT_FDCWD, .path = "held" };
	put("held", "hold");
	opener_set_patience(o, 300, 500);
	u64 began = clock_monotonic_ns();
	is_err(opener_open(o, &job, &r), -ETIMEDOUT, "a file that holds whoever reads it");
	ok(clock_monotonic_ns() - began >= 300000000ull, "it got its time");
	holds(opener_open_path(o, "plain", 0), "plain", "others are opened after it");
	is_u64(opener_nr_timeouts(o), 1, "one was given up");
	int given_up = 0;
	began = clock_monotonic_ns();
	for (int i = 0; i < 200; i++)
		given_up += opener_open(o, &job, &r) == -ETIMEDOUT;
	is_u64((u64)given_up, 200, "however many there are");
	/* 200 ms of patience, then 50 ms for each of 30: a limit, not a measurement. */
	ok(clock_monotonic_ns() - began < 60000000000ull, "the waiting has an end");
	ok(opener_nr_timeouts(o) < 40, "after which nothing is tried");
	opener_free(o);
}

/* A table of its own: nothing of it is mounted, only what is said of filesystems counts. */
static void test_mounts(void)
{
	char info[PATH_MAX * 2], path[PATH_MAX];
	(void)snprintf(info, sizeof(info),
		       "1 0 8:0 / / rw - ext4 /dev/sda rw\n"
		       "2 1 0:40 / %s/root rw shared:1 - fuse.sshfs host: rw\n"
		       "3 1 0:41 / %s/a\\040b rw - nfs4 host:/ rw\n"
		       "broken\n"
		       "4 1 8:0 / %s/bind rw - 9p root rw\n",
		       dir, dir, dir);
	put("info", info);
	struct mounts *m = mounts_new("info");
	(void)snprintf(path, sizeof(path), "%s/root/lib/a.so", dir);
	is_err(mounts_open(m, path, 0), -EXDEV, "a file on FUSE is not gone to");
	(void)snprintf(path, sizeof(path), "%s/a b/x", dir);
	is_err(mounts_open(m, path, 0), -EXDEV, "nor one on NFS, below a name with a blank");
	mounts_free(m);
	m = mounts_new("nothing");
	(void)snprintf(path, sizeof(path), "%s/plain", dir);
	is_err(mounts_open(m, path, 0), -EXDEV, "nor any without a table");
	mounts_free(m);
	m = mounts_new(NULL);
	int fd = mounts_open(m, path, 0);
	ok(fd >= 0 && mounts_is_local(m, fd), "a file on a disk is");
	close(fd);
	fd = mounts_open(m, "plain", 0);
	ok(fd >= 0, "also by a path from here");
	close(fd);
	ok(!symlink("/proc/self/maps", "to_proc"), "a link to another filesystem");
	is_err(mounts_open(m, "to_proc", 0), -EXDEV, "is not followed");
	is_err(mounts_open(m, "nothing", 0), -ENOENT, "nothing");
	fd = mounts_open(m, "/proc/self/maps", 0);
	ok(fd >= 0, "which is reached by its own path");
	close(fd);
	mounts_free(m);
}

static bool has_child(void)
{
	return waitpid(-1, NULL, WNOHANG) >= 0;
}

/* Helpers of the cases before may still be on their way out. */
static void wait_for_children(void)
{
	for (int i = 0; i < 1000 && has_child(); i++)
		usleep(10000);
}

/* Whether a file on a disk is opened without another process. The list of mounts may change while it is read: then once more. */
static bool opens_directly(const char *path)
{
	bool direct = false;
	for (int i = 0; i < 20 && !direct; i++) {
		struct opener *o = opener_new_reader();
		int fd = opener_open_path(o, path, 0);
		direct = fd >= 0 && !has_child();
		close(fd);
		opener_free(o);
		wait_for_children();
	}
	return direct;
}

static void test_reader(void)
{
	char path[PATH_MAX], text[64] = "";
	(void)snprintf(path, sizeof(path), "%s/plain", dir);
	wait_for_children();
	ok(opens_directly(path), "a reader opens a file on a disk by itself");
	struct opener *o = opener_new_reader();
	holds(opener_open_path(o, path, 0), "plain", "a reader opens a file");
	is_err(opener_open_path(o, "fifo", 0), -EINVAL, "but no pipe");
	is_err(opener_open_path(o, "to_plain", FOREIGN_NOFOLLOW), -ELOOP, "nor a link, if asked");
	is_err(opener_open_path(o, "nothing", 0), -ENOENT, "nor nothing");
	int fd = opener_open_path(o, "to_proc", 0);
	ok(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0, "what may be anywhere is opened");
	close(fd);
	ok(has_child(), "by another process");
	ok(!opener_take_timeout(o), "nothing was given up");
	opener_free(o);
}

static int count_fds(void)
{
	int nr = 0;
	for (int fd = 0; fd < 256; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

int main(void)
{
	make_tree();
	int before = count_fds();
	test_open();
	test_root(0);
	test_root(FOREIGN_WALK);
	test_opener();
	test_wanted();
	test_time();
	test_mounts();
	test_reader();
	is_u64((u64)count_fds(), (u64)before, "no descriptor is left open");
	char command[PATH_MAX];
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	ok(!chdir("/") && !system(command), "removed");
	return done_testing();
}
