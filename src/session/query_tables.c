/*
 * The virtual table of sqlite. xBestIndex turns conditions into a filter (query_rows.c) as a string with a letter for each argument of
 * xFilter, and the columns that are used into what the source has to decode; sqlite checks every condition once more.
 */
#include "session/query_sqlite.h"

#include <errno.h>
#include <stdlib.h>

enum { ARGS_MAX = 16 };

struct query_vtab {
	sqlite3_vtab base;
	struct query_db *d;
	const struct query_table *t;
};

struct query_vcursor {
	sqlite3_vtab_cursor base;
	struct query_cursor *rows;
	s64 rowid;
	bool over;
};

static struct query_vtab *table_of(sqlite3_vtab *v)
{
	return container_of(v, struct query_vtab, base);
}

static struct query_vcursor *cursor_of(sqlite3_vtab_cursor *c)
{
	return container_of(c, struct query_vcursor, base);
}

static void add_name(struct strbuf *to, const char *name)
{
	strbuf_char(to, '"');
	for (; *name; name++) {
		if (*name == '"')
			strbuf_char(to, '"');
		strbuf_char(to, *name);
	}
	strbuf_char(to, '"');
}

/* Columns have no types: values are compared as they are. */
static int declare(struct query_db *d, sqlite3 *db, const struct query_table *t)
{
	struct strbuf sql;
	strbuf_init(&sql);
	strbuf_str(&sql, "create table t(");
	for (u32 i = 0; i < t->nr_columns; i++) {
		const char *name = t->columns[i].name;
		strbuf_str(&sql, i ? ", " : "");
		if (*name)
			add_name(&sql, name);
		else
			strbuf_printf(&sql, "\"_%u\" hidden", i);
	}
	strbuf_char(&sql, ')');
	int rc = d->lib.declare_vtab(db, strbuf_cstr(&sql));
	if (sql.err)
		rc = SQLITE_NOMEM;
	strbuf_done(&sql);
	return rc;
}

/* "create virtual table X using sonde(7)": the table's number. */
static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **ret, char **message)
{
	struct query_db *d = aux;
	u64 index = argc > 3 ? strtoull(argv[3], NULL, 10) : UINT64_MAX;
	if (index >= d->q->tables.nr)
		return SQLITE_ERROR;
	struct query_vtab *t = calloc(1, sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	t->d = d;
	t->t = &d->q->tables.at[index];
	int rc = declare(d, db, t->t);
	if (rc) {
		free(t);
		return rc;
	}
	*ret = &t->base;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *v)
{
	free(table_of(v));
	return SQLITE_OK;
}

/* ---- planning ---- */

static bool is_scan(const struct query_table *t)
{
	return t->kind == QUERY_SAMPLES || t->kind == QUERY_EVENTS || t->kind == QUERY_EVENT;
}

static double rows_of(const struct query_table *t)
{
	static const double rows[QUERY_NR_KINDS] = {
		[QUERY_SAMPLES] = 1e7,	 [QUERY_EVENTS] = 1e7,	 [QUERY_EVENT] = 1e6,
		[QUERY_INTERVALS] = 1e6, [QUERY_SYSCALLS] = 1e6, [QUERY_TASKS] = 1e3,
		[QUERY_STACKS] = 1e5,	 [QUERY_RECORDING] = 10,
	};
	return rows[t->kind];
}

/* The letter of a condition that limits what is read: '>' and '<' for times; 0: none does. */
static char limit_of(struct query_db *d, sqlite3_index_info *info, int i,
		     const struct query_table *t)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];
	if (!c->usable || c->iColumn < 0 || (u32)c->iColumn >= t->nr_columns)
		return 0;
	char bound = t->columns[c->iColumn].bound;
	if (bound == BOUND_TIME) {
		switch (c->op) {
		case SQLITE_INDEX_CONSTRAINT_GT:
		case SQLITE_INDEX_CONSTRAINT_GE: return '>';
		case SQLITE_INDEX_CONSTRAINT_LT:
		case SQLITE_INDEX_CONSTRAINT_LE: return '<';
		case SQLITE_INDEX_CONSTRAINT_EQ: return '=';
		default: return 0;
		}
	}
	if (c->op != SQLITE_INDEX_CONSTRAINT_EQ)
		return 0;
	if (bound == BOUND_EVENT && strcmp(d->lib.vtab_collation(info, i), "BINARY") != 0)
		return 0;
	return bound;
}

static unsigned needs_of(const struct query_table *t, u64 used)
{
	unsigned needs = 0;
	for (u32 i = 0; i < t->nr_columns; i++)
		if (used & (u64)1 << min(i, 63u))
			needs |= t->columns[i].needs;
	return needs;
}

