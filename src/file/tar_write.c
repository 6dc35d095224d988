#include "file/tar_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum {
	TAR_BLOCK = 512,
	NAME_MAX_PLAIN = 100,
	TYPE_FILE = '0',
	TYPE_LINK = '2',
	TYPE_LONG_LINK = 'K',
	TYPE_LONG_NAME = 'L'
};

/* A header as POSIX lays it out; numbers are octal digits. */
struct tar_head {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, target[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], spare[12];
};
_Static_assert(sizeof(struct tar_head) == TAR_BLOCK, "a header is a block");

struct tar_writer {
	gzFile out;
	int fd;
	int err;
	time_t now;
};

struct tar_writer *tar_write_open(int fd, bool gzip)
{
	struct tar_writer *t = calloc(1, sizeof(*t));
	if (t) {
		t->now = time(NULL);
		t->out = gzdopen(fd, gzip ? "wb6" : "wbT");
	}
	if (!t || !t->out) {
		free(t);
		close(fd);
		return NULL;
	}
	return t;
}

static int put(struct tar_writer *t, const void *data, size_t size)
{
	const u8 *at = data;
	while (size && !t->err) {
		unsigned step = (unsigned)min(size, (size_t)1 << 24);
		errno = 0;
		if (gzwrite(t->out, at, step) != (int)step)
			t->err = errno ? -errno : -EIO;
		at += step;
		size -= step;
	}
	return t->err;
}

static int pad(struct tar_writer *t, u64 size)
{
	static const u8 zero[TAR_BLOCK];
	return put(t, zero, -size & (TAR_BLOCK - 1));
}

static void octal(char *to, size_t width, u64 value)
{
	to[--width] = '\0';
	while (width) {
		to[--width] = (char)('0' + (value & 7));
		value >>= 3;
	}
}

static int put_head(struct tar_writer *t, const char *name, char type, u64 size, u32 mode,
		    const char *target)
{
	struct tar_head h = { .type = type, .magic = "ustar", .version = { '0', '0' } };
	if (size >> 33)
		return t->err = -EFBIG; /* eleven octal digits */
	memcpy(h.name, name, min(strlen(name), sizeof(h.name)));
	memcpy(h.target, target, min(strlen(target), sizeof(h.target)));
	octal(h.mode, sizeof(h.mode), mode & 07777);
	octal(h.uid, sizeof(h.uid), 0);
	octal(h.gid, sizeof(h.gid), 0);
	octal(h.size, sizeof(h.size), size);
	octal(h.mtime, sizeof(h.mtime), (u64)t->now);
	memset(h.sum, ' ', sizeof(h.sum));
	unsigned sum = 0;
	for (size_t i = 0; i < sizeof(h); i++)
		sum += ((const u8 *)&h)[i];
	octal(h.sum, sizeof(h.sum) - 1, sum);
	return put(t, &h, sizeof(h));
}

/* Of a name that does not fit: an entry before, whose content it is. */
static int put_long(struct tar_writer *t, char type, const char *name)
{
	size_t len = strlen(name) + 1;
	if (len <= NAME_MAX_PLAIN)
		return t->err;
	int err = put_head(t, "././@LongLink", type, len, 0, "");
	if (!err)
		err = put(t, name, len);
	return err ? err : pad(t, len);
}

static int put_entry(struct tar_writer *t, const char *name, char type, u64 size, u32 mode,
		     const char *target)
{
	int err = put_long(t, TYPE_LONG_LINK, target);
	if (!err)
		err = put_long(t, TYPE_LONG_NAME, name);
	return err ? err : put_head(t, name, type, size, mode, target);
}

int tar_write_bytes(struct tar_writer *t, const char *name, const void *data, size_t size, u32 mode)
{
	int err = put_entry(t, name, TYPE_FILE, size, mode, "");
	if (!err)
		err = put(t, data, size);
	return err ? err : pad(t, size);
}

int tar_write_link(struct tar_writer *t, const char *name, const char *target)
{
	return put_entry(t, name, TYPE_LINK, 0, 0777, target);
}

int tar_write_file(struct tar_writer *t, const char *name, int fd, u32 mode)
{
	struct stat st;
	char buf[1 << 16];
	if (fstat(fd, &st))
		return t->err ? t->err : -errno;
	u64 left = (u64)st.st_size;
	int err = put_entry(t, name, TYPE_FILE, left, mode, "");
	while (left && !err) {
		ssize_t n = read(fd, buf, min(left, (u64)sizeof(buf)));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) /* it became shorter: what the header promised must be there */
			return t->err = n < 0 ? -errno : -EIO;
		err = put(t, buf, (size_t)n);
		left -= (u64)n;
	}
	return err ? err : pad(t, (u64)st.st_size);
}

int tar_write_close(struct tar_writer *t)
{
	static const u8 end[2 * TAR_BLOCK];
	int err = put(t, end, sizeof(end));
	errno = 0;
	int closed = gzclose(t->out);
	if (!err && closed != Z_OK)
		err = closed == Z_ERRNO && errno ? -errno : -EIO;
	free(t);
	return err;
}
