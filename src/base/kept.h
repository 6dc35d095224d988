/*
 * Files that one run keeps for the next: written aside and renamed, so that nobody ever sees half of one, and believed only as far as
 * whose they are. What is in them is the caller's to check.
 */
#pragma once

#include "base/outplace.h"

#include <sys/types.h>

/* Replaces the file. make_folder: the one it lies in, if that is missing, not those above. 0 or negative errno. */
int kept_save(const char *path, const void *data, size_t size, bool make_folder) must_check;
/* The same with a mode, for files that are meant for others too. A link that somebody left there is replaced, not followed. */
int kept_replace(const char *path, const void *data, size_t size, mode_t mode) must_check;
/* The same in pieces: what is written to fd becomes the file at the end. The mode is what open() makes of it, by the umask. */
struct kept_file {
	int fd;
	bool in_place; /* a device or a pipe */
	struct outplace place;
	char aside[NAME_MAX + 1];
};

/* A link that is there is replaced. */
int kept_begin(struct kept_file *k, const char *path, mode_t mode) must_check;
/*
 * The same for a file that the user names (base/outplace says where that is): what is no plain file (/dev/null, a pipe) is written in
 * place, never replaced. Negative errno with a diag.
 */
int kept_begin_output(struct kept_file *k, const char *path, mode_t mode, struct diag *d) must_check;
/* The same for a place that is known; it stays the caller's. */
int kept_begin_at(struct kept_file *k, const struct outplace *p, mode_t mode) must_check;
/*
 * err: why there is nothing to keep, which is returned; 0: it is whole. Either way nothing is left beside. -EIO: an input was truncated
 * while it was being read (base/guard.h), so that what was made of it is not kept.
 */
int kept_end(struct kept_file *k, int err) must_check;
/*
 * The same with a key at its end, which says what it was made from: reading has to present it again.
 */
int kept_save_keyed(const char *path, const void *data, size_t size, const void *key,
		    size_t key_size) must_check;
/* As kept_map(); *size is without the key, whose bytes belong to the mapping. -ESTALE: another key. */
int kept_map_keyed(const char *path, const void *key, size_t key_size, void **data,
		   size_t *size) must_check;
/*
 * Maps it: a plain file that is not empty, no link, and ours or root's. 0 and *data, *size (guard_unmap() them), -EPERM when it is
 * something else, or negative errno.
 */
int kept_map(const char *path, void **data, size_t *size) must_check;
