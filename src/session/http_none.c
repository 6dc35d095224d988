/* Built without the headers of libmicrohttpd. */
#include "session/http.h"

#include <errno.h>

const char *http_argument(const struct http_request *q, const char *name)
{
	(void)q, (void)name;
	return NULL;
}

int http_open(struct http **ret, struct loop *l, const struct http_opts *o, struct diag *d)
{
	(void)ret, (void)l, (void)o;
	return diag_error(d, -ENOTSUP, "cannot serve pages: built without libmicrohttpd");
}

void http_close(struct http *h)
{
	(void)h;
}

const char *http_url(const struct http *h)
{
	(void)h;
	return "";
}
