/* Durations: perf's table of powers of two, JSON, and lines about percentiles. */
#pragma once

#include "base/strbuf.h"
#include "model/histogram.h"

/* units: LOG2 in "us" or "ns", as many powers as fit below a second or a millisecond. */
void latency_text(struct histogram *units, struct strbuf *to);
/* times: the same in nanoseconds, for percentiles. */
int latency_json(struct histogram *units, struct histogram *times, struct strbuf *to) must_check;

/* "1234 ns", "12.3 us", "4.5 ms", "12.3 s" */
void latency_put_time(struct strbuf *to, u64 ns);
/* "p50 12 us, p90 ..., p99 ..., max ...": a line under a histogram, of nanoseconds. Nothing where there was none. */
void latency_summary(struct strbuf *to, const char *label, struct histogram *times);
/*
 * The same for a histogram that the kernel made, whose lines have "LABEL: ~ 2^N": only the powers of two are known, and both ends are
 * printed.
 */
void latency_of_text(const char *text, const char *label, bool usecs, struct strbuf *to);
