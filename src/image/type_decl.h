/*
 * Types of BTF as C writes them: declarations of one line, and whole definitions with or without offsets, as gdb's ptype and crash's
 * `struct` lay them out. Whatever the types say, the text is bounded.
 */
#pragma once

#include "base/strbuf.h"
#include "image/btf.h"

struct type_decl_opts {
	bool offsets; /* of each member, in brackets before it */
	bool hex; /* offsets in hexadecimal */
	bool whole; /* an anonymous struct, union or enum is written out; else {...} */
};

/* "int (*handler)(struct kprobe *, struct pt_regs *)"; name "": without one. One line unless o.whole. */
void type_decl(const struct btf *b, u32 id, const char *name, struct type_decl_opts o,
	       struct strbuf *to);
/* "struct list_head {\n    struct list_head *next;\n...}\n" of a struct, union or enum, past typedefs and qualifiers. false: it is none. */
bool type_decl_define(const struct btf *b, u32 id, struct type_decl_opts o, struct strbuf *to);
