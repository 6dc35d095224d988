/* Bytes as a gzip file, in one go or in pieces. */
#pragma once

#include "base/strbuf.h"

struct gzip;

/* Appends to `to`, which may have a drain. NULL: no memory. */
struct gzip *gzip_new(struct strbuf *to);
int gzip_put(struct gzip *g, const void *data, size_t len) must_check;
/* The end of the file; nothing may follow. */
int gzip_finish(struct gzip *g) must_check;
void gzip_free(struct gzip *g);

int gzip_add(const void *data, size_t len, struct strbuf *to) must_check;
