/*
 * openat2() with RESOLVE_NO_XDEV walks a path within one mount: it stops at a mount point before it asks the filesystem there. The walk
 * starts at the innermost mount that the path names; whatever leads out of it (links, "..", a mount that came since) ends with -EXDEV.
 */
#include "base/mounts.h"
#include "base/foreign.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	INFO_MAX = 64 << 20,
	DEPTH_MAX = 256, /* of mounts upon mounts */
	NOT_OPENED = -2,
};

struct mount {
	int id, parent;
	unsigned dev_major, dev_minor;
	bool local;
	int fd; /* O_PATH, of the mount's root; NOT_OPENED, or -1: cannot be reached safely */
	size_t len; /* of point; 0: it is "/" */
	char *point;
};

struct mounts {
	VEC(struct mount) list;
	pthread_mutex_t lock; /* of the fds in the list */
};

/* ---- the table ---- */

static bool is_local_type(const char *type, size_t len)
{
	static const char *const local[] = {
		"ext2",	    "ext3",  "ext4",	"xfs",	   "btrfs",  "bcachefs",  "f2fs",
		"zfs",	    "tmpfs", "ramfs",	"rootfs",  "erofs",  "squashfs",  "iso9660",
		"udf",	    "vfat",  "msdos",	"exfat",   "ntfs3",  "hugetlbfs", "devtmpfs",
		"proc",	    "sysfs", "tracefs", "debugfs", "cgroup", "cgroup2",	  "overlay",
		"reiserfs", "jfs",   "nilfs2",	"hfsplus", "minix",
	};
	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		if (strlen(local[i]) == len && !memcmp(type, local[i], len))
			return true;
	return false;
}

/* Blanks and backslashes in a path are written as \ooo. */
static char *unescape(const char *text, size_t len)
{
	char *to = malloc(len + 1);
	size_t n = 0;
	for (size_t i = 0; to && i < len; i++) {
		bool octal = text[i] == '\\' && i + 3 < len;
		for (int k = 1; octal && k <= 3; k++)
			octal = text[i + k] >= '0' && text[i + k] <= '7';
		to[n++] = octal ? (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
					 (text[i + 3] - '0'))
				: text[i];
		i += octal ? 3 : 0;
	}
	if (to)
		to[n] = 0;
	return to;
}

/* "36 35 98:0 /root /point options [tags...] - type device options" */
static bool add_line(struct mounts *m, const char *line)
{
	struct mount t = { .fd = NOT_OPENED };
	int at = -1;
	if (sscanf(line, "%d %d %u:%u %*s %n", &t.id, &t.parent, &t.dev_major, &t.dev_minor, &at) <
		    4 ||
	    at < 0)
		return true;
	const char *type = strstr(line + at, " - ");
	if (!type)
		return true;
	t.local = is_local_type(type + 3, strcspn(type + 3, " "));
	t.point = unescape(line + at, strcspn(line + at, " "));
	struct mount *to = t.point ? vec_push(&m->list) : NULL;
	if (!to) {
		free(t.point);
		return false;
	}
	t.len = strcmp(t.point, "/") ? strlen(t.point) : 0;
	*to = t;
	return true;
}

static int read_info(const char *path, struct strbuf *to)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 0;
	do {
		char *room = n < 0 ? NULL : strbuf_room(to, 1 << 16);
		n = room ? read(fd, room, 1 << 16) : -1;
		strbuf_commit(to, n > 0 ? (size_t)n : 0);
	} while (n > 0 && to->len < INFO_MAX);
	return n < 0 ? -EIO : 0;
}

static const struct mount *root_of(const struct mounts *m)
{
	const struct mount *root = NULL;
	vec_for_each (&m->list, t)
		root = t->len ? root : t;
	return root;
}

static bool fill(struct mounts *m, char *text)
{
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (!add_line(m, line))
			return false;
	const struct mount *root = root_of(m);
	vec_for_each (&m->list, t)
		t->local |=
			root && t->dev_major == root->dev_major && t->dev_minor == root->dev_minor;
	return true;
}

