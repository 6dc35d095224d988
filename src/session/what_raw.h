/* `sonde what --raw FILE`: the items of one counter file, what they mean, and how fast they grow. */
#pragma once

#include "base/diag.h"
#include "kern/counter_file.h"

/* path: below /proc or /sys. 0, or negative errno with a diag. */
int what_raw_open(struct counter_file *f, const struct sysroot *root, const char *path,
		  struct diag *d) must_check;
/* All items; seconds: since the reading before, 0: there was none. wide: lines may be of any length, else of `width`. */
void what_raw_text(const struct counter_file *f, double seconds, bool wide, unsigned width,
		   struct strbuf *to);
/* One line. 0 or negative errno. */
int what_raw_json(const struct counter_file *f, double seconds, struct strbuf *to) must_check;
