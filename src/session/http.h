/*
 * Pages for a browser or a scraper on this machine: routes are rows of a table, pages are made when they are asked for, on the thread of the
 * loop. Nothing blocks it: a client that never reads costs one connection until it times out.
 *
 * Other users of the machine and pages of other sites can reach loopback, too. So a request has to carry the token (in the URL, or as
 * "Authorization: Bearer TOKEN"), its Host has to be a name of loopback (or else DNS could be made to lead here), and its Origin, where a
 * browser sends one, the same as its Host.
 *
 * libmicrohttpd is loaded when a server is opened.
 */
#pragma once

#include "base/diag.h"
#include "base/loop.h"
#include "base/strbuf.h"

struct http;
struct http_request;

/* The value of an argument ("?top=10"); NULL: not given. It is the client's text: check it. */
const char *http_argument(const struct http_request *q, const char *name);

struct http_route {
	const char *path; /* "/metrics" */
	const char *type; /* "text/html; charset=utf-8" */
	/* Writes the page: 0, -ENOENT (404), -EINVAL (400: an argument is wrong), or another errno (500). */
	int (*page)(void *ctx, const struct http_request *q, struct strbuf *to);
};

struct http_opts {
	const char *address; /* "127.0.0.1:9435", "[::1]:9435", "localhost:9435", "9435"; port 0: any that is free */
	const char *token; /* NULL: one is made, and http_url() has it */
	const struct http_route *routes; /* end with a NULL path; the first one is also "/" */
	void *ctx;
};

enum { HTTP_TOKEN_MIN = 16 }; /* characters of a token that somebody chose */

/* Serves while the loop runs. Negative errno with a diag. */
int http_open(struct http **ret, struct loop *l, const struct http_opts *o,
	      struct diag *d) must_check;
void http_close(struct http *h); /* before the loop is freed; NULL is allowed */

/* "http://127.0.0.1:9435/metrics?token=...": of the first route, with the token only where it was made here. */
const char *http_url(const struct http *h);
