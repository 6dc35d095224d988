/* Choosing samples, for every command that shows some: by time, CPU, command, process and thread, or between two events. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "model/choice.h"
#include "model/source.h"

struct choose_opts {
	const char *time;
	const char *cpus;
	const char *comms;
	const char *pids;
	const char *tids;
	bool no_host, no_guest; /* of virtual machines and their host */
	bool sides_given; /* both were chosen by the command */
};

/* Of report and script. */
struct gate_opts {
	const char *on, *off;
	bool shows;
};

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
/* Whether "12.5,13" or "10%/2", and "1,4-6" (ranges: only where they may be), can be read. */
bool choose_times_valid(const char *text);
bool choose_numbers_valid(const char *text, bool ranges);
/* Which option asks for what the samples do not say, so that all of them would be gone; the source is opened. */
enum choose_unsaid {
	CHOOSE_ALL_SAID,
	CHOOSE_CPU_UNSAID,
	CHOOSE_TIME_UNSAID,
};
enum choose_unsaid choose_unsaid(const struct choose_opts *o, const struct source *src);
/* What was valid becomes a choice. The source is opened, and prepared if it is a stream. 0 or negative errno. */
int choose_read(struct choose *c, const struct choose_opts *o, const struct source *src) must_check;
/* First and last sample: as the recorder noted them, else by looking. */
int choose_whole(const struct source *src, struct time_range *ret) must_check;
/* The source is prepared. 0, or -ENOENT: there is no such event, *missing. */
int choose_gate_events(const struct gate_opts *o, const struct source *src, struct sample_gate *ret,
		       const char **missing) must_check;
/* "a,b": words, kept in the choice's memory; "file://NAME": its lines. */
int choose_words(struct choose *c, const char *text, struct word_list *to) must_check;
