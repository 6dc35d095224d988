/* A recording of `stat record` as script prints it: one line for each count of each round. */
#pragma once

#include "base/diag.h"
#include "base/strbuf.h"
#include "model/source.h"

/* src: of perf events. Whether it holds counts instead of samples. */
bool count_lines_any(const struct source *src);
int count_lines(const struct source *src, struct strbuf *to, struct diag *d) must_check;
