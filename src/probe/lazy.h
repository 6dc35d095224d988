/* Lines of a source file that match a pattern in which blanks do not count, and finding that file. */
#pragma once

#include "base/vec.h"
#include "probe/probe.h"

struct lazy_lines {
	char *path; /* of the file that was read, as the debugging information names it; NULL: none yet */
	VEC(u32) at; /* ascending */
};

/* Reads path once. -ENOENT with a diag: it cannot be found; -ENOMEM. */
int lazy_read(struct lazy_lines *l, const struct probe_target *target, const char *folder,
	      const char *path, const char *pattern, struct diag *d) must_check;
bool lazy_has(const struct lazy_lines *l, u32 line);
void lazy_done(struct lazy_lines *l);
/* "r+=*" matches "r += inl(x);". */
bool lazy_match(const char *line, const char *pattern);

/*
 * The text of a source file: at its path, below the tree that the target names, with as many leading folders taken off as it takes. *found
 * and *text are the caller's. -ENOENT with a diag.
 */
int source_read(const struct probe_target *target, const char *folder, const char *path,
		char **found, char **text, struct diag *d) must_check;
