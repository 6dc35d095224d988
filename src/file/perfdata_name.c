#include "file/perfdata_name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

void perfdata_name_init(struct perfdata_name *n)
{
	*n = (struct perfdata_name){ .place = { .dir = -1, .fd = -1 } };
}

void perfdata_name_done(struct perfdata_name *n)
{
	outplace_close(&n->place);
}

/* Whether it is a recording in the form of a directory, as perf record --threads makes them: open, or negative errno. */
static int open_recording_dir(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !faccessat(fd, "data", F_OK, AT_SYMLINK_NOFOLLOW))
		return fd;
	int err = fd < 0 ? -errno : -ENOTDIR;
	cleanup_close(&fd);
	return err;
}

static bool is_recording_dir(int dir, const char *name)
{
	_cleanup_close_ int fd = open_recording_dir(dir, name);
	return fd >= 0;
}

/* What `kcore_dir` holds (session/kcore_copy.h). */
static const char *const kcore_files[] = { "kcore", "kallsyms", "modules" };

static void remove_kcore(int folder)
{
	_cleanup_close_ int fd =
		openat(folder, "kcore_dir", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (size_t i = 0; fd >= 0 && i < ARRAY_SIZE(kcore_files); i++)
		(void)unlinkat(fd, kcore_files[i], 0);
	(void)unlinkat(folder, "kcore_dir", AT_REMOVEDIR);
}

static void remove_inner(int folder)
{
	char inner[32] = "data";
	for (unsigned i = 0; !unlinkat(folder, inner, 0); i++)
		(void)snprintf(inner, sizeof(inner), "data.%u", i);
	remove_kcore(folder);
}

/* The older of two kept recordings goes. Of a directory only what belongs to a recording: with more in it, it stays. */
static int remove_old(int dir, const char *name)
{
	struct stat st;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode))
		return 0; /* rename() replaces a file */
	_cleanup_close_ int fd = open_recording_dir(dir, name);
	if (fd < 0)
		return -ENOTEMPTY;
	remove_inner(fd);
	return unlinkat(dir, name, AT_REMOVEDIR) ? -errno : 0;
}

/* What there is is worth keeping: a recording, or a link to something. */
static bool is_kept(int dir, const char *name, bool *folder)
{
	struct stat st;
	*folder = false;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	if (S_ISLNK(st.st_mode) && fstatat(dir, name, &st, 0))
		return false;
	*folder = S_ISDIR(st.st_mode);
	return *folder ? is_recording_dir(dir, name) : S_ISREG(st.st_mode) && st.st_size;
}

/* A recording that is there already becomes FILE.old, as people expect. */
static int rotate(const struct outplace *p)
{
	char old[NAME_MAX + 8];
	bool folder;
	if (!is_kept(p->dir, p->name, &folder) ||
	    (size_t)snprintf(old, sizeof(old), "%s.old", p->name) > NAME_MAX)
		return 0;
	int err = remove_old(p->dir, old);
	if (err)
		return err;
	if (folder)
		(void)unlinkat(p->dir, old, 0);
	return renameat(p->dir, p->name, p->dir, old) ? -errno : 0;
}

