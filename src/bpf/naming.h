/*
 * Names for what records carry as numbers: addresses of the kernel and of processes, users, control groups. Everything is read when it is
 * first asked for, and remembered: a run that prints no stack never reads the kernel's symbols.
 *
 * Mappings of a process are read again when an address is in none of those that are known. A process that has ended keeps the mappings that
 * were read before, or those that were told as it made them (naming_mapped()), so that stacks get their names whenever they are printed.
 */
#pragma once

#include "base/strbuf.h"
#include "kern/sysroot.h"
#include "model/program.h"

enum naming_style {
	NAMING_NAME, /* "vfs_read" */
	NAMING_OFFSET, /* "vfs_read+16" */
};

struct naming;

/* NULL: no memory. All functions below take NULL, and print numbers then. */
struct naming *naming_new(const struct sysroot *root);
void naming_free(struct naming *n);
/* C++ and Rust names stay as the linker has them. */
void naming_no_demangle(struct naming *n);

void naming_kernel(struct naming *n, u64 address, enum naming_style style, struct strbuf *to);
void naming_user(struct naming *n, u32 pid, u64 address, enum naming_style style, struct strbuf *to);
void naming_uid(struct naming *n, u32 uid, struct strbuf *to);
void naming_cgroup(struct naming *n, u64 id, struct strbuf *to);

/* The map (of role STACKS) that has the addresses of stacks. */
void naming_set_stacks(struct naming *n, int map_fd, u32 value_size);
/* program_type.stack_mode */
enum naming_stack_mode {
	NAMING_STACK_BPFTRACE,
	NAMING_STACK_PERF,
	NAMING_STACK_RAW,
	NAMING_STACK_BUILD_ID, /* of user stacks: the file's build ID, and where in it */
};
/* A line for each frame, the first after a newline: as bpftrace prints them. */
void naming_stack(struct naming *n, const struct program_type *t, const void *data, u32 indent,
		  struct strbuf *to);

/*
 * What processes do, told by who follows them: a mapping with code, a fork. Files are opened at once, since their process may be gone, with
 * its container, when they are needed. -ENOMEM.
 */
struct naming_mapping {
	u64 start, end, file_offset;
	u64 ino;
	u32 dev_major, dev_minor;
	const char *path;
};
int naming_mapped(struct naming *n, u32 pid, const struct naming_mapping *m) must_check;
int naming_forked(struct naming *n, u32 parent, u32 child) must_check;
/* What the process has mapped now, for those that were there before. */
void naming_look(struct naming *n, u32 pid);

/* So many processes are remembered; those that were asked about longest ago are forgotten. */
enum { NAMING_PROCESSES_MAX = 8192 };
