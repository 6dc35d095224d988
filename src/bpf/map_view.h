/*
 * A map of the script as a table: read from the kernel with few system calls, values of all CPUs put together, sorted and printed as bpftrace
 * prints it.
 *
 *	map_rows_read     kernel ─► keys and values, one of each
 *	map_rows_sort     by value, then by key; where values are no numbers by key
 *	map_rows_text     rows ─► text
 */
#pragma once

#include "bpf/value.h"

struct map_rows {
	const struct program_map *map;
	u32 key_size, value_size; /* of a row */
	u8 *keys, *values;
	u32 nr;
	u32 *order; /* of rows; NULL before sorting */
};

struct map_print {
	u32 top; /* only so many, the largest; 0: all */
	u64 div; /* of values and counts; 0: not */
	const struct program_action *order; /* sort and format; NULL: as bpftrace has it */
};

/* nr_cpus: possible ones, as per-CPU maps have them. -ENOMEM, or the errno of bpf(2). Keys that vanish meanwhile are left out. */
int map_rows_read(struct map_rows *r, const struct program_map *m, int fd, u32 nr_cpus) must_check;
void map_rows_done(struct map_rows *r);
/* Puts the values of nr_cpus CPUs (each with its size rounded up to 8 bytes) into one. */
void map_value_join(const struct program_type *t, const void *cpus, u32 nr_cpus, void *to);
int map_rows_sort(struct map_rows *r) must_check;
/* By what the sort of the action says first. */
int map_rows_sort_by(struct map_rows *r, const struct program_action *action) must_check;
bool map_rows_are_zero(const struct map_rows *r);
/* Leaves only the row of the key. */
void map_rows_keep(struct map_rows *r, const void *key);

void map_rows_text(const struct map_rows *r, const struct value_style *s, const struct map_print *p,
		   struct strbuf *to);
/* One object with type and data, as bpftrace -f json. */
void map_rows_json(const struct map_rows *r, const struct value_style *s, const struct map_print *p,
		   struct json *j);
/* One value of an aggregate: print(@x[1]), and values in tuples. */
void map_value_text(const struct value_style *s, const struct program_type *t, const void *value,
		    u64 div, struct strbuf *to);

/*
 * One value: of a per-CPU map what the CPUs have together, or with first what the first of them has. -ENOENT: no such key. The map is not
 * changed by anybody else meanwhile.
 */
int map_get(const struct program_map *m, int fd, u32 nr_cpus, bool first, const void *key,
	    void *value) must_check;
/* The same; of a per-CPU map the first CPU's is written, those of others stay. */
int map_put(const struct program_map *m, int fd, u32 nr_cpus, const void *key,
	    const void *value) must_check;

/* All keys, or all values to zero. */
int map_clear(const struct program_map *m, int fd, u32 nr_cpus) must_check;
int map_zero(const struct program_map *m, int fd, u32 nr_cpus) must_check;
/* How many keys it holds: for messages. */
int map_nr_keys(const struct program_map *m, int fd, u32 nr_cpus, u32 *ret) must_check;
