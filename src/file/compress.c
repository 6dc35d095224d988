#include "file/compress.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

int compress_kind_of(const char *name)
{
	static const char *const names[] = {
		[COMPRESS_NONE] = "none", [COMPRESS_ZLIB] = "zlib", [COMPRESS_ZSTD] = "zstd"
	};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return (int)i;
	return -ENOTSUP;
}

static int unpack_zlib(const void *from, size_t from_size, void *to, size_t to_size)
{
	uLongf got = to_size;
	int err = uncompress(to, &got, from, from_size);
	if (err == Z_MEM_ERROR)
		return -ENOMEM;
	return err == Z_OK && got == to_size ? 0 : -EBADMSG;
}

static int unpack_zstd(struct unpacker *u, const void *from, size_t from_size, void *to,
		       size_t to_size)
{
	if (!u->zstd)
		u->zstd = ZSTD_createDCtx();
	if (!u->zstd)
		return -ENOMEM;
	size_t got = ZSTD_decompressDCtx(u->zstd, to, to_size, from, from_size);
	return !ZSTD_isError(got) && got == to_size ? 0 : -EBADMSG;
}

int unpack(struct unpacker *u, enum compress_kind kind, const void *from, size_t from_size,
	   void *to, size_t to_size)
{
	switch (kind) {
	case COMPRESS_ZLIB: return unpack_zlib(from, from_size, to, to_size);
	case COMPRESS_ZSTD: return unpack_zstd(u, from, from_size, to, to_size);
	case COMPRESS_NONE: break;
	}
	if (from_size != to_size)
		return -EBADMSG;
	memcpy(to, from, to_size);
	return 0;
}

void unpacker_done(struct unpacker *u)
{
	ZSTD_freeDCtx(u->zstd);
	u->zstd = NULL;
}
