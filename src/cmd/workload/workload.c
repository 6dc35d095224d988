#include "workload/workload.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct workload workloads[] = {
	{ "noploop", WORKLOAD_SECONDS, "1", 0, "one thread in workload_spin", workload_noploop },
	{ "thloop", WORKLOAD_SECONDS, "1", 0, "threads in workload_spin, below workload_thread",
	  workload_thloop },
	{ "leaf", WORKLOAD_SECONDS, "1", 0,
	  "workload_parent calls workload_middle calls workload_leaf, which spins", workload_parent },
	{ "deep", WORKLOAD_COUNT, "100", 50000, "workload_recurse N deep, then workload_spin",
	  workload_deep },
	{ "inline", WORKLOAD_SECONDS, "1", 0,
	  "workload_inline_caller with inline_middle and inline_inner inside", workload_inline },
	{ "sqrtloop", WORKLOAD_SECONDS, "1", 0, "a child in workload_sqrt; the parent waits for it",
	  workload_sqrtloop },
	{ "brstack", WORKLOAD_COUNT, "999999", 0,
	  "N times branches of each kind in brstack_bench, brstack_foo, brstack_bar",
	  workload_brstack },
	{ "datasym", WORKLOAD_SECONDS, "1", 0, "writes to the variable buf1", workload_datasym },
	{ "landlock", WORKLOAD_COUNT, "1", 0,
	  "N times landlock_add_rule for a path and for a port, which are refused",
	  workload_landlock },
	{ "mutex", WORKLOAD_COUNT, "100", 0,
	  "each thread locks one mutex N times and sleeps 100 us in it", workload_mutex },
	{ "convoy", WORKLOAD_COUNT, "100", 600000,
	  "threads wait N ms and more for the lock of one file, and print TID and nanoseconds",
	  workload_convoy },
	{ "malloc", WORKLOAD_COUNT, "100000", 0, "N malloc and free of 1 to 4096 bytes",
	  workload_malloc },
	{ "faults", WORKLOAD_COUNT, "10000", 1 << 22, "N minor page faults", workload_faults },
	{ "syscalls", WORKLOAD_COUNT, "100000", 0, "N getppid", workload_syscalls },
	{ "switches", WORKLOAD_COUNT, "10000", 0,
	  "N round trips between two threads on one CPU: 2N context switches", workload_switches },
	{ "io", WORKLOAD_COUNT, "10000", 0,
	  "N pwrite64 and N pread64 of 4096 bytes on a temporary file", workload_io },
	{ "forks", WORKLOAD_COUNT, "100", 0, "N children that exit immediately", workload_forks },
	{ "usdt", WORKLOAD_COUNT, "1000", 0,
	  "USDT probes sonde:begin(n), N times sonde:step(i, i*i, text), sonde:end(sum)",
	  workload_usdt },
	{ "jit", WORKLOAD_SECONDS, "1", 0,
	  "generated code jit_outer and jit_loop, named in /tmp/perf-PID.map and jit-PID.dump",
	  workload_jit },
};

struct workload_opts {
	bool list;
	u64 threads;
	const char *seconds;
};

static void workload_defaults(void *opts)
{
	*(struct workload_opts *)opts = (struct workload_opts){ .threads = 2, .seconds = "1" };
}

static const char *unit_word(const struct workload *w)
{
	return w->unit == WORKLOAD_SECONDS ? "[SECONDS]" : "[N]";
}

static int list_json(struct app *app)
{
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_array(&j);
	for (size_t i = 0; i < ARRAY_SIZE(workloads); i++) {
		const struct workload *w = &workloads[i];
		json_object(&j);
		json_put_str(&j, "name", w->name);
		json_put_str(&j, "argument", w->unit == WORKLOAD_SECONDS ? "seconds" : "count");
		json_put_str(&j, "default", w->fallback);
		json_put_str(&j, "about", w->about);
		json_object_end(&j);
	}
	json_array_end(&j);
	int err = json_end(&j);
	return err ? app_fail(app, err) : APP_DONE;
}

