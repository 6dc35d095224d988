#include "export/gzip.h"

#include <errno.h>
#include <zlib.h>

enum { LEVEL = 6, GZIP_WINDOW = 15 + 16, MEMORY = 8, PIECE = 1 << 16 };

int gzip_add(const void *data, size_t len, struct strbuf *to)
{
	z_stream z = { 0 };
	if (deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	int got = Z_OK;
	z.next_in = (Bytef *)data;
	while (got == Z_OK) {
		if (!z.avail_in) { /* as much as fits its counter */
			z.avail_in = (uInt)min(len, (size_t)1 << 30);
			len -= z.avail_in;
		}
		char *out = strbuf_room(to, PIECE);
		if (!out)
			break;
		z.next_out = (Bytef *)out;
		z.avail_out = PIECE;
		got = deflate(&z, len ? Z_NO_FLUSH : Z_FINISH);
		strbuf_commit(to, PIECE - z.avail_out);
	}
	(void)deflateEnd(&z);
	return got == Z_STREAM_END ? to->err : to->err ? to->err : -EIO;
}
