/* Counts to rows: sums, scaling, means, ratios, with numbers worked out by hand. */
#include "analysis/stat.h"
#include "tap.h"

#include <errno.h>
#include <math.h>

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

static void is_near(double got, double want, const char *what)
{
	if (!ok(near(got, want), "%s", what))
		printf("#   got  %.12g\n#   want %.12g\n", got, want);
}

/* A formula of the tests: the quotient of two names. */
struct quotient {
	const char *over, *under;
};

static int eval_quotient(const void *prog, int (*get)(void *ctx, const char *name, double *ret),
			 void *ctx, double *ret)
{
	const struct quotient *q = prog;
	double a, b;
	int err = get(ctx, q->over, &a);
	if (!err)
		err = get(ctx, q->under, &b);
	if (err)
		return err;
	if (b == 0)
		return -EDOM;
	*ret = a / b;
	return 0;
}

static double rate_plain(double per_second, char unit[STAT_FORMAT_RATE_LEN])
{
	memcpy(unit, "/sec", 5);
	return per_second;
}

static struct count counted(u64 value)
{
	return (struct count){ value, 1000, 1000, true };
}

static void test_scale(void)
{
	struct count whole = { 100, 1000, 1000, true }, half = { 100, 1000, 500, true };
	struct count seven = { 700, 1200, 700, true }, never = { 0, 1000, 0, true };
	struct count third = { 10, 1000, 300, true };
	is_near(stat_scale(&whole), 100, "a counter that always ran is not scaled");
	is_near(stat_scale(&half), 200, "half of the time: twice the count");
	is_near(stat_scale(&seven), 1200, "seven of twelve");
	is_near(stat_scale(&third), 33, "scaled counts are cut to whole numbers");
	is_near(stat_scale(&never), 0, "one that never ran");
}

static void test_mean(void)
{
	struct stat_mean m = { 0 };
	is_near(stat_mean_error(&m), 0, "no run, no error");
	stat_mean_add(&m, 2);
	is_near(stat_mean_error(&m), 0, "one run, no error");
	stat_mean_add(&m, 4);
	stat_mean_add(&m, 9);
	is_near(m.mean, 5, "mean of 2, 4, 9");
	/* Variance 13, over three runs: sqrt(13 / 3). */
	is_near(stat_mean_error(&m), sqrt(13.0 / 3), "standard error of the mean");
	is_near(stat_mean_noise(&m), 100 * sqrt(13.0 / 3) / 5, "in percent");
	struct stat_mean zero = { 0 };
	stat_mean_add(&zero, 0);
	stat_mean_add(&zero, 0);
	is_near(stat_mean_noise(&zero), 0, "nothing, twice: no noise");
}

enum { CLOCK, CYCLES, INSNS, NR_EVENTS };

static const struct quotient ipc = { "value", "cycles" }, ghz = { "value", "running_ns" },
			     busy = { "value", "elapsed_ns" };
static const struct stat_input ipc_inputs[] = { { "cycles", CYCLES } };
static const struct stat_formula formulae[] = {
	{ .unit = "CPUs utilized", .format = "%8.3f", .beside = CLOCK, .prog = &busy, .is_rate = true },
	{ .unit = "GHz", .format = "%8.3f", .beside = CYCLES, .prog = &ghz },
	{ .unit = "insn per cycle",
	  .format = "%7.2f ",
	  .beside = INSNS,
	  .prog = &ipc,
	  .inputs = ipc_inputs,
	  .nr_inputs = 1,
	  .red = 3,
	  .magenta = 2,
	  .yellow = 1 },
};

static void fill_events(struct stat_event *e)
{
	e[CLOCK] = (struct stat_event){
		.name = "task-clock", .unit = "msec", .scale = 1e-6, .is_clock = true, .no_rate = true
	};
	e[CYCLES] = (struct stat_event){ .name = "cycles", .unit = "", .scale = 1, .no_rate = true };
	e[INSNS] = (struct stat_event){
		.name = "instructions", .unit = "", .scale = 1, .no_rate = true
	};
	for (int i = 0; i < NR_EVENTS; i++)
		e[i].supported = true;
}

