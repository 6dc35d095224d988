/* futex hash|wake|wake-parallel|requeue|lock-pi */
#include "base/clock.h"
#include "suite/impl.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SECONDS_DEFAULT = 10, RUNS_DEFAULT = 10, FUTEXES_DEFAULT = 1024, FUTEXES_MAX = 1 << 20 };

static long futex(u32 *at, int op, u32 value, const struct timespec *limit, u32 *other, u32 expected)
{
	return syscall(SYS_futex, at, op, value, limit, other, expected);
}

/* In place of the time limit: a number. */
static long futex_requeue(u32 *from, u32 *to, int op, u32 nr_wake, u32 nr_requeue)
{
	return syscall(SYS_futex, from, op, nr_wake, (unsigned long)nr_requeue, to, 0);
}

static int private_flag(const struct suite_params *p)
{
	return p->shared ? 0 : FUTEX_PRIVATE_FLAG;
}

static const char *scope(const struct suite_params *p)
{
	return p->shared ? "shared" : "private";
}

static struct suite_member *new_members(struct suite_run *r, u32 nr)
{
	struct suite_member *ret = calloc(nr, sizeof(*ret));
	if (!ret)
		diag_error(r->diag, -ENOMEM, "no memory for %u threads", nr);
	return ret;
}

/* "Averaged 458240 operations/sec (+- 2.35%), total secs = 1" */
static void print_average(const struct suite_params *p, struct suite_run *r, const double *rates,
			  u32 nr, u32 seconds)
{
	struct suite_stats s = suite_stats(rates, nr);
	strbuf_printf(&r->text, "%sAveraged %.0f operations/sec (+- %.2f%%), total secs = %u\n",
		      p->silent ? "" : "\n", s.mean, s.error_percent, seconds);
	suite_add(r, NULL, "ops_per_second_and_thread", "1/s", s.mean);
}

/* Runs a team for the time; rates: [nr], the caller's. */
static int run_rates(const struct suite_params *p, struct suite_run *r, struct suite_member *members,
		     u32 nr, u64 seconds, void *(*fn)(void *), double *rates)
{
	struct suite_team team;
	int err = suite_team_start(&team, members, nr, true, fn, r);
	if (err)
		return err;
	u64 ns = suite_team_run(&team, seconds);
	suite_team_join(&team);
	for (u32 i = 0; i < nr; i++) {
		rates[i] = (double)members[i].ops * 1e9 / (double)ns;
		err = err ? err : members[i].err;
	}
	return err;
}

/* ---- hash ------------------------------------------------------------------------------------------------------- */

struct hash_work {
	u32 *futexes;
	u32 nr;
	int op;
};

/* The value is not the one that is waited for: the kernel finds the futex in its table, looks, and returns. */
static void *hash_thread(void *arg)
{
	struct suite_member *m = arg;
	const struct hash_work *w = m->work;
	u64 ops = 0;
	if (!suite_team_ready(m))
		return NULL;
	do {
		for (u32 i = 0; i < w->nr; i++, ops++)
			if (futex(&w->futexes[i], w->op, 1234, NULL, NULL, 0) != -1 ||
			    errno != EAGAIN)
				m->err = -EIO;
	} while (!suite_team_is_done(m->team));
	m->ops = ops;
	return NULL;
}

static void print_hash(const struct suite_params *p, struct suite_run *r,
		       const struct hash_work *works, const double *rates, u32 nr)
{
	for (u32 i = 0; i < nr && !p->silent; i++)
		strbuf_printf(&r->text, "[thread %2u] futexes: %p ... %p [ %.0f ops/sec ]\n", i,
			      (void *)&works[i].futexes[0],
			      (void *)&works[i].futexes[works[i].nr - 1], rates[i]);
}

