/*
 * Remote write 1.0: WriteRequest { repeated TimeSeries timeseries = 1; }, TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; },
 * Label { string name = 1; string value = 2; }, Sample { double value = 1; int64 timestamp = 2; }. Labels are sorted by name.
 */
#include "session/what_push.h"

#include "base/clock.h"
#include "base/str.h"
#include "session/what_openmetrics.h"

#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	QUEUE_MAX = 300, /* requests: five minutes of seconds */
	ANSWER_SECONDS = 10, /* that a server may take */
	HOST_SIZE = 256,
	NS_PER_MS = 1000000,
};

struct push_request {
	struct strbuf body; /* in snappy */
	u64 nr_samples;
};

struct what_push {
	struct loop *loop;
	struct sockaddr_storage address;
	socklen_t address_len;
	char host[HOST_SIZE], path[1024]; /* host: with the port, as in the URL */
	char instance[65];
	struct push_request queue[QUEUE_MAX]; /* a ring, oldest first */
	size_t first, nr;
	struct what_push_counts counts;
	char trouble[128];

	/* The request that is on its way: the first of the queue. */
	int fd; /* -1: none */
	struct loop_source *source, *timer;
	struct strbuf out;
	size_t sent;
	char answer[64];
	size_t answer_len;
	bool connected;
};

/* ---- the format ---- */

static void put_varint(struct strbuf *to, u64 v)
{
	for (; v >= 0x80; v >>= 7)
		strbuf_char(to, (char)(v | 0x80));
	strbuf_char(to, (char)v);
}

enum { BYTES_FIELD = 2, FIXED64_FIELD = 1, VARINT_FIELD = 0 };

static void put_tag(struct strbuf *to, unsigned field, unsigned type)
{
	put_varint(to, field << 3 | type);
}

static void put_bytes(struct strbuf *to, unsigned field, const void *data, size_t len)
{
	put_tag(to, field, BYTES_FIELD);
	put_varint(to, len);
	strbuf_add(to, data, len);
}

struct encoding {
	struct strbuf label, series;
};

static void put_label(struct encoding *e, const char *name, const char *value)
{
	strbuf_reset(&e->label);
	put_bytes(&e->label, 1, name, strlen(name));
	put_bytes(&e->label, 2, value, strlen(value));
	put_bytes(&e->series, 1, strbuf_cstr(&e->label), e->label.len);
}

static void put_sample(struct encoding *e, double value, u64 ms)
{
	strbuf_reset(&e->label);
	put_tag(&e->label, 1, FIXED64_FIELD);
	strbuf_add(&e->label, &value, sizeof(value));
	put_tag(&e->label, 2, VARINT_FIELD);
	put_varint(&e->label, ms);
	put_bytes(&e->series, 2, strbuf_cstr(&e->label), e->label.len);
}

int what_push_encode(const struct what_engine *w, const char *instance, struct strbuf *to, u64 *nr)
{
	const struct series *s = &w->series;
	struct encoding e;
	struct strbuf name;
	strbuf_init(&e.label);
	strbuf_init(&e.series);
	strbuf_init(&name);
	*nr = 0;
	for (size_t i = 0; s->nr_rows && i < s->columns.nr; i++) {
		double v = what_metric(w, i, &name);
		if (isnan(v))
			continue;
		strbuf_reset(&e.series);
		put_label(&e, "__name__", strbuf_cstr(&name));
		put_label(&e, "instance", instance);
		put_label(&e, "job", "sonde");
		if (*s->columns.at[i].part.row)
			put_label(&e, "name", s->columns.at[i].part.row);
		put_sample(&e, v, series_time(s, s->nr_rows - 1) / NS_PER_MS);
		put_bytes(to, 1, strbuf_cstr(&e.series), e.series.len);
		++*nr;
	}
	int err = e.label.err ? e.label.err : e.series.err ? e.series.err : name.err;
	strbuf_done(&e.label);
	strbuf_done(&e.series);
	strbuf_done(&name);
	return err ? err : to->err;
}

/* Literals only: these requests are a few kilobytes, and looking for repetitions would cost more than it saves. */
void what_push_snappy(const void *data, size_t len, struct strbuf *to)
{
	enum { LITERAL_MAX = 1 << 16, LENGTH_IN_TWO = 61 << 2 };
	const char *at = data;
	put_varint(to, len);
	while (len) {
		size_t n = min(len, (size_t)LITERAL_MAX);
		strbuf_char(to, (char)LENGTH_IN_TWO);
		strbuf_char(to, (char)((n - 1) & 0xff));
		strbuf_char(to, (char)((n - 1) >> 8));
		strbuf_add(to, at, n);
		at += n;
		len -= n;
	}
}

