#include "kern/caps.h"

#include <errno.h>
#include <string.h>

const struct cap_name cap_names[] = {
	{ CAP_PERFMON, "CAP_PERFMON",
	  "counting and sampling everything, regardless of perf_event_paranoid" },
	{ CAP_BPF, "CAP_BPF", "loading BPF programs" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "tracefs, mounts, attaching BPF to cgroups" },
	{ CAP_SYSLOG, "CAP_SYSLOG", "kernel addresses in /proc/kallsyms" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "memory maps of other users' processes" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
	  "reading other users' programs and their symbols" },
	{ CAP_IPC_LOCK, "CAP_IPC_LOCK", "unlimited ring buffer memory" },
	{ CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE", "more open files than the hard limit" },
	{ 0 },
};

static s64 knob(const struct sysroot *r, const char *path, s64 otherwise)
{
	s64 v;
	return sysroot_s64(r, path, &v) ? otherwise : v;
}

u64 caps_effective(const struct sysroot *r)
{
	struct strbuf buf;
	u64 caps = 0;
	strbuf_init(&buf);
	if (!sysroot_read(r, "proc/self/status", &buf)) {
		const char *line = strstr(strbuf_cstr(&buf), "\nCapEff:\t");
		if (line)
			caps = strtoull(line + 9, NULL, 16);
	}
	strbuf_done(&buf);
	return caps;
}

/* "unlimited", or a number; *end moves past it. */
static bool limit_value(const char *text, const char **end, u64 *ret)
{
	text += strspn(text, " ");
	if (!strncmp(text, "unlimited", 9)) {
		*end = text + 9;
		*ret = UINT64_MAX;
		return true;
	}
	size_t digits = strspn(text, "0123456789");
	*end = text + digits;
	*ret = strtoull(text, NULL, 10);
	return digits > 0;
}

int proc_limit_read(const struct sysroot *r, const char *row, struct proc_limit *ret)
{
	struct strbuf buf;
	struct proc_limit l;
	strbuf_init(&buf);
	int err = sysroot_read(r, "proc/self/limits", &buf);
	const char *at = err ? NULL : strstr(strbuf_cstr(&buf), row);
	if (!err &&
	    (!at || !limit_value(at + strlen(row), &at, &l.soft) || !limit_value(at, &at, &l.hard)))
		err = -ENOENT;
	strbuf_done(&buf);
	if (!err)
		*ret = l;
	return err;
}

void perf_rights_read(const struct sysroot *r, struct perf_rights *ret)
{
	u64 caps = caps_effective(r);
	*ret = (struct perf_rights){
		.perfmon = caps & (1ull << CAP_PERFMON | 1ull << CAP_SYS_ADMIN),
		.ipc_lock = caps & (1ull << CAP_IPC_LOCK),
		.paranoid = (int)knob(r, "proc/sys/kernel/perf_event_paranoid", 2),
		.mlock_kb = (u64)knob(r, "proc/sys/kernel/perf_event_mlock_kb", 516),
		.max_rate_hz = (u64)knob(r, "proc/sys/kernel/perf_event_max_sample_rate", 0),
		.max_stack = (u32)knob(r, "proc/sys/kernel/perf_event_max_stack", 127),
		.kptr_restrict = (int)knob(r, "proc/sys/kernel/kptr_restrict", 0),
	};
}
