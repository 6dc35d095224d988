/* The kernel's own types, for `run -l`: structs, unions and enums with their members, functions with their parameters. */
#pragma once

#include "base/strbuf.h"
#include "image/btf.h"
#include "kern/sysroot.h"

struct list_types {
	struct strbuf bytes;
	struct btf btf;
	bool tried, there;
};

/* Read when they are first asked for; false: the kernel does not tell them. */
bool list_types_read(struct list_types *t, const struct sysroot *root);
void list_types_done(struct list_types *t);

/* Whether the pattern is of types: "struct task_*", "enum pid_type". */
bool list_types_wanted(const char *pattern);
/* fn for each type of that kind whose name matches; members NULL, or lines "    TYPE NAME", values of enums "    NAME = 1". */
int list_types_each(struct list_types *t, const char *pattern, bool members,
		    int (*fn)(void *ctx, const char *text, const char *members),
		    void *ctx) must_check;
/* Parameters and result of a function, as such lines; nothing where they are not known. */
void list_types_function(struct list_types *t, const char *name, struct strbuf *to);
