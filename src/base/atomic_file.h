/*
 * Files that appear whole or not at all: written to a temporary name in the same directory, then renamed. Reading one back checks who
 * owns it; its contents are the caller's to check.
 */
#pragma once

#include "base/outplace.h"

#include <sys/types.h>

/* Replaces the file. make_folder: creates its directory if that is missing, but no parents. 0 or negative errno. */
int atomic_file_save(const char *path, const void *data, size_t size, bool make_folder) must_check;
/* The same with a mode, for files that other users may read. An existing symbolic link is replaced, not followed. */
int atomic_file_replace(const char *path, const void *data, size_t size, mode_t mode) must_check;
/* The same in pieces: what is written to fd becomes the file at the end. The umask applies to the mode. */
struct atomic_file {
	int fd;
	bool in_place; /* a device or a pipe */
	struct outplace place;
	char aside[NAME_MAX + 1];
};

/* An existing symbolic link is replaced. */
int atomic_file_begin(struct atomic_file *k, const char *path, mode_t mode) must_check;
/*
 * The same for a file that the user names (base/outplace says where that is): anything but a regular file (/dev/null, a pipe) is
 * written in place, never replaced. Negative errno with a diag.
 */
int atomic_file_begin_output(struct atomic_file *k, const char *path, mode_t mode,
			     struct diag *d) must_check;
/* The same for a place that was opened already; the caller keeps owning it. */
int atomic_file_begin_at(struct atomic_file *k, const struct outplace *p, mode_t mode) must_check;
/*
 * err: 0 commits the file; anything else discards it and is returned. Either way no temporary file remains. -EIO: an input was
 * truncated while it was being read (base/guard.h), so the output made from it is discarded.
 */
int atomic_file_end(struct atomic_file *k, int err) must_check;
/* As atomic_file_save(), followed by a key that identifies what the file was made from; reading has to present the same key. */
int atomic_file_save_keyed(const char *path, const void *data, size_t size, const void *key,
			   size_t key_size) must_check;
/* As atomic_file_map(); *size is without the key, whose bytes belong to the mapping. -ESTALE: another key. */
int atomic_file_map_keyed(const char *path, const void *key, size_t key_size, void **data,
			  size_t *size) must_check;
/*
 * Maps a file that is regular, not empty, not a symbolic link, and owned by us or by root. 0 and *data, *size (guard_unmap() them),
 * -EPERM when it is anything else, or negative errno.
 */
int atomic_file_map(const char *path, void **data, size_t *size) must_check;
