#include "session/sched_timehist.h"

#include "base/json.h"
#include "base/printable.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COMM_WIDTH = 30, SUMMARY_RULE = 117, HEX_DIGITS = 16, SKIPPED_MAX = 2 };

struct timehist_thread {
	/* Of the time before the run that goes on. */
	u64 blocked_ns, preempted_ns, delay_ns;
	char blocked_letter;
	bool left; /* it was seen leaving a CPU: how long it was away is known */
	/* The run that has just ended. */
	u64 run_from_ns;
	bool run_unknown; /* since when it ran */
	bool run_lossy;
	/* Sums. */
	u64 nr, run_ns, min_ns, max_ns, sleep_ns, iowait_ns, preempt_ns, total_delay_ns, lossy_ns;
	double mean, m2; /* of runs */
	u64 nr_migrations;
};

struct sched_timehist {
	const struct sched_timehist_opts *o;
	struct tell to;
	struct thread_states *states;
	VEC(struct timehist_thread) threads;
	VEC(u32) before_idle; /* [cpu]: who ran before its idle task */
	struct strbuf name;
	struct json json;
	size_t width; /* of names: grows with the longest one */
	u64 nr_skipped;
	u64 first_ns, last_ns; /* of what was shown */
};

static struct timehist_thread *own(struct sched_timehist *h, u32 thread)
{
	while (thread >= h->threads.nr)
		if (!vec_push(&h->threads))
			return NULL;
	return &h->threads.at[thread];
}

/* ---- which ---- */

static bool among(const s32 *list, size_t nr, s32 v)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i] == v)
			return true;
	return false;
}

static bool thread_wanted(const struct sched_timehist *h, u32 thread)
{
	const struct sched_timehist_opts *o = h->o;
	const struct sched_thread *t = thread_at(h->states, thread);
	if (!o->nr_pids && !o->nr_tids)
		return true;
	return among(o->tids, o->nr_tids, t->tid) ||
	       among(o->pids, o->nr_pids, t->pid ? t->pid : t->tid);
}

static bool cpu_wanted(const struct sched_timehist *h, s32 cpu)
{
	return !h->o->cpus || cpuset_has(h->o->cpus, (unsigned)cpu);
}

static bool time_wanted(const struct sched_timehist *h, u64 from_ns, u64 to_ns)
{
	return to_ns >= h->o->from_ns && (!h->o->until_ns || from_ns <= h->o->until_ns);
}

/* ---- words ---- */

/* "make", "make[12]", "make[13/12]"; valid until the next one. */
static const char *name_of(struct sched_timehist *h, u32 thread)
{
	const struct sched_thread *t = thread_at(h->states, thread);
	strbuf_reset(&h->name);
	printable_name(&h->name, thread_comm(h->states, thread));
	if (t->tid && t->pid && t->pid != t->tid)
		strbuf_printf(&h->name, "[%d/%d]", t->tid, t->pid);
	else if (t->tid)
		strbuf_printf(&h->name, "[%d]", t->tid);
	h->width = max(h->width, h->name.len);
	return strbuf_cstr(&h->name);
}

/* Milliseconds with three digits, cut off, and a blank. */
static void add_ms(struct strbuf *to, u64 ns, unsigned width)
{
	char digits[NUM_DIGITS_MAX];
	unsigned len = num_u64(digits, ns / 1000000);
	strbuf_fill(to, ' ', len < width ? width - len : 0);
	strbuf_add(to, digits, len);
	char *at = strbuf_room(to, NUM_DIGITS_MAX);
	if (!at)
		return;
	*at = '.';
	num_u64_pad0(at + 1, ns % 1000000 / 1000, 3);
	at[4] = ' ';
	strbuf_commit(to, 5);
}

