#include "base/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const u8 *at, size_t left)
{
	while (left) {
		ssize_t n = write(fd, at, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		left -= (size_t)n;
	}
	return 0;
}

int kept_replace(const char *path, const void *data, size_t size, mode_t mode)
{
	char aside[PATH_MAX];
	int n = snprintf(aside, sizeof(aside), "%s.XXXXXX", path);
	if (n < 0 || (size_t)n >= sizeof(aside))
		return -ENAMETOOLONG;
	_cleanup_close_ int fd = mkostemp(aside, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int err = write_all(fd, data, size);
	if (!err && fchmod(fd, mode))
		err = -errno;
	if (!err && rename(aside, path))
		err = -errno;
	if (err)
		(void)unlink(aside);
	return err;
}

int kept_save(const char *path, const void *data, size_t size, bool make_folder)
{
	char folder[PATH_MAX];
	const char *slash = make_folder ? strrchr(path, '/') : NULL;
	if (slash && slash > path &&
	    snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path) < (int)sizeof(folder))
		(void)mkdir(folder, 0700);
	return kept_replace(path, data, size, 0600);
}

int kept_map(const char *path, void **data, size_t *size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (st.st_uid && st.st_uid != geteuid()) || st.st_size <= 0)
		return -EPERM;
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*data = map;
	*size = (size_t)st.st_size;
	return 0;
}
