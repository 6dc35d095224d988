/*
 * Events of a trace.dat as samples: which events there are, stacks that belong to an event as its call chain, calls of the function
 * graph tracer as samples that weigh what they took. Works on what replay_ftrace_windows.c walks.
 */
#pragma once

#include "stream/replay_ftrace_impl.h"

/* A look over all pages that are new: the catalogue's events, what is lost, first and last time; how to read what carries addresses. */
int ftrace_samples_prepare(struct replay *r) must_check;
/* Whether `next` is a stack of what the spot holds: it follows directly, is of the same task, and there is none yet. */
bool ftrace_samples_join(const struct replay_ftrace_part *p, struct spot *to,
			 const struct spot *next);
/* The rest of a sample that was filled: 1, 0 when there is none to show, or negative errno. */
int ftrace_samples_next(struct replay *r, struct shard *sh, struct cursor *c,
			struct sample *s) must_check;
