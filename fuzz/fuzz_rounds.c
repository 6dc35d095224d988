/* Any bytes as a stream that comes in rounds: they follow each other, and no more samples come out than went in. */
#include "stream/replay_perf.h"
#include "stream/rounds.h"
#include "stream/run.h"

#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS_MAX = 200 };

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

struct watch {
	struct sink sink;
	u64 until, nr, nr_samples;
	bool whole;
};

static int watch_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = NULL;
	return 0;
}

static int watch_feed(struct sink *k, void *state, const struct batch *b)
{
	container_of(k, struct watch, sink)->nr_samples += b->nr;
	return 0;
}

static int watch_round(struct sink *k, const struct run_tables *t, const struct round *r)
{
	struct watch *w = container_of(k, struct watch, sink);
	if (r->number != w->nr || r->after != w->until || r->until < w->until ||
	    (w->whole && !r->last))
		abort();
	w->until = r->until;
	return ++w->nr == ROUNDS_MAX;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const struct sink_ops ops = { .shard_new = watch_new,
					     .feed = watch_feed,
					     .round_done = watch_round };
	if (!size || size > 1 << 16)
		return 0;
	int fd = memfd_create("rounds", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	u8 last = data[size - 1];
	struct watch w = {
		.sink = { .ops = &ops,
			  .needs = NEED_ORDER | NEED_CHAIN | NEED_COMM | (last & 2 ? KEEP_IDS : 0) },
		.whole = last & 1,
	};
	struct rounds_opts o = { .fd = fd, .whole = w.whole, .ready_bytes = 1 };
	struct source *src;
	struct run_tables run;
	struct diag d;
	diag_init(&d);
	if (rounds_open(&o, &src))
		abort();
	int err = stream_run(src, &w.sink, 1, &run, &d);
	if (err && !d.nr_errors)
		abort(); /* refused without a word */
	if (w.nr_samples > replay_perf_stats(src)->nr_samples)
		abort();
	run_tables_done(&run);
	src->ops->close(src);
	diag_done(&d);
	close(fd);
	return 0;
}
