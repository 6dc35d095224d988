/* What differs between two kernels: two dumps, or a dump and the running kernel. */
#pragma once

#include "memory/print.h"

enum kdiff_part { KDIFF_SYSTEM, KDIFF_MODULES, KDIFF_TASKS, KDIFF_EXPRESSION };

struct kdiff_row {
	enum kdiff_part part;
	const char *name; /* "release", a module, "PID 12", a member of an expression's value */
	const char *before, *after; /* NULL: not there */
};

/* 0: go on; else negative errno. Names and values live as long as both kernels. */
typedef int (*kdiff_fn)(void *ctx, const struct kdiff_row *row);

struct kdiff {
	struct kspace *before, *after;
	kdiff_fn fn;
	void *ctx;
};

/* Names, size, boot command line. */
int kdiff_system(const struct kdiff *d) must_check;
/* By name: address-independent, size of all parts. -ENOENT with a diag: one's list was not found. */
int kdiff_modules(const struct kdiff *d) must_check;
/* By PID: name and state. */
int kdiff_tasks(const struct kdiff *d) must_check;
/* The value as it is printed, a row for each line of it that differs. */
int kdiff_expression(const struct kdiff *d, const char *text, const struct print_opts *o) must_check;
