/* What commands that write recordings have in common: whose the file is, and what it says about how it was made. */
#pragma once

#include "kern/perf_event.h"
#include "kern/sysroot.h"

/* The one who called sudo, or who runs a program that was lent root's rights; -1: whoever runs it. */
void written_owner(s64 *uid, s64 *gid);
/* The command line as it was typed: *nr words, which borrow from the text returned (the caller's). */
char *written_cmdline(const struct sysroot *r, const char *words[], u32 max_words, u32 *nr);

/*
 * -o -, or no -o and standard output is a pipe: the recording goes there. What else would be written to standard output, by
 * the command above all, goes to standard error then. *pipe_fd: where to write, -1 when *path is a file. -EINVAL with a diag.
 */
int written_take_stdout(const char *output, const char **path, int *pipe_fd, const char *example,
			struct diag *d) must_check;

/*
 * PERF_TEST_ATTR=DIR: each event that is opened is told to a file there, as perf does for its own tests. A perf_opened_fn
 * whose context is the folder; written_attr_dir() is NULL when nobody asks.
 */
const char *written_attr_dir(void);
void written_attr(void *dir, const struct perf_event_attr *attr, const struct perf_opened *how);
