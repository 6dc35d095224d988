/* Pages on loopback: who may have them, and that a client which never reads holds up nobody. */
#include "tap.h"

#include "session/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void die(const char *what)
{
	ok(false, "%s: %s", what, strerror(errno));
	exit(1);
}

enum { BIG_BYTES = 16 << 20 };
static const char token[] = "0123456789abcdef-token";

struct asked {
	int nr;
	char top[16];
};

static int hello(void *ctx, const struct http_request *q, struct strbuf *to)
{
	struct asked *a = ctx;
	const char *top = http_argument(q, "top");
	a->nr++;
	snprintf(a->top, sizeof(a->top), "%s", top ? top : "");
	strbuf_str(to, "hello\n");
	return 0;
}

static int big(void *ctx, const struct http_request *q, struct strbuf *to)
{
	(void)ctx, (void)q;
	strbuf_fill(to, 'x', BIG_BYTES);
	return 0;
}

static int broken(void *ctx, const struct http_request *q, struct strbuf *to)
{
	(void)ctx, (void)q, (void)to;
	return -EIO;
}

static const struct http_route routes[] = {
	{ "/hello", "text/plain", hello },
	{ "/big", "text/plain", big },
	{ "/broken", "text/plain", broken },
	{ 0 },
};

struct server {
	struct loop *loop;
	struct http *http;
	struct asked asked;
	u16 port;
};

static int connect_to(const struct server *s)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(s->port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)))
		die("cannot connect");
	return fd;
}

static void send_text(int fd, const char *text)
{
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
		die("cannot send");
}

/* The answer's first bytes, read while the server works, until it closes the connection. */
static void read_answer(struct server *s, int fd, char *to, size_t size)
{
	size_t len = 0;
	for (;;) {
		ssize_t n = recv(fd, to + len, size - 1 - len, MSG_DONTWAIT);
		if (n > 0) {
			len += (size_t)n;
			continue;
		}
		if (!n || (errno != EAGAIN && errno != EINTR))
			break;
		if (loop_step(s->loop, 100) < 0)
			break;
	}
	to[len] = 0;
}

static const char *ask(struct server *s, const char *first, const char *headers, char answer[4096])
{
	char text[1024];
	int fd = connect_to(s);
	snprintf(text, sizeof(text), "%s HTTP/1.1\r\nConnection: close\r\n%s\r\n", first, headers);
	send_text(fd, text);
	read_answer(s, fd, answer, 4096);
	close(fd);
	return answer;
}

static void gives(struct server *s, const char *first, const char *headers, const char *status,
		  const char *what)
{
	char answer[4096];
	ask(s, first, headers, answer);
	char *eol = strstr(answer, "\r\n");
	if (eol)
		*eol = 0;
	ok(strstr(answer, status) != NULL, "%s: %s (%s)", what, status, answer);
}

#define HOST   "Host: localhost:1\r\n"
#define BEARER "Authorization: Bearer 0123456789abcdef-token\r\n"

static void test_who(struct server *s)
{
	gives(s, "GET /hello?token=0123456789abcdef-token&top=3", HOST, " 200 ",
	      "with the token in the URL");
	ok(s->asked.nr == 1 && !strcmp(s->asked.top, "3"), "the page is made, its argument known");
	gives(s, "GET /", HOST BEARER, " 200 ", "the first page at /, with the token in a header");
	gives(s, "HEAD /hello", HOST BEARER, " 200 ", "only the head of a page");
	gives(s, "GET /hello", "Host: [::1]:80\r\n" BEARER, " 200 ", "by another name of loopback");
	gives(s, "GET /hello", "Host: 127.0.0.1\r\n" BEARER, " 200 ", "without a port");
	gives(s, "GET /hello", HOST "Origin: http://localhost:1\r\n" BEARER, " 200 ",
	      "from a page of its own");
	int before = s->asked.nr;
	gives(s, "GET /hello", HOST, " 403 ", "without the token");
	gives(s, "GET /hello?token=0123456789abcdef-tokem", HOST, " 403 ", "with a wrong one");
	gives(s, "GET /hello?token=", HOST, " 403 ", "with an empty one");
	gives(s, "GET /hello", "Host: evil.example:1\r\n" BEARER, " 403 ", "by a foreign name");
	gives(s, "GET /hello", "Host: localhost.evil.example\r\n" BEARER, " 403 ",
	      "by one that begins like ours");
	gives(s, "GET /hello", HOST "Origin: http://evil.example\r\n" BEARER, " 403 ",
	      "from a page of another site");
	gives(s, "GET /hello", HOST "Origin: null\r\n" BEARER, " 403 ", "from a page of nowhere");
	gives(s, "POST /hello", HOST BEARER "Content-Length: 0\r\n", " 405 ", "what changes things");
	ok(s->asked.nr == before, "and no page was made for any of these");
	gives(s, "GET /nosuch", HOST BEARER, " 404 ", "a page that is not there");
	gives(s, "GET /broken", HOST BEARER, " 500 ", "a page that fails");
}

