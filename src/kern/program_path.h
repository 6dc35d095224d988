/*
 * The file that a bare name means: a program as a shell finds it ($PATH), a library as the loader finds it (its cache, then the usual
 * directories). "libc" is libc.so.6 too.
 */
#pragma once

#include "base/strbuf.h"

/*
 * Appends the path, links resolved. A name with a slash in it, or of a file in this directory, is that file. pid: not 0, what the process
 * has mapped comes first. root: "" or a test's folder. -ENOENT: nowhere; other errno of the file that was found.
 */
int program_path(const char *name, s32 pid, const char *root, struct strbuf *to) must_check;
/* Appends what a process has mapped under that name alone; through /proc/PID/root where the path means something else here. false: nothing. */
bool program_path_mapped(const char *name, s32 pid, const char *root, struct strbuf *to);
