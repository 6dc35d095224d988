#include "base/outplace.h"

#include "base/clock.h"
#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINKS_MAX = 40, ASIDE_TRIES = 64, ASIDE_TAIL = 24 };

struct outplace_walk {
	struct outplace *p;
	const char *path; /* as given, for messages */
	unsigned flags;
	struct diag *d;
	int nr_links;
	char rest[2 * PATH_MAX]; /* what is still to be walked */
};

static int say_why(const char *path, int err, struct diag *d)
{
	return diag_error(d, err, "cannot write %s: %s", path,
			  err == -EISDIR ? "it is a directory" : strerror(-err));
}

static int cannot_write(const struct outplace_walk *w, int err)
{
	return say_why(w->path, err, w->d);
}

/* Whether somebody else may put entries into the folder. */
static bool is_shared(const struct stat *folder)
{
	if (folder->st_mode & (S_ISVTX | S_IWOTH))
		return true;
	if (folder->st_uid && folder->st_uid != geteuid())
		return true;
	return !geteuid() && folder->st_mode & S_IWGRP && folder->st_gid;
}

static bool in_procfs(int dir)
{
	struct statfs fs;
	return !fstatfs(dir, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

static int refuse_link(const struct outplace_walk *w, const char *name, const char *target)
{
	diag_error(
		w->d,
		-ELOOP, "cannot write %s: '%s' is a symbolic link in a directory that other users can write to",
		w->path, name);
	diag_hint(w->d, "it points to '%s'; if you meant that file, name it directly", target);
	return -ELOOP;
}

/* Where standard output is closed, a folder must not become it: /dev/stdout is looked for. */
static int away_from_standard(int fd)
{
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	(void)close(fd);
	return moved;
}

static int enter(struct outplace *p, int dir)
{
	dir = away_from_standard(dir);
	if (dir < 0)
		return -errno;
	cleanup_close(&p->dir);
	p->dir = dir;
	if (fstat(dir, &p->folder))
		return -errno;
	p->shared = is_shared(&p->folder);
	return 0;
}

static int enter_folder(struct outplace *p, const char *name)
{
	return enter(p, openat(p->dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/* Puts where a link leads before what is still to be walked. */
static int follow(struct outplace_walk *w, const char *name)
{
	struct outplace *p = w->p;
	char target[PATH_MAX], rest[sizeof(w->rest)];
	ssize_t n = readlinkat(p->dir, name, target, sizeof(target) - 1);
	if (n < 0)
		return cannot_write(w, -errno);
	target[n] = '\0';
	if (p->shared)
		return refuse_link(w, name, target);
	if (++w->nr_links > LINKS_MAX)
		return cannot_write(w, -ELOOP);
	if (snprintf(rest, sizeof(rest), "%s%s%s", target, *w->rest ? "/" : "", w->rest) >=
	    (int)sizeof(rest))
		return cannot_write(w, -ENAMETOOLONG);
	memcpy(w->rest, rest, sizeof(rest));
	if (*target != '/')
		return 0;
	int err = enter(p, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	return err ? cannot_write(w, err) : 0;
}

/* A folder on the way. */
static int pass(struct outplace_walk *w, const char *name)
{
	struct outplace *p = w->p;
	struct stat st;
	bool there = !fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW);
	if (there && S_ISLNK(st.st_mode)) {
		/* The text of procfs's links need not be a path. */
		if (p->shared || !in_procfs(p->dir))
			return follow(w, name);
		int err = enter(p, openat(p->dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
		return err ? cannot_write(w, err) : 0;
	}
	if (!there && errno == ENOENT && w->flags & OUTPLACE_MAKE_FOLDERS &&
	    mkdirat(p->dir, name, 0755) && errno != EEXIST)
		return cannot_write(w, -errno);
	int err = enter_folder(p, name);
	return err ? cannot_write(w, err) : 0;
}

/* "/proc/self/fd/1": the descriptor itself, which has its place in a file and its flags. */
static int own_descriptor(const struct outplace *p)
{
	struct stat own, there, st;
	char *end;
	errno = 0;
	unsigned long n = strtoul(p->name, &end, 10);
	if (*end || errno || n > INT_MAX || stat("/proc/self/fd", &own) ||
	    own.st_dev != p->folder.st_dev || own.st_ino != p->folder.st_ino)
		return -1;
	if (fstatat(p->dir, p->name, &there, 0) || fstat((int)n, &st) ||
	    st.st_ino != there.st_ino || st.st_dev != there.st_dev)
		return -1;
	return fcntl((int)n, F_DUPFD_CLOEXEC, 3);
}

/* The last component is a link of procfs. */
static int end_at_magic(struct outplace_walk *w)
{
	struct outplace *p = w->p;
	char target[PATH_MAX] = "";
	if (p->shared) {
		(void)!readlinkat(p->dir, p->name, target, sizeof(target) - 1);
		return refuse_link(w, p->name, target);
	}
	if (fstatat(p->dir, p->name, &p->st, 0))
		return cannot_write(w, -errno);
	p->fd = own_descriptor(p);
	p->magic = true;
	p->kind = OUTPLACE_SPECIAL;
	if (S_ISDIR(p->st.st_mode))
		return cannot_write(w, -EISDIR);
	return p->fd < 0 && S_ISREG(p->st.st_mode) ? cannot_write(w, -EACCES) : 0;
}

/* Replaced if it leads to a file or to nothing, which is looked at by its text: through the link the kernel may refuse it. */
static int end_at_shared_link(struct outplace_walk *w)
{
	struct outplace *p = w->p;
	char target[PATH_MAX] = "";
	struct stat st;
	if (readlinkat(p->dir, p->name, target, sizeof(target) - 1) < 0)
		return cannot_write(w, -errno);
	if (fstatat(p->dir, target, &st, 0))
		return errno == ENOENT || errno == ENOTDIR ? 0 : refuse_link(w, p->name, target);
	return S_ISREG(st.st_mode)   ? 0
	       : S_ISDIR(st.st_mode) ? cannot_write(w, -EISDIR)
				     : refuse_link(w, p->name, target);
}

static int walk(struct outplace_walk *w);

/*
 * Where the last component is a link that is not followed to a file: what it leads to decides. Only a device or a pipe is written through
 * it, and whatever procfs says of our own descriptors.
 */
static int end_at_link(struct outplace_walk *w)
{
	struct outplace *p = w->p, at = *p;
	p->kind = OUTPLACE_LINK;
	if (p->shared)
		return end_at_shared_link(w);
	at.dir = fcntl(p->dir, F_DUPFD_CLOEXEC, 3);
	if (at.dir < 0)
		return cannot_write(w, -errno);
	struct outplace_walk further = *w;
	further.d = NULL;
	int err = follow(&further, p->name);
	if (!err)
		err = walk(&further);
	if (in_procfs(p->dir) ||
	    (!err && (p->kind == OUTPLACE_SPECIAL || p->kind == OUTPLACE_FOLDER))) {
		cleanup_close(&at.dir);
		return err ? cannot_write(w, err) : 0;
	}
	outplace_close(p);
	*p = at;
	p->kind = OUTPLACE_LINK;
	return 0;
}

/* 1: there is more to walk. */
static int end(struct outplace_walk *w)
{
	struct outplace *p = w->p;
	if (fstatat(p->dir, p->name, &p->st, AT_SYMLINK_NOFOLLOW)) {
		int err = -errno;
		p->kind = OUTPLACE_NEW;
		return err == -ENOENT && !in_procfs(p->dir) ? 0 : cannot_write(w, err);
	}
	mode_t mode = p->st.st_mode;
	if (S_ISLNK(mode) && !(w->flags & OUTPLACE_NO_FOLLOW)) {
		if (in_procfs(p->dir))
			return end_at_magic(w);
		if (!geteuid() || w->flags & OUTPLACE_REPLACE_LINK)
			return end_at_link(w);
		int err = follow(w, p->name);
		return err ? err : 1;
	}
	p->kind = S_ISLNK(mode)	  ? OUTPLACE_LINK
		  : S_ISREG(mode) ? OUTPLACE_FILE
		  : S_ISDIR(mode) ? OUTPLACE_FOLDER
				  : OUTPLACE_SPECIAL;
	return 0;
}

/* The next component of what is left. 1 and its name, 0 at the end. */
static int next_name(struct outplace_walk *w, char name[NAME_MAX + 1])
{
	size_t skip = strspn(w->rest, "/"), len = strcspn(w->rest + skip, "/");
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, w->rest + skip, len);
	name[len] = '\0';
	memmove(w->rest, w->rest + skip + len, strlen(w->rest + skip + len) + 1);
	return len > 0;
}

static int walk(struct outplace_walk *w)
{
	struct outplace *p = w->p;
	for (int more = 1; more;) {
		char name[NAME_MAX + 1];
		int got = next_name(w, name);
		if (got < 0)
			return cannot_write(w, got);
		bool last = !*w->rest, dots = !strcmp(name, ".") || !strcmp(name, "..");
		if (!got || (last && dots))
			return cannot_write(w, -EISDIR);
		if (last) {
			memcpy(p->name, name, sizeof(name));
			more = end(w);
		} else {
			more = dots ? enter_folder(p, name) : pass(w, name);
			more = more ? more : 1;
		}
		if (more < 0)
			return more;
	}
	return 0;
}

/* "/dev/stdout" and the like, by their usual names: ours whoever owns /dev, and without /proc. -1: another path. */
static int usual_descriptor(const char *path)
{
	static const char *const names[] = { "/dev/stdin", "/dev/stdout", "/dev/stderr" };
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(path, names[i]))
			return (int)i;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		size_t skip = strlen(folders[i]);
		u64 n;
		if (!strncmp(path, folders[i], skip) && !num_parse_u64(path + skip, 10, &n) &&
		    n <= INT_MAX)
			return (int)n;
	}
	return -1;
}

static int end_at_descriptor(struct outplace_walk *w, int fd)
{
	struct outplace *p = w->p;
	if (fstat(fd, &p->st) || S_ISDIR(p->st.st_mode))
		return cannot_write(w, S_ISDIR(p->st.st_mode) ? -EISDIR : -errno);
	p->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	p->kind = OUTPLACE_SPECIAL;
	return p->fd < 0 ? cannot_write(w, -errno) : 0;
}

int outplace_open(struct outplace *p, const char *path, unsigned flags, struct diag *d)
{
	int usual = flags & OUTPLACE_NO_FOLLOW ? -1 : usual_descriptor(path);
	struct outplace_walk w = { .p = p, .path = path, .flags = flags, .d = d };
	*p = (struct outplace){ .dir = -1, .fd = -1 };
	if (!*path)
		return diag_error(d, -ENOENT, "cannot write a file with an empty name");
	if (snprintf(w.rest, sizeof(w.rest), "%s", path) >= PATH_MAX)
		return cannot_write(&w, -ENAMETOOLONG);
	int err = enter(p, open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
	err = err ? cannot_write(&w, err) : usual >= 0 ? end_at_descriptor(&w, usual) : walk(&w);
	if (err)
		outplace_close(p);
	return err;
}

void outplace_close(struct outplace *p)
{
	cleanup_close(&p->dir);
	cleanup_close(&p->fd);
	p->dir = p->fd = -1;
}

/* As fs.protected_fifos and fs.protected_regular. */
static bool is_a_trap(const struct outplace *p)
{
	return p->folder.st_mode & S_ISVTX && p->folder.st_mode & (S_IWOTH | S_IWGRP) &&
	       (S_ISREG(p->st.st_mode) || S_ISFIFO(p->st.st_mode)) && p->st.st_uid != geteuid() &&
	       p->st.st_uid != p->folder.st_uid;
}

int outplace_reopen(const struct outplace *p, int flags)
{
	struct stat st;
	if (p->fd >= 0) {
		int copy = fcntl(p->fd, F_DUPFD_CLOEXEC, 3);
		return copy < 0 ? -errno : copy;
	}
	/* A hard link in somebody's folder may be to anybody's file. */
	if (is_a_trap(p) || (S_ISREG(p->st.st_mode) && p->shared && p->st.st_nlink > 1))
		return -EACCES;
	int fd = openat(p->dir, p->name, flags | O_CLOEXEC | O_NOCTTY | (p->magic ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_dev != p->st.st_dev || st.st_ino != p->st.st_ino) {
		(void)close(fd);
		return -ESTALE;
	}
	return fd;
}

int outplace_create(const struct outplace *p, mode_t mode, char aside[NAME_MAX + 1])
{
	int fd = -1;
	for (u64 i = 0; i < ASIDE_TRIES; i++) {
		u64 mix = (clock_monotonic_ns() + i) * 0x9e3779b97f4a7c15ull;
		(void)snprintf(aside, NAME_MAX + 1, "%.*s.%d-%06x", NAME_MAX - ASIDE_TAIL, p->name,
			       (int)getpid(), (unsigned)(mix >> 40));
		fd = openat(p->dir, aside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd < 0 ? -errno : fd;
}

int outplace_rename(const struct outplace *p, const char *aside)
{
	if (!renameat(p->dir, aside, p->dir, p->name))
		return 0;
	int err = -errno;
	(void)unlinkat(p->dir, aside, 0);
	return err;
}

/* Tried, not asked: a quota, a read-only file system and an immutable folder say no as well. */
static int try_create(const struct outplace *p)
{
	char aside[NAME_MAX + 1];
	int fd = openat(p->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 && errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return -errno;
	if (fd < 0) {
		fd = outplace_create(p, 0600, aside);
		if (fd < 0)
			return fd;
		(void)unlinkat(p->dir, aside, 0);
	}
	(void)close(fd);
	return 0;
}

static int try_write(const struct outplace *p)
{
	uid_t us = geteuid();
	switch (p->kind) {
	case OUTPLACE_FOLDER: return -EISDIR;
	case OUTPLACE_SPECIAL:
		if (is_a_trap(p))
			return -EACCES;
		return p->fd < 0 && faccessat(p->dir, p->name, W_OK, AT_EACCESS) ? -errno : 0;
	case OUTPLACE_FILE:
	case OUTPLACE_LINK:
		/* Somebody else's, which a sticky folder lets nobody replace. */
		if (p->folder.st_mode & S_ISVTX && us && p->st.st_uid != us && p->folder.st_uid != us)
			return -EPERM;
		break;
	case OUTPLACE_NEW: break;
	}
	return try_create(p);
}

int outplace_check(const char *path, unsigned flags, struct diag *d)
{
	struct outplace p;
	int err = outplace_open(&p, path, flags, d);
	if (err)
		return err;
	err = try_write(&p);
	outplace_close(&p);
	return err ? say_why(path, err, d) : 0;
}

int outplace_remove(const char *path, bool folder)
{
	struct outplace p;
	int err = outplace_open(&p, path, OUTPLACE_NO_FOLLOW, NULL);
	if (err)
		return err;
	err = unlinkat(p.dir, p.name, folder ? AT_REMOVEDIR : 0) ? -errno : 0;
	outplace_close(&p);
	return err;
}
