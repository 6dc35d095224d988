/* What the kernel and the machine have: types, configuration, tracing files, counters, clock, debug information. */
#include "session/doctor.h"

#include "base/str.h"
#include "kern/sysfs_pmu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const char KERNEL[] = "Kernel", CONFIG[] = "Kernel configuration",
		  TRACING[] = "Tracing files", HARDWARE[] = "Hardware and time",
		  DEBUG[] = "Debug information";

static void add_word(struct strbuf *to, const char *word)
{
	strbuf_printf(to, "%s%s", to->len ? " " : "", word);
}

static const char *line(struct doctor *d, const char *path)
{
	return sysroot_line(&d->root, path, &d->buf);
}

/* ---- kernel ----------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	const char *costs; /* NULL: what it stands for is judged elsewhere */
} options[] = {
	{ "PERF_EVENTS", "all counting and sampling" },
	{ "FTRACE", "all tracers and their files" },
	{ "DYNAMIC_FTRACE", "function tracing at no cost while it is off" },
	{ "NOP_TRACER", NULL },
	{ "HAVE_FUNCTION_TRACER", NULL },
	{ "HAVE_FUNCTION_GRAPH_TRACER", NULL },
	{ "CONTEXT_SWITCH_TRACER", NULL },
	{ "GENERIC_TRACER", NULL },
	{ "FUNCTION_TRACER", "function: events, ftrace record -p function" },
	{ "FUNCTION_GRAPH_TRACER", "graph: events, ftrace record -p function_graph" },
	{ "STACK_TRACER", "ftrace stack (deepest kernel stack)" },
	{ "SCHED_TRACER", "the wakeup tracers" },
	{ "IRQSOFF_TRACER", "the irqsoff tracer" },
	{ "PREEMPT_TRACER", "the preemptoff tracer" },
	{ "HWLAT_TRACER", "the hwlat tracer" },
	{ "OSNOISE_TRACER", "the osnoise tracer" },
	{ "TIMERLAT_TRACER", "the timerlat tracer" },
	{ "BLK_DEV_IO_TRACE", "the blk tracer" },
	{ "FTRACE_SYSCALLS", "syscalls:* events" },
	{ "HIST_TRIGGERS", "ftrace hist: histograms inside the kernel" },
	{ "SYNTH_EVENTS", "synthetic events: latencies between two events" },
	{ "TRACER_SNAPSHOT", "ftrace snapshot" },
	{ "FUNCTION_PROFILER", "ftrace profile by the kernel's own counters" },
	{ "KPROBES", "kprobe: events, arguments of kernel functions" },
	{ "KPROBE_EVENTS", "kprobe: events, arguments of kernel functions" },
	{ "UPROBE_EVENTS", "uprobe: and usdt: events" },
	{ "FPROBE", "BPF on many kernel functions at once (kprobe_multi)" },
	{ "USER_EVENTS", "events written by programs themselves" },
	{ "BPF_SYSCALL", "BPF programs" },
	{ "BPF_JIT", "BPF programs are interpreted, several times slower" },
	{ "BPF_EVENTS", "BPF programs on events" },
	{ "DEBUG_INFO_BTF", "kernel types without debug files" },
	{ "DEBUG_INFO", "a debug package for kernel source lines" },
	{ "KALLSYMS_ALL", "names of kernel data" },
	{ "HAVE_HW_BREAKPOINT", "mem: events" },
	{ "CGROUP_PERF", "stat -G and record -G" },
	{ "PSI", "pressure (who, what)" },
	{ "SCHEDSTATS", "wait times of tasks" },
	{ "TASKSTATS", "I/O and delays by process" },
	{ "STACKTRACE", "kernel call chains" },
};

/* Options that older kernels spell otherwise. */
static bool get_option(const struct doctor *d, const char *name, char *to, size_t size)
{
	static const char *const older[][2] = {
		{ "KPROBE_EVENTS", "KPROBE_EVENT" },
		{ "UPROBE_EVENTS", "UPROBE_EVENT" },
	};
	if (!kconfig_get(&d->config, name, to, size))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(older) && !strcmp(to, "n"); i++)
		if (!strcmp(older[i][0], name) && !kconfig_get(&d->config, older[i][1], to, size))
			return false;
	return true;
}

