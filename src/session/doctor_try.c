/* Providers, tried: what each answer of the kernel means for a person. */
#include "session/doctor.h"

#include <errno.h>
#include <string.h>

static const char TRIED[] = "Providers, tried here";

enum { NEEDS_CAPS = -100 }; /* no level of perf_event_paranoid is enough */

static const struct trial_row {
	enum trial_kind kind;
	const char *name;
	const char *works; /* what is said when it does */
	const char *costs;
	int paranoid; /* allowed to everybody up to this level */
	const char *option; /* what a kernel without it lacks */
} rows[] = {
	{ TRIAL_SOFTWARE, "software events", "counted task-clock",
	  "stat and record: nothing can be counted or sampled", 2, "PERF_EVENTS" },
	{ TRIAL_KERNEL, "kernel side", "events are counted in the kernel too",
	  "kernel time is invisible: events get :u, call chains end at the system call", 1,
	  "PERF_EVENTS" },
	{ TRIAL_SYSTEM_WIDE, "whole CPUs", "-a and -C",
	  "-a and -C are refused: only your own processes", 0, "PERF_EVENTS" },
	{ TRIAL_SAMPLING, "sampling", "cpu-clock samples arrive",
	  "record, top and flame get no samples", 2, "PERF_EVENTS" },
	{ TRIAL_RING, "ring buffers", NULL, "samples are lost under load", 2, "PERF_EVENTS" },
	{ TRIAL_CYCLES, "hardware events", "counted cycles",
	  "cycles, instructions, cache events: stat prints <not supported>, record uses cpu-clock",
	  2, NULL },
	{ TRIAL_PRECISE, "precise samples", NULL,
	  "samples land a few instructions late (skid); no :p", 2, NULL },
	{ TRIAL_BRANCHES, "branch stacks", "record -b",
	  "record -b, and call chains derived from it", 2, NULL },
	{ TRIAL_TRACEPOINT, "tracepoints", "counted a system call",
	  "sched:, block:, syscalls: and all other tracepoints", -1, "FTRACE" },
	{ TRIAL_BREAKPOINT, "breakpoints", "detected a memory write", "mem:ADDRESS events", 2,
	  "HAVE_HW_BREAKPOINT" },
	{ TRIAL_UPROBE, "uprobes", "counted a call in this program", "uprobe: and usdt: events",
	  NEEDS_CAPS, "UPROBE_EVENTS" },
	{ TRIAL_KPROBE, "kprobes", "counted a call of vfs_read",
	  "kprobe: events, arguments of kernel functions", NEEDS_CAPS, "KPROBE_EVENTS" },
	{ TRIAL_BPF_PROG, "BPF programs", "loaded one", "programs of tracers in the kernel",
	  NEEDS_CAPS, "BPF_SYSCALL" },
	{ TRIAL_BPF_RING, "BPF ring buffers", "made one",
	  "output of BPF programs takes slower buffers", NEEDS_CAPS, "BPF_SYSCALL" },
	{ TRIAL_FENTRY, "fentry", "loaded a program for vfs_read",
	  "fentry: and fexit: probes, the cheapest kernel function probes", NEEDS_CAPS,
	  "DEBUG_INFO_BTF" },
};

/* ---- why it failed, and what helps ------------------------------------------------------------------------------ */

static bool is_refusal(int err)
{
	return err == -EPERM || err == -EACCES;
}

static void refused(struct doctor *d, const struct trial_row *r, int err)
{
	bool bpf = r->kind == TRIAL_BPF_PROG || r->kind == TRIAL_BPF_RING || r->kind == TRIAL_FENTRY;
	bool bound = doctor_perfmon_is_bound(d) && !bpf;
	bool may = d->rights.perfmon && !bound && (!bpf || d->root_user || caps_has(d->caps, 39));
	if (r->kind == TRIAL_TRACEPOINT && d->tracing.err)
		doctor_add(d, TRIED, r->name, FINDING_MISSING, "tracefs is not readable");
	else if (may)
		doctor_add(d, TRIED, r->name, FINDING_MISSING,
			   "refused despite all capabilities (%s)",
			   err == -EPERM ? "EPERM" : "EACCES");
	else if (bound)
		doctor_add(d, TRIED, r->name, FINDING_MISSING,
			   "refused at perf_event_paranoid %d, in this kernel even to CAP_PERFMON",
			   d->rights.paranoid);
	else if (r->paranoid == NEEDS_CAPS)
		doctor_add(d, TRIED, r->name, FINDING_MISSING, "only with %s",
			   bpf ? "CAP_BPF and CAP_PERFMON" : "CAP_PERFMON");
	else
		doctor_add(d, TRIED, r->name, FINDING_MISSING,
			   "refused at perf_event_paranoid %d without CAP_PERFMON",
			   d->rights.paranoid);
	doctor_costs(d, "%s", r->costs);
	/* seccomp refuses where the setting would allow: the usual profile of container runtimes does. */
	bool seccomp = (d->container || d->container_mark) && d->rights.paranoid <= r->paranoid;
	if (bound)
		doctor_fix(d, "sudo sysctl kernel.perf_event_paranoid=2");
	else if (may && r->kind == TRIAL_FENTRY)
		doctor_needs(
			d, "a kernel that allows it: lockdown or a similar policy forbids it here");
	else if (may || seccomp || (d->user_ns && r->paranoid == NEEDS_CAPS))
		doctor_needs(d, "%s",
			     d->container || d->container_mark
				     ? "a container with --cap-add=PERFMON "
				       "--security-opt seccomp=unconfined"
				     : "whatever forbids it (seccomp, a "
				       "security module, lockdown) to allow it");
	else if (r->paranoid == NEEDS_CAPS || r->kind == TRIAL_TRACEPOINT)
		doctor_fix(d, "sudo sonde ...");
	else
		doctor_fix(d, "sudo sysctl kernel.perf_event_paranoid=%d", r->paranoid);
}

