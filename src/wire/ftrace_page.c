/*
 * Follows the kernel's kernel/trace/ring_buffer.c (struct buffer_data_page, enum ring_buffer_type). A discarded event's
 * delta is added to the time, as all user-space readers do.
 */
#include "wire/ftrace_page.h"

#include <errno.h>
#include <string.h>

enum {
	TYPE_LEN_MAX = 28,
	TYPE_PADDING = 29,
	TYPE_TIME_EXTEND = 30,
	TYPE_TIME_STAMP = 31,
	DELTA_BITS = 27,
};

#define COMMIT_MISSED (1u << 31)
#define COMMIT_STORED (1u << 30)
#define COMMIT_MASK   ((1u << 27) - 1)
#define STAMP_BITS    59

#define HOST_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

static inline u32 load32(const u8 *p, bool swap)
{
	u32 v;
	memcpy(&v, p, sizeof(v));
	return unlikely(swap) ? __builtin_bswap32(v) : v;
}

static inline u64 load64(const u8 *p, bool swap)
{
	u64 v;
	memcpy(&v, p, sizeof(v));
	return unlikely(swap) ? __builtin_bswap64(v) : v;
}

static u64 load_long(const u8 *p, u32 size, bool swap)
{
	return size == 8 ? load64(p, swap) : load32(p, swap);
}

static bool header_fits(const struct page_layout *l, size_t size)
{
	bool sane = l->ts_size == 8 && (l->commit_size == 4 || l->commit_size == 8);
	return sane && size >= 8 && l->ts_offset <= size - 8 && l->commit_offset <= size &&
	       l->commit_size <= size - l->commit_offset && l->data_offset <= size;
}

int ftrace_page_open(struct ftrace_page *p, const struct page_layout *l, const void *page,
		     size_t size, bool big_endian)
{
	if (!header_fits(l, size))
		return -EBADMSG;
	const u8 *base = page;
	bool swap = big_endian != HOST_BIG_ENDIAN;
	u64 commit = load_long(base + l->commit_offset, l->commit_size, swap);
	size_t room = size - l->data_offset;
	size_t used = commit & COMMIT_MASK;
	*p = (struct ftrace_page){
		.at = base + l->data_offset,
		.time = load64(base + l->ts_offset, swap),
		.swap = swap,
		.big_endian = big_endian,
		.plain = !swap && !big_endian,
		.bad = used > room,
	};
	p->end = p->at + min(used, room);
	if (commit & COMMIT_MISSED) {
		p->missed = FTRACE_MISSED_UNKNOWN;
		if ((commit & COMMIT_STORED) && l->commit_size <= (size_t)(base + size - p->end)) {
			u64 count = load_long(p->end, l->commit_size, swap);
			p->missed = count < FTRACE_MISSED_UNKNOWN ? (u32)count
								  : FTRACE_MISSED_UNKNOWN - 1;
		}
	}
	return 0;
}

u64 ftrace_page_time(const struct page_layout *l, const void *page, size_t size, bool big_endian)
{
	if (!header_fits(l, size))
		return 0;
	return load64((const u8 *)page + l->ts_offset, big_endian != HOST_BIG_ENDIAN);
}

bool ftrace_page_empty(const struct page_layout *l, const void *page, size_t size, bool big_endian)
{
	if (!header_fits(l, size))
		return true;
	const u8 *commit = (const u8 *)page + l->commit_offset;
	return !(load_long(commit, l->commit_size, big_endian != HOST_BIG_ENDIAN) & COMMIT_MASK);
}

static int give_up(struct ftrace_page *p)
{
	p->bad = true;
	p->at = p->end;
	return 0;
}

int ftrace_page_next_any(struct ftrace_page *p, struct ftrace_event *ret)
{
	const u8 *at = p->at, *end = p->end;
	for (;;) {
		size_t left = (size_t)(end - at);
		if (left < 4) {
			p->at = end;
			p->bad |= left != 0;
			return 0;
		}
		u32 head = load32(at, p->swap);
		u32 type = p->big_endian ? head >> DELTA_BITS : head & 31;
		u64 delta = p->big_endian ? head & ((1u << DELTA_BITS) - 1) : head >> 5;
		at += 4;
		left -= 4;
		if (likely(type - 1 < TYPE_LEN_MAX)) {
			u32 size = type * 4;
			if (unlikely(size > left))
				return give_up(p);
			p->time += delta;
			p->at = at + size;
			*ret = (struct ftrace_event){ .time = p->time, .data = at, .size = size };
			return 1;
		}
		if (type == TYPE_PADDING && !delta) {
			p->at = end;
			return 0;
		}
		if (left < 4)
			return give_up(p);
		u32 word = load32(at, p->swap);
		if (type == TYPE_TIME_EXTEND || type == TYPE_TIME_STAMP) {
			delta |= (u64)word << DELTA_BITS;
			if (type == TYPE_TIME_EXTEND)
				p->time += delta;
			else
				p->time = (delta & ((1ull << STAMP_BITS) - 1)) |
					  (p->time >> STAMP_BITS << STAMP_BITS);
			at += 4;
			continue;
		}
		p->time += delta;
		if (type == TYPE_PADDING) {
			if (word < 4 || word > left)
				return give_up(p);
			at += word;
			continue;
		}
		if (word < 4 || word > left)
			return give_up(p);
		p->at = at + min(left, ((size_t)word + 3) & ~(size_t)3);
		*ret = (struct ftrace_event){ .time = p->time, .data = at + 4, .size = word - 4 };
		return 1;
	}
}
