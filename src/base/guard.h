/*
 * Files mapped for reading that somebody else may truncate meanwhile. Touching a page that is gone raises SIGBUS; the handler that
 * guard_install() sets finds the mapping, puts zero pages from there to its end and lets the thread go on. Parsers are sound against any
 * bytes, zeros among them; whoever made something of the mapping asks afterwards whether it was cut.
 *
 * A signal handler belongs to the process, and it can be handed nothing: the table of mappings is the one writable global below cmd/
 * (tools/check-archives knows it). It is of a fixed size, lock-free, and written by any thread.
 *
 * Threads that map files must not block SIGBUS: a blocked fault kills the process (guard_sigmask()).
 */
#pragma once

#include "base/types.h"

#include <signal.h>

/* Once, by main(). A SIGBUS that is not of a guarded mapping still ends the process. */
void guard_install(void);
/* All signals but SIGBUS: the mask of a thread that leaves signals to others. */
void guard_sigmask(sigset_t *set);

/*
 * Maps size bytes of fd, read-only; at: a place inside of room that the caller reserved, or NULL. shared: as MAP_SHARED, else MAP_PRIVATE.
 * 0 and *ret, or negative errno (-ENOMEM also when there are too many mappings).
 */
int guard_map(int fd, size_t size, bool shared, void *at, const void **ret) must_check;
/*
 * The same for what the user asked us to read: name is copied, and a mapping that was cut is remembered after guard_unmap() until
 * guard_take_cut() tells. A copy of fd is kept: truncation is found even where no page of it was touched.
 */
int guard_map_input(int fd, size_t size, bool shared, void *at, const char *name,
		    const void **ret) must_check;
/* Unmaps, and forgets every guarded mapping inside of the range. */
void guard_unmap(const void *at, size_t size);

/* Whether a guarded mapping in the range was cut so far. */
bool guard_is_cut(const void *at, size_t size);
/* Whether any input was, mapped still or not, and not taken yet. */
bool guard_inputs_cut(void);
/* The name of such an input, once each: the caller's to free(). NULL: none is left. */
char *guard_take_cut(void);
