#include "cmd/app/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first line of the file that a scraper reads, too. */
static int read_token(struct app_serve *s, const char *path, struct diag *d)
{
	char *to = s->token;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, to, APP_TOKEN_SIZE - 1);
	if (n < 0)
		return diag_error(d, -errno, "cannot read '%s': %s", path, strerror(errno));
	to[n] = 0;
	to[strcspn(to, "\r\n")] = 0;
	return *to ? 0 : diag_error(d, -EINVAL, "no token in '%s'", path);
}

int app_serve(struct app *app, struct app_serve *s, struct loop *l, const struct app_serve_opts *o)
{
	int err = o->token_file ? read_token(s, o->token_file, &app->diag) : 0;
	struct http_opts ho = { .address = o->address,
				.token = o->token_file ? s->token : NULL,
				.routes = o->routes,
				.ctx = o->ctx };
	if (!err)
		err = http_open(&s->http, l, &ho, &app->diag);
	if (err)
		return err;
	strbuf_printf(&app->err, "serving %s\n", http_url(s->http));
	if (getenv("SSH_CONNECTION"))
		strbuf_printf(&app->err, "hint: from another machine: ssh -L PORT:127.0.0.1:PORT, "
					 "with the port above\n");
	return app_flush(app);
}

void app_serve_end(struct app_serve *s)
{
	http_close(s->http);
	s->http = NULL;
}
