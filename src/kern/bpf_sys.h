/*
 * bpf(2) as it is: maps, programs, types, links, objects of others. One function a command; nothing is remembered, nothing is retried but
 * what the kernel asks to be (EAGAIN). libbpf is not used: the release that distributions have knows fewer commands than their kernels.
 * The functions are called bpfsys_: bpf_ belongs to libbpf.
 *
 * All return a file descriptor or 0, or negative errno. Descriptors are close-on-exec (the kernel makes them so).
 */
#pragma once

#include "base/types.h"

#include <linux/bpf.h>

/* Younger than the headers of distributions. */
enum {
	BPFSYS_TRACE_KPROBE_MULTI = 42,
	BPFSYS_TRACE_UPROBE_MULTI = 48,
	BPFSYS_TRACE_KPROBE_SESSION = 56,
	BPFSYS_TRACE_UPROBE_SESSION = 57,
	BPFSYS_MULTI_RETURN = 1 << 0, /* of kprobe_multi and uprobe_multi alike */
	BPFSYS_LINK_UPROBE_MULTI = 12,
};

struct bpfsys_map {
	u32 type, key_size, value_size, max_entries, flags;
	const char *name; /* at most 15 characters of [A-Za-z0-9_.]; others are replaced. NULL: none */
};

int bpfsys_map_create(const struct bpfsys_map *m) must_check;
int bpfsys_map_lookup(int fd, const void *key, void *value) must_check;
int bpfsys_map_update(int fd, const void *key, const void *value, u64 flags) must_check;
int bpfsys_map_delete(int fd, const void *key) must_check;
/* key NULL: the first one. -ENOENT: that was the last. */
int bpfsys_map_next_key(int fd, const void *key, void *next) must_check;
/*
 * Up to *nr elements from *cursor on (in: NULL at the start; both buffers hold at least a key, or 4 bytes for hashes). *nr: how many came.
 * -ENOENT: these were the last; -ENOSPC: a bucket has more than *nr; -EINVAL, -ENOTSUP: not for this kind of map.
 */
int bpfsys_map_lookup_batch(int fd, const void *cursor, void *next, void *keys, void *values,
			    u32 *nr) must_check;
/* No more writing through the system call: the verifier takes what is in there as constant. */
int bpfsys_map_freeze(int fd) must_check;

/* A function of a program: where it begins, and its type in the program's own BTF. */
struct bpfsys_func {
	u32 insn;
	u32 type_id;
};

struct bpfsys_prog {
	u32 type, expected_attach_type;
	const char *name; /* as for maps */
	const struct bpf_insn *insns;
	u32 nr_insns;
	const char *license;
	u32 flags; /* BPF_F_SLEEPABLE */
	u32 attach_btf_id; /* of fentry, iter ... */
	int attach_btf_fd; /* of a module; 0: the kernel's own */
	int btf_fd; /* of funcs; 0: none */
	const struct bpfsys_func *funcs;
	u32 nr_funcs;
};

/*
 * log NULL: without. Else the verifier's words; *log is the caller's to free, also after a failure (NULL: none came). level: 1 words, 2 all
 * of them, 4 statistics.
 */
int bpfsys_prog_load(const struct bpfsys_prog *p, u32 level, char **log) must_check;
int bpfsys_btf_load(const void *data, u32 size) must_check;
/* Runs a raw tracepoint's program here and now; *status is what it returned. */
int bpfsys_test_run(int prog, u32 *status) must_check;

int bpfsys_link_raw_tracepoint(int prog, const char *name, u64 cookie) must_check;
/* fentry, fexit: the function is the program's. */
int bpfsys_link_tracing(int prog, u32 attach_type, u64 cookie) must_check;
/* -EINVAL before 5.15: PERF_EVENT_IOC_SET_BPF is left. */
int bpfsys_link_perf_event(int prog, int perf_fd, u64 cookie) must_check;
struct bpfsys_kprobe_multi {
	u32 attach_type; /* BPFSYS_TRACE_KPROBE_MULTI or _SESSION */
	u32 flags; /* BPFSYS_MULTI_RETURN */
	u32 nr;
	const char *const *symbols; /* or */
	const u64 *addresses;
	const u64 *cookies; /* NULL: 0 */
};
int bpfsys_link_kprobe_multi(int prog, const struct bpfsys_kprobe_multi *m) must_check;
struct bpfsys_uprobe_multi {
	u32 attach_type; /* BPFSYS_TRACE_UPROBE_MULTI or _SESSION */
	u32 flags;
	u32 nr;
	u32 pid; /* 0: all */
	const char *path;
	const u64 *offsets;
	const u64 *ref_ctr_offsets; /* NULL: none has a semaphore */
	const u64 *cookies;
};
int bpfsys_link_uprobe_multi(int prog, const struct bpfsys_uprobe_multi *m) must_check;
int bpfsys_link_iter(int prog) must_check;
/* What a program for perf events without cookies is attached by: PERF_EVENT_IOC_SET_BPF. */
int bpfsys_perf_event_set(int perf_fd, int prog) must_check;
/* The iterator's text is read from this. */
int bpfsys_iter_open(int link) must_check;

enum bpfsys_kind { BPFSYS_PROG, BPFSYS_MAP, BPFSYS_LINK, BPFSYS_BTF };
/* The next id above `id` (0: the first). -ENOENT: none. */
int bpfsys_next_id(enum bpfsys_kind kind, u32 id, u32 *next) must_check;
int bpfsys_by_id(enum bpfsys_kind kind, u32 id) must_check;
/* info: zeroed, or with the caller's buffers in it; size: of the struct the caller knows. */
int bpfsys_info(int fd, void *info, u32 size) must_check;

/*
 * The name that the kernel takes: up to 15 characters, what it would refuse replaced by '_'.
 */
enum { BPFSYS_NAME_SIZE = 16 };
void bpfsys_name(const char *name, char to[BPFSYS_NAME_SIZE]);
