/* Other models as tables, for formats that know nothing else. The table borrows texts from the model. */
#pragma once

#include "model/histogram.h"
#include "model/series.h"
#include "model/table.h"

/* Into an initialised table: a row for each time; the first column is the time. rates: counters and deltas per second. */
int as_table_series(const struct series *s, bool rates, struct table *t) must_check;
/* A row for each bucket from the first to the last that is not empty: from, to, count, percent. */
int as_table_histogram(struct histogram *h, struct table *t) must_check;
/* Its nodes in the order of a walk: weight, depth, label. */
int as_table_tree(const struct tree *tree, struct table *t) must_check;
