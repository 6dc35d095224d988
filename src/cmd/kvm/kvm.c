/*
 * `sonde kvm`: virtual machines, seen from their host. stat: why virtual CPUs leave the guest, and how long it takes. The others are
 * record, report, top, diff and buildid-list with samples of guests: PERF_RECORD_MISC_GUEST_KERNEL and _GUEST_USER.
 */
#include "base/json.h"
#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "cmd/data/buildid_list.h"
#include "cmd/record/preset.h"
#include "cmd/top/top.h"
#include "session/diff.h"
#include "session/kvm_run.h"
#include "view/text_kvm.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum { PIDS_MAX = 64 };

struct kvm_opts {
	const char *input, *output;
	bool host, guest, force;
	int event, key;
	s64 vcpu;
	const char *pids;
	struct guest_opts files;
	struct record_opts record;
	struct report_opts report;
	struct top_cmd_opts top;
	struct diff_opts diff;
	struct buildid_opts build_ids;
};

static void kvm_defaults(void *opts)
{
	struct kvm_opts *o = opts;
	o->vcpu = -1;
	o->guest = true;
	report_defaults(&o->report);
	top_defaults(&o->top);
}

/* perf: without the host it is always guests. */
static bool wants_guests(const struct kvm_opts *o)
{
	return o->guest || !o->host;
}