static bool option_off(const struct doctor *d, const char *option)
{
	char value[8];
	return option && kconfig_get(&d->config, option, value, sizeof(value)) && value[0] == 'n';
}

static void absent(struct doctor *d, const struct trial_row *r, int err)
{
	bool hardware =
		r->kind == TRIAL_CYCLES || r->kind == TRIAL_PRECISE || r->kind == TRIAL_BRANCHES;
	if (r->kind == TRIAL_TRACEPOINT && d->tracing.err)
		doctor_add(d, TRIED, r->name, FINDING_MISSING, "tracefs is not mounted");
	else if (hardware)
		doctor_add(d, TRIED, r->name, FINDING_MISSING, "not on this %smachine",
			   d->vm ? "virtual " : "");
	else if (err == -ENOSYS)
		doctor_add(d, TRIED, r->name, FINDING_MISSING,
			   "this kernel (or a seccomp filter) has no such system call");
	else
		doctor_add(d, TRIED, r->name, FINDING_MISSING, "not in this kernel (%s)",
			   strerror(-err));
	doctor_costs(d, "%s", r->costs);
	if (r->kind == TRIAL_TRACEPOINT && d->tracing.err)
		doctor_fix(d, "sudo mount -t tracefs nodev /sys/kernel/tracing");
	else if (hardware)
		doctor_needs(d, "%s",
			     r->kind != TRIAL_CYCLES ? "another CPU"
			     : d->vm ? "a virtual machine with a vPMU (qemu -cpu host,pmu=on), or "
				       "bare metal"
				     : "a CPU whose counters this kernel supports");
	else if (r->option)
		doctor_needs(d, "a kernel with CONFIG_%s=y%s", r->option,
			     option_off(d, r->option) ? " (this one says n)" : "");
}

static void limited_ring(struct doctor *d, const struct trial_row *r, const struct trial *t)
{
	if (t->value >= 512 << 10) {
		doctor_add(d, TRIED, r->name, FINDING_OK, "512 KB per CPU");
		return;
	}
	doctor_add(d, TRIED, r->name, t->value ? FINDING_LIMITED : FINDING_MISSING,
		   "%llu KB at most, not 512", (unsigned long long)t->value >> 10);
	doctor_costs(d, "%s", r->costs);
	doctor_fix(d, "sudo sysctl kernel.perf_event_mlock_kb=2048");
}

static void judge(struct doctor *d, const struct trial_row *r, const struct trial *t)
{
	if (is_refusal(t->err) && !(r->kind == TRIAL_RING && t->value)) {
		refused(d, r, t->err);
	} else if (r->kind == TRIAL_RING && (!t->err || t->value || t->err == -ENOMEM)) {
		limited_ring(d, r, t);
	} else if (t->err) {
		absent(d, r, t->err);
	} else if (t->unseen) {
		doctor_add(d, TRIED, r->name, FINDING_LIMITED,
			   "opens, but did not count a known event");
		doctor_costs(d, "%s", r->costs);
	} else if (r->kind == TRIAL_PRECISE) {
		doctor_add(d, TRIED, r->name, FINDING_OK, "precise_ip up to %llu (:%.*s)",
			   (unsigned long long)t->value, (int)t->value, "ppp");
	} else {
		doctor_add(d, TRIED, r->name, FINDING_OK, "%s", r->works);
	}
}

void doctor_judge_trials(struct doctor *d)
{
	bool no_counters = d->trials[TRIAL_CYCLES].err != 0;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum trial_kind kind = rows[i].kind;
		if (no_counters && (kind == TRIAL_PRECISE || kind == TRIAL_BRANCHES))
			continue; /* said once */
		judge(d, &rows[i], &d->trials[kind]);
	}
}

void doctor_try(struct doctor *d)
{
	struct trial_env env;
	if (!d->live)
		return;
	trial_env_init(&env, &d->root, &d->tracing, &d->rights);
	for (int kind = 0; kind < TRIAL_NR; kind++)
		trial_run(&env, (enum trial_kind)kind, &d->trials[kind]);
}
