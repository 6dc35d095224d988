/*
 * The bytes of a dump file, whether it is as it will be read or flattened: a stream of (offset, size, bytes) that was made to go through a
 * pipe (makedumpfile -F), where a later piece may replace part of an earlier one. What an input may cost is in its budget.
 */
#pragma once

#include "base/budget.h"
#include "base/vec.h"

struct dump_piece {
	u64 offset, size; /* in the file that it makes */
	u64 at; /* in the stream */
};

struct dump_bytes {
	int fd;
	u64 size; /* of the file that is read; of a flattened one the end of its last piece */
	bool flattened;
	VEC(struct dump_piece) pieces; /* by offset, none over another */
	struct budget budget;
};

/* -EINVAL: not a regular file; -EBADMSG: a flattened stream that is broken; -E2BIG with a diag. */
int dump_file_open(struct dump_bytes *f, const char *path, struct diag *d) must_check;
/* The same for one that is open; it is closed by dump_file_close(), or if this fails. */
int dump_file_open_fd(struct dump_bytes *f, int fd, const char *path, struct diag *d) must_check;
void dump_file_close(struct dump_bytes *f);
/* All of it, or -EIO: the file ends before, or nothing was written there. */
int dump_file_read(const struct dump_bytes *f, u64 offset, void *to, size_t size) must_check;
