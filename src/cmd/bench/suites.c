/* bench sched|syscall|mem|futex|epoll|internals|breakpoint|all: perf's suites with perf's options and layouts. */
#include "cmd/bench/suites.h"

#include "base/json.h"
#include "cmd/app/app.h"

#include <errno.h>
#include <string.h>

enum bench_format { BENCH_DEFAULT, BENCH_SIMPLE };
enum { RUNS_MAX = 1000, BENCHES_MAX = 64 };

const char *const bench_formats[] = { "default", "simple", NULL };

/* ---- JSON and the spread over runs ------------------------------------------------------------------------------- */

static void put_series(struct json *j, const struct suite_series *s)
{
	struct suite_stats st = suite_stats(s->values.at, s->values.nr);
	json_object(j);
	json_put_str(j, "name", s->name);
	if (s->part)
		json_put_str(j, "of", s->part);
	json_put_str(j, "unit", s->unit);
	json_put_double(j, "mean", st.mean);
	json_put_double(j, "min", st.min);
	json_put_double(j, "max", st.max);
	json_put_double(j, "error_percent", st.error_percent);
	json_key(j, "values");
	json_array(j);
	vec_for_each (&s->values, v)
		json_double(j, *v);
	json_array_end(j);
	json_object_end(j);
}

static void put_bench(struct json *j, const struct suite_bench *b, const struct suite_run *r)
{
	json_object(j);
	json_put_str(j, "collection", b->collection);
	json_put_str(j, "benchmark", b->name);
	json_key(j, "results");
	json_array(j);
	vec_for_each (&r->series, s)
		put_series(j, s);
	json_array_end(j);
	json_object_end(j);
}

