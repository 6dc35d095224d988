/*
 * Everything that can be observed here, one entry after the other, for `list` and for completion. Nothing is opened here:
 * whether a counter works is asked of the caller (try_open).
 */
#pragma once

#include "event/event.h"
#include "event/metric.h"
#include "event/vendor.h"

/* In the order of the listing. */
enum event_section {
	EVENT_SECTION_HARDWARE = 1 << 0,
	EVENT_SECTION_SOFTWARE = 1 << 1,
	EVENT_SECTION_TOOL = 1 << 2,
	EVENT_SECTION_CACHE = 1 << 3,
	EVENT_SECTION_PMU = 1 << 4,
	EVENT_SECTION_RAW = 1 << 5,
	EVENT_SECTION_BREAKPOINT = 1 << 6,
	EVENT_SECTION_TRACEPOINT = 1 << 7,
	EVENT_SECTION_SDT = 1 << 8, /* static probes in perf's build-id cache */
	EVENT_SECTION_PROVIDER = 1 << 9, /* the forms with a prefix: kprobe:, uprobe: ... */
	EVENT_SECTION_TRACER = 1 << 10,
	EVENT_SECTION_METRIC = 1 << 11,
	EVENT_SECTION_VENDOR = 1 << 12, /* libpfm's names */
	EVENT_SECTION_FUNCTION = 1 << 13, /* kernel functions that can be traced: tens of thousands */
};

/* Borrowed until the callback returns. */
struct event_entry {
	enum event_section section;
	const char *name; /* what to write after -e */
	const char *alias; /* another way to write it, or NULL */
	const char *about; /* one line, or NULL */
	const char *terms; /* PMU events: the PMU's text; NULL else */
	const char *unit; /* or NULL */
	double scale;
	const struct pmu *pmu; /* PMU events, raw PMU forms */
	const struct tracing_event *tracepoint;
	const struct metric *metric;
	const struct vendor_event *vendor;
	bool available;
	const char *why; /* when it is not */
};

struct event_query {
	u32 sections; /* enum event_section */
	const char *glob; /* over name and alias; NULL: all */
	const char *system_glob, *event_glob; /* tracepoints and static probes only; NULL: all */
	bool all_vendors; /* also CPUs that are not here */
	const struct metric_set *metrics; /* of a file, or NULL */
	const char *build_id_dir; /* perf's cache (~/.debug), or NULL */
	/* 0 when the kernel takes it, or negative errno; NULL: generic hardware events are there when a core PMU is. */
	int (*try_open)(void *ctx, struct perf_event_attr *attr);
	void *ctx;
};

/*
 * Calls fn for each entry, sections in order. What cannot be read (tracefs without permission) is one entry that is not
 * available, with name NULL. fn's negative result ends it and is returned; else 0 or -ENOMEM.
 */
int event_catalog(struct event_env *env, const struct event_query *q,
		  int (*fn)(void *ctx, const struct event_entry *e), void *ctx) must_check;

/* "Tracepoint event": what stands in brackets. */
const char *event_section_word(enum event_section s);
