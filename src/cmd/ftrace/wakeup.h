/* How long tasks waited between being woken and running: what `ftrace report -w` adds to its lines. */
#pragma once

#include "base/diag.h"
#include "base/strbuf.h"
#include "model/source.h"

struct ftrace_wakeups;

/* Looks through all of src, which is at its end afterwards. keep: only these events; NULL: all. 0 or negative errno. */
int ftrace_wakeups_find(struct source *src, bool (*keep)(void *ctx, const struct sample *s),
			void *ctx, unsigned workers, struct ftrace_wakeups **ret,
			struct diag *d) must_check;
void ftrace_wakeups_free(struct ftrace_wakeups *w);

/* How long the task that this sched_switch lets run had waited; false: it is not one, or nobody saw its wake-up. For any thread. */
bool ftrace_wakeups_waited(const struct ftrace_wakeups *w, const struct sample *s, u64 *ret_ns);
/* Mean, longest and shortest, as trace-cmd words it; nothing when there were none. */
void ftrace_wakeups_text(const struct ftrace_wakeups *w, struct strbuf *to);
