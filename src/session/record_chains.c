/* After a recording by frame pointers: whether there were any to follow. */
#include "session/record.h"
#include "session/short_chains.h"

#include "stream/replay_perf.h"
#include "stream/run.h"

#include <errno.h>

enum { FILE_MAX = 64 << 20 }; /* bytes: a larger one is not read again for this */

void record_look_at_chains(struct record_session *s, u64 file_bytes)
{
	struct short_chains l;
	struct run_tables run = { 0 };
	struct source *src;
	if (file_bytes > FILE_MAX || replay_perf_open(s->output, &src, NULL))
		return;
	short_chains_init(&l, true);
	int err = stream_run(src, &l.sink, 1, &run, NULL);
	if (!err || err == -ECANCELED)
		short_chains_note(&l, &src->catalog, s->opener, s->tell.diag);
	short_chains_done(&l);
	run_tables_done(&run);
	src->ops->close(src);
}
