/* Blocks of known size, packed with zlib or zstd, into memory of the caller. */
#pragma once

#include "base/types.h"

enum compress_kind { COMPRESS_NONE, COMPRESS_ZLIB, COMPRESS_ZSTD };

/* "none", "zlib", "zstd"; -ENOTSUP for others. */
int compress_kind_of(const char *name);

/* State worth keeping between blocks. Zero-initialised is ready; one thread at a time. */
struct unpacker {
	void *zstd;
};

/* Exactly to_size bytes, or -EBADMSG; -ENOMEM. */
int unpack(struct unpacker *u, enum compress_kind kind, const void *from, size_t from_size,
	   void *to, size_t to_size) must_check;
void unpacker_done(struct unpacker *u);