/* "    1224.391032 [0000] " */
static void add_time_cpu(struct strbuf *to, u64 ns, s32 cpu)
{
	enum { SECONDS_WIDTH = 8, MICROS = 6, CPU_DIGITS = 4 };
	char digits[NUM_DIGITS_MAX];
	unsigned len = num_u64(digits, ns / 1000000000);
	strbuf_fill(to, ' ', len < SECONDS_WIDTH ? SECONDS_WIDTH - len : 0);
	strbuf_add(to, digits, len);
	strbuf_char(to, '.');
	strbuf_add(to, digits, num_u64_pad0(digits, ns % 1000000000 / 1000, MICROS));
	strbuf_str(to, " [");
	strbuf_add(to, digits, num_u64_pad0(digits, (u64)cpu, CPU_DIGITS));
	strbuf_str(to, "] ");
}

static void add_visual(struct sched_timehist *h, s32 cpu, char mark, unsigned blanks)
{
	if (!h->o->cpu_visual)
		return;
	strbuf_fill(h->to.out, ' ', blanks);
	for (u32 i = 0; i < h->o->nr_cpus; i++)
		strbuf_char(h->to.out, (s32)i == cpu ? mark : ' ');
	strbuf_fill(h->to.out, ' ', blanks);
}

static void add_name(struct sched_timehist *h, u32 thread)
{
	const char *name = name_of(h, thread);
	strbuf_char(h->to.out, ' ');
	strbuf_left(h->to.out, name, h->width);
	strbuf_char(h->to.out, ' ');
}

/* ---- call chains ---- */

static const char *frame_name(const struct sched_timehist *h, u32 frame)
{
	const struct names_result *n = h->o->names;
	const char *name = frame < n->nr_frames ? n->funcs[n->func_of[frame]].name : NULL;
	return name ? name : "[unknown]";
}

static bool is_scheduler(const char *name)
{
	return !strcmp(name, "schedule") || !strcmp(name, "__schedule") ||
	       !strcmp(name, "preempt_schedule");
}

/* Innermost first; the ways into the scheduler are all alike. */
static void each_frame(const struct sched_timehist *h, u32 chain,
		       void (*call)(const struct sched_timehist *h, const char *name, bool first))
{
	const struct shard *sh = thread_states_shard(h->states);
	if (!chain || !sh)
		return;
	u32 nr, shown = 0, limit = h->o->max_stack + SKIPPED_MAX;
	const u32 *frames = chain_frames(&sh->chains, chain, &nr);
	for (u32 i = 0; i < nr && i < limit; i++) {
		const char *name = frame_name(h, frames[nr - 1 - i]);
		if (!is_scheduler(name))
			call(h, name, !shown++);
	}
}

static void add_frame(const struct sched_timehist *h, const char *name, bool first)
{
	strbuf_str(h->to.out, first ? "" : " <- ");
	printable_name(h->to.out, name);
}

static void json_frame(const struct sched_timehist *h, const char *name, bool first)
{
	json_str(&((struct sched_timehist *)h)->json, name);
}

/* ---- lines ---- */

struct run_line {
	u64 time_ns;
	s32 cpu;
	u32 thread, next;
	u64 wait_ns, delay_ns, run_ns;
	bool lossy;
	const char *state;
	u32 chain;
};

static void print_run(struct sched_timehist *h, const struct run_line *r)
{
	struct strbuf *to = h->to.out;
	const struct sched_thread *t = thread_at(h->states, r->thread);
	add_time_cpu(to, r->time_ns, r->cpu);
	add_visual(h, r->cpu, t->tid ? 's' : 'i', 1);
	add_name(h, r->thread);
	if (h->o->show_prio)
		strbuf_printf(to, "%5d ", t->prio);
	add_ms(to, r->wait_ns, 6);
	add_ms(to, r->delay_ns, 6);
	add_ms(to, r->run_ns, 6);
	if (h->o->state)
		strbuf_printf(to, " %5c ", r->state[0]);
	if (h->o->next) {
		char next[64];
		(void)snprintf(next, sizeof(next), "next: %s[%d]", thread_comm(h->states, r->next),
			       thread_at(h->states, r->next)->tid);
		strbuf_char(to, ' ');
		printable_left(to, next, h->width);
	} else if (h->o->wakeups) {
		strbuf_fill(to, ' ', 2 + h->width);
	}
	if (t->tid && h->o->chains) {
		strbuf_str(to, "  ");
		each_frame(h, r->chain, add_frame);
	}
	strbuf_char(to, '\n');
}

