/*
 * Which Debian package has what was stripped from a program. The database of installed packages (lists of files, plain text) says which
 * package a file belongs to, and Debian's naming where its symbols are. Where apt has the list of an archive with debugging symbols, that
 * says it by build ID. Files are read, nothing is executed.
 */
#pragma once

#include "base/strbuf.h"

/*
 * Appends the names of the packages for these files, each once, with a space between, to be given to `apt install`; how many. Files that
 * no package has, and packages that are installed already, give none. root: "" but for tests.
 */
size_t debug_packages(const char *root, const char *const *paths, size_t nr, struct strbuf *to);
