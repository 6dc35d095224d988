/* How long tasks waited between being woken and running: what `ftrace report -w` adds to its lines. */
#pragma once

#include "base/strbuf.h"
#include "model/source.h"

struct wakeups;

/* keep: only these events; NULL: all. NULL: no memory. */
struct wakeups *wakeups_new(bool (*keep)(void *ctx, const struct sample *s), void *ctx);
struct sink *wakeups_sink(struct wakeups *w); /* for one run */
void wakeups_free(struct wakeups *w);

/* How long the task that this sched_switch lets run had waited; false: it is not one, or nobody saw its wake-up. For any thread. */
bool wakeups_waited(const struct wakeups *w, const struct sample *s, u64 *ret_ns);
/* Mean, longest and shortest, as trace-cmd words it; nothing when there were none. */
void wakeups_text(const struct wakeups *w, struct strbuf *to);