static void json_thread(struct sched_timehist *h, const char *key, u32 thread)
{
	const struct sched_thread *t = thread_at(h->states, thread);
	json_key(&h->json, key);
	json_object(&h->json);
	json_put_str(&h->json, "comm", thread_comm(h->states, thread));
	json_put_s64(&h->json, "tid", t->tid);
	if (t->pid)
		json_put_s64(&h->json, "pid", t->pid);
	json_object_end(&h->json);
}

static void json_head(struct sched_timehist *h, const char *kind, u64 time_ns, s32 cpu)
{
	json_object(&h->json);
	json_put_str(&h->json, "type", kind);
	json_put_u64(&h->json, "time_ns", time_ns);
	json_put_s64(&h->json, "cpu", cpu);
}

static void json_run(struct sched_timehist *h, const struct run_line *r)
{
	struct json *j = &h->json;
	json_head(h, "run", r->time_ns, r->cpu);
	json_thread(h, "task", r->thread);
	json_put_u64(j, "wait_ns", r->wait_ns);
	json_put_u64(j, "delay_ns", r->delay_ns);
	json_put_u64(j, "run_ns", r->run_ns);
	json_put_str(j, "state", r->state);
	json_thread(h, "next", r->next);
	json_put_bool(j, "lossy", r->lossy);
	if (h->o->chains) {
		json_key(j, "stack");
		json_array(j);
		each_frame(h, r->chain, json_frame);
		json_array_end(j);
	}
	json_object_end(j);
}

/* ---- the fold ---- */

static int on_interval(void *ctx, const struct thread_interval *i)
{
	struct sched_timehist *h = ctx;
	struct timehist_thread *t = own(h, i->thread);
	u64 ns = i->to_ns - i->from_ns;
	if (!t)
		return -ENOMEM;
	if (i->flags & THREAD_LOSSY)
		t->lossy_ns += ns;
	if (i->flags & THREAD_UNTIL_END)
		return 0;
	switch (i->state) {
	case THREAD_RUNNING:
		t->run_from_ns = i->from_ns;
		t->run_unknown = i->flags & THREAD_SINCE_BEFORE;
		t->run_lossy = i->flags & THREAD_LOSSY;
		break;
	case THREAD_READY:
		t->delay_ns += ns;
		if (i->flags & THREAD_PREEMPTED)
			t->preempted_ns += ns;
		else if (t->left)
			t->blocked_ns += ns;
		break;
	case THREAD_BLOCKED:
		t->blocked_ns += t->left ? ns : 0;
		t->blocked_letter = i->letter;
		break;
	default: break;
	}
	return 0;
}

static void add_run(struct timehist_thread *t, u64 ns)
{
	t->min_ns = t->nr ? min(t->min_ns, ns) : ns;
	t->max_ns = max(t->max_ns, ns);
	t->nr++;
	t->run_ns += ns;
	double delta = (double)ns - t->mean;
	t->mean += delta / (double)t->nr;
	t->m2 += delta * ((double)ns - t->mean);
}

static void add_wait(struct timehist_thread *t)
{
	if (t->blocked_letter == 'D')
		t->iowait_ns += t->blocked_ns;
	else
		t->sleep_ns += t->blocked_ns;
	t->preempt_ns += t->preempted_ns;
	t->total_delay_ns += t->delay_ns;
}

static void forget_wait(struct timehist_thread *t)
{
	t->blocked_ns = t->preempted_ns = t->delay_ns = 0;
	t->blocked_letter = 0;
	t->left = true;
}

/* Only what is idle, and whose leaving began it. */
static int note_idle(struct sched_timehist *h, const struct thread_switch *s, u64 run_ns)
{
	while ((size_t)s->cpu >= h->before_idle.nr) {
		u32 *at = vec_push(&h->before_idle);
		if (!at)
			return -ENOMEM;
		*at = THREAD_NONE;
	}
	u32 *before = &h->before_idle.at[s->cpu];
	if (!thread_at(h->states, s->prev)->tid && *before != THREAD_NONE) {
		struct timehist_thread *t = own(h, *before);
		if (!t)
			return -ENOMEM;
		add_run(t, run_ns);
		*before = THREAD_NONE;
	} else if (!thread_at(h->states, s->next)->tid) {
		*before = s->prev;
	}
	return 0;
}

