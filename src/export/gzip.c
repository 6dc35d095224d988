#include "export/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

enum { LEVEL = 6, GZIP_WINDOW = 15 + 16, MEMORY = 8, PIECE = 1 << 16 };

struct gzip {
	z_stream z;
	struct strbuf *to;
};

struct gzip *gzip_new(struct strbuf *to)
{
	struct gzip *g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->to = to;
	if (deflateInit2(&g->z, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) == Z_OK)
		return g;
	free(g);
	return NULL;
}

/* Until the input is used up or, with Z_FINISH, until the end is written. */
static int deflate_all(struct gzip *g, int flush)
{
	int got = Z_OK;
	do {
		char *out = strbuf_room(g->to, PIECE);
		if (!out)
			return g->to->err;
		g->z.next_out = (Bytef *)out;
		g->z.avail_out = PIECE;
		got = deflate(&g->z, flush);
		strbuf_commit(g->to, PIECE - g->z.avail_out);
	} while (got == Z_OK && (flush == Z_FINISH || !g->z.avail_out));
	bool done = flush == Z_FINISH ? got == Z_STREAM_END : got == Z_OK || got == Z_BUF_ERROR;
	return g->to->err ? g->to->err : done ? 0 : -EIO;
}

int gzip_put(struct gzip *g, const void *data, size_t len)
{
	int err = 0;
	g->z.next_in = (Bytef *)data;
	while (len && !err) {
		g->z.avail_in = (uInt)min(len, (size_t)1 << 30); /* as much as fits its counter */
		len -= g->z.avail_in;
		err = deflate_all(g, Z_NO_FLUSH);
	}
	return err;
}

int gzip_finish(struct gzip *g)
{
	g->z.avail_in = 0;
	return deflate_all(g, Z_FINISH);
}

void gzip_free(struct gzip *g)
{
	if (!g)
		return;
	(void)deflateEnd(&g->z);
	free(g);
}

int gzip_add(const void *data, size_t len, struct strbuf *to)
{
	struct gzip *g = gzip_new(to);
	int err = g ? gzip_put(g, data, len) : -ENOMEM;
	if (!err)
		err = gzip_finish(g);
	gzip_free(g);
	return err;
}
