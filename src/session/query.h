/*
 * SQL over a recording: its samples, events with their fields, what threads did, system calls, tasks and call stacks as virtual tables of
 * sqlite, which is loaded on first use. Nothing is copied into a database and nothing is stored: a table is read from the recording
 * while a statement runs.
 *
 *	select ... from sched_switch where time_ns > 5   ─► sqlite ─► query_tables: which times, which event, which columns
 *	                                                                └─► query_feed: one pass over a source, only that decoded
 *
 * Statements only read: they cannot reach files, other databases, extensions or another statement's tables.
 *
 * (session/sql_rows answers the questions about two events that tracefs' histograms take; it has nothing to do with this.)
 */
#pragma once

#include "session/symbols.h"
#include "session/tell.h"

struct query;

struct query_opts {
	const char *path; /* a perf.data, or a trace.dat; NULL: no recording, tables are empty and only described */
	const struct symbol_opts *symbols; /* borrowed */
	u64 memory; /* bytes that sqlite may use */
	/* Whether to stop now; asked often, from within a statement. */
	bool (*stopped)(void *ctx);
	void *ctx;
};

/* 0 or negative errno with a diag (the symbols'); -ELIBACC: no sqlite here. Errors of statements go to the same diag. */
int query_open(struct query **ret, struct symbols *sy, const struct query_opts *o) must_check;
void query_close(struct query *q);

/* Rows as they come. Texts are borrowed until the function returns. Each may return negative errno, which ends the statement. */
enum query_type { QUERY_NULL, QUERY_INT, QUERY_REAL, QUERY_TEXT, QUERY_BLOB };
struct query_cell {
	enum query_type type;
	s64 i;
	double f;
	const char *text; /* of QUERY_TEXT and _BLOB */
	size_t len;
};
struct query_sink {
	int (*columns)(void *ctx, const char *const *names, u32 nr);
	int (*row)(void *ctx, const struct query_cell *cells, u32 nr);
	int (*end)(void *ctx);
	void *ctx;
};
/*
 * Any number of statements. 0; -EINTR: it was stopped; or with a diag -ENOENT: unknown table or column, -E2BIG: not enough memory, or another
 * negative errno.
 */
int query_run(struct query *q, const char *sql, const struct query_sink *to) must_check;

/* What was wrong with the recording, after the last statement. */
void query_report(struct query *q);

/* Predefined queries, each a view. */
struct query_view {
	const char *name, *question, *sql;
};
extern const struct query_view query_views[]; /* ends with a NULL name */
const struct query_view *query_view_find(const char *name); /* NULL: unknown */

/* What tables there are, and what their columns mean. With a recording also the tables of its events. */
struct query_column {
	const char *name;
	const char *help;
	char bound; /* of query_tables.c: what a condition on it limits */
	unsigned needs;
};
struct query_table {
	const char *name, *about;
	const struct query_column *columns;
	u32 nr_columns;
	int kind; /* of query_impl.h */
	u32 event; /* of a table of one event */
};
size_t query_nr_tables(const struct query *q); /* NULL: those that every recording has */
const struct query_table *query_table_at(const struct query *q, size_t i);

/* Rows as a table, as CSV, or as JSON: one object with an array of results. Streams; a text table's widths are those of its first rows. */
enum query_format { QUERY_TEXT_TABLE, QUERY_CSV, QUERY_JSON };
struct query_printer;
struct query_printer *query_printer_new(enum query_format f,
					struct strbuf *out); /* NULL: no memory */
struct query_sink query_printer_sink(struct query_printer *p);
/* Ends what was begun; also after an error of a statement. 0 or negative errno. */
int query_printer_end(struct query_printer *p) must_check;
void query_printer_free(struct query_printer *p);
u64 query_printer_rows(const struct query_printer *p);
