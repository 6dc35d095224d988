/*
 * Code that recorded processes made at run time, as the unwinder needs it: pages are copied from the process when they are first asked
 * for (or announced), and kept, because stacks are unwound a little after they were sampled and the process may be gone by then. From any
 * thread.
 */
#pragma once

#include "base/types.h"

struct live_code;

/* NULL: no memory. */
struct live_code *live_code_new(void);
void live_code_free(struct live_code *c);

/*
 * Bytes from addr on, at most nr; how many there are. again: the process is asked even where there is a copy, which stays when the
 * process is gone.
 */
size_t live_code_read(struct live_code *c, u32 pid, u64 addr, u8 *to, size_t nr, bool again);
/* Memory that became executable: its first pages are copied at once. */
void live_code_announce(struct live_code *c, u32 pid, u64 addr, u64 len);
