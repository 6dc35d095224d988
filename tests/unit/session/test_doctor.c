/* What doctor concludes from a fake machine, or from what a kernel played by this test answered. */
#include "tap.h"

#include "session/doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/sonde-doctor.XXXXXX";

static void put(const char *path, const char *text)
{
	char full[512];
	snprintf(full, sizeof(full), "%s/%s", top, path);
	for (char *slash = full + strlen(top) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(full, 0755);
		*slash = '/';
	}
	FILE *f = fopen(full, "w");
	if (!f || fputs(text, f) < 0 || fclose(f)) {
		perror(full);
		exit(1);
	}
}

static const struct finding *find(const struct doctor *d, const char *name)
{
	vec_for_each (&d->findings, f)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

static void is_found(const struct doctor *d, const char *name, enum finding_state state,
		     const char *value, const char *helps)
{
	const struct finding *f = find(d, name);
	const char *text = !f ? NULL : f->fix ? f->fix : f->needs;
	bool good = f && f->state == state && strstr(f->value, value) &&
		    (helps ? text && strstr(text, helps) : !text) &&
		    (state == FINDING_OK) == !f->costs;
	if (!ok(good, "%s is %s: %s", name, finding_word(state), helps ? helps : "nothing to do"))
		printf("#   %s, '%s', costs '%s', helps '%s'\n",
		       f ? finding_word(f->state) : "no row", f ? f->value : "",
		       f && f->costs ? f->costs : "", text ? text : "");
}

static void user_at(const char *paranoid, const char *caps)
{
	put("proc/sys/kernel/perf_event_paranoid", paranoid);
	put("proc/self/status", caps);
}

static const char no_caps[] = "Name:\tx\nCapEff:\t0000000000000000\n",
		  all_caps[] = "Name:\tx\nCapEff:\t000001ffffffffff\n";

static void look(struct doctor *d)
{
	if (doctor_init(d, top, NULL))
		exit(1);
	d->config_option = "--kernel-config";
	doctor_look_rights(d);
	doctor_look_kernel(d);
	ok(!d->no_memory && !find(d, "software events"), "a fake root is looked at, not tried");
}

static void test_paranoid(void)
{
	struct doctor d;
	user_at("3\n", no_caps);
	look(&d);
	is_found(&d, "perf_event_paranoid", FINDING_MISSING, "3: nothing",
		 "kernel.perf_event_paranoid=1");
	is_found(&d, "capabilities", FINDING_MISSING, "none", "setcap");
	doctor_done(&d);
	user_at("2\n", no_caps);
	look(&d);
	is_found(&d, "perf_event_paranoid", FINDING_LIMITED, "2: user space only", "paranoid=1");
	doctor_done(&d);
	user_at("1\n", no_caps);
	look(&d);
	is_found(&d, "perf_event_paranoid", FINDING_LIMITED, "1: no whole CPUs", "paranoid=0");
	doctor_done(&d);
	user_at("0\n", no_caps);
	look(&d);
	is_found(&d, "perf_event_paranoid", FINDING_LIMITED, "0: no raw tracepoints", "paranoid=-1");
	doctor_done(&d);
	user_at("-1\n", no_caps);
	look(&d);
	is_found(&d, "perf_event_paranoid", FINDING_OK, "-1: everything", NULL);
	doctor_done(&d);
	user_at("3\n", all_caps);
	look(&d);
	is_found(&d, "perf_event_paranoid", FINDING_OK, "does not restrict CAP_PERFMON", NULL);
	is_found(&d, "capabilities", FINDING_OK, "CAP_PERFMON CAP_BPF CAP_SYS_ADMIN", NULL);
	doctor_done(&d);
}

static void test_kptr(void)
{
	struct doctor d;
	put("proc/sys/kernel/kptr_restrict", "2\n");
	put("proc/kallsyms", "0000000000000000 A fixed_percpu_data\n0000000000000000 T _text\n");
	look(&d);
	is_found(&d, "kptr_restrict", FINDING_LIMITED, "2; /proc/kallsyms hides", "kptr_restrict=1");
	doctor_done(&d);
	put("proc/self/status", no_caps);
	put("proc/sys/kernel/kptr_restrict", "1\n");
	look(&d);
	is_found(&d, "kptr_restrict", FINDING_LIMITED, "1; /proc/kallsyms hides",
		 "kptr_restrict=0 kernel.perf_event_paranoid=1");
	doctor_done(&d);
	put("proc/kallsyms", "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\n");
	look(&d);
	is_found(&d, "kptr_restrict", FINDING_OK, "shows addresses", NULL);
	doctor_done(&d);
}

static void test_tracing(void)
{
	struct doctor d;
	look(&d);
	is_found(&d, "tracefs", FINDING_MISSING, "not mounted",
		 "mount -t tracefs nodev /sys/kernel/tracing");
	ok(!find(&d, "tracers"), "what tracefs would tell is not guessed");
	is_found(&d, "configuration", FINDING_LIMITED, "unknown", "--kernel-config");
	doctor_done(&d);
	put("sys/kernel/debug/tracing/events/sched/sched_switch/hist", "");
	put("sys/kernel/debug/tracing/available_tracers", "function_graph function nop\n");
	look(&d);
	is_found(&d, "tracefs", FINDING_OK, "/sys/kernel/debug/tracing (the old location)", NULL);
	is_found(&d, "tracers", FINDING_OK, "function_graph function nop", NULL);
	is_found(&d, "histograms", FINDING_OK, "hist", NULL);
	is_found(&d, "kprobe events", FINDING_MISSING, "no kprobe_events", "CONFIG_KPROBE_EVENTS=y");
	doctor_done(&d);
	put("boot/config-9.9", "CONFIG_KPROBE_EVENT=y\n# CONFIG_PSI is not "
			       "set\nCONFIG_LOCK_DOWN_KERNEL_FORCE_INTEGRITY=y\n");
	put("proc/sys/kernel/osrelease", "9.9\n");
	look(&d);
	is_found(&d, "CONFIG_KPROBE_EVENTS", FINDING_OK, "y", NULL);
	is_found(&d, "CONFIG_PSI", FINDING_MISSING, "n", "CONFIG_PSI=y");
	is_found(&d, "lockdown", FINDING_OK, "integrity (built in)", NULL);
	doctor_look_config(&d, "CONFIG_RARE_THING");
	is_found(&d, "CONFIG_RARE_THING", FINDING_OK, "n", NULL);
	doctor_done(&d);
}

static void link_to(const char *path, const char *target)
{
	char full[512];
	snprintf(full, sizeof(full), "%s/%s", top, path);
	(void)unlink(full);
	if (symlink(target, full))
		exit(1);
}

static void test_container(void)
{
	struct doctor d;
	put("proc/self/ns/x", "");
	link_to("proc/self/ns/pid", "pid:[4026531836]");
	link_to("proc/self/ns/user", "user:[4026531837]");
	look(&d);
	is_found(&d, "container", FINDING_OK, "no: initial PID namespace", NULL);
	doctor_done(&d);
	put("run/.containerenv", "");
	look(&d);
	is_found(&d, "container", FINDING_OK, "though there is /run/.containerenv", NULL);
	ok(!d.container && d.container_mark, "for programs as for people: no, but there is a mark");
	doctor_done(&d);
	char mark[512];
	snprintf(mark, sizeof(mark), "%s/run/.containerenv", top);
	(void)unlink(mark);
	link_to("proc/self/ns/pid", "pid:[4026532201]");
	look(&d);
	is_found(&d, "container", FINDING_LIMITED, "own PID namespace", "--pid=host");
	ok(d.container && !d.user_ns, "a container in the first user namespace");
	doctor_done(&d);
	link_to("proc/self/ns/user", "user:[4026532200]");
	look(&d);
	is_found(&d, "container", FINDING_LIMITED, "own user namespace", "--pid=host");
	doctor_done(&d);
}

static void test_rest(void)
{
	struct doctor d;
	put("proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
	put("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	put("sys/devices/system/clocksource/clocksource0/available_clocksource",
	    "hpet tsc acpi_pm\n");
	put("proc/sys/kernel/perf_event_max_sample_rate", "1000\n");
	put("proc/sys/kernel/sched_schedstats", "0\n");
	put("proc/sys/kernel/perf_event_mlock_kb", "64\n");
	put("proc/self/limits",
	    "Max open files            1024                 64               files     \n"
	    "Max locked memory         65536                65536                bytes     \n");
	put("sys/devices/system/cpu/online", "0-7\n");
	put("etc/os-release", "NAME=x\nID=debian\n");
	put("lib/modules/9.9/modules.dep", "");
	look(&d);
	is_found(&d, "cgroups", FINDING_LIMITED, "v1 without the perf_event controller",
		 "-o perf_event");
	is_found(&d, "clock source", FINDING_LIMITED, "hpet", "echo tsc");
	is_found(&d, "perf_event_max_sample_rate", FINDING_LIMITED, "1000",
		 "max_sample_rate=100000");
	is_found(&d, "sched_schedstats", FINDING_LIMITED, "0", "sched_schedstats=1");
	is_found(&d, "perf_event_mlock_kb", FINDING_LIMITED, "64 KB", "mlock_kb=2048");
	is_found(&d, "open files", FINDING_LIMITED, "64", "prlimit");
	is_found(&d, "PSI", FINDING_MISSING, "no /proc/pressure", "CONFIG_PSI=y");
	is_found(&d, "BTF", FINDING_MISSING, "no /sys/kernel/btf", "DEBUG_INFO_BTF");
	is_found(&d, "PMUs", FINDING_LIMITED, "none", "CPU whose counters");
	is_found(&d, "kernel", FINDING_OK, "Linux 9.9", NULL);
	doctor_done(&d);
	put("proc/self/mountinfo",
	    "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
	look(&d);
	is_found(&d, "cgroups", FINDING_OK, "v2 at /sys/fs/cgroup", NULL);
	doctor_done(&d);
}

/* ---- trials ----------------------------------------------------------------------------------------------------- */

static void judge(struct doctor *d, int err)
{
	d->findings.nr = 0;
	for (int i = 0; i < TRIAL_NR; i++)
		d->trials[i] = (struct trial){ .err = err, .value = err ? 0 : 1 << 20 };
	d->trials[TRIAL_PRECISE].value = 2;
}

static void test_trials(void)
{
	struct doctor d;
	user_at("2\n", no_caps);
	look(&d);
	judge(&d, 0);
	doctor_judge_trials(&d);
	is_found(&d, "ring buffers", FINDING_OK, "512 KB", NULL);
	is_found(&d, "precise samples", FINDING_OK, "up to 2 (:pp)", NULL);
	is_found(&d, "uprobes", FINDING_OK, "counted", NULL);

	judge(&d, -EACCES);
	d.container = d.user_ns = false;
	doctor_judge_trials(&d);
	is_found(&d, "kernel side", FINDING_MISSING, "paranoid 2 without CAP_PERFMON", "paranoid=1");
	is_found(&d, "whole CPUs", FINDING_MISSING, "paranoid 2", "paranoid=0");
	is_found(&d, "kprobes", FINDING_MISSING, "only with CAP_PERFMON", "sudo sonde");
	is_found(&d, "BPF programs", FINDING_MISSING, "only with CAP_BPF and CAP_PERFMON",
		 "sudo sonde");

	judge(&d, -EPERM);
	d.container = true;
	doctor_judge_trials(&d);
	is_found(&d, "software events", FINDING_MISSING, "refused", "seccomp=unconfined");
	d.container = false;

	judge(&d, -ENOENT);
	d.vm = true;
	doctor_judge_trials(&d);
	is_found(&d, "hardware events", FINDING_MISSING, "virtual machine", "vPMU");
	is_found(&d, "kprobes", FINDING_MISSING, "not in this kernel", "CONFIG_KPROBE_EVENTS");
	ok(!find(&d, "branch stacks"), "no counters are said once");

	judge(&d, 0);
	d.trials[TRIAL_RING] = (struct trial){ .err = -EPERM, .value = 64 << 10 };
	d.trials[TRIAL_BREAKPOINT].unseen = true;
	doctor_judge_trials(&d);
	is_found(&d, "ring buffers", FINDING_LIMITED, "64 KB at most", "mlock_kb");
	is_found(&d, "breakpoints", FINDING_LIMITED, "did not count", NULL);
	doctor_done(&d);

	user_at("3\n",
		"Name:\tx\nCapEff:\t0000004000000000\n"); /* CAP_PERFMON alone, as in Debian's kernels */
	look(&d);
	d.user_ns = false;
	judge(&d, -EACCES);
	d.live = true;
	doctor_judge_trials(&d);
	doctor_look_rights(&d);
	is_found(&d, "perf_event_paranoid", FINDING_MISSING, "restricts CAP_PERFMON too",
		 "paranoid=2");
	is_found(&d, "whole CPUs", FINDING_MISSING, "even to CAP_PERFMON", "paranoid=2");
	doctor_done(&d);

	user_at("2\n", all_caps);
	look(&d);
	judge(&d, 0);
	d.user_ns = false;
	d.live = true;
	d.trials[TRIAL_FENTRY].err = -EPERM;
	doctor_judge_trials(&d);
	is_found(&d, "fentry", FINDING_MISSING, "despite all capabilities (EPERM)", "lockdown");
	doctor_look_rights(&d);
	is_found(&d, "lockdown", FINDING_LIMITED, "integrity (inferred", "another kernel");
	d.findings.nr = 0;
	d.trials[TRIAL_REGS_INTR].err = -EPERM;
	doctor_look_rights(&d);
	is_found(&d, "lockdown", FINDING_LIMITED, "confidentiality (inferred",
		 "lockdown=confidentiality");
	doctor_done(&d);
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	test_paranoid();
	test_kptr();
	test_tracing();
	test_container();
	test_rest();
	test_trials();
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", top);
	ok(!system(command), "removed");
	return done_testing();
}