/* A file in its folder that has no name yet; negative errno where that cannot be. */
static int open_unnamed(const struct outplace *p)
{
	char self[32];
	int fd = openat(p->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (!access(self, F_OK))
		return fd;
	close(fd);
	return -EOPNOTSUPP; /* without /proc it could not be named */
}

/* What is in the way is an empty file, or one that need not be kept. */
static int open_named(const struct outplace *p, bool no_rotate)
{
	int err = no_rotate ? 0 : rotate(p);
	if (err)
		return err;
	(void)unlinkat(p->dir, p->name, 0);
	int fd = openat(p->dir, p->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int open_new(struct perfdata_name *n, bool no_rotate)
{
	const struct outplace *p = &n->place;
	if (p->kind == OUTPLACE_FOLDER && !is_recording_dir(p->dir, p->name))
		return -EISDIR;
	int fd = open_unnamed(p);
	n->unnamed = fd >= 0;
	n->ours = fd < 0;
	return fd == -EOPNOTSUPP || fd == -EISDIR || fd == -EINVAL ? open_named(p, no_rotate) : fd;
}

int perfdata_name_create(struct perfdata_name *n, const char *path,
			 const struct perfdata_meta *meta, struct diag *d)
{
	int fd = outplace_open(&n->place, path, OUTPLACE_REPLACE_LINK, d);
	if (fd < 0) {
		diag_hint(d, "use -o FILE to write elsewhere");
		return fd;
	}
	if (n->place.kind == OUTPLACE_SPECIAL)
		fd = outplace_reopen(&n->place, O_RDWR); /* /dev/null and the like */
	else
		fd = open_new(n, meta->no_rotate);
	if (fd < 0) {
		diag_error(d, fd, "cannot create %s: %s", path, strerror(-fd));
		diag_hint(d, "use -o FILE to write elsewhere");
		return fd;
	}
	if (n->place.kind == OUTPLACE_SPECIAL)
		return fd;
	/* A lock says that it is being written, to those who would repair it. */
	(void)!flock(fd, LOCK_EX | LOCK_NB);
	if (meta->owner_uid >= 0 && fchown(fd, (uid_t)meta->owner_uid, (gid_t)meta->owner_gid))
		diag_warn(d, "%s remains owned by root: %s", path, strerror(errno));
	return fd;
}

/* The name beside it that the file has for a moment: it then replaces what is there. */
static int link_over(const struct outplace *p, const char *self)
{
	char aside[NAME_MAX + 1];
	int fd = outplace_create(p, 0600, aside);
	if (fd < 0)
		return fd;
	(void)close(fd);
	(void)unlinkat(p->dir, aside, 0);
	if (linkat(AT_FDCWD, self, p->dir, aside, AT_SYMLINK_FOLLOW))
		return -errno;
	return outplace_rename(p, aside);
}

int perfdata_name_publish(struct perfdata_name *n, int fd, bool no_rotate)
{
	const struct outplace *p = &n->place;
	char self[32];
	int err = no_rotate ? 0 : rotate(p);
	if (err)
		return err;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, self, p->dir, p->name, AT_SYMLINK_FOLLOW))
		err = errno == EEXIST ? link_over(p, self) : -errno;
	n->unnamed = err;
	n->ours = !err;
	return err;
}

static bool is_ours(const struct perfdata_name *n, int fd)
{
	struct stat own, there;
	return n->ours && !fstat(fd, &own) &&
	       !fstatat(n->place.dir, n->place.name, &there, AT_SYMLINK_NOFOLLOW) &&
	       own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

int perfdata_name_change(struct perfdata_name *n, int fd, const char *name)
{
	if (!is_ours(n, fd))
		return -ENOENT;
	if (renameat(n->place.dir, n->place.name, n->place.dir, name))
		return -errno;
	n->ours = false;
	return 0;
}

void perfdata_name_remove(struct perfdata_name *n, int fd)
{
	if (is_ours(n, fd))
		(void)unlinkat(n->place.dir, n->place.name, 0);
}

/* ---- a recording in the form of a directory ---- */

/* All that is in it is ours still: nobody else can have put anything there. */
static int give_folder(int fd, uid_t uid, gid_t gid)
{
	_cleanup_close_ int inner =
		openat(fd, "kcore_dir", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (size_t i = 0; inner >= 0 && i < ARRAY_SIZE(kcore_files); i++)
		(void)!fchownat(inner, kcore_files[i], uid, gid, AT_SYMLINK_NOFOLLOW);
	if (inner >= 0 && fchown(inner, uid, gid))
		return -errno;
	return fchown(fd, uid, gid) ? -errno : 0;
}

/* A folder beside it, for us alone. */
static int make_aside(const struct outplace *p, char aside[NAME_MAX + 1])
{
	int fd = outplace_create(p, 0600, aside);
	if (fd < 0)
		return fd;
	(void)close(fd);
	(void)unlinkat(p->dir, aside, 0);
	if (mkdirat(p->dir, aside, 0700))
		return -errno;
	fd = openat(p->dir, aside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* It takes the place of what is there; a recording is kept. */
static int name_folder(const struct outplace *p, const char *aside, bool no_rotate)
{
	if (p->kind == OUTPLACE_SPECIAL)
		return -ENOTDIR;
	if (p->kind == OUTPLACE_FOLDER && !is_recording_dir(p->dir, p->name))
		return -EEXIST;
	int err = no_rotate ? remove_old(p->dir, p->name) : rotate(p);
	if (err)
		return err;
	if (p->kind == OUTPLACE_FILE || p->kind == OUTPLACE_LINK)
		(void)unlinkat(p->dir, p->name, 0);
	return renameat(p->dir, aside, p->dir, p->name) ? -errno : 0;
}

int perfdata_folder_create(const char *path, const struct perfdata_folder_opts *o, struct diag *d)
{
	struct outplace p;
	char aside[NAME_MAX + 1];
	int err = outplace_open(&p, path, OUTPLACE_REPLACE_LINK, d);
	if (err)
		return err;
	_cleanup_close_ int fd = make_aside(&p, aside);
	if (fd < 0) {
		err = diag_error(d, fd, "cannot create %s: %s", path, strerror(-fd));
		outplace_close(&p);
		return err;
	}
	err = o->fill(fd, o->fill_ctx, d);
	if (!err && o->owner_uid >= 0) {
		err = give_folder(fd, (uid_t)o->owner_uid, (gid_t)o->owner_gid);
		if (err)
			diag_warn(d, "%s remains owned by root: %s", path, strerror(-err));
		err = 0;
	}
	if (!err) {
		err = name_folder(&p, aside, o->no_rotate);
		if (err)
			diag_error(d, err, "cannot create %s: %s", path, strerror(-err));
	}
	if (err) {
		remove_inner(fd);
		(void)unlinkat(p.dir, aside, AT_REMOVEDIR);
	}
	outplace_close(&p);
	return err;
}

void perfdata_folder_remove(const char *path)
{
	struct outplace p;
	if (outplace_open(&p, path, OUTPLACE_NO_FOLLOW, NULL))
		return;
	_cleanup_close_ int fd =
		openat(p.dir, p.name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		remove_inner(fd);
		(void)unlinkat(p.dir, p.name, AT_REMOVEDIR);
	}
	outplace_close(&p);
}