int suite_futex_hash(const struct suite_params *p, struct suite_run *r)
{
	u32 nr, nr_futexes, seconds;
	int err = suite_limit(r, "number of threads", p->threads, suite_nr_cpus(),
			      SUITE_THREADS_MAX, &nr);
	if (!err)
		err = suite_limit(r, "number of futexes", p->futexes, FUTEXES_DEFAULT, FUTEXES_MAX,
				  &nr_futexes);
	if (!err)
		err = suite_limit(r, "seconds", p->seconds, SECONDS_DEFAULT, SUITE_SECONDS_MAX,
				  &seconds);
	if (!err)
		err = suite_lock_memory(p, r);
	if (err)
		return err;
	struct suite_member *members = new_members(r, nr);
	struct hash_work *works = calloc(nr, sizeof(*works));
	double *rates = calloc(nr, sizeof(*rates));
	err = members && works && rates ? 0 : -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++) {
		works[i] = (struct hash_work){ calloc(nr_futexes, sizeof(u32)), nr_futexes,
					       FUTEX_WAIT | private_flag(p) };
		members[i].work = &works[i];
		err = works[i].futexes ? 0 : -ENOMEM;
	}
	strbuf_printf(
		&r->text, "Run summary [PID %d]: %u threads, each operating on %u [%s] futexes for %u secs.\n\n",
		(int)getpid(), nr, nr_futexes, scope(p), seconds);
	if (!err)
		err = run_rates(p, r, members, nr, seconds, hash_thread, rates);
	if (!err) {
		print_hash(p, r, works, rates, nr);
		print_average(p, r, rates, nr, seconds);
	}
	for (u32 i = 0; works && i < nr; i++)
		free(works[i].futexes);
	free(works);
	free(members);
	free(rates);
	return err;
}

/* ---- lock-pi ---------------------------------------------------------------------------------------------------- */

struct pi_work {
	u32 *lock;
	int flag;
};

static void *pi_thread(void *arg)
{
	struct suite_member *m = arg;
	const struct pi_work *w = m->work;
	if (!suite_team_ready(m))
		return NULL;
	do {
		if (futex(w->lock, FUTEX_LOCK_PI | w->flag, 0, NULL, NULL, 0)) {
			if (errno == EINTR || errno == EAGAIN)
				continue;
			m->err = -errno;
			break;
		}
		usleep(1);
		if (futex(w->lock, FUTEX_UNLOCK_PI | w->flag, 0, NULL, NULL, 0))
			m->err = -errno;
		m->ops++;
	} while (!suite_team_is_done(m->team));
	return NULL;
}

int suite_futex_lock_pi(const struct suite_params *p, struct suite_run *r)
{
	u32 nr, seconds;
	int err = suite_limit(r, "number of threads", p->threads, suite_nr_cpus(),
			      SUITE_THREADS_MAX, &nr);
	if (!err)
		err = suite_limit(r, "seconds", p->seconds, SECONDS_DEFAULT, SUITE_SECONDS_MAX,
				  &seconds);
	if (!err)
		err = suite_lock_memory(p, r);
	if (err)
		return err;
	struct suite_member *members = new_members(r, nr);
	struct pi_work *works = calloc(nr, sizeof(*works));
	u32 *locks = calloc(nr, sizeof(*locks));
	double *rates = calloc(nr, sizeof(*rates));
	err = members && works && rates && locks ? 0 : -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++) {
		works[i] = (struct pi_work){ &locks[p->multi ? i : 0], private_flag(p) };
		members[i].work = &works[i];
	}
	strbuf_printf(
		&r->text,
		"Run summary [PID %d]: %u threads doing pi lock/unlock pairing for %u secs.\n\n",
		(int)getpid(), nr, seconds);
	if (!err)
		err = run_rates(p, r, members, nr, seconds, pi_thread, rates);
	for (u32 i = 0; i < nr && !err && !p->silent; i++)
		strbuf_printf(&r->text, "[thread %3u] futex: %p [ %.0f ops/sec ]\n", i,
			      (void *)works[i].lock, rates[i]);
	if (!err)
		print_average(p, r, rates, nr, seconds);
	else if (!r->diag->nr_errors)
		diag_error(r->diag, err, "cannot lock a futex with priority inheritance: %s",
			   strerror(-err));
	free(works);
	free(locks);
	free(members);
	free(rates);
	return err;
}

/* ---- threads that wait ------------------------------------------------------------------------------------------ */

struct sleepers {
	u32 from, to; /* futexes; to: where they are moved to */
	int flag;
	bool pi;
	struct suite_team team;
	struct suite_member *members;
	u32 nr;
};

