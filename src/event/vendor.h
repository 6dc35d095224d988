/*
 * Vendors' event names through libpfm4: encoding, and the tables of all CPUs it knows. Without the library (vendor_none.c)
 * there are no names. The library keeps its own process-wide state.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"

#include <linux/perf_event.h>

/*
 * name: libpfm's spelling, or the vendors' with dots. Fills type, config*, exclude_*, precise_ip and what the name's
 * attributes ask for. -ENOENT: not a known event; -EOPNOTSUPP: libpfm does not know this CPU, or is not built in; -EINVAL:
 * known, but an attribute is wrong: *why is libpfm's text (static).
 */
int vendor_encode(const char *name, struct perf_event_attr *attr, const char **why) must_check;

enum vendor_speculative {
	VENDOR_SPECULATIVE_UNKNOWN,
	VENDOR_SPECULATIVE, /* also counts what was executed, but not retired */
	VENDOR_NOT_SPECULATIVE,
};

struct vendor_flags {
	bool precise;
	bool hw_smpl; /* the CPU can write samples into a buffer of its own */
	enum vendor_speculative speculative;
};

struct vendor_attr {
	const char *name;
	const char *about;
	const char *equiv; /* or NULL */
	u64 code;
	bool is_umask; /* else a modifier */
	bool is_default;
	struct vendor_flags flags;
	const char *type; /* "boolean", "integer", for modifiers */
};

struct vendor_event {
	int idx; /* libpfm's number, as showevtinfo prints */
	const char *pmu;
	const char *pmu_about;
	const char *name;
	const char *equiv; /* or NULL */
	const char *about;
	u64 code;
	bool active; /* this machine has the PMU */
	struct vendor_flags flags;
	const struct vendor_attr *attrs;
	u32 nr_attrs;
};

/*
 * Calls fn for each event of the PMUs that are here (all: of every PMU libpfm knows). The event is borrowed until fn
 * returns; fn's negative result ends it and is returned. -EOPNOTSUPP: no library.
 */
int vendor_each(bool all, int (*fn)(void *ctx, const struct vendor_event *e), void *ctx) must_check;
