/*
 * Where an output goes. A path that the user names is walked one component at a time and ends as a directory that is held open and a name
 * in it, so that nothing that is swapped in the path afterwards leads elsewhere. We run as root where others own directories, hence:
 *
 * - A symbolic link is followed only where nobody else could have made it: not in a sticky directory, nor in one that others may write to
 *   or that belongs to somebody else than us or root. A link that leads further on the way is refused, by name.
 * - As root the last component is never followed to a regular file, or to nothing: the link itself is replaced. Where it leads to a device
 *   or a pipe (/dev/stdout), it is followed under the rule above. Other users' own links stay links, and their target is replaced.
 * - What is written in place (a pipe, a file that is appended to) must not be somebody else's in a sticky directory, as with the kernel's
 *   fs.protected_fifos and fs.protected_regular.
 */
#pragma once

#include "base/diag.h"
#include "base/types.h"

#include <limits.h>
#include <sys/stat.h>

enum outplace_kind {
	OUTPLACE_NEW, /* nothing is there */
	OUTPLACE_FILE, /* a regular file */
	OUTPLACE_LINK, /* a symbolic link, to be replaced */
	OUTPLACE_FOLDER,
	OUTPLACE_SPECIAL, /* a device or a pipe: to be written in place */
};

enum {
	OUTPLACE_REPLACE_LINK = 1, /* the rule for root's last component, for everybody */
	OUTPLACE_NO_FOLLOW = 2, /* the last component is never followed, wherever it leads */
	OUTPLACE_MAKE_FOLDERS = 4, /* folders on the way that are missing are made */
};

struct outplace {
	int dir; /* O_PATH: the folder */
	int fd; /* what is there, where it is one of our own descriptors (/dev/stdout); else -1 */
	enum outplace_kind kind;
	bool shared; /* others may make entries in the folder */
	bool magic; /* the name is a link of procfs: opened through it */
	struct stat st; /* of what is there */
	struct stat folder;
	char name[NAME_MAX + 1];
};

/* 0, or negative errno with a diag that names the path. -EISDIR for a path that ends in a slash or a dot. */
int outplace_open(struct outplace *p, const char *path, unsigned flags, struct diag *d) must_check;
void outplace_close(struct outplace *p);

/* Opens what is there (OUTPLACE_FILE, OUTPLACE_SPECIAL), if it is still the same. flags: of open(). Negative errno. */
int outplace_reopen(const struct outplace *p, int flags) must_check;
/* A new file beside it, whose name is in aside. Negative errno. */
int outplace_create(const struct outplace *p, mode_t mode, char aside[NAME_MAX + 1]) must_check;
/* Puts the file `aside` in its place. On failure it is removed. */
int outplace_rename(const struct outplace *p, const char *aside) must_check;

/* Whether it could be written now: 0, or negative errno with a diag. For checks before work that takes long. */
int outplace_check(const char *path, unsigned flags, struct diag *d) must_check;
/* Removes the file of that path, or the empty folder; a link on the way is treated as above, the last component is never followed. */
int outplace_remove(const char *path, bool folder) must_check;
