/* The PID namespace that we are in, as the kernel's BPF helpers name it. */
#pragma once

#include "kern/sysroot.h"

/* Both 0: the first one, whose numbers are the kernel's own. */
struct pid_ns {
	u64 dev; /* as the kernel has it, not as stat(2) packs it */
	u64 ino;
};

struct pid_ns pid_ns_own(const struct sysroot *root);
