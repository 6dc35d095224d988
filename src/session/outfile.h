/* Files that a command writes: they appear whole or not at all. */
#pragma once

#include "base/atomic_file.h"
#include "base/outplace.h"

/*
 * Whole or not at all; base/outplace says where. As root the new file gets the owner of the one it replaces, or of its folder. durable: on
 * the disk when this returns. A pipe or a device is written in place.
 */
int outfile_write(const char *path, const char *data, size_t len, bool durable,
		  struct diag *d) must_check;
/*
 * The same in pieces: write to file->fd, then end it; err, which is returned, discards what was written. Negative errno with a diag.
 */
int outfile_begin(struct atomic_file *file, const char *path, struct diag *d) must_check;
int outfile_end(struct atomic_file *file, const char *path, int err, bool durable,
		struct diag *d) must_check;
/* fd, a new file of ours, gets owner and mode of the file that it is to replace; false: there is none that counts. */
bool outfile_inherit(int fd, const struct outplace *p);
/*
 * A new file in its place at once, so that it can be read while it grows. It stays whose it was, or is who called sudo's. A descriptor or
 * negative errno.
 */
int outfile_replace(const struct outplace *p) must_check;
/* Whether it could be written now, before the work that makes it: 0, or negative errno with a diag. "-" is fine. */
int outfile_check(const char *path, struct diag *d) must_check;
