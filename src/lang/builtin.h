/* Built-in values and functions: a row for each. */
#pragma once

#include "lang/check.h"
#include "lang/lower.h"

enum builtin_flags {
	BUILTIN_VALUE = 1 << 0, /* may be written without parentheses */
	BUILTIN_UNSAFE = 1 << 1, /* changes what it looks at: only with --unsafe */
	BUILTIN_AGGREGATE = 1 << 2, /* only as @map = name() */
	BUILTIN_WORD =
		1 << 3, /* of another's arguments ("boot"), or one of a series: not in the manual */
};

enum { BUILTIN_ANY = 255 };

struct builtin {
	const char *name;
	u8 min_args, max_args;
	u8 flags;
	/* Its arguments have types already, but for those that are maps. NULL: an error was added, or not known yet. */
	const struct program_type *(*check)(struct checker *c, struct node *n);
	struct value (*lower)(struct lower *l, struct node *n);
	/* AGGREGATE: adds the arguments to the value at the address in register `at`, of one CPU. */
	void (*add)(struct lower *l, struct node *n, int at);
	const char *summary;
	/* Of a function with output: a new action (struct program_action), whose record lower() sends, and interpret_call.c, too; negative: no memory. */
	s64 (*action)(struct lower *l, struct node *n);
	const char *form; /* what follows the name, for the manual: "(NUMBER)"; NULL: nothing */
};

struct builtin_group {
	const struct builtin *rows;
	u32 nr;
	const char *title;
};

/* All of them, one group after the other. NULL: there are no more. */
const struct builtin_group *builtin_group_at(u32 i);
/* NULL: none. */
const struct builtin *builtin_find(const char *name);
/* A function of the language that is not built. */
bool builtin_is_planned(const char *name);
/* The name closest to it, or NULL. */
const char *builtin_closest(const char *name);

extern const struct builtin_group builtins_task, builtins_aggregate, builtins_output, builtins_text,
	builtins_probe, builtins_map, builtins_search, builtins_string, builtins_type,
	builtins_series, builtins_kernel, builtins_debug, builtins_path;

/* The numbers in a print of a map, which are the first fields of its record: top, div. */
void output_print_numbers(const struct checker *c, const struct node *n, s64 *ret);
/* Buckets of a histogram with 2^bits of them for each power of two, and the code that adds one value to it. */
u32 aggregate_hist_buckets(u32 bits);
void aggregate_add_hist(struct lower *l, struct node *value, int at, u32 bits);