static void add_option(struct doctor *d, const char *option, const char *costs)
{
	char value[128], name[80];
	if (!get_option(d, option, value, sizeof(value)))
		return;
	bool off = !strcmp(value, "n");
	(void)snprintf(name, sizeof(name), "CONFIG_%s", option);
	doctor_add(d, CONFIG, name, off && costs ? FINDING_MISSING : FINDING_OK, "%s", value);
	if (off && costs) {
		doctor_costs(d, "%s", costs);
		doctor_needs(d, "a kernel with %s=y", name);
	}
}

void doctor_look_config(struct doctor *d, const char *option)
{
	option += str_starts(option, "CONFIG_") ? 7 : 0;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (!strcmp(options[i].name, option))
			return; /* it has its row */
	add_option(d, option, NULL);
}

static void look_config(struct doctor *d)
{
	if (d->config.text) {
		doctor_add(d, KERNEL, "configuration", FINDING_OK, "%s%s",
			   str_starts(d->config.path, "/") ? ""
			   : d->live			   ? "/"
							   : "",
			   d->config.path);
		for (size_t i = 0; i < ARRAY_SIZE(options); i++)
			add_option(d, options[i].name, options[i].costs);
		return;
	}
	doctor_add(d, KERNEL, "configuration", FINDING_LIMITED,
		   "unknown: no /proc/config.gz, no /boot/config-%s", d->release);
	doctor_costs(d, "the reason for missing features is unknown; what works is tried below");
	if (kconfig_has_module(&d->root, d->release))
		doctor_fix(d, "sudo modprobe configs");
	else
		doctor_needs(d, "%s FILE, if you have a copy elsewhere", d->config_option);
}

static u64 file_bytes(const struct doctor *d, const char *path)
{
	struct stat st;
	return fstatat(d->root.dir_fd, path, &st, 0) ? 0 : (u64)st.st_size;
}

static void look_btf(struct doctor *d)
{
	if (sysroot_exists(&d->root, "sys/kernel/btf/vmlinux")) {
		doctor_add(d, KERNEL, "BTF", FINDING_OK, "/sys/kernel/btf/vmlinux, %.1f MB",
			   (double)file_bytes(d, "sys/kernel/btf/vmlinux") / 1e6);
		return;
	}
	doctor_add(d, KERNEL, "BTF", FINDING_MISSING, "no /sys/kernel/btf/vmlinux");
	doctor_costs(d, "kernel structures and function arguments by name, fentry");
	doctor_needs(d, "a kernel with CONFIG_DEBUG_INFO_BTF=y");
}

/* The mount point of a file system's kind, from mountinfo; false: not mounted. */
static bool find_mount(struct doctor *d, const char *type, const char *option, char *to, size_t size)
{
	if (sysroot_read(&d->root, "proc/self/mountinfo", &d->buf))
		return false;
	size_t type_len = strlen(type);
	for (char *at = (char *)(uintptr_t)strbuf_cstr(&d->buf), *next; *at; at = next) {
		next = strchrnul(at, '\n');
		next += *next == '\n';
		/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue" */
		char *dash = memmem(at, (size_t)(next - at), " - ", 3);
		if (!dash || strncmp(dash + 3, type, type_len) || dash[3 + type_len] != ' ')
			continue;
		if (option && !memmem(dash, (size_t)(next - dash), option, strlen(option)))
			continue;
		for (int field = 0; field < 4 && at < dash; field++)
			at += strcspn(at, " ") + 1;
		(void)snprintf(to, size, "%.*s", (int)strcspn(at, " "), at);
		return true;
	}
	return false;
}

