/*
 * The compiler: the text of a script becomes a struct program. It opens nothing and asks the kernel nothing; what it has to know about
 * tracepoints and types comes through the input.
 *
 *	import                      the texts of scripts that are imported, and the script, as one
 *	token, parse, cdef, macro   text to tree (ast.h), attach points (provider.c), definitions, macros and functions
 *	stap_*                      the same from the language of SystemTap
 *	scope                       which block a variable belongs to
 *	check                       types, until all blocks agree; constants; the kernel's types (check_kernel.c)
 *	lower                       for each attach point: tree to IR (ir.h), records, maps (lower_*.c)
 *	registers, emit             IR to eBPF
 *	builtins_*                  a row for each function and value of the language: its type, its code
 *	interpret_*                 the tree run here: end blocks, and to compare with
 */
#pragma once

#include "base/diag.h"
#include "image/btf.h"
#include "model/program.h"
#include "model/schema.h"

/* 0 goes on. */
typedef int lang_locals_fn(void *ctx, const char *key, const struct program_local *locals, u32 nr);

struct lang_ops {
	/* The fields of a tracepoint; the schema is borrowed until the compiler returns. -ENOENT: there is none. */
	int (*tracepoint)(void *ctx, const char *system, const char *name,
			  const struct schema **ret);
	/* Not asked any more: events that match one pattern may have other fields each. See tracepoint_list. */
	int (*tracepoint_glob)(void *ctx, const char *system, const char *name,
			       const struct schema **ret);
	/*
	 * Event number nth of those that match the patterns: 1, and its names, borrowed until the next call; 0: there are no more. A
	 * block that uses `args` gets code for each event. NULL: `args` is refused for patterns.
	 */
	int (*tracepoint_list)(void *ctx, const char *system, const char *name, u32 nth,
			       const char **ret_system, const char **ret_name);
	/* The address of a symbol of the kernel; -ENOENT. NULL: kaddr() is refused. */
	int (*kernel_symbol)(void *ctx, const char *name, u64 *ret);
	/* The address of a symbol of a program, as its file has it; -ENOENT. NULL: uaddr() is refused. */
	int (*user_symbol)(void *ctx, const char *program, const char *name, u64 *ret);
	/* The ID of the cgroup at a path below /sys/fs/cgroup, or of that path itself. NULL: cgroupid() is refused. */
	int (*cgroup_id)(void *ctx, const char *path, u64 *ret);
	/* The name of a system call, or NULL. NULL: syscall_name() is refused. */
	const char *(*syscall_name)(void *ctx, u32 nr);
	/* The text of a script that is imported: from: the one that imports it. The text lives as long as ctx. NULL: import is refused. */
	int (*import)(void *ctx, const char *from, const char *name, const char **ret_path,
		      const char **ret_text);
	/*
	 * Arguments of the sites of a USDT probe, as its notes write them ("8@%rdi -4@%eax"): 1, for the nth of those that differ; 0: no more.
	 * Borrowed until the next call. NULL: argN is refused.
	 */
	int (*usdt_site)(void *ctx, const struct program_probe *p, u32 nth, const char **ret);
	/*
	 * Calls each() for the places of a UPROBE, or of a KPROBE at a line, whose variables differ: those that can be read there, in the arena,
	 * and a key that is the places' own (program_probe.arguments). 0 or what each() returned, or negative errno with a diag: they are
	 * not known. NULL: they never are.
	 */
	int (*locals)(void *ctx, const struct program_probe *p, struct arena *arena,
		      lang_locals_fn *each, void *each_ctx, struct diag *d);
};

enum lang_stage { LANG_LEX, LANG_PARSE, LANG_CHECK, LANG_LOWER, LANG_REGISTERS, LANG_STAGES };

struct lang_input {
	const char *text; /* NUL-terminated */
	size_t len;
	const char *path; /* of the file that it is from, or NULL: what is imported is looked for beside it */
	const char *const *environment; /* NAME=value, NULL at the end: BPFTRACE_... are settings; or NULL */
	const char *const *params; /* $1 ... */
	u32 nr_params;
	const struct lang_ops *ops; /* may be NULL */
	void *ctx;
	struct btf *btf; /* the kernel's types; NULL: none */
	const char *machine; /* of the code: "x86_64", "aarch64"; NULL: where it runs */
	u64 time_ns; /* for tests: 0 */
	u64 pid_ns_dev,
		pid_ns_ino; /* the PID namespace whose numbers pid and tid are; 0: the first */
	bool stap; /* the script is in the language of SystemTap */
	bool allow_unsafe;
	bool report_errors; /* memory that cannot be read is reported where it happens: -k */
	bool end_here; /* whoever runs the program runs end blocks with lang_interpret(), where that can */
	bool callbacks; /* whoever loads the program passes on program.btf and program_code.funcs: else loops over maps are refused */
	/* What the passes made is appended, where it is not NULL: for -d. */
	struct strbuf *dump_ast, *dump_types, *dump_ir, *dump_bpf;
	u64 *stage_ns; /* LANG_STAGES of them, or NULL */
};

/*
 * 0; -EINVAL: the script is wrong, -ENOTSUP: something in it is not built yet, -EPERM: it is unsafe: each with a diag that points into the
 * script; -ENOMEM. ret is program_done()'s to free, also after an error.
 */
int lang_compile(const struct lang_input *in, struct program *ret, struct diag *d) must_check;
void program_done(struct program *p);
