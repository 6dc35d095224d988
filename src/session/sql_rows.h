/* The answer to a question about two events (tracing/sql) from a recording: rows of what was selected, counted, as the kernel prints them. */
#pragma once

#include "session/tell.h"
#include "tracing/sql.h"

struct sql_rows;

struct sql_rows *sql_rows_new(const struct ftrace_sql *q); /* borrowed until free; NULL: no memory */
void sql_rows_free(struct sql_rows *r);
struct arena *sql_rows_arena(struct sql_rows *r); /* lives as long */

/* Reads a trace.dat and prints; ctx is a struct sql_looking. */
struct sql_looking {
	struct tell to;
	struct sql_rows *rows;
};
int sql_rows_look(void *ctx, const char *path) must_check;