static void look_cgroup(struct doctor *d)
{
	char v2[128] = "", v1[128] = "", perf[128] = "";
	find_mount(d, "cgroup2", NULL, v2, sizeof(v2));
	find_mount(d, "cgroup", NULL, v1, sizeof(v1));
	find_mount(d, "cgroup", "perf_event", perf, sizeof(perf));
	if (v2[0]) {
		doctor_add(d, KERNEL, "cgroups", FINDING_OK, "v2 at %s%s%s", v2,
			   v1[0] ? ", v1 alongside" : "", perf[0] ? " (perf_event is v1's)" : "");
	} else if (perf[0]) {
		doctor_add(d, KERNEL, "cgroups", FINDING_OK, "v1, perf_event at %s", perf);
	} else {
		doctor_add(d, KERNEL, "cgroups", FINDING_LIMITED, "%s",
			   v1[0] ? "v1 without the perf_event controller" : "not mounted");
		doctor_costs(d, "counting by cgroup (stat -G), names of containers");
		doctor_fix(d, "%s",
			   v1[0] ? "sudo mkdir -p /sys/fs/cgroup/perf_event && sudo mount -t "
				   "cgroup -o perf_event "
				   "none /sys/fs/cgroup/perf_event"
				 : "sudo mount -t cgroup2 none /sys/fs/cgroup");
	}
}

static void look_psi(struct doctor *d)
{
	int err = sysroot_read(&d->root, "proc/pressure/cpu", &d->buf);
	if (!err) {
		doctor_add(d, KERNEL, "PSI", FINDING_OK, "/proc/pressure");
		return;
	}
	doctor_add(d, KERNEL, "PSI", FINDING_MISSING, "%s",
		   err == -EOPNOTSUPP ? "switched off" : "no /proc/pressure");
	doctor_costs(d, "who and what show no pressure stall information (time lost waiting for "
			"CPU, memory, I/O)");
	doctor_needs(d, "%s",
		     err == -EOPNOTSUPP ? "psi=1 on the kernel's command line"
					: "a kernel with CONFIG_PSI=y");
}

static void look_schedstats(struct doctor *d)
{
	s64 v;
	if (sysroot_s64(&d->root, "proc/sys/kernel/sched_schedstats", &v))
		return;
	doctor_add(d, KERNEL, "sched_schedstats", v ? FINDING_OK : FINDING_LIMITED, "%lld",
		   (long long)v);
	if (v)
		return;
	doctor_costs(d, "sched:sched_stat_wait, _sleep, _iowait and _blocked never fire");
	doctor_fix(d, "sudo sysctl kernel.sched_schedstats=1");
}

/* ---- tracing files ---------------------------------------------------------------------------------------------- */

enum { MAGIC_TRACEFS = 0x74726163, MAGIC_DEBUGFS = 0x64626720 };

/* By magic on a live system, by mountinfo under a fake root. */
static bool mounted_at(struct doctor *d, const char *path, long magic, const char *type)
{
	struct statfs fs;
	char at[128];
	if (!d->live)
		return find_mount(d, type, path, at, sizeof(at)) ||
		       find_mount(d, type, NULL, at, sizeof(at));
	_cleanup_close_ int fd = openat(d->root.dir_fd, path, O_PATH | O_CLOEXEC);
	return fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == (__typeof__(fs.f_type))magic;
}

static void look_debugfs(struct doctor *d)
{
	char value[8];
	if (mounted_at(d, "sys/kernel/debug", MAGIC_DEBUGFS, "debugfs")) {
		doctor_add(d, TRACING, "debugfs", FINDING_OK, "/sys/kernel/debug");
		return;
	}
	doctor_add(d, TRACING, "debugfs", FINDING_LIMITED, "not mounted");
	doctor_costs(d, "the kprobe blacklist; clocks and other driver state");
	if (kconfig_get(&d->config, "DEBUG_FS", value, sizeof(value)) && value[0] == 'n')
		doctor_needs(d, "a kernel with CONFIG_DEBUG_FS=y");
	else
		doctor_fix(d, "sudo mount -t debugfs nodev /sys/kernel/debug");
}

