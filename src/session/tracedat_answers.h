/* Questions about a trace.dat that its events are not needed for: what `ftrace report -e`, `--stat`, `--events` and the like answer. */
#pragma once

#include "model/source.h"
#include "session/tell.h"

enum tracedat_question {
	ASK_ENDIAN = 1 << 0,
	ASK_FUNCTIONS = 1 << 1,
	ASK_PRINTK = 1 << 2,
	ASK_EVENT_NAMES = 1 << 3,
	ASK_FORMATS = 1 << 4,
	ASK_CHECK = 1 << 5,
	ASK_STAT = 1 << 6,
	ASK_UNAME = 1 << 7,
	ASK_VERSION = 1 << 8,
	ASK_CPUS = 1 << 9,
	ASK_FIRST = 1 << 10,
	ASK_LAST = 1 << 11,
	ASK_PAGES = 1 << 12,
};

struct tracedat_asked {
	u32 questions;
	const char *path; /* for messages */
	u32 file;
	const char *events; /* ASK_FORMATS: only those that fit "SYSTEM:EVENT" or "NAME", regular expressions; NULL: all */
	bool nanoseconds;
};

/* 0, negative errno; with ASK_CHECK -EBADMSG when a format cannot be read. */
int tracedat_answer(const struct tell *to, struct source *src, const struct tracedat_asked *a);
