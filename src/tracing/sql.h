/*
 * Questions about two events, in the words of libtracefs' sqlhist:
 *
 *	SELECT end.next_comm AS comm, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat
 *	FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid
 *	WHERE start.prio < 100 AND end.next_prio < 100
 *
 * TIMESTAMP_DELTA and TIMESTAMP_DELTA_USECS are short for the difference of both times. Without JOIN: a histogram of one event; CAST(f AS
 * _COUNTER_) adds f up.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct sql_side {
	const char *system, *event, *alias; /* system NULL: any */
	const char *filter; /* its part of WHERE, in the kernel's words; NULL: none */
};

struct sql_operand {
	int side; /* 0 start (or the only one), 1 end */
	const char *field; /* NULL: its time */
	bool usecs; /* of a time */
};

struct sql_item {
	struct sql_operand a, b; /* b: only with op */
	char op; /* '-', '+', or 0: a alone */
	bool counter; /* CAST(... AS _COUNTER_) */
	const char *label;
};

struct ftrace_sql {
	struct arena arena;
	struct sql_side sides[2];
	bool join;
	VEC(struct sql_item) items;
	VEC(const char *) keys[2]; /* ON: keys[0][i] = keys[1][i] */
};

/* -EINVAL with a diag that points into text. On failure there is nothing to free. */
int ftrace_sql_parse(struct ftrace_sql *q, const char *text, struct diag *d) must_check;
void ftrace_sql_done(struct ftrace_sql *q);

static inline bool sql_is_delta(const struct sql_item *i)
{
	return i->op && !i->a.field && !i->b.field;
}

/* The triggers: of the one event; of the beginning; of the end, which makes the event `synth`; of that event. */
void ftrace_sql_plain(const struct ftrace_sql *q, struct strbuf *to);
void ftrace_sql_start(const struct ftrace_sql *q, struct strbuf *to);
void ftrace_sql_end(const struct ftrace_sql *q, const char *synth, struct strbuf *to);
void ftrace_sql_shown(const struct ftrace_sql *q, struct strbuf *to);
