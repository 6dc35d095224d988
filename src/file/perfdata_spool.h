/*
 * Keeps what comes through a pipe in an unnamed file in memory. A pipe may have no end, so its records are checked as they come: the
 * first that is none ends it (the reader of what was kept reports the damage), and so does more than memory should hold. One of a type
 * that nobody knows may come from a newer program; a row of them does not.
 */
#pragma once

#include "base/diag.h"
#include "base/types.h"

enum { PERFDATA_UNKNOWN_MAX = 16 }; /* records in a row */

/* Half of the machine's memory. */
u64 perfdata_spool_most(void);

/* head: what was read of fd already, from its start: a perf.data by its looks. most: bytes. A descriptor, or negative errno. */
int perfdata_spool(int fd, const void *head, size_t size, const char *name, u64 most,
		   struct diag *d) must_check;