/* false: given up. Nothing but a time limit ends this wait if the kernel refuses to move the thread. */
static bool wait_to_be_moved(struct sleepers *s)
{
	struct timespec limit;
	while (!suite_team_is_done(&s->team)) {
		clock_gettime(CLOCK_MONOTONIC, &limit);
		limit.tv_sec += 5;
		if (!futex(&s->from, FUTEX_WAIT_REQUEUE_PI | s->flag, 0, &limit, &s->to, 0))
			return true;
		if (errno != EINTR && errno != EAGAIN && errno != ETIMEDOUT)
			break;
	}
	return false;
}

static void *sleeper_thread(void *arg)
{
	struct suite_member *m = arg;
	struct sleepers *s = m->work;
	if (!suite_team_ready(m))
		return NULL;
	suite_team_enter(m);
	if (s->pi) {
		if (!wait_to_be_moved(s))
			return NULL;
		(void)futex(&s->to, FUTEX_UNLOCK_PI | s->flag, 0, NULL, NULL, 0);
		return NULL;
	}
	while (futex(&s->from, FUTEX_WAIT | s->flag, 0, NULL, NULL, 0) && errno == EINTR)
		;
	return NULL;
}

/* All of them sleep on `from` when it returns 0. */
static int put_to_sleep(struct sleepers *s, struct suite_run *r)
{
	for (u32 i = 0; i < s->nr; i++)
		s->members[i] = (struct suite_member){ .work = s };
	s->from = s->to = 0;
	int err = suite_team_start(&s->team, s->members, s->nr, true, sleeper_thread, r);
	if (err)
		return err;
	suite_team_go(&s->team);
	suite_team_wait_asleep(&s->team);
	return 0;
}

static int begin_sleepers(struct sleepers *s, const struct suite_params *p, struct suite_run *r,
			  u32 *nr_runs)
{
	*s = (struct sleepers){ .flag = private_flag(p), .pi = p->pi };
	int err = suite_limit(r, "number of threads", p->threads, suite_nr_cpus(),
			      SUITE_THREADS_MAX, &s->nr);
	if (!err)
		err = suite_limit(r, "number of runs", p->repeat, RUNS_DEFAULT, SUITE_RUNS_MAX,
				  nr_runs);
	if (!err)
		err = suite_lock_memory(p, r);
	if (!err)
		s->members = new_members(r, s->nr);
	return err ? err : s->members ? 0 : -ENOMEM;
}

static double ms(u64 ns)
{
	return (double)ns / 1e6;
}

/* ---- wake ------------------------------------------------------------------------------------------------------- */

/* Wakes at_once at a time until all are awake. Returns how many were woken. */
static u32 wake_all(struct sleepers *s, u32 at_once, u32 nr)
{
	u32 woken = 0;
	while (woken < nr) {
		/* Not those that another waker is to wake: it would wait for them for ever. */
		u32 most = min(at_once, nr - woken);
		long ret = futex(&s->from, FUTEX_WAKE | s->flag, most, NULL, NULL, 0);
		woken += ret > 0 ? (u32)ret : 0;
	}
	return woken;
}

int suite_futex_wake(const struct suite_params *p, struct suite_run *r)
{
	struct sleepers s;
	u32 nr_runs, at_once;
	int err = begin_sleepers(&s, p, r, &nr_runs);
	if (!err)
		err = suite_limit(r, "threads to wake at once", p->nr_wakes, 1, SUITE_THREADS_MAX,
				  &at_once);
	double *times = err ? NULL : calloc(nr_runs, sizeof(*times));
	if (!err && !times)
		err = -ENOMEM;
	if (!err)
		strbuf_printf(&r->text,
			      "Run summary [PID %d]: blocking on %u threads (at [%s] futex %p), "
			      "waking up %u at a time.\n\n",
			      (int)getpid(), s.nr, scope(p), (void *)&s.from, at_once);
	for (u32 i = 0; i < nr_runs && !err; i++) {
		err = put_to_sleep(&s, r);
		if (err)
			break;
		u64 start = clock_monotonic_ns();
		u32 woken = wake_all(&s, at_once, s.nr);
		times[i] = ms(clock_monotonic_ns() - start);
		suite_team_join(&s.team);
		suite_add(r, NULL, "wake_all", "ms", times[i]);
		if (!p->silent)
			strbuf_printf(&r->text, "[Run %u]: Wokeup %u of %u threads in %.4f ms\n",
				      i + 1, woken, s.nr, times[i]);
	}
	if (!err) {
		struct suite_stats st = suite_stats(times, nr_runs);
		strbuf_printf(&r->text, "Wokeup %u of %u threads in %.4f ms (+-%.2f%%)\n", s.nr,
			      s.nr, st.mean, st.error_percent);
	}
	free(times);
	free(s.members);
	return err;
}

