/* A recording of `stat record` as script prints it: one line for each count of each round. */
#pragma once

#include "base/diag.h"
#include "base/strbuf.h"
#include "file/perfdata_read.h"
#include "model/catalog.h"

/* Whether the file holds counts instead of samples. */
bool script_has_counts(const struct perfdata *file);
int script_counts(const struct perfdata *file, const struct catalog *c, struct strbuf *to,
		  struct diag *d) must_check;
