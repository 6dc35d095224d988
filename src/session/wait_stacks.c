#include "session/wait_stacks.h"

#include "session/wait_chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- where threads wait for something to do ---- */

enum wait_place {
	PLACE_OTHER,
	PLACE_COMMON, /* the scheduler's own, or a way into it: not significant */
	PLACE_IDLE, /* not a wait for another task: a timer, a connection, a signal */
	PLACE_IDLE_IF_LONG, /* work, which comes at once where there is some */
	PLACE_FUTEX, /* idle, if long, where the program calls it a condition */
	PLACE_CONDITION,
};

/* Compilers add to the names of copies they make: "poll_schedule_timeout.constprop.0". */
static bool is_one_of(const char *name, const char *const *names, size_t nr)
{
	size_t len = strcspn(name, ".");
	for (size_t i = 0; i < nr; i++)
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return true;
	return false;
}

static enum wait_place place_of(const struct name_func *f)
{
	static const char *const idle[] = {
		"do_nanosleep",
		"hrtimer_nanosleep",
		"common_nsleep",
		"inet_csk_accept",
		"unix_accept",
		"__x64_sys_pause",
		"__arm64_sys_pause",
		"do_sigtimedwait",
		"__x64_sys_rt_sigsuspend",
		"do_sys_pause",
		"sigsuspend",
		"worker_thread",
		"smpboot_thread_fn",
		"kthreadd",
		"rescuer_thread",
		"kthread_worker_fn",
		"kswapd",
		"kcompactd",
		"rcu_gp_fqs_loop",
		"rcu_gp_kthread",
		"oom_reaper",
		"khugepaged",
		"ksm_scan_thread",
		"kauditd_thread",
		"watchdog",
		"io_wq_worker",
		"do_notify_pre_idle",
	};
	static const char *const long_idle[] = {
		"ep_poll",	   "do_epoll_wait",	    "do_sys_poll",
		"do_poll",	   "poll_schedule_timeout", "do_select",
		"core_sys_select", "io_cqring_wait",	    "schedule_hrtimeout_range",
	};
	static const char *const futex[] = { "futex_wait_queue", "futex_wait_queue_me",
					     "futex_wait", "__futex_wait", "do_futex" };
	const char *name = f->name;
	if (!name)
		return PLACE_OTHER;
	if (f->mode == FRAME_USER)
		return strstr(name, "pthread_cond_") || strstr(name, "cnd_wait") ? PLACE_CONDITION
										 : PLACE_OTHER;
	if (is_one_of(name, idle, ARRAY_SIZE(idle)))
		return PLACE_IDLE;
	if (is_one_of(name, long_idle, ARRAY_SIZE(long_idle)))
		return PLACE_IDLE_IF_LONG;
	if (is_one_of(name, futex, ARRAY_SIZE(futex)))
		return PLACE_FUTEX;
	return wait_chain_is_common(name) ? PLACE_COMMON : PLACE_OTHER;
}

/* ---- chains ---- */

struct shortening {
	struct named_run *run;
	const struct wait_stacks_opts *o;
	u8 *place; /* [frame]: enum wait_place */
	u32 idle; /* frame */
};

static u64 mark_of(const struct shortening *s, u32 frame)
{
	const struct frame *f = &s->run->tables.frames.frames[frame];
	return f->mode == FRAME_MARK ? (u32)f->offset : 0;
}

/* The frame of a stack where its thread has nothing to do; FRAME_NONE: it is waiting for another task. */
static u32 idle_at(const struct shortening *s, const u32 *row, u32 nr)
{
	u64 mark = mark_of(s, row[0]);
	bool is_long = mark == MARK_BLOCKED_LONG, condition = false;
	for (u32 i = 1; i < nr; i++)
		condition |= s->place[row[i]] == PLACE_CONDITION;
	if (mark != MARK_BLOCKED && mark != MARK_BLOCKED_LONG && mark != MARK_IDLE)
		return FRAME_NONE;
	for (u32 i = 1; i < nr; i++) {
		enum wait_place p = s->place[row[i]];
		if (p == PLACE_IDLE || (p == PLACE_IDLE_IF_LONG && is_long) ||
		    (p == PLACE_FUTEX && is_long && condition))
			return row[i];
	}
	return FRAME_NONE;
}

/* Its own stack without its innermost frames, those of wakers without their first, where they are the scheduler's. *own: frames of it. */
static u32 drop_common(const struct shortening *s, u32 *row, u32 nr, u32 *own)
{
	u32 at = 1, to;
	while (at < nr && mark_of(s, row[at]) < MARK_WOKEN_BY_IRQ)
		at++;
	for (to = at; to > 2 && s->place[row[to - 1]] == PLACE_COMMON;)
		to--;
	*own = to;
	for (bool first = true; at < nr; at++) {
		bool waker = mark_of(s, row[at]) >= MARK_WOKEN_BY_IRQ;
		if (first && !waker && s->place[row[at]] == PLACE_COMMON)
			continue;
		first = waker;
		row[to++] = row[at];
	}
	return to;
}

