/* Files that a command writes in one go. */
#pragma once

#include "base/outplace.h"

/*
 * Whole or not at all; base/outplace says where. As root the new file gets the owner of the one it replaces, or of its folder. durable: on
 * the disk when this returns. A pipe or a device is written in place.
 */
int outfile_write(const char *path, const char *data, size_t len, bool durable,
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