/* ---- wake-parallel ---------------------------------------------------------------------------------------------- */

struct waker {
	struct sleepers *sleepers;
	u32 nr; /* to wake */
	double ms;
};

static void *waker_thread(void *arg)
{
	struct suite_member *m = arg;
	struct waker *w = m->work;
	if (!suite_team_ready(m))
		return NULL;
	u64 start = clock_monotonic_ns();
	(void)wake_all(w->sleepers, w->nr, w->nr);
	w->ms = ms(clock_monotonic_ns() - start);
	return NULL;
}

struct wakers {
	struct suite_member *members;
	struct waker *at;
	u32 nr, each;
	double *times; /* [nr]: of one run */
};

static int wake_in_parallel(struct wakers *w, struct sleepers *s, struct suite_run *r,
			    struct suite_stats *ret)
{
	struct suite_team team;
	int err = put_to_sleep(s, r);
	if (err)
		return err;
	for (u32 i = 0; i < w->nr; i++) {
		w->at[i] = (struct waker){ s, w->each, 0 };
		w->members[i] = (struct suite_member){ .work = &w->at[i] };
	}
	err = suite_team_start(&team, w->members, w->nr, true, waker_thread, r);
	if (err) {
		(void)wake_all(s, s->nr, s->nr);
	} else {
		suite_team_go(&team);
		suite_team_join(&team);
	}
	suite_team_join(&s->team);
	for (u32 i = 0; i < w->nr; i++)
		w->times[i] = w->at[i].ms;
	*ret = suite_stats(w->times, w->nr);
	return err;
}

static int begin_wakers(struct wakers *w, const struct sleepers *s, const struct suite_params *p,
			struct suite_run *r)
{
	int err = suite_limit(r, "number of waking threads", p->nr_wakers, s->nr, SUITE_THREADS_MAX,
			      &w->nr);
	if (err)
		return err;
	if (w->nr > s->nr || s->nr % w->nr) {
		diag_error(r->diag, -EINVAL,
			   "%u threads cannot be divided evenly among %u waking threads", s->nr,
			   w->nr);
		diag_hint(
			r->diag,
			"the number of threads must be a multiple of the number of waking threads");
		return -EINVAL;
	}
	w->each = s->nr / w->nr;
	w->members = calloc(w->nr, sizeof(*w->members));
	w->at = calloc(w->nr, sizeof(*w->at));
	w->times = calloc(w->nr, sizeof(*w->times));
	return w->members && w->at && w->times ? 0 : -ENOMEM;
}

int suite_futex_wake_parallel(const struct suite_params *p, struct suite_run *r)
{
	struct sleepers s;
	struct wakers w = { 0 };
	u32 nr_runs;
	int err = begin_sleepers(&s, p, r, &nr_runs);
	if (!err)
		err = begin_wakers(&w, &s, p, r);
	double *means = err ? NULL : calloc(nr_runs, sizeof(*means));
	if (!err && !means)
		err = -ENOMEM;
	if (!err)
		strbuf_printf(&r->text,
			      "Run summary [PID %d]: blocking on %u threads (at [%s] futex %p), %u "
			      "threads waking up %u at a time.\n\n",
			      (int)getpid(), s.nr, scope(p), (void *)&s.from, w.nr, w.each);
	for (u32 i = 0; i < nr_runs && !err; i++) {
		struct suite_stats st;
		err = wake_in_parallel(&w, &s, r, &st);
		if (err)
			break;
		means[i] = st.mean;
		suite_add(r, NULL, "wake_share", "ms", st.mean);
		if (!p->silent)
			strbuf_printf(
				&r->text, "[Run %u]: Avg per-thread latency (waking %u/%u threads) in %.4f ms (+-%.2f%%)\n",
				i + 1, w.each, s.nr, st.mean, st.error_percent);
	}
	if (!err) {
		struct suite_stats st = suite_stats(means, nr_runs);
		strbuf_printf(
			&r->text,
			"Avg per-thread latency (waking %u/%u threads) in %.4f ms (+-%.2f%%)\n",
			w.each, s.nr, st.mean, st.error_percent);
	}
	free(w.members);
	free(w.at);
	free(w.times);
	free(means);
	free(s.members);
	return err;
}

