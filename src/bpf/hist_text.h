/* Histograms: which values a bucket holds, and pictures of them. The rules for buckets are in model/program.h. */
#pragma once

#include "base/json.h"
#include "model/program.h"

/* How many buckets the memory of such a value has. */
u32 hist_nr(const struct program_type *t);
/* [*low, *high], both inclusive; INT64_MIN, INT64_MAX: open. */
void hist_range(const struct program_type *t, u32 bucket, s64 *low, s64 *high);
/* Of nr buckets: all counts together. */
u64 hist_total(const u64 *buckets, u32 nr);

/*
 * Lines from the first to the last bucket that has something; div: counts are divided by it (0: not); single: a bucket of one value is
 * [5] in a linear histogram, too, not [5, 6).
 */
void hist_text(const struct program_type *t, const u64 *buckets, u64 div, bool single,
	       struct strbuf *to);
void hist_json(const struct program_type *t, const u64 *buckets, u64 div, struct json *j);

/* QUANTILE: the value below which so many percent of all are, at most 2 % off with 5 bits. */
s64 hist_quantile(const struct program_type *t, const u64 *buckets, u8 percent);
