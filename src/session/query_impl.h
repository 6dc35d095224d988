/*
 * What the files of SQL over recordings share: query.c runs statements, query_tables.c is sqlite's virtual table, query_rows.c the rows of
 * each table, query_feed.c reads the recording. Only the first two know sqlite.
 */
#pragma once

#include "session/named_run.h"
#include "session/query.h"

enum query_kind {
	QUERY_SAMPLES, /* all samples */
	QUERY_EVENTS, /* those with fields */
	QUERY_EVENT, /* those of one event, with its fields as columns */
	QUERY_INTERVALS,
	QUERY_SYSCALLS,
	QUERY_TASKS,
	QUERY_STACKS,
	QUERY_RECORDING,
	QUERY_NR_KINDS,
};

/* What a condition on a column limits (query_column.bound). */
enum query_bound {
	BOUND_NONE = 0,
	BOUND_TIME = 'T',
	BOUND_EVENT = 'e',
	BOUND_TID = 't',
	BOUND_PID = 'p',
	BOUND_CPU = 'c',
	BOUND_STACK = 's',
};

/* Beside enum sample_needs: frames are to have names, and chains numbers that all cursors share. */
enum { QUERY_NEED_NAMES = 1 << 20 };

enum { QUERY_FIRST_FIELD = 5, QUERY_FIELDS_MAX = 512 }; /* of a table of one event */

/* A recording that is open: one cursor at a time reads it. */
struct query_source {
	struct source *src;
	bool busy;
};

enum { QUERY_SOURCES_MAX = 12 };

struct query {
	struct symbols *sy;
	struct query_opts o;
	struct arena arena;
	struct query_source sources[QUERY_SOURCES_MAX];
	u32 nr_sources;
	bool reported; /* what a pass found wrong with the recording */
	bool told_rescans;
	u32 nr_passes; /* of the statement under way */
	VEC(struct query_table) tables;
	struct strtab table_names; /* in lower case, views included */

	/* Names, when they were first asked for. */
	bool named;
	struct sink names_sink;
	struct named_run run;
	struct dict chain_of; /* key of a chain -> its number */

	void *db; /* of query.c */
};

/* ---- query_feed.c: one pass over the recording ---- */

struct query_feed {
	struct query *q;
	struct query_source *from;
	struct shard shard;
	bool opened, in_block;
	struct batch batch;
	size_t at;
	u32 steps;
};

/* Opens the recording a first time: its events are known then. */
int query_feed_open(struct query *q) must_check;
void query_feed_close(struct query *q);
int query_feed_begin(struct query_feed *f, struct query *q, unsigned needs, u64 from_ns,
		     u64 until_ns) must_check;
/* 1 and a sample, borrowed until the next call; 0 at the end; -EINTR: stopped; or negative errno with a diag. */
int query_feed_next(struct query_feed *f, const struct sample **ret) must_check;
void query_feed_end(struct query_feed *f);
/* Makes the names, if they are not there. */
int query_names(struct query *q) must_check;
/* The number of a chain of the feed, the same in all feeds; 0: none. Needs QUERY_NEED_NAMES. */
u32 query_stack_id(const struct query_feed *f, u32 chain);
/* NULL: no name. */
const char *query_symbol(const struct query *q, u32 id);
const char *query_dso(const struct query *q, u32 id);
/* "main;read;vfs_read" in to. */
void query_stack_text(const struct query *q, u32 stack, struct strbuf *to);
const struct schema *query_schema(const struct query *q, u32 event);
static inline const struct catalog *query_catalog(const struct query *q)
{
	return &q->sources[0].src->catalog;
}

/* ---- query_rows.c: rows of each table ---- */

struct query_filter {
	unsigned needs;
	u64 from_ns, until_ns;
	const char *event; /* NULL: any */
	bool has_tid, has_pid, has_cpu, has_stack;
	s64 tid, pid, cpu, stack;
};

struct query_cursor;
struct query_cursor *query_cursor_new(struct query *q, const struct query_table *t);
void query_cursor_free(struct query_cursor *c);
int query_cursor_begin(struct query_cursor *c, const struct query_filter *f) must_check;
/* 1: there is a row, 0: no more, or negative errno. */
int query_cursor_next(struct query_cursor *c) must_check;
/* Texts are borrowed until the next call of any function of the cursor. */
void query_cursor_value(struct query_cursor *c, u32 column, struct query_cell *ret);

/* The tables of the recording; those of events need it to be open. */
int query_make_tables(struct query *q) must_check;
/* Those that every recording has. */
extern const struct query_table query_fixed_tables[];
extern const size_t query_nr_fixed_tables;
