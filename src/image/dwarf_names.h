/*
 * Which units of an image may hold a function or a source file: hashes of names, sorted, each with the number of a unit. Made once by
 * walking over the outermost entries of all units (all cores), and kept in a file for the next run where a folder for that is given.
 *
 * A hash says only where to look; who looks compares names. So a damaged or foreign file can hide an answer, but not invent one.
 */
#pragma once

#include "image/dwarf_code.h"

struct dwnames;

/* folder: NULL: nothing is kept. -EBADMSG, -E2BIG, -ENOMEM. The index is made when it is asked for the first time. */
int dwnames_open(struct dwcode *code, const struct elfimg *image, const char *folder,
		 struct dwnames **ret) must_check;
void dwnames_close(struct dwnames *n);

/* Units that name a function so, in ascending order; a pattern: all that may. *ret is to be freed. -ENOMEM. */
int dwnames_functions(struct dwnames *n, const char *name, bool is_glob, u32 **ret,
		      u32 *nr) must_check;
/* Units whose line tables have a file of that base name. */
int dwnames_files(struct dwnames *n, const char *path, u32 **ret, u32 *nr) must_check;
/* All names of functions, for advice and patterns: fn(ctx, name); 0 or fn's result. */
int dwnames_each(struct dwnames *n, int (*fn)(void *ctx, const char *name), void *ctx) must_check;