static void test_answer(struct server *s)
{
	char answer[4096];
	ask(s, "GET /hello", HOST BEARER, answer);
	ok(strstr(answer, "\r\n\r\nhello\n") != NULL, "the page itself");
	ok(strstr(answer, "Content-Type: text/plain\r\n") != NULL, "of its type");
	ok(strstr(answer, "no-store") != NULL, "kept by nobody");
}

static void test_slow(struct server *s)
{
	enum { SLOW = 8 };
	int fds[SLOW];
	for (int i = 0; i < SLOW; i++) {
		fds[i] = connect_to(s);
		send_text(fds[i], "GET /big HTTP/1.1\r\n" HOST BEARER "\r\n");
	}
	int half = connect_to(s);
	send_text(half, "GET /hello HTTP/1.1\r\nHost: loc");
	for (int i = 0; i < 3; i++)
		ok(loop_step(s->loop, 100) >= 0, "the server goes on");
	gives(s, "GET /hello", HOST BEARER, " 200 ",
	      "while others never read, or never finish asking");
	char *page = malloc(BIG_BYTES + 4096);
	if (!page)
		die("no memory");
	shutdown(fds[0], SHUT_WR);
	read_answer(s, fds[0], page, BIG_BYTES + 4096);
	char *body = strstr(page, "\r\n\r\n");
	ok(body && strlen(body + 4) == BIG_BYTES, "who reads after all gets all of it");
	free(page);
	for (int i = 0; i < SLOW; i++)
		close(fds[i]);
	close(half);
	gives(s, "GET /hello", HOST BEARER, " 200 ", "after they have gone");
}

static void refuses(struct server *s, const char *address, const char *chosen, int err,
		    const char *what)
{
	struct http *none = NULL;
	const struct http_opts o = { .address = address, .token = chosen, .routes = routes };
	int rc = http_open(&none, s->loop, &o, NULL);
	ok(rc == err, "%s (%d, wanted %d)", what, rc, err);
}

static void test_addresses(struct server *s)
{
	refuses(s, "0.0.0.0:0", NULL, -EADDRNOTAVAIL, "all addresses of the machine");
	refuses(s, "[::]:0", NULL, -EADDRNOTAVAIL, "all of IPv6");
	refuses(s, "10.0.0.1:1", NULL, -EADDRNOTAVAIL, "one that is not of loopback");
	refuses(s, "127.0.0.1:", NULL, -EINVAL, "no port");
	refuses(s, "127.0.0.1:70000", NULL, -EINVAL, "a port too large");
	refuses(s, "example.org:80", NULL, -EINVAL, "a name");
	refuses(s, "0", "short", -EINVAL, "a short token");
	char taken[32];
	snprintf(taken, sizeof(taken), "127.0.0.1:%u", s->port);
	refuses(s, taken, NULL, -EADDRINUSE, "a port that is taken");
	struct http *own = NULL;
	const struct http_opts o = { .address = "localhost:0", .routes = routes };
	ok(!http_open(&own, s->loop, &o, NULL), "a token of its own");
	const char *at = own ? strstr(http_url(own), "/hello?token=") : NULL;
	ok(at && strlen(at) == strlen("/hello?token=") + 32, "is in its URL");
	http_close(own);
}

int main(void)
{
	struct server s = { .loop = loop_new() };
	struct diag d;
	diag_init(&d);
	const struct http_opts o = {
		.address = "127.0.0.1:0", .token = token, .routes = routes, .ctx = &s.asked
	};
	int rc = http_open(&s.http, s.loop, &o, &d);
	if (rc == -ELIBACC || rc == -ENOTSUP) {
		skip("pages on loopback", "libmicrohttpd is not installed");
		return done_testing();
	}
	ok(!rc, "a server on any port");
	if (rc)
		return done_testing();
	ok(!strstr(http_url(s.http), token), "a token that was chosen is not told");
	const char *colon = strrchr(http_url(s.http), ':');
	s.port = (u16)strtoul(colon + 1, NULL, 10);
	test_who(&s);
	test_answer(&s);
	test_slow(&s);
	test_addresses(&s);
	http_close(s.http);
	loop_free(s.loop);
	diag_done(&d);
	return done_testing();
}
