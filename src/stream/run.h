/* Joins a source and a sink over all cores: prepare, blocks to workers, merge. */
#pragma once

#include "model/source.h"

struct stream_steps;

/*
 * All rounds of a source, one after the other; of a recording there is one. A sink that asks for KEEP_IDS has the tables of all rounds
 * at the end, others those of the last one.
 *
 * workers 0: one for each CPU. The result is the caller's (run_tables_done), also after an error.
 */
int stream_run(struct source *src, struct sink *sink, unsigned workers, struct run_tables *ret,
	       struct diag *d) must_check;

/*
 * A second run over a source whose frames are known (and named) from a first one: frames keep their ids, also in the shards, so a
 * sink can use names while it is fed. Nothing is merged. Of a source with rounds, the current round (from round_done()).
 */
int stream_run_named(struct source *src, struct sink *sink, unsigned workers,
		     const struct frame_table *frames, struct diag *d) must_check;

/*
 * The same round by round, on one worker, for who has other things to wait for: a screen with its keys. Of a source with rounds only.
 * The tables are those of stream_run(), between two steps as well, and the caller's. NULL: see errno and the diag.
 */
struct stream_steps *stream_steps_begin(struct source *src, struct sink *sink,
					struct run_tables *tables, struct diag *d);
/* Waits for a round as the source does (rounds_opts.idle_ns). 1: it was run; 0: there are no more; or negative errno. */
int stream_step(struct stream_steps *s) must_check;
void stream_steps_end(struct stream_steps *s);

/*
 * Begins a new generation of tables, with what the sink's carry() wants of them, and of the source's catalogue. stream_run() does so
 * when they are too large.
 */
int run_tables_recycle(struct run_tables *t, struct sink *sink, struct source *src) must_check;
