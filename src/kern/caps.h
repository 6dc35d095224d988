/* What this process may do, and what the system's knobs say about it. */
#pragma once

#include "kern/sysroot.h"

struct perf_rights {
	bool perfmon; /* CAP_PERFMON or CAP_SYS_ADMIN in effect */
	bool ipc_lock; /* CAP_IPC_LOCK: ring memory is not limited */
	int paranoid; /* kernel.perf_event_paranoid; 2 where it cannot be read */
	u64 mlock_kb; /* kernel.perf_event_mlock_kb; 516 */
	u64 max_rate_hz; /* kernel.perf_event_max_sample_rate; 0: unknown */
	u32 max_stack; /* kernel.perf_event_max_stack; 127 */
	int kptr_restrict;
};

void perf_rights_read(const struct sysroot *r, struct perf_rights *ret);