static bool run_wanted(struct sched_timehist *h, const struct thread_switch *s, u64 from_ns)
{
	if (!thread_wanted(h, s->prev)) {
		h->nr_skipped++;
		return false;
	}
	bool idle = !thread_at(h->states, s->prev)->tid;
	return time_wanted(h, from_ns, s->time_ns) && cpu_wanted(h, s->cpu) &&
	       (!h->o->idle_only || idle);
}

static int on_switched(void *ctx, const struct thread_switch *s)
{
	struct sched_timehist *h = ctx;
	struct timehist_thread *t = own(h, s->prev);
	if (!t)
		return -ENOMEM;
	u64 from_ns = max(t->run_from_ns, h->o->from_ns), to_ns = s->time_ns;
	if (h->o->until_ns)
		to_ns = min(to_ns, h->o->until_ns);
	struct run_line r = { .time_ns = to_ns,
			      .cpu = s->cpu,
			      .thread = s->prev,
			      .next = s->next,
			      .lossy = t->run_lossy,
			      .state = s->state,
			      .chain = s->sample->chain };
	bool known = !t->run_unknown;
	if (known) {
		r.run_ns = to_ns - min(from_ns, to_ns);
		r.wait_ns = t->blocked_ns + t->preempted_ns;
		r.delay_ns = t->delay_ns;
	}
	int err = 0;
	if (run_wanted(h, s, t->run_from_ns)) {
		if (!h->first_ns)
			h->first_ns = to_ns;
		h->last_ns = to_ns;
		if (!h->o->idle_only || !thread_at(h->states, s->prev)->tid)
			add_run(t, r.run_ns);
		if (known)
			add_wait(t);
		if (!h->o->summary && h->to.json)
			json_run(h, &r);
		else if (!h->o->summary)
			print_run(h, &r);
	}
	if (h->o->idle_only)
		err = note_idle(h, s, r.run_ns);
	t = own(h, s->prev);
	forget_wait(t);
	return err;
}

static bool side_wanted(const struct sched_timehist *h, u32 by, u32 thread, u64 time_ns, s32 cpu)
{
	return !h->o->summary && !h->o->idle_only && time_wanted(h, time_ns, time_ns) &&
	       cpu_wanted(h, cpu) && (thread_wanted(h, by) || thread_wanted(h, thread));
}

/* Where a run has its times. */
static void add_no_times(struct sched_timehist *h)
{
	strbuf_fill(h->to.out, ' ', (h->o->show_prio ? 6 : 0) + 34);
}

static int on_wake(void *ctx, const struct thread_wake *w)
{
	struct sched_timehist *h = ctx;
	if (!h->o->wakeups || !side_wanted(h, w->waker, w->thread, w->time_ns, w->cpu))
		return 0;
	if (h->to.json) {
		json_head(h, "wakeup", w->time_ns, w->cpu);
		json_thread(h, "task", w->waker);
		json_thread(h, "woken", w->thread);
		json_object_end(&h->json);
		return 0;
	}
	add_time_cpu(h->to.out, w->time_ns, w->cpu);
	if (h->o->cpu_visual)
		strbuf_fill(h->to.out, ' ', h->o->nr_cpus + 2);
	add_name(h, w->waker);
	add_no_times(h);
	if (h->o->state)
		strbuf_fill(h->to.out, ' ', 7);
	strbuf_printf(h->to.out, "awakened: %s\n", name_of(h, w->thread));
	return 0;
}

