/*
 * Expressions over the kernel's data in C's notation: text to a tree, each node with its place in the text. What names and types
 * mean is not looked at here, so that anybody who has types (BTF, DWARF) can evaluate, compile or check the tree.
 *
 *	init_task.tasks.next                  p->mm->mmap_base              kprobe_table[3]          kprobe_table[2:5] (a slice)
 *	(struct ftrace_ops *)ftrace_ops_list  *(u64 *)0xffff888000000000    &init_task.comm          sizeof(struct file)
 *	container_of(P, struct task_struct, tasks)   offsetof(struct file, f_inode)   runqueues:0 (a CPU's copy)   $current
 *	+ - * / %  << >>  & | ^ ~  ! && ||  == != < <= > >=  with C's precedence
 *
 * A name before a colon and a number is a per-CPU variable, but not inside of [ ], where the colon is a slice's.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"

enum { CEXPR_DEPTH_MAX = 200, CEXPR_POINTERS_MAX = 8 };

enum cexpr_op {
	CEXPR_NUMBER, /* number */
	CEXPR_NAME, /* name; cpu: CEXPR_NO_CPU, or which copy */
	CEXPR_VARIABLE, /* name: "current" of $current */
	CEXPR_MEMBER, /* kids[0].name */
	CEXPR_ARROW, /* kids[0]->name */
	CEXPR_INDEX, /* kids[0][kids[1]] */
	CEXPR_SLICE, /* kids[0][kids[1]:kids[2]]; the end is not in it */
	CEXPR_DEREF,
	CEXPR_ADDRESS,
	CEXPR_NEGATE,
	CEXPR_NOT,
	CEXPR_COMPLEMENT,
	CEXPR_CAST, /* (type)kids[0] */
	CEXPR_SIZEOF_TYPE, /* sizeof(type) */
	CEXPR_SIZEOF, /* sizeof kids[0] */
	CEXPR_OFFSETOF, /* offsetof(type, name): name may be a path a.b[2] */
	CEXPR_CONTAINER, /* container_of(kids[0], type, name) */
	CEXPR_MUL,
	CEXPR_DIV,
	CEXPR_MOD,
	CEXPR_ADD,
	CEXPR_SUB,
	CEXPR_SHL,
	CEXPR_SHR,
	CEXPR_LT,
	CEXPR_LE,
	CEXPR_GT,
	CEXPR_GE,
	CEXPR_EQ,
	CEXPR_NE,
	CEXPR_BIT_AND,
	CEXPR_BIT_XOR,
	CEXPR_BIT_OR,
	CEXPR_AND,
	CEXPR_OR,
};

enum { CEXPR_NO_CPU = -1, CEXPR_ALL_CPUS = -2 };

enum cexpr_tag { CEXPR_PLAIN, CEXPR_STRUCT, CEXPR_UNION, CEXPR_ENUM };

/* A type as it is written: "const struct file *[4]". */
struct cexpr_type {
	enum cexpr_tag tag;
	const char *name; /* without struct; "unsigned long", "u64", "void"; the arena's */
	u8 pointers;
	bool is_array;
	u64 elements; /* of the array */
	size_t start, len; /* in the text */
};

struct cexpr {
	enum cexpr_op op;
	size_t start, len; /* in the text */
	u32 depth; /* of the tree below, at most CEXPR_DEPTH_MAX */
	struct cexpr *kids[3];
	const char *name; /* the arena's */
	size_t name_start, name_len;
	struct cexpr_type type;
	u64 number;
	bool is_unsigned; /* of the number: a u, or too large for signed */
	s32 cpu;
};

/* Whether a name that is no keyword is that of a type: decides what "(name)(x)" is. */
typedef bool (*cexpr_is_type)(void *ctx, const char *name);

/* The tree is the arena's. -EINVAL with a diag that points into text; -ENOMEM. */
int cexpr_parse(const char *text, struct arena *arena, cexpr_is_type is_type, void *ctx,
		struct cexpr **ret, struct diag *d) must_check;
/* A type alone: "struct list_head *". */
int cexpr_parse_type(const char *text, struct arena *arena, struct cexpr_type *ret,
		     struct diag *d) must_check;
