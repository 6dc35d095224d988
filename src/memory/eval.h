/*
 * Values of expressions (image/cexpr.h) over the kernel's memory. A value is a place in memory, which is read only when somebody
 * needs it, or a number.
 *
 * A variable whose type nobody knows may be cast, (struct ftrace_ops *)ftrace_ops_list, which says what it is declared as, or have its
 * address taken. An untyped number may be cast to a pointer.
 */
#pragma once

#include "image/cexpr.h"
#include "memory/kspace.h"

struct kvalue {
	struct ktype type; /* b NULL and no number: not known */
	bool is_place; /* it lies at addr; else the value is num */
	u64 addr;
	u8 bit_offset, bits; /* bits: of a bitfield at addr; 0: none */
	u64 num;
	bool is_function; /* addr is its first instruction */
	const char *symbol; /* it is this variable as a whole; NULL: it is not. The kspace's */
	bool is_per_cpu; /* one for each CPU: global says which variable */
	struct kspace_global global;
};

/* -EINVAL, -ENOENT, -EFAULT, -EDOM ... with a diag that points into the text where it can. */
int eval_text(struct kspace *k, const char *text, struct kvalue *ret) must_check;
/* The tree alone, which is the kspace's. -EINVAL with a diag. */
int eval_parse(struct kspace *k, const char *text, struct cexpr **ret) must_check;
/* The same for who has parsed it: text is what the tree's places point into. */
int eval_tree(struct kspace *k, const struct cexpr *e, const char *text,
	      struct kvalue *ret) must_check;

/* The per-CPU variable that is meant for all CPUs, NAME:a: its cpu can be set to each of them, one after the other. NULL: none. */
struct cexpr *eval_all_cpus(struct cexpr *tree);

/* A scalar as a number: read from memory where it lies there. A function or an array is its address. */
int eval_number(struct kspace *k, const struct kvalue *v, u64 *ret) must_check;
/* An address: of a pointer what it points to, of a struct or array in memory where it is, of a number itself. */
int eval_address(struct kspace *k, const struct kvalue *v, u64 *ret) must_check;
/* "0xffff888000000000", "ffff888000000000" or any expression. */
int eval_address_text(struct kspace *k, const char *text, u64 *ret) must_check;
/* Several members' offsets in bytes, by type and path ("thread.sp"). */
struct eval_offset {
	const char *type, *path;
	u64 *to;
	bool optional; /* EVAL_NO_OFFSET where the kernel has no such member; else -ENOENT with a diag */
};
#define EVAL_NO_OFFSET UINT64_MAX
int eval_offsets(struct kspace *k, const struct eval_offset *rows, size_t nr) must_check;
/* A path of members, "a.b[2].c", from a type on: its type and where it is. */
int eval_path(struct kspace *k, const struct ktype *of, const char *path, struct ktype *type,
	      u64 *bit_offset, u8 *bits) must_check;
