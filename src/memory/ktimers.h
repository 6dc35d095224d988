/* Timers that run: those of the timer wheel (struct timer_list), and high-resolution ones (struct hrtimer), for each CPU. */
#pragma once

#include "memory/walk.h"

struct ktimer {
	u64 addr; /* of its struct timer_list or hrtimer */
	u64 expires; /* jiffies; of an hrtimer nanoseconds of its clock */
	u64 soft; /* of an hrtimer: it may run from then on */
	u64 function;
};

struct ktimers_list {
	VEC(struct ktimer) timers; /* the next one first */
	u64 base; /* of the struct timer_base or hrtimer_clock_base */
	u64 clk; /* of a timer_base: jiffies up to which it has been looked at */
	s64 offset; /* of a clock base: from the monotonic clock to its own, in nanoseconds */
	bool changed; /* while it was read */
};

struct ktimers {
	struct kspace *k;
	struct kspace_global wheels, clocks; /* timer_bases, hrtimer_bases */
	u64 steps; /* in all lists: those of a hostile dump may lead through others */
	u32 nr_wheels, nr_clocks, nr_vectors;
	u64 wheel_bytes, clock_bytes;
	struct {
		u64 clk, vectors; /* timer_base */
		u64 entry, expires, function; /* timer_list */
		u64 clock, active, offset; /* hrtimer_cpu_base.clock_base; that in it */
		u64 node, hr_expires, soft, hr_function; /* hrtimer */
	} at;
};

/* -ENOENT with a diag: BTF lacks a member. */
int ktimers_open(struct ktimers *t, struct kspace *k) must_check;
/* Base n of a CPU: *ret is filled anew. -ENOENT: the CPU is offline. */
int ktimers_wheel(struct ktimers *t, u32 cpu, u32 n, struct ktimers_list *ret) must_check;
int ktimers_clock(struct ktimers *t, u32 cpu, u32 n, struct ktimers_list *ret) must_check;
/* Of a CPU's struct hrtimer_cpu_base. */
int ktimers_cpu_base(struct ktimers *t, u32 cpu, u64 *ret) must_check;

/* For output: "BASE_STD", and "CLOCK_MONOTONIC". */
const char *ktimers_wheel_name(const struct ktimers *t, u32 n);
const char *ktimers_clock_name(u32 n);
