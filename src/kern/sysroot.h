/*
 * The root under which /proc and /sys are looked for: "/" on a live system, a fake tree in tests. Paths are written
 * without a leading slash ("proc/1/maps"). Reading appends to a caller's buffer, which is reused from file to file.
 */
#pragma once

#include "base/strbuf.h"
#include "base/types.h"

#include <dirent.h>

struct sysroot {
	int dir_fd;
};

/* path: NULL means "/". 0 or negative errno. */
int sysroot_open(struct sysroot *r, const char *path) must_check;
void sysroot_close(struct sysroot *r);

/* Replaces what `to` holds with the whole file; negative errno leaves it empty. At most 64 MiB. */
int sysroot_read(const struct sysroot *r, const char *path, struct strbuf *to) must_check;
/* The first line, without its newline and trailing blanks; borrowed from `to`. NULL: not there, or empty. */
const char *sysroot_line(const struct sysroot *r, const char *path, struct strbuf *to);
/* A file that holds one number, decimal or with a 0x prefix. */
int sysroot_s64(const struct sysroot *r, const char *path, s64 *ret) must_check;
bool sysroot_exists(const struct sysroot *r, const char *path);
/* A directory to walk with readdir(); NULL and errno. closedir() it. */
DIR *sysroot_dir(const struct sysroot *r, const char *path);
/* Read-only, close-on-exec; negative errno. */
int sysroot_fd(const struct sysroot *r, const char *path) must_check;
