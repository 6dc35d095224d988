/*
 * Which events of a trace are wanted, in trace-cmd's words:
 *
 *	sched/sched_switch : next_pid == 0 || prev_comm =~ "kworker.*"
 *	sched,irq.*                                   all events of these systems, or of these names
 *
 * Before the colon names of events (SYSTEM/EVENT, or either), as regular expressions for the whole name; after it an expression
 * over fields (base/expr), and COMM, CPU, TIMESTAMP. A comparison with a field that an event does not have is false; a field that none of
 * the chosen events has is an error. Filters are bound to events when they are added; asking is for any thread.
 */
#pragma once

#include "base/diag.h"
#include "model/sample.h"
#include "model/catalog.h"

/* What the filter asks of the trace. */
struct event_filter_env {
	void *ctx;
	u32 nr_events; /* of the catalogue: sample.event */
	void (*name_of)(void *ctx, u32 event, const char **system, const char **name);
	const struct schema *(*schema_of)(void *ctx, u32 event); /* NULL: cannot be read */
	const char *(*comm_of)(void *ctx, const struct sample *s); /* never NULL */
	const char *(*symbol)(void *ctx, u64 addr, u64 *offset); /* NULL: none */
};

struct event_filter;

struct event_filter *event_filter_new(const struct event_filter_env *env); /* NULL: no memory */
void event_filter_free(struct event_filter *f);

/* out: events that match are left out instead. -EINVAL with a diag that points into the text. */
int event_filter_add(struct event_filter *f, const char *text, bool out, struct diag *d) must_check;
/* Events whose context flags have one of these bits are left out (-I: 8, -S: 16). */
void event_filter_drop_flags(struct event_filter *f, u32 flags);

bool event_filter_keep(const struct event_filter *f, const struct sample *s);

/* "'sched_switch: next_pid == 0'" and so on: what was bound to which event, one a line. */
void event_filter_text(const struct event_filter *f, struct strbuf *to);
