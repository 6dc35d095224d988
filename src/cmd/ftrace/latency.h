/* How long something takes, as a histogram in powers of two: a function, or from one event to another. */
#pragma once

#include "analysis/event_pair.h"
#include "analysis/percentiles.h"
#include "cmd/app/app.h"

enum { LATENCY_BUCKETS = 22 };

struct ftrace_latency {
	u64 buckets[LATENCY_BUCKETS]; /* [0]: below 1 unit; [i]: from 2^(i-1) to below 2^i; the last: the rest */
	u64 nr, total_ns, max_ns, min_ns;
	bool in_ns; /* the unit: nanoseconds, else microseconds */
	struct percentiles times; /* in nanoseconds */
};

/* "1234 ns", "12.3 us", "4.5 ms", "12.3 s" */
void ftrace_put_time(struct strbuf *to, u64 ns);
/* "p50 12 us, p90 ..., p99 ..., max ...": a line under a histogram, of nanoseconds. Nothing where there was none. */
void ftrace_latency_summary(struct strbuf *to, const char *label, const struct percentiles *p);
/*
 * The same for a histogram that the kernel made, whose lines have "LABEL: ~ 2^N": only the powers of two are known, and both ends are
 * printed.
 */
void ftrace_latency_of_text(const char *text, const char *label, bool usecs, struct strbuf *to);

/* perf's table, or JSON. */
int ftrace_latency_print(struct app *app, const struct ftrace_latency *l) must_check;

/*
 * Adds up what a file has: from the event `rule` begins with to the one it ends with. -ENOENT with a diag when one of the two, or its field, is
 * not in the file.
 */
int ftrace_latency_read(struct app *app, const char *path, const struct event_pair_rule *rule,
			struct ftrace_latency *l) must_check;

/* "A,B" and "KEY" or "KEY=KEY" (NULL: common_pid) as a rule; its strings go to the arena. */
int ftrace_latency_rule(const char *events, const char *by, struct arena *a,
			struct event_pair_rule *ret, struct diag *d) must_check;