static void print_spread(struct app *app, const struct suite_run *r)
{
	vec_for_each (&r->series, s) {
		struct suite_stats st = suite_stats(s->values.at, s->values.nr);
		strbuf_printf(&app->out, "# %zu runs: %s%s%s %.6g %s (+- %.2f%%), %.6g to %.6g\n",
			      s->values.nr, s->part ? s->part : "", s->part ? " " : "", s->name,
			      st.mean, s->unit, st.error_percent, st.min, st.max);
	}
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

struct bench_print {
	struct app *app;
	const struct bench_suite_opts *opts;
	struct json json;
	bool all; /* one of several: perf's heads differ */
};

static void print_head(const struct bench_print *p, const struct suite_bench *b)
{
	struct app *app = p->app;
	if (app->json)
		return;
	if (p->all)
		strbuf_printf(&app->out, "# Running %s/%s benchmark...\n", b->collection, b->name);
	else if (p->opts->format == BENCH_DEFAULT)
		strbuf_printf(&app->out, "# Running '%s/%s' benchmark:\n", b->collection, b->name);
	(void)app_flush(app);
}

static int run_bench(struct bench_print *p, const struct suite_bench *b)
{
	struct app *app = p->app;
	struct suite_params params = p->opts->p;
	struct suite_run r;
	u64 given = params.repeat,
	    runs = given && !b->repeats && !app->dialect->perf_closing_lines ? given : 1;
	int err = 0;
	params.simple = p->opts->format == BENCH_SIMPLE;
	suite_run_init(&r, &app->diag);
	print_head(p, b);
	for (u64 i = 0; i < runs && !err; i++) {
		err = b->run(&params, &r);
		err = err ? err : r.err;
		if (!app->json)
			strbuf_add(&app->out, r.text.data, r.text.len);
		strbuf_reset(&r.text);
		(void)app_flush(app);
	}
	if (!err && app->json)
		put_bench(&p->json, b, &r);
	else if (!err && runs > 1 && !params.simple)
		print_spread(app, &r);
	if (!app->json && p->all)
		strbuf_char(&app->out, '\n');
	suite_run_done(&r);
	return err;
}

/* collection: NULL: all of them. name: NULL: all of it. */
static int run_benches(struct app *app, const struct bench_suite_opts *o, const char *collection,
		       const char *name)
{
	struct bench_print p = { .app = app, .opts = o, .all = !name };
	const struct suite_bench *b;
	int err = 0;
	if (o->p.repeat > RUNS_MAX)
		return app_usage(app, "too many runs: at most %d", RUNS_MAX);
	app_live(app);
	if (app->json) {
		json_begin(&p.json, &app->out, JSON_PRETTY);
		json_object(&p.json);
		json_key(&p.json, "benchmarks");
		json_array(&p.json);
	}
	/* Of several, one that cannot run here does not keep the others from it. */
	for (size_t i = 0; (!err || p.all) && (b = suite_bench(i)); i++) {
		if ((collection && strcmp(b->collection, collection)) ||
		    (name && strcmp(b->name, name)))
			continue;
		int failed = run_bench(&p, b);
		err = err ? err : failed;
		if (failed && p.all) {
			(void)app_fail(app, failed);
			app_say(app);
		}
	}
	if (app->json) {
		json_array_end(&p.json);
		json_object_end(&p.json);
		int bad = json_end(&p.json);
		err = err ? err : bad;
	}
	if (err && p.all)
		return APP_FAILED;
	return err ? app_fail(app, err) : APP_DONE;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define T struct bench_suite_opts
#define COMMON_ROWS                                                                                                  \
	OPT_UINT(0, "repeat", T, p.repeat, "N", "Run it N times and show the spread"),                               \
	OPT_ENUM(0, "format", T, format, "FORMAT", "Layout", bench_formats),                                         \
	OPT_END()
#define THREADS_ROW OPT_UINT('t', "threads", T, p.threads, "N", "Number of threads (one per CPU)")
#define FUTEX_ROWS                                                                                                   \
	OPT_FLAG('s', "silent", T, p.silent, "Only the summary"),                                                    \
	OPT_FLAG('S', "shared", T, p.shared, "Futexes that processes could share"),                                  \
	OPT_FLAG('m', "mlockall", T, p.lock_memory, "Lock all memory")

static const struct opt messaging_rows[] = {
	OPT_FLAG('p', "pipe", T, p.use_pipe, "Use pipes instead of socket pairs"),
	OPT_FLAG('t', "thread", T, p.use_threads, "Threads instead of processes"),
	OPT_UINT('g', "group", T, p.groups, "N", "Number of groups (10)"),
	OPT_UINT('l', "nr_loops", T, p.loops, "N", "Messages from each sender to each receiver (100)"),
	COMMON_ROWS,
};
static const struct opt pipe_rows[] = {
	OPT_UINT('l', "loop", T, p.loops, "N", "Number of exchanges (1000000)"),
	OPT_FLAG('T', "threaded", T, p.use_threads, "Threads instead of processes"),
	COMMON_ROWS,
};
static const struct opt syscall_rows[] = {
	OPT_UINT('l', "loop", T, p.loops, "N", "Number of calls (10000000; fork and execve: 10000)"),
	COMMON_ROWS,
};
static const struct opt mem_rows[] = {
	OPT_STR('s', "size", T, p.size, "SIZE", "Size of the buffers, with B, KB, MB, GB or TB (1MB)"),
	OPT_STR('f', "function", T, p.function, "NAME", "Only this function; 'all', 'help' lists them"),
	OPT_UINT('l', "nr_loops", T, p.loops, "N", "Number of loops (1)"),
	OPT_FLAG('c', "cycles", T, p.cycles, "Count cycles instead of time"),
	COMMON_ROWS,
};
static const struct opt find_bit_rows[] = {
	OPT_UINT('i', "outer-iterations", T, p.iterations, "N", "Number of measurements (5)"),
	OPT_UINT('j', "inner-iterations", T, p.inner_iterations, "N", "Loops in each (100000)"),
	COMMON_ROWS,
};
static const struct opt hash_rows[] = {
	THREADS_ROW,
	OPT_UINT('r', "runtime", T, p.seconds, "SECONDS", "How long (10)"),
	OPT_UINT('f', "futexes", T, p.futexes, "N", "Futexes per thread (1024)"),
	FUTEX_ROWS,
	COMMON_ROWS,
};
static const struct opt wake_rows[] = {
	THREADS_ROW,
	OPT_UINT('w', "nwakes", T, p.nr_wakes, "N", "Threads to wake at once (1)"),
	FUTEX_ROWS,
	COMMON_ROWS,
};
static const struct opt wake_parallel_rows[] = {
	THREADS_ROW,
	OPT_UINT('w', "nwakers", T, p.nr_wakers, "N", "Threads that wake others (one per waiting thread)"),
	FUTEX_ROWS,
	COMMON_ROWS,
};
static const struct opt requeue_rows[] = {
	THREADS_ROW,
	OPT_UINT('q', "nrequeue", T, p.nr_requeue, "N", "Threads to requeue at once (1)"),
	OPT_FLAG('B', "broadcast", T, p.broadcast, "All threads at once"),
	OPT_FLAG('p', "pi", T, p.pi, "To a lock with priority inheritance"),
	FUTEX_ROWS,
	COMMON_ROWS,
};
static const struct opt lock_pi_rows[] = {
	THREADS_ROW,
	OPT_UINT('r', "runtime", T, p.seconds, "SECONDS", "How long (10)"),
	OPT_FLAG('M', "multi", T, p.multi, "A lock for each thread"),
	FUTEX_ROWS,
	COMMON_ROWS,
};
static const struct opt epoll_wait_rows[] = {
	OPT_UINT('t', "threads", T, p.threads, "N", "Number of threads (one less than CPUs)"),
	OPT_UINT('r', "runtime", T, p.seconds, "SECONDS", "How long (8)"),
	OPT_UINT('f', "nfds", T, p.nr_fds, "N", "Files of each thread (64)"),
	OPT_FLAG('n', "noaffinity", T, p.no_affinity, "Let threads move between CPUs"),
	OPT_FLAG('R', "randomize", T, p.random, "Write to files in random order"),
	OPT_FLAG('m', "multiq", T, p.multi_queue, "An epoll instance for each thread"),
	OPT_FLAG('B', "nonblocking", T, p.nonblocking, "Do not sleep in epoll_wait"),
	OPT_FLAG('S', "oneshot", T, p.oneshot, "EPOLLONESHOT"),
	OPT_FLAG('E', "edge", T, p.edge, "Edge-triggered"),
	OPT_UINT('N', "nested", T, p.nested, "N", "Instances that watch an instance, up to 4 (0)"),
	COMMON_ROWS,
};
static const struct opt epoll_ctl_rows[] = {
	THREADS_ROW,
	OPT_UINT('r', "runtime", T, p.seconds, "SECONDS", "How long (8)"),
	OPT_UINT('f', "nfds", T, p.nr_fds, "N", "Files of each thread (64)"),
	OPT_FLAG('n', "noaffinity", T, p.no_affinity, "Let threads move between CPUs"),
	OPT_FLAG('R', "randomize", T, p.random, "Random operations on random files"),
	OPT_UINT('N', "nested", T, p.nested, "N", "Instances that watch an instance, up to 4 (0)"),
	COMMON_ROWS,
};
static const struct opt synthesize_rows[] = {
	OPT_UINT('i', "single-iterations", T, p.iterations, "N", "How often (10000)"),
	OPT_FLAG('s', "st", T, p.use_pipe, "One thread (always)", .hidden = true),
	OPT_FLAG('t', "mt", T, p.use_threads, "Records are synthesized by a single thread: nothing to measure with several", .refused = true),
	COMMON_ROWS,
};
static const struct opt kallsyms_rows[] = {
	OPT_UINT('i', "iterations", T, p.iterations, "N", "How often (100)"),
	COMMON_ROWS,
};
static const struct opt open_close_rows[] = {
	OPT_UINT('i', "iterations", T, p.iterations, "N", "How often (100)"),
	OPT_UINT('n', "nr-events", T, p.nr_events, "N", "Number of events (1)"),
	COMMON_ROWS,
};
static const struct opt bp_thread_rows[] = {
	OPT_UINT('b', "breakpoints", T, p.breakpoints, "N", "Number of breakpoints (1)"),
	OPT_UINT('p', "parallelism", T, p.parallel, "N", "Threads that start threads (1)"),
	OPT_UINT('t', "threads", T, p.threads, "N", "Threads that each of them starts (1)"),
	COMMON_ROWS,
};
static const struct opt bp_enable_rows[] = {
	OPT_UINT('p', "passive", T, p.passive, "N", "Threads that sleep meanwhile (0)"),
	OPT_UINT('a', "active", T, p.active, "N", "Threads that run meanwhile (0)"),
	COMMON_ROWS,
};
static const struct opt all_rows[] = {
	COMMON_ROWS,
};
#undef T
/* clang-format on */

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static int no_words(struct app *app, int argc, char **argv)
{
	return argc ? app_usage(app, "unexpected argument '%s'", argv[0]) : 0;
}

#define BENCH(id, suite, verb, text, rows, line1, what1, line2, what2)                             \
	static const struct opt_example id##_examples[] = {                                        \
		{ "bench " suite " " verb line1, what1 },                                          \
		{ "bench " suite " " verb line2, what2 },                                          \
		{ 0 },                                                                             \
	};                                                                                         \
	static int run_##id(struct app *app, void *opts, int argc, char **argv)                    \
	{                                                                                          \
		int status = no_words(app, argc, argv);                                            \
		return status ? status : run_benches(app, opts, suite, verb);                      \
	}                                                                                          \
	static const struct command id = {                                                         \
		.name = verb,                                                                      \
		.summary = text,                                                                   \
		.usage = "[OPTIONS]",                                                              \
		.examples = id##_examples,                                                         \
		.opts = rows,                                                                      \
		.opts_size = sizeof(struct bench_suite_opts),                                      \
		.mixed_words = true,                                                               \
		.same_opts = true,                                                                 \
		.run = run_##id,                                                                   \
	}

/* All of a collection. */
#define BENCH_ALL(id, suite)                                                                       \
	static const struct opt_example id##_examples[] = {                                        \
		{ "bench " suite " all", "one after the other" },                                  \
		{ 0 },                                                                             \
	};                                                                                         \
	static int run_##id(struct app *app, void *opts, int argc, char **argv)                    \
	{                                                                                          \
		int status = no_words(app, argc, argv);                                            \
		return status ? status : run_benches(app, opts, suite, NULL);                      \
	}                                                                                          \
	static const struct command id = {                                                         \
		.name = "all",                                                                     \
		.summary = "all benchmarks of this collection",                                    \
		.usage = "[OPTIONS]",                                                              \
		.examples = id##_examples,                                                         \
		.opts = all_rows,                                                                  \
		.opts_size = sizeof(struct bench_suite_opts),                                      \
		.mixed_words = true,                                                               \
		.same_opts = true,                                                                 \
		.run = run_##id,                                                                   \
	}

