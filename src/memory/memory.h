/*
 * Kernel memory behind one interface: reads by address, and nothing else. No back end can write.
 *
 *	BPF     a raw-tracepoint program, run on demand, copies with bpf_probe_read_kernel(): needs neither /proc/kcore nor debug packages,
 *	        and a bad address is an error, never zeros
 *	kcore   /proc/kcore: holes of the vmalloc area read as zeros
 *	bytes   a buffer that plays memory, for tests
 *
 * Several pieces can be read with one system call. A read is not atomic: the kernel goes on meanwhile.
 */
#pragma once

#include "base/diag.h"
#include "base/types.h"

struct memory;

enum {
	MEMORY_BATCH = 32, /* pieces that go with one system call */
	MEMORY_PIECE = 4096, /* bytes of each */
};

struct memory_piece {
	u64 addr;
	void *to;
	u32 size; /* 1 to MEMORY_PIECE */
	int err; /* set by the read: 0 or -EFAULT */
};

struct memory_ops {
	const char *name; /* "BPF (bpf_probe_read_kernel)" */
	/* Reads nr pieces and sets the err of each; nr is at most MEMORY_BATCH. Negative errno: nothing was read at all. */
	int (*read)(struct memory *m, struct memory_piece *pieces, u32 nr);
	/* The task_struct of the calling thread; -ENOTSUP where the back end cannot tell. */
	int (*current_task)(struct memory *m, u64 *ret);
	void (*close)(struct memory *m);
};

/* The part that all back ends share. */
struct memory {
	const struct memory_ops *ops;
	u64 nr_calls; /* of ops->read */
	u64 nr_bytes;
};

/* -EPERM, -EACCES, -ENOSYS, -EINVAL: as bpf(2) says. */
int memory_open_bpf(struct memory **ret) must_check;
/* root: NULL or "" for this system, or a test's folder. -ENOENT: no /proc/kcore. */
int memory_open_kcore(const char *root, struct memory **ret) must_check;
/* A copy of the bytes, which lie at addr. */
int memory_open_bytes(u64 addr, const void *data, size_t size, struct memory **ret) must_check;
/* NULL is allowed. */
void memory_close(struct memory *m);

/* All of it or an error: -EFAULT where some of it cannot be read. */
int memory_read(struct memory *m, u64 addr, void *to, size_t size) must_check;
/* Any number of pieces; the err of each says how it went. Negative errno only where nothing works. */
int memory_read_pieces(struct memory *m, struct memory_piece *pieces, size_t nr) must_check;
/* Up to a NUL, at most size - 1 characters: to is terminated. *cut: there was no NUL. -EFAULT: not even the first byte. */
int memory_read_text(struct memory *m, u64 addr, char *to, size_t size, bool *cut) must_check;
int memory_current_task(struct memory *m, u64 *ret) must_check;
