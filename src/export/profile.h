/*
 * A profile in other tools' formats. Each is told from the format's published description:
 *
 *	pprof       gzip of profile.proto (github.com/google/pprof): two values for each event, samples and weight
 *	speedscope  JSON, a "sampled" profile for each thread in the order of time (speedscope.app/file-format-schema.json)
 *	firefox     JSON of the Firefox Profiler, processed profile version 47, a thread for each thread
 *
 * The flame's points are to be sorted by time (flame_sort_points).
 */
#pragma once

#include "base/strbuf.h"
#include "model/flame.h"

struct export_opts {
	const char *name; /* of the profile */
	const char *version; /* of this program */
};

int export_pprof(const struct flame *f, const struct export_opts *o, struct strbuf *to) must_check;
int export_speedscope(const struct flame *f, const struct export_opts *o,
		      struct strbuf *to) must_check;
int export_firefox(const struct flame *f, const struct export_opts *o, struct strbuf *to) must_check;

/* Whether an event's weights are nanoseconds. */
bool export_is_time(const char *event);
/* A function's name, in place of what `to` holds; inlined ones say so, as in reports. */
void export_frame_name(const struct flame *f, const struct flame_frame *fr, struct strbuf *to);
/* "make 4711", and the event where there are several. */
void export_thread_name(const struct flame *f, const struct flame_tree *t, struct strbuf *to);
/* Points tree by tree, in time order: *starts[tree] ... [tree + 1) index *order. Both are the caller's. */
int export_by_tree(const struct flame *f, u32 **starts, u32 **order) must_check;
