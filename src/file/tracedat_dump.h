/* What a trace.dat holds beside its events, as text in trace-cmd's words, in the order of the file. */
#pragma once

#include "base/strbuf.h"
#include "file/tracedat_read.h"

enum dump_part {
	DUMP_SUMMARY = 1 << 0,
	DUMP_HEAD_PAGE = 1 << 1,
	DUMP_HEAD_EVENT = 1 << 2,
	DUMP_FTRACE_EVENTS = 1 << 3,
	DUMP_SYSTEMS = 1 << 4,
	DUMP_EVENTS = 1 << 5,
	DUMP_KALLSYMS = 1 << 6,
	DUMP_PRINTK = 1 << 7,
	DUMP_CMDLINES = 1 << 8,
	DUMP_OPTIONS = 1 << 9,
	DUMP_FLYRECORD = 1 << 10,
	DUMP_CLOCK = 1 << 11,
	DUMP_SECTIONS = 1 << 12,
	DUMP_STRINGS = 1 << 13,
};

/* what: enum dump_part. path: for the head. */
void tracedat_dump(struct tracedat *t, u32 what, const char *path, struct strbuf *out);

/* ---- what its parts share ---- */

struct tracedat_dump {
	struct strbuf *out;
	u32 what; /* enum dump_part */
	struct tracedat *t;
	struct strbuf strings; /* of a version 7 file */
};

static inline bool dump_wants(const struct tracedat_dump *d, u32 any)
{
	return d->what & any;
}

/* A text of the file after a part's title, and the end of its line. */
void dump_text(const struct tracedat_dump *d, u32 any, const char *data, size_t len);
/* The body of a section, by the number of the option that leads to it. */
void dump_section(const struct tracedat_dump *d, u16 id);

/* Version 6, from the number of CPUs on; version 7, everything after the head. */
void dump_rest_v6(struct tracedat_dump *d);
void dump_rest_v7(struct tracedat_dump *d);
