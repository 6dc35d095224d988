/*
 * Statements over a recording. The database is in memory and empty but for virtual tables and views; then an authorizer lets statements
 * select, and nothing else.
 */
#include "base/library.h"
#include "base/str.h"
#include "session/query_sqlite.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

enum {
	LOOK_STEPS = 20000, /* of sqlite's virtual machine, between two checks whether to stop */
	TEXT_MAX = 64 << 20,
};

static bool load(struct query_sqlite *l)
{
	static const char *const names[] = {
		"sqlite3_open_v2",
		"sqlite3_close_v2",
		"sqlite3_exec",
		"sqlite3_prepare_v2",
		"sqlite3_step",
		"sqlite3_finalize",
		"sqlite3_errmsg",
		"sqlite3_error_offset",
		"sqlite3_limit",
		"sqlite3_db_config",
		"sqlite3_hard_heap_limit64",
		"sqlite3_set_authorizer",
		"sqlite3_progress_handler",
		"sqlite3_create_module_v2",
		"sqlite3_declare_vtab",
		"sqlite3_vtab_collation",
		"sqlite3_malloc64",
		"sqlite3_mprintf",
		"sqlite3_free",
		"sqlite3_column_count",
		"sqlite3_column_name",
		"sqlite3_column_type",
		"sqlite3_column_int64",
		"sqlite3_column_double",
		"sqlite3_column_text",
		"sqlite3_column_blob",
		"sqlite3_column_bytes",
		"sqlite3_value_type",
		"sqlite3_value_int64",
		"sqlite3_value_double",
		"sqlite3_value_text",
		"sqlite3_result_null",
		"sqlite3_result_int64",
		"sqlite3_result_double",
		"sqlite3_result_text",
		"sqlite3_result_blob",
	};
	return LIBRARY_LOAD("libsqlite3.so.0", names, l);
}

/* ---- what statements may do ---- */

static int authorize(void *ctx, int action, const char *a, const char *b, const char *db,
		     const char *inner)
{
	bool ok = false;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE: ok = true; break;
	case SQLITE_FUNCTION: ok = !b || strcasecmp(b, "load_extension") != 0; break;
	default: break;
	}
	return ok ? SQLITE_OK : SQLITE_DENY;
}

static int progress(void *ctx)
{
	const struct query_opts *o = ctx;
	return o->stopped && o->stopped(o->ctx);
}

/* ---- the database ---- */

static int exec(struct query_db *d, const char *sql)
{
	char *message = NULL;
	int rc = d->lib.exec(d->db, sql, NULL, NULL, &message);
	int err = !rc		       ? 0
		  : rc == SQLITE_NOMEM ? -ENOMEM
				       : diag_error(d->q->sy->diag, -EINVAL, "sqlite: %s",
						    message ? message : "cannot make a table");
	d->lib.free(message);
	return err;
}

static int make_tables(struct query_db *d)
{
	int err = 0;
	for (size_t i = 0; i < d->q->tables.nr && !err; i++) {
		char *sql = d->lib.mprintf("create virtual table \"%w\" using sonde(%d)",
					   d->q->tables.at[i].name, (int)i);
		err = sql ? exec(d, sql) : -ENOMEM;
		d->lib.free(sql);
	}
	for (const struct query_view *v = query_views; v->name && !err; v++) {
		char *sql = d->lib.mprintf("create view \"%w\" as %s", v->name, v->sql);
		err = sql ? exec(d, sql) : -ENOMEM;
		d->lib.free(sql);
	}
	return err;
}

