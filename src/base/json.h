/*
 * A JSON writer onto a strbuf: values go out as they come, nothing is kept but the nesting. What does not fit the grammar
 * (a value without a key in an object, an end that does not match) is remembered and told by json_end().
 *
 *	struct json j;
 *	json_begin(&j, out, JSON_PRETTY);
 *	json_object(&j);
 *	json_key(&j, "cpus");
 *	json_u64(&j, 8);
 *	json_object_end(&j);
 *	return json_end(&j);
 */
#pragma once

#include "base/strbuf.h"

enum { JSON_DEPTH_MAX = 64 };
enum json_style { JSON_COMPACT, JSON_PRETTY };

struct json {
	struct strbuf *to;
	enum json_style style;
	u64 objects; /* bit per level: an object, else an array */
	unsigned depth;
	bool filled; /* the innermost level has an element, or the whole has its value */
	bool keyed; /* a key waits for its value */
	int err;
};

void json_begin(struct json *j, struct strbuf *to, enum json_style style);
/* Ends the line. 0; -EINVAL when calls did not make one whole value; -E2BIG when too deep; or the strbuf's error. */
int json_end(struct json *j) must_check;

void json_object(struct json *j);
void json_object_end(struct json *j);
void json_array(struct json *j);
void json_array_end(struct json *j);
void json_key(struct json *j, const char *key);

/* Bytes that are not UTF-8 become U+FFFD, one for each broken sequence. NULL is null. */
void json_str(struct json *j, const char *s);
void json_strn(struct json *j, const char *s, size_t len);
void json_u64(struct json *j, u64 v);
void json_s64(struct json *j, s64 v);
/* The shortest text that reads back as the same number; null for what JSON has no word for (NaN, infinity). */
void json_double(struct json *j, double v);
/* `part` is in units of 10^-digits and less than one; zeros at its end are not written. */
void json_decimal(struct json *j, u64 whole, u64 part, unsigned digits);
void json_bool(struct json *j, bool v);
void json_null(struct json *j);
/* A value that is JSON already, and is not looked at. */
void json_value(struct json *j, const char *text, size_t len);

/* Key and value in one. */
void json_put_str(struct json *j, const char *key, const char *s);
void json_put_u64(struct json *j, const char *key, u64 v);
void json_put_s64(struct json *j, const char *key, s64 v);
void json_put_double(struct json *j, const char *key, double v);
void json_put_bool(struct json *j, const char *key, bool v);
