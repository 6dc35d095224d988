#include "file/zstd_records.h"

#include "wire/perf_record.h"

#include <errno.h>
#include <zstd.h>

/* Largest payload that keeps the record's size, a multiple of 8 or not, in 16 bits. */
enum { PAYLOAD_MAX = 0xfff8 - sizeof(struct perf_event_header) };

struct zstd_records {
	ZSTD_CStream *stream;
	size_t pending; /* bytes since the last flush */
};

struct zstd_records *zstd_records_new(int level)
{
	struct zstd_records *z = calloc(1, sizeof(*z));
	if (!z)
		return NULL;
	z->stream = ZSTD_createCStream();
	if (!z->stream || ZSTD_isError(ZSTD_initCStream(z->stream, level))) {
		zstd_records_free(z);
		return NULL;
	}
	return z;
}

/* One step of the stream into one record; the number of bytes the stream still holds, or negative errno. */
static s64 step(struct zstd_records *z, ZSTD_inBuffer *in, ZSTD_EndDirective how, struct strbuf *to)
{
	u8 *room = (u8 *)strbuf_room(to, sizeof(struct perf_event_header) + PAYLOAD_MAX);
	if (!room)
		return -ENOMEM;
	ZSTD_outBuffer out = { .dst = room + sizeof(struct perf_event_header), .size = PAYLOAD_MAX };
	size_t left = ZSTD_compressStream2(z->stream, &out, in, how);
	if (ZSTD_isError(left))
		return -EIO;
	if (out.pos) {
		struct perf_event_header h = { .type = REC_COMPRESSED,
					       .size = (u16)(sizeof(h) + out.pos) };
		memcpy(room, &h, sizeof(h));
		strbuf_commit(to, h.size);
	}
	return (s64)left;
}

int zstd_records_flush(struct zstd_records *z, struct strbuf *to)
{
	ZSTD_inBuffer none = { 0 };
	s64 left = z->pending ? 1 : 0;
	while (left > 0)
		left = step(z, &none, ZSTD_e_flush, to);
	z->pending = 0;
	return (int)left;
}

int zstd_records_add(struct zstd_records *z, const void *data, size_t len, struct strbuf *to)
{
	while (len) {
		size_t n = min(len, (size_t)ZSTD_RECORDS_PIECE - z->pending);
		ZSTD_inBuffer in = { .src = data, .size = n };
		while (in.pos < in.size) {
			s64 left = step(z, &in, ZSTD_e_continue, to);
			if (left < 0)
				return (int)left;
		}
		z->pending += n;
		data = (const u8 *)data + n;
		len -= n;
		if (z->pending == ZSTD_RECORDS_PIECE) {
			int err = zstd_records_flush(z, to);
			if (err)
				return err;
		}
	}
	return 0;
}

void zstd_records_free(struct zstd_records *z)
{
	if (!z)
		return;
	ZSTD_freeCStream(z->stream);
	free(z);
}
