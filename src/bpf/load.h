/*
 * A program in the kernel: its maps are made, its codes loaded as the kind of program that a probe needs, each once. What the verifier
 * refuses is told as what the script asked for there, and why.
 */
#pragma once

#include "base/diag.h"
#include "kern/cgroup.h"
#include "kern/sysroot.h"
#include "model/program.h"

/* What a code is loaded as. */
struct load_kind {
	u32 type, attach_type; /* BPF_PROG_TYPE_*, BPF_TRACE_* ... */
	u32 btf_id; /* fentry, fexit, iter */
	int btf_fd; /* of a module's types; 0: the kernel's */
	bool sleepable;
	const u64 *syscalls; /* LOAD_SYSCALL_WORDS: only for these system calls (see bpf/points.h); NULL: no matter */
	bool of_task; /* only for the process of loaded.pid and in loaded.cgroup; set by the loader */
	u32 place_base; /* with syscalls: places are numbered from here on, by the number of the call */
};

/* Numbers of system calls that the check before a code can tell apart: 512. */
enum { LOAD_SYSCALL_WORDS = 8 };

struct loaded_code {
	u32 code;
	struct load_kind kind;
	int fd;
	const char *place; /* what it was loaded for: the text of the probe */
};

struct loaded {
	const struct program *program;
	const struct sysroot *root;
	const char *script; /* its text, for messages; NULL: none */
	bool want_log; /* all words of the verifier go to log */
	struct strbuf log;
	int *maps; /* [program.maps] */
	VEC(struct loaded_code) codes;
	s32 pid; /* probes that happen in a task are only for this process; 0: all. Set after loaded_open() */
	struct cgroup_place cgroup; /* and only for tasks in it or below; id 0: all. Set as pid */
	u32 nr_cpus; /* possible ones */
	u64 start_ns; /* CLOCK_BOOTTIME */
	u64 verify_ns; /* spent in loading */
};

/* Makes the maps. Negative errno with a diag; nothing is held then. */
int loaded_open(struct loaded *l, const struct program *p, const struct sysroot *root,
		const char *script, struct diag *d) must_check;
void loaded_close(struct loaded *l);

/* The process of the command, for cpid: before anything is loaded. */
int loaded_set_command(struct loaded *l, s32 pid) must_check;

/* The descriptor of a code as such a program: loaded, or the one that was before. It stays l's. Negative errno with a diag. */
int loaded_code(struct loaded *l, const struct program_probe *probe, const struct load_kind *kind,
		struct diag *d) must_check;
/* The same without words: for trying what this kernel takes. */
int loaded_try(struct loaded *l, const struct program_probe *probe,
	       const struct load_kind *kind) must_check;

/* The first map of a role: its index, or -1. */
int program_map_of(const struct program *p, enum program_map_role role);

/* Its max_entries; of a ring that has none, its bytes: as the configuration says, or 1 MB. */
u32 program_map_entries(const struct program *p, u32 i);

/* Adds an error at a place of the script: the line it is on with its caret. */
void script_span(struct diag *d, const char *script, u32 start, u32 len);
