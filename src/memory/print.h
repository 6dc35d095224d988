/*
 * Typed values as text in C's notation, laid out as gdb and crash do, and as JSON.
 *
 *	struct list_head {                    (struct ftrace_ops *) 0xffffffff82a3c8c0 <kprobe_ftrace_ops>
 *	  next = 0xffff888100f4a9c8,          {0, 1, 2 <repeats 12 times>}
 *	  prev = 0xffffffff82e0f2a0 <modules> "swapper/0\000\000\000\000\000\000"
 *	}                                     PIDTYPE_TGID      (A | B)      0xffffffff81abcdef <vfs_read>
 *
 * A struct is read as a whole, with one call, before it is printed.
 */
#pragma once

#include "base/json.h"
#include "memory/eval.h"

enum { PRINT_ELEMENTS = 200, PRINT_DEPTH = 16 };

struct print_opts {
	unsigned radix; /* of whole numbers: 0 as usual, 10, 16 */
	unsigned depth; /* structs inside of structs that are shown; 0: PRINT_DEPTH */
	unsigned elements; /* of an array or string that are shown; 0: PRINT_ELEMENTS */
};

/* The value alone: "(struct file *) 0x...", "{...}", "12". No end of line. Negative errno with a diag. */
int print_value(struct kspace *k, const struct kvalue *v, const struct print_opts *o,
		struct strbuf *to) must_check;
/* One member, as inside of a struct: "  name = value" without what follows. depth: of the margin. */
int print_member(struct kspace *k, const char *name, const struct kvalue *v,
		 const struct print_opts *o, unsigned depth, struct strbuf *to) must_check;
/* The value as JSON: numbers, strings, objects by member, {"address", "symbol", "string"} for pointers. */
int print_json(struct kspace *k, const struct kvalue *v, const struct print_opts *o,
	       struct json *j) must_check;
