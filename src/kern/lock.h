/*
 * What the kernel has one of, runs share: a lock that names its holder, and knobs that are counted.
 *
 * Everything lives in a folder (/run/sonde/ftrace, for tests another). Locks are flock()s of open files: a copy of the
 * descriptor that a watchdog has inherited keeps the lock until the watchdog has put things right. A file left there by the
 * dead locks nothing.
 */
#pragma once

#include "base/diag.h"
#include "kern/tracefs.h"

#define RUN_DIR "/run/sonde/ftrace"

/* Makes the folder (mode 0755, root's own) and opens it; negative errno with a diag. */
int run_dir_open(const char *path, struct diag *d) must_check;

/*
 * Takes NAME.lock and writes who has it. The descriptor, or -EBUSY with a diag that names the holder; wait: at most 5 s for
 * a holder that is about to go.
 */
int lock_take(int run_dir, const char *name, const char *holder, bool wait,
	      struct diag *d) must_check;
/* Who has it: appends the text; false: nobody. */
bool lock_holder(int run_dir, const char *name, struct strbuf *to);

/*
 * A knob with one value for all (saved_cmdlines_size). The first user's old value is kept in a file; the last user restores it,
 * if the knob still has what we wrote. user: a word unique to the run.
 *
 * knob_raise: at least `value` while we use it. 0, or negative errno; *changed: we are counted and have to leave.
 */
int knob_raise(int run_dir, const struct tracing *t, const char *file, const char *user, u64 value,
	       bool *changed) must_check;
int knob_leave(int run_dir, const struct tracing *t, const char *file, const char *user) must_check;
