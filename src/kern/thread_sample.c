#include "kern/thread_sample.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "kern/perf_ring.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PERIOD_NS = 200000,
	PATIENCE_MS = 50,
	STACK_BYTES = 48 << 10,
	RING_PAGES = 32,
	RECORD_MAX = 1 << 16,
	ABI_64 = 2, /* PERF_SAMPLE_REGS_ABI_64 */
};

/* Places in perf's order; segments other than cs and ss cannot be asked for. */
#if defined(__x86_64__)
static const u64 all_regs = 0xff0fff;
enum { REG_SP = 7, REG_PC = 8 };
#else
static const u64 all_regs = (1ull << 33) - 1;
enum { REG_SP = 31, REG_PC = 32 };
#endif

/* A callchain, of which only the kernel's part was asked for. */
static bool read_chain(struct bytes *b, u64 *kernel, u32 max, u32 *nr)
{
	u64 count = bytes_u64(b);
	*nr = 0;
	for (u64 i = 0; i < count && !b->bad; i++) {
		u64 addr = bytes_u64(b);
		bool marker = addr >= (u64)PERF_CONTEXT_MAX;
		if (!marker && *nr < max)
			kernel[(*nr)++] = addr;
	}
	return !b->bad;
}

static int read_program(struct bytes *b, struct thread_copy *c)
{
	u64 abi = bytes_u64(b);
	c->regs_mask = 0;
	c->stack_size = 0;
	c->stopped_ns = 0;
	if (b->bad || !abi)
		return b->bad ? -EBADMSG : 0;
	if (abi != ABI_64)
		return -ENOTSUP;
	u32 nr = (u32)__builtin_popcountll(all_regs);
	for (u32 i = 0; i < nr; i++)
		c->regs[i] = bytes_u64(b);
	u64 size = bytes_u64(b);
	const u8 *stack = size ? bytes_take(b, size) : NULL;
	u64 dumped = size ? bytes_u64(b) : 0;
	if (b->bad || dumped > size)
		return -EBADMSG;
	if (dumped > c->stack_room) {
		u8 *room = realloc(c->stack, dumped);
		if (!room)
			return -ENOMEM;
		c->stack = room;
		c->stack_room = dumped;
	}
	if (dumped)
		memcpy(c->stack, stack, dumped);
	c->stack_size = dumped;
	c->regs_mask = all_regs;
	c->sp = c->regs[REG_SP];
	c->pc = c->regs[REG_PC];
	return 0;
}

/* 1: it was the sample; 0: another record. */
static int read_record(const struct perf_event_header *h, struct thread_copy *c, u64 *kernel,
		       u32 max, u32 *nr)
{
	struct bytes b = bytes_of(h, h->size, false);
	if (h->type != PERF_RECORD_SAMPLE)
		return 0;
	bytes_skip(&b, sizeof(*h));
	if (!read_chain(&b, kernel, max, nr))
		return -EBADMSG;
	int err = read_program(&b, c);
	return err ? err : 1;
}

static int wait_sample(int fd, struct perf_ring *r, struct thread_copy *c, u64 *kernel, u32 max,
		       u32 *nr)
{
	struct ring_span span;
	size_t pos = 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int err = 0;
	if (poll(&p, 1, PATIENCE_MS) <= 0 || !perf_ring_peek(r, &span))
		return -ETIMEDOUT;
	u8 *scratch = malloc(RECORD_MAX);
	const struct perf_event_header *h;
	while (scratch && !err && (h = ring_span_next(&span, &pos, true, scratch)))
		err = read_record(h, c, kernel, max, nr);
	err = !scratch ? -ENOMEM : !err ? -ETIMEDOUT : min(err, 0);
	free(scratch);
	return err;
}

int thread_sample(struct perf_opener *o, s32 tid, struct thread_copy *c, u64 *kernel, u32 max,
		  u32 *nr)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
		.sample_type =
			PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = all_regs,
		.sample_stack_user = STACK_BYTES,
		.exclude_callchain_user = 1,
		.disabled = 1,
		.wakeup_events = 1,
	};
	struct perf_ring ring = { 0 };
	_cleanup_close_ int fd = perf_opener_open(o, &attr, tid, -1, -1);
	if (fd < 0)
		return fd;
	int err = perf_ring_open(&ring, fd, RING_PAGES, false);
	if (err)
		return err;
	err = perf_event_enable(fd);
	if (!err)
		err = wait_sample(fd, &ring, c, kernel, max, nr);
	perf_ring_close(&ring);
	return err;
}
