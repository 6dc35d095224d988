#include "kern/sysroot.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { READ_STEP = 4096, READ_MAX = 64 << 20 };

int sysroot_open(struct sysroot *r, const char *path)
{
	int fd = open(path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r->dir_fd = fd;
	return 0;
}

void sysroot_close(struct sysroot *r)
{
	cleanup_close(&r->dir_fd);
}

int sysroot_fd(const struct sysroot *r, const char *path)
{
	int fd = openat(r->dir_fd, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int sysroot_read(const struct sysroot *r, const char *path, struct strbuf *to)
{
	strbuf_reset(to);
	_cleanup_close_ int fd = sysroot_fd(r, path);
	if (fd < 0)
		return fd;
	for (;;) {
		/* What is free already is used whole: big files (maps, kallsyms) come in big pieces. */
		size_t room = max(to->cap - to->len, (size_t)READ_STEP + 1) - 1;
		char *at = strbuf_room(to, room);
		if (!at)
			return -ENOMEM;
		ssize_t n = read(fd, at, room);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			int err = -errno;
			strbuf_reset(to);
			return err;
		}
		strbuf_commit(to, (size_t)n);
		if (!n)
			return 0;
		if (to->len > READ_MAX) {
			strbuf_reset(to);
			return -EFBIG;
		}
	}
}

const char *sysroot_line(const struct sysroot *r, const char *path, struct strbuf *to)
{
	if (sysroot_read(r, path, to))
		return NULL;
	const char *nl = memchr(to->data, '\n', to->len);
	if (nl)
		to->len = (size_t)(nl - to->data);
	while (to->len && (to->data[to->len - 1] == ' ' || to->data[to->len - 1] == '\t'))
		to->len--;
	return to->len ? strbuf_cstr(to) : NULL;
}

int sysroot_s64(const struct sysroot *r, const char *path, s64 *ret)
{
	char text[64];
	_cleanup_close_ int fd = sysroot_fd(r, path);
	if (fd < 0)
		return fd;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	text[n] = 0;
	return num_parse_s64(text, 0, ret);
}

bool sysroot_exists(const struct sysroot *r, const char *path)
{
	return faccessat(r->dir_fd, path, F_OK, AT_EACCESS) == 0;
}

DIR *sysroot_dir(const struct sysroot *r, const char *path)
{
	int fd = openat(r->dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	DIR *d = fdopendir(fd);
	if (!d)
		close(fd);
	return d;
}
