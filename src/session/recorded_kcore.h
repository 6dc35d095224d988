/*
 * The code of a recorded kernel and the list of its symbols where they were kept: by the recording itself (`record --kcore`, a directory with
 * kcore_dir/{kcore,kallsyms,modules}), or in the cache of build IDs (`buildid-cache -k`). Both come from elsewhere and are not trusted.
 */
#pragma once

#include "model/source.h"
#include "sym/resolve.h"

/* The list of symbols that a recording brings along. -ENOENT: it brings none. */
int recorded_kcore_list(const struct source *src, struct sym_text *ret) must_check;
/* Its code, open. -ENOENT. */
int recorded_kcore_open(const struct source *src) must_check;
/* A copy of the list, and one of the code, in a folder that holds both. */
int kcore_folder_list(const char *folder, struct sym_text *ret) must_check;
int kcore_folder_open(const char *folder) must_check;
