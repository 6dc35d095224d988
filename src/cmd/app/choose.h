/* The options that choose samples, for every command that shows some: --time, --cpu, --comms, --pid, --tid. */
#pragma once

#include "cmd/app/app.h"
#include "model/choice.h"
#include "model/source.h"

struct choose_opts {
	const char *time;
	const char *cpus;
	const char *comms;
	const char *pids;
	const char *tids;
};

#define CHOOSE_OPT_ROWS(T, f)                                                                      \
	OPT_HEADING("Which samples"),                                                              \
		OPT_STR(0, "time", T, f.time, "RANGES",                                            \
			"only between FROM,UNTIL seconds (either may be missing), or a part of "   \
			"the whole: 10%/2, 20%-30%; several with commas"),                         \
		OPT_STR('C', "cpu", T, f.cpus, "LIST", "only of these CPUs: 0,2-3"),               \
		OPT_STR('c', "comms", T, f.comms, "LIST", "only of these commands"),               \
		OPT_STR(0, "comm", T, f.comms, "LIST", "the same", .hidden = true),                \
		OPT_STR(0, "pid", T, f.pids, "LIST", "only of these processes"),                   \
		OPT_STR(0, "tid", T, f.tids, "LIST", "only of these threads")

/* Of report and script. */
struct gate_opts {
	const char *on, *off;
	bool shows;
};

#define GATE_OPT_ROWS(T, f)                                                                        \
	OPT_STR(0, "switch-on", T, f.on, "EVENT",                                                  \
		"only from this event of the recording on; with --switch-off, again and again"),   \
		OPT_STR(0, "switch-off", T, f.off, "EVENT",                                        \
			"only until this event (or, with --switch-on, the next of those)"),        \
		OPT_FLAG(0, "show-on-off-events", T, f.shows,                                      \
			 "these events too, not only what is between them")

struct word_list {
	VEC(const char *) at;
};

struct number_list {
	VEC(s32) at;
};

struct choose {
	struct sample_choice when; /* time and CPU */
	struct sample_choice who; /* command, process, thread */
	VEC(struct time_range) ranges;
	struct number_list pids, tids, cpus;
	struct word_list comms;
	struct arena arena;
};

void choose_init(struct choose *c);
void choose_done(struct choose *c);
/* What needs no recording, so that a mistake is told before one is opened. 0, or a usage status. */
int choose_check(const struct choose_opts *o, struct app *app) must_check;
/* The source is opened, and prepared if it is a stream. 0, a usage status, or a failure. */
int choose_parse(struct choose *c, const struct choose_opts *o, const struct source *src,
		 struct app *app) must_check;
/* Nothing fits: says so, and what there would have been. only: further options that choose, NULL: none were given. */
void choose_say_none(const struct choose_opts *o, const char *only, const struct source *src,
		     struct diag *d);
/* The source is prepared. 0, or a usage status. */
int choose_gate(const struct gate_opts *o, const struct source *src, struct sample_gate *ret,
		struct app *app) must_check;
/* "a,b": words, kept in the choice's memory; "file://NAME": its lines. */
int choose_words(struct choose *c, const char *text, struct word_list *to) must_check;
