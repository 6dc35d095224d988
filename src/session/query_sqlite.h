/* sqlite's functions, loaded when the first statement is run; for query_run.c and query_tables.c. */
#pragma once

#include "session/query_impl.h"

#include <sqlite3.h>

struct query_sqlite {
	__typeof__(&sqlite3_open_v2) open;
	__typeof__(&sqlite3_close_v2) close;
	__typeof__(&sqlite3_exec) exec;
	__typeof__(&sqlite3_prepare_v2) prepare;
	__typeof__(&sqlite3_step) step;
	__typeof__(&sqlite3_finalize) finalize;
	__typeof__(&sqlite3_errmsg) errmsg;
	__typeof__(&sqlite3_error_offset) error_offset;
	__typeof__(&sqlite3_limit) limit;
	__typeof__(&sqlite3_db_config) db_config;
	__typeof__(&sqlite3_hard_heap_limit64) heap_limit;
	__typeof__(&sqlite3_set_authorizer) set_authorizer;
	__typeof__(&sqlite3_progress_handler) progress_handler;
	__typeof__(&sqlite3_create_module_v2) create_module;
	__typeof__(&sqlite3_declare_vtab) declare_vtab;
	__typeof__(&sqlite3_vtab_collation) vtab_collation;
	__typeof__(&sqlite3_malloc64) malloc;
	__typeof__(&sqlite3_mprintf) mprintf;
	__typeof__(&sqlite3_free) free;
	__typeof__(&sqlite3_column_count) column_count;
	__typeof__(&sqlite3_column_name) column_name;
	__typeof__(&sqlite3_column_type) column_type;
	__typeof__(&sqlite3_column_int64) column_int64;
	__typeof__(&sqlite3_column_double) column_double;
	__typeof__(&sqlite3_column_text) column_text;
	__typeof__(&sqlite3_column_blob) column_blob;
	__typeof__(&sqlite3_column_bytes) column_bytes;
	__typeof__(&sqlite3_value_type) value_type;
	__typeof__(&sqlite3_value_int64) value_int64;
	__typeof__(&sqlite3_value_double) value_double;
	__typeof__(&sqlite3_value_text) value_text;
	__typeof__(&sqlite3_result_null) result_null;
	__typeof__(&sqlite3_result_int64) result_int64;
	__typeof__(&sqlite3_result_double) result_double;
	__typeof__(&sqlite3_result_text) result_text;
	__typeof__(&sqlite3_result_blob) result_blob;
};

struct query_db {
	struct query *q;
	struct query_sqlite lib;
	sqlite3 *db;
	int err; /* of a cursor: what ended the statement */
};

/* Registers the module that all tables are of. 0 or negative errno. */
int query_tables_register(struct query_db *d) must_check;
