#include "memory/dump_file.h"

#include "base/foreign.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "makedumpfile", type and version (both 1), then zeros up to the first record. All numbers are big-endian. */
enum { FLAT_HEAD = 4096, FLAT_NUMBERS = 16 };
static const char flat_magic[FLAT_NUMBERS] = "makedumpfile";

static int read_at(int fd, u64 at, void *to, size_t size)
{
	if (at > INT64_MAX || size > INT64_MAX - at)
		return -EIO;
	for (size_t got = 0; got < size;) {
		ssize_t n = pread(fd, (u8 *)to + got, size - got, (off_t)(at + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		got += (size_t)n;
	}
	return 0;
}

/* The first piece that ends after offset; nr: none does. */
static size_t first_after(const struct dump_bytes *f, u64 offset)
{
	size_t low = 0, high = f->pieces.nr;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (f->pieces.at[mid].offset + f->pieces.at[mid].size <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Room for one more piece before piece n. */
static struct dump_piece *insert_before(struct dump_bytes *f, size_t n)
{
	if (!budget_bytes(&f->budget, sizeof(struct dump_piece), "pieces of a flattened dump") ||
	    !budget_steps(&f->budget, 1 + (f->pieces.nr - n) / 16, "pieces of a flattened dump"))
		return NULL;
	if (!vec_push(&f->pieces))
		return NULL;
	memmove(&f->pieces.at[n + 1], &f->pieces.at[n],
		(f->pieces.nr - 1 - n) * sizeof(struct dump_piece));
	return &f->pieces.at[n];
}

/* What the piece covers is taken from those that came before it. */
static int add_piece(struct dump_bytes *f, struct dump_piece p)
{
	u64 end = p.offset + p.size;
	size_t n = first_after(f, p.offset);
	if (n < f->pieces.nr && f->pieces.at[n].offset < p.offset) {
		struct dump_piece old = f->pieces.at[n];
		u64 kept = p.offset - old.offset;
		if (old.offset + old.size > end) {
			struct dump_piece *rest = insert_before(f, n + 1);
			if (!rest)
				return -ENOMEM;
			u64 gone = end - old.offset;
			*rest = (struct dump_piece){ end, old.size - gone, old.at + gone };
		}
		f->pieces.at[n].size = kept;
		n++;
	}
	size_t last = n;
	while (last < f->pieces.nr && f->pieces.at[last].offset + f->pieces.at[last].size <= end)
		last++;
	if (last < f->pieces.nr && f->pieces.at[last].offset < end) {
		u64 gone = end - f->pieces.at[last].offset;
		f->pieces.at[last].offset += gone;
		f->pieces.at[last].size -= gone;
		f->pieces.at[last].at += gone;
	}
	if (last > n) { /* one of those that are covered whole becomes this one, the others go */
		size_t less = last - n - 1;
		f->pieces.at[n] = p;
		memmove(&f->pieces.at[n + 1], &f->pieces.at[last],
			(f->pieces.nr - last) * sizeof(p));
		f->pieces.nr -= less;
		return 0;
	}
	struct dump_piece *slot = insert_before(f, n);
	if (!slot)
		return -ENOMEM;
	*slot = p;
	return 0;
}

static int read_pieces(struct dump_bytes *f)
{
	for (u64 at = FLAT_HEAD;;) {
		u64 head[2];
		if (!budget_steps(&f->budget, 20, "records of a flattened dump"))
			return -E2BIG;
		if (read_at(f->fd, at, head, sizeof(head)))
			return -EBADMSG;
		s64 offset = (s64)__builtin_bswap64(head[0]), size = (s64)__builtin_bswap64(head[1]);
		at += sizeof(head);
		if (offset < 0) /* the mark of the end */
			return f->pieces.nr ? 0 : -EBADMSG;
		if (size < 0 || (u64)size > f->size - min(at, f->size) || offset > INT64_MAX - size)
			return -EBADMSG;
		if (size) {
			int err = add_piece(f, (struct dump_piece){ (u64)offset, (u64)size, at });
			if (err)
				return f->budget.stage ? -E2BIG : err;
		}
		at += (u64)size;
	}
}

int dump_file_open_fd(struct dump_bytes *f, int fd, const char *path, struct diag *d)
{
	struct stat st;
	char magic[FLAT_NUMBERS];
	*f = (struct dump_bytes){ .fd = fd };
	int err = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (!err) {
		f->size = (u64)st.st_size;
		budget_init(&f->budget, budget_real_size(&st));
		f->flattened = !read_at(fd, 0, magic, sizeof(magic)) &&
			       !memcmp(magic, flat_magic, sizeof(magic));
	}
	if (!err && f->flattened) {
		err = read_pieces(f);
		if (err == -E2BIG)
			(void)budget_refuse(&f->budget, path, d);
		if (!err)
			f->size = f->pieces.at[f->pieces.nr - 1].offset +
				  f->pieces.at[f->pieces.nr - 1].size;
	}
	if (err)
		dump_file_close(f);
	return err;
}

int dump_file_open(struct dump_bytes *f, const char *path, struct diag *d)
{
	int fd = foreign_open(path, 0);
	return fd < 0 ? fd : dump_file_open_fd(f, fd, path, d);
}

void dump_file_close(struct dump_bytes *f)
{
	if (f->fd >= 0)
		(void)close(f->fd);
	vec_free(&f->pieces);
	*f = (struct dump_bytes){ .fd = -1 };
}

int dump_file_read(const struct dump_bytes *f, u64 offset, void *to, size_t size)
{
	u8 *next = to;
	if (!f->flattened)
		return read_at(f->fd, offset, to, size);
	for (size_t n = first_after(f, offset); size; n++) {
		if (n == f->pieces.nr || f->pieces.at[n].offset > offset)
			return -EIO;
		const struct dump_piece *p = &f->pieces.at[n];
		u64 skip = offset - p->offset;
		size_t now = (size_t)min(p->size - skip, (u64)size);
		int err = read_at(f->fd, p->at + skip, next, now);
		if (err)
			return err;
		next += now;
		offset += now;
		size -= now;
	}
	return 0;
}