#define COLLECTION(id, suite, text, more, line, what, ...)                                         \
	static const struct command *const id##_subs[] = { __VA_ARGS__, NULL };                    \
	static const struct opt_example id##_examples[] = {                                        \
		{ "bench " suite " " line, what },                                                 \
		{ "bench " suite " all", "all of them" },                                          \
		{ 0 },                                                                             \
	};                                                                                         \
	const struct command id = {                                                                \
		.name = suite,                                                                     \
		.summary = text,                                                                   \
		.usage = "[OPTIONS] BENCHMARK [OPTIONS]",                                          \
		.about = more,                                                                     \
		.examples = id##_examples,                                                         \
		.opts = all_rows,                                                                  \
		.opts_size = sizeof(struct bench_suite_opts),                                      \
		.same_opts = true,                                                                 \
		.subs = id##_subs,                                                                 \
	}

BENCH(messaging, "sched", "messaging", "messages between groups of senders and receivers",
      messaging_rows, "", "400 processes, 100 messages each way", " -t -g 2",
      "two groups of 40 threads");
BENCH(pipe, "sched", "pipe", "two processes that wake each other through pipes", pipe_rows,
      " -l 100000", "cost of two switches and two wake-ups", " -T", "between threads");
BENCH_ALL(sched_all, "sched");
COLLECTION(command_bench_sched, "sched", "scheduler and messages between processes", NULL, "pipe",
	   "cost of two switches and two wake-ups", &messaging, &pipe, &sched_all);