static void test_rows(void)
{
	static const u32 slot_key[] = { 0, 0 };
	struct stat_event e[NR_EVENTS];
	fill_events(e);
	struct stat_spec spec = { .by = STAT_BY_ALL,
				  .events = e,
				  .nr_events = NR_EVENTS,
				  .nr_slots = 2,
				  .slot_key = slot_key,
				  .nr_keys = 1,
				  .formulae = formulae,
				  .nr_formulae = ARRAY_SIZE(formulae),
				  .with_ratios = true,
				  .eval = eval_quotient,
				  .rate = rate_plain };
	struct stat_acc st;
	struct stat_rows rows = { 0 };
	ok(!stat_open(&st, &spec), "opened");
	const struct count counts[] = {
		{ 2000000, 2000000, 2000000, true }, { 1000000, 1000000, 1000000, true },
		{ 3000000, 2000000, 2000000, true }, { 3000000, 1000000, 1000000, true },
		{ 6000000, 2000000, 1000000, true }, { 9000000, 1000000, 1000000, true },
	};
	stat_add(&st, counts);
	ok(!stat_finish(&st, 6e6, &rows), "finished");
	is_u64(rows.rows.nr, 3, "a row for each event");
	const struct stat_row *r = rows.rows.at;
	is_near(r[CLOCK].value, 3, "the clock in milliseconds");
	is_near(r[CYCLES].value, 6000000, "slots are added up");
	is_near(r[INSNS].value, 21000000, "each scaled by its own share");
	is_near(r[INSNS].enabled_ns, 3e6, "wanted");
	is_near(r[INSNS].running_ns, 2e6, "had");
	is_u64(r[INSNS].nr_places, 2, "two places");
	is_near(rows.ratios.at[r[CLOCK].first_ratio].value, 0.5,
		"CPUs utilized: of the elapsed time");
	is_near(rows.ratios.at[r[CYCLES].first_ratio].value, 2, "GHz: of the clock");
	is_near(rows.ratios.at[r[INSNS].first_ratio].value, 3.5, "instructions per cycle");
	is_u64(rows.ratios.at[r[INSNS].first_ratio].colour, STAT_RED, "above its limit: red");
	stat_rows_done(&rows);

	/* What is missing is not invented. */
	rows = (struct stat_rows){ 0 };
	e[CYCLES].supported = false;
	struct count without[6];
	memcpy(without, counts, sizeof(without));
	without[2] = without[3] = (struct count){ 0 };
	without[4] = without[5] = (struct count){ 0, 500, 0, true };
	stat_reset(&st);
	stat_add(&st, without);
	ok(!stat_finish(&st, 6e6, &rows), "finished");
	is_u64(rows.rows.at[CYCLES].state, STAT_NOT_SUPPORTED, "an event that was opened nowhere");
	is_u64(rows.rows.at[INSNS].state, STAT_NOT_COUNTED, "an event that never ran");
	ok(!rows.ratios.at[rows.rows.at[INSNS].first_ratio].shown,
	   "no ratio of what was not counted");
	stat_rows_done(&rows);
	stat_close(&st);
}

static void test_blind_slot(void)
{
	static const u32 slot_key[] = { 0, 0 };
	struct stat_event e = { .name = "r8", .unit = "", .scale = 1, .supported = true };
	struct stat_spec spec = { .by = STAT_BY_ALL,
				  .events = &e,
				  .nr_events = 1,
				  .nr_slots = 2,
				  .slot_key = slot_key,
				  .nr_keys = 1 };
	struct stat_acc st;
	struct stat_rows rows = { 0 };
	const struct count counts[] = { { 100, 1000, 500, true }, { 0, 1000, 0, true } };
	ok(!stat_open(&st, &spec), "opened");
	stat_add(&st, counts);
	ok(!stat_finish(&st, 1e6, &rows), "finished");
	is_near(rows.rows.at[0].value, 400,
		"a CPU on which the counter never ran is taken to be like the others");
	is_near(rows.rows.at[0].running_ns / rows.rows.at[0].enabled_ns, 0.25,
		"the share tells of it");
	stat_rows_done(&rows);
	stat_close(&st);
}

