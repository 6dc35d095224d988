/* Common to commands that write recordings: who owns the file, the command line it records, and output to a pipe. */
#pragma once

#include "kern/perf_event.h"
#include "kern/sysroot.h"

/* The user who called sudo or who runs a set-user-ID program; -1: the effective user. */
void output_owner(s64 *uid, s64 *gid);
/* The command line as it was typed: *nr words, which borrow from the text returned (the caller's). */
char *output_cmdline(const struct sysroot *r, const char *words[], u32 max_words, u32 *nr);

/*
 * With -o -, or without -o when standard output is a pipe, the recording goes to standard output. Everything else that would be
 * written there, such as the output of the command, goes to standard error. *pipe_fd: where to write, -1 when *path is a file.
 * -EINVAL with a diag.
 */
int output_take_stdout(const char *output, const char **path, int *pipe_fd, const char *example,
		       struct diag *d) must_check;

/*
 * PERF_TEST_ATTR=DIR: each event that is opened is described in a file there, as perf does for its own tests. A perf_opened_fn
 * whose context is the folder; output_attr_dir() is NULL when the variable is not set.
 */
const char *output_attr_dir(void);
void output_attr(void *dir, const struct perf_event_attr *attr, const struct perf_opened *how);
