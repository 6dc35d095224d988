/*
 * Samples of a group that carry the counts of all members (-e {a,b}:S): only the leader was sampled, and each member is given a
 * sample of its own, weighted by how far its count went since the sample before. Counts are kept by id, so one reader has to see
 * them all, in the order of their buffers.
 */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "file/perfdata_read.h"
#include "model/sample.h"
#include "wire/perf_sample.h"

struct split_reads {
	struct dict of_id; /* id -> index into last */
	VEC(u64) last;
	VEC(struct sample) samples; /* of the batch */
};

void split_reads_done(struct split_reads *s);
/* Adds what this sample stands for to s->samples: itself, when it carries no counts. 0 or -ENOMEM. */
int split_reads_add(struct split_reads *s, const struct perfdata *file,
		    const struct perfdata_attr *attr, const struct perf_sample_view *v,
		    const struct sample *from) must_check;
