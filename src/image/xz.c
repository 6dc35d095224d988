#include "image/xz.h"

#include <errno.h>
#include <lzma.h>

enum { XZ_FIRST = 64 << 10, XZ_MEMORY = 128 << 20 };

static int xz_loop(lzma_stream *s, size_t limit, u8 **out)
{
	for (size_t cap = XZ_FIRST;; cap *= 2) {
		cap = min(cap, limit);
		u8 *more = realloc(*out, cap);
		if (!more)
			return -ENOMEM;
		*out = more;
		s->next_out = more + s->total_out;
		s->avail_out = cap - s->total_out;
		lzma_ret r = lzma_code(s, LZMA_FINISH);
		if (r == LZMA_STREAM_END)
			return 0;
		if (r == LZMA_MEM_ERROR)
			return -ENOMEM;
		if (r != LZMA_OK || s->avail_out || cap == limit)
			return -EBADMSG;
	}
}

int xz_expand(const void *data, size_t len, size_t limit, u8 **ret, size_t *ret_len)
{
	lzma_stream s = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&s, XZ_MEMORY, 0) != LZMA_OK)
		return -ENOMEM;
	s.next_in = data;
	s.avail_in = len;
	u8 *out = NULL;
	int err = xz_loop(&s, limit, &out);
	size_t total = s.total_out;
	lzma_end(&s);
	if (err) {
		free(out);
		return err;
	}
	*ret = out;
	*ret_len = total;
	return 0;
}
