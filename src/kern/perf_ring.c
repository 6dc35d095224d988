#include "kern/perf_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int perf_ring_open(struct perf_ring *r, int fd, size_t nr_pages, bool overwrite)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	/* Without write permission on page 0 there is no tail, and the kernel overwrites. */
	int prot = overwrite ? PROT_READ : PROT_READ | PROT_WRITE;
	void *mem = mmap(NULL, (nr_pages + 1) * page, prot, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	*r = (struct perf_ring){
		.page = mem,
		.data = (const u8 *)mem + page,
		.size_bytes = nr_pages * page,
		.overwrite = overwrite,
	};
	return 0;
}

void perf_ring_close(struct perf_ring *r)
{
	if (!r->page)
		return;
	size_t head = (size_t)(r->data - (const u8 *)r->page);
	munmap(r->page, head + r->size_bytes);
	r->page = NULL;
}

static void span_of(const struct perf_ring *r, u64 from, u64 len, struct ring_span *ret)
{
	u64 start = from & (r->size_bytes - 1);
	u64 first = min(len, r->size_bytes - start);
	ret->at[0] = r->data + start;
	ret->len[0] = first;
	ret->at[1] = r->data;
	ret->len[1] = len - first;
}

bool perf_ring_peek(const struct perf_ring *r, struct ring_span *ret)
{
	/* Pairs with the kernel's barrier before it publishes the head: records are read after it. */
	u64 head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	u64 tail = r->page->data_tail;
	if (head == tail || head - tail > r->size_bytes)
		return false;
	span_of(r, tail, head - tail, ret);
	ret->head = head;
	return true;
}

void perf_ring_consume(struct perf_ring *r, u64 head)
{
	/* All reads are done before the kernel may write there again. */
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
}

bool perf_ring_snapshot(const struct perf_ring *r, u64 since, struct ring_span *ret)
{
	u64 head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	if (head == since)
		return false;
	/* head counts down from 0: what was ever written is -head. */
	span_of(r, head, min(since - head, r->size_bytes), ret);
	ret->head = head;
	size_t pos = 0;
	while (ring_span_next(ret, &pos, false, NULL))
		;
	if (!pos)
		return false;
	span_of(r, head, pos, ret);
	return true;
}

bool ring_span_copy(const struct ring_span *s, size_t pos, void *to, size_t n)
{
	size_t len = ring_span_len(s);
	if (pos > len || len - pos < n)
		return false;
	size_t first = pos < s->len[0] ? min(n, s->len[0] - pos) : 0;
	if (first)
		memcpy(to, s->at[0] + pos, first);
	if (n > first)
		memcpy((u8 *)to + first, s->at[1] + (pos + first - s->len[0]), n - first);
	return true;
}

const struct perf_event_header *ring_span_next(const struct ring_span *s, size_t *pos, bool whole,
					       void *scratch)
{
	size_t at = *pos, len = ring_span_len(s);
	if (len - at < sizeof(struct perf_event_header))
		return NULL;
	const u8 *p = at < s->len[0] ? s->at[0] + at : s->at[1] + (at - s->len[0]);
	const struct perf_event_header *h = (const struct perf_event_header *)p;
	size_t size = h->size;
	if (size < sizeof(*h) || size % 8 || size > len - at)
		return NULL;
	*pos = at + size;
	if (whole && at < s->len[0] && at + size > s->len[0]) {
		ring_span_copy(s, at, scratch, size);
		return scratch;
	}
	return h;
}
