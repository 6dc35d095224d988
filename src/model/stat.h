/*
 * Counting: what was counted, where, and the rows that come of it. stream/counters reads counts, analysis/stat makes rows,
 * the views print them.
 */
#pragma once

#include "base/vec.h"

/* What the kernel tells about one counter: the count, how long it was wanted, how long it had the hardware. */
struct count {
	u64 value;
	u64 enabled_ns;
	u64 running_ns;
	bool opened; /* there is such a counter in this place */
};

/* How counts are added up. */
enum stat_by {
	STAT_BY_ALL,
	STAT_BY_CPU,
	STAT_BY_CORE,
	STAT_BY_DIE,
	STAT_BY_SOCKET,
	STAT_BY_NODE,
	STAT_BY_THREAD,
};

/* A row's place. Fields that the grouping does not need are 0. */
struct stat_key {
	s32 cpu;
	s32 socket;
	s32 die;
	s32 core;
	s32 node;
	s32 tid;
	const char *comm;
};

struct stat_event {
	const char *name; /* as it is printed */
	const char *unit; /* "msec", "ns", "Joules"; "" for plain counts */
	const char *cgroup; /* or NULL */
	double scale; /* a count times this is the value that is shown */
	bool is_clock; /* task-clock, cpu-clock: what rates are taken of */
	bool is_tool; /* measured by us, in one place only */
	bool snapshot; /* a state, not a count: intervals show it as it is */
	bool per_pkg; /* one CPU of a package speaks for all */
	bool supported; /* opened at least once */
	bool no_rate; /* has a ratio of its own */
	u32 merge; /* events with the same number, not 0, are one row */
};

enum stat_state { STAT_COUNTED, STAT_NOT_COUNTED, STAT_NOT_SUPPORTED };
enum stat_colour { STAT_PLAIN, STAT_YELLOW, STAT_MAGENTA, STAT_RED };

/* What follows the '#'. */
struct stat_ratio {
	const char *unit; /* "insn per cycle" */
	const char *format; /* of the number: one %f */
	double value;
	enum stat_colour colour;
	bool is_rate; /* "K/sec": not among --metric-only's columns */
	bool shown; /* has a value */
	bool new_line; /* below the row */
};

struct stat_row {
	u32 event;
	u32 key;
	u32 nr_places; /* CPUs (or threads) that were added up */
	enum stat_state state;
	double value; /* scaled to the whole time, in units; the mean of several runs */
	double noise; /* percent of the mean that it may be off (standard error); 0 with one run */
	double enabled_ns; /* means, too */
	double running_ns;
	u32 first_ratio, nr_ratios;
};

struct stat_rows {
	VEC(struct stat_row) rows; /* in the order they are printed */
	VEC(struct stat_ratio) ratios;
};

/* What a view needs to know beside the rows. */
struct stat_head {
	enum stat_by by;
	const struct stat_event *events;
	size_t nr_events;
	const struct stat_key *keys;
	size_t nr_keys;
	u32 nr_runs;
	bool interval; /* rows begin with a time */
	bool summary; /* CSV rows begin with "summary" */
	bool ratios_only; /* --metric-only */
	u64 time_ns; /* of the interval */
};
