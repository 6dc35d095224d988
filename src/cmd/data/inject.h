/*
 * `sonde inject -s`: sleeping times from sched_stat events, put onto the stacks where the tasks went to sleep.
 * `sonde inject -j`: code that a JIT compiler described in jit-PID.dump becomes files, and maps of them.
 */
#pragma once

#include "base/dict.h"
#include "session/symbols.h"
#include "stream/replay_perf.h"

/* What becomes of samples, by their place in the recording. */
struct inject_merge {
	struct dict places; /* place -> index into `fate` */
	struct {
		VEC(u32) list; /* offset into `bytes`, or INJECT_DROP */
	} fate;
	struct strbuf bytes; /* whole records */
};

enum { INJECT_DROP = 0xffffffffu };

/* src: prepared. 0 or negative errno with a diag. */
int inject_merge_read(struct inject_merge *m, const struct source *src, struct diag *d) must_check;
void inject_merge_done(struct inject_merge *m);
/* What to write instead of the sample at this place: a record, NULL for nothing; *same: the sample as it is. */
const struct perf_event_header *inject_merge_find(const struct inject_merge *m, u64 place,
						  bool *same);

struct inject_jit {
	const struct perfdata *file;
	const struct symbols *symbols;
	struct diag *diag;
	struct dict places; /* of records that announce a dump -> index into `maps` */
	VEC(struct strbuf) maps; /* records to write in its place */
	struct dict paths; /* hash of a dump's path -> index into `maps` */
	struct dict pids; /* that have a dump */
	u64 conv_zero, conv_mult, conv_shift; /* of a TIME_CONV record */
	bool has_conv;
	u32 nr_images;
};

/* src: prepared. Writes jitted-PID-N.so beside every dump that is announced. 0 or negative errno with something in the symbols' diag. */
int inject_jit_read(struct inject_jit *j, const struct source *src,
		    const struct symbols *s) must_check;
void inject_jit_done(struct inject_jit *j);
/* Records to write instead of this one (perhaps none); NULL: the record as it is. */
const struct strbuf *inject_jit_find(const struct inject_jit *j, const u8 *rec,
				     const struct perf_event_header *h, u64 place);
