/*
 * `what --listen` for people: a page with a chart for each part of the columns and the processes that use most CPU time, beside /metrics for
 * Prometheus. The page asks /data for rows that are newer than those it has; processes are read only while somebody asks.
 */
#pragma once

#include "session/http.h"
#include "session/what.h"
#include "session/what_top.h"

enum { WHAT_PAGE_ROWS = 3600 }; /* that a page can go back */

struct what_page {
	const struct what_engine *what;
	struct what_watch tasks; /* to be read after each what_read(), and done with at the end */
};

/* For http_opts: their ctx is a struct what_page. */
extern const struct http_route what_page_routes[];
