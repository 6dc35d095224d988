/*
 * Code at its points. Many points of one probe go with one system call where the kernel can do that: functions by kprobe_multi, places in
 * programs by uprobe_multi, and system calls by one program at raw_syscalls. What the kernel lacks is found by trying, and then points are
 * attached to one by one.
 *
 * Probes of the same event run in the order of the script: points are attached in the order that makes the kernel run them so.
 */
#pragma once

#include "bpf/load.h"
#include "bpf/points.h"
#include "kern/perf_event.h"

struct attach_opts {
	s32 pid; /* only this process, where the kernel can tell: probes in programs; 0: all */
};

struct attach_link {
	int fd; /* in attached.fds */
	u32 probe;
};

struct attached {
	struct loaded *loaded;
	const struct points *points;
	struct attach_opts opts;
	struct perf_opener opener;
	VEC(int) fds; /* links, and events behind them */
	VEC(struct attach_link)
	links; /* of probes on functions of the kernel, which count what they miss */
	VEC(int) iterators; /* to be read once */
	VEC(int) module_types; /* BTF of modules that functions are in */
	u32 nr_points; /* attached to */
	s32 cpu; /* one that is online: where events are that work on all */
	bool no_kprobe_multi, no_uprobe_multi, no_cookie; /* found out */
	u8 *btf_data;
	size_t btf_size;
	struct btf *btf;
};

/* Loads and attaches all but begin and end. Negative errno with a diag: what was attached is not any more. */
int attach_all(struct attached *a, struct loaded *l, const struct points *p,
	       const struct attach_opts *o, struct diag *d) must_check;
/* Warns of calls that probes on functions did not see, where the kernel counts them (6.7). */
void attach_report_missed(const struct attached *a, struct diag *d);
/* Takes them off again. */
void attach_close(struct attached *a);

/* Runs the code of a probe (BEGIN, END, SIGNAL) here and now. */
int attach_run_one(struct loaded *l, const struct program_probe *probe, struct diag *d) must_check;
/* Those of all probes of a kind and with this name (NULL: any), in their order. */
int attach_run(struct loaded *l, enum program_provider provider, const char *name,
	       struct diag *d) must_check;
/* Makes the iterators go through all there is. */
int attach_iterate(struct attached *a, struct diag *d) must_check;
