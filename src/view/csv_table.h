/*
 * A table as comma-separated values (RFC 4180, with plain line ends): the columns' keys, then a line for each row. Percentages have
 * no sign after them; several values of a cell are columns of their own (key.0, key.1 ...). No trees.
 */
#pragma once

#include "base/strbuf.h"
#include "model/table.h"

/* 0 or the sticky error of `to`. */
int csv_table(const struct table *t, double min_percent, struct strbuf *to) must_check;
/* The same without the line of names. */
int csv_table_rows(const struct table *t, double min_percent, struct strbuf *to) must_check;
