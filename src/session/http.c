#include "session/http.h"

#include "base/clock.h"
#include "base/library.h"
#include "base/num.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CONNECTIONS_MAX = 32,
	CONNECTION_BYTES = 16 << 10, /* for the head of a request */
	IDLE_SECONDS = 10,
	TOKEN_BYTES = 16,
	BACKLOG = 16,
};

struct http_library {
	__typeof__(&MHD_start_daemon) start;
	__typeof__(&MHD_stop_daemon) stop;
	__typeof__(&MHD_run) run;
	__typeof__(&MHD_get_timeout) timeout;
	__typeof__(&MHD_get_daemon_info) info;
	__typeof__(&MHD_lookup_connection_value) lookup;
	__typeof__(&MHD_create_response_from_buffer) response;
	__typeof__(&MHD_add_response_header) header;
	__typeof__(&MHD_queue_response) queue;
	__typeof__(&MHD_destroy_response) destroy;
};

struct http {
	struct http_library lib;
	struct http_opts opts;
	struct loop *loop;
	struct loop_source *events, *timer;
	struct MHD_Daemon *daemon;
	int fd; /* the listening socket, until the daemon has it */
	char token[2 * TOKEN_BYTES + 1];
	char url[160];
};

struct http_request {
	const struct http *http;
	struct MHD_Connection *connection;
};

static bool load(struct http_library *l)
{
	static const char *const names[] = {
		"MHD_start_daemon",
		"MHD_stop_daemon",
		"MHD_run",
		"MHD_get_timeout",
		"MHD_get_daemon_info",
		"MHD_lookup_connection_value",
		"MHD_create_response_from_buffer",
		"MHD_add_response_header",
		"MHD_queue_response",
		"MHD_destroy_response",
	};
	return LIBRARY_LOAD("libmicrohttpd.so.12", names, l);
}

const char *http_argument(const struct http_request *q, const char *name)
{
	return q->http->lib.lookup(q->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* Who measures how long it takes learns nothing about the token. */
static bool is_token(const char *given, const char *want)
{
	size_t len = strlen(want);
	if (strlen(given) != len)
		return false;
	unsigned char differs = 0;
	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(given[i] ^ want[i]);
	return !differs;
}

static bool has_token(const struct http_request *q)
{
	const struct http *h = q->http;
	const char *want = h->opts.token ? h->opts.token : h->token;
	const char *given = http_argument(q, "token");
	if (!given) {
		given = h->lib.lookup(q->connection, MHD_HEADER_KIND, "Authorization");
		if (!given || strncasecmp(given, "Bearer ", 7))
			return false;
		given += 7;
	}
	return is_token(given, want);
}

/* "localhost:9435", "127.0.0.1", "[::1]:80": whatever the port, which may be forwarded. */
static bool is_loopback_host(const char *host)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
	for (size_t i = 0; host && i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i]);
		if (strncasecmp(host, names[i], len))
			continue;
		const char *rest = host + len;
		if (!*rest || (*rest == ':' && strspn(rest + 1, "0123456789") == strlen(rest + 1)))
			return true;
	}
	return false;
}

/* NULL: the request may be answered. */
static const char *refusal(const struct http_request *q)
{
	const struct http_library *l = &q->http->lib;
	const char *host = l->lookup(q->connection, MHD_HEADER_KIND, "Host");
	const char *origin = l->lookup(q->connection, MHD_HEADER_KIND, "Origin");
	if (!is_loopback_host(host))
		return "Host is not a name of this machine\n";
	if (origin && (!str_starts(origin, "http://") || strcasecmp(origin + 7, host)))
		return "requests of other sites are refused\n";
	return has_token(q) ? NULL : "the token is missing or wrong\n";
}

