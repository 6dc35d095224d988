/* A timeline as a plain SVG picture, without a script: a row per CPU, then a row per thread. */
#pragma once

#include "base/strbuf.h"
#include "model/timeline.h"

enum { SVG_TIMELINE_MAX_CPUS = 1024 };

struct svg_timeline_opts {
	const char *title;
	u32 width; /* pixels */
	bool cpus, tasks; /* rows of these */
	const bool *wanted; /* [track]: has a row */
	const bool *marked; /* [track]: its row stands out; NULL: none */
};

/* -E2BIG: too many CPUs for a picture. */
int svg_timeline(const struct timeline *t, const struct svg_timeline_opts *o,
		 struct strbuf *to) must_check;