/* ---- the queue ---- */

static struct push_request *oldest(struct what_push *p)
{
	return &p->queue[p->first];
}

static void drop_oldest(struct what_push *p)
{
	strbuf_done(&oldest(p)->body);
	p->first = (p->first + 1) % QUEUE_MAX;
	p->nr--;
}

/* ---- a request ---- */

static void end_request(struct what_push *p)
{
	if (p->source)
		loop_remove(p->loop, p->source);
	if (p->timer)
		loop_remove(p->loop, p->timer);
	if (p->fd >= 0)
		close(p->fd);
	p->source = p->timer = NULL;
	p->fd = -1;
	p->sent = p->answer_len = 0;
	p->connected = false;
}

/* It stays in the queue, and is tried again with the next row. */
static int fail(struct what_push *p, const char *why)
{
	(void)snprintf(p->trouble, sizeof(p->trouble), "%s", why);
	p->counts.refusals++;
	end_request(p);
	return 0;
}

static int begin_request(struct what_push *p);

/* 2xx: taken. 5xx and 429: later. Others will not be taken later either. */
static int read_status(struct what_push *p)
{
	unsigned status = 0;
	p->answer[p->answer_len] = 0;
	if (sscanf(p->answer, "HTTP/1.%*1u %3u", &status) != 1)
		return fail(p, "the answer is not HTTP");
	if (status / 100 == 2) {
		p->counts.samples += oldest(p)->nr_samples;
		p->trouble[0] = 0;
	} else {
		char why[40];
		(void)snprintf(why, sizeof(why), "the server answered with status %u", status);
		(void)fail(p, why);
		if (status / 100 == 5 || status == 429)
			return 0;
		p->counts.lost += oldest(p)->nr_samples;
	}
	end_request(p);
	drop_oldest(p);
	return p->nr ? begin_request(p) : 0;
}

static int read_answer(struct what_push *p)
{
	size_t room = sizeof(p->answer) - 1 - p->answer_len;
	ssize_t n = recv(p->fd, p->answer + p->answer_len, room, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return fail(p, strerror(errno));
	p->answer_len += (size_t)n;
	bool whole = memchr(p->answer, '\n', p->answer_len) || (size_t)n == room;
	if (!n && !whole)
		return fail(p, "the server closed the connection");
	return whole ? read_status(p) : 0;
}

static int on_ready(void *ctx, u64 what);

static int wait_for(struct what_push *p, u32 events)
{
	if (p->source)
		loop_remove(p->loop, p->source);
	p->source = NULL;
	return loop_add_fd(p->loop, p->fd, events, on_ready, p, &p->source);
}

static int send_some(struct what_push *p)
{
	while (p->sent < p->out.len) {
		ssize_t n = send(p->fd, p->out.data + p->sent, p->out.len - p->sent, MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n < 0)
			return fail(p, strerror(errno));
		p->sent += (size_t)n;
	}
	return wait_for(p, EPOLLIN);
}

static int on_ready(void *ctx, u64 what)
{
	struct what_push *p = ctx;
	int err = 0;
	socklen_t len = sizeof(err);
	(void)what;
	if (!p->connected && (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &err, &len) || err))
		return fail(p, strerror(err ? err : errno));
	p->connected = true;
	return p->sent < p->out.len ? send_some(p) : read_answer(p);
}

static int on_silence(void *ctx, u64 times)
{
	struct what_push *p = ctx;
	(void)times;
	p->timer = NULL; /* it was due once */
	return fail(p, "the server does not answer");
}

static int begin_request(struct what_push *p)
{
	const struct push_request *r = oldest(p);
	strbuf_reset(&p->out);
	strbuf_printf(&p->out,
		      "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: sonde\r\n"
		      "Content-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\n"
		      "X-Prometheus-Remote-Write-Version: 0.1.0\r\nContent-Length: %zu\r\n"
		      "Connection: close\r\n\r\n",
		      p->path, p->host, r->body.len);
	strbuf_add(&p->out, r->body.data, r->body.len);
	if (p->out.err)
		return p->out.err;
	p->fd = socket(p->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->fd < 0)
		return fail(p, strerror(errno));
	if (connect(p->fd, (struct sockaddr *)&p->address, p->address_len) && errno != EINPROGRESS)
		return fail(p, strerror(errno));
	int err = loop_add_timer(p->loop, ANSWER_SECONDS * NS_PER_SEC, 0, on_silence, p, &p->timer);
	return err ? err : wait_for(p, EPOLLOUT);
}

