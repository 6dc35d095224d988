/* The facts that rows share, and what this process may do. */
#include "session/doctor.h"

#include "base/str.h"
#include "kern/caps.h"
#include "kern/cpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char SYSTEM[] = "System", RIGHTS[] = "Permissions";

/* ---- facts ------------------------------------------------------------------------------------------------------ */

static const char *line(struct doctor *d, const char *path)
{
	return sysroot_line(&d->root, path, &d->buf);
}

/* The inode in "pid:[4026531836]"; 0: not known. */
static u64 namespace_of(struct doctor *d, const char *path)
{
	char link[64];
	ssize_t n = readlinkat(d->root.dir_fd, path, link, sizeof(link) - 1);
	if (n <= 0)
		return 0;
	link[n] = '\0';
	const char *open = strchr(link, '[');
	return open ? strtoull(open + 1, NULL, 10) : 0;
}

/* The kernel gives its first namespaces these inodes (include/linux/proc_ns.h). */
enum { FIRST_PID_NS = 0xEFFFFFFC, FIRST_USER_NS = 0xEFFFFFFD };

static void read_container(struct doctor *d)
{
	u64 pid_ns = namespace_of(d, "proc/self/ns/pid");
	u64 user_ns = namespace_of(d, "proc/self/ns/user");
	static const char *const marks[] = { ".dockerenv", "run/.containerenv",
					     "run/systemd/container" };
	d->pid_ns = pid_ns && pid_ns != (u32)FIRST_PID_NS;
	for (size_t i = 0; i < ARRAY_SIZE(marks) && !d->container_mark; i++)
		if (sysroot_exists(&d->root, marks[i]))
			d->container_mark = marks[i];
	d->user_ns = user_ns && user_ns != (u32)FIRST_USER_NS;
	d->container = d->pid_ns || d->user_ns;
}

static void read_distro(struct doctor *d)
{
	if (sysroot_read(&d->root, "etc/os-release", &d->buf))
		return;
	const char *text = strbuf_cstr(&d->buf);
	const char *at = str_starts(text, "ID=") ? text : strstr(text, "\nID=");
	if (!at)
		return;
	at += strcspn(at, "=") + 1;
	at += *at == '"';
	(void)snprintf(d->distro, sizeof(d->distro), "%.*s", (int)strcspn(at, "\"\n"), at);
}

static void read_names(struct doctor *d)
{
	struct utsname uts;
	(void)uname(&uts); /* cannot fail with a valid pointer */
	const char *text = line(d, "proc/sys/kernel/osrelease");
	(void)snprintf(d->release, sizeof(d->release), "%s", text ? text : uts.release);
	text = line(d, "proc/sys/kernel/arch");
	(void)snprintf(d->arch, sizeof(d->arch), "%s", text ? text : uts.machine);
	if (!sysroot_read(&d->root, "proc/cpuinfo", &d->buf))
		d->vm = strstr(strbuf_cstr(&d->buf), " hypervisor") != NULL;
	d->vm = d->vm || sysroot_exists(&d->root, "sys/hypervisor/type");
}

static int read_config(struct doctor *d, const char *config_path)
{
	if (!config_path) {
		int err = kconfig_open(&d->config, &d->root, d->release);
		return err == -ENOMEM ? err : 0;
	}
	struct sysroot here;
	int err = sysroot_open(&here, ".");
	if (err)
		return err;
	err = kconfig_open_file(&d->config, &here, config_path);
	sysroot_close(&here);
	return err;
}

int doctor_init(struct doctor *d, const char *root_path, const char *config_path)
{
	*d = (struct doctor){
		.root_path = root_path, .config_option = "a", .live = !*root_path, .tracing.dir = -1
	};
	arena_init(&d->arena);
	strbuf_init(&d->buf);
	d->root.dir_fd = -1;
	int err = sysroot_open(&d->root, *root_path ? root_path : NULL);
	if (!err)
		err = tracing_open(&d->tracing, root_path);
	if (err)
		return err;
	read_names(d);
	read_container(d);
	read_distro(d);
	d->caps = caps_effective(&d->root);
	perf_rights_read(&d->root, &d->rights);
	d->root_user = caps_has(d->caps, CAP_SYS_ADMIN);
	return read_config(d, config_path);
}