static int open_db(struct query_db *d)
{
	const struct query_sqlite *l = &d->lib;
	const struct query_opts *o = &d->q->o;
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY |
		    SQLITE_OPEN_NOMUTEX;
	if (l->open(":memory:", &d->db, flags, NULL))
		return -ENOMEM;
	(void)l->heap_limit((sqlite3_int64)min(o->memory, (u64)INT64_MAX));
	(void)l->limit(d->db, SQLITE_LIMIT_LENGTH, TEXT_MAX);
	(void)l->limit(d->db, SQLITE_LIMIT_ATTACHED, 0);
	(void)l->db_config(d->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	(void)l->db_config(d->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	(void)l->db_config(d->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	int err = query_tables_register(d);
	/* What is sorted stays in memory: nothing of a recording is written to a disk. */
	if (!err)
		err = exec(d, "pragma temp_store = memory");
	if (!err)
		err = make_tables(d);
	if (!err)
		err = exec(d, "pragma query_only = 1");
	if (err)
		return err;
	(void)l->db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)l->set_authorizer(d->db, authorize, d);
	l->progress_handler(d->db, LOOK_STEPS, progress, &d->q->o);
	return 0;
}

int query_open(struct query **ret, struct symbols *sy, const struct query_opts *o)
{
	struct query *q = calloc(1, sizeof(*q));
	struct query_db *d = calloc(1, sizeof(*d));
	int err = q && d ? 0 : -ENOMEM;
	if (err) {
		free(q);
		free(d);
		return err;
	}
	q->sy = sy;
	q->o = *o;
	strtab_init(&q->table_names);
	q->db = d;
	d->q = q;
	arena_init(&q->arena);
	if (!load(&d->lib)) {
		err = diag_error(sy->diag, -ELIBACC, "libsqlite3.so.0 is not installed");
		diag_hint(sy->diag, "apt install libsqlite3-0");
	}
	if (!err && o->path)
		err = query_feed_open(q);
	if (!err)
		err = query_make_tables(q);
	if (!err)
		err = open_db(d);
	if (err)
		query_close(q);
	else
		*ret = q;
	return err;
}

void query_close(struct query *q)
{
	struct query_db *d = q->db;
	if (d->db)
		(void)d->lib.close(d->db);
	query_feed_close(q);
	vec_free(&q->tables);
	strtab_done(&q->table_names);
	arena_done(&q->arena);
	free(d);
	free(q);
}

/* ---- statements ---- */

static int report_error(struct query_db *d, int rc, const char *sql)
{
	struct diag *diag = d->q->sy->diag;
	if (d->err == -EINTR || rc == SQLITE_INTERRUPT)
		return -EINTR;
	if (d->err && d->err != -ENOMEM)
		return d->err; /* the cursor has reported it */
	if (rc == SQLITE_NOMEM)
		return diag_error(diag, -E2BIG, "the statement needs more than %llu MB of memory",
				  (unsigned long long)(d->q->o.memory >> 20));
	const char *message = d->lib.errmsg(d->db);
	int at = d->lib.error_offset(d->db);
	bool denied = rc == SQLITE_AUTH;
	bool unknown = strstr(message, "no such table") || strstr(message, "no such column");
	int err = diag_error(diag, unknown ? -ENOENT : -EINVAL, "%s",
			     denied ? "statements may only select" : message);
	if (at >= 0 && (size_t)at < strlen(sql))
		diag_span(diag, sql, (size_t)at, 1);
	return err;
}

static void get_cell(const struct query_sqlite *l, sqlite3_stmt *st, int i, struct query_cell *c)
{
	*c = (struct query_cell){ .type = QUERY_NULL };
	switch (l->column_type(st, i)) {
	case SQLITE_INTEGER:
		c->type = QUERY_INT;
		c->i = l->column_int64(st, i);
		break;
	case SQLITE_FLOAT:
		c->type = QUERY_REAL;
		c->f = l->column_double(st, i);
		break;
	case SQLITE_NULL: break;
	case SQLITE_BLOB:
		c->type = QUERY_BLOB;
		c->text = l->column_blob(st, i);
		c->len = (size_t)l->column_bytes(st, i);
		break;
	default:
		c->type = QUERY_TEXT;
		c->text = (const char *)l->column_text(st, i);
		c->len = (size_t)l->column_bytes(st, i);
		break;
	}
}

static int run_rows(struct query_db *d, sqlite3_stmt *st, u32 nr, struct query_cell *cells,
		    const struct query_sink *to, const char *sql)
{
	int rc, err = 0;
	while (!err && (rc = d->lib.step(st)) == SQLITE_ROW) {
		for (u32 i = 0; i < nr; i++)
			get_cell(&d->lib, st, (int)i, &cells[i]);
		err = to->row(to->ctx, cells, nr);
	}
	if (!err && rc != SQLITE_DONE)
		err = report_error(d, rc, sql);
	return err;
}

static int run_one(struct query_db *d, sqlite3_stmt *st, const struct query_sink *to,
		   const char *sql)
{
	u32 nr = (u32)d->lib.column_count(st);
	struct query_cell *cells = calloc(nr + 1, sizeof(*cells));
	const char **names = calloc(nr + 1, sizeof(*names));
	int err = cells && names ? 0 : -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++) {
		names[i] = d->lib.column_name(st, (int)i);
		err = names[i] ? 0 : -ENOMEM;
	}
	d->q->nr_passes = 0;
	d->q->told_rescans = false;
	if (!err && nr)
		err = to->columns(to->ctx, names, nr);
	if (!err)
		err = run_rows(d, st, nr, cells, to, sql);
	if (!err && nr)
		err = to->end(to->ctx);
	free(cells);
	free(names);
	return err;
}

int query_run(struct query *q, const char *sql, const struct query_sink *to)
{
	struct query_db *d = q->db;
	int err = 0;
	while (*sql && !err) {
		sqlite3_stmt *st = NULL;
		const char *rest = sql;
		d->err = 0;
		int rc = d->lib.prepare(d->db, sql, -1, &st, &rest);
		if (rc)
			err = report_error(d, rc, sql);
		else if (st)
			err = run_one(d, st, to, sql);
		(void)d->lib.finalize(st);
		sql = rest;
	}
	return err;
}

void query_report(struct query *q)
{
	u64 lost = query_catalog(q)->nr_lost;
	/* A trace.dat reports this by itself. */
	if (lost && source_facts(q->sources[0].src).kind == SOURCE_PERF)
		diag_warn(q->sy->diag, "%llu %s lost while recording", (unsigned long long)lost,
			  str_plural(lost, "record was", "records were"));
}
