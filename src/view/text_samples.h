/*
 * Samples as text, one after the other in time order, in the layout of perf script: a line of fields, then the call chain, a frame
 * a line. What follows a frame's address ("name+0x1c (library)") is the same for every sample that has it, so it is rendered once.
 */
#pragma once

#include "base/strbuf.h"
#include "model/choice.h"
#include "model/names.h"
#include "model/source.h"

enum text_field {
	TEXT_COMM = 1 << 0,
	TEXT_TID = 1 << 1,
	TEXT_PID = 1 << 2,
	TEXT_TIME = 1 << 3,
	TEXT_CPU = 1 << 4,
	TEXT_EVENT = 1 << 5,
	TEXT_TRACE = 1 << 6,
	TEXT_IP = 1 << 7,
	TEXT_SYM = 1 << 8,
	TEXT_DSO = 1 << 9,
	TEXT_ADDR = 1 << 10,
	TEXT_SYMOFF = 1 << 11,
	TEXT_PERIOD = 1 << 12,
	TEXT_WEIGHT = 1 << 13,
	TEXT_MISC = 1 << 14, /* the level of the CPU as a letter */
	TEXT_DATA_SRC = 1 << 15,
	TEXT_PHYS_ADDR = 1 << 16,
	TEXT_BRSTACK = 1 << 17, /* branches, by address */
	TEXT_BRSTACKSYM = 1 << 18, /* by function */
	TEXT_BRSTACKOFF = 1 << 19, /* by place in the file */
	TEXT_SRCLINE = 1 << 20,
	TEXT_INS_LAT = 1 << 21,
	TEXT_RETIRE_LAT = 1 << 22,
	TEXT_IREGS = 1 << 23, /* registers where it was interrupted */
	TEXT_UREGS = 1 << 24, /* and of user code */
	TEXT_DATA_PAGE = 1 << 25,
	TEXT_CODE_PAGE = 1 << 26,
	TEXT_FLAGS = 1 << 27, /* of AUX traces: a column that stays empty */
	TEXT_TOD = 1 << 28, /* time of day */
	TEXT_SYNTH = 1 << 29, /* of AUX traces: nothing */
};

enum {
	TEXT_BRANCHES = TEXT_BRSTACK | TEXT_BRSTACKSYM | TEXT_BRSTACKOFF,
	/* What needs NEED_EXTRA. */
	TEXT_EXTRA = TEXT_INS_LAT | TEXT_RETIRE_LAT | TEXT_IREGS | TEXT_UREGS | TEXT_DATA_PAGE |
		     TEXT_CODE_PAGE,
};

/* What the text before has left: to go on with another source (a stream comes in parts). Zero: the beginning. */
struct text_samples_so_far {
	u64 first_time; /* of what is shown */
	u64 last_time;
	bool started;
	bool any; /* JSON: something was written */
	struct sample_gate gate; /* samples pass that are wanted otherwise; needs one worker */
	u32 data_src_width; /* of the longest so far: a column that grows */
};

/* Where lines of samples go, by event; without them all go to `out`, where everything else goes in any case. */
struct text_samples_outs {
	struct strbuf *at; /* with drains */
	u64 *counts; /* [nr]: samples written to each */
	const u32 *of; /* [event] -> at */
	u32 nr;
};

struct text_samples_opts {
	struct text_samples_so_far *so_far;
	const u32 *fields; /* [event] */
	const bool *chains; /* [event]: samples carry call chains */
	bool nanoseconds;
	bool reltime; /* needs one worker, as everything below that looks back, and TEXT_DATA_SRC */
	bool deltatime;
	struct sample_choice when, who; /* samples that both want */
	/* Called before each sample that is fed, shown or not: what happened until then. May be NULL; needs one worker. */
	void (*before)(void *ctx, struct sink *k, const struct sample *s, struct strbuf *to);
	void *before_ctx;
	u32 max_stack; /* 0: all */
	const bool *shown; /* [frame]: samples whose own place is one of these; NULL: all */
	const bool *ends; /* [frame]: the last one of a chain that is shown; NULL: none */
	const struct text_samples_outs *outs; /* not with JSON */
	bool json; /* an object for each sample, between the brackets of a list */
	bool full_path; /* of source files, not only their names */
	u64 wall_ref_ns,
		ref_ns; /* TEXT_TOD: CLOCK_REALTIME at the moment that samples' clock showed ref_ns */
	const char *const *reg_names; /* [perf's number]; NULL: numbers */
	u32 nr_reg_names;
	const struct catalog *catalog;
	const struct frame_table *frames;
	const struct names_result *names;
};

/* Whether addresses of such an event's samples are named with TEXT_ADDR (NEED_DATA): page faults and traced branches. */
bool text_names_addr(const struct event_info *e);
/* out must outlive the sink and may have a drain. The options are copied, what they point to is borrowed. */
int text_samples_new(const struct text_samples_opts *o, struct strbuf *out,
		     struct sink **ret) must_check;
/* What stands before an event's name, of something that is not a sample: task, CPU and time. comm: its name. */
void text_samples_head(struct sink *k, const struct sample *s, const char *comm, struct strbuf *to);
void text_samples_free(struct sink *k);