static void test_by_cpu_and_merge(void)
{
	static const u32 slot_key[] = { 0, 1, 1 };
	static const u32 package[] = { 0, 1, 1 };
	struct stat_event e[] = {
		{ .name = "imc", .unit = "", .scale = 1, .merge = 1, .supported = true },
		{ .name = "imc", .unit = "", .scale = 1, .merge = 1, .supported = true },
		{ .name = "duration_time",
		  .unit = "ns",
		  .scale = 1,
		  .is_tool = true,
		  .supported = true },
		{ .name = "pkg", .unit = "Joules", .scale = 0.5, .per_pkg = true, .supported = true },
	};
	struct stat_spec spec = { .by = STAT_BY_CPU,
				  .events = e,
				  .nr_events = 4,
				  .nr_slots = 3,
				  .slot_key = slot_key,
				  .nr_keys = 2,
				  .slot_package = package };
	struct stat_acc st;
	struct stat_rows rows = { 0 };
	const struct count none = { 0 };
	const struct count counts[] = { counted(1),  counted(2),  counted(4),  counted(10),
					counted(20), counted(40), counted(77), none,
					none,	     counted(6),  counted(8),  counted(8) };
	ok(!stat_open(&st, &spec), "opened");
	stat_add(&st, counts);
	ok(!stat_finish(&st, 1e6, &rows), "finished");
	is_u64(rows.rows.nr, 5, "merged: two; a tool event: one; by package: two");
	is_near(rows.rows.at[0].value, 11, "both instances on the first CPU");
	is_near(rows.rows.at[1].value, 66, "both instances, both slots of the second");
	is_near(rows.rows.at[2].value, 77, "the tool event once");
	is_near(rows.rows.at[3].value, 3, "in units");
	is_near(rows.rows.at[4].value, 4, "one slot speaks for its package");
	stat_rows_done(&rows);
	stat_close(&st);
	spec.no_merge = true;
	rows = (struct stat_rows){ 0 };
	ok(!stat_open(&st, &spec), "opened");
	stat_add(&st, counts);
	ok(!stat_finish(&st, 1e6, &rows), "finished");
	is_u64(rows.rows.nr, 7, "--no-merge: each instance has its rows");
	stat_rows_done(&rows);
	stat_close(&st);
	spec.no_merge = false;
	e[1].cgroup = "other";
	rows = (struct stat_rows){ 0 };
	ok(!stat_open(&st, &spec), "opened");
	stat_add(&st, counts);
	ok(!stat_finish(&st, 1e6, &rows), "finished");
	is_u64(rows.rows.nr, 7, "instances of two cgroups are not merged");
	stat_rows_done(&rows);
	stat_close(&st);
}

static void test_threads(void)
{
	static const u32 slot_key[] = { 0, 1, 2 };
	struct stat_event e = { .name = "cs", .unit = "", .scale = 1, .supported = true };
	struct stat_spec spec = { .by = STAT_BY_THREAD,
				  .events = &e,
				  .nr_events = 1,
				  .nr_slots = 3,
				  .slot_key = slot_key,
				  .nr_keys = 3 };
	struct stat_acc st;
	struct stat_rows rows = { 0 };
	const struct count counts[] = { counted(5), counted(0), counted(9) };
	ok(!stat_open(&st, &spec), "opened");
	stat_add(&st, counts);
	ok(!stat_finish(&st, 1e6, &rows), "finished");
	ok(rows.rows.nr == 3 && rows.rows.at[0].key == 2 && rows.rows.at[1].key == 0,
	   "the busiest thread first");
	stat_rows_done(&rows);
	rows = (struct stat_rows){ 0 };
	spec.hide_zero = true;
	ok(!stat_finish(&st, 1e6, &rows), "finished");
	is_u64(rows.rows.nr, 2, "of all threads, only those that counted something");
	stat_rows_done(&rows);
	stat_close(&st);
}

static void test_delta(void)
{
	struct stat_event e[] = { { .name = "a" }, { .name = "temperature", .snapshot = true } };
	struct stat_spec spec = { .events = e, .nr_events = 2, .nr_slots = 1 };
	const struct count before[] = { { 10, 100, 90, true }, { 50, 100, 100, true } };
	const struct count now[] = { { 15, 300, 190, true }, { 40, 300, 300, true } };
	struct count d[2];
	stat_delta(&spec, now, before, d);
	is_u64(d[0].value, 5, "the count since the last time");
	is_u64(d[0].enabled_ns, 200, "and the time it was wanted");
	is_u64(d[0].running_ns, 100, "and had");
	is_u64(d[1].value, 40, "a state is shown as it is");
}

int main(void)
{
	test_scale();
	test_mean();
	test_rows();
	test_blind_slot();
	test_by_cpu_and_merge();
	test_threads();
	test_delta();
	return done_testing();
}
