/* Where in a file a function or a static probe is: just enough for uprobe: and usdt: events. */
#pragma once

#include "base/types.h"

/*
 * File offset of a function: the linker's name, or a C++ or Rust name as people write it. -ENOENT: not there;
 * -ENOEXEC: not an ELF file we can read; other negative errno.
 */
int probe_elf_symbol(const char *path, const char *symbol, u64 *offset) must_check;
/* Around an offset in a file that is no place for a probe: it is in the middle of an instruction. */
struct probe_elf_spot {
	char function[256];
	u64 offset; /* after the function's start */
	u64 before, after; /* where instructions begin, counted likewise; after 0: none does */
};
/*
 * A breakpoint in the middle of an instruction changes what a program does, and the kernel does not look. 1: the offset is in the middle of
 * one; 0: it is not, or this is not known (no function is known there, no decoder); -ENOMEM.
 */
int probe_elf_is_inside(const char *path, u64 offset, struct probe_elf_spot *ret) must_check;
/* Whether the function at that offset only chooses among implementations when the program starts. */
bool probe_elf_is_ifunc(const char *path, u64 offset);
/* Whether its run time moves stacks, as Go's does: return addresses that a uretprobe put there are lost, and the program dies. */
bool probe_elf_moves_stacks(const char *path);
/* A function that was probably meant by a name that is not there: true and the name. */
bool probe_elf_close(const char *path, const char *symbol, char *close, size_t size);
/*
 * The first note of a static probe; provider NULL: any. *semaphore: file offset of its counter, 0: none. Same errors.
 */
int probe_elf_usdt(const char *path, const char *provider, const char *name, u64 *offset,
		   u64 *semaphore) must_check;
/* fn(ctx, provider, name, offset, semaphore) for each static probe of the file, until it returns below 0, which is returned. */
int probe_elf_each_usdt(const char *path, int (*fn)(void *, const char *, const char *, u64, u64),
			void *ctx) must_check;
/* fn(ctx, note) for each static probe with all that its note says, until it returns other than 0, which is returned. */
struct usdt_note;
int probe_elf_each_note(const char *path, int (*fn)(void *, const struct usdt_note *),
			void *ctx) must_check;
/*
 * fn(ctx, name, offset) for each function of the file's fullest table, and once more for those that the linker needs at run time; until it
 * returns other than 0, which is returned.
 */
int probe_elf_each_function(const char *path, int (*fn)(void *, const char *, u64),
			    void *ctx) must_check;
