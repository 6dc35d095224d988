/* internals synthesize|kallsyms-parse|evlist-open-close: steps that recording and reporting begin with in sonde. */
#include "base/clock.h"
#include "kern/kallsyms.h"
#include "kern/sysroot.h"
#include "stream/synth.h"
#include "suite/impl.h"
#include "sym/kallsyms.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	SYNTH_DEFAULT = 10000,
	KALLSYMS_DEFAULT = 100,
	OPEN_DEFAULT = 100,
	ITERATIONS_MAX = 10000000,
	EVENTS_MAX = 100000
};

/* ---- kallsyms-parse --------------------------------------------------------------------------------------------- */

static int parse_once(struct suite_run *r, double *ms)
{
	struct kallsyms_text text;
	struct sweep s;
	const u64 question = 1;
	u64 start = clock_monotonic_ns();
	int err = kallsyms_read(NULL, NULL, &text);
	if (err)
		return diag_error(r->diag, err, "cannot read /proc/kallsyms: %s", strerror(-err));
	err = sweep_init(&s, &question, 1, 0);
	size_t nr = err ? 0 : kallsyms_sweep(text.data, text.len, NULL, 0, &s);
	sweep_done(&s);
	kallsyms_text_done(&text);
	if (err)
		return err;
	*ms = (double)(clock_monotonic_ns() - start) / 1e6;
	return nr ? 0 : diag_error(r->diag, -ENOENT, "/proc/kallsyms holds no symbols");
}

int suite_kallsyms(const struct suite_params *p, struct suite_run *r)
{
	u32 nr;
	int err = suite_limit(r, "number of iterations", p->iterations, KALLSYMS_DEFAULT,
			      ITERATIONS_MAX, &nr);
	double *times = err ? NULL : calloc(nr, sizeof(*times));
	if (!times)
		return err ? err : -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++) {
		err = parse_once(r, &times[i]);
		suite_add(r, NULL, "parse", "ms", times[i]);
	}
	if (!err) {
		struct suite_stats s = suite_stats(times, nr);
		strbuf_printf(&r->text, "  Average kallsyms__parse took: %.3f ms (+- %.3f ms)\n",
			      s.mean, s.error);
	}
	free(times);
	return err;
}

/* ---- synthesize ------------------------------------------------------------------------------------------------- */

struct synth_times {
	double *us;
	double *events;
};

static u32 count_records(const struct strbuf *b)
{
	u32 nr = 0;
	for (size_t at = 0; at + sizeof(struct perf_event_header) <= b->len; nr++) {
		struct perf_event_header h;
		memcpy(&h, b->data + at, sizeof(h));
		if (h.size < sizeof(h))
			break;
		at += h.size;
	}
	return nr;
}

static int synth_often(struct suite_run *r, const struct sysroot *root, bool data_maps, u32 nr,
		       struct synth_times *t)
{
	struct strbuf to;
	struct synth s;
	int err = 0;
	strbuf_init(&to);
	for (u32 i = 0; i <= nr && !err; i++) {
		u32 at = i ? i - 1 : 0; /* the first one warms up */
		strbuf_reset(&to);
		u64 start = clock_monotonic_ns();
		synth_init(&s, root, 0, false, &to);
		s.data_maps = data_maps;
		err = synth_process(&s, (s32)getpid());
		synth_done(&s);
		t->us[at] = (double)(clock_monotonic_ns() - start) / 1e3;
		t->events[at] = count_records(&to);
	}
	strbuf_done(&to);
	for (u32 i = 0; i < nr && !err; i++)
		suite_add(r, data_maps ? "data" : "code", "synthesize", "us", t->us[i]);
	return err;
}

static void print_synth(struct suite_run *r, const char *what, const struct synth_times *t, u32 nr)
{
	struct suite_stats us = suite_stats(t->us, nr), events = suite_stats(t->events, nr);
	strbuf_printf(&r->text,
		      "  Average %ssynthesis took: %.3f usec (+- %.3f usec)\n"
		      "  Average num. events: %.3f (+- %.3f)\n"
		      "  Average time per event %.3f usec\n",
		      what, us.mean, us.error, events.mean, events.error,
		      us.mean / max(events.mean, 1.0));
}

