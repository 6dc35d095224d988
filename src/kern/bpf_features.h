/*
 * What bpf(2) can do here, found by trying: each feature is a row with a trial. Nothing compares versions.
 */
#pragma once

#include "base/diag.h"
#include "kern/sysroot.h"

#include <linux/bpf.h>

enum bpfsys_feature {
	BPF_FEATURE_MAPS, /* anything at all */
	BPF_FEATURE_RINGBUF, /* 5.8 */
	BPF_FEATURE_PERCPU_HASH,
	BPF_FEATURE_BATCH, /* of hash tables: 5.6 */
	BPF_FEATURE_LOOP, /* bpf_loop(): 5.17 */
	BPF_FEATURE_FOR_EACH, /* bpf_for_each_map_elem(): 5.13 */
	BPF_FEATURE_COOKIE, /* bpf_get_attach_cookie(): 5.15 */
	BPF_FEATURE_FUNC_IP, /* bpf_get_func_ip() of kprobes: 5.15 */
	BPF_FEATURE_PATH, /* bpf_d_path() */
	BPF_FEATURE_SIGNAL, /* bpf_send_signal() */
	BPF_FEATURE_TEST_RUN, /* of raw tracepoints: 5.10 */
	BPF_FEATURE_BTF, /* the kernel tells its types */
	BPF_FEATURE_TRACEPOINT,
	BPF_FEATURE_RAW_TRACEPOINT,
	BPF_FEATURE_KPROBE, /* a perf PMU for kprobes */
	BPF_FEATURE_UPROBE,
	BPF_FEATURE_FENTRY, /* 5.5; not under lockdown */
	BPF_FEATURE_KPROBE_MULTI, /* 5.18, CONFIG_FPROBE */
	BPF_FEATURE_KPROBE_SESSION, /* 6.10 */
	BPF_FEATURE_UPROBE_MULTI, /* 6.6 */
	BPF_FEATURE_ITER, /* of tasks: 5.8 */
	BPF_FEATURE_NR,
};

struct bpfsys_feature_info {
	const char *word; /* "ringbuf" */
	const char *what; /* "a ring buffer shared by all CPUs" */
	const char *group; /* "maps", "helpers", "probes" */
};

extern const struct bpfsys_feature_info bpfsys_feature_infos[BPF_FEATURE_NR];

/* 0: it works; -EOPNOTSUPP: this kernel does not have it; -EPERM: not for us; other negative errno. */
int bpfsys_feature_try(const struct sysroot *r, enum bpfsys_feature f) must_check;

/*
 * Why bpf(2) said EPERM, and what helps: capabilities that lack, kernel.unprivileged_bpf_disabled, lockdown. Returns -EPERM.
 * what: the object of the message, "load the program for kprobe:vfs_read".
 */
int bpfsys_explain_permission(const struct sysroot *r, const char *what, struct diag *d);
