/*
 * The compiler: the text of a script becomes a struct program. It opens nothing and asks the kernel nothing; what it has to know about
 * tracepoints and types comes through the input.
 *
 *	token, parse, cdef, macro   text to tree (ast.h), attach points (provider.c), definitions, macros
 *	stap_*                      the same from the language of SystemTap
 *	check                       types, until all blocks agree; constants; the kernel's types (check_kernel.c)
 *	lower                       for each attach point: tree to IR (ir.h), records, maps (lower_*.c)
 *	registers, emit             IR to eBPF
 *	builtins_*                  a row for each function and value of the language: its type, its code
 *	interpret                   the tree run here, to compare with
 */
#pragma once

#include "base/diag.h"
#include "image/btf.h"
#include "model/program.h"
#include "model/schema.h"

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
};

enum lang_stage { LANG_LEX, LANG_PARSE, LANG_CHECK, LANG_LOWER, LANG_REGISTERS, LANG_STAGES };

struct lang_input {
	const char *text; /* NUL-terminated */
	size_t len;
	const char *const *params; /* $1 ... */
	u32 nr_params;
	const struct lang_ops *ops; /* may be NULL */
	void *ctx;
	struct btf *btf; /* the kernel's types; NULL: none */
	const char *machine; /* of the code: "x86_64", "aarch64"; NULL: where it runs */
	u64 time_ns; /* for tests: 0 */
	bool stap; /* the script is in the language of SystemTap */
	bool allow_unsafe;
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
