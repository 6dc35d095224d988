/* Names of system calls by their numbers, as programs call them. Every machine is compiled in everywhere, because recordings travel. */
#pragma once

#include "base/types.h"

enum syscalls_abi { SYSCALLS_X86_64, SYSCALLS_I386, SYSCALLS_ARM64, SYSCALLS_NR };

/* NULL: no such call, or one that is newer than the table. */
const char *syscalls_name(enum syscalls_abi abi, u64 nr);
/* One more than the largest number. */
u32 syscalls_end(enum syscalls_abi abi);
