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
	EVENT_USE_FTRACE = 1 << 3, /* ftrace record, stream, profile: as long as a run lasts */
	EVENT_USE_PROGRAM = 1 << 4, /* run */
	EVENT_USE_START = 1 << 5, /* ftrace start, set: settings that stay */
	EVENT_USE_HIST = 1 << 6, /* ftrace hist: one event */
	EVENT_USE_TRACEFS = EVENT_USE_FTRACE | EVENT_USE_START | EVENT_USE_HIST,
};

/* What the kernel must have, and do, for a kind of event. */
enum event_need {
	EVENT_NEED_PERF = 1 << 0, /* perf_event_open() */
	EVENT_NEED_TRACEFS = 1 << 1, /* an event in tracefs that is switched on */
	EVENT_NEED_DEFINITION = 1 << 2, /* a line in dynamic_events, before */
	EVENT_NEED_FUNCTIONS = 1 << 3, /* a tracer with a filter of functions */
	EVENT_NEED_PROGRAM = 1 << 4, /* a BPF program */
};

struct event_provider {
	const char *prefix; /* "uprobe"; NULL: recognised by its form */
	const char *form; /* "uprobe:BINARY:SYMBOL[+OFFSET]" */
	const char *about; /* one line for `list` and messages */
	const char *example; /* for the manual; NULL: none */
	u32 uses; /* enum event_use */
	u32 needs; /* enum event_need: where it is counted or sampled */
	u32 traced_needs; /* in tracefs */
	bool filter; /* takes /FILTER/ and --filter */
	/* With a prefix: follows "prefix:". Fills e, but not e->span. */
	int (*parse)(struct event_parser *p, struct event_spec *e);
	/* Adds descriptors for e. */
	int (*resolve)(struct event_resolver *r, const struct event_spec *e);
	/* The same for tracefs; NULL: resolve. */
	int (*trace)(struct event_resolver *r, const struct event_spec *e);
};

const struct event_provider *event_provider_of(enum event_kind kind);
/* By prefix; NULL: none. */
const struct event_provider *event_provider_find(const char *prefix, size_t len);
/* All rows, EVENT_KIND_NR of them, indexed by kind. */
const struct event_provider *event_providers(void);

/* The verbs of this program that can do one of these uses, "stat, record or ftrace record", into to. */
void event_use_verbs(u32 uses, struct strbuf *to);

/*
 * "GLOB[:mod:MODULE][:COMMAND[:COUNT]]": functions as set_ftrace_filter takes them, and what is to happen when one is called. Parts of
 * text.
 */
struct event_function {
	size_t glob_len;
	const char *module; /* NULL: any */
	size_t module_len;
	const char *command; /* NULL: none */
};
void event_function_split(const char *text, struct event_function *ret);
