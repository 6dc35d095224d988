/*
 * The text of an event's `format` file, parsed into a schema. The text comes from the kernel or from a file of anyone:
 * every size is checked, nothing is trusted. The grammar is the kernel's (kernel/trace/trace_events.c, f_show()).
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "model/schema.h"

/*
 * system: "sched", or "ftrace" for the built-in entries. The schema and all it borrows live in the arena. 0, -EINVAL with a
 * diag that names the line, -ENOMEM, -E2BIG past the limits. No print program is made here: see print_fmt.h.
 */
int format_parse(struct arena *a, const char *system, const char *text, size_t len, bool big_endian,
		 u8 long_size, struct schema **ret, struct diag *d) must_check;

/* The layout of a ring-buffer page, from events/header_page (NULL text: the usual 64-bit layout). */
struct page_layout {
	u32 ts_offset, ts_size;
	u32 commit_offset, commit_size;
	u32 data_offset;
	u32 data_size; /* of a page of the recorded size */
};
int format_parse_header_page(const char *text, size_t len, u8 long_size,
			     struct page_layout *ret) must_check;