static int list(struct app *app)
{
	if (app->json)
		return list_json(app);
	for (size_t i = 0; i < ARRAY_SIZE(workloads); i++) {
		const struct workload *w = &workloads[i];
		strbuf_printf(&app->out, "%-9s %-10s %7s  %s\n", w->name, unit_word(w), w->fallback,
			      w->about);
	}
	return APP_DONE;
}

static const struct workload *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(workloads); i++)
		if (!strcmp(workloads[i].name, name))
			return &workloads[i];
	return NULL;
}

static int unknown(struct app *app, const char *name)
{
	const char *names[ARRAY_SIZE(workloads)];
	for (size_t i = 0; i < ARRAY_SIZE(workloads); i++)
		names[i] = workloads[i].name;
	const char *close = str_closest(name, names, ARRAY_SIZE(names));
	diag_error(&app->diag, -EINVAL, "unknown workload '%s'", name);
	if (close)
		diag_hint(&app->diag, "did you mean '%s'?", close);
	diag_hint(&app->diag, "'%s --list' shows all of them", app->title);
	return APP_USAGE;
}

static int workload_run(struct app *app, void *opts, int argc, char **argv)
{
	struct workload_opts *o = opts;
	struct workload_args a = { .threads = (unsigned)o->threads,
				   .d = &app->diag,
				   .out = &app->out };
	if (o->list)
		return list(app);
	if (!argc)
		return app_usage(app, "no workload given");
	const struct workload *w = find(argv[0]);
	if (!w)
		return unknown(app, argv[0]);
	if (argc > 2)
		return app_usage(app, "%s takes one argument, not '%s'", w->name, argv[2]);
	const char *arg = argc > 1 ? argv[1] : w->fallback;
	const char *seconds = w->unit == WORKLOAD_SECONDS ? arg : o->seconds;
	if (clock_parse(seconds, &a.ns))
		return app_usage(app, "%s: invalid time in seconds '%s'", w->name, seconds);
	if (w->unit == WORKLOAD_COUNT && num_parse_u64(arg, 10, &a.n))
		return app_usage(app, "%s: invalid number '%s'", w->name, arg);
	if (w->max && a.n > w->max)
		return app_usage(app, "%s: %s is too large; at most %llu", w->name, arg,
				 (unsigned long long)w->max);
	if (!o->threads || o->threads > 1024)
		return app_usage(app, "1 to 1024 threads");
	int err = w->run(&a);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt workload_rows[] = {
	OPT_FLAG('l', "list", struct workload_opts, list, "List the workloads"),
	OPT_UINT('t', "threads", struct workload_opts, threads, "N",
		 "Threads of thloop, mutex and convoy (2)"),
	OPT_STR('s', "seconds", struct workload_opts, seconds, "S",
		"How long deep spins at its deepest (1)"),
	OPT_END(),
};

static const struct opt_example workload_examples[] = {
	{ "workload --list", "available workloads" },
	{ "workload leaf 0.5", "half a second of a known call chain" },
	{ "workload syscalls 1000", "exactly 1000 more getppid calls than with 0" },
	{ "workload thloop -t 4", "four threads that spin for a second" },
	{ 0 },
};

const struct command command_workload = {
	.name = "workload",
	.group = "About the machine and sonde",
	.summary = "run a small program with known behaviour",
	.usage = "[OPTIONS] NAME [N|SECONDS]",
	.about = "Whatever a workload does N times, it does exactly N times more than with 0, so "
		 "that counts can be checked as a difference. SECONDS are CPU time per thread: on "
		 "a busy machine it takes longer, but does the same work.",
	.examples = workload_examples,
	.opts = workload_rows,
	.opts_size = sizeof(struct workload_opts),
	.defaults = workload_defaults,
	.mixed_words = true,
	.run = workload_run,
};
