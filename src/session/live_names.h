/*
 * Names for frames of a live source, which is asked again and again about a table that grows: what was named once is remembered, only frames
 * that are new are looked up. The kernel's list of symbols, which takes it long to print, is kept for a while.
 *
 * Functions only: neither lines nor inlined functions (for those, resolve() of session/symbols does all of it each time).
 */
#pragma once

#include "session/symbols.h"

/* NULL: no memory. The options are borrowed until names->ops->free. */
struct names *live_names_new(struct symbols *s, const struct symbol_opts *o);
/* A new generation of frames: the ids that were asked about mean others now. */
void live_names_forget(struct names *n);
