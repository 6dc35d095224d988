/* Blocks of known size, packed with zlib or zstd and back, into memory of the caller. */
#pragma once

#include "base/types.h"

enum compress_kind { COMPRESS_NONE, COMPRESS_ZLIB, COMPRESS_ZSTD };

/* "none", "zlib", "zstd"; -ENOTSUP for others. */
int compress_kind_of(const char *name);

const char *compress_name(enum compress_kind kind);
const char *compress_version(enum compress_kind kind);
/* The most that `size` bytes can become. */
size_t pack_bound(enum compress_kind kind, size_t size);

/* State worth keeping between blocks: of each kind one thread at a time. Zero-initialised is ready. */
struct packer {
	void *zstd;
};

struct unpacker {
	void *zstd;
};

/* level 0: the library's usual one. The size, or -ENOMEM, -EINVAL. */
s64 pack(struct packer *p, enum compress_kind kind, int level, const void *from, size_t size,
	 void *to, size_t room) must_check;
void packer_done(struct packer *p);

/* Exactly to_size bytes, or -EBADMSG; -ENOMEM. */
int unpack(struct unpacker *u, enum compress_kind kind, const void *from, size_t from_size,
	   void *to, size_t to_size) must_check;
void unpacker_done(struct unpacker *u);
