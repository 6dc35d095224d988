/* A table as a JSON array of objects, one a row, keyed by the columns' keys; trees as a flat list: each node with the index of its first child and of its next sibling. */
#pragma once

#include "base/json.h"
#include "model/table.h"

/*
 * One cell as members of an object: key and value. Texts of several parts are taken apart: a symbol has KEY and "mode" (KEY_mode for keys other
 * than "symbol") and, of an inlined function, "inlined": true; a task has its number as KEY and its name as KEY_comm; numbers that a table keeps as text are numbers.
 */
void json_cell(const struct column *c, const union cell *v, struct json *j);
/* Writes one value. Rows below min_percent of the total are left out. 0 or negative errno. */
int json_table(const struct table *t, double min_percent, struct json *j) must_check;
/* One value: a list of nodes, each with its functions (name; module, mode and "inlined" where the tree has places), child and next. */
void json_tree(const struct tree *t, struct json *j);
