/*
 * A flame graph as one HTML file that needs nothing else: the page (src/view/page/flame.*) with the profile inside.
 *
 * The profile is one run of bytes in base64, so nothing in it can be taken for markup, whatever symbols are called. Numbers are
 * LEB128; strings are a length and bytes. In this order, as flame.js reads them:
 *
 *	"SFL1"  sides  weight_unit  bucket_ns  nr_buckets
 *	nr      key value                             facts: "host" "build7"; those of a side begin with "path"
 *	nr      string                                [0] is ""
 *	nr      name module file line kind            frames; [0] is none
 *	nr      pid tid comm                          tasks
 *	nr      name                                  events
 *	nr      event task                            trees
 *	nr      up frame                              nodes in the order of a walk; up: levels to go up before this one is put
 *	for each node, for each side:
 *	nr      bucket count [weight]                 points: bucket less the one before; count * 2 + 1 if weight follows,
 *	                                              else it is count * weight_unit
 *	nr      frame nr                              functions with code, each with so many lines:
 *	        number*2+source weight text           source 1: a line of source, without weight
 */
#pragma once

#include "base/strbuf.h"
#include "model/flame.h"

struct html_flame_opts {
	const char *title;
	u32 max_points; /* 0: as many as a browser draws without effort; times become coarser beyond */
	unsigned workers; /* 0: one for each CPU */
};

int html_flame(const struct flame *f, const struct html_flame_opts *o, struct strbuf *to) must_check;