static int best_index(sqlite3_vtab *v, sqlite3_index_info *info)
{
	struct query_vtab *table = table_of(v);
	const struct query_table *t = table->t;
	char limits[ARGS_MAX + 1];
	int nr = 0;
	double rows = rows_of(t), cost = rows;
	unsigned needs = needs_of(t, info->colUsed);
	for (int i = 0; i < info->nConstraint && nr < ARGS_MAX; i++) {
		char limit = limit_of(table->d, info, i, t);
		if (!limit)
			continue;
		limits[nr++] = limit;
		info->aConstraintUsage[i].argvIndex = nr;
		rows /= limit == BOUND_STACK ? rows : 10;
		if (strchr("<>=", limit)) {
			needs |= NEED_ORDER;
			cost /= 10;
		} else {
			cost = limit == BOUND_STACK ? rows : cost / 2;
		}
	}
	limits[nr] = '\0';
	if (is_scan(t) && info->nOrderBy == 1 && !info->aOrderBy[0].desc &&
	    info->aOrderBy[0].iColumn >= 0 &&
	    t->columns[info->aOrderBy[0].iColumn].bound == BOUND_TIME) {
		needs |= NEED_ORDER;
		info->orderByConsumed = 1;
	}
	info->idxNum = (int)needs;
	info->idxStr = table->d->lib.mprintf("%s", limits);
	info->needToFreeIdxStr = 1;
	info->estimatedCost = cost;
	info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- cursors ---- */

static int open_cursor(sqlite3_vtab *v, sqlite3_vtab_cursor **ret)
{
	struct query_vtab *t = table_of(v);
	struct query_vcursor *c = calloc(1, sizeof(*c));
	if (!c)
		return SQLITE_NOMEM;
	c->rows = query_cursor_new(t->d->q, t->t);
	if (!c->rows) {
		free(c);
		return SQLITE_NOMEM;
	}
	*ret = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct query_vcursor *c = cursor_of(base);
	query_cursor_free(c->rows);
	free(c);
	return SQLITE_OK;
}

static int fail(struct query_vcursor *c, int err)
{
	struct query_db *d = table_of(c->base.pVtab)->d;
	c->over = true;
	d->err = err;
	return err == -ENOMEM ? SQLITE_NOMEM : err == -EINTR ? SQLITE_INTERRUPT : SQLITE_IOERR;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct query_vcursor *c = cursor_of(base);
	int got = query_cursor_next(c->rows);
	c->rowid++;
	c->over = got <= 0;
	return got < 0 ? fail(c, got) : SQLITE_OK;
}

/* Values that are not integers limit nothing: sqlite compares them. */
static void limit_number(const struct query_sqlite *l, sqlite3_value *v, bool *has, s64 *to)
{
	if (l->value_type(v) != SQLITE_INTEGER)
		return;
	*has = true;
	*to = l->value_int64(v);
}

static void limit_time(const struct query_sqlite *l, sqlite3_value *v, char how,
		       struct query_filter *f)
{
	enum { SLACK_NS = 2048 }; /* a double of nanoseconds since boot, or 1970, is not exact */
	int type = l->value_type(v);
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return;
	double d = l->value_double(v);
	bool exact = type == SQLITE_INTEGER, large = !exact && d > 9e18;
	s64 at = exact ? l->value_int64(v) : large ? INT64_MAX : d < 0 ? 0 : (s64)d;
	u64 from = at < 0 ? 0 : (u64)at, until = from;
	if (!exact) {
		from -= min(from, (u64)SLACK_NS);
		until += SLACK_NS;
	}
	if (how != '<')
		f->from_ns = max(f->from_ns, from);
	if (how != '>')
		f->until_ns = min(f->until_ns, until);
}

static int filter(sqlite3_vtab_cursor *base, int needs, const char *limits, int argc,
		  sqlite3_value **argv)
{
	struct query_vcursor *c = cursor_of(base);
	const struct query_sqlite *l = &table_of(base->pVtab)->d->lib;
	struct query_filter f = { .needs = (unsigned)needs, .until_ns = UINT64_MAX };
	for (int i = 0; i < argc && limits[i]; i++) {
		switch (limits[i]) {
		case BOUND_TID: limit_number(l, argv[i], &f.has_tid, &f.tid); break;
		case BOUND_PID: limit_number(l, argv[i], &f.has_pid, &f.pid); break;
		case BOUND_CPU: limit_number(l, argv[i], &f.has_cpu, &f.cpu); break;
		case BOUND_STACK: limit_number(l, argv[i], &f.has_stack, &f.stack); break;
		case BOUND_EVENT:
			if (l->value_type(argv[i]) == SQLITE_TEXT)
				f.event = (const char *)l->value_text(argv[i]);
			break;
		default: limit_time(l, argv[i], limits[i], &f); break;
		}
	}
	c->rowid = 0;
	int err = query_cursor_begin(c->rows, &f);
	return err ? fail(c, err) : next(base);
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return cursor_of(base)->over;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *to, int nr)
{
	const struct query_sqlite *l = &table_of(base->pVtab)->d->lib;
	struct query_cell v;
	query_cursor_value(cursor_of(base)->rows, (u32)nr, &v);
	switch (v.type) {
	case QUERY_INT: l->result_int64(to, v.i); break;
	case QUERY_REAL: l->result_double(to, v.f); break;
	case QUERY_TEXT: l->result_text(to, v.text, (int)v.len, SQLITE_TRANSIENT); break;
	case QUERY_BLOB: l->result_blob(to, v.text, (int)v.len, SQLITE_TRANSIENT); break;
	default: l->result_null(to);
	}
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = cursor_of(base)->rowid;
	return SQLITE_OK;
}

int query_tables_register(struct query_db *d)
{
	static const sqlite3_module module = {
		.xCreate = connect_table,
		.xConnect = connect_table,
		.xBestIndex = best_index,
		.xDisconnect = disconnect_table,
		.xDestroy = disconnect_table,
		.xOpen = open_cursor,
		.xClose = close_cursor,
		.xFilter = filter,
		.xNext = next,
		.xEof = at_end,
		.xColumn = column,
		.xRowid = rowid,
	};
	return d->lib.create_module(d->db, "sonde", &module, d, NULL) ? -ENOMEM : 0;
}
