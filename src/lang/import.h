/*
 * import "file.bt": the texts of all scripts that are imported, and then the script itself, become one text. Each begins with a line that names
 * its file (token.h), so that places in it still have a name and a line.
 */
#pragma once

#include "lang/compile.h"

/* text and len of `in` become those of the whole; where nothing is imported they stay. -ENOTSUP, -ENOENT and so on with a diag; -ENOMEM. */
int import_all(struct lang_input *in, struct arena *a, struct diag *d) must_check;
