/* Where in a file a function or a static probe is: just enough for uprobe: and usdt: events. */
#pragma once

#include "base/types.h"

/*
 * File offset of a function: the linker's name, or a C++ or Rust name as people write it. -ENOENT: not there;
 * -ENOEXEC: not an ELF file we can read; other negative errno.
 */
int probe_elf_symbol(const char *path, const char *symbol, u64 *offset) must_check;
/* A function that was probably meant by a name that is not there: true and the name. */
bool probe_elf_close(const char *path, const char *symbol, char *close, size_t size);
/*
 * The first note of a static probe; provider NULL: any. *semaphore: file offset of its counter, 0: none. Same errors.
 */
int probe_elf_usdt(const char *path, const char *provider, const char *name, u64 *offset,
		   u64 *semaphore) must_check;
