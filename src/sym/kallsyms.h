/*
 * The kernel's symbol list as text, from wherever the caller got it: "ffffffff81000000 T _stext\n",
 * "ffffffffc0201000 t foo\t[module]\n". Lines that are not of this form are stepped over.
 */
#pragma once

#include "sym/symtab.h"

/*
 * Tells all symbols that perf takes (types T, W, D, B in either case, but for ARM's $x marks) to the sweep. They have no sizes:
 * each reaches to the next. `modules` (text of /proc/modules, may be NULL) bounds the modules.
 * Names are borrowed from text. Returns how many there were.
 */
size_t kallsyms_sweep(const char *text, size_t len, const char *modules, size_t modules_len,
		      struct sweep *s);

/*
 * Where the list is in the order of addresses (the kernel's own symbols are, those of modules follow them): the first line
 * whose address is above `at`, or is a module's; the end when there is none. NULL: it is seen not to be in order.
 */
const char *kallsyms_above(const char *text, size_t len, u64 at);
/*
 * The same answers from such a list by looking only at what is next to the questions, all of which must lie between two symbols
 * of the kernel itself. false: some do not, or the list is not in order; what was told does not harm a whole sweep.
 */
bool kallsyms_sweep_ordered(const char *text, size_t len, struct sweep *s);

/* The address of one symbol. false: not there. */
bool kallsyms_address(const char *text, size_t len, const char *name, u64 *ret);
/* All addresses are 0: the kernel hides them from this user. */
bool kallsyms_hidden(const char *text, size_t len);

/* A module's place in /proc/modules. '-' and '_' are the same. */
bool kallsyms_module(const char *modules, size_t len, const char *name, u64 *start, u64 *size);
