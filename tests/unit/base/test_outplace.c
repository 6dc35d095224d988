/* base: outplace and kept. Where an output goes, as root and as somebody else. */
#include "tap.h"

#include "base/atomic_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static char top[] = "/tmp/sonde-outplace-XXXXXX";
static const char *who; /* for the names of cases */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	(void)close(fd);
}

static bool holds(const char *path, const char *text)
{
	char got[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof(got) - 1);
	if (fd >= 0)
		(void)close(fd);
	return n == (ssize_t)strlen(text) && !strcmp(got, text);
}

static bool is_link(const char *path)
{
	struct stat st;
	return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

static void make_link(const char *target, const char *path)
{
	(void)unlink(path);
	if (symlink(target, path))
		abort();
}

/* kind, or negative errno */
static int kind_of(const char *path, unsigned flags)
{
	struct outplace p;
	int err = outplace_open(&p, path, flags, NULL);
	if (err)
		return err;
	outplace_close(&p);
	return (int)p.kind;
}

static int write_output(const char *path, const char *text)
{
	struct atomic_file k;
	int err = atomic_file_begin_output(&k, path, 0644, NULL);
	if (!err && write(k.fd, text, strlen(text)) != (ssize_t)strlen(text))
		err = -EIO;
	return err ? err : atomic_file_end(&k, 0);
}

static unsigned count_entries(const char *folder)
{
	unsigned n = 0;
	DIR *d = opendir(folder);
	for (struct dirent *e; d && (e = readdir(d));)
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	if (d)
		(void)closedir(d);
	return n;
}

static void test_plain(void)
{
	ok(kind_of("own/new", 0) == OUTPLACE_NEW, "%s: a new file", who);
	ok(!write_output("own/new", "1") && holds("own/new", "1"), "%s: is written", who);
	ok(kind_of("own/../own/./new", 0) == OUTPLACE_FILE, "%s: by a winding path", who);
	ok(!write_output("own/new", "2") && holds("own/new", "2"), "%s: is replaced", who);
	ok(kind_of("own", 0) == OUTPLACE_FOLDER && write_output("own", "x") == -EISDIR,
	   "%s: a folder is not written", who);
	ok(kind_of("own/", 0) == -EISDIR && kind_of("own/..", 0) == -EISDIR &&
		   kind_of("/", 0) == -EISDIR,
	   "%s: nor by a slash or dots", who);
	ok(kind_of("", 0) == -ENOENT && kind_of("own/no/x", 0) == -ENOENT, "%s: no such folder",
	   who);
	ok(kind_of("own/new/x", 0) == -ENOTDIR, "%s: a file is no folder", who);
	struct atomic_file k;
	ok(!atomic_file_begin_output(&k, "own/new", 0644, NULL) &&
		   atomic_file_end(&k, -EIO) == -EIO && holds("own/new", "2"),
	   "%s: what fails changes nothing", who);
	ok(count_entries("own") == 1, "%s: and nothing is left beside", who);
}

static void test_own_links(void)
{
	bool root = !geteuid();
	write_file("own/target", "old");
	make_link("target", "own/link");
	make_link("nothing", "own/dangling");
	make_link("../own", "own/folder");
	make_link("loop", "own/loop");
	ok(kind_of("own/link", 0) == (root ? OUTPLACE_LINK : OUTPLACE_FILE), "%s: a link to a file",
	   who);
	ok(!write_output("own/link", "new") &&
		   (root ? holds("own/link", "new") && holds("own/target", "old")
			 : is_link("own/link") && holds("own/target", "new")),
	   "%s: %s", who, root ? "is replaced" : "stays one, and its target is replaced");
	ok(!write_output("own/dangling", "new") && is_link("own/dangling") == !root,
	   "%s: a link to nothing", who);
	ok(!write_output("own/folder/through", "1") && holds("own/through", "1"),
	   "%s: a link to a folder on the way", who);
	ok(kind_of("own/loop", 0) == (root ? (int)OUTPLACE_LINK : -ELOOP), "%s: a link to itself",
	   who);
	ok(kind_of("own/folder", OUTPLACE_NO_FOLLOW) == OUTPLACE_LINK,
	   "%s: never followed if asked", who);
	make_link("target", "own/link");
	ok(kind_of("own/link", OUTPLACE_REPLACE_LINK) == OUTPLACE_LINK,
	   "%s: root's rule for others", who);
}

static void test_devices(void)
{
	make_link("/dev/null", "own/null");
	make_link("/dev/null", "sticky/null");
	ok(kind_of("/dev/null", 0) == OUTPLACE_SPECIAL, "%s: a device", who);
	ok(kind_of("own/null", 0) == OUTPLACE_SPECIAL && !write_output("own/null", "x") &&
		   is_link("own/null"),
	   "%s: a link to one", who);
	ok(kind_of("sticky/null", 0) == -ELOOP, "%s: not in a sticky folder", who);
	make_link("/dev/stdout", "own/out");
	make_link("/dev/null", "sticky/out");
	int file = open("own/stdout", O_RDWR | O_CREAT | O_TRUNC, 0644), saved = dup(STDOUT_FILENO);
	(void)fflush(stdout);
	if (file < 0 || saved < 0 || dup2(file, STDOUT_FILENO) < 0)
		abort();
	int kind = kind_of("/dev/stdout", 0), by_fd = kind_of("/dev/fd/1", 0);
	int by_link = kind_of("own/out", 0), outside = kind_of("sticky/out", 0);
	int err = write_output("/dev/stdout", "there");
	(void)close(STDOUT_FILENO);
	int closed = kind_of("/dev/stdout", 0), link_closed = kind_of("own/out", 0);
	if (dup2(saved, STDOUT_FILENO) < 0)
		abort();
	(void)close(saved);
	(void)close(file);
	ok(kind == OUTPLACE_SPECIAL && by_fd == OUTPLACE_SPECIAL,
	   "%s: /dev/stdout is ours to write", who);
	ok(by_link == OUTPLACE_SPECIAL && outside == -ELOOP, "%s: a link to it, by the same rule",
	   who);
	ok(!err && holds("own/stdout", "there"), "%s: also when it is a file", who);
	ok(closed < 0 && link_closed < 0, "%s: and when it is closed, the link is not replaced",
	   who);
}

/* In a folder where anybody may have made it. */
static void test_sticky(void)
{
	bool root = !geteuid();
	struct diag d;
	struct outplace p;
	write_file("own/victim", "precious");
	ok(kind_of("sticky/link", 0) == (root ? (int)OUTPLACE_LINK : -ELOOP),
	   "%s: a link in a sticky folder", who);
	diag_init(&d);
	ok(outplace_open(&p, "sticky/way/x", 0, &d) == -ELOOP, "%s: nor one on the way", who);
	ok(d.items.nr && strstr(d.items.at[0].message, "'way' is a symbolic link"),
	   "%s: it is named", who);
	diag_done(&d);
	ok(kind_of("open/link", 0) == (root ? (int)OUTPLACE_LINK : -ELOOP) &&
		   kind_of("open/way/x", 0) == -ELOOP,
	   "%s: the same where others may write", who);
	int err = write_output("sticky/link", "x");
	ok(err == (root ? 0 : -ELOOP) && holds("own/victim", "precious"),
	   "%s: the target is untouched", who);
	if (root)
		ok(holds("sticky/link", "x"), "root: the link is replaced");
}

/* What another user left there is not written in place. */
static void test_others(void)
{
	struct outplace p;
	ok(!outplace_open(&p, "sticky/pipe", 0, NULL) &&
		   outplace_reopen(&p, O_WRONLY | O_NONBLOCK) == -EACCES,
	   "%s: somebody's pipe in a sticky folder", who);
	outplace_close(&p);
	ok(!outplace_open(&p, "sticky/file", 0, NULL) &&
		   outplace_reopen(&p, O_WRONLY | O_APPEND) == -EACCES,
	   "%s: somebody's file", who);
	outplace_close(&p);
	if (geteuid())
		ok(outplace_check("sticky/file", 0, NULL) == -EPERM, "%s: which cannot be replaced",
		   who);
}

/* The path changes between looking and writing. */
static void test_swapped(void)
{
	struct outplace p;
	struct atomic_file k;
	if (mkdir("own/a", 0755) || mkdir("own/victims", 0755))
		abort();
	bool held = !outplace_open(&p, "own/a/x", 0, NULL);
	if (rename("own/a", "own/b"))
		abort();
	make_link("victims", "own/a");
	ok(held && !atomic_file_begin_at(&k, &p, 0644) && !atomic_file_end(&k, 0),
	   "%s: a folder that is swapped", who);
	ok(!access("own/b/x", F_OK) && access("own/victims/x", F_OK), "%s: does not lead elsewhere",
	   who);
	outplace_close(&p);
	held = !outplace_open(&p, "own/b/x", 0, NULL);
	write_file("own/other", "another");
	make_link("../victim", "own/b/x");
	ok(held && outplace_reopen(&p, O_WRONLY) == -ELOOP, "%s: nor does a link put there", who);
	if (rename("own/other", "own/b/x"))
		abort();
	ok(outplace_reopen(&p, O_WRONLY) == -ESTALE, "%s: or another file", who);
	outplace_close(&p);
}

static void test_check(void)
{
	ok(!outplace_check("own/later", 0, NULL) && access("own/later", F_OK),
	   "%s: could be written", who);
	ok(outplace_check("own", 0, NULL) == -EISDIR && outplace_check("no/x", 0, NULL) == -ENOENT,
	   "%s: could not", who);
	if (geteuid())
		ok(outplace_check("shut/x", 0, NULL) == -EACCES, "%s: not in a folder that is shut",
		   who);
	ok(!outplace_check("/dev/null", 0, NULL), "%s: a device could", who);
	struct outplace p;
	ok(!outplace_open(&p, "own/deep/er/x", OUTPLACE_MAKE_FOLDERS, NULL) &&
		   !access("own/deep/er", F_OK),
	   "%s: folders are made", who);
	outplace_close(&p);
	ok(outplace_remove("own/deep/er", true) == 0 &&
		   outplace_remove("own/deep/er", true) == -ENOENT,
	   "%s: and removed", who);
}

static void run_all(const char *name)
{
	who = name;
	test_plain();
	test_own_links();
	test_devices();
	test_sticky();
	test_swapped();
	test_check();
}

static void make_folder(const char *path, mode_t mode, uid_t owner)
{
	if (mkdir(path, 0755) || chmod(path, mode) || (!geteuid() && chown(path, owner, owner)))
		abort();
}

/* own: the user's. The links in the shared folders are the other user's, where we are root and can make them so. */
static void make_scene(uid_t user, uid_t other)
{
	if (system("rm -rf own sticky open shut"))
		abort();
	make_folder("own", 0755, user);
	make_folder("sticky", 01777, 0);
	make_folder("open", 0777, user);
	make_folder("shut", 0555, 0);
	static const char *const links[][2] = { { "../own/victim", "sticky/link" },
						{ "../own", "sticky/way" },
						{ "../own/victim", "open/link" },
						{ "../own", "open/way" } };
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		make_link(links[i][0], links[i][1]);
		if (!geteuid() && lchown(links[i][1], other, other))
			abort();
	}
	if (geteuid())
		return;
	write_file("sticky/file", "theirs");
	if (mkfifo("sticky/pipe", 0666) || chown("sticky/file", other, other) ||
	    chown("sticky/pipe", other, other))
		abort();
}

int main(void)
{
	(void)umask(022);
	if (!mkdtemp(top) || chmod(top, 0755) || chdir(top))
		abort();
	make_scene(geteuid(), NOBODY);
	run_all(geteuid() ? "user" : "root");
	if (!geteuid()) {
		test_others();
		make_scene(NOBODY, 1);
		if (setegid(NOBODY) || seteuid(NOBODY))
			abort();
		run_all("nobody");
		test_others();
		if (seteuid(0) || setegid(0))
			abort();
	}
	if (system("rm -rf own sticky open shut") || chdir("/") || rmdir(top))
		abort();
	return done_testing();
}
