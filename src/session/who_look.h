/* What one process has open and mapped, as text. */
#pragma once

#include "kern/sysroot.h"

/* A line a descriptor: number, and file, pipe, or socket with its addresses. 0 or negative errno. */
int who_look_files(const struct sysroot *r, s32 pid, struct strbuf *to) must_check;
/* A line a mapping: addresses, size, protection, file. */
int who_look_maps(const struct sysroot *r, s32 pid, struct strbuf *to) must_check;
