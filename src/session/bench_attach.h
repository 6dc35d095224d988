/* The probes of `bench probe`, one kind each: where they are put, and the descriptors that hold them there. Only bench_probe.c includes it. */
#pragma once

#include "base/strbuf.h"
#include "kern/journal.h"
#include "kern/perf_event.h"
#include "kern/tracefs.h"

enum { BENCH_PLACES_MAX = 8 };

struct bench_place {
	char symbol[64];
	u64 offset;
};

/* What all kinds share. */
struct bench_bed {
	const struct sysroot *root;
	struct tracing tracing;
	struct perf_opener opener;
	s32 cpu; /* that the calls are made on */
	int map; /* one u64: hits */
	struct bench_place entry; /* of a system call */
	u64 entry_address; /* 0: hidden */
	struct bench_place inside[BENCH_PLACES_MAX]; /* after the entry: with room for a jump */
	u32 nr_inside;
	const char *no_inside; /* why there are none; NULL: there are */
	u32 chosen; /* of inside: the one that could be optimised */
	void (*user_function)(void);
};

/* A probe that is attached. */
struct bench_probe_fds {
	int prog, event, link; /* -1: none */
	struct journal *journal; /* holds a setting that was changed; NULL: none was */
	char place[192];
	char why[192]; /* on failure: the reason */
};

/* 0 or negative errno with a diag: BPF is not allowed. */
int bench_bed_open(struct bench_bed *b, const struct sysroot *root, struct diag *d) must_check;
void bench_bed_close(struct bench_bed *b);
int bench_bed_hits(const struct bench_bed *b, u64 *ret) must_check;
/* The call that reaches entry and inside, and the one that raw_tracepoint reaches. */
void bench_call_kernel(u64 n);
void bench_call_rename(u64 n);
/* What lies at the entry when nothing traces it, in words. */
const char *bench_entry_words(const struct bench_bed *b);

/* 0, or negative errno with fds->why. bench_detach() in any case. */
typedef int bench_attach_fn(struct bench_bed *b, struct bench_probe_fds *fds);
bench_attach_fn bench_attach_ftrace, bench_attach_jump, bench_attach_int3, bench_attach_kretprobe,
	bench_attach_fprobe, bench_attach_fentry, bench_attach_rawtp, bench_attach_uprobe,
	bench_attach_uretprobe, bench_attach_usdt;
void bench_detach(struct bench_probe_fds *fds, struct diag *d);