static void shorten(struct shortening *s, struct chain *c)
{
	u32 *row = s->run->tables.chains.pool + c->start, own;
	u64 mark = c->nr ? mark_of(s, row[0]) : 0;
	if (mark < MARK_READY || mark > MARK_IDLE)
		return;
	c->nr = drop_common(s, row, c->nr, &own);
	u32 where = idle_at(s, row, own);
	if (!where)
		return;
	row[0] = s->idle;
	if (s->o->whole_idle)
		return;
	row[1] = where;
	c->nr = 2;
}

int wait_stacks_shorten(struct named_run *run, const struct wait_stacks_opts *o)
{
	struct frame_table *f = &run->tables.frames;
	struct shortening s = { .run = run, .o = o };
	if (run->tables.chains.nr < 2)
		return 0; /* nothing was recorded */
	s64 idle = frame_table_add(f, (struct frame){ .mode = FRAME_MARK, .offset = MARK_IDLE });
	if (idle < 0)
		return (int)idle;
	/* Names are of the frames that were there when they were asked for. */
	if ((u32)idle >= run->named.nr_frames)
		return -EINVAL;
	s.idle = (u32)idle;
	_cleanup_free_ u8 *place = calloc(f->nr + 1, sizeof(*place));
	if (!place)
		return -ENOMEM;
	for (u32 i = 1; i < run->named.nr_frames; i++)
		place[i] = (u8)place_of(&run->named.funcs[run->named.func_of[i]]);
	s.place = place;
	for (u32 i = 1; i < run->tables.chains.nr; i++)
		shorten(&s, &run->tables.chains.chains[i]);
	return 0;
}

void wait_stacks_build(struct flame_build *b, struct off_cpu *off, const struct wait_stacks_opts *o)
{
	b->event = o->fold.wall ? "wall-clock" : "off-cpu";
	b->mark_text = off_cpu_mark_text;
	b->mark_ctx = off;
}

/* ---- sums ---- */

void wait_result_init(struct wait_result *r)
{
	*r = (struct wait_result){ 0 };
	strtab_init(&r->names);
}

void wait_result_done(struct wait_result *r)
{
	vec_free(&r->threads);
	strtab_done(&r->names);
}

static int add_thread(struct wait_result *r, const struct sched_thread *t, const char *comm,
		      const struct off_cpu_thread *of)
{
	struct wait_thread *to = vec_push(&r->threads);
	s64 name = strtab_add(&r->names, comm, strlen(comm));
	if (!to || name < 0)
		return -ENOMEM;
	*to = (struct wait_thread){ .pid = t->pid,
				    .tid = t->tid,
				    .comm = (u32)name,
				    .running_ns = of->running_ns,
				    .ready_ns = of->ready_ns,
				    .blocked_ns = of->blocked_ns,
				    .unknown_ns = of->unknown_ns,
				    .lossy_ns = of->lossy_ns };
	r->sums.nr_threads++;
	r->sums.running_ns += of->running_ns;
	r->sums.ready_ns += of->ready_ns;
	r->sums.blocked_ns += of->blocked_ns;
	r->sums.unknown_ns += of->unknown_ns;
	r->sums.lossy_ns += of->lossy_ns;
	return 0;
}

int wait_result_read(struct wait_result *r, const struct off_cpu *off)
{
	const struct thread_states *ts = off_cpu_states(off);
	int err = 0;
	r->threads.nr = 0;
	r->sums = (struct wait_sums){ .nr_sampled = off_cpu_nr_sampled(off),
				      .nr_gaps = thread_states_totals(ts)->nr_gaps,
				      .nr_bugs = thread_states_totals(ts)->nr_bugs };
	for (u32 i = 0; i < thread_states_nr(ts) && !err; i++) {
		const struct off_cpu_thread *of = off_cpu_thread_at(off, i);
		if (of && of->chosen &&
		    of->running_ns + of->ready_ns + of->blocked_ns + of->unknown_ns)
			err = add_thread(r, thread_at(ts, i), thread_comm(ts, i), of);
	}
	return err;
}

u64 wait_result_missing(const struct wait_result *r, const s32 *tids, size_t nr)
{
	u64 missing = 0;
	for (size_t i = 0; i < nr; i++) {
		bool found = false;
		for (size_t k = 0; k < r->threads.nr && !found; k++)
			found = r->threads.at[k].tid == tids[i];
		missing += !found;
	}
	return missing;
}
