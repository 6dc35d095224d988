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
	u64 offset; /* in the file; behind a kernel function; an address in the kernel where there is no symbol */
	u64 ref_ctr; /* USDT: file offset of its semaphore; 0: none */
	u64 id; /* tracepoint's number */
	s32 syscall; /* tracepoints of syscalls: the call's number; -1: not such a one, or not known */
};

/* A place of a line of source code. */
struct points_place {
	const char *symbol, *module; /* of the kernel; NULL: a program's */
	u64 offset; /* behind the symbol; in the program's file */
};
typedef int points_place_fn(void *ctx, const struct points_place *at);

struct points_opts {
	const char *script; /* for messages; NULL: none */
	s32 pid; /* whose files paths and names mean; 0: ours */
	/*
	 * fn for each place of probe's file and line, in the program at path (NULL: the kernel, or the module probe->target). 0, fn's result
	 * if that is not 0, or negative errno with a diag. NULL: lines cannot be found.
	 */
	int (*lines)(const struct program_probe *probe, const char *path, points_place_fn *fn,
		     void *ctx, struct diag *d);
};

struct points {
	struct arena arena;
	VEC(struct point) at;
	struct tracing tracing;
	const struct program *program;
	const struct sysroot *root;
	struct points_opts opts;
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
		const struct points_opts *o, struct diag *d) must_check;
void points_close(struct points *p);

/* Functions that can be probed and match; the text ends at a blank. -ENOENT: the kernel tells none. */
int points_functions(struct points *p, struct diag *d) must_check;

/* The name that a system call has in tracepoints: its number, or -1. Only those of this machine's own kind. */
s32 points_syscall(const char *event);
/*
 * The program or library that a probe's target means: a path, a name of PATH, "libc"; NULL: none. pid: whose root a path is below, and whose
 * program "*" is; 0: ours.
 */
const char *points_find_file(struct arena *a, const char *name, s32 pid);
/* Whether the note is one of the sites of a USDT probe. */
struct usdt_note;
bool points_is_site(const struct program_probe *probe, const struct usdt_note *n);
/* Its name; NULL: no such call, or no table for this machine. */
const char *points_syscall_name(u32 nr);
