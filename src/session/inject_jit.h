/* `sonde inject -j`: code that a JIT compiler described in jit-PID.dump becomes files, and maps of them. */
#pragma once

#include "base/dict.h"
#include "session/symbols.h"
#include "stream/replay_perf.h"

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

/* src: prepared. Writes jitted-PID-N.so beside every dump that is announced. 0, -EDOM: the recording's times are not of the clock that the dumps
 * have, or another negative errno with something in the symbols' diag. */
int inject_jit_read(struct inject_jit *j, const struct source *src,
		    const struct symbols *s) must_check;
void inject_jit_done(struct inject_jit *j);
/* Records to write instead of this one (perhaps none); NULL: the record as it is. */
const struct strbuf *inject_jit_find(const struct inject_jit *j, const u8 *rec,
				     const struct perf_event_header *h, u64 place);
