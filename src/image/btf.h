/*
 * BTF, the kernel's description of its own types (/sys/kernel/btf/vmlinux, and a file for each module): just enough to say what
 * the arguments and the result of a function are called and how they are to be printed.
 *
 * One walk over the types at the start notes where each begins; everything after it is a look at the bytes where they lie. Every
 * offset and type number is checked: what points outside, or in circles, is as if it were not there. Both byte orders.
 */
#pragma once

#include "base/types.h"

enum { BTF_ARGS_MAX = 16 };

struct btf {
	const u8 *data;
	bool swap;
	const char *strings;
	u32 strings_len;
	u32 first; /* number of the first type that is in here */
	u32 first_string;
	u32 nr; /* types in here */
	u32 *offsets; /* of each, in data */
	size_t types_end; /* in data */
	const struct btf *base; /* a module's names and types go on where the kernel's end */
};

enum btf_shape {
	BTF_VOID,
	BTF_SIGNED,
	BTF_UNSIGNED,
	BTF_BOOL,
	BTF_ENUM,
	BTF_POINTER,
	BTF_STRING, /* a pointer to char that nobody writes through */
	BTF_OTHER, /* a struct, a float, something broken: not in one register */
};

struct btf_value {
	const char *name; /* borrowed; "" for none */
	enum btf_shape shape;
	u32 bytes;
};

struct btf_function {
	u32 nr_args; /* at most BTF_ARGS_MAX are in args */
	bool variadic;
	struct btf_value args[BTF_ARGS_MAX];
	struct btf_value result;
};

/* data is borrowed. base: NULL, or the kernel's for a module's. -EBADMSG: not BTF; -ENOMEM. */
int btf_open_memory(struct btf *b, const void *data, size_t size, const struct btf *base) must_check;
void btf_close(struct btf *b);
/* -ENOENT: no function of this name. */
int btf_find_function(const struct btf *b, const char *name, struct btf_function *ret) must_check;