void doctor_done(struct doctor *d)
{
	kconfig_close(&d->config);
	tracing_close(&d->tracing);
	vec_free(&d->findings);
	strbuf_done(&d->buf);
	arena_done(&d->arena);
	if (d->root.dir_fd >= 0)
		sysroot_close(&d->root);
}

/* ---- system ----------------------------------------------------------------------------------------------------- */

static void look_system(struct doctor *d)
{
	struct cpuset online = { { 0 } };
	unsigned cpus = cpu_online(&d->root, &online) ? 0 : cpuset_count(&online);
	doctor_add(d, SYSTEM, "kernel", FINDING_OK, "Linux %s on %s, %u CPU%s%s", d->release,
		   d->arch, cpus, cpus == 1 ? "" : "s", d->vm ? ", virtual machine" : "");
	if (!d->container) {
		doctor_add(d, SYSTEM, "container", FINDING_OK, "no: initial PID namespace%s%s",
			   d->container_mark ? ", though there is /" : "",
			   d->container_mark ? d->container_mark : "");
		return;
	}
	doctor_add(d, SYSTEM, "container", FINDING_LIMITED, "yes%s%s",
		   d->pid_ns ? ", own PID namespace" : "", d->user_ns ? ", own user namespace" : "");
	doctor_costs(d, "%s",
		     d->user_ns ? "capabilities do not apply outside of it: own processes and user "
				  "space only"
				: "processes outside are invisible, and their files cannot be read "
				  "for symbols");
	doctor_fix(d, "docker run --pid=host --cap-add=PERFMON --cap-add=SYS_PTRACE --security-opt "
		      "seccomp=unconfined ...");
}

/* ---- permissions ------------------------------------------------------------------------------------------------ */

static void add_word(struct strbuf *to, const char *word)
{
	strbuf_printf(to, "%s%s", to->len ? " " : "", word);
}

static void look_caps(struct doctor *d)
{
	struct strbuf has, lacks, costs;
	bool perf = d->rights.perfmon, all = true;
	strbuf_init(&has);
	strbuf_init(&lacks);
	strbuf_init(&costs);
	for (const struct cap_name *c = cap_names; c->name; c++) {
		/* CAP_SYS_ADMIN stands for the two that were split off from it. */
		bool implied = caps_has(d->caps, CAP_SYS_ADMIN) &&
			       (c->bit == CAP_PERFMON || c->bit == CAP_BPF);
		if (caps_has(d->caps, c->bit) || implied) {
			add_word(&has, c->name);
			continue;
		}
		add_word(&lacks, c->name);
		strbuf_printf(&costs, "%s%s", costs.len ? "; " : "without: ", c->gives);
		/* More open files than the hard limit: few miss it. */
		all = all && c->bit == CAP_SYS_RESOURCE;
	}
	doctor_add(d, RIGHTS, "capabilities",
		   all		     ? FINDING_OK
		   : has.len && perf ? FINDING_LIMITED
				     : FINDING_MISSING,
		   "%s%s%s", has.len ? strbuf_cstr(&has) : "none", lacks.len ? "; not " : "",
		   strbuf_cstr(&lacks));
	if (!all) {
		doctor_costs(d, "%s", strbuf_cstr(&costs));
		doctor_fix(
			d,
			"sudo setcap cap_perfmon,cap_bpf,cap_syslog,cap_sys_ptrace,cap_ipc_lock=ep "
			"\"$(command -v sonde)\"");
	}
	strbuf_done(&has);
	strbuf_done(&lacks);
	strbuf_done(&costs);
}

