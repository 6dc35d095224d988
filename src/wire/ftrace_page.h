/*
 * One ring-buffer page (sub-buffer) of ftrace, walked in place: no allocation, no copy, every byte checked. The same
 * cursor serves pages of a trace.dat, of trace_pipe_raw and of a mapped buffer.
 *
 *	u64 time │ commit: used bytes, bit 31 missed, bit 30 count stored │ event event ... │ [count of missed] │ slack
 *
 *	event: u32 { type_len:5, delta:27 }, filled from the low end on little-endian machines, from the high end on others
 *	  1..28  payload of 4 * type_len bytes          0  u32 length (itself included), payload
 *	  29     padding: delta 0 ends the page, else a discarded event: u32 bytes to skip
 *	  30     time extend: u32, delta | u32 << 27    31  absolute time: 59 bits in the same way
 */
#pragma once

#include "base/types.h"
#include "wire/format.h"

#include <string.h>

enum { FTRACE_MISSED_UNKNOWN = 0xffffffffu };

struct ftrace_event {
	u64 time; /* on the recording's clock */
	const u8 *data; /* payload, borrowed from the page; 4-byte aligned when the page is */
	u32 size;
};

struct ftrace_page {
	const u8 *at;
	const u8 *end;
	u64 time; /* of the event before `at` */
	u32 missed; /* events lost before this page: 0, a number, or FTRACE_MISSED_UNKNOWN */
	bool swap;
	bool big_endian;
	bool plain; /* words can be taken as they are */
	bool bad; /* the walk ended at something that is no event; what came before is good */
};

/*
 * size: what is there of the page. 0, or -EBADMSG when not even the header fits. A commit that claims more than the page
 * holds is cut to it and marks the page bad.
 */
int ftrace_page_open(struct ftrace_page *p, const struct page_layout *l, const void *page,
		     size_t size, bool big_endian) must_check;

/* Only the time of a page's start; 0 when the header does not fit. */
u64 ftrace_page_time(const struct page_layout *l, const void *page, size_t size, bool big_endian);
/* Whether a page holds no event at all by its header. */
bool ftrace_page_empty(const struct page_layout *l, const void *page, size_t size, bool big_endian);

/* Whatever comes next. */
int ftrace_page_next_any(struct ftrace_page *p, struct ftrace_event *ret);

/* 1 and the next event, or 0 at the end (look at `bad`). In line for what nearly all are: a short event. */
static inline int ftrace_page_next(struct ftrace_page *p, struct ftrace_event *ret)
{
	enum { TYPE_BITS = 5, SHORT_MAX = 28 };
	const u8 *at = p->at;
	u32 head;
	if (unlikely(!p->plain || p->end - at < 4))
		return ftrace_page_next_any(p, ret);
	memcpy(&head, at, sizeof(head));
	u32 type = head & ((1u << TYPE_BITS) - 1), size = type * 4;
	if (unlikely(type - 1 >= SHORT_MAX || size > (size_t)(p->end - at) - 4))
		return ftrace_page_next_any(p, ret);
	p->time += head >> TYPE_BITS;
	p->at = at + 4 + size;
	*ret = (struct ftrace_event){ .time = p->time, .data = at + 4, .size = size };
	return 1;
}
