/* Filters of names as perf probe takes them: globs with ! & | and parentheses, "!_* & (*read* | *write*)". */
#pragma once

#include "base/arena.h"
#include "base/diag.h"

struct name_filter;

/* -EINVAL with a diag that points into text; -ENOMEM. In the arena. */
int name_filter_parse(const char *text, struct arena *arena, const struct name_filter **ret,
		      struct diag *d) must_check;
bool name_filter_match(const struct name_filter *f, const char *name);