BENCH(basic, "syscall", "basic", "a system call that does next to nothing", syscall_rows, "",
      "ten million calls of getppid", " -l 1000000", "one million");
BENCH(getpgid, "syscall", "getpgid", "a system call that looks up a process", syscall_rows, "",
      "ten million calls of getpgid", " -l 1000000", "one million");
BENCH(fork_bench, "syscall", "fork", "start and end of a process", syscall_rows, "",
      "10000 processes", " -l 1000", "1000 of them");
BENCH(execve_bench, "syscall", "execve", "start and end of a program", syscall_rows, "",
      "/bin/true, 10000 times", " -l 1000", "1000 times");
BENCH_ALL(syscall_all, "syscall");
COLLECTION(command_bench_syscall, "syscall", "system calls", NULL, "basic",
	   "what entering the kernel costs", &basic, &getpgid, &fork_bench, &execve_bench,
	   &syscall_all);

BENCH(memcpy_bench, "mem", "memcpy", "copying memory", mem_rows, " -s 64KB -l 10000",
      "copies that fit the cache", " -s 256MB -f default", "the C library's, from main memory");
BENCH(memset_bench, "mem", "memset", "filling memory", mem_rows, " -s 64KB -l 10000",
      "in the cache", " -f help", "the available functions");
BENCH(find_bit, "mem", "find_bit", "finding bits that are set", find_bit_rows, "",
      "maps of up to 2048 bits", " -i 2 -j 1000", "faster, and less exact");
BENCH_ALL(mem_all, "mem");
COLLECTION(command_bench_mem, "mem", "memory", NULL, "memcpy -s 64KB -l 10000",
	   "copies that fit the cache", &memcpy_bench, &memset_bench, &find_bit, &mem_all);

BENCH(hash, "futex", "hash", "the kernel's hash table of futexes", hash_rows, " -r 2",
      "for two seconds", " -t 4 -f 16", "four threads with 16 futexes each");