struct mounts *mounts_new(const char *info)
{
	struct strbuf text;
	struct mounts *m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	(void)pthread_mutex_init(&m->lock, NULL);
	strbuf_init(&text);
	bool known = !read_info(info ? info : "/proc/self/mountinfo", &text);
	(void)strbuf_cstr(&text);
	if (known && !text.err && !fill(m, text.data)) {
		mounts_free(m);
		m = NULL;
	}
	strbuf_done(&text);
	return m;
}

void mounts_free(struct mounts *m)
{
	if (!m)
		return;
	vec_for_each (&m->list, t) {
		if (t->fd >= 0)
			close(t->fd);
		free(t->point);
	}
	vec_free(&m->list);
	(void)pthread_mutex_destroy(&m->lock);
	free(m);
}

/* ---- where something is ---- */

/* The kernel tells this without asking the filesystem. -1: not known. */
static int mount_id_of(int fd)
{
	char path[40], text[512];
	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	_cleanup_close_ int info = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = info < 0 ? -1 : read(info, text, sizeof(text) - 1);
	if (n <= 0)
		return -1;
	text[n] = 0;
	const char *at = strstr(text, "mnt_id:");
	int id;
	return at && sscanf(at, "mnt_id: %d", &id) == 1 ? id : -1;
}

static const struct mount *mount_by_id(const struct mounts *m, int id)
{
	vec_for_each (&m->list, t)
		if (t->id == id)
			return t;
	return NULL;
}

bool mounts_is_local(const struct mounts *m, int fd)
{
	const struct mount *t = mount_by_id(m, mount_id_of(fd));
	return t && t->local;
}

/* Everything on the way from the root to the mount answers, too. */
static bool is_safe_way(const struct mounts *m, const struct mount *t)
{
	const struct mount *root = root_of(m);
	for (unsigned depth = 0; t && t->local && depth < DEPTH_MAX; depth++) {
		if (t == root)
			return true;
		t = mount_by_id(m, t->parent);
	}
	return false;
}

/* The last one of a point hides those before. */
static struct mount *innermost(struct mounts *m, const char *path)
{
	struct mount *best = NULL;
	vec_for_each (&m->list, t)
		if ((!best || t->len >= best->len) && !strncmp(path, t->point, t->len) &&
		    (path[t->len] == '/' || !path[t->len]))
			best = t;
	return best;
}

/* A mount that another one hides is not what its path leads to. */
static int open_point(const struct mounts *m, const struct mount *t)
{
	_cleanup_close_ int fd = is_safe_way(m, t) ? open(t->point, O_PATH | O_CLOEXEC) : -1;
	if (fd < 0 || mount_id_of(fd) != t->id)
		return -1;
	int ret = fd;
	fd = -1;
	return ret;
}

/* *rest: what of the path is below the mount. */
static int base_of(struct mounts *m, const char *path, const char **rest)
{
	pthread_mutex_lock(&m->lock);
	struct mount *t = innermost(m, path);
	if (t && t->fd == NOT_OPENED)
		t->fd = open_point(m, t);
	int fd = t ? t->fd : -1;
	*rest = t ? path + t->len + strspn(path + t->len, "/") : path;
	pthread_mutex_unlock(&m->lock);
	return fd;
}

static int open_within(int base, const char *path, unsigned flags)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC |
					 (flags & FOREIGN_NOFOLLOW ? O_NOFOLLOW : 0),
				.resolve = RESOLVE_NO_XDEV };
	int fd = *path ? (int)syscall(SYS_openat2, base, path, &how, sizeof(how))
		       : fcntl(base, F_DUPFD_CLOEXEC, 0);
	/* Before Linux 5.6, and where a sandbox does not know the call. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return -EXDEV;
	return fd < 0 ? -errno : fd;
}

int mounts_open(struct mounts *m, const char *path, unsigned flags)
{
	const char *rest;
	if (path[0] == '/') {
		int base = base_of(m, path, &rest);
		return base < 0 ? -EXDEV : open_within(base, rest, flags);
	}
	_cleanup_close_ int here = open(".", O_PATH | O_CLOEXEC);
	return here < 0 || !mounts_is_local(m, here) ? -EXDEV : open_within(here, path, flags);
}