static bool look_tracefs(struct doctor *d)
{
	const struct tracing *t = &d->tracing;
	char value[8];
	if (!t->err) {
		const char *shown = t->path + strlen(d->root_path);
		doctor_add(d, TRACING, "tracefs", FINDING_OK, "%s%s", shown,
			   strstr(shown, "debug") ? " (the old location)" : "");
		return true;
	}
	bool denied = t->err == -EACCES || t->err == -EPERM;
	doctor_add(d, TRACING, "tracefs", FINDING_MISSING, "%s",
		   denied ? "not readable by this user" : "not mounted");
	doctor_costs(d, "tracepoints, probes, all of ftrace");
	if (denied && !d->root_user)
		doctor_fix(d, "sudo mount -o remount,mode=755 /sys/kernel/tracing");
	else if (denied)
		doctor_needs(d, "a kernel that is not locked down");
	else if (kconfig_get(&d->config, "TRACING", value, sizeof(value)) && value[0] == 'n')
		doctor_needs(d, "a kernel with CONFIG_FTRACE=y");
	else
		doctor_fix(d, "sudo mount -t tracefs nodev /sys/kernel/tracing");
	return false;
}

static void look_tracers(struct doctor *d)
{
	strbuf_reset(&d->buf);
	int err = tracing_read(&d->tracing, "available_tracers", &d->buf);
	if (err) {
		doctor_add(d, TRACING, "tracers", FINDING_MISSING, "the list cannot be read: %s",
			   strerror(-err));
		doctor_costs(d, "all of ftrace");
		if (!d->root_user)
			doctor_fix(d, "sudo sonde ftrace ...");
		return;
	}
	while (d->buf.len && strchr(" \n", d->buf.data[d->buf.len - 1]))
		d->buf.len--;
	const char *list = strbuf_cstr(&d->buf);
	bool graph = strstr(list, "function_graph") != NULL;
	doctor_add(d, TRACING, "tracers", graph ? FINDING_OK : FINDING_LIMITED, "%s", list);
	if (!graph) {
		doctor_costs(d, "graph: events, ftrace record -p function_graph");
		doctor_needs(d, "a kernel with CONFIG_FUNCTION_GRAPH_TRACER=y");
	}
}

/* Whether functions may be chosen: listed is not allowed. Opening for reading changes nothing. */
static void look_functions(struct doctor *d)
{
	_cleanup_close_ int fd =
		openat(d->tracing.dir, "available_filter_functions", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		doctor_add(d, TRACING, "kernel functions", FINDING_OK, "can be traced by name");
		return;
	}
	int err = errno;
	doctor_add(d, TRACING, "kernel functions", FINDING_MISSING, "%s",
		   err == ENOENT  ? "cannot be traced in this kernel"
		   : d->root_user ? "refused, even for root"
				  : "not readable by this user");
	doctor_costs(d, "function: and graph: events, ftrace record -p function -l NAME");
	if (err == ENOENT)
		doctor_needs(d,
			     "a kernel with CONFIG_DYNAMIC_FTRACE=y and CONFIG_FUNCTION_TRACER=y");
	else if (d->root_user)
		doctor_needs(
			d, "a kernel that allows it: lockdown or a similar policy forbids it here");
	else
		doctor_fix(d, "sudo sonde ftrace ...");
}

static void look_tracing_file(struct doctor *d, const char *name, const char *file,
			      const char *costs, const char *option)
{
	if (!faccessat(d->tracing.dir, file, F_OK, 0)) {
		doctor_add(d, TRACING, name, FINDING_OK, "%s", file);
		return;
	}
	bool denied = errno == EACCES;
	doctor_add(d, TRACING, name, FINDING_MISSING, "%s %s", denied ? "cannot look at" : "no",
		   file);
	doctor_costs(d, "%s", costs);
	if (denied)
		doctor_fix(d, "sudo sonde doctor");
	else
		doctor_needs(d, "a kernel with CONFIG_%s=y", option);
}

