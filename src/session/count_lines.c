#include "session/count_lines.h"

#include "file/statdata.h"
#include "stream/perf_walk.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <stdlib.h>

typedef unsigned long long ull;

static int find_round(void *ctx, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	return h->type == REC_STAT_ROUND || h->type == REC_STAT_CONFIG ? -EEXIST : 0;
}

/* The head says so, of a file; a stream has to be looked through, which ends at its first sample of the kind. */
bool count_lines_any(const struct source *src)
{
	const struct perfdata *file = replay_perf_file(src);
	if (!file->is_pipe)
		return file->feature_bits[0] >> FEAT_STAT & 1;
	return perf_walk(file, find_round, NULL) == -EEXIST;
}

static void print_round(const struct statdata *s, const struct catalog *c,
			const struct count *counts, u64 time_ns, struct strbuf *to)
{
	for (size_t e = 0; e < s->events.nr; e++)
		for (size_t t = 0; t < s->threads.nr; t++)
			for (size_t cpu = 0; cpu < s->cpus.nr; cpu++) {
				const struct count *n =
					&counts[(e * s->cpus.nr + cpu) * s->threads.nr + t];
				strbuf_printf(to, "%3d %8d %15llu %15llu %15llu %15llu %s\n",
					      s->cpus.at[cpu], s->threads.at[t].tid, (ull)n->value,
					      (ull)n->enabled_ns, (ull)n->running_ns, (ull)time_ns,
					      c->events.at[e].name);
			}
}

int count_lines(const struct source *src, struct strbuf *to, struct diag *d)
{
	const struct catalog *c = &src->catalog;
	struct statdata s;
	struct statdata_round round;
	int err = statdata_open_known(&s, replay_perf_file(src), d), more = 0;
	if (err)
		return err;
	struct count *counts =
		calloc(max(s.events.nr * statdata_nr_slots(&s), (size_t)1), sizeof(*counts));
	bool known = s.events.nr <= c->events.nr;
	if (!counts || !known)
		err = counts ? -EBADMSG : -ENOMEM;
	else
		strbuf_printf(to, "%3s %8s %15s %15s %15s %15s %s\n", "CPU", "THREAD", "VAL", "ENA",
			      "RUN", "TIME", "EVENT");
	while (!err && (more = statdata_next_round(&s, counts, &round)) > 0)
		print_round(&s, c, counts, round.time_ns, to);
	if (!err && more < 0)
		diag_warn(d, "the recording is truncated: counts after the last complete round are "
			     "missing");
	free(counts);
	statdata_close(&s);
	return err;
}