bool doctor_perfmon_is_bound(const struct doctor *d)
{
	return d->live && d->rights.paranoid > 2 && d->rights.perfmon &&
	       !caps_has(d->caps, CAP_SYS_ADMIN) && d->trials[TRIAL_SOFTWARE].err == -EACCES;
}

static void look_paranoid(struct doctor *d)
{
	static const char path[] = "proc/sys/kernel/perf_event_paranoid";
	const char name[] = "perf_event_paranoid";
	int level = d->rights.paranoid;
	if (!sysroot_exists(&d->root, path)) {
		doctor_add(d, RIGHTS, name, FINDING_MISSING, "this kernel has no perf events");
		doctor_costs(d, "stat, record, top and all other counting and sampling");
		doctor_needs(d, "a kernel with CONFIG_PERF_EVENTS=y");
		return;
	}
	if (doctor_perfmon_is_bound(d)) {
		doctor_add(d, RIGHTS, name, FINDING_MISSING,
			   "%d, which restricts CAP_PERFMON too in this kernel", level);
		doctor_costs(d, "stat and record are refused to everyone but CAP_SYS_ADMIN");
		doctor_fix(d, "sudo sysctl kernel.perf_event_paranoid=2");
		return;
	}
	if (d->rights.perfmon || level < 0) {
		doctor_add(d, RIGHTS, name, FINDING_OK, "%d%s", level,
			   d->rights.perfmon ? ", which does not restrict CAP_PERFMON"
					     : ": everything is allowed for everyone");
		return;
	}
	static const struct {
		enum finding_state state;
		const char *what, *costs;
		int better;
	} levels[] = {
		{ FINDING_LIMITED, "no raw tracepoints", "tracepoint data of the whole system", -1 },
		{ FINDING_LIMITED, "no whole CPUs", "-a, -C, per-CPU events; tracepoints", 0 },
		{ FINDING_LIMITED, "user space only",
		  "kernel time is invisible (events get :u); no -a; no tracepoints", 1 },
		{ FINDING_MISSING, "nothing without privileges",
		  "stat and record are refused (by Debian's kernels to CAP_PERFMON too)", 1 },
	};
	unsigned at = (unsigned)min(level, (int)ARRAY_SIZE(levels) - 1);
	doctor_add(d, RIGHTS, name, levels[at].state, "%d: %s", level, levels[at].what);
	doctor_costs(d, "%s", levels[at].costs);
	doctor_fix(d, "sudo sysctl kernel.perf_event_paranoid=%d", levels[at].better);
}

/* Whether /proc/kallsyms shows addresses: the first page tells, the whole takes the kernel 35 ms. -errno: no such file. */
static int kallsyms_shown(const struct doctor *d)
{
	char page[4096];
	_cleanup_close_ int fd = sysroot_fd(&d->root, "proc/kallsyms");
	if (fd < 0)
		return fd;
	ssize_t n = read(fd, page, sizeof(page) - 1);
	page[max(n, (ssize_t)0)] = '\0';
	/* Lines are "ffffffff81000000 T _text"; per-CPU symbols of a kernel that hides nothing may be 0. */
	bool start = true;
	for (ssize_t i = 0; i < n; i++) {
		if (start && strspn(page + i, "0") < 16 && n - i >= 16)
			return 1;
		start = page[i] == '\n';
	}
	return 0;
}

