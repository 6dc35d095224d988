/*
 * An annotation (model/annotation.h) as text in the layout of perf annotate --stdio, or as JSON.
 *
 *	 Percent |	Source code & Disassembly of loop for cycles (1 samples, percent: local period)
 *	------------------------------------------------------------------------------------
 *	         : 4    	x ^= x << 5;
 *	  100.00 :   15b9:   xor    %edx,%eax
 *
 * or in that of --stdio2 (and perf's browser), where addresses count from the function's start and only places that are jumped to have one:
 *
 *	            x ^= x << 5;
 *	 20.83  5d:   xor    %edx,%eax
 *	            ↓ je     88
 */
#pragma once

#include "base/json.h"
#include "base/strbuf.h"
#include "model/annotation.h"

enum annotate_percent {
	ANNOTATE_LOCAL_PERIOD, /* of what fell on the function */
	ANNOTATE_GLOBAL_PERIOD, /* of the whole recording */
	ANNOTATE_LOCAL_HITS, /* the same with samples counted, not weighed */
	ANNOTATE_GLOBAL_HITS,
};

struct text_annotate_opts {
	enum annotate_percent percent;
	bool counts; /* numbers of samples instead of percentages */
	bool periods; /* periods instead */
	bool raw; /* bytes of instructions */
	bool jumps; /* draw where jumps go */
	bool relative; /* the layout of --stdio2 */
	bool colour;
	bool ascii; /* arrows of ASCII: the locale has no UTF-8 */
	bool full_paths;
	bool lines_first; /* -l: the heaviest lines before the code, and after instructions with weight */
	bool source;
	double min_percent; /* of lines in the list */
	/* The text of a source line, without its end; NULL: not there. Valid until the next call. May be NULL. */
	const char *(*source_line)(void *ctx, const char *file, u32 line, u32 *len);
	void *ctx;
};

/* An instruction's share of the function or the recording, as the options have it. */
double text_annotate_percent(const struct text_annotate_opts *o, const struct annotation_event *e,
			     const struct annotation_weight *w);
void text_annotate(const struct annotation *a, const struct text_annotate_opts *o,
		   struct strbuf *to);
void json_annotate(const struct annotation *a, const struct text_annotate_opts *o, struct json *j);
