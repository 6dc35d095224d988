/* Joins a source and a sink over all cores: prepare, blocks to workers, merge. */
#pragma once

#include "model/source.h"

/* The tables of the whole run. frames and chains are empty until stream_run() is through. */
struct stream_result {
	struct frame_table frames;
	struct chain_tree chains;
};

/* workers 0: one for each CPU. The result is the caller's (stream_result_done), also after an error. */
int stream_run(struct source *src, struct sink *sink, unsigned workers, struct stream_result *ret, struct diag *d) must_check;
void stream_result_done(struct stream_result *r);