int what_push_row(struct what_push *p, const struct what_engine *w)
{
	struct strbuf body;
	u64 nr = 0;
	strbuf_init(&body);
	int err = what_push_encode(w, p->instance, &body, &nr);
	if (!err && nr) {
		/* Full: the oldest is given up, even if it is on its way. */
		if (p->nr == QUEUE_MAX) {
			end_request(p);
			p->counts.lost += oldest(p)->nr_samples;
			drop_oldest(p);
		}
		struct push_request *r = &p->queue[(p->first + p->nr) % QUEUE_MAX];
		strbuf_init(&r->body);
		r->nr_samples = nr;
		what_push_snappy(body.data, body.len, &r->body);
		err = r->body.err;
		p->nr++;
	}
	strbuf_done(&body);
	if (err)
		return err;
	return p->fd < 0 && p->nr ? begin_request(p) : 0;
}

int what_push_again(struct what_push *p)
{
	if (p->fd >= 0 || !p->nr)
		return 0;
	int err = begin_request(p);
	return err ? err : 1;
}

bool what_push_is_done(const struct what_push *p)
{
	return !p->nr;
}

struct what_push_counts what_push_counts(const struct what_push *p)
{
	struct what_push_counts c = p->counts;
	for (size_t i = 0; i < p->nr; i++)
		c.waiting += p->queue[(p->first + i) % QUEUE_MAX].nr_samples;
	return c;
}

const char *what_push_trouble(const struct what_push *p)
{
	return *p->trouble ? p->trouble : NULL;
}

/* ---- the URL ---- */

static int bad_url(const char *url, struct diag *d)
{
	diag_error(d, -EINVAL, "invalid URL '%s'", url);
	diag_hint(d, "for example http://127.0.0.1:8428/api/v1/write");
	return -EINVAL;
}

/* "http://HOST[:PORT]/PATH", HOST maybe in brackets. */
static int parse_url(struct what_push *p, const char *url, struct diag *d)
{
	char host[HOST_SIZE];
	if (str_starts(url, "https://")) {
		diag_error(d, -EINVAL, "cannot push to '%s': HTTPS is not supported", url);
		diag_hint(d, "push to an agent on this machine, or through a tunnel");
		return -EINVAL;
	}
	if (!str_starts(url, "http://"))
		return bad_url(url, d);
	const char *at = url + strlen("http://");
	size_t len = strcspn(at, "/?#"), path = strlen(at + len);
	if (!len || len >= sizeof(p->host) || path >= sizeof(p->path) ||
	    strcspn(url, " \t\r\n@") != strlen(url))
		return bad_url(url, d);
	memcpy(p->host, at, len);
	(void)snprintf(p->path, sizeof(p->path), "%s%s", at[len] == '/' ? "" : "/", at + len);
	(void)snprintf(host, sizeof(host), "%s", p->host);
	char *name = host, *port = strrchr(host, ':');
	if (*host == '[') {
		char *end = strchr(host, ']');
		if (!end)
			return bad_url(url, d);
		*end = 0;
		name++;
		port = end[1] == ':' ? end + 1 : NULL;
	}
	if (port)
		*port++ = 0;
	struct addrinfo *found = NULL, want = { .ai_socktype = SOCK_STREAM };
	int rc = getaddrinfo(name, port ? port : "80", &want, &found);
	if (rc)
		return diag_error(d, -ENOENT, "cannot push to '%s': %s", url, gai_strerror(rc));
	memcpy(&p->address, found->ai_addr, found->ai_addrlen);
	p->address_len = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

struct what_push *what_push_open(struct loop *l, const char *url, struct diag *d)
{
	struct what_push *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->loop = l;
	p->fd = -1;
	strbuf_init(&p->out);
	(void)gethostname(p->instance, sizeof(p->instance) - 1);
	int err = parse_url(p, url, d);
	if (!err)
		return p;
	what_push_close(p);
	errno = -err;
	return NULL;
}

void what_push_close(struct what_push *p)
{
	if (!p)
		return;
	end_request(p);
	while (p->nr)
		drop_oldest(p);
	strbuf_done(&p->out);
	free(p);
}
