/*
 * Counts to rows. A run (or an interval) gives one count per event and slot, a slot being a CPU, a thread, or both; slots
 * are added up by key (all, CPU, core, ..., thread). Multiplexed counters are scaled slot by slot, to the time in which
 * they were wanted; several runs give a mean and its standard error.
 *
 *	stat_open(&st, &spec)
 *	stat_add(&st, counts)         once a run; counts[event * nr_slots + slot]
 *	stat_finish(&st, elapsed_ns, &rows)
 */
#pragma once

#include "model/stat.h"

enum { STAT_FORMAT_RATE_LEN = 8 };

/* A name in a ratio's formula and the event that is meant by it. */
struct stat_input {
	const char *name;
	u32 event;
};

/* A formula; prog is evaluated by the spec's function. */
struct stat_formula {
	const char *unit;
	const char *format;
	double red, magenta, yellow; /* limits; all 0: no colours */
	bool new_line;
	bool is_rate; /* shown beside its event, but not by --metric-only */
	u32 beside; /* event */
	const void *prog;
	const struct stat_input *inputs;
	u32 nr_inputs;
};

struct stat_spec {
	enum stat_by by;
	const struct stat_event *events;
	u32 nr_events;
	u32 nr_slots;
	const u32 *slot_key; /* nr_slots */
	u32 nr_keys;
	const u32 *slot_package; /* for per_pkg events: nr_slots package numbers below nr_slots, or NULL */
	const struct stat_formula *formulae; /* those beside one event follow each other */
	u32 nr_formulae;
	bool no_merge;
	bool raw; /* counts as they are, though the counter had the hardware only for a part of the time */
	bool hide_zero; /* by thread: those that counted nothing are not shown */
	bool with_ratios;
	/* 0; negative: nothing to show. */
	int (*eval)(const void *prog, int (*get)(void *ctx, const char *name, double *ret),
		    void *ctx, double *ret);
	/* Events per second as number and unit. */
	double (*rate)(double per_second, char unit[STAT_FORMAT_RATE_LEN]);
};

/* Mean and spread of what a row had in each run (Welford). */
struct stat_mean {
	u64 n;
	double mean;
	double m2;
};
void stat_mean_add(struct stat_mean *m, double v);
/* Standard error of the mean. */
double stat_mean_error(const struct stat_mean *m);
/* The same in percent of the mean; 0 where the mean is 0. */
double stat_mean_noise(const struct stat_mean *m);

struct stat_cell {
	struct stat_mean value;
	double enabled_ns, running_ns; /* sums over runs */
	u32 nr_places;
	bool counted; /* at least one slot ran in some run */
};

struct stat_acc {
	const struct stat_spec *spec;
	struct stat_cell *cells; /* event * nr_keys + key */
	struct stat_sum *sums;
	u32 *row_of; /* of each event: the one whose row it is part of */
	u32 nr_runs;
	char (*rate_units)[STAT_FORMAT_RATE_LEN]; /* of the rows' rates */
};

int stat_open(struct stat_acc *st, const struct stat_spec *spec) must_check;
void stat_close(struct stat_acc *st);
/* Forgets what was added. */
void stat_reset(struct stat_acc *st);
void stat_add(struct stat_acc *st, const struct count *counts);
/* Appends the rows to what `to` holds; ratios borrow from st and spec, until the next stat_finish(). */
int stat_finish(struct stat_acc *st, double elapsed_ns, struct stat_rows *to) must_check;
void stat_rows_done(struct stat_rows *rows);

/* now - before, into out (which may be `before`); a counter that went back gives 0. Snapshots are taken as they are. */
void stat_delta(const struct stat_spec *spec, const struct count *now, const struct count *before,
		struct count *out);
/* The count for the whole enabled time, cut to a whole number as perf does; 0 when it never ran. */
double stat_scale(const struct count *c);
