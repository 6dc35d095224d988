/* A perf_event_attr as a line of "name: value", in the order and words that `perf evlist -v` and the header of `perf report` have. */
#pragma once

#include "base/strbuf.h"

#include <linux/perf_event.h>

/* Fields that are not 0, each as SEPARATOR, blank, name, `is`, value; the first one after `first`, others after a comma. */
void attr_text(const struct perf_event_attr *a, const char *first, const char *is,
	       struct strbuf *to);
