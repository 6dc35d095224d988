/* Built without sqlite: tables are described, and no statement can run. */
#include "session/query.h"

#include <errno.h>

int query_open(struct query **ret, struct symbols *sy, const struct query_opts *o)
{
	return diag_error(sy->diag, -ELIBACC, "this program was built without sqlite");
}

void query_close(struct query *q)
{
}

int query_run(struct query *q, const char *sql, const struct query_sink *to)
{
	return -ELIBACC;
}

void query_report(struct query *q)
{
}
