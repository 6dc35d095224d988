/*
 * Ratios over counts: the ones that perf stat prints beside an event, built in as a table of formulae, and more from a file.
 *
 * A formula is an expression (base/expr) over event names; letters that expr does not take in a name follow a
 * backslash: branch\-misses. Beside events there are elapsed_ns (wall time of the run), running_ns (task-clock or cpu-clock
 * of the run) and value (the count of the event the metric stands beside).
 *
 * As in perf's own metrics, #num_cpus, #num_cpus_online, #num_cores, #num_dies, #num_packages, #smt_on and #core_wide are facts of
 * the machine; source_count(EVENT) is how many counters an event means here, has_event(EVENT) whether there is one, and
 * strcmp_cpuid_str(TEXT) whether the CPU's id fits a regular expression. All of them are replaced when the formula is parsed.
 *
 * A metrics file has a line for each:
 *
 *	# comment
 *	NAME = EXPRESSION [; UNIT [; DESCRIPTION]]
 */
#pragma once

#include "base/expr.h"
#include "event/event.h"
#include "model/machine.h"

/* Above these values the number is shown in red, magenta, yellow; all 0: no colour. */
struct metric_limits {
	double red, magenta, yellow;
};

struct metric {
	const char *name; /* "insn_per_cycle": for -M, JSON and `list` */
	const char *event; /* canonical name of the event it stands beside; NULL: of none */
	const char *expr;
	const char *format; /* of the number, with its blanks, as perf prints it; NULL for file metrics: "%8.2f" */
	const char *unit; /* what follows it: "insn per cycle" */
	const char *about;
	struct metric_limits limits;
	bool new_line; /* a row of its own below the event's */
	const char *needs,
		*unless; /* shown only where this event is counted, too; where this one is not */
	const char *groups; /* names separated by ';', or NULL */
};

const struct metric *metric_builtin(size_t *nr);

struct metric_set {
	struct arena arena;
	VEC(struct metric) items;
};

void metric_set_init(struct metric_set *s);
void metric_set_done(struct metric_set *s);
/*
 * Adds the metrics of a file's text; path is for messages. -EINVAL with a diag that points into the line; what was added
 * before the bad line stays.
 */
int metric_set_parse(struct metric_set *s, const char *path, const char *text,
		     struct diag *d) must_check;
/* By name: the set first (s may be NULL), then the built-in ones. NULL: not there. */
const struct metric *metric_find(const struct metric_set *s, const char *name);

/* Whether the metric is in this group. */
bool metric_in_group(const struct metric *m, const char *group);

/* The next built-in metric that stands beside this event, or NULL. Start with *at = 0. */
const struct metric *metric_next_beside(const struct event_desc *e, u32 *at);

/* A formula ready to be evaluated often. */
struct metric_prog {
	const struct metric *metric;
	struct expr expr;
};

/* What a formula may ask about the machine. */
struct metric_facts {
	const struct machine *machine;
	bool core_wide; /* all threads of each core are counted */
	/* How many events a name means on this machine; 0: it is not known. */
	u32 (*count_events)(void *ctx, const char *name);
	void *ctx;
};

/* Whether the formula asks about the machine, so that metric_prog_init() needs facts. */
bool metric_needs_facts(const struct metric *m);
/* facts: may be NULL when metric_needs_facts() says no. -EINVAL with a diag: not a formula, or an unknown fact. */
int metric_prog_init(struct metric_prog *p, const struct metric *m,
		     const struct metric_facts *facts, struct diag *d) must_check;
void metric_prog_done(struct metric_prog *p);
/* The events it needs (elapsed_ns, running_ns, value left out), one after the other; NULL at the end. Start with *at = 0. */
const char *metric_prog_next_event(const struct metric_prog *p, u32 *at);
/*
 * get: the count that belongs to a name; 0, or -ENOENT: not counted. Returns 0; -ENOENT: a count is missing; -EDOM: a
 * division by 0, nothing to show.
 */
int metric_prog_eval(const struct metric_prog *p,
		     int (*get)(void *ctx, const char *name, double *ret), void *ctx,
		     double *ret) must_check;

/* Whether an event of a formula ("cpu-cycles", "INST_RETIRED.ANY") is this one, whatever its spelling and modifiers. */
bool metric_is_event(const char *name, const struct event_desc *e);

/* Events per second as perf shows them: 1234567 → 1.235 and "M/sec". unit: at least 8 bytes. */
double metric_rate(double per_second, char *unit);