static int on_migrate(void *ctx, const struct thread_migration *m)
{
	struct sched_timehist *h = ctx;
	struct timehist_thread *t = own(h, m->thread);
	if (!t)
		return -ENOMEM;
	if (time_wanted(h, m->time_ns, m->time_ns))
		t->nr_migrations++;
	if (!h->o->migrations || !side_wanted(h, m->by, m->thread, m->time_ns, m->cpu))
		return 0;
	if (h->to.json) {
		json_head(h, "migration", m->time_ns, m->cpu);
		json_thread(h, "task", m->by);
		json_thread(h, "migrated", m->thread);
		json_put_s64(&h->json, "from_cpu", m->from);
		json_put_s64(&h->json, "to_cpu", m->to);
		json_object_end(&h->json);
		return 0;
	}
	add_time_cpu(h->to.out, m->time_ns, m->cpu);
	add_visual(h, m->cpu, 'm', 2);
	add_name(h, m->by);
	add_no_times(h);
	if (h->o->state)
		strbuf_fill(h->to.out, ' ', 7);
	strbuf_printf(h->to.out, "migrated: %s cpu %d => %d\n", name_of(h, m->thread), m->from,
		      m->to);
	return 0;
}

static int on_lost(void *ctx, s32 cpu, u64 time_ns, u32 nr)
{
	struct sched_timehist *h = ctx;
	if (h->o->summary || !time_wanted(h, time_ns, time_ns))
		return 0;
	if (h->to.json) {
		json_head(h, "lost", time_ns, cpu);
		if (nr != UINT32_MAX)
			json_put_u64(&h->json, "events", nr);
		json_object_end(&h->json);
		return 0;
	}
	strbuf_printf(h->to.out, "%8llu.%06llu ", (unsigned long long)(time_ns / 1000000000),
		      (unsigned long long)(time_ns % 1000000000 / 1000));
	if (nr == UINT32_MAX)
		strbuf_printf(h->to.out, "lost events on cpu %d\n", cpu);
	else
		strbuf_printf(h->to.out, "lost %u events on cpu %d\n", nr, cpu);
	return 0;
}

/* ---- the head ---- */

static void print_head(struct sched_timehist *h)
{
	const struct sched_timehist_opts *o = h->o;
	struct strbuf *to = h->to.out;
	strbuf_printf(to, "%15s %6s ", "time", "cpu");
	if (o->cpu_visual) {
		strbuf_char(to, ' ');
		for (u32 i = 0; i < o->nr_cpus; i++)
			strbuf_printf(to, "%x", i % HEX_DIGITS);
		strbuf_char(to, ' ');
	}
	strbuf_printf(to, " %-*s", (int)h->width, "task name");
	strbuf_printf(to, "%s  %9s  %9s  %9s%s\n", o->show_prio ? "   prio" : "", "wait time",
		      "sch delay", "run time", o->state ? "  state" : "");
	strbuf_printf(to, "%15s %-6s ", "", "");
	if (o->cpu_visual)
		strbuf_fill(to, ' ', o->nr_cpus + 2);
	strbuf_printf(to, " %-*s", (int)h->width, "[tid/pid]");
	strbuf_printf(to, "%s  %9s  %9s  %9s%s\n", o->show_prio ? "       " : "", "(msec)",
		      "(msec)", "(msec)", o->state ? "       " : "");
	strbuf_fill(to, '-', 15);
	strbuf_str(to, " ------ ");
	if (o->cpu_visual) {
		strbuf_char(to, ' ');
		strbuf_fill(to, '-', o->nr_cpus);
		strbuf_char(to, ' ');
	}
	strbuf_char(to, ' ');
	strbuf_fill(to, '-', h->width);
	strbuf_printf(to, "%s  ---------  ---------  ---------%s\n", o->show_prio ? "  -----" : "",
		      o->state ? "  -----" : "");
}

void sched_timehist_begin(struct sched_timehist *h)
{
	if (h->to.json) {
		json_begin(&h->json, h->to.out, JSON_PRETTY);
		json_object(&h->json);
		json_key(&h->json, "events");
		json_array(&h->json);
	} else if (!h->o->summary) {
		print_head(h);
	}
}

/* ---- sums ---- */

