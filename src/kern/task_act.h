/* What is done to a task that a person chose from a list: it may have ended, and its number may be another one's by now. */
#pragma once

#include "base/types.h"

/* start_ticks: as in its stat file. -ESRCH: it is gone, and whoever has its number is left alone. */
int task_signal(s32 pid, u64 start_ticks, int signo) must_check;
/* tid: a thread, or a process by its leader. -EACCES: not permitted. */
int task_renice(s32 tid, int nice) must_check;
/* "TERM", "SIGTERM" or "15"; -EINVAL. */
int signal_number(const char *text) must_check;
