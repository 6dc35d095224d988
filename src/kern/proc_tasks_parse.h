/* The files of /proc/PID as numbers. Anyone may have named the task: what does not parse is refused, nothing is trusted to end. */
#pragma once

#include "model/task.h"

/* Each fills its part of the task; false: not such a text, and the part may be half filled. */
bool task_parse_stat(const char *text, size_t len, struct task *t);
bool task_parse_statm(const char *text, size_t len, struct task *t);
/* groups: the line "Groups:" without its blanks at both ends. */
bool task_parse_status(const char *text, size_t len, struct task *t, const char **groups,
		       size_t *groups_len);
bool task_parse_io(const char *text, size_t len, struct task *t);
bool task_parse_schedstat(const char *text, size_t len, struct task *t);
bool task_parse_smaps(const char *text, size_t len, struct task *t); /* smaps_rollup */
bool task_parse_autogroup(const char *text, size_t len, struct task *t);
/* "mnt:[4026531841]"; 0: not one. */
u64 task_parse_ns(const char *text, size_t len);

/* Of /proc itself. */
bool system_parse_stat(const char *text, size_t len, struct system_reading *s); /* the cpu lines */
bool system_parse_meminfo(const char *text, size_t len, struct system_reading *s);
bool system_parse_loadavg(const char *text, size_t len, struct system_reading *s);
bool system_parse_uptime(const char *text, size_t len, struct system_reading *s);
void system_parse_vmstat(const char *text, size_t len, struct system_reading *s);
