/*
 * The last seconds of a live recording as bytes, to be written as a perf.data when somebody asks for it: samples that are not too old, and all
 * records about tasks and maps that these need.
 *
 * Records about a process that has ended, and whose samples are all too old, are dropped from time to time, unless a process that
 * still runs was forked from it: it has inherited its maps.
 */
#pragma once

#include "base/types.h"
#include "base/diag.h"

struct top_keep;
struct recorder;
struct source;

/* NULL: no memory. max_bytes: of samples; when there are more, the oldest are dropped all the same. */
struct top_keep *top_keep_new(u64 seconds_ns, size_t max_bytes);
void top_keep_free(struct top_keep *k);
/* The records of the source's current round. */
int top_keep_round(struct top_keep *k, const struct source *src) must_check;
/* 0, or negative errno with a diag. -ENODATA: there are no samples. */
int top_keep_write(const struct top_keep *k, struct recorder *rec, const char *path,
		   u64 *nr_samples, struct diag *d) must_check;
size_t top_keep_side_bytes(const struct top_keep *k);
