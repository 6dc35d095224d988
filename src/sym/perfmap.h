/* /tmp/perf-PID.map, which runtimes that compile at run time write: "START SIZE name", numbers in hex. */
#pragma once

#include "sym/symtab.h"

/* Tells all of it to the sweep (policy SYMTAB_LAST: code memory is used again). Returns how many there were. */
size_t perfmap_sweep(const char *text, size_t len, struct sweep *s);
/* The same as a table, for who asks one address at a time; names are borrowed from text. -ENOMEM. */
int perfmap_table(const char *text, size_t len, struct symtab *ret) must_check;
