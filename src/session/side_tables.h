/* What report shows of a recording besides samples: counts of its records, its tasks, their maps. The source was prepared. */
#pragma once

#include "base/strbuf.h"
#include "model/source.h"

/* How many records of each type, and samples of each event, as `perf report --stats`. */
int side_tables_stats(const struct source *src, struct strbuf *to) must_check;
/* "SAMPLE", "MMAP2" ...; "UNKNOWN" for types newer than we. */
const char *side_tables_type(u32 type);
/* The tree of tasks; maps: with what each of them has mapped, as `perf report --tasks` and `--mmaps`. */
int side_tables_tasks(const struct source *src, bool maps, struct strbuf *to) must_check;