int suite_synthesize(const struct suite_params *p, struct suite_run *r)
{
	struct sysroot root;
	u32 nr;
	int err = suite_limit(r, "number of iterations", p->iterations, SYNTH_DEFAULT,
			      ITERATIONS_MAX, &nr);
	if (err)
		return err;
	err = sysroot_open(&root, NULL);
	if (err)
		return err;
	struct synth_times t = { calloc(nr, sizeof(double)), calloc(nr, sizeof(double)) };
	err = t.us && t.events ? 0 : -ENOMEM;
	strbuf_str(&r->text, "Computing performance of single threaded perf event synthesis by\n"
			     "synthesizing events on the perf process itself:\n");
	if (!err)
		err = synth_often(r, &root, false, nr, &t);
	if (!err) {
		print_synth(r, "", &t, nr);
		err = synth_often(r, &root, true, nr, &t);
	}
	if (!err)
		print_synth(r, "data ", &t, nr);
	free(t.us);
	free(t.events);
	sysroot_close(&root);
	return err;
}

/* ---- evlist-open-close ------------------------------------------------------------------------------------------ */

static int open_all(int *fds, u32 nr_events, u32 nr_cpus)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1,
					.disabled = 1 };
	for (u32 i = 0; i < nr_events; i++)
		for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
			long fd = syscall(SYS_perf_event_open, &attr, 0, suite_cpu(cpu), -1,
					  PERF_FLAG_FD_CLOEXEC);
			fds[i * nr_cpus + cpu] = (int)fd;
			if (fd < 0)
				return -errno;
		}
	return 0;
}

static int open_close(int *fds, u32 nr_events, u32 nr_cpus, double *us)
{
	u64 start = clock_monotonic_ns();
	memset(fds, 0xff, (size_t)nr_events * nr_cpus * sizeof(*fds));
	int err = open_all(fds, nr_events, nr_cpus);
	for (u32 i = 0; i < nr_events * nr_cpus; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*us = (double)(clock_monotonic_ns() - start) / 1e3;
	return err;
}

int suite_open_close(const struct suite_params *p, struct suite_run *r)
{
	u32 nr, nr_events = 1, nr_cpus = suite_nr_cpus();
	int err = suite_limit(r, "number of iterations", p->iterations, OPEN_DEFAULT,
			      ITERATIONS_MAX, &nr);
	if (!err)
		err = suite_limit(r, "number of events", p->nr_events, 1, EVENTS_MAX, &nr_events);
	if (err)
		return err;
	double *times = calloc(nr, sizeof(*times));
	int *fds = calloc((size_t)nr_events * nr_cpus, sizeof(*fds));
	err = times && fds ? open_close(fds, nr_events, nr_cpus, times) : -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++) {
		err = open_close(fds, nr_events, nr_cpus, &times[i]);
		suite_add(r, NULL, "open_close", "us", times[i]);
	}
	if (err && err != -ENOMEM)
		diag_error(r->diag, err, "cannot open %u events on %u CPUs: %s", nr_events, nr_cpus,
			   strerror(-err));
	if (err == -EMFILE)
		diag_hint(r->diag, "more open files: ulimit -n %u", nr_events * nr_cpus + 64);
	if (!err) {
		struct suite_stats s = suite_stats(times, nr);
		strbuf_printf(&r->text,
			      "  Number of cpus:\t%u\n  Number of threads:\t1\n  Number of "
			      "events:\t%u (%u fds)\n"
			      "  Number of iterations:\t%u\n  Average open-close took: %.3f usec "
			      "(+- %.3f usec)\n",
			      nr_cpus, nr_events, nr_events * nr_cpus, nr, s.mean, s.error);
	}
	free(times);
	free(fds);
	return err;
}
