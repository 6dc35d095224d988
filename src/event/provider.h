/*
 * The kinds of events as rows: what stands before the first colon, what it is, which commands can use it, how it is
 * parsed and how it is resolved. A new kind is a new row.
 */
#pragma once

#include "event/parse.h"

struct event_resolver;

/* What a command does with events. */
enum event_use {
	EVENT_USE_COUNT = 1 << 0, /* stat */
	EVENT_USE_SAMPLE = 1 << 1, /* record, top */
	EVENT_USE_TRACE = 1 << 2, /* trace: printed as they happen */
	EVENT_USE_FTRACE = 1 << 3, /* ftrace record, start */
	EVENT_USE_PROGRAM = 1 << 4, /* run */
	EVENT_USE_ANY = 31,
};

struct event_provider {
	const char *prefix; /* "uprobe"; NULL: recognised by its form */
	const char *form; /* "uprobe:BINARY:SYMBOL[+OFFSET]" */
	const char *about; /* one line for `list` and messages */
	u32 uses; /* enum event_use */
	/* With a prefix: stands behind "prefix:". Fills e, but not e->span. */
	int (*parse)(struct event_parser *p, struct event_spec *e);
	/* Adds descriptors for e. */
	int (*resolve)(struct event_resolver *r, const struct event_spec *e);
};

const struct event_provider *event_provider_of(enum event_kind kind);
/* By prefix; NULL: none. */
const struct event_provider *event_provider_find(const char *prefix, size_t len);
/* All rows, EVENT_KIND_NR of them, indexed by kind. */
const struct event_provider *event_providers(void);

/* The verbs that can do one of these uses, "stat, record or ftrace record", into to. */
void event_use_verbs(u32 uses, struct strbuf *to);
