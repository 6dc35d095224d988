/* The counters of `what` as OpenMetrics text, which Prometheus reads. */
#pragma once

#include "session/what.h"

/* All metrics of the last reading, with "# EOF". Totals are counters, states gauges; what only means something over an interval is a gauge. */
void what_openmetrics(const struct what_engine *w, struct strbuf *to);
/* The name of a column's metric (replaces what `name` holds) and its value; NAN: not known. */
double what_metric(const struct what_engine *w, size_t column, struct strbuf *name);
