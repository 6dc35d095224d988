/* The running kernel's memory, through /proc/kcore: an ELF core whose program headers say where addresses lie. */
#pragma once

#include "base/types.h"

/*
 * Reads size bytes at a kernel address. root: as everywhere in kern/ (NULL: /). -EACCES, -EPERM: not allowed; -ENOENT: this kernel has
 * none, or nothing lies there.
 */
int kcore_read(const char *root, u64 addr, u8 *to, size_t size) must_check;
