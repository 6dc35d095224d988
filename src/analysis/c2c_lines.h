/*
 * Loads and stores by cache line and place in it: a line is 64 bytes of a file, of the kernel or of a process; a place its offset in it and
 * what else is asked for. Counted by where the data came from (data_src), with the means of what loads cost.
 *
 *	samples ─► lines ─► places in each ─► sorted: lines by what others had changed, places by offset
 */
#pragma once

#include "base/vec.h"
#include "model/c2c.h"
#include "model/source.h"

enum { C2C_LINE = 64 };

struct c2c_lines_env {
	enum c2c_key keys[C2C_KEYS_MAX];
	u32 nr_keys;
	enum c2c_display display;
	bool show_all; /* also lines with hardly anything of what they are ordered by */
	bool chains; /* call chains of places are kept */
	bool by_node; /* entries get their nodes */
	const struct c2c_machine *machine; /* borrowed */
};

struct c2c_lines;

struct c2c_lines *c2c_lines_new(const struct c2c_lines_env *env); /* NULL: no memory */
void c2c_lines_free(struct c2c_lines *c);
/* For one run with one worker: what "the first access" is, is a matter of time. */
struct sink *c2c_lines_sink(struct c2c_lines *c);

/* After the run. Borrowed until c2c_lines_free(). */
struct c2c_result {
	const struct c2c_entry *lines; /* those that are shown, the worst first */
	const struct c2c_entry
		*places; /* of line l: [l.first, l.first + l.nr), also those that are not shown */
	u32 nr_lines;
	const struct c2c_chain *chains; /* by place.number, of place n: [chain_start[n], chain_start[n + 1]) */
	const u32 *chain_start; /* NULL: there are none */
	struct c2c_stats all, shared; /* shared: of the nr_shared lines that others had */
	u32 nr_shared;
	u64 nr_no_cpu;
};
int c2c_lines_finish(struct c2c_lines *c, const struct catalog *catalog,
		     struct c2c_result *ret) must_check;

/* What lines are ordered by: how much of it there is. */
u32 c2c_measure(const struct c2c_stats *s, enum c2c_display display);
