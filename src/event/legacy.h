/* The event names that every kernel has: generic hardware, software, cache, and the ones we measure ourselves. */
#pragma once

#include "base/types.h"

enum event_tool { EVENT_TOOL_NONE, EVENT_TOOL_DURATION, EVENT_TOOL_USER, EVENT_TOOL_SYSTEM };

struct legacy_event {
	const char *name;
	const char *alias; /* or NULL */
	u64 config;
	const char *about;
	const char *shown; /* what perf calls it in reports; NULL: name */
};

/* Tables in perf's order; *nr gets their length. */
const struct legacy_event *legacy_hardware(size_t *nr);
const struct legacy_event *legacy_software(size_t *nr);
const struct legacy_event *legacy_tool(size_t *nr); /* config: enum event_tool */
/* By name or alias, case matters; NULL: not in the table. */
const struct legacy_event *legacy_find(const struct legacy_event *rows, size_t nr, const char *s,
				       size_t len);

/* What perf calls the generic event of this type (PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE) and config; NULL: it is none. */
const char *legacy_shown(u32 type, u64 config);

/*
 * "L1-dcache-load-misses", in any of perf's spellings (l1d-read-miss, LLC-misses-loads, dTLB), case free. 0: a cache event;
 * -ENOENT: not the name of one; -EINVAL: the cache has no such operation (iTLB-stores).
 */
int cache_event_parse(const char *s, size_t len, u64 *config) must_check;
/* The canonical name of a config; buf of CACHE_NAME_MAX. -EINVAL: no such event. */
enum { CACHE_NAME_MAX = 48 };
int cache_event_name(u64 config, char *buf) must_check;
/* The canonical names one after the other: 1 and the name and config, 0 at the end. Start with *at = 0. */
int cache_event_next(u32 *at, char *buf, u64 *config);
