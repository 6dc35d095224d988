/*
 * A timeline as one HTML file that needs nothing else: the page (src/view/page/timeline.*) with the data inside, as base64.
 *
 * Numbers are LEB128; strings are a length and bytes. In this order, as timeline.js reads them:
 *
 *	"STL1"  first_ns  span_ns  nr_cpus  switches  wakes  lost  first_pid
 *	nr      key value                             facts: "host" "build7"; "family": the command's process
 *	nr      string                                [0] is ""
 *	nr      tid pid parent+1 comm cpu             tracks
 *	nr                                            slices of all tracks; then for each track:
 *	nr lead head length rest                      lead: from first_ns to its first slice. Slices follow each other; head: state +
 *	                                              flags * 4; rest: cpu of running and ready ones, letter cause+1 where of
 *	                                              blocked ones
 *	nr                                            instants of all tracks; then for each track:
 *	nr      time cpu event where                  instants; time: since the one before
 *	nr      cpu from length nr+1                  gaps; nr+1 is 0 if their number is not known
 */
#pragma once

#include "base/strbuf.h"
#include "model/timeline.h"

struct html_timeline_opts {
	const char *title;
	s32 pid; /* what is shown first; 0: everything */
	s32 family; /* the command's process: it and what it started come before all others; 0: none */
};

int html_timeline(const struct timeline *t, const struct html_timeline_opts *o,
		  struct strbuf *to) must_check;
