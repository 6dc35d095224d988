/* The answer to a question about two events (tracing/sql) from a recording: rows of what was selected, counted, as the kernel prints them. */
#pragma once

#include "session/tell.h"
#include "session/trace_answer.h"
#include "tracing/sql.h"

struct sql_rows;

struct sql_rows *sql_rows_new(const struct ftrace_sql *q); /* borrowed until free; NULL: no memory */
void sql_rows_free(struct sql_rows *r);
struct arena *sql_rows_arena(struct sql_rows *r); /* lives as long */

/* Rows, or JSON. Where they go is set here. */
struct trace_answer sql_rows_answer(struct sql_rows *r, const struct tell *to);
