/* Joins a source and a sink over all cores: prepare, blocks to workers, merge. */
#pragma once

#include "model/source.h"

/* workers 0: one for each CPU. The result is the caller's (run_tables_done), also after an error. */
int stream_run(struct source *src, struct sink *sink, unsigned workers, struct run_tables *ret,
	       struct diag *d) must_check;

/*
 * A second run over a source whose frames are known (and named) from a first one: frames keep their ids, also in the shards, so a
 * sink can use names while it is fed. Nothing is merged.
 */
int stream_run_named(struct source *src, struct sink *sink, unsigned workers,
		     const struct frame_table *frames, struct diag *d) must_check;
