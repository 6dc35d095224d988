/* A table as a JSON array of objects, one a row, keyed by the columns' keys; trees as a flat list: each node with the index of its first child and of its next sibling. */
#pragma once

#include "base/json.h"
#include "model/table.h"

/* Writes one value. Rows below min_percent of the total are left out. 0 or negative errno. */
int json_table(const struct table *t, double min_percent, struct json *j) must_check;
