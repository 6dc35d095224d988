/*
 * What `sonde report` does with a recording: which columns and order its options mean (report_keys.c), the run (report_run.c), the tables as
 * text, CSV or JSON (report_print.c, report_blocks.c), and the same on a terminal (report_browse.c).
 */
#pragma once

#include "analysis/profile.h"
#include "base/json.h"
#include "base/opts.h"
#include "session/choose.h"
#include "session/machine_env.h"
#include "session/report_keys.h"
#include "session/symbols.h"
#include "session/tell.h"
#include "view/text_table.h"

enum { EVENTS_MAX = 64 };

/* What -g asks for. */
struct report_graph_opts {
	bool off;
	bool given;
	bool order_given;
	bool percent_given;
	bool number_seen; /* in this -g: the first one is the percentage */
	bool by_address;
	bool by_line;
	enum text_tree_form form;
	enum text_tree_value value;
	enum profile_order order;
	double min_percent;
	u32 limit;
};

/* What the rows fill. */
struct report_opts {
	const char *input;
	struct opt_list inputs; /* -i, all of them */
	struct opt_list sort;
	const char *usual_sort; /* keys where none are asked for; NULL: comm,dso,symbol */
	const char *fields;
	struct report_graph_opts graph;
	bool stdio;
	bool tui;
	bool by_thread; /* of the browser: rows by thread instead of command */
	bool children;
	bool no_children;
	bool show_count;
	bool show_period;
	bool by_level;
	bool header;
	bool header_only;
	bool header_full;
	bool quiet;
	bool full_path;
	bool nanoseconds;
	bool stats;
	bool dump;
	bool tasks;
	bool mmaps;
	bool csv;
	bool inverted;
	bool hide_unresolved;
	bool hide_kernel, hide_user;
	u64 min_count; /* samples that a row needs more than; 0: any will do */
	u64 max_rows; /* of each table; 0: all */
	bool exclude_other;
	bool hierarchy;
	bool branches; /* usual, where there are some */
	bool mem_mode;
	bool group;
	bool force;
	bool raw_trace;
	const char *separator;
	const char *percent_limit;
	const char *percentage;
	const char *widths;
	const char *dsos;
	const char *symbols_only;
	const char *symbol_part;
	const char *parent;
	const char *quantum;
	const char *ignored;
	const char *ignore_callees;
	const char *socket;
	const char *pretty;
	u64 group_sort;
	bool threads;
	bool total_cycles;
	bool branch_history;
	struct gate_opts gate;
	u64 ignored_number;
	u64 max_stack;
	u64 workers;
	struct choose_opts choose;
	struct symbol_opts symbols;
};

/* A column in which every row says the same is a line above the table. */
struct elided {
	const char *what, *word;
};

struct report {
	struct tell tell;
	const struct report_labels *labels;
	struct symbols *names; /* where they come from */
	const struct report_opts *opts;
	/* For the browser: code of a function by an event; NULL: there is none. As annotate_browse(). */
	int (*annotate)(void *ctx, const struct name_func *f, u32 event, struct strbuf *why);
	void *ctx;
	bool (*may_draw)(void *ctx); /* on the terminal there is */
	struct source *src;
	struct profile *profile;
	struct profile_config cfg;
	struct machine_env env;
	bool has_env;
	struct choose choose;
	struct word_list dsos, symbols;
	struct sample_gate gate;
	struct number_list socket_cpus;
	VEC(struct elided) elided;
	const char *sort; /* all keys that were asked for, as one text */
	struct json *json;
	struct pages *pages; /* of the browser, while they are found */
	bool toggle_threads; /* the browser was left to be opened again with rows by thread, or without */
	double min_percent;
	bool is_empty; /* no sample was counted: whoever chose them can say why */
	bool bad_keys; /* what failed are the words of sort and fields */
	bool own_first; /* the first key is the function: a graph need not repeat it */
};

/* An event or the events of a group, and what is to be shown of them. */
struct shown {
	u32 events[EVENTS_MAX];
	u32 nr;
	const char *group; /* its name; NULL: none, or none was given */
};

/* Head, dump, statistics or tasks of the recording, which was opened: what needs no samples. */
int report_side(struct report *r) must_check;
/* The samples of a prepared source, with choose, gate, dsos and symbols filled in. 0 or negative errno, with a diag. */
int report_samples(struct report *r) must_check;
/*
 * The same in steps, for who runs the source itself (session/top.h): what the options mean for a prepared source, in cfg; and what its keys
 * ask of names, enum names_want. Then r->profile is a folded one of the caller's, and the functions below show it.
 */
int report_settle(struct report *r) must_check;
unsigned report_wants(const struct report *r);
void report_done(struct report *r);

/* Keys of memory accesses, when none are asked for. */
extern const char report_mem_keys[];

/* Calls back for each event, or each group of them, that has samples. */
int report_each(struct report *r, int (*fn)(struct report *r, const struct shown *e)) must_check;
/* "Samples: 240  of event 'cycles', event count (approx.): 1234". */
void report_title(const struct report *r, const struct shown *e, struct strbuf *to);
/* Into an initialised table. */
int report_table(struct report *r, const struct shown *e, struct table *t) must_check;
/* Where, when and how it was recorded, as asked for. */
int report_head(struct report *r) must_check;
int report_text(struct report *r) must_check;
int report_json(struct report *r) must_check;
/* Only the tables; and only the keys "lost" and "events" of an object that is open. */
int report_text_tables(struct report *r) must_check;
int report_json_tables(struct report *r, struct json *j) must_check;
/* Basic blocks by cycles, of a prepared recording with branches. */
int report_blocks(struct report *r) must_check;

/* On a terminal, until the person leaves; -ENOTTY: there is none, or nothing to show. */
int report_browse(struct report *r) must_check;
