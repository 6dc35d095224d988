/*
 * Files that somebody else named: a recording, /proc, an ELF file. What lies at such a path may be a pipe that blocks whoever opens it, or
 * a device that does something when it is opened. It is looked at first (O_PATH opens nothing) and opened only if it is a regular file,
 * through /proc/self/fd, so that it is the one that was looked at.
 *
 * None of these has a time limit: base/opener.h has.
 */
#pragma once

#include "base/types.h"

enum foreign_flags {
	FOREIGN_NOFOLLOW = 1 << 0, /* -ELOOP where the last part of the path is a link */
	FOREIGN_OWNED =
		1 << 2, /* foreign_check_writer() follows; base/opener.h: -EPERM where its owner cannot be told */
	FOREIGN_WALK =
		1 << 1, /* of foreign_open_in_root(): as on kernels without openat2() (tests) */
};

/* Read-only. -EINVAL: not a regular file; or the errno of opening it. */
int foreign_open(const char *path, unsigned flags) must_check;
int foreign_openat(int dir, const char *path, unsigned flags) must_check;
/* The same with root as the root: neither ".." nor an absolute link leads out of it. */
int foreign_open_in_root(int root, const char *path, unsigned flags) must_check;
/* What an O_PATH descriptor stands for, opened for reading, if it is a regular file. */
int foreign_reopen(int path_fd) must_check;

/*
 * Whether names in a file that a process is said to have written (perf-PID.map, a jitdump) may be believed. Such files lie where everyone
 * can make one, under a name that is only a number. One of ours or of root's is believed: nobody else could have made it. So is one of
 * the user the recorded process runs as (process_uid; -1: it has ended, or its number is somebody else's by now): it could fool us only
 * about itself. 0, or -EPERM.
 */
int foreign_check_writer(int fd, s64 process_uid) must_check;

/*
 * Whether reading the file waits for nobody but the machine's own disks, as far as its filesystem's type tells: not for a server, and
 * not for a program (FUSE).
 */
bool foreign_is_local(int fd);
/*
 * Whether inode and times of the file are what the kernel says, not what a server or a program wants them to be. Overlays are among them:
 * in our own mount namespace only root mounts one.
 */
bool foreign_is_kernels(int fd);
