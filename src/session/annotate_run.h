/*
 * `sonde annotate` in two files: the run and its text (annotate_run.c), and the functions one after the other, for the browser and for who
 * wants them all (annotate_look.c).
 */
#pragma once

#include "analysis/annotate.h"
#include "session/annotate_code.h"
#include "session/choose.h"
#include "session/named_run.h"
#include "session/source_text.h"
#include "session/symbols.h"
#include "session/tell.h"
#include "view/text_annotate.h"

struct annotate_opts {
	const char *input;
	const char *symbol;
	const char *dsos;
	const char *syntax;
	const char *percent_type;
	const char *percent_limit;
	const char *prefix;
	u64 prefix_strip;
	bool print_line;
	bool full_paths;
	bool counts;
	bool periods;
	bool raw;
	bool source;
	bool group;
	bool stdio;
	bool stdio2;
	bool jumps;
	bool skip_missing;
	bool quiet;
	bool force;
	bool dump;
	bool tui;
	const char *stdio_colour;
	const char *objdump;
	struct choose_opts choose;
	u64 workers;
	struct symbol_opts symbols;
};

/* What a run has counted that was not one of ours: its source, hits, and the frames they are on. */
struct annotate_given {
	struct source *src;
	struct annotate *hits;
	const struct frame_table *frames;
	struct names *names; /* whose functions keep their numbers when frames are added; NULL: ours */
	/* Of a run that goes on; NULL: it has ended. As in struct tui_annotate; 1: hits and frames are other ones now. */
	int (*wait_ms)(void *ctx);
	int (*tick)(void *ctx);
	void *ctx;
};

/* Functions of one image without code, for one reason. */
struct missing {
	const struct image_info *image;
	int err;
	u32 nr;
	char *names; /* of the first */
};

/* What the browser turns over: an event or a group, and its functions, heaviest first. */
struct look_page {
	u32 *events;
	u32 nr_events;
	const char *group;
	struct annotate_func *funcs;
	u32 nr_funcs;
};

struct look {
	VEC(struct look_page) pages;
	struct arena arena; /* of the function that is shown */
	struct annotation an;
	bool open;
	const char *symbol; /* the function to begin with; NULL: the heaviest */
	bool nested; /* inside another screen */
	/* Instead of a browser: annotate_each(). */
	int (*each)(void *ctx, const struct annotation *a, const struct text_annotate_opts *style);
	void *ctx;
	u32 max_funcs;
};

struct annotating {
	struct tell tell;
	struct symbols *names; /* where they come from */
	const struct annotate_opts *opts;
	struct source *src;
	const struct annotate_given *given; /* what was counted already; NULL: the source is run */
	struct annotate *hits;
	struct named_run run;
	struct annotate_code code;
	struct text_annotate_opts style;
	struct source_text sources;
	struct json json;
	struct strbuf *out;
	struct look *look; /* NULL: text */
	const struct name_func
		*only; /* one function of another run of the same recording; NULL: by the options */
	u32 only_event;
	struct choose choose;
	double min_percent;
	u32 shown, nr_missing;
	bool *counted; /* [func]: among the missing; several events may want the same */
	VEC(struct missing) missing;
};

/*
 * One function with one event, or with the events of a group. The annotation's memory is the arena's; its code is open until
 * annotate_code_close(). Negative errno as annotate_code_open().
 */
int annotate_make(struct annotating *a, const struct annotate_func *func, const u32 *events,
		  u32 nr_events, const char *group, struct arena *arena,
		  struct annotation *an) must_check;
const char *annotate_missing_reason(int err);
/* Names for what is given, as it is now. */
int annotate_name_given(struct annotating *a) must_check;

/* Everything of an open recording, with style and code.syntax filled in. Takes the source over. */
int annotate_opened(struct annotating *a) must_check;

/* Keeps functions of an event or a group to be looked at instead of shown; takes funcs over. */
int annotate_look_add(struct annotating *a, const u32 *events, u32 nr_events, const char *group,
		      struct annotate_func *funcs, u32 nr_funcs) must_check;
/* The browser. 1: there is nothing to draw; -ENOTTY: nothing to draw on. */
int annotate_look(struct annotating *a) must_check;
/* annotate_each(): calls back for each. */
int annotate_look_each(struct annotating *a) must_check;
void annotate_look_done(struct annotating *a);

/* What annotate_each() is to look at. */
struct annotate_each {
	const char *input; /* a recording; not looked at with: */
	const struct annotate_given *given; /* NULL: the recording */
	struct symbols *names;
	const struct symbol_opts *symbols;
	struct opener *opener; /* of source files */
	u32 max_funcs; /* that have code */
	double min_percent; /* of the event's weight */
};
/*
 * Calls back for the functions of the heaviest event, heaviest first. style: the source lines. Ends with the first error that is returned. Says
 * nothing.
 */
int annotate_each(const struct annotate_each *e,
		  int (*fn)(void *ctx, const struct annotation *a,
			    const struct text_annotate_opts *style),
		  void *ctx) must_check;
