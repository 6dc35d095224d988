/* Lines of script between the samples: forks, execs, exits, maps, switches, losses. */
#pragma once

#include "file/perfdata_read.h"
#include "model/source.h"
#include "view/text_samples.h"

struct side_lines;

enum side_lines_show {
	SIDE_TASKS = 1 << 0,
	SIDE_MMAPS = 1 << 1,
	SIDE_LOST = 1 << 2,
	SIDE_SWITCHES = 1 << 3,
	SIDE_NAMESPACES = 1 << 4,
	SIDE_CGROUPS = 1 << 5,
	SIDE_BPF = 1 << 6,
};

/* show: of enum side_lines_show. */
int side_lines_new(struct side_lines **ret, u32 show) must_check;
/* The records there are now: of a file, or of the current round of a stream. when: of which only the CPUs choose among them, and borrowed */
int side_lines_read(struct side_lines *s, const struct source *src,
		    const struct sample_choice *when) must_check;
void side_lines_free(struct side_lines *s);
/* Prints what happened up to this time and was not printed yet. */
void side_lines_until(struct side_lines *s, struct sink *k, u64 time_ns, struct strbuf *to);
/* The record as text, with the line's end: "PERF_RECORD_COMM: sh:17/17". swap: the file is of the other byte order. */
void side_lines_line(const struct perf_side *p, bool swap, struct strbuf *to);