static void look_tracing(struct doctor *d)
{
	static const struct {
		const char *name, *file, *costs, *option;
	} files[] = {
		{ "kprobe events", "kprobe_events",
		  "arguments of kernel functions (-e kprobe:FUNCTION)", "KPROBE_EVENTS" },
		{ "uprobe events", "uprobe_events", "uprobe: events in programs and libraries",
		  "UPROBE_EVENTS" },
		{ "instances", "instances", "recordings that do not disturb each other", "TRACING" },
		{ "histograms", "events/sched/sched_switch/hist", "ftrace hist", "HIST_TRIGGERS" },
		{ "synthetic events", "synthetic_events",
		  "latencies between two events, in the kernel", "SYNTH_EVENTS" },
		{ "snapshots", "snapshot", "ftrace snapshot", "TRACER_SNAPSHOT" },
		{ "stack tracer", "stack_trace", "ftrace stack", "STACK_TRACER" },
		{ "user events", "user_events_data", "events written by programs themselves",
		  "USER_EVENTS" },
	};
	bool usable = look_tracefs(d);
	look_debugfs(d);
	if (!usable)
		return;
	look_tracers(d);
	look_functions(d);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		look_tracing_file(d, files[i].name, files[i].file, files[i].costs, files[i].option);
}

/* ---- hardware and time ------------------------------------------------------------------------------------------ */

static void look_pmus(struct doctor *d)
{
	struct pmu_set set;
	struct strbuf names;
	if (pmu_set_open(&set, d->root_path)) {
		d->no_memory = true;
		return;
	}
	strbuf_init(&names);
	bool core = false;
	vec_for_each (&set.pmus, p) {
		add_word(&names, p->name);
		core = core || p->is_core;
	}
	doctor_add(d, HARDWARE, "PMUs", core ? FINDING_OK : FINDING_LIMITED, "%s",
		   names.len ? strbuf_cstr(&names) : "none");
	if (!core) {
		doctor_costs(d, "no CPU counters: cycles, instructions, cache misses; record falls "
				"back to cpu-clock");
		doctor_needs(d, "%s",
			     d->vm ? "a virtual machine with a vPMU (qemu -cpu host,pmu=on), or "
				     "bare metal"
				   : "a CPU whose counters this kernel supports");
	}
	strbuf_done(&names);
	pmu_set_close(&set);
	s64 v;
	if (core && !sysroot_s64(&d->root, "proc/sys/kernel/nmi_watchdog", &v) && v) {
		doctor_add(d, HARDWARE, "nmi_watchdog", FINDING_LIMITED, "on");
		doctor_costs(d,
			     "one hardware counter per CPU is in use: multiplexing starts sooner");
		doctor_fix(d, "sudo sysctl kernel.nmi_watchdog=0");
	}
}

static void look_clock(struct doctor *d)
{
	static const char *const slow[] = { "hpet", "acpi_pm", "jiffies", "refined-jiffies", "xen" };
	static const char path[] = "sys/devices/system/clocksource/clocksource0/";
	char file[128], now[64];
	(void)snprintf(file, sizeof(file), "%scurrent_clocksource", path);
	const char *text = line(d, file);
	if (!text)
		return;
	(void)snprintf(now, sizeof(now), "%s", text);
	bool is_slow = false;
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
		is_slow = is_slow || !strcmp(slow[i], now);
	doctor_add(d, HARDWARE, "clock source", is_slow ? FINDING_LIMITED : FINDING_OK, "%s", now);
	if (!is_slow)
		return;
	(void)snprintf(file, sizeof(file), "%savailable_clocksource", path);
	text = line(d, file);
	doctor_costs(
		d, "every timestamp that programs take is a system call, up to a microsecond each");
	if (text && strstr(text, "tsc"))
		doctor_fix(d, "echo tsc | sudo tee /%scurrent_clocksource", path);
	else
		doctor_needs(d, "a machine whose TSC the kernel trusts");
}

/* ---- debug information ------------------------------------------------------------------------------------------ */

