/*
 * `sonde annotate` in two files: the run and its text (annotate.c), and the functions one after the other, for the browser and for who wants
 * them all (annotate_look.c).
 */
#pragma once

#include "analysis/annotate.h"
#include "cmd/annotate/annotate.h"
#include "session/annotate_code.h"
#include "cmd/app/app.h"
#include "session/choose.h"
#include "session/named_run.h"
#include "session/source_text.h"
#include "view/text_annotate.h"

struct annotate_opts;

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
	struct app *app;
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

/* Keeps functions of an event or a group to be looked at instead of shown; takes funcs over. */
int annotate_look_add(struct annotating *a, const u32 *events, u32 nr_events, const char *group,
		      struct annotate_func *funcs, u32 nr_funcs) must_check;
/* The browser. 1: there is nothing to draw; -ENOTTY: nothing to draw on. */
int annotate_look(struct annotating *a) must_check;
/* annotate_each(): calls back for each. */
int annotate_look_each(struct annotating *a) must_check;
void annotate_look_done(struct annotating *a);
