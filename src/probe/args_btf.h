/*
 * Arguments without debug information: parameters by name, members through pointers, structs, unions, arrays and bitfields, and what a
 * function returns, from the kernel's BTF. "file->f_inode->i_ino" becomes "+64(+32($arg1)):u64": $argN is where the machine passes
 * parameters, at the first instruction of a function.
 */
#pragma once

#include "image/btf.h"
#include "probe/probe.h"

struct probe_types {
	struct strbuf kernel_bytes, module_bytes;
	struct btf kernel, of_module;
	const char *module; /* whose of_module is; NULL: none */
	bool has_kernel;
};

/* root: "" or a test's folder. What is missing is missing: -ENOMEM only. */
int probe_types_open(struct probe_types *t, const char *root, const char *module) must_check;
void probe_types_close(struct probe_types *t);
/* The module's, which knows the kernel's too, or the kernel's; NULL: none. */
struct btf *probe_types_of(struct probe_types *t);

/* What -V can say of a function of the kernel: its parameters. -ENODATA, -ENOENT without a diag; ret->arena is there. */
int probe_vars_btf(const struct probe_target *target, const struct probe_request *request,
		   struct probe_vars *ret) must_check;

struct probe_btf_place {
	const char *function; /* or tracepoint */
	const char *binary; /* that it is in; NULL: the kernel */
	bool is_return;
	bool is_tracepoint;
	bool at_entry; /* parameters are where the caller put them */
};

/* Fills def->args. b NULL: only the kernel's own words are understood. -ENOENT, -ENODATA, -EOPNOTSUPP with a diag; -ENOMEM. */
int probe_args_btf(struct btf *b, const struct probe_btf_place *place,
		   const struct probe_request *request, struct arena *arena, struct probe_def *def,
		   struct diag *d) must_check;
