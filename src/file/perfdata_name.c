#include "file/perfdata_name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether path is a recording in the form of a directory, as perf record --threads makes them. */
static bool is_recording_dir(const char *path, const struct stat *st)
{
	char inner[PATH_MAX];
	return S_ISDIR(st->st_mode) &&
	       snprintf(inner, sizeof(inner), "%s/data", path) < (int)sizeof(inner) &&
	       !access(inner, F_OK);
}

/* The older of two kept recordings goes. Of a directory only what belongs to a recording: with more in it, it stays. */
static int remove_old(const char *path)
{
	struct stat st;
	if (lstat(path, &st))
		return 0;
	if (!is_recording_dir(path, &st))
		return S_ISDIR(st.st_mode) ? -ENOTEMPTY : 0; /* rename() replaces a file */
	char inner[PATH_MAX];
	for (int i = -1, gone = 1; gone; i++) {
		if (snprintf(inner, sizeof(inner), i < 0 ? "%s/data" : "%s/data.%d", path, i) >=
		    (int)sizeof(inner))
			return -ENAMETOOLONG;
		gone = !unlink(inner);
	}
	return rmdir(path) ? -errno : 0;
}

/* A recording that is there already becomes FILE.old, as people expect. */
static int rotate(const char *path)
{
	struct stat st;
	if (lstat(path, &st) ||
	    !(S_ISREG(st.st_mode) ? st.st_size != 0 : is_recording_dir(path, &st)))
		return 0;
	char old[PATH_MAX];
	if ((size_t)snprintf(old, sizeof(old), "%s.old", path) >= sizeof(old))
		return 0;
	int err = remove_old(old);
	if (err)
		return err;
	if (S_ISDIR(st.st_mode))
		(void)unlink(old);
	return rename(path, old) ? -errno : 0;
}

/* A file in path's folder that has no name yet; negative errno where that cannot be. */
static int open_unnamed(const char *path)
{
	struct stat st;
	if (!lstat(path, &st) && !S_ISREG(st.st_mode) && !is_recording_dir(path, &st))
		return -EEXIST; /* a device, a link: written in place */
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	size_t len = slash ? (size_t)(slash - path) + 1 : 0;
	if (len + 2 > sizeof(dir))
		return -ENAMETOOLONG;
	memcpy(dir, path, len);
	memcpy(dir + len, ".", 2);
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	char self[32];
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (!access(self, F_OK))
		return fd;
	close(fd);
	return -ENOENT; /* without /proc it could not be named */
}

int perfdata_name_create(const char *path, const struct perfdata_meta *meta, char **ret_unnamed,
			 struct diag *d)
{
	int fd = open_unnamed(path);
	if (fd >= 0) {
		*ret_unnamed = strdup(path);
		if (!*ret_unnamed) {
			close(fd);
			return diag_error(d, -ENOMEM, "no memory");
		}
	} else {
		int err = meta->no_rotate ? 0 : rotate(path);
		if (err)
			return diag_error(d, err, "cannot keep %s as %s.old: %s", path, path,
					  strerror(-err));
		fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	}
	if (fd < 0) {
		int err = diag_error(d, -errno, "cannot create %s: %s", path, strerror(errno));
		diag_hint(d, "-o FILE writes elsewhere");
		return err;
	}
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return fd; /* /dev/null and the like */
	(void)!fchmod(fd, 0600);
	(void)!flock(
		fd,
		LOCK_EX | LOCK_NB); /* says that it is being written, to those who would repair it */
	if (meta->owner_uid >= 0 && fchown(fd, (uid_t)meta->owner_uid, (gid_t)meta->owner_gid))
		diag_warn(d, "%s stays root's: %s", path, strerror(errno));
	return fd;
}

int perfdata_name_publish(int fd, const char *path, bool no_rotate)
{
	int err = no_rotate ? 0 : rotate(path);
	if (err)
		return err;
	char self[32];
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	(void)unlink(path); /* an empty one, or one that need not be kept */
	return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
}