/* ---- requeue ---------------------------------------------------------------------------------------------------- */

struct requeued {
	u32 moved, woken;
	double ms;
};

/* Of the return value of the PI variant: one at most was woken, with the lock. */
static int requeue_all(struct sleepers *s, u32 at_once, struct requeued *q)
{
	int op = (s->pi ? FUTEX_CMP_REQUEUE_PI : FUTEX_CMP_REQUEUE) | s->flag;
	*q = (struct requeued){ 0 };
	u64 start = clock_monotonic_ns();
	while (q->moved + q->woken < s->nr) {
		bool was_free = s->pi && !__atomic_load_n(&s->to, __ATOMIC_RELAXED);
		long ret = futex_requeue(&s->from, &s->to, op, s->pi ? 1 : 0, at_once);
		if (ret < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (ret > 0 && was_free) {
			q->woken++;
			ret--;
		}
		q->moved += ret > 0 ? (u32)ret : 0;
	}
	q->ms = ms(clock_monotonic_ns() - start);
	return 0;
}

/* With PI each wakes the next one. err: they may be on either futex. */
static void wake_moved(struct sleepers *s, int err)
{
	u32 woken = 0;
	__atomic_store_n(&s->team.done, err != 0, __ATOMIC_RELAXED);
	while (!s->pi && woken < s->nr) {
		long ret = futex(&s->to, FUTEX_WAKE | s->flag, s->nr, NULL, NULL, 0);
		woken += ret > 0 ? (u32)ret : 0;
		ret = err ? futex(&s->from, FUTEX_WAKE | s->flag, s->nr, NULL, NULL, 0) : 0;
		woken += ret > 0 ? (u32)ret : 0;
	}
}

static void print_requeued(struct suite_run *r, const struct sleepers *s, u32 run,
			   const struct requeued *q)
{
	if (s->pi)
		strbuf_printf(&r->text,
			      "[Run %u]: Awoke and Requeued (%u+%u) of %u threads in %.4f ms\n",
			      run, q->woken, q->moved, s->nr, q->ms);
	else
		strbuf_printf(&r->text, "[Run %u]: Requeued %u of %u threads in %.4f ms\n", run,
			      q->moved, s->nr, q->ms);
}

int suite_futex_requeue(const struct suite_params *p, struct suite_run *r)
{
	struct sleepers s;
	u32 nr_runs, at_once;
	int err = begin_sleepers(&s, p, r, &nr_runs);
	if (!err)
		err = suite_limit(r, "threads to requeue at once", p->nr_requeue, 1,
				  SUITE_THREADS_MAX, &at_once);
	double *times = err ? NULL : calloc(nr_runs, sizeof(*times));
	if (!err && !times)
		err = -ENOMEM;
	if (!err && p->broadcast)
		at_once = s.nr;
	if (!err)
		strbuf_printf(
			&r->text, "Run summary [PID %d]: Requeuing %u threads (from [%s] %p to %s%p), %u at a time.\n\n",
			(int)getpid(), s.nr, scope(p), (void *)&s.from, p->pi ? "PI " : "",
			(void *)&s.to, at_once);
	for (u32 i = 0; i < nr_runs && !err; i++) {
		struct requeued q;
		err = put_to_sleep(&s, r);
		if (err)
			break;
		err = requeue_all(&s, at_once, &q);
		wake_moved(&s, err);
		suite_team_join(&s.team);
		if (err) {
			diag_error(r->diag, err, "cannot requeue threads: %s", strerror(-err));
			break;
		}
		times[i] = q.ms;
		suite_add(r, NULL, "requeue_all", "ms", q.ms);
		if (!p->silent)
			print_requeued(r, &s, i + 1, &q);
	}
	if (!err) {
		struct suite_stats st = suite_stats(times, nr_runs);
		strbuf_printf(&r->text, "Requeued %u of %u threads in %.4f ms (+-%.2f%%)\n", s.nr,
			      s.nr, st.mean, st.error_percent);
	}
	free(times);
	free(s.members);
	return err;
}
