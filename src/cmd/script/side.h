/* Lines of script between the samples: forks, execs, exits, maps, switches, losses. */
#pragma once

#include "file/perfdata_read.h"
#include "model/source.h"
#include "view/text_samples.h"

struct script_side;

enum script_side_show {
	SIDE_TASKS = 1 << 0,
	SIDE_MMAPS = 1 << 1,
	SIDE_LOST = 1 << 2,
	SIDE_SWITCHES = 1 << 3,
	SIDE_NAMESPACES = 1 << 4,
	SIDE_CGROUPS = 1 << 5,
	SIDE_BPF = 1 << 6,
};

/* show: of enum script_side_show. */
int script_side_new(struct script_side **ret, u32 show) must_check;
/* The records there are now: of a file, or of the current round of a stream. when: of which only the CPUs choose among them, and borrowed */
int script_side_read(struct script_side *s, const struct source *src,
		     const struct sample_choice *when) must_check;
void script_side_free(struct script_side *s);
/* Prints what happened up to this time and was not printed yet. */
void script_side_until(struct script_side *s, struct sink *k, u64 time_ns, struct strbuf *to);
/* The record as text, with the line's end: "PERF_RECORD_COMM: sh:17/17". swap: the file is of the other byte order. */
void script_side_line(const struct perf_side *p, bool swap, struct strbuf *to);
