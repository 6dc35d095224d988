/*
 * The kernel's memory as an ELF core whose program headers say where addresses lie: /proc/kcore of the running kernel, or a copy of its
 * code that a recording brings along (perf record --kcore).
 */
#pragma once

#include "base/types.h"

/*
 * Reads size bytes at a kernel address. root: as everywhere in kern/ (NULL: /). -EACCES, -EPERM: not allowed; -ENOENT: this kernel has
 * none, or nothing lies there.
 */
int kcore_read(const char *root, u64 addr, u8 *to, size_t size) must_check;
/* The same from an open file, which is not trusted: -ENOEXEC where it is not such a core. */
int kcore_read_fd(int fd, u64 addr, u8 *to, size_t size) must_check;
/* EM_* of an open core, or -ENOEXEC. */
int kcore_machine(int fd) must_check;

/* A core that stays open, with its segments read once: for those who read often. */
struct kcore_segment {
	u64 addr, size, offset;
};
struct kcore {
	int fd;
	u32 nr;
	struct kcore_segment *segments;
};

/* -EACCES, -EPERM, -ENOENT, -ENOEXEC, -ENOMEM. */
int kcore_open(struct kcore *k, const char *root) must_check;
void kcore_close(struct kcore *k);
/* -ENOENT: in no segment. */
int kcore_get(const struct kcore *k, u64 addr, void *to, size_t size) must_check;
