#include "kern/caps.h"

#include <linux/capability.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

static s64 knob(const struct sysroot *r, const char *path, s64 otherwise)
{
	s64 v;
	return sysroot_s64(r, path, &v) ? otherwise : v;
}

static u64 effective_caps(const struct sysroot *r)
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

void perf_rights_read(const struct sysroot *r, struct perf_rights *ret)
{
	u64 caps = effective_caps(r);
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
