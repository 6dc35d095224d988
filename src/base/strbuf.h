/*
 * A growing string with a sticky failure: callers append without looking and ask once at the end.
 * With a drain it becomes a buffered writer: when the buffer is full it is handed to the drain and starts over.
 * Everything that renders text, renders into one of these.
 */
#pragma once

#include "base/num.h"
#include "base/types.h"

#include <stdarg.h>
#include <string.h>

struct strbuf {
	char *data; /* NUL-terminated after strbuf_cstr() */
	size_t len;
	size_t cap;
	int err; /* 0, -ENOMEM, or what the drain returned */
	int (*drain)(void *ctx, const char *data, size_t len);
	void *ctx;
	bool screen; /* what is added ends on a terminal: names are made printable (base/printable.h) */
};

void strbuf_init(struct strbuf *s);
/* cap: bytes kept before drain is called; the drain returns 0 or negative errno. */
void strbuf_init_drain(struct strbuf *s, size_t cap, int (*drain)(void *, const char *, size_t),
		       void *ctx);
/* A drain that writes everything to the file descriptor *ctx (an int). */
int strbuf_drain_fd(void *ctx, const char *data, size_t len);
void strbuf_done(struct strbuf *s);

/* Hands what is held to the drain; 0 or the sticky error. */
int strbuf_flush(struct strbuf *s);
void strbuf_reset(struct strbuf *s);
/* Borrowed, NUL-terminated, until the next append; "" when memory was out. */
const char *strbuf_cstr(struct strbuf *s);
/* The caller's; NULL when memory was out at any time. Leaves s empty. */
char *strbuf_steal(struct strbuf *s);

/* Room for n bytes at the end, or NULL; strbuf_commit says how many were used. */
char *strbuf_room_slow(struct strbuf *s, size_t n);
static inline char *strbuf_room(struct strbuf *s, size_t n)
{
	return likely(s->cap - s->len > n) ? s->data + s->len : strbuf_room_slow(s, n);
}
static inline void strbuf_commit(struct strbuf *s, size_t n)
{
	s->len += n;
}

static inline void strbuf_add(struct strbuf *s, const void *data, size_t len)
{
	char *to = strbuf_room(s, len);
	if (unlikely(!to))
		return;
	if (likely(len)) /* nothing may come from nowhere: (NULL, 0) */
		memcpy(to, data, len);
	s->len += len;
}
/* The same for long texts: what is too long for the buffer of a writer goes to the drain without a copy. */
void strbuf_pass(struct strbuf *s, const char *data, size_t len);
static inline void strbuf_str(struct strbuf *s, const char *str)
{
	strbuf_add(s, str, strlen(str));
}
static inline void strbuf_char(struct strbuf *s, char c)
{
	char *to = strbuf_room(s, 1);
	if (unlikely(!to))
		return;
	*to = c;
	s->len++;
}
static inline void strbuf_u64(struct strbuf *s, u64 v)
{
	char *to = strbuf_room(s, NUM_DIGITS_MAX);
	if (likely(to))
		s->len += num_u64(to, v);
}
static inline void strbuf_s64(struct strbuf *s, s64 v)
{
	char *to = strbuf_room(s, NUM_DIGITS_MAX);
	if (likely(to))
		s->len += num_s64(to, v);
}
static inline void strbuf_hex(struct strbuf *s, u64 v)
{
	char *to = strbuf_room(s, NUM_DIGITS_MAX);
	if (likely(to))
		s->len += num_hex(to, v);
}
/* LEB128: seven bits a byte, lowest first; all but the last have the top bit set. What protobuf calls a varint. */
static inline void strbuf_leb128(struct strbuf *s, u64 v)
{
	enum { LONGEST = 10 };
	char *to = strbuf_room(s, LONGEST);
	if (unlikely(!to))
		return;
	for (; v >= 0x80; v >>= 7, s->len++)
		*to++ = (char)(v | 0x80);
	*to = (char)v;
	s->len++;
}
void strbuf_fill(struct strbuf *s, char c, size_t n);
/* str, then blanks (or blanks, then str) up to width; never cut. */
void strbuf_left(struct strbuf *s, const char *str, size_t width);
void strbuf_right(struct strbuf *s, const char *str, size_t width);
void strbuf_printf(struct strbuf *s, const char *fmt, ...) printf_like(2, 3);
void strbuf_vprintf(struct strbuf *s, const char *fmt, va_list ap) printf_like(2, 0);
