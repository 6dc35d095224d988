/* Recordings compared with the first of them: `sonde diff`. diff_print.c shows what diff.c has found. */
#pragma once

#include "analysis/profile.h"
#include "base/json.h"
#include "session/choose.h"
#include "session/named_run.h"
#include "session/machine_env.h"
#include "session/symbols.h"
#include "session/tell.h"

enum diff_compute { DIFF_DELTA, DIFF_DELTA_ABS, DIFF_RATIO, DIFF_WDIFF };

enum {
	DIFF_FILES_MAX = 64,
	DIFF_KEY_CELL = 2, /* of a table of the profile: the first one after its measures */
};

struct diff_opts {
	const char *compute;
	const char *sort;
	u64 order;
	bool order_given;
	bool baseline_only;
	bool period;
	bool formula;
	bool quiet;
	bool force;
	bool modules;
	const char *separator;
	const char *percentage;
	const char *dsos;
	const char *only;
	struct choose_opts choose;
	struct symbol_opts symbols;
};

/* One recording, summed up. What the tables hold is borrowed from all of it. */
struct diff_input {
	const char *path;
	struct source *src;
	struct profile *profile;
	struct named_run run;
	struct machine_env env;
	struct choose choose;
	struct word_list dsos, symbols;
	struct table table; /* of the event being compared */
	u64 total;
};

struct diff_cell {
	u64 period;
	bool there;
};

struct diff_row {
	const struct table *table; /* where its keys stand */
	size_t index;
	struct diff_cell *of; /* [file] */
};

struct diff {
	struct tell tell;
	struct symbols *names; /* where they come from */
	/* What the options choose of a prepared source; 0 or negative errno with a diag. */
	int (*choose)(struct choose *c, const struct choose_opts *o, const struct source *src,
		      struct diag *d);
	const struct diff_opts *opts;
	enum diff_compute compute;
	s64 w1, w2;
	u32 order;
	struct profile_config cfg;
	struct diff_input inputs[DIFF_FILES_MAX];
	u32 nr;
	bool any; /* something was printed */
	VEC(struct diff_row) rows;
	struct strtab keys; /* of the rows, in the same order */
	struct arena arena;
	struct arena words; /* of options */
	u64 base_total;
};

/* Compares inputs[0..nr), by their paths, and prints. 0 or negative errno with a diag. */
int diff_files(struct diff *d) must_check;

double diff_percent(u64 period, u64 total);
/* What a row became in this file, by d->compute. */
double diff_value(const struct diff *d, const struct diff_row *r, u32 file);

/* The rows of one event. */
int diff_print_text(struct diff *d, const char *event) must_check;
void diff_print_json(const struct diff *d, const char *event, struct json *j);
