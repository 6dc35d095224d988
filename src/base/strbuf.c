#include "base/strbuf.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

void strbuf_init(struct strbuf *s)
{
	*s = (struct strbuf){ 0 };
}

void strbuf_init_drain(struct strbuf *s, size_t cap, int (*drain)(void *, const char *, size_t),
		       void *ctx)
{
	*s = (struct strbuf){ .drain = drain, .ctx = ctx };
	s->data = malloc(cap);
	if (s->data)
		s->cap = cap;
	else
		s->err = -ENOMEM;
}

int strbuf_drain_fd(void *ctx, const char *data, size_t len)
{
	int fd = *(int *)ctx;
	while (len) {
		ssize_t n = write(fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

void strbuf_done(struct strbuf *s)
{
	free(s->data);
	strbuf_init(s);
}

int strbuf_flush(struct strbuf *s)
{
	if (s->drain && s->len && !s->err)
		s->err = s->drain(s->ctx, s->data, s->len);
	if (s->drain)
		s->len = 0;
	return s->err;
}

void strbuf_pass(struct strbuf *s, const char *data, size_t len)
{
	if (!s->drain || len < s->cap / 2)
		strbuf_add(s, data, len);
	else if (!strbuf_flush(s))
		s->err = s->drain(s->ctx, data, len);
}

void strbuf_reset(struct strbuf *s)
{
	s->len = 0;
	s->err = 0;
}

/* Keeps one byte free for the terminator. */
char *strbuf_room_slow(struct strbuf *s, size_t n)
{
	if (s->err)
		return NULL;
	if (s->drain && s->len) {
		if (strbuf_flush(s))
			return NULL;
		if (s->cap > n)
			return s->data;
	}
	size_t need, cap = s->cap ? s->cap : 64;
	if (__builtin_add_overflow(s->len, n, &need) || need >= SIZE_MAX / 2) {
		s->err = -ENOMEM;
		return NULL;
	}
	while (cap <= need)
		cap *= 2;
	char *data = realloc(s->data, cap);
	if (!data) {
		s->err = -ENOMEM;
		return NULL;
	}
	s->data = data;
	s->cap = cap;
	return data + s->len;
}

const char *strbuf_cstr(struct strbuf *s)
{
	char *to = strbuf_room(s, 1);
	if (!to)
		return "";
	*to = '\0';
	return s->data;
}

char *strbuf_steal(struct strbuf *s)
{
	(void)strbuf_cstr(s);
	if (s->err) {
		strbuf_done(s);
		return NULL;
	}
	char *data = s->data;
	strbuf_init(s);
	return data;
}

void strbuf_fill(struct strbuf *s, char c, size_t n)
{
	char *to = strbuf_room(s, n);
	if (!to)
		return;
	memset(to, c, n);
	s->len += n;
}

void strbuf_left(struct strbuf *s, const char *str, size_t width)
{
	size_t len = strlen(str);
	strbuf_add(s, str, len);
	if (len < width)
		strbuf_fill(s, ' ', width - len);
}

void strbuf_right(struct strbuf *s, const char *str, size_t width)
{
	size_t len = strlen(str);
	if (len < width)
		strbuf_fill(s, ' ', width - len);
	strbuf_add(s, str, len);
}

void strbuf_vprintf(struct strbuf *s, const char *fmt, va_list ap)
{
	char *to = strbuf_room(s, 128);
	if (!to)
		return;
	va_list again;
	va_copy(again, ap);
	size_t room = s->cap - s->len;
	int n = vsnprintf(to, room, fmt, ap);
	if (n < 0) {
		s->err = -EINVAL;
	} else if ((size_t)n < room) {
		s->len += (size_t)n;
	} else {
		to = strbuf_room(s, (size_t)n + 1);
		if (to)
			s->len += (size_t)vsnprintf(to, (size_t)n + 1, fmt, again);
	}
	va_end(again);
}

void strbuf_printf(struct strbuf *s, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	strbuf_vprintf(s, fmt, ap);
	va_end(ap);
}
