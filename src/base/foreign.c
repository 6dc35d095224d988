#include "base/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
	PATH_FLAGS = O_PATH | O_CLOEXEC,
	LINKS_MAX = 40, /* as the kernel */
	MAGIC_XFS = 0x58465342,
	MAGIC_F2FS = (int)0xf2f52010,
	MAGIC_BCACHEFS = (int)0xca451a4e,
	MAGIC_ZFS = 0x2fc12fc1,
	MAGIC_EROFS = (int)0xe0f5e1e2,
};

int foreign_reopen(int path_fd)
{
	struct stat st;
	char path[32];
	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	int fd = open(path, OPEN_FLAGS);
	return fd < 0 ? -errno : fd;
}

/* Where /proc is not mounted: opened by name, and dropped if that is another file by now. */
static int open_without_proc(int dir, const char *path, int path_fd)
{
	struct stat st, want;
	if (!access("/proc/self/fd", F_OK))
		return -ENOENT;
	_cleanup_close_ int fd = openat(dir, path, OPEN_FLAGS);
	if (fd < 0 || fstat(fd, &st) || fstat(path_fd, &want))
		return -errno;
	if (st.st_dev != want.st_dev || st.st_ino != want.st_ino)
		return -ESTALE;
	int ret = fd;
	fd = -1;
	return ret;
}

int foreign_openat(int dir, const char *path, unsigned flags)
{
	bool nofollow = flags & FOREIGN_NOFOLLOW;
	struct stat st;
	_cleanup_close_ int at = openat(dir, path, PATH_FLAGS | (nofollow ? O_NOFOLLOW : 0));
	if (at < 0)
		return -errno;
	if (nofollow && !fstat(at, &st) && S_ISLNK(st.st_mode))
		return -ELOOP;
	int fd = foreign_reopen(at);
	return fd == -ENOENT ? open_without_proc(dir, path, at) : fd;
}

int foreign_open(const char *path, unsigned flags)
{
	return foreign_openat(AT_FDCWD, path, flags);
}

/* ---- below a root, without openat2() ---- */

struct foreign_walk {
	int root, at; /* at: a descriptor of ours; -1: the root itself */
	unsigned nr_links;
	char rest[PATH_MAX]; /* what is still to be walked */
};

static void walk_to(struct foreign_walk *w, int fd)
{
	if (w->at >= 0)
		close(w->at);
	w->at = fd;
}

static int walk_dir(const struct foreign_walk *w)
{
	return w->at < 0 ? w->root : w->at;
}

static int walk_up(struct foreign_walk *w)
{
	struct stat here, root;
	if (fstat(walk_dir(w), &here) || fstat(w->root, &root))
		return -errno;
	if (here.st_dev == root.st_dev && here.st_ino == root.st_ino)
		return 0;
	int fd = openat(walk_dir(w), "..", PATH_FLAGS | O_DIRECTORY);
	if (fd < 0)
		return -errno;
	walk_to(w, fd);
	return 0;
}

/* Puts the link's target before what is left of the path. */
static int walk_link(struct foreign_walk *w, int link)
{
	char target[PATH_MAX], after[PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = 0;
	if (++w->nr_links > LINKS_MAX)
		return -ELOOP;
	memcpy(after, w->rest, sizeof(after));
	if (snprintf(w->rest, sizeof(w->rest), "%s/%s", target, after) >= (int)sizeof(w->rest))
		return -ENAMETOOLONG;
	if (target[0] == '/')
		walk_to(w, -1);
	return 0;
}

static int walk_step(struct foreign_walk *w, const char *name, bool last, unsigned flags)
{
	struct stat st;
	if (!strcmp(name, "."))
		return 0;
	if (!strcmp(name, ".."))
		return walk_up(w);
	int fd = openat(walk_dir(w), name, PATH_FLAGS | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISLNK(st.st_mode)) {
		walk_to(w, fd);
		return 0;
	}
	int err = last && flags & FOREIGN_NOFOLLOW ? -ELOOP : walk_link(w, fd);
	close(fd);
	return err;
}

static int walk_in_root(int root, const char *path, unsigned flags)
{
	struct foreign_walk w = { .root = root, .at = -1 };
	int err = snprintf(w.rest, sizeof(w.rest), "%s", path) >= (int)sizeof(w.rest) ? -ENAMETOOLONG
										      : 0;
	while (!err) {
		char name[NAME_MAX + 1];
		size_t skip = strspn(w.rest, "/"), len = strcspn(w.rest + skip, "/");
		if (!len)
			break;
		if (len > NAME_MAX) {
			err = -ENAMETOOLONG;
			break;
		}
		memcpy(name, w.rest + skip, len);
		name[len] = 0;
		const char *rest = w.rest + skip + len;
		bool last = !rest[strspn(rest, "/")];
		memmove(w.rest, rest, strlen(rest) + 1);
		err = walk_step(&w, name, last, flags);
	}
	int fd = err ? err : foreign_reopen(walk_dir(&w));
	walk_to(&w, -1);
	return fd;
}

int foreign_open_in_root(int root, const char *path, unsigned flags)
{
	struct open_how how = { .flags = PATH_FLAGS | (flags & FOREIGN_NOFOLLOW ? O_NOFOLLOW : 0),
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	if (flags & FOREIGN_WALK)
		return walk_in_root(root, path, flags);
	struct stat st;
	_cleanup_close_ int at = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	/* Before Linux 5.6, and where a sandbox does not know the call. */
	if (at < 0 && (errno == ENOSYS || errno == EPERM))
		return walk_in_root(root, path, flags);
	if (at < 0)
		return -errno;
	if (flags & FOREIGN_NOFOLLOW && !fstat(at, &st) && S_ISLNK(st.st_mode))
		return -ELOOP;
	return foreign_reopen(at);
}

int foreign_check_writer(int fd, s64 process_uid)
{
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	bool good = !st.st_uid || st.st_uid == geteuid() || (s64)st.st_uid == process_uid;
	return good ? 0 : -EPERM;
}

static bool is_disk(const struct statfs *st)
{
	switch ((int)st->f_type) {
	case EXT4_SUPER_MAGIC:
	case MAGIC_XFS:
	case (int)BTRFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case MAGIC_F2FS:
	case MAGIC_BCACHEFS:
	case MAGIC_ZFS:
	case SQUASHFS_MAGIC:
	case MAGIC_EROFS:
	case ISOFS_SUPER_MAGIC:
	case MSDOS_SUPER_MAGIC: return true;
	default: return false;
	}
}

/* Overlays are not among them: what lies below one may be anything. */
bool foreign_is_local(int fd)
{
	struct statfs st;
	return !fstatfs(fd, &st) && is_disk(&st);
}

bool foreign_is_kernels(int fd)
{
	struct statfs st;
	return !fstatfs(fd, &st) && (is_disk(&st) || (u32)st.f_type == OVERLAYFS_SUPER_MAGIC);
}
