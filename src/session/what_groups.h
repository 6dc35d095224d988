/*
 * The columns of `sonde what`, as a table: groups of columns, each with the file and the fields it is computed from, its unit, and a sentence
 * about it. Options, --list, the documentation and what is computed all follow from it (what_groups.c).
 */
#pragma once

#include "base/vec.h"
#include "kern/sysroot.h"
#include "model/series.h"

enum what_how {
	WHAT_RATE, /* growth of the fields per second */
	WHAT_GAUGE, /* the fields as they are */
	WHAT_SHARE, /* growth of the fields in percent of the growth of others */
	WHAT_RATIO, /* growth of the fields divided by the growth of others; 0 where these have not grown */
};

/* What the states of several rows are together. */
enum what_total { WHAT_SUM, WHAT_MEAN, WHAT_MOST };

struct what_unit {
	const char *name; /* "bytes/s" */
	const char *total; /* what is added up, as OpenMetrics spells it: "bytes"; NULL: no counter */
	struct series_look look;
};

extern const struct what_unit what_percent, what_bytes_rate, what_bytes, what_rate, what_count,
	what_load, what_ms, what_plain_rate, what_few;

/* Fields are joined by + and -; "ROW/FIELD" is one of another row. "pgalloc_*" are all that fit. */
struct what_column {
	const char *name; /* "usr" */
	const char *key; /* "user" */
	const struct what_unit *unit;
	enum what_how how;
	const char *of;
	const char *per; /* SHARE, RATIO */
	double scale; /* 0: 1 */
	const char *about;
	const char *files; /* other files than the group's; NULL: the same */
	u8 width; /* 0: the unit's */
	enum what_total total; /* of a GAUGE */
};

/* A row that has files of its own. */
struct what_row {
	char *name; /* "system.slice" */
	char *path; /* what stands for it in the group's paths; NULL: its name */
};

struct what_rows {
	VEC(struct what_row) list;
	bool cut; /* there are more */
};

struct what_group {
	const char *name; /* "disk" */
	const char *title; /* "dsk/total" */
	const char *files; /* "proc/net/tcp proc/net/tcp6": what is in both is added up */
	const char *about;
	const struct what_column *columns; /* ends with a NULL name */

	/* Where a file has a row for each device. */
	const char *row_title; /* "dsk/%s"; NULL: there are none */
	const char *row_prefix; /* "cpu": of the names of rows, not shown */
	const char *total_row; /* the row that is the total; NULL: the sum of those below */
	bool (*in_total)(const char *row); /* NULL: all */
	bool (*in_all)(const char *row,
		       bool idle); /* which are shown when all are asked for; idle: all 0 */
	bool only_rows; /* there is no total */
	bool of_preset; /* shown by a preset only */

	/* Where each row has files of its own, `files` have a %s for it. Fills in which there are. 0 or -ENOMEM. */
	int (*list)(const struct sysroot *root, struct what_rows *to);
	const char *none; /* said when there are none */
	/* Another group instead, where this file is missing; both NULL: none. */
	const char *instead, *unless;
};

extern const struct what_group what_groups[]; /* ends with a NULL name */
const struct what_group *what_group_find(const char *name); /* NULL: unknown */

/* ---- what_rows.c: lists of rows ---- */

enum { WHAT_ROWS_MAX = 128 };
void what_rows_done(struct what_rows *r);
int what_rows_cgroups(const struct sysroot *root, struct what_rows *to) must_check;
int what_rows_cgroups_v1(const struct sysroot *root, struct what_rows *to) must_check;
int what_rows_sensors(const struct sysroot *root, struct what_rows *to) must_check;
int what_rows_cpus(const struct sysroot *root, struct what_rows *to) must_check;
int what_rows_disks(const struct sysroot *root, struct what_rows *to) must_check;
/* No part of a disk, and not made of several. */
bool what_is_whole_disk(const char *name);

/* What other tools show. */
struct what_preset {
	const char *name; /* "vmstat" */
	const char *groups; /* names, in order */
	const char *about;
	bool first_since_boot; /* the first line; else it is skipped */
	bool table; /* one row for each device, else one line for all */
	bool stamped; /* lines begin with the time of day */
	bool averages; /* they end with averages */
	bool rows; /* of all devices */
};

extern const struct what_preset what_presets[]; /* ends with a NULL name */
