/* What naming.c (kernel, users, groups) and naming_user.c (addresses of processes) share. */
#pragma once

#include "base/dict.h"
#include "base/opener.h"
#include "base/strtab.h"
#include "bpf/naming.h"
#include "image/demangle.h"
#include "kern/kallsyms.h"
#include "kern/procfs.h"
#include "sym/dso.h"

struct naming_entry { /* in naming.kernel_names, before the name */
	u64 offset;
	u32 len, pad;
};

struct naming_cgroup {
	u64 id;
	char *path;
};

struct naming_image {
	u32 dev_major, dev_minor;
	u64 ino;
	int fd; /* -1: not opened, or read already */
	bool is_read;
	struct dso dso; /* names of the table are in its files */
	struct symtab table;
	bool usable;
};

struct naming_map {
	u64 start, end, file_offset;
	const char *path; /* in naming.paths */
	u32 dev_major, dev_minor;
	u64 ino;
	u32 image; /* 1 + index; 0: not looked for yet */
};

/* The names that a process gave to code that it made: /tmp/perf-PID.map. */
struct naming_made {
	const char *text; /* mapped */
	size_t len;
	struct symtab table;
};

struct naming_process {
	u32 pid;
	u64 last_use;
	VEC(struct naming_map) maps; /* the later one of two that overlap is the newer */
	bool ended; /* nothing more can be learnt about it */
	u64 made_ns; /* when its file was read; 0: not yet */
	struct naming_made made;
};

struct naming {
	const struct sysroot *root;
	enum demangle_style demangle;
	bool kernel_tried, no_kernel;
	struct kallsyms_text kernel;
	struct dict kernel_cache; /* address -> place in kernel_names */
	struct strbuf kernel_names;
	VEC(struct naming_cgroup) cgroups;

	int stacks_fd;
	u64 *ips; /* of the stack that was looked up last */
	u32 nr_ips;

	struct procfs procfs;
	struct opener *opener;
	VEC(struct naming_image *) images;
	struct strtab paths;
	VEC(struct naming_process) processes;
	struct dict process_of; /* pid -> index */
	u64 use;
};

void naming_add(const char *name, size_t len, u64 offset, enum naming_style style,
		struct strbuf *to);
void naming_user_init(struct naming *n);
void naming_user_done(struct naming *n);
/* "BUILDID 0xOFFSET" in the file, or the address where there is no build ID. */
void naming_user_build_id(struct naming *n, u32 pid, u64 address, struct strbuf *to);
/* " (libc.so.6)": of perf's style. */
void naming_user_module(struct naming *n, u32 pid, u64 address, struct strbuf *to);
