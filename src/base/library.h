/*
 * Libraries that are loaded when something first needs them, so that neither start-up nor a machine without them pays for what few
 * commands use.
 */
#pragma once

#include "base/types.h"

/*
 * Fills `functions`, a struct of nr function pointers, by their names, in the same order. false: the library, or one of the names, is
 * missing. Later calls are cheap.
 */
bool library_load(const char *soname, const char *const *names, size_t nr,
		  void *functions) must_check;

/* The same for an array of names; a struct of another size does not compile. */
#define LIBRARY_LOAD(soname, names, to)                                                            \
	({                                                                                         \
		_Static_assert(sizeof(*(to)) == ARRAY_SIZE(names) * sizeof(void *),                \
			       "one name per function, in the same order");                        \
		library_load((soname), (names), ARRAY_SIZE(names), (to));                          \
	})