/* Of the mean, relative to it, as perf has it. */
static double deviation(const struct timehist_thread *t)
{
	if (t->nr < 2 || t->mean <= 0)
		return 0;
	double variance = t->m2 / (double)(t->nr - 1);
	return 100 * sqrt(variance / (double)t->nr) / t->mean;
}

static void print_sums(struct sched_timehist *h, u32 thread, const struct timehist_thread *t)
{
	struct strbuf *to = h->to.out;
	strbuf_right(to, name_of(h, thread), h->width);
	strbuf_printf(to, "   %5d  %9llu ", thread_at(h->states, thread)->parent,
		      (unsigned long long)t->nr);
	add_ms(to, t->run_ns, 8);
	bool waits = h->o->state && !h->o->idle_only;
	u64 first[] = { t->min_ns, (u64)t->mean, t->max_ns },
	    second[] = { t->sleep_ns, t->iowait_ns, t->preempt_ns };
	for (int i = 0; i < 3; i++) {
		add_ms(to, waits ? second[i] : first[i], 6);
		strbuf_char(to, ' ');
	}
	if (waits)
		add_ms(to, t->total_delay_ns, 6);
	else
		strbuf_printf(to, " %5.2f   %5llu", deviation(t),
			      (unsigned long long)t->nr_migrations);
	strbuf_char(to, '\n');
}

static void json_sums(struct sched_timehist *h, u32 thread, const struct timehist_thread *t)
{
	struct json *j = &h->json;
	const struct sched_thread *who = thread_at(h->states, thread);
	json_object(j);
	json_put_str(j, "comm", thread_comm(h->states, thread));
	json_put_s64(j, "tid", who->tid);
	if (who->pid)
		json_put_s64(j, "pid", who->pid);
	if (who->parent >= 0)
		json_put_s64(j, "parent", who->parent);
	json_put_bool(j, "terminated", who->ended);
	json_put_u64(j, "runs", t->nr);
	json_put_u64(j, "run_ns", t->run_ns);
	json_put_u64(j, "min_run_ns", t->min_ns);
	json_put_u64(j, "avg_run_ns", (u64)t->mean);
	json_put_u64(j, "max_run_ns", t->max_ns);
	json_put_u64(j, "sleep_ns", t->sleep_ns);
	json_put_u64(j, "iowait_ns", t->iowait_ns);
	json_put_u64(j, "preempt_ns", t->preempt_ns);
	json_put_u64(j, "delay_ns", t->total_delay_ns);
	json_put_u64(j, "migrations", t->nr_migrations);
	json_put_u64(j, "lossy_ns", t->lossy_ns);
	json_object_end(j);
}

struct timehist_totals {
	u64 nr_threads, nr_runs, run_ns;
};

static void each_thread(struct sched_timehist *h, bool ended, struct timehist_totals *sums)
{
	for (u32 i = 0; i < h->threads.nr; i++) {
		const struct timehist_thread *t = &h->threads.at[i];
		const struct sched_thread *who = thread_at(h->states, i);
		if (!t->nr || !who->tid || who->ended != ended)
			continue;
		sums->nr_threads++;
		sums->nr_runs += t->nr;
		sums->run_ns += t->run_ns;
		if (h->to.json)
			json_sums(h, i, t);
		else
			print_sums(h, i, t);
	}
}

static void print_idle(struct sched_timehist *h, struct timehist_totals *sums)
{
	struct strbuf *to = h->to.out;
	double window = (double)(h->last_ns - h->first_ns);
	strbuf_str(to, "\nIdle stats:\n");
	for (s32 cpu = 0; cpu <= thread_states_totals(h->states)->max_cpu; cpu++) {
		if (!cpu_wanted(h, cpu))
			continue;
		u32 idle = thread_states_idle(h->states, cpu);
		bool ran = idle < h->threads.nr;
		u64 idle_ns = ran ? h->threads.at[idle].run_ns : 0;
		u64 nr = ran ? h->threads.at[idle].nr : 0;
		sums->nr_runs += nr;
		if (!nr && thread_states_current(h->states, cpu, NULL) == THREAD_NONE) {
			strbuf_printf(to, "    CPU %2d idle entire time window\n", cpu);
			continue;
		}
		strbuf_printf(to, "    CPU %2d idle for ", cpu);
		add_ms(to, idle_ns, 6);
		strbuf_printf(to, " msec  (%6.2f%%)\n",
			      window > 0 ? 100 * (double)idle_ns / window : 0);
	}
}

