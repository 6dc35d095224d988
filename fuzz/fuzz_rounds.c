/* Any bytes as a stream that is cut into rounds, each replayed: no more samples come out than went in. */
#include "stream/replay_perf.h"
#include "stream/rounds.h"

#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS_MAX = 200 };

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static u64 samples_of(const struct round *r)
{
	struct source *src;
	struct diag d;
	u64 nr = 0;
	diag_init(&d);
	if (!replay_perf_open_bytes(r->data, r->size, &src, &d)) {
		if (!src->ops->prepare(src, NEED_ORDER, &d))
			nr = replay_perf_stats(src)->nr_samples;
		src->ops->close(src);
	} else if (!d.nr_errors) {
		abort(); /* refused without a word */
	}
	diag_done(&d);
	return nr;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (!size || size > 1 << 16)
		return 0;
	int fd = memfd_create("rounds", MFD_CLOEXEC), got = 0;
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	struct rounds_opts o = { .whole = data[size - 1] & 1, .ready_bytes = 1 };
	struct rounds *r = rounds_open(fd, &o);
	struct round round;
	struct diag d;
	u64 until = 0;
	diag_init(&d);
	for (unsigned i = 0; r && i < ROUNDS_MAX && (got = rounds_next(r, &round, &d)) > 0; i++) {
		if (round.after != until || round.until < until || (o.whole && !round.last))
			abort();
		until = round.until;
		(void)samples_of(&round);
	}
	rounds_close(r);
	diag_done(&d);
	close(fd);
	return 0;
}