/* As perf names them, so that recordings of hosts and guests can lie side by side. */
static const char *file_name(const struct kvm_opts *o)
{
	if (!wants_guests(o))
		return "perf.data.host";
	return o->host ? "perf.data.kvm" : "perf.data.guest";
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static void put_row(struct json *j, const struct kvm_row *r, enum kvm_kind kind)
{
	struct strbuf name;
	strbuf_init(&name);
	text_kvm_name(r, kind, &name);
	json_object(j);
	json_put_str(j, "name", strbuf_cstr(&name));
	json_put_u64(j, "samples", r->nr);
	json_put_u64(j, "total_ns", r->total_ns);
	json_put_u64(j, "min_ns", r->min_ns);
	json_put_u64(j, "max_ns", r->max_ns);
	json_put_double(j, "mean_ns", r->mean_ns);
	json_put_double(j, "error_percent", text_kvm_error(r));
	json_object_end(j);
	strbuf_done(&name);
}

static int print_json(struct app *app, const struct kvm_run *r, enum kvm_kind kind)
{
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "samples", r->totals.nr);
	json_put_u64(&j, "total_ns", r->totals.total_ns);
	json_put_u64(&j, "unfinished", r->totals.nr_open);
	json_put_u64(&j, "lost", r->nr_lost);
	json_key(&j, "rows");
	json_array(&j);
	for (size_t i = 0; i < r->nr; i++)
		put_row(&j, &r->rows[i], kind);
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

/* ---- report -------------------------------------------------------------------------------------------------------- */

static void print_text(struct app *app, const struct kvm_opts *o, const struct kvm_run *r)
{
	/* perf prints this table to standard error. */
	struct strbuf *to = app->dialect->perf_closing_lines ? &app->err : &app->out;
	strbuf_str(to, "\n\nAnalyze events for ");
	if (o->pids)
		strbuf_printf(to, "pid(s) %s, ", o->pids);
	else
		strbuf_str(to, "all VMs, ");
	if (o->vcpu < 0)
		strbuf_str(to, "all VCPUs:\n\n");
	else
		strbuf_printf(to, "VCPU %lld:\n\n", (long long)o->vcpu);
	text_kvm_table(r->rows, r->nr, &r->totals, (enum kvm_kind)o->event, to);
}

static void report_missed(struct app *app, const struct kvm_run *r)
{
	struct diag *d = &app->diag;
	if (!r->totals.nr_events) {
		diag_warn(d, "no kvm events in the recording");
		diag_hint(d, "record them with 'kvm stat record -- COMMAND' while a guest runs");
	} else if (!r->totals.nr) {
		diag_warn(d, "%llu kvm events, but none has both a beginning and an end",
			  (unsigned long long)r->totals.nr_events);
		diag_hint(d, "'script' shows them; a hypervisor without kvm_entry gives no times");
	}
	if (r->nr_lost)
		diag_warn(d, "%llu %s lost: what was under way then is missing",
			  (unsigned long long)r->nr_lost,
			  str_plural(r->nr_lost, "record was", "records were"));
}

/* "12,34": how many, or -EINVAL with a diag. */
static int parse_pids(const char *text, s32 *pids, struct diag *d)
{
	int nr = 0;
	for (const char *at = text; at && *at; at += *at == ',') {
		size_t len = strcspn(at, ",");
		char word[16] = "";
		u64 pid = 0;
		if (len < sizeof(word))
			memcpy(word, at, len);
		if (num_parse_u64(word, 10, &pid) || !pid || pid > INT32_MAX || nr == PIDS_MAX)
			return diag_error(d, -EINVAL, "-p: invalid process ID '%.*s'", (int)len, at);
		pids[nr++] = (s32)pid;
		at += len;
	}
	return nr;
}

static int run_report(struct app *app, void *opts, int argc, char **argv)
{
	const struct kvm_opts *o = opts;
	s32 pids[PIDS_MAX];
	struct kvm_run r;
	app->diag.recorder = "kvm stat record -- COMMAND";
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s'", argv[1]);
	int nr = parse_pids(o->pids, pids, &app->diag);
	if (nr < 0)
		return app_usage_said(app);
	struct kvm_exits_env env = {
		.kind = (enum kvm_kind)o->event, .vcpu = o->vcpu, .pids = pids, .nr_pids = (size_t)nr
	};
	const char *input = argc ? argv[0] : o->input ? o->input : file_name(o);
	int err = kvm_run(&r, app_symbols(app), input, &env, (enum kvm_key)o->key);
	if (!err) {
		report_missed(app, &r);
		if (app->json)
			err = print_json(app, &r, env.kind);
		else
			print_text(app, o, &r);
	}
	kvm_run_done(&r);
	return err ? app_fail(app, err) : APP_DONE;
}

/* ---- record -------------------------------------------------------------------------------------------------------- */

static int run_record(struct app *app, void *opts, int argc, char **argv)
{
	static const char *const x86[] = { "kvm:kvm_entry", "kvm:kvm_exit", "kvm:kvm_mmio",
					   "kvm:kvm_pio", NULL };
	static const char *const others[] = { "kvm:kvm_entry", "kvm:kvm_exit", NULL };
	struct kvm_opts *o = opts;
	if (!record_kernel_has(others)) {
		diag_error(&app->diag, -ENOENT,
			   "cannot record guests: this kernel has no kvm events");
		diag_hint(&app->diag, "load the module: modprobe kvm; 'list kvm' shows its events");
		return APP_FAILED;
	}
	if (!o->record.output)
		o->record.output = o->output ? o->output : file_name(o);
	return record_run_preset(
		app, &o->record,
		&(struct record_preset){ .events = record_kernel_has(x86) ? x86 : others,
					 .system_wide = true },
		argc, argv);
}

/* ---- samples of guests ----------------------------------------------------------------------------------------- */

static void choose_side(const struct kvm_opts *o, struct choose_opts *c)
{
	c->sides_given = true;
	c->no_host = !o->host;
	c->no_guest = !wants_guests(o);
}

/* Given before the command's word or after it. */
static struct guest_opts join_files(const struct guest_opts *a, const struct guest_opts *b)
{
	return (struct guest_opts){ .kallsyms = b->kallsyms ? b->kallsyms : a->kallsyms,
				    .modules = b->modules ? b->modules : a->modules,
				    .vmlinux = b->vmlinux ? b->vmlinux : a->vmlinux,
				    .mount = b->mount ? b->mount : a->mount };
}

/* The kernel's timers run on the host: only counters of the CPU go on in a guest. */
static bool has_counters(void)
{
	struct event_env env;
	if (event_env_open(&env, ""))
		return true; /* it will be said where it matters */
	bool has = env.pmus.err || pmu_next_core(&env.pmus, NULL);
	event_env_close(&env);
	return has;
}

/* Events that somebody chose may be of another kind: tracepoints know no sides. */
static int check_counters(struct app *app, const struct kvm_opts *o, const struct record_opts *r)
{
	if (!wants_guests(o) || has_counters())
		return APP_DONE;
	if (o->host || r->words.list.nr) {
		diag_warn(&app->diag,
			  "no samples of guests: only hardware counters run in a guest, and "
			  "this machine has none");
		return APP_DONE;
	}
	diag_error(
		&app->diag, -EOPNOTSUPP,
		"cannot sample guests: only hardware counters run in a guest, and this machine has "
		"none");
	diag_hint(&app->diag,
		  "record in the guest itself; 'kvm stat record' shows why virtual CPUs "
		  "leave a guest");
	return APP_FAILED;
}

static void record_sides(const struct kvm_opts *o, struct record_opts *r)
{
	r->side = !wants_guests(o) ? EVENT_HOST : o->host ? EVENT_BOTH : EVENT_GUEST;
	r->guest = o->files;
}

static int run_sample(struct app *app, void *opts, int argc, char **argv)
{
	struct kvm_opts *o = opts;
	int status = check_counters(app, o, &o->record);
	if (status != APP_DONE)
		return status;
	record_sides(o, &o->record);
	if (!o->record.output)
		o->record.output = o->output ? o->output : file_name(o);
	/* A command on the host is no guest: it says for how long. */
	if (!app->dialect->records_as_perf && !o->record.pids && !o->record.tids && !o->record.user)
		o->record.all |= !o->record.cpus;
	return command_record.run(app, &o->record, argc, argv);
}

static int run_samples_report(struct app *app, void *opts, int argc, char **argv)
{
	struct kvm_opts *o = opts;
	app->diag.recorder = "kvm record -- COMMAND";
	if (!o->report.inputs.items.nr)
		o->report.input = o->input ? o->input : file_name(o);
	choose_side(o, &o->report.choose);
	o->report.symbols.guest = join_files(&o->files, &o->report.symbols.guest);
	return command_report.run(app, &o->report, argc, argv);
}

static int run_top(struct app *app, void *opts, int argc, char **argv)
{
	struct kvm_opts *o = opts;
	int status = check_counters(app, o, &o->top.record);
	if (status != APP_DONE)
		return status;
	record_sides(o, &o->top.record);
	choose_side(o, &o->top.report.choose);
	o->top.report.symbols.guest = o->files;
	o->top.top.guests = wants_guests(o);
	return command_top.run(app, &o->top, argc, argv);
}

static int run_diff(struct app *app, void *opts, int argc, char **argv)
{
	static char host[] = "perf.data.host", guest[] = "perf.data.guest";
	struct kvm_opts *o = opts;
	char *both[] = { host, guest, NULL };
	choose_side(o, &o->diff.choose);
	o->diff.symbols.guest = o->files;
	if (argc || !wants_guests(o))
		return command_diff.run(app, &o->diff, argc, argv);
	return command_diff.run(app, &o->diff, 2, both);
}

static int run_build_ids(struct app *app, void *opts, int argc, char **argv)
{
	struct kvm_opts *o = opts;
	o->build_ids.sides_given = true;
	o->build_ids.no_host = !o->host;
	o->build_ids.no_guest = !wants_guests(o);
	if (!o->build_ids.input)
		o->build_ids.input = o->input ? o->input : file_name(o);
	return command_buildid_list.run(app, &o->build_ids, argc, argv);
}

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

static const char *const events[] = { "vmexit", "mmio", "ioport", NULL };
static const char *const keys[] = { "sample", "time", NULL };

/* clang-format off */
#define T struct kvm_opts
#define SIDE_ROWS \
	OPT_FLAG(0, "host", T, host, "Samples of the host, too; the default file is then perf.data.kvm, or with --no-guest perf.data.host"), \
	OPT_FLAG(0, "guest", T, guest, "Samples of guests (default)")
/* Also after the command's word. */
static const struct opt side_rows[] = {
	SIDE_ROWS,
	OPT_END(),
};
static const struct opt guest_rows[] = {
	SIDE_ROWS,
	GUEST_OPT_ROWS(T, files),
	OPT_END(),
};
static const struct opt kvm_rows[] = {
	OPT_STR('i', "input", T, input, "FILE", "Read FILE (perf.data.guest)"),
	OPT_STR('o', "output", T, output, "FILE", "Write FILE (perf.data.guest)"),
	SIDE_ROWS,
	OPT_FLAG(0, "guest-code", T, force, "Code that a hypervisor maps for its guest cannot be symbolised", .refused = true),
	GUEST_OPT_ROWS(T, files),
	OPT_END(),
};
static const struct opt stat_report_rows[] = {
	OPT_STR('i', "input", T, input, "FILE", "Read FILE (perf.data.guest)"),
	OPT_ENUM(0, "event", T, event, "EVENT", "What to count", events),
	OPT_INT(0, "vcpu", T, vcpu, "N", "Only this virtual CPU"),
	OPT_STR('p', "pid", T, pids, "LIST", "Only virtual machines of these processes"),
	OPT_ENUM('k', "key", T, key, "KEY", "Sort by number or by average time", keys),
	OPT_FLAG('f', "force", T, force, "Accepted; file ownership is never checked", .hidden = true),
	OPT_END(),
};
static const struct opt none_rows[] = {
	OPT_END(),
};
#undef SIDE_ROWS
#undef T
/* clang-format on */

/* ---- commands ------------------------------------------------------------------------------------------------------ */

static const struct opt_example record_examples[] = {
	{ "kvm stat record -- sleep 5", "all guests, for five seconds" },
	{ "kvm -o boot.data stat record -- sleep 5", "into another file" },
	{ 0 },
};
static const struct opt_example stat_report_examples[] = {
	{ "kvm stat report", "exits by reason" },
	{ "kvm stat report --event ioport -k time", "ports by average time" },
	{ 0 },
};
static const struct opt_example stat_examples[] = {
	{ "kvm stat record -- sleep 5", "record guest exits" },
	{ "kvm stat report", "count them" },
	{ 0 },
};

static const struct command command_kvm_stat_record = {
	.name = "record",
	.summary = "record guest exits",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Records kvm_entry, kvm_exit, kvm_mmio and kvm_pio on all CPUs into "
		 "perf.data.guest. Takes all options of `sonde record`.",
	.examples = record_examples,
	.opts = none_rows,
	.opts_size = sizeof(struct kvm_opts),
	.same_opts = true,
	.takes = &command_record,
	.takes_at = offsetof(struct kvm_opts, record),
	.run = run_record,
};

static const struct command command_kvm_stat_report = {
	.name = "report",
	.summary = "why guests exited, and how long it took",
	.usage = "[OPTIONS] [FILE]",
	.about = "An exit lasts from kvm_exit to the next kvm_entry of the same thread. Reasons "
		 "are named as the recording's own event describes them.",
	.examples = stat_report_examples,
	.opts = stat_report_rows,
	.opts_size = sizeof(struct kvm_opts),
	.mixed_words = true,
	.same_opts = true,
	.run = run_report,
};

static const struct command *const stat_subs[] = { &command_kvm_stat_record,
						   &command_kvm_stat_report, NULL };

static const struct opt_example stat_elsewhere[] = {
	{ "live", "not supported: 'kvm stat record -- sleep 1', then 'kvm stat report'" },
	{ 0 },
};

static const struct command command_kvm_stat = {
	.name = "stat",
	.summary = "why virtual CPUs leave the guest",
	.usage = "COMMAND [OPTIONS]",
	.examples = stat_examples,
	.opts = none_rows,
	.opts_size = sizeof(struct kvm_opts),
	.same_opts = true,
	.subs = stat_subs,
	.elsewhere = stat_elsewhere,
};

static const struct opt_example sample_examples[] = {
	{ "kvm record --guestkallsyms guest.kallsyms --guestmodules guest.modules -- sleep 5",
	  "what guests execute, for five seconds" },
	{ "kvm record --host -- sleep 5", "host and guests, into perf.data.kvm" },
	{ 0 },
};
static const struct opt_example samples_report_examples[] = {
	{ "kvm report --guestkallsyms guest.kallsyms --guestmodules guest.modules",
	  "functions of guests' kernels: [g]; programs in guests: [u]" },
	{ "kvm report --host", "host and guests side by side" },
	{ 0 },
};
static const struct opt_example top_examples[] = {
	{ "kvm top --guestkallsyms guest.kallsyms", "what guests execute right now" },
	{ 0 },
};
static const struct opt_example diff_examples[] = {
	{ "kvm diff", "perf.data.host against perf.data.guest" },
	{ "kvm diff before.data after.data", "guests before and after a change" },
	{ 0 },
};
static const struct opt_example build_id_examples[] = {
	{ "kvm buildid-list", "the binaries that ./perf.data.guest mentions" },
	{ 0 },
};

static const struct command command_kvm_record = {
	.name = "record",
	.summary = "sample what guests execute",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about =
		"Samples virtual machines from their host into perf.data.guest: all guests, unless "
		"processes or CPUs are named (when called as perf, only with -a). Takes "
		"all options of `sonde record`. Only hardware counters run in a guest. The files "
		"of "
		"--guestkallsyms and --guestmodules are copies of the guest's /proc/kallsyms and "
		"/proc/modules (in the guest, as root, after sysctl kernel.kptr_restrict=0).",
	.examples = sample_examples,
	.opts = guest_rows,
	.opts_size = sizeof(struct kvm_opts),
	.same_opts = true,
	.takes = &command_record,
	.takes_at = offsetof(struct kvm_opts, record),
	.run = run_sample,
};

static const struct command command_kvm_report = {
	.name = "report",
	.summary = "what guests executed, by function",
	.usage = "[OPTIONS] [FILE]",
	.about =
		"Same as `sonde report`, for samples of virtual machines; takes all its options. "
		"The "
		"command is the thread of the virtual CPU, :TID, because a host does not see which "
		"program a guest runs. Functions of the guest's kernel are marked [g]; code of its "
		"programs is marked [u] and has no names.",
	.examples = samples_report_examples,
	.opts = side_rows,
	.opts_size = sizeof(struct kvm_opts),
	.mixed_words = true,
	.same_opts = true,
	.takes = &command_report,
	.takes_at = offsetof(struct kvm_opts, report),
	.run = run_samples_report,
};

static const struct command command_kvm_top = {
	.name = "top",
	.summary = "what guests execute right now",
	.usage = "[OPTIONS]",
	.about = "Same as `sonde top`, for samples of virtual machines; takes all its options.",
	.examples = top_examples,
	.opts = guest_rows,
	.opts_size = sizeof(struct kvm_opts),
	.same_opts = true,
	.takes = &command_top,
	.takes_at = offsetof(struct kvm_opts, top),
	.run = run_top,
};

static const struct command command_kvm_diff = {
	.name = "diff",
	.summary = "compare two recordings of guests",
	.usage = "[OPTIONS] [OLD] [NEW...]",
	.about = "Same as `sonde diff`, for samples of virtual machines; takes all its options. "
		 "Without files it compares perf.data.host and perf.data.guest.",
	.examples = diff_examples,
	.opts = guest_rows,
	.opts_size = sizeof(struct kvm_opts),
	.mixed_words = true,
	.same_opts = true,
	.takes = &command_diff,
	.takes_at = offsetof(struct kvm_opts, diff),
	.run = run_diff,
};

static const struct command command_kvm_buildid_list = {
	.name = "buildid-list",
	.summary = "list the build IDs in a recording of guests",
	.usage = "[OPTIONS] [FILE]",
	.about = "Same as `sonde buildid-list`, for perf.data.guest.",
	.examples = build_id_examples,
	.opts = side_rows,
	.opts_size = sizeof(struct kvm_opts),
	.mixed_words = true,
	.same_opts = true,
	.takes = &command_buildid_list,
	.takes_at = offsetof(struct kvm_opts, build_ids),
	.run = run_build_ids,
};

static const struct command *const subs[] = {
	&command_kvm_stat,
	&command_kvm_record,
	&command_kvm_report,
	&command_kvm_top,
	&command_kvm_diff,
	&command_kvm_buildid_list,
	NULL,
};

static const struct opt_example examples[] = {
	{ "kvm stat record -- sleep 5", "record guest exits" },
	{ "kvm stat report", "count them" },
	{ "kvm record --guestkallsyms guest.kallsyms -- sleep 5", "sample what guests execute" },
	{ "kvm report --guestkallsyms guest.kallsyms", "by function of the guest's kernel" },
	{ 0 },
};

const struct command command_kvm = {
	.name = "kvm",
	.group = "Why",
	.summary = "virtual machines: what they execute, and why their CPUs leave the guest",
	.usage = "[OPTIONS] COMMAND",
	.examples = examples,
	.opts = kvm_rows,
	.opts_size = sizeof(struct kvm_opts),
	.defaults = kvm_defaults,
	.subs = subs,
};
