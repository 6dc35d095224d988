/*
 * What one hit of a probe costs on this machine, by kind of probe: the same call is timed without and with the probe, and the difference is the
 * cost. Each hit runs a BPF program of five instructions that counts it, so that kinds are compared with the same work behind them, and a probe that was not hit is
 * noticed.
 *
 * Every probe hangs on a file descriptor of this process (perf events and BPF links): none is defined in tracefs, and the kernel removes them
 * however the process ends. The one setting that is changed, debug.kprobes-optimization, is restored by the journal.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/vec.h"
#include "kern/sysroot.h"

struct bench_probe_row {
	const char *kind; /* "kretprobe" */
	const char *about; /* what it is, in a few words */
	const char *place; /* "do_prlimit+0xa"; NULL: not measured */
	const char *missing; /* why it was not measured; NULL: it was */
	const char *note; /* NULL: none */
	u64 calls, hits; /* with the probe; hits of others may be among them */
	double base_ns, probed_ns; /* of one call: the best round */
	double cost_ns; /* probed_ns - base_ns */
	double noise_ns; /* how far the median of the rounds is from the best one */
};

struct bench_probe_opts {
	const struct sysroot *root;
	u64 time_ns; /* for each kind */
	const char *const *kinds; /* only these; nr 0: all */
	u32 nr_kinds;
	void (*usdt)(u64 n); /* goes through the static probe sonde:step of this program n times */
};

struct bench_probe {
	struct arena arena;
	VEC(struct bench_probe_row) rows; /* in the order of bench_probe_kind() */
	bool is_virtual, is_emulated; /* the machine */
};

/* Names of all kinds, in order; NULL: no more. about: may be NULL. */
const char *bench_probe_kind(u32 i, const char **about);
/* 0, or negative errno with a diag: out of memory, or nothing can be measured at all. A kind that this kernel lacks is a row that gives the reason. */
int bench_probe(struct bench_probe *b, const struct bench_probe_opts *o, struct diag *d) must_check;
void bench_probe_done(struct bench_probe *b);
const struct bench_probe_row *bench_probe_find(const struct bench_probe *b, const char *kind);
