/*
 * The kernel's own number of a task, which is what set_event_pid and the like take. Inside a PID namespace getpid() and fork()
 * return other numbers, and a list of those would trace nothing, or somebody else's tasks.
 */
#pragma once

#include "kern/sysroot.h"
#include "kern/tracefs.h"

/* We are in a PID namespace other than the kernel's first. */
bool trace_pid_translates(const struct sysroot *root);
/*
 * Asks through an instance that is the caller's own, whose events are off: a signal that changes nothing is sent to the task, and
 * the event that reports it has the number. Only for ourselves and for a child that handles no signals yet. 0 or negative errno; the
 * instance has an event more on than before.
 */
int trace_pid_find(const struct tracing *t, const char *folder, s32 pid, s32 *ret) must_check;