static void debug_package(struct doctor *d)
{
	char modules[160];
	(void)!str_path(modules, sizeof(modules), "lib/modules/%s", d->release);
	if (!sysroot_exists(&d->root, modules)) /* a kernel from elsewhere: no package fits */
		doctor_needs(d, "the vmlinux of this exact build at /usr/lib/debug/boot/vmlinux-%s",
			     d->release);
	else if (!strcmp(d->distro, "debian"))
		doctor_fix(d, "sudo apt install linux-image-%s-dbg", d->release);
	else if (!strcmp(d->distro, "ubuntu"))
		doctor_fix(d, "sudo apt install linux-image-%s-dbgsym", d->release);
	else if (!strcmp(d->distro, "fedora") || !strcmp(d->distro, "rhel") ||
		 !strcmp(d->distro, "centos"))
		doctor_fix(d, "sudo dnf debuginfo-install kernel-%s", d->release);
	else if (str_starts(d->distro, "opensuse") || !strcmp(d->distro, "sles"))
		doctor_fix(d, "sudo zypper install kernel-default-debuginfo");
	else
		doctor_needs(d, "the vmlinux of this exact build at /usr/lib/debug/boot/vmlinux-%s",
			     d->release);
}

static void look_vmlinux(struct doctor *d)
{
	static const char *const places[] = {
		"usr/lib/debug/boot/vmlinux-%s",
		"usr/lib/debug/lib/modules/%s/vmlinux",
		"usr/lib/debug/usr/lib/modules/%s/vmlinux",
		"lib/modules/%s/build/vmlinux",
		"lib/modules/%s/vmlinux",
		"boot/vmlinux-%s",
	};
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char path[256];
		const char *mark = strstr(places[i], "%s");
		(void)snprintf(path, sizeof(path), "%.*s%s%s", (int)(mark - places[i]), places[i],
			       d->release, mark + 2);
		if (!sysroot_exists(&d->root, path))
			continue;
		doctor_add(d, DEBUG, "kernel", FINDING_OK, "/%s, %.0f MB", path,
			   (double)file_bytes(d, path) / 1e6);
		return;
	}
	doctor_add(d, DEBUG, "kernel", FINDING_MISSING, "no vmlinux for %s", d->release);
	doctor_costs(d, "probes on kernel source lines and local variables; source in annotate "
			"(names come from kallsyms)");
	debug_package(d);
}

static unsigned count_entries(DIR *dir)
{
	unsigned nr = 0;
	for (struct dirent *e; dir && (e = readdir(dir));)
		nr += e->d_name[0] != '.';
	if (dir)
		(void)closedir(dir);
	return nr;
}

static void look_user_debug(struct doctor *d)
{
	unsigned nr = count_entries(sysroot_dir(&d->root, "usr/lib/debug/.build-id"));
	if (nr) {
		doctor_add(d, DEBUG, "programs", FINDING_OK, "/usr/lib/debug/.build-id, %u folders",
			   nr);
	} else {
		doctor_add(d, DEBUG, "programs", FINDING_LIMITED,
			   "no debug files in /usr/lib/debug/.build-id");
		doctor_costs(d, "stripped programs show exported functions only; no source lines, "
				"no inlined functions");
		if (!strcmp(d->distro, "debian") || !strcmp(d->distro, "ubuntu"))
			doctor_fix(d, "sudo apt install libc6-dbg");
		else if (!strcmp(d->distro, "fedora") || !strcmp(d->distro, "rhel"))
			doctor_fix(d, "sudo dnf debuginfo-install glibc");
		else
			doctor_needs(d, "the debug packages of the programs you examine");
	}
	const char *dir = d->live ? secure_getenv("PERF_BUILDID_DIR") : NULL,
		   *home = secure_getenv("HOME");
	char path[512], ids[544];
	int n = dir    ? snprintf(path, sizeof(path), "%s", dir)
		: home ? snprintf(path, sizeof(path), "%s/.debug", home)
		       : -1;
	if (!d->live || n < 0 || n >= (int)sizeof(path))
		return;
	(void)!str_path(ids, sizeof(ids), "%s/.build-id", path);
	nr = count_entries(opendir(ids));
	doctor_add(d, DEBUG, "build ID cache", FINDING_OK, "%s%s", path, nr ? "" : " (empty)");
}

void doctor_look_kernel(struct doctor *d)
{
	look_btf(d);
	look_cgroup(d);
	look_psi(d);
	look_schedstats(d);
	look_config(d);
	look_tracing(d);
	look_pmus(d);
	look_clock(d);
	look_vmlinux(d);
	look_user_debug(d);
}
