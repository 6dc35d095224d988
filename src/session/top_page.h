/*
 * `top --listen`: a page with samples over time, a flame graph and functions of any range of it, and processes. The page asks /data for
 * intervals that are newer than those it has, and adds them up itself.
 */
#pragma once

#include "session/http.h"
#include "session/top.h"
#include "session/top_window.h"
#include "session/what_top.h"

struct top_page {
	struct top *top;
	struct top_window window;
	struct what_watch tasks;
	u64 seen_lost;
};

/* For http_opts: their ctx is a struct top_page. */
extern const struct http_route top_page_routes[];

/* With a top that was begun. The root is borrowed. From then on a timer of the loop does the work. 0 or negative errno. */
int top_page_open(struct top_page *p, struct top *t, const struct sysroot *root,
		  struct loop *l) must_check;
void top_page_close(struct top_page *p);
