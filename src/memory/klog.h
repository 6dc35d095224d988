/* The kernel's messages, as its ring of records has them (kernel/printk/printk_ringbuffer.h, since 5.10). */
#pragma once

#include "memory/kspace.h"

struct klog_record {
	u64 number; /* counts from the start of the kernel */
	u64 time_ns;
	u8 level, facility;
	u32 caller; /* a task, or with the highest bit a CPU */
	const char *text; /* not terminated, lives for the call */
	u32 len;
};

struct klog_end {
	u64 nr; /* that were told */
	u64 lost; /* that were written over, or changed, while they were read */
};

/* 0: go on; else ends with it. */
typedef int (*klog_fn)(void *ctx, const struct klog_record *record);
/* Oldest first. Of the running kernel, where the symbol list has functions only, from /dev/kmsg. Negative errno with a diag. */
int klog_each(struct kspace *k, klog_fn fn, void *ctx, struct klog_end *ret) must_check;