static enum MHD_Result reply(const struct http_request *q, unsigned status, const char *type,
			     const char *data, size_t len)
{
	const struct http_library *l = &q->http->lib;
	struct MHD_Response *r = l->response(len, (void *)(uintptr_t)data, MHD_RESPMEM_MUST_COPY);
	if (!r)
		return MHD_NO;
	static const char *const headers[][2] = {
		{ "Cache-Control", "no-store" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" }, /* the token may be in the URL */
		{ "Content-Security-Policy", "frame-ancestors 'none'" },
	};
	bool complete = l->header(r, "Content-Type", type) == MHD_YES;
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		complete &= l->header(r, headers[i][0], headers[i][1]) == MHD_YES;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		complete &= l->header(r, "Allow", "GET, HEAD") == MHD_YES;
	enum MHD_Result done = complete ? l->queue(q->connection, status, r) : MHD_NO;
	l->destroy(r);
	return done;
}

static enum MHD_Result reply_text(const struct http_request *q, unsigned status, const char *text)
{
	return reply(q, status, "text/plain; charset=utf-8", text, strlen(text));
}

static enum MHD_Result reply_page(const struct http_request *q, const struct http_route *route)
{
	struct strbuf page;
	strbuf_init(&page);
	int rc = route->page(q->http->opts.ctx, q, &page);
	if (!rc)
		rc = page.err;
	enum MHD_Result done;
	if (!rc)
		done = reply(q, MHD_HTTP_OK, route->type, page.data ? page.data : "", page.len);
	else if (rc == -ENOENT)
		done = reply_text(q, MHD_HTTP_NOT_FOUND, "not found\n");
	else if (rc == -EINVAL)
		done = reply_text(q, MHD_HTTP_BAD_REQUEST, "invalid argument\n");
	else
		done = reply_text(q, MHD_HTTP_INTERNAL_SERVER_ERROR, strerror(-rc));
	strbuf_done(&page);
	return done;
}

static const struct http_route *find_route(const struct http *h, const char *path)
{
	const struct http_route *first = h->opts.routes;
	if (!strcmp(path, "/"))
		return first->path ? first : NULL;
	for (const struct http_route *r = first; r->path; r++)
		if (!strcmp(r->path, path))
			return r;
	return NULL;
}

/* Called when the head of a request is there, and again when its body is: GET has none. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **state)
{
	static const char head_seen;
	const struct http_request q = { .http = ctx, .connection = c };
	(void)version, (void)data, (void)size;
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return reply_text(&q, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (!*state) {
		*state = (void *)(uintptr_t)&head_seen;
		return MHD_YES;
	}
	const char *why = refusal(&q);
	if (why)
		return reply_text(&q, MHD_HTTP_FORBIDDEN, why);
	const struct http_route *route = find_route(q.http, path);
	return route ? reply_page(&q, route) : reply_text(&q, MHD_HTTP_NOT_FOUND, "not found\n");
}

/* What is ready, and what follows from it at once; a client that is always ready gets no more than so many turns. */
static int serve(void *ctx, u64 what)
{
	enum { TURNS = 32 };
	struct http *h = ctx;
	MHD_UNSIGNED_LONG_LONG ms = 0;
	(void)what;
	for (int i = 0; i < TURNS && !ms; i++) {
		if (h->lib.run(h->daemon) != MHD_YES)
			break;
		if (h->lib.timeout(h->daemon, &ms) != MHD_YES)
			break;
	}
	return 0;
}

/* -EINVAL: not an address; -EADDRNOTAVAIL: not of loopback. */
static int parse_address(const char *text, struct sockaddr_storage *ret, socklen_t *len)
{
	const char *colon = strrchr(text, ':');
	const char *port = colon ? colon + 1 : text;
	char host[64];
	size_t n = colon ? (size_t)(colon - text) : 0;
	u64 number;
	if (n >= sizeof(host) || num_parse_u64(port, 10, &number) || number > UINT16_MAX)
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = 0;
	if (host[0] == '[' && n > 1 && host[n - 1] == ']') {
		struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
					    .sin6_port = htons((u16)number) };
		host[n - 1] = 0;
		if (inet_pton(AF_INET6, host + 1, &in6.sin6_addr) != 1)
			return -EINVAL;
		if (!IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr))
			return -EADDRNOTAVAIL;
		memcpy(ret, &in6, *len = sizeof(in6));
		return 0;
	}
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((u16)number) };
	const char *v4 = !n || !strcmp(host, "localhost") ? "127.0.0.1" : host;
	if (inet_pton(AF_INET, v4, &in.sin_addr) != 1)
		return -EINVAL;
	if (ntohl(in.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
		return -EADDRNOTAVAIL;
	memcpy(ret, &in, *len = sizeof(in));
	return 0;
}

static int bind_address(struct http *h, struct diag *d)
{
	struct sockaddr_storage at;
	socklen_t len;
	const char *text = h->opts.address;
	int rc = parse_address(text, &at, &len);
	if (rc == -EADDRNOTAVAIL) {
		diag_error(d, rc, "cannot listen on %s: only on loopback", text);
		diag_hint(d, "use 127.0.0.1:PORT, and ssh -L PORT:127.0.0.1:PORT from elsewhere");
		return rc;
	}
	if (rc) {
		diag_error(d, rc, "invalid address '%s'", text);
		diag_hint(d, "for example 127.0.0.1:9435, or [::1]:9435");
		return rc;
	}
	const int on = 1;
	h->fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->fd < 0 || setsockopt(h->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(h->fd, (struct sockaddr *)&at, len) || listen(h->fd, BACKLOG) ||
	    getsockname(h->fd, (struct sockaddr *)&at, &len))
		return diag_error(d, -errno, "cannot listen on %s: %s", text, strerror(errno));
	char host[INET6_ADDRSTRLEN] = "";
	bool v6 = at.ss_family == AF_INET6;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	memcpy(&in, &at, sizeof(in));
	memcpy(&in6, &at, sizeof(in6));
	(void)inet_ntop(at.ss_family, v6 ? (void *)&in6.sin6_addr : (void *)&in.sin_addr, host,
			sizeof(host));
	snprintf(h->url, sizeof(h->url), "http://%s%s%s:%u%s%s%s", v6 ? "[" : "", host,
		 v6 ? "]" : "", ntohs(v6 ? in6.sin6_port : in.sin_port), h->opts.routes->path,
		 h->opts.token ? "" : "?token=", h->opts.token ? "" : h->token);
	return 0;
}

static int make_token(struct http *h, struct diag *d)
{
	u8 bytes[TOKEN_BYTES];
	if (h->opts.token && strlen(h->opts.token) < HTTP_TOKEN_MIN)
		return diag_error(d, -EINVAL, "the token is shorter than %d characters",
				  HTTP_TOKEN_MIN);
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -errno;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(h->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* No threads: its epoll is one of our loop's descriptors. */
static int start(struct http *h, struct diag *d)
{
	h->daemon = h->lib.start(MHD_USE_EPOLL, 0, NULL, NULL, on_request, h,
				 MHD_OPTION_LISTEN_SOCKET, h->fd, MHD_OPTION_CONNECTION_LIMIT,
				 (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
				 (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				 (size_t)CONNECTION_BYTES, MHD_OPTION_END);
	if (!h->daemon)
		return diag_error(d, -ENOMEM, "libmicrohttpd does not start");
	h->fd = -1;
	const union MHD_DaemonInfo *info = h->lib.info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return diag_error(d, -ENOTSUP, "libmicrohttpd was built without epoll");
	int rc = loop_add_fd(h->loop, info->epoll_fd, EPOLLIN, serve, h, &h->events);
	/* Idle connections time out by themselves only when it runs. */
	return rc ? rc : loop_add_timer(h->loop, NS_PER_SEC, NS_PER_SEC, serve, h, &h->timer);
}

int http_open(struct http **ret, struct loop *l, const struct http_opts *o, struct diag *d)
{
	struct http *h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->opts = *o;
	h->loop = l;
	h->fd = -1;
	int rc = 0;
	if (!load(&h->lib)) {
		rc = diag_error(d, -ELIBACC, "cannot serve pages: libmicrohttpd is not installed");
		diag_hint(d, "apt-get install libmicrohttpd12");
	}
	if (!rc)
		rc = make_token(h, d);
	if (!rc)
		rc = bind_address(h, d);
	if (!rc)
		rc = start(h, d);
	if (rc) {
		http_close(h);
		return rc;
	}
	*ret = h;
	return 0;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	if (h->events)
		loop_remove(h->loop, h->events);
	if (h->timer)
		loop_remove(h->loop, h->timer);
	if (h->daemon)
		h->lib.stop(h->daemon);
	if (h->fd >= 0)
		close(h->fd);
	free(h);
}

const char *http_url(const struct http *h)
{
	return h->url;
}
