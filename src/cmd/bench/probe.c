/* bench probe: the cost of one hit, by kind of probe. */
#include "base/clock.h"
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "kern/machine.h"
#include "session/bench_probe.h"
#include "workload/workload.h"

#include <errno.h>
#include <string.h>

enum { KINDS_MAX = 32 };
#define TIME_MAX_NS (60 * NS_PER_SEC)

/* What introductions to kprobes quote for one hit, without saying which kind or machine. */
static const double quoted_us = 0.86;

struct bench_opts {
	const char *time;
	bool list;
};

static void bench_defaults(void *opts)
{
	((struct bench_opts *)opts)->time = "0.3";
}

static double us(double ns)
{
	return ns / 1000;
}

/* ---- text ---------------------------------------------------------------------------------------------------------------------- */

static void print_machine(struct app *app, const struct machine *m, const struct bench_probe *b)
{
	strbuf_printf(&app->out, "%s %s, %u CPU%s, %s%s\n",
		      m->release ? m->release : "unknown kernel", m->arch ? m->arch : "",
		      m->nr_cpus_online, m->nr_cpus_online == 1 ? "" : "s",
		      m->cpu_desc ? m->cpu_desc : "unknown CPU",
		      b->is_virtual ? ", virtual machine" : "");
	if (b->is_emulated)
		strbuf_str(&app->out, "The CPU is emulated: compare the ratios, not the times.\n");
}

static void print_row(struct app *app, const struct bench_probe_row *r)
{
	struct strbuf *out = &app->out;
	strbuf_printf(out, "%-10s", r->kind);
	if (r->missing) {
		strbuf_printf(out, " %9s %9s %9s %9s  not measured: %s\n", "-", "-", "-", "-",
			      r->missing);
		return;
	}
	strbuf_printf(out, " %9.3f %9.3f %9.3f %9.3f  %s", us(r->cost_ns), us(r->noise_ns),
		      us(r->base_ns), us(r->probed_ns), r->place);
	if (r->note)
		strbuf_printf(out, " (%s)", r->note);
	strbuf_char(out, '\n');
}

static const struct bench_probe_row *measured(const struct bench_probe *b, const char *kind)
{
	const struct bench_probe_row *r = bench_probe_find(b, kind);
	return r && !r->missing ? r : NULL;
}

/* Negative: not both were measured. */
static double ratio_to_jump(const struct bench_probe *b)
{
	const struct bench_probe_row *jump = measured(b, "jump"), *int3 = measured(b, "int3");
	return jump && int3 && jump->cost_ns > 0 ? int3->cost_ns / jump->cost_ns : -1;
}

