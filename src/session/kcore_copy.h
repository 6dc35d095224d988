/*
 * A copy of the running kernel's code, as perf makes it: `kcore` (an ELF core of the kernel's text and of its modules), with the lists
 * `kallsyms` and `modules` that say what lies where. `record --kcore` puts it beside the samples, `buildid-cache -k` into the cache.
 */
#pragma once

#include "base/diag.h"

/*
 * Writes the three files into a folder, for nobody but us to read. root: of proc (NULL: /). Negative errno with a diag; then none of them
 * is left.
 */
int kcore_copy(const char *root, int dir, struct diag *d) must_check;

/* Whether two lists of modules (texts of /proc/modules) name the same ones at the same addresses. */
bool kcore_same_modules(const char *a, size_t a_len, const char *b, size_t b_len);
