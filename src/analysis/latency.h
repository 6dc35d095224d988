/* How long something takes, as a histogram in powers of two, and lines about it. */
#pragma once

#include "analysis/percentiles.h"
#include "base/strbuf.h"

enum { LATENCY_BUCKETS = 22 };

struct latency_hist {
	u64 buckets[LATENCY_BUCKETS]; /* [0]: below 1 unit; [i]: from 2^(i-1) to below 2^i; the last: the rest */
	u64 nr, total_ns, max_ns, min_ns;
	bool in_ns; /* the unit: nanoseconds, else microseconds */
	struct percentiles times; /* in nanoseconds */
};

void latency_hist_add(struct latency_hist *l, u64 ns);
/* perf's table; JSON. */
void latency_hist_text(const struct latency_hist *l, struct strbuf *to);
int latency_hist_json(const struct latency_hist *l, struct strbuf *to) must_check;

/* "1234 ns", "12.3 us", "4.5 ms", "12.3 s" */
void latency_put_time(struct strbuf *to, u64 ns);
/* "p50 12 us, p90 ..., p99 ..., max ...": a line under a histogram, of nanoseconds. Nothing where there was none. */
void latency_summary(struct strbuf *to, const char *label, const struct percentiles *p);
/*
 * The same for a histogram that the kernel made, whose lines have "LABEL: ~ 2^N": only the powers of two are known, and both ends are
 * printed.
 */
void latency_of_text(const char *text, const char *label, bool usecs, struct strbuf *to);
