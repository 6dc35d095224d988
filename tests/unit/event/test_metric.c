/* event/metric: the built-in ratios and metrics files. */
#include "tap.h"

#include "event/metric.h"

#include <errno.h>
#include <math.h>

struct counts {
	const char *name;
	double value;
};

static int get(void *ctx, const char *name, double *ret)
{
	for (const struct counts *c = ctx; c->name; c++)
		if (!strcmp(c->name, name)) {
			*ret = c->value;
			return 0;
		}
	return -ENOENT;
}

static void check(const char *metric, const struct counts *counts, int err, double want)
{
	struct metric_prog p;
	const struct metric *m = metric_find(NULL, metric);
	double got = 0;
	if (!ok(m && metric_prog_init(&p, m, NULL, NULL) == 0, "%s compiles", metric))
		return;
	int r = metric_prog_eval(&p, get, (void *)counts, &got);
	if (!ok(r == err && (err || fabs(got - want) < 1e-9), "%s is %g", metric, want))
		printf("#   %d %g\n", r, got);
	metric_prog_done(&p);
}

static void test_builtin(void)
{
	size_t nr;
	const struct metric *rows = metric_builtin(&nr);
	bool good = true;
	for (size_t i = 0; i < nr; i++) {
		struct metric_prog p;
		if (metric_prog_init(&p, &rows[i], NULL, NULL) < 0) {
			good = false;
			continue;
		}
		metric_prog_done(&p);
	}
	ok(good, "every formula parses");
	check("insn_per_cycle", (struct counts[]){ { "value", 300 }, { "cpu-cycles", 200 }, { 0 } },
	      0, 1.5);
	check("insn_per_cycle", (struct counts[]){ { "value", 300 }, { "cpu-cycles", 0 }, { 0 } },
	      -EDOM, 0);
	check("insn_per_cycle", (struct counts[]){ { "value", 300 }, { 0 } }, -ENOENT, 0);
	check("transactional_cycles",
	      (struct counts[]){ { "value", 50 }, { "cpu-cycles", 200 }, { 0 } }, 0, 25);
	check("aborted_cycles",
	      (struct counts[]){
		      { "value", 30 }, { "cpu/cycles-t/", 50 }, { "cpu-cycles", 200 }, { 0 } },
	      0, 10);
	check("cycles_per_transaction",
	      (struct counts[]){ { "value", 5 }, { "cpu/cycles-t/", 50 }, { 0 } }, 0, 10);
	check("branch_miss_rate",
	      (struct counts[]){ { "value", 5 }, { "branch-instructions", 200 }, { 0 } }, 0, 2.5);
	check("stalled_cycles_per_insn",
	      (struct counts[]){ { "value", 10 },
				 { "stalled-cycles-frontend", 5 },
				 { "stalled-cycles-backend", 20 },
				 { 0 } },
	      0, 2);
	check("cycles_ghz", (struct counts[]){ { "value", 3e9 }, { "running_ns", 1e9 }, { 0 } }, 0,
	      3);

	struct metric_prog p;
	u32 at = 0;
	ok(metric_prog_init(&p, metric_find(NULL, "insn_per_cycle"), NULL, NULL) == 0,
	   "insn_per_cycle");
	is_str(metric_prog_next_event(&p, &at), "instructions", "needs its own event");
	is_str(metric_prog_next_event(&p, &at), "cpu-cycles", "and cycles");
	ok(!metric_prog_next_event(&p, &at), "and no more");
	metric_prog_done(&p);
	char unit[8];
	ok(metric_rate(1234567, unit) == 1.234567 && !strcmp(unit, "M/sec"), "M/sec");
	ok(metric_rate(500, unit) == 500 && !strcmp(unit, "/sec"), "/sec");
}

static void test_beside(void)
{
	struct event_env env;
	struct event_list l;
	event_list_init(&l);
	ok(event_env_open(&env, TEST_DATA "/sysroot/intel-hybrid") == 0 &&
		   event_list_add(&l, &env, "cycles:u,faults,LLC-misses,branches", EVENT_USE_COUNT,
				  NULL) == 0,
	   "events");
	u32 at = 0;
	const struct metric *m = metric_next_beside(&l.events.at[0], &at);
	is_str(m ? m->unit : NULL, "GHz", "beside cpu_core's cycles:u");
	ok(!metric_next_beside(&l.events.at[0], &at), "one only");
	at = 0;
	ok(!metric_next_beside(&l.events.at[2], &at), "none beside faults");
	at = 0;
	m = metric_next_beside(&l.events.at[3], &at);
	is_str(m ? m->unit : NULL, "of all LL-cache accesses", "beside LLC-misses, an alias");
	ok(metric_is_event("branch-instructions", &l.events.at[5]) &&
		   metric_is_event("branches", &l.events.at[5]) &&
		   !metric_is_event("branch-misses", &l.events.at[5]),
	   "branches under both names");
	event_list_done(&l);
	event_env_close(&env);
}

static void test_file(void)
{
	struct metric_set s;
	struct diag d;
	diag_init(&d);
	metric_set_init(&s);
	ok(metric_set_parse(&s, "m",
			    "# ratios\n\nipc = instructions / cycles\n  upi = uops_issued.any / "
			    "inst_retired.any ; uops ; per insn\n",
			    &d) == 0 &&
		   s.items.nr == 2,
	   "two metrics");
	const struct metric *m = metric_find(&s, "upi");
	ok(m && !strcmp(m->unit, "uops") && !strcmp(m->about, "per insn") &&
		   !strcmp(m->expr, "uops_issued.any / inst_retired.any"),
	   "its parts");
	ok(metric_find(&s, "ipc") && metric_find(&s, "insn_per_cycle") && !metric_find(&s, "nope"),
	   "found by name");
	static const struct {
		const char *text;
		const char *message;
		size_t start;
	} bad[] = {
		{ "a b = 1", "m:1: metric names consist of letters", 1 },
		{ "\nipc instructions", "m:2: expected NAME = EXPRESSION", 0 },
		{ "= 1", "m:1: expected a metric name", 0 },
		{ "x =  ; unit", "m:1: expected an expression", 2 },
		{ "x = 1 + ) ", "m:1: ", 8 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		diag_done(&d);
		int err = metric_set_parse(&s, "m", bad[i].text, &d);
		if (!ok(err == -EINVAL && d.items.nr == 1 &&
				!strncmp(d.items.at[0].message, bad[i].message,
					 strlen(bad[i].message)) &&
				d.items.at[0].start == bad[i].start,
			"refused: %s", bad[i].message))
			printf("#   %d '%s' at %zu\n", err, d.items.nr ? d.items.at[0].message : "",
			       d.items.nr ? d.items.at[0].start : 0);
	}
	metric_set_done(&s);
	diag_done(&d);
}

int main(void)
{
	test_builtin();
	test_beside();
	test_file();
	return done_testing();
}