BENCH(wake, "futex", "wake", "waking threads", wake_rows, " -t 8", "eight, one after the other",
      " -t 8 -w 4", "four at a time");
BENCH(wake_parallel, "futex", "wake-parallel", "waking threads from several threads",
      wake_parallel_rows, " -t 8", "each wakes one", " -t 8 -w 2", "two wake four each");
BENCH(requeue, "futex", "requeue", "moving waiting threads to another futex", requeue_rows, " -t 8",
      "eight, one after the other", " -t 8 -p", "to a lock with priority inheritance");
BENCH(lock_pi, "futex", "lock-pi", "locks with priority inheritance", lock_pi_rows, " -r 2",
      "one lock, a thread on each CPU", " -r 2 -M", "a lock for each thread");
BENCH_ALL(futex_all, "futex");
COLLECTION(command_bench_futex, "futex", "futexes: what user-space locks are built on",
	   "-r of `bench` is the number of runs of wake, wake-parallel and requeue (10).",
	   "wake -t 8", "waking eight threads", &hash, &wake, &wake_parallel, &requeue, &lock_pi,
	   &futex_all);

BENCH(epoll_wait_bench, "epoll", "wait", "waiting for events of many files", epoll_wait_rows,
      " -r 2", "one queue for all threads", " -r 2 -m", "a queue for each");
BENCH(epoll_ctl_bench, "epoll", "ctl", "adding, changing and removing files", epoll_ctl_rows,
      " -r 2", "64 files in each thread", " -r 2 -R", "in random order");
BENCH_ALL(epoll_all, "epoll");
COLLECTION(command_bench_epoll, "epoll", "epoll: waiting for many files", NULL, "wait -r 2",
	   "for two seconds", &epoll_wait_bench, &epoll_ctl_bench, &epoll_all);

BENCH(synthesize, "internals", "synthesize", "making the records that describe a process",
      synthesize_rows, "", "this process", " -i 100", "100 times");
BENCH(kallsyms_parse, "internals", "kallsyms-parse", "reading the kernel's symbols", kallsyms_rows,
      "", "/proc/kallsyms, 100 times", " -i 10", "ten times");
BENCH(open_close, "internals", "evlist-open-close", "opening and closing events", open_close_rows,
      "", "one event on each CPU", " -n 50", "50 events");
BENCH_ALL(internals_all, "internals");
static const struct opt_example internals_elsewhere[] = {
	{ "inject-build-id",
	  "time it on one of your recordings: 'inject -b -i FILE -o /dev/null'" },
	{ 0 },
};
static const struct command *const internals_subs[] = { &synthesize, &kallsyms_parse, &open_close,
							&internals_all, NULL };
static const struct opt_example internals_examples[] = {
	{ "bench internals kallsyms-parse", "reading the kernel's symbols" },
	{ 0 },
};
const struct command command_bench_internals = {
	.name = "internals",
	.summary = "what sonde itself does when it starts recording and makes a report",
	.usage = "[OPTIONS] BENCHMARK [OPTIONS]",
	.about = "The code that is timed is sonde's own: compare machines and versions with it, "
		 "not sonde with perf.",
	.examples = internals_examples,
	.opts = all_rows,
	.opts_size = sizeof(struct bench_suite_opts),
	.same_opts = true,
	.subs = internals_subs,
	.elsewhere = internals_elsewhere,
};

BENCH(bp_thread, "breakpoint", "thread", "threads that inherit hardware breakpoints",
      bp_thread_rows, "", "one breakpoint", " -b 4 -p 2", "four, two threads that start threads");
BENCH(bp_enable, "breakpoint", "enable", "switching a hardware breakpoint", bp_enable_rows, "",
      "in one thread", " -p 2 -a 2", "with others sleeping and running");
BENCH_ALL(bp_all, "breakpoint");
COLLECTION(command_bench_breakpoint, "breakpoint", "hardware breakpoints", NULL, "enable",
	   "switching one", &bp_thread, &bp_enable, &bp_all);

static int run_all(struct app *app, void *opts, int argc, char **argv)
{
	int status = no_words(app, argc, argv);
	return status ? status : run_benches(app, opts, NULL, NULL);
}

static const struct opt_example everything_examples[] = {
	{ "bench all", "every benchmark; takes a few minutes" },
	{ 0 },
};

const struct command command_bench_all = {
	.name = "all",
	.summary = "all benchmarks of all collections",
	.usage = "[OPTIONS]",
	.examples = everything_examples,
	.opts = all_rows,
	.opts_size = sizeof(struct bench_suite_opts),
	.mixed_words = true,
	.same_opts = true,
	.run = run_all,
};
