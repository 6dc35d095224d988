/* Joins a source and a sink over all cores: prepare, blocks to workers, merge. */
#pragma once

#include "model/source.h"

/* workers 0: one for each CPU. The result is the caller's (run_tables_done), also after an error. */
int stream_run(struct source *src, struct sink *sink, unsigned workers, struct run_tables *ret, struct diag *d) must_check;
