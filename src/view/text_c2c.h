/* Shared cache lines as `perf c2c report --stdio` prints them: four sections, tables with columns of fixed width. */
#pragma once

#include "base/strbuf.h"
#include "model/c2c.h"
#include "model/catalog.h"
#include "model/names.h"
#include "view/text_tree.h"

/* One section after the other; what a caller does not have, it does not print. */
void text_c2c_events(const struct c2c_stats *all, struct strbuf *to);
void text_c2c_shared(const struct c2c_stats *shared, u32 nr_lines, struct strbuf *to);

struct text_c2c_opts {
	const struct catalog *catalog;
	const struct names_result *names;
	const struct frame_table *frames;
	const struct c2c_machine *machine;
	enum c2c_display display;
	const enum c2c_key *keys;
	u32 nr_keys;
	const char *grouping; /* the keys as text: "offset,iaddr" */
	unsigned node_info; /* 1: counts of each node; 2: its CPUs */
	bool full_symbols; /* not cut */
	bool no_source;
	/* The call graph of a place, without branches that weigh less than so much of it; NULL: none are shown. */
	int (*graph)(void *ctx, const struct c2c_entry *e, double min_percent, struct tree *t);
	void *graph_ctx;
	struct text_tree_style graph_style;
	double graph_percent;
	u32 all_measure; /* of all lines: what a line's share is relative to */
};
/* Events and options of the report. */
void text_c2c_details(const struct text_c2c_opts *o, struct strbuf *to);
void text_c2c_lines(const struct text_c2c_opts *o, const struct c2c_entry *lines, u32 nr,
		    struct strbuf *to);
/* Places of each line. 0 or -ENOMEM. */
int text_c2c_pareto(const struct text_c2c_opts *o, const struct c2c_entry *lines, u32 nr,
		    const struct c2c_entry *places, struct strbuf *to) must_check;

/* "HITMs of this line, of all that were asked for": 12.5. */
double text_c2c_share(u32 part, u32 all);
/* Nodes whose memory an entry is in: "0", "0-1", "N/A". */
void text_c2c_memory_nodes(u64 nodes, struct strbuf *to);
/* Where its code is in the source: "file.c:12", or as perf has it without a line. */
void text_c2c_source(const struct text_c2c_opts *o, const struct c2c_entry *e, const bool *lined,
		     struct strbuf *to);
