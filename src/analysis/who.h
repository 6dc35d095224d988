/*
 * Who is causing it: two readings of all tasks become a table, with rates of the time between them. Columns are data
 * (who_columns.c): top's fields by top's names, and more. Rows can be sorted, filtered, arranged as a tree, or added up by any column that is a text
 * (user, cgroup, unit).
 */
#pragma once

#include "base/diag.h"
#include "base/vec.h"
#include "model/table.h"
#include "model/task.h"

/* What readings do not say. */
struct who_env {
	u32 ticks_per_second, page_bytes, nr_cpus;
	const char *(*user)(void *ctx, u32 uid);
	const char *(*group)(void *ctx, u32 gid);
	s32 (*node)(void *ctx, s32 cpu); /* NUMA; -1: not known */
	void *ctx;
};

struct who;
struct who_row;

struct who_column {
	const char *name; /* "nMaj": top's */
	const char *key; /* "major_faults": JSON and CSV */
	const char *title; /* "Major Page Faults" */
	enum cell_type type;
	u8 width, digits;
	bool left; /* text, other than text usually is */
	bool adds; /* makes sense as a sum over several tasks */
	bool ascending; /* how it is sorted first */
	u32 parts; /* of a task that it needs */
	void (*cell)(const struct who *w, const struct who_row *r, union cell *to);
	/* Instead of cell(): */
	u32 offset; /* of a member of struct task */
	u8 member; /* enum who_member */
	u8 kind; /* enum who_kind */
	u32 mul, div;
};

extern const struct who_column who_columns[];
extern const u32 who_nr_columns;

/* By top's name, else in any case where that is unambiguous, else by key; -ENOENT. */
int who_column_find(const char *name, size_t len, u16 *ret) must_check;

struct who_filter {
	u16 column;
	char op; /* '=' contains (texts) or equals, '<', '>' */
	bool negated;
	char value[64];
};

/* "[!]COLUMN=VALUE", "%CPU>5": -EINVAL with a diag. */
int who_filter_parse(const char *text, struct who_filter *ret, struct diag *d) must_check;

enum { WHO_NO_COLUMN = 0xffff };

struct who_opts {
	struct {
		VEC(u16) list;
	} columns; /* shown; to be set by who_opts_columns() */
	struct {
		VEC(struct who_filter) list;
	} filters; /* all must hold */
	u16 sort;
	u16 by; /* add up by this one; WHO_NO_COLUMN: a row a task */
	bool reversed;
	bool tree;
	bool no_idle; /* only tasks that have used CPU time */
	bool command_lines;
	bool threads;
	bool one_user; /* .uid, effective */
	u32 uid;
	u32 max_rows; /* 0: all */
	u8 memory; /* enum memory_unit: how columns in KiB are written */
};

void who_opts_init(struct who_opts *o);
void who_opts_done(struct who_opts *o);
/* "PID,USER" replaces the columns, "+P,-NI" adds and removes, NULL: top's first ones. -EINVAL with a diag, then nothing changed. */
int who_opts_columns(struct who_opts *o, const char *text, struct diag *d) must_check;
/* What has to be read for columns, sort and filters. */
unsigned who_opts_parts(const struct who_opts *o);

struct who_readings {
	const struct task_list *before, *now;
	const struct system_reading *system_before, *system_now;
	const struct task *ended; /* since the reading before; NULL: nobody knows */
	size_t nr_ended;
};

struct who *who_new(const struct who_env *env);
void who_free(struct who *w);
/* Into an initialised table; texts are borrowed from the readings. 0 or -ENOMEM. */
int who_table(struct who *w, const struct who_readings *r, const struct who_opts *o,
	      struct table *to) must_check;
/* Of the last who_table(). */
const struct who_summary *who_summary(const struct who *w);
/* Whose row it is; NULL: of several tasks. Valid as long as the reading. */
const struct task *who_row_task(const struct who *w, size_t row);
