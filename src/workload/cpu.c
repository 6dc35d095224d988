/* Workloads that compute: known loops, known stacks, threads, a contended lock. */
#include "workload/workload.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

WORKLOAD_FN void workload_spin(void)
{
	WORKLOAD_KEEP_FRAME();
	while (!workload_over)
		;
}

WORKLOAD_FN int workload_noploop(const struct workload_args *a)
{
	int err = workload_start_timer(a, a->ns);
	if (!err)
		workload_spin();
	return err;
}

/* What perf's tests of data addresses look for: a variable of one cache line, written at its start and near its end. */
struct workload_line {
	unsigned char first, between[55], last;
} __attribute__((aligned(64)));
extern volatile struct workload_line buf1;
volatile struct workload_line buf1;

WORKLOAD_FN int workload_datasym(const struct workload_args *a)
{
	int err = workload_start_timer(a, a->ns);
	while (!err && !workload_over) {
		buf1.first++;
		if (buf1.first == 123)
			buf1.last++;
	}
	return err;
}

WORKLOAD_FN void workload_leaf(void)
{
	WORKLOAD_KEEP_FRAME();
	while (!workload_over)
		;
}

WORKLOAD_FN void workload_middle(void)
{
	workload_leaf();
	WORKLOAD_NO_TAIL_CALL();
}

WORKLOAD_FN int workload_parent(const struct workload_args *a)
{
	int err = workload_start_timer(a, a->ns);
	if (!err)
		workload_middle();
	return err;
}

WORKLOAD_FN u64 workload_recurse(u64 depth)
{
	WORKLOAD_KEEP_FRAME();
	if (depth > 1)
		depth += workload_recurse(depth - 1);
	else
		workload_spin();
	WORKLOAD_NO_TAIL_CALL();
	return depth;
}

WORKLOAD_FN int workload_deep(const struct workload_args *a)
{
	if (!a->n)
		return 0;
	int err = workload_start_timer(a, a->ns);
	if (err)
		return err;
	u64 sum = workload_recurse(a->n);
	return sum == a->n * (a->n + 1) / 2 ? 0 : -EIO;
}

static inline __attribute__((always_inline)) u64 inline_inner(u64 x)
{
	for (int i = 0; i < 1000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static inline __attribute__((always_inline)) u64 inline_middle(u64 x)
{
	return inline_inner(x + 1) ^ 0x5a;
}

WORKLOAD_FN u64 workload_inline_caller(u64 x)
{
	WORKLOAD_KEEP_FRAME();
	return inline_middle(x) | 1;
}

WORKLOAD_FN int workload_inline(const struct workload_args *a)
{
	u64 x = 1;
	int err = workload_start_timer(a, a->ns);
	while (!err && !workload_over)
		x = workload_inline_caller(x);
	return err ? err : x ? 0 : -EIO;
}

/* A branch of each kind, under the names that perf's test of branch stacks looks for. */
WORKLOAD_FN static void brstack_bar(void)
{
	WORKLOAD_KEEP_FRAME();
}

WORKLOAD_FN static void brstack_foo(void)
{
	brstack_bar();
	WORKLOAD_NO_TAIL_CALL();
}

WORKLOAD_FN static void brstack_bench(u64 i)
{
	void (*volatile indirect)(void) = brstack_foo;
	if (i % 3)
		brstack_foo();
	brstack_bar();
	indirect();
	WORKLOAD_NO_TAIL_CALL();
}

WORKLOAD_FN int workload_brstack(const struct workload_args *a)
{
	for (u64 i = 0; i < a->n; i++)
		brstack_bench(i);
	return 0;
}

WORKLOAD_FN double workload_sqrt(double x)
{
	/* Several, so that most of the time is spent here and not in the loop around it. */
	enum { ROOTS = 16 };
	double sum = 0;
	WORKLOAD_KEEP_FRAME();
	for (int i = 0; i < ROOTS; i++)
		sum += sqrt(x + i);
	WORKLOAD_NO_TAIL_CALL();
	return sum;
}

/* As in perf, a child computes, and the parent sleeps until it is done. */
WORKLOAD_FN int workload_sqrtloop(const struct workload_args *a)
{
	double sum = 0;
	int status = 0;
	pid_t child = fork();
	if (child < 0)
		return diag_error(a->d, -errno, "cannot fork: %s", strerror(errno));
	if (!child) {
		int err = workload_start_timer(a, a->ns);
		for (double x = 1; !err && !workload_over; x += 1)
			sum += workload_sqrt(x);
		_exit(err || sum < 0 ? 1 : 0);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status ? -EIO : 0;
}

WORKLOAD_FN void *workload_thread(void *arg)
{
	workload_spin();
	WORKLOAD_NO_TAIL_CALL();
	return arg;
}

/* Runs fn on so many threads and waits for them. */
static int run_threads(const struct workload_args *a, void *(*fn)(void *), void *arg)
{
	pthread_t *threads = calloc(a->threads, sizeof(*threads));
	unsigned nr = 0;
	int err = threads ? 0 : ENOMEM;
	for (; !err && nr < a->threads; nr++) {
		err = pthread_create(&threads[nr], NULL, fn, arg);
		if (err)
			break;
	}
	if (err)
		workload_over = 1;
	for (unsigned i = 0; i < nr; i++)
		(void)pthread_join(threads[i], NULL);
	free(threads);
	if (err)
		diag_error(a->d, -err, "cannot start %u threads: %s", a->threads, strerror(err));
	return -err;
}

WORKLOAD_FN int workload_thloop(const struct workload_args *a)
{
	int err = workload_start_timer(a, a->ns * a->threads);
	return err ? err : run_threads(a, workload_thread, NULL);
}

struct mutex_state {
	pthread_mutex_t lock;
	u64 rounds;
	unsigned long counter;
};

/* Sleeping inside makes sure that the others find the lock taken. */
WORKLOAD_FN void workload_locked(unsigned long *counter)
{
	++*counter;
	(void)usleep(100);
}

static void *mutex_thread(void *arg)
{
	struct mutex_state *s = arg;
	for (u64 i = 0; i < s->rounds; i++) {
		(void)pthread_mutex_lock(&s->lock);
		workload_locked(&s->counter);
		(void)pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

WORKLOAD_FN int workload_mutex(const struct workload_args *a)
{
	struct mutex_state s = { .lock = PTHREAD_MUTEX_INITIALIZER, .rounds = a->n };
	int err = run_threads(a, mutex_thread, &s);
	return err ? err : s.counter == a->n * a->threads ? 0 : -EIO;
}
