/*
 * Which files can keep a reader waiting. A file on a local disk answers; one on a server (NFS, cifs, 9p, ceph) or of a program that plays
 * a filesystem (FUSE), and a mount point that is mounted on first use (autofs), may not. Even asking such a filesystem for its type can
 * wait, so the answer comes from /proc/self/mountinfo, read once.
 *
 * The filesystem of "/" counts as local whatever it is: a machine whose root does not answer does not run us either.
 */
#pragma once

#include "base/types.h"

struct mounts;

/* info: a file like /proc/self/mountinfo (NULL: that one). One that cannot be read is an empty table. NULL: no memory. */
struct mounts *mounts_new(const char *info);
void mounts_free(struct mounts *m);

/*
 * An O_PATH descriptor of what is at the path, found without leaving a filesystem that is known to answer; flags as of foreign_open().
 * -EXDEV: the way there leads elsewhere, or nobody can tell: only somebody who may be held up should go there. From any thread.
 */
int mounts_open(struct mounts *m, const char *path, unsigned flags) must_check;
/* Whether an open file (or O_PATH descriptor) is on such a filesystem. Takes no lock. */
bool mounts_is_local(const struct mounts *m, int fd);