static void print_text(struct app *app, const struct machine *m, const struct bench_probe *b)
{
	struct strbuf *out = &app->out;
	bool colour = app_colours(app);
	print_machine(app, m, b);
	strbuf_printf(out,
		      "\nMicroseconds per hit, smaller is better:\n%s%-10s %9s %9s %9s %9s  %s%s\n",
		      colour ? "\033[1m" : "", "kind", "cost", "noise", "without", "with", "place",
		      colour ? "\033[0m" : "");
	vec_for_each (&b->rows, r)
		print_row(app, r);
	double ratio = ratio_to_jump(b);
	if (ratio > 0)
		strbuf_printf(out, "\nA breakpoint costs %.1f times as much as an optimised jump.\n",
			      ratio);
	const struct bench_probe_row *quoted = measured(b, "int3");
	if (quoted)
		strbuf_printf(
			out, "A figure often quoted for a kprobe is %.2f us; here it is %.2f us.\n",
			quoted_us, us(quoted->cost_ns));
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------------------- */

static void put_row(struct json *j, const struct bench_probe_row *r)
{
	json_object(j);
	json_put_str(j, "kind", r->kind);
	json_put_str(j, "about", r->about);
	if (r->missing) {
		json_put_str(j, "not_measured", r->missing);
	} else {
		json_put_str(j, "place", r->place);
		json_put_u64(j, "calls", r->calls);
		json_put_u64(j, "hits", r->hits);
		json_put_double(j, "cost_ns", r->cost_ns);
		json_put_double(j, "noise_ns", r->noise_ns);
		json_put_double(j, "without_ns", r->base_ns);
		json_put_double(j, "with_ns", r->probed_ns);
		if (r->note)
			json_put_str(j, "note", r->note);
	}
	json_object_end(j);
}

static int print_json(struct app *app, const struct machine *m, const struct bench_probe *b)
{
	struct json j;
	double ratio = ratio_to_jump(b);
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	json_put_str(&j, "release", m->release);
	json_put_str(&j, "arch", m->arch);
	json_put_str(&j, "cpu", m->cpu_desc);
	json_put_bool(&j, "virtual_machine", b->is_virtual);
	json_put_bool(&j, "emulated_cpu", b->is_emulated);
	json_key(&j, "kinds");
	json_array(&j);
	vec_for_each (&b->rows, r)
		put_row(&j, r);
	json_array_end(&j);
	if (ratio > 0)
		json_put_double(&j, "int3_per_jump", ratio);
	json_object_end(&j);
	return json_end(&j);
}

/* ---- the command --------------------------------------------------------------------------------------------------------------- */

static void go_through_usdt(u64 n)
{
	(void)workload_usdt(&(struct workload_args){ .n = n });
}

static int list_kinds(struct app *app)
{
	const char *about;
	struct json j;
	if (app->json) {
		json_begin(&j, &app->out, JSON_PRETTY);
		json_array(&j);
	}
	for (u32 i = 0; bench_probe_kind(i, &about); i++) {
		const char *name = bench_probe_kind(i, NULL);
		if (!app->json) {
			strbuf_printf(&app->out, "%-10s %s\n", name, about);
			continue;
		}
		json_object(&j);
		json_put_str(&j, "kind", name);
		json_put_str(&j, "about", about);
		json_object_end(&j);
	}
	if (!app->json)
		return APP_DONE;
	json_array_end(&j);
	int err = json_end(&j);
	return err ? app_fail(app, err) : APP_DONE;
}

static int check_kind(struct app *app, const char *word)
{
	const char *names[KINDS_MAX];
	u32 nr = 0;
	for (; nr < KINDS_MAX && bench_probe_kind(nr, NULL); nr++) {
		names[nr] = bench_probe_kind(nr, NULL);
		if (!strcmp(word, names[nr]))
			return 0;
	}
	const char *close = str_closest(word, names, nr);
	diag_error(&app->diag, -EINVAL, "unknown kind of probe '%s'", word);
	if (close)
		diag_hint(&app->diag, "did you mean '%s'?", close);
	diag_hint(&app->diag, "'%s --list' shows all of them", app->title);
	return -EINVAL;
}

static int run_and_print(struct app *app, const struct bench_probe_opts *o)
{
	struct bench_probe b;
	struct machine m;
	int err = bench_probe(&b, o, &app->diag);
	if (!err) {
		err = machine_read(o->root, &m);
		if (!err && app->json)
			err = print_json(app, &m, &b);
		else if (!err)
			print_text(app, &m, &b);
		machine_done(&m);
	}
	bench_probe_done(&b);
	return err;
}

static int bench_run(struct app *app, void *opts, int argc, char **argv)
{
	struct bench_opts *o = opts;
	struct sysroot root;
	struct bench_probe_opts run = { .root = &root,
					.kinds = (const char *const *)argv,
					.nr_kinds = (u32)argc,
					.usdt = go_through_usdt };
	if (o->list)
		return argc ? app_usage(app, "unexpected argument '%s'", argv[0]) : list_kinds(app);
	for (int i = 0; i < argc; i++)
		if (check_kind(app, argv[i]))
			return APP_USAGE;
	if (clock_parse(o->time, &run.time_ns) || !run.time_ns || run.time_ns > TIME_MAX_NS)
		return app_usage(app, "invalid time in seconds '%s': above 0, up to 60", o->time);
	int err = sysroot_open(&root, NULL);
	if (err)
		return app_fail(app, err);
	err = run_and_print(app, &run);
	sysroot_close(&root);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt bench_rows[] = {
	OPT_STR('t', "time", struct bench_opts, time, "S", "Seconds of calls for each kind (0.3)"),
	OPT_FLAG('l', "list", struct bench_opts, list, "List the kinds"),
	OPT_END(),
};

static const struct opt_example bench_examples[] = {
	{ "bench probe", "all kinds that this kernel has" },
	{ "bench probe uprobe uretprobe usdt", "only probes in programs" },
	{ "bench probe jump int3 -t 2", "what jump optimisation saves, measured for longer" },
	{ 0 },
};

const struct command command_bench_probe = {
	.name = "probe",
	.summary = "cost of one hit, by kind of probe",
	.usage = "[OPTIONS] [KIND...]",
	.about =
		"Times the same call without and with a probe of each kind; the difference is the "
		"cost of one hit. Each hit runs a BPF program of five instructions that counts it. "
		"Times are of the best of five rounds; noise is how far the median round is from "
		"it.\n"
		"Kernel probes are put on the system call prlimit64, which few programs make, "
		"and task_rename. For int3, debug.kprobes-optimization is off for a moment, for "
		"all kprobes of the system. Every probe is gone when the command ends, however it "
		"ends.",
	.examples = bench_examples,
	.opts = bench_rows,
	.opts_size = sizeof(struct bench_opts),
	.defaults = bench_defaults,
	.mixed_words = true,
	.run = bench_run,
};
