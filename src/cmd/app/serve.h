/* --listen and --token-file: pages on loopback, and the line that says where. */
#pragma once

#include "cmd/app/app.h"
#include "session/http.h"

enum { APP_TOKEN_SIZE = 4096 };

struct app_serve {
	struct http *http; /* NULL: nothing is served */
	char token[APP_TOKEN_SIZE]; /* of the file, as long as it serves */
};

struct app_serve_opts {
	const char *address;
	const char *token_file; /* NULL: a random token */
	const struct http_route *routes;
	void *ctx; /* of the routes */
};

/* Serves while the loop runs, and prints the URL on standard error. 0, or negative errno with a diag. */
int app_serve(struct app *app, struct app_serve *s, struct loop *l,
	      const struct app_serve_opts *o) must_check;
/* Before the loop is freed. */
void app_serve_end(struct app_serve *s);
