#include "base/atomic_file.h"

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

/* The place is k's from here on. */
static int begin(struct atomic_file *k, mode_t mode)
{
	const struct outplace *p = &k->place;
	k->in_place = p->kind == OUTPLACE_SPECIAL;
	k->aside[0] = '\0';
	k->fd = p->kind == OUTPLACE_FOLDER ? -EISDIR
		: k->in_place		   ? outplace_reopen(p, O_WRONLY)
					   : outplace_create(p, mode, k->aside);
	if (k->fd >= 0)
		return 0;
	outplace_close(&k->place);
	return k->fd;
}

int atomic_file_begin(struct atomic_file *k, const char *path, mode_t mode)
{
	int err = outplace_open(&k->place, path, OUTPLACE_NO_FOLLOW, NULL);
	return err ? err : begin(k, mode);
}

int atomic_file_begin_output(struct atomic_file *k, const char *path, mode_t mode, struct diag *d)
{
	int err = outplace_open(&k->place, path, 0, d);
	if (err)
		return err;
	err = begin(k, mode);
	return err ? diag_error(d, err, "cannot write %s: %s", path,
				err == -EISDIR ? "it is a directory" : strerror(-err))
		   : 0;
}

int atomic_file_begin_at(struct atomic_file *k, const struct outplace *p, mode_t mode)
{
	k->place = *p;
	k->place.dir = fcntl(p->dir, F_DUPFD_CLOEXEC, 3);
	if (k->place.dir < 0)
		return -errno;
	if (p->fd >= 0)
		k->place.fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 3);
	return begin(k, mode);
}

int atomic_file_end(struct atomic_file *k, int err)
{
	if (close(k->fd) && !err)
		err = -errno;
	if (!err && !k->in_place && guard_inputs_cut())
		err = -EIO; /* made from a file that was truncated meanwhile */
	if (!k->in_place && err)
		(void)unlinkat(k->place.dir, k->aside, 0);
	else if (!k->in_place)
		err = outplace_rename(&k->place, k->aside);
	outplace_close(&k->place);
	return err;
}

int atomic_file_replace(const char *path, const void *data, size_t size, mode_t mode)
{
	struct atomic_file k;
	int err = atomic_file_begin(&k, path, 0600);
	if (err)
		return err;
	err = strbuf_drain_fd(&k.fd, data, size);
	if (!err && fchmod(k.fd, mode))
		err = -errno;
	return atomic_file_end(&k, err);
}

static void make_folder_of(const char *path)
{
	char folder[PATH_MAX];
	struct outplace p;
	const char *slash = strrchr(path, '/');
	if (slash && slash > path &&
	    snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path) <
		    (int)sizeof(folder) &&
	    !outplace_open(&p, folder, OUTPLACE_NO_FOLLOW, NULL)) {
		(void)mkdirat(p.dir, p.name, 0700);
		outplace_close(&p);
	}
}

int atomic_file_save(const char *path, const void *data, size_t size, bool make_folder)
{
	if (make_folder)
		make_folder_of(path);
	return atomic_file_replace(path, data, size, 0600);
}

int atomic_file_save_keyed(const char *path, const void *data, size_t size, const void *key,
			   size_t key_size)
{
	struct atomic_file k;
	make_folder_of(path);
	int err = atomic_file_begin(&k, path, 0600);
	if (err)
		return err;
	err = strbuf_drain_fd(&k.fd, data, size);
	if (!err)
		err = strbuf_drain_fd(&k.fd, key, key_size);
	return atomic_file_end(&k, err);
}

int atomic_file_map_keyed(const char *path, const void *key, size_t key_size, void **data,
			  size_t *size)
{
	void *map;
	size_t all;
	int err = atomic_file_map(path, &map, &all);
	if (err)
		return err;
	if (all < key_size || memcmp((u8 *)map + all - key_size, key, key_size)) {
		guard_unmap(map, all);
		return -ESTALE;
	}
	*data = map;
	*size = all - key_size;
	return 0;
}

int atomic_file_map(const char *path, void **data, size_t *size)
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
