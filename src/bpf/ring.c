/*
 *	consumer page │ producer page │ data │ the same data again
 *
 * Positions count bytes since the beginning. A record has a header of 8 bytes: its length with two flags on top (busy: not written yet;
 * discard: to be passed over), and the offset of its page, which is the kernel's own business.
 */
#include "bpf/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

int ring_open(struct ring *r, int fd, u32 size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	*r = (struct ring){ .fd = fd, .size = size, .page = page };
	void *mine = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mine == MAP_FAILED)
		return -errno;
	void *theirs = mmap(NULL, page + 2 * (size_t)size, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (theirs == MAP_FAILED) {
		int err = -errno;
		munmap(mine, page);
		return err;
	}
	r->consumer = mine;
	r->producer = theirs;
	r->data = (const u8 *)theirs + page;
	return 0;
}

void ring_close(struct ring *r)
{
	if (!r->consumer)
		return;
	munmap(r->consumer, r->page);
	munmap((void *)(uintptr_t)r->producer, r->page + 2 * (size_t)r->size);
	*r = (struct ring){ 0 };
}

u64 ring_pending(const struct ring *r)
{
	return __atomic_load_n(r->producer, __ATOMIC_ACQUIRE) - *r->consumer;
}

int ring_drain(struct ring *r, ring_fn *fn, void *ctx)
{
	u64 at = *r->consumer, end = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
	int rc = 0;
	while (at < end && !rc) {
		const u8 *record = r->data + (at & (r->size - 1));
		u32 head = __atomic_load_n((const u32 *)(const void *)record, __ATOMIC_ACQUIRE);
		if (head & BPF_RINGBUF_BUSY_BIT)
			break;
		u32 len = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		if (!(head & BPF_RINGBUF_DISCARD_BIT)) {
			rc = fn(ctx, record + BPF_RINGBUF_HDR_SZ, len);
			r->nr_records++;
			r->nr_bytes += len;
		}
		at += (len + BPF_RINGBUF_HDR_SZ + 7) & ~7ull;
		__atomic_store_n(r->consumer, at, __ATOMIC_RELEASE);
	}
	return rc;
}
