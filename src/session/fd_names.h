/*
 * What descriptors refer to: names by process and number, kept by following the calls that make, copy and close them, in the order in which they
 * ended. A descriptor whose opening was not seen has no name; nothing is guessed.
 */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "kern/sysroot.h"
#include "model/syscall.h"

enum { FD_NAMES_MAX = 65536 }; /* at once; then all are forgotten */

struct fd_name {
	s32 pid, fd;
	char *text; /* NULL: this place is free */
	bool cloexec;
};

struct fd_names {
	struct dict index; /* pid and number -> .all */
	VEC(struct fd_name) all;
	VEC(u32) free_places;
};

void fd_names_init(struct fd_names *f);
void fd_names_done(struct fd_names *f);
/* Any bytes but NUL; NULL: not known. Valid until the next change. */
const char *fd_names_get(const struct fd_names *f, s32 pid, s32 fd);
/* A descriptor that was there before. 0 or -ENOMEM. */
int fd_names_put(struct fd_names *f, s32 pid, s32 fd, const char *text, bool cloexec) must_check;
/* Those of a process that runs already, as /proc has them. What cannot be read is left out. 0 or -ENOMEM. */
int fd_names_read(struct fd_names *f, const struct sysroot *root, s32 pid) must_check;
/* A child has what its parent has at that moment. 0 or -ENOMEM. */
int fd_names_inherit(struct fd_names *f, s32 parent, s32 child) must_check;
/* Whether a call makes children. */
bool fd_names_forks(const struct syscall *call);
/* A call that has ended, or that never will. 0 or -ENOMEM. */
int fd_names_follow(struct fd_names *f, const struct syscall_thread *c) must_check;
/* Something was lost: what is known may be wrong. */
void fd_names_forget(struct fd_names *f);
/* What a call does to descriptors: for syscall.fd_effect. */
u8 fd_names_effect(const char *call);
