/*
 * Where all of a thread's time went, without a rest: running; ready to run, by who ran instead; blocked, by where, and by who ended it. A fold
 * over analysis/thread_states.
 */
#pragma once

#include "analysis/thread_states.h"

/* Ready, while another thread had the CPU that it waited for. */
struct why_ready {
	u32 instead; /* an idle task: the CPU was about to switch; THREAD_NONE: not known */
	u64 ns;
};

struct why_waker {
	u32 blocked; /* of which wait */
	u32 waker; /* THREAD_NONE: nobody was seen */
	u32 chain; /* where it was */
	bool irq; /* an interrupt did it, which the waker only happened to run beneath */
	bool open; /* nobody did before the recording ended */
	u64 ns, nr;
};

struct why_blocked {
	char letter;
	u32 chain; /* where the thread left the CPU */
	u64 ns, nr;
};

struct why_thread {
	u32 thread;
	u64 wall_ns; /* what the others add up to */
	u64 running_ns, ready_ns, blocked_ns, unknown_ns;
	u64 lossy_ns; /* of these, while events were lost */
	VEC(struct why_ready) ready; /* longest first, as the next */
	VEC(struct why_blocked) blocked;
	VEC(struct why_waker) wakers;
};

struct sched_why;

struct sched_why_opts {
	u64 from_ns, until_ns; /* only this part; 0: from the start, to the end */
};

/* NULL: no memory. The options are borrowed. */
struct sched_why *sched_why_new(const struct sched_why_opts *o);
void sched_why_free(struct sched_why *w);
struct thread_states *sched_why_states(struct sched_why *w);
/* After the run. */
int sched_why_finish(struct sched_why *w) must_check;
/* Threads that are not idle tasks, busiest first (running or ready). */
const struct why_thread *sched_why_threads(const struct sched_why *w, size_t *nr);
/* Of the time in which threads were ready: so much is 'not known' because finding out would have taken too long, or too much memory. */
u64 sched_why_uncharged_ns(const struct sched_why *w);
