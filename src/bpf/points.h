/*
 * Where probes are attached: each probe of a program becomes one or more points. Wildcards are expanded against what is here now, in the order
 * of names; a point's number is the cookie that its program sees.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "kern/sysroot.h"
#include "kern/tracefs.h"
#include "model/program.h"

struct point {
	u32 probe; /* in program.probes */
	const char *text; /* "tracepoint:syscalls:sys_enter_openat": what the builtin `probe` is there */
	const char *symbol; /* function; event of a tracepoint */
	const char *module; /* of a function; NULL: the kernel's own */
	const char *path; /* of a file */
	u64 offset; /* in the file; behind a kernel function */
	u64 ref_ctr; /* USDT: file offset of its semaphore; 0: none */
	u64 id; /* tracepoint's number */
	s32 syscall; /* tracepoints of syscalls: the call's number; -1: not such a one, or not known */
};

struct points {
	struct arena arena;
	VEC(struct point) at;
	struct tracing tracing;
	const struct program *program;
	const struct sysroot *root;
	const char *script;
	s32 pid; /* whose program "*" and bare names are looked for in; 0: none */
	u32 max_probes;
	/* Kernel functions that can be probed, read when the first wildcard asks. */
	char *functions;
	VEC(const char *)
	function_names; /* "vfs_read", or "ext4_file_open [ext4]" as the kernel has it */
	bool functions_read;
	const char **places; /* of points_places() */
};

enum { POINTS_SYSCALLS = 512 }; /* numbers of system calls */
/*
 * The texts of all places, by the number that programs know them by: points in their order, then system calls by number, entries and exits.
 * NULL: no memory. They stay p's.
 */
const char *const *points_places(struct points *p, u32 *nr);
/* Where system calls begin among them. */
u32 points_syscall_base(const struct points *p, bool exits);

/*
 * Expands all probes. A probe without a place is an error, a warning or nothing, as the program's configuration says. Negative errno with a
 * diag.
 */
int points_open(struct points *p, const struct program *program, const struct sysroot *root,
		const char *script, s32 pid, struct diag *d) must_check;
void points_close(struct points *p);

/* Functions that can be probed and match; the text ends at a blank. -ENOENT: the kernel tells none. */
int points_functions(struct points *p, struct diag *d) must_check;

/* The name that a system call has in tracepoints: its number, or -1. Only those of this machine's own kind. */
s32 points_syscall(const char *event);
/* The program or library that a probe's target means: a path, a name of PATH, "libc"; NULL: none. */
const char *points_find_file(struct arena *a, const char *name);
/* Whether the note is one of the sites of a USDT probe. */
struct usdt_note;
bool points_is_site(const struct program_probe *probe, const struct usdt_note *n);
/* Its name; NULL: no such call, or no table for this machine. */
const char *points_syscall_name(u32 nr);