static void print_summary(struct sched_timehist *h)
{
	struct strbuf *to = h->to.out;
	struct timehist_totals sums = { 0 };
	bool idle = h->o->idle_only, waits = h->o->state && !idle;
	int width = (int)h->width;
	strbuf_printf(to, "\n%s summary\n", idle ? "Idle-time" : waits ? "Wait-time" : "Runtime");
	strbuf_printf(to, "%*s  parent  %s  ", width, "comm", idle ? "sched-out" : " sched-in");
	strbuf_str(
		to,
		idle	? "  idle-time   min-idle    avg-idle    max-idle  stddev  migrations\n"
		: waits ? "   run-time      sleep      iowait     preempt       delay\n"
			: "   run-time    min-run     avg-run     max-run  stddev  migrations\n");
	strbuf_printf(to, "%*s            (count)  ", width, "");
	strbuf_printf(to, "     (msec)     (msec)      (msec)      (msec)       %s\n",
		      h->o->state ? "(msec)" : "%");
	strbuf_fill(to, '-', SUMMARY_RULE);
	strbuf_char(to, '\n');
	each_thread(h, false, &sums);
	u64 living = sums.nr_threads;
	strbuf_str(to, living ? "" : "<no still running tasks>\n");
	strbuf_str(to, "\nTerminated tasks:\n");
	each_thread(h, true, &sums);
	strbuf_str(to, sums.nr_threads > living ? "" : "<no terminated tasks>\n");
	if (h->nr_skipped && !idle)
		return;
	print_idle(h, &sums);
	strbuf_printf(to,
		      "\n    Total number of unique tasks: %llu\nTotal number of context switches: "
		      "%llu\n           Total run time (msec): ",
		      (unsigned long long)sums.nr_threads, (unsigned long long)sums.nr_runs);
	add_ms(to, sums.run_ns, 2);
	strbuf_str(to, "\n    Total scheduling time (msec): ");
	add_ms(to, h->last_ns - h->first_ns, 2);
	strbuf_printf(to, " (x %d)\n", thread_states_totals(h->states)->max_cpu + 1);
}

int sched_timehist_end(struct sched_timehist *h)
{
	int err = thread_states_finish(h->states, 0);
	bool sums = h->o->summary || h->o->with_summary;
	if (err)
		return err;
	if (!h->to.json) {
		if (sums)
			print_summary(h);
		return 0;
	}
	json_array_end(&h->json);
	if (sums) {
		struct timehist_totals totals = { 0 };
		json_key(&h->json, "threads");
		json_array(&h->json);
		each_thread(h, false, &totals);
		each_thread(h, true, &totals);
		json_array_end(&h->json);
	}
	json_object_end(&h->json);
	return json_end(&h->json);
}

/* ---- life ---- */

static const struct thread_states_ops ops = {
	.interval = on_interval,
	.switched = on_switched,
	.wake = on_wake,
	.migrate = on_migrate,
	.lost = on_lost,
};

struct sched_timehist *sched_timehist_new(const struct sched_timehist_opts *o, struct tell to)
{
	struct sched_timehist *h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->o = o;
	h->to = to;
	h->width = COMM_WIDTH;
	strbuf_init(&h->name);
	h->name.screen = to.out->screen;
	h->states = thread_states_new(&ops, h);
	if (h->states)
		return h;
	sched_timehist_free(h);
	return NULL;
}

void sched_timehist_free(struct sched_timehist *h)
{
	if (!h)
		return;
	thread_states_free(h->states);
	vec_free(&h->threads);
	vec_free(&h->before_idle);
	strbuf_done(&h->name);
	free(h);
}

struct thread_states *sched_timehist_states(struct sched_timehist *h)
{
	return h->states;
}
