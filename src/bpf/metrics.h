/*
 * A map as a family of OpenMetrics: counts and unsigned sums are counters, other numbers gauges, histograms histograms, stats() and
 * quantile() summaries. "@bytes" becomes sonde_map_bytes, "@" sonde_map; keys become labels: key, or key0, key1 ... of a tuple.
 */
#pragma once

#include "bpf/map_view.h"

/* Adds the rows of one map. Values that are no numbers are left out. */
void metrics_map(const struct map_rows *r, const struct value_style *s, struct strbuf *to);
/* The line that ends a page. */
void metrics_end(struct strbuf *to);

#define METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
