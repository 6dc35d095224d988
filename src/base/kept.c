#include "base/kept.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int kept_begin(struct kept_file *k, const char *path, mode_t mode)
{
	enum { TRIES = 64 };
	memccpy(k->path, path, 0, sizeof(k->path));
	k->path[sizeof(k->path) - 1] = 0;
	for (u64 i = 0; i < TRIES; i++) {
		u64 mix = (clock_monotonic_ns() + i) * 0x9e3779b97f4a7c15ull;
		int n = snprintf(k->aside, sizeof(k->aside), "%s.%d-%06x", path, (int)getpid(),
				 (unsigned)(mix >> 40));
		if (n < 0 || (size_t)n >= sizeof(k->aside))
			return -ENAMETOOLONG;
		k->fd = open(k->aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (k->fd >= 0 || errno != EEXIST)
			break;
	}
	return k->fd < 0 ? -errno : 0;
}

int kept_begin_output(struct kept_file *k, const char *path, mode_t mode)
{
	char real[PATH_MAX];
	struct stat st;
	if (!*path)
		return -ENOENT;
	if (stat(path, &st) || S_ISREG(st.st_mode))
		return kept_begin(k, realpath(path, real) ? real : path, mode);
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	memccpy(k->path, path, 0, sizeof(k->path));
	k->path[sizeof(k->path) - 1] = 0;
	k->aside[0] = 0;
	k->fd = open(path, O_WRONLY | O_CLOEXEC);
	return k->fd < 0 ? -errno : 0;
}

int kept_end(struct kept_file *k, int err)
{
	if (close(k->fd) && !err)
		err = -errno;
	if (!*k->aside)
		return err;
	if (!err && guard_inputs_cut())
		err = -EIO; /* made from a file that was truncated meanwhile */
	if (!err && rename(k->aside, k->path))
		err = -errno;
	if (err)
		(void)unlink(k->aside);
	return err;
}

int kept_replace(const char *path, const void *data, size_t size, mode_t mode)
{
	struct kept_file k;
	int err = kept_begin(&k, path, 0600);
	if (err)
		return err;
	err = strbuf_drain_fd(&k.fd, data, size);
	if (!err && fchmod(k.fd, mode))
		err = -errno;
	return kept_end(&k, err);
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
	const void *map;
	int err = guard_map(fd, (size_t)st.st_size, false, NULL, &map);
	if (err)
		return err;
	*data = (void *)(uintptr_t)map;
	*size = (size_t)st.st_size;
	return 0;
}
