/* Events by plain name with :u and :k, until src/event takes over. */
#pragma once

#include "base/diag.h"

#include <linux/perf_event.h>

/* Sets type, config, exclude bits. 0 or negative errno with a diag that names what is close. */
int event_plain(const char *spec, struct perf_event_attr *ret, struct diag *d) must_check;
