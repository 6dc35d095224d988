/* sched pipe: two tasks, each of which waits for the other's write; an exchange costs two switches. */
#include "base/clock.h"
#include "suite/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOPS_DEFAULT = 1000000, WARM_UP = 100 };

struct exchange {
	int there[2], back[2]; /* pipes */
	u64 loops;
};

static int pass(int to, int from, bool write_first, u64 loops)
{
	int word = 0;
	for (; loops; loops--) {
		if (write_first && write(to, &word, sizeof(word)) != sizeof(word))
			return -EPIPE;
		ssize_t got = read(from, &word, sizeof(word));
		if (got != sizeof(word))
			return got < 0 ? -errno : -EPIPE;
		if (!write_first && write(to, &word, sizeof(word)) != sizeof(word))
			return -EPIPE;
	}
	return 0;
}

static int answer(struct exchange *x)
{
	return pass(x->back[1], x->there[0], false, x->loops + WARM_UP);
}

static void *answer_thread(void *arg)
{
	return (void *)(intptr_t)answer(arg);
}

static int ask(const struct exchange *x, u64 *ns)
{
	int err = pass(x->there[1], x->back[0], true, WARM_UP);
	u64 start = clock_monotonic_ns();
	if (!err)
		err = pass(x->there[1], x->back[0], true, x->loops);
	*ns = clock_monotonic_ns() - start;
	return err;
}

static int with_thread(struct exchange *x, u64 *ns)
{
	pthread_t other;
	int err = -pthread_create(&other, NULL, answer_thread, x);
	if (err)
		return err;
	err = ask(x, ns);
	pthread_join(other, NULL);
	return err;
}

static int with_process(struct exchange *x, u64 *ns)
{
	pid_t parent = getpid(), pid = fork();
	if (!pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(getppid() != parent || answer(x) ? 1 : 0);
	}
	if (pid < 0)
		return -errno;
	int err = ask(x, ns);
	if (err)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err;
}

static void print(const struct suite_params *p, struct suite_run *r, u64 loops, u64 ns)
{
	suite_add(r, NULL, "time", "s", (double)ns / 1e9);
	suite_add(r, NULL, "time_per_op", "us", (double)ns / 1e3 / (double)loops);
	if (p->simple) {
		suite_simple_time(r, ns);
		return;
	}
	strbuf_printf(&r->text, "# Executed %llu pipe operations between two %s\n\n",
		      (unsigned long long)loops, p->use_threads ? "threads" : "processes");
	suite_total_time(r, ns);
	strbuf_char(&r->text, '\n');
	suite_per_op(r, ns, loops);
}

int suite_pipe(const struct suite_params *p, struct suite_run *r)
{
	struct exchange x = { { -1, -1 }, { -1, -1 }, 0 };
	u64 ns = 0;
	int err = suite_loops(r, p->loops, LOOPS_DEFAULT, &x.loops);
	if (err)
		return err;
	err = pipe2(x.there, O_CLOEXEC) || pipe2(x.back, O_CLOEXEC) ? -errno : 0;
	if (!err)
		err = p->use_threads ? with_thread(&x, &ns) : with_process(&x, &ns);
	for (int i = 0; i < 2; i++) {
		if (x.there[i] >= 0)
			close(x.there[i]);
		if (x.back[i] >= 0)
			close(x.back[i]);
	}
	if (err)
		return diag_error(r->diag, err, "cannot exchange data through pipes: %s",
				  strerror(-err));
	print(p, r, x.loops, ns);
	return 0;
}
