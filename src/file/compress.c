#include "file/compress.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static const char *const names[] = {
	[COMPRESS_NONE] = "none", [COMPRESS_ZLIB] = "zlib", [COMPRESS_ZSTD] = "zstd"
};

const char *compress_name(enum compress_kind kind)
{
	return names[kind];
}

const char *compress_version(enum compress_kind kind)
{
	return kind == COMPRESS_ZLIB   ? zlibVersion()
	       : kind == COMPRESS_ZSTD ? ZSTD_versionString()
				       : "";
}

size_t pack_bound(enum compress_kind kind, size_t size)
{
	return kind == COMPRESS_ZLIB   ? compressBound(size)
	       : kind == COMPRESS_ZSTD ? ZSTD_compressBound(size)
				       : size;
}

/* The tables of a context are half a megabyte: made again for each block they cost as much as the packing. */
static s64 pack_zstd(struct packer *p, int level, const void *from, size_t size, void *to,
		     size_t room)
{
	if (!p->zstd)
		p->zstd = ZSTD_createCCtx();
	if (!p->zstd)
		return -ENOMEM;
	size_t n = ZSTD_compressCCtx(p->zstd, to, room, from, size, level ? level : 1);
	return ZSTD_isError(n) ? -ENOMEM : (s64)n;
}

s64 pack(struct packer *p, enum compress_kind kind, int level, const void *from, size_t size,
	 void *to, size_t room)
{
	if (kind == COMPRESS_ZSTD)
		return pack_zstd(p, level, from, size, to, room);
	if (kind == COMPRESS_ZLIB) {
		uLongf n = room;
		int err = compress2(to, &n, from, size, level ? level : Z_DEFAULT_COMPRESSION);
		return err == Z_OK ? (s64)n : err == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
	}
	if (room < size)
		return -EINVAL;
	memcpy(to, from, size);
	return (s64)size;
}

int compress_kind_of(const char *name)
{
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

void packer_done(struct packer *p)
{
	ZSTD_freeCCtx(p->zstd);
	p->zstd = NULL;
}

void unpacker_done(struct unpacker *u)
{
	ZSTD_freeDCtx(u->zstd);
	u->zstd = NULL;
}
