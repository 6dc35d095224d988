/* What this process may do, and what the system's knobs say about it. */
#pragma once

#include "kern/sysroot.h"

#include <linux/capability.h>

/* Younger than some headers. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

struct perf_rights {
	bool perfmon; /* CAP_PERFMON or CAP_SYS_ADMIN in effect */
	bool ipc_lock; /* CAP_IPC_LOCK: ring memory is not limited */
	int paranoid; /* kernel.perf_event_paranoid; 2 where it cannot be read */
	u64 mlock_kb; /* kernel.perf_event_mlock_kb; 516 */
	u64 max_rate_hz; /* kernel.perf_event_max_sample_rate; 0: unknown */
	u32 max_stack; /* kernel.perf_event_max_stack; 127 */
	int kptr_restrict;
};

/* A capability that something here asks for. */
struct cap_name {
	u8 bit;
	const char *name; /* "CAP_PERFMON" */
	const char *gives;
};

/* Those that matter to observing a system, the most useful first; ends with a NULL name. */
extern const struct cap_name cap_names[];

/* Bits of the capabilities in effect; 0 where they cannot be read. */
u64 caps_effective(const struct sysroot *r);
static inline bool caps_has(u64 caps, unsigned bit)
{
	return caps >> bit & 1;
}

struct proc_limit {
	u64 soft, hard; /* UINT64_MAX: unlimited */
};

/* A row of /proc/self/limits: "Max open files", "Max locked memory" (bytes). -ENOENT: no such row. */
int proc_limit_read(const struct sysroot *r, const char *row, struct proc_limit *ret) must_check;

void perf_rights_read(const struct sysroot *r, struct perf_rights *ret);