static void look_kallsyms(struct doctor *d)
{
	int shown = kallsyms_shown(d), restricted = d->rights.kptr_restrict;
	if (shown < 0) {
		doctor_add(d, RIGHTS, "kptr_restrict", FINDING_MISSING, "%d; no /proc/kallsyms",
			   restricted);
		doctor_costs(d, "names of kernel functions");
		doctor_needs(d, "a kernel with CONFIG_KALLSYMS=y");
		return;
	}
	if (shown) {
		doctor_add(d, RIGHTS, "kptr_restrict", FINDING_OK,
			   "%d; /proc/kallsyms shows addresses", restricted);
		return;
	}
	doctor_add(d, RIGHTS, "kptr_restrict", FINDING_LIMITED,
		   "%d; /proc/kallsyms hides addresses", restricted);
	doctor_costs(d, "kernel functions are shown as addresses");
	if (restricted > 1 && caps_has(d->caps, CAP_SYSLOG))
		doctor_fix(d, "sudo sysctl kernel.kptr_restrict=1");
	else /* hidden from those without CAP_SYSLOG unless both allow it */
		doctor_fix(d, "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
}

/* What refuses to root what root asked for, where securityfs does not tell. */
static void infer_lockdown(struct doctor *d)
{
	static const char name[] = "lockdown";
	char value[64];
	bool tried = d->live && !d->trials[TRIAL_SOFTWARE].err;
	if (tried && d->trials[TRIAL_REGS_INTR].err == -EPERM) {
		doctor_add(d, RIGHTS, name, FINDING_LIMITED,
			   "confidentiality (inferred: kernel registers are refused)");
		doctor_costs(d,
			     "tracefs, kprobes and reading kernel memory from BPF, even for root");
		doctor_needs(d,
			     "a boot without lockdown=confidentiality (usually: Secure Boot off)");
		return;
	}
	if (kconfig_get(&d->config, "LOCK_DOWN_KERNEL_FORCE_CONFIDENTIALITY", value, sizeof(value)) &&
	    value[0] == 'y') {
		doctor_add(d, RIGHTS, name, FINDING_LIMITED, "confidentiality (built in)");
		doctor_costs(d,
			     "tracefs, kprobes and reading kernel memory from BPF, even for root");
		doctor_needs(d, "another kernel: this cannot be changed in this one");
		return;
	}
	bool forced =
		kconfig_get(&d->config, "LOCK_DOWN_KERNEL_FORCE_INTEGRITY", value, sizeof(value)) &&
		value[0] == 'y';
	bool refused = tried && caps_has(d->caps, CAP_SYS_ADMIN) && !d->user_ns &&
		       d->trials[TRIAL_FENTRY].err == -EPERM;
	if (refused) {
		doctor_add(d, RIGHTS, name, FINDING_LIMITED,
			   "%s (inferred: kernel functions are refused to root)",
			   forced ? "integrity" : "integrity or a similar policy");
		doctor_costs(d, "the function tracers, fentry and fexit, even for root");
		doctor_needs(d, "another kernel or boot: it can only be raised while running");
		return;
	}
	doctor_add(d, RIGHTS, name, FINDING_OK,
		   forced    ? "integrity (built in)"
		   : d->live ? "no sign of it; /sys/kernel/security is not mounted"
			     : "unknown: no securityfs");
}

static void look_lockdown(struct doctor *d)
{
	enum lockdown_level level = LOCKDOWN_UNKNOWN;
	int err = lockdown_read(&d->root, &level);
	if (err || level == LOCKDOWN_UNKNOWN) {
		infer_lockdown(d);
		return;
	}
	bool hard = level == LOCKDOWN_CONFIDENTIALITY;
	doctor_add(d, RIGHTS, "lockdown", hard ? FINDING_LIMITED : FINDING_OK, "%s",
		   lockdown_word(level));
	if (hard) {
		doctor_costs(d,
			     "tracefs, kprobes and reading kernel memory from BPF, even for root");
		doctor_needs(d,
			     "a boot without lockdown=confidentiality (usually: Secure Boot off)");
	}
}

static void look_rings(struct doctor *d)
{
	struct proc_limit l = { UINT64_MAX, UINT64_MAX };
	bool known = !proc_limit_read(&d->root, "Max locked memory", &l);
	u64 kb = d->rights.mlock_kb;
	bool ok = d->rights.ipc_lock || kb >= 516 || l.soft >= 64 << 20;
	doctor_add(d, RIGHTS, "perf_event_mlock_kb", ok ? FINDING_OK : FINDING_LIMITED,
		   "%llu KB per CPU%s", (unsigned long long)kb,
		   d->rights.ipc_lock ? ", which does not restrict CAP_IPC_LOCK" : "");
	if (!ok) {
		doctor_costs(
			d,
			"rings are smaller than record's 516 KB: more samples are lost under load");
		doctor_fix(d, "sudo sysctl kernel.perf_event_mlock_kb=2048");
	}
	if (!known)
		return;
	if (l.soft == UINT64_MAX)
		doctor_add(d, RIGHTS, "locked memory", FINDING_OK, "unlimited (RLIMIT_MEMLOCK)");
	else
		doctor_add(d, RIGHTS, "locked memory", FINDING_OK, "%llu KB (RLIMIT_MEMLOCK)%s",
			   (unsigned long long)l.soft >> 10,
			   d->rights.ipc_lock ? ", not restricting" : ", in addition to the above");
}

static void look_files(struct doctor *d)
{
	struct proc_limit l;
	struct cpuset online = { { 0 } };
	if (proc_limit_read(&d->root, "Max open files", &l))
		return;
	unsigned cpus = cpu_online(&d->root, &online) ? 1 : max(cpuset_count(&online), 1u);
	u64 events = l.hard / cpus;
	bool ok = events >= 64;
	doctor_add(d, RIGHTS, "open files", ok ? FINDING_OK : FINDING_LIMITED,
		   "%llu, can be raised to %llu (RLIMIT_NOFILE)", (unsigned long long)l.soft,
		   (unsigned long long)l.hard);
	if (!ok) {
		doctor_costs(d, "-a with more than about %llu events: each needs one file per CPU",
			     (unsigned long long)events);
		doctor_fix(d, "sudo prlimit --pid $$ --nofile=65536");
	}
}

static void look_rate(struct doctor *d)
{
	u64 hz = d->rights.max_rate_hz;
	s64 percent = 0;
	if (!hz)
		return;
	if (sysroot_s64(&d->root, "proc/sys/kernel/perf_cpu_time_max_percent", &percent))
		percent = 0;
	bool ok = hz >= 4000;
	doctor_add(d, RIGHTS, "perf_event_max_sample_rate", ok ? FINDING_OK : FINDING_LIMITED,
		   "%llu samples per second", (unsigned long long)hz);
	if (ok)
		return;
	doctor_costs(d,
		     "record's default of 4000 per second is lowered to this; the kernel lowers it "
		     "further when sampling takes more than %lld%% of a CPU",
		     (long long)percent);
	doctor_fix(d, "sudo sysctl kernel.perf_event_max_sample_rate=100000");
}

static void look_switches(struct doctor *d)
{
	s64 v;
	if (!sysroot_s64(&d->root, "proc/sys/kernel/unprivileged_bpf_disabled", &v) &&
	    !caps_has(d->caps, CAP_BPF) && !d->root_user)
		doctor_add(d, RIGHTS, "unprivileged_bpf_disabled", FINDING_OK,
			   "%lld (tracing programs need CAP_BPF and CAP_PERFMON anyway)",
			   (long long)v);
	if (!sysroot_s64(&d->root, "proc/sys/kernel/ftrace_enabled", &v) && !v) {
		doctor_add(d, RIGHTS, "ftrace_enabled", FINDING_LIMITED, "0");
		doctor_costs(d, "the function tracers see nothing, fentry cannot be attached");
		doctor_fix(d, "sudo sysctl kernel.ftrace_enabled=1");
	}
}

void doctor_look_rights(struct doctor *d)
{
	look_system(d);
	look_caps(d);
	look_paranoid(d);
	look_kallsyms(d);
	look_lockdown(d);
	look_rate(d);
	look_rings(d);
	look_files(d);
	look_switches(d);
}
