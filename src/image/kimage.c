/* bzImage: Linux's boot protocol on x86 (Documentation/arch/x86/boot.rst), from version 2.08, which says where the packed part lies. */
#include "image/kimage.h"
#include "base/foreign.h"
#include "image/lz4.h"
#include "image/xz.h"
#include "base/bytes.h"
#include "base/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum {
	SECTOR = 512,
	AT_SETUP_SECTORS = 0x1f1,
	AT_MAGIC = 0x202,
	AT_PAYLOAD = 0x248,
	SETUP_USUAL = 4,
	UNPACKED_MAX = 1 << 30,
};

/* The packed part, and how long it is unpacked: the build puts that after it, whatever it was packed with. */
static int find_payload(const void *data, size_t size, struct bytes *ret, u32 *full)
{
	bool swap = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	struct bytes b = bytes_of(data, size, swap);
	bytes_skip(&b, AT_SETUP_SECTORS);
	size_t sectors = bytes_u8(&b);
	bytes_skip(&b, AT_MAGIC - AT_SETUP_SECTORS - 1);
	const void *magic = bytes_take(&b, 4);
	u16 version = bytes_u16(&b);
	if (b.bad || memcmp(magic, "HdrS", 4) || version < 0x208)
		return -ENOEXEC;
	bytes_skip(&b, AT_PAYLOAD - AT_MAGIC - 6);
	u32 offset = bytes_u32(&b), length = bytes_u32(&b);
	b = bytes_of(data, size, swap);
	bytes_skip(&b, ((sectors ? sectors : SETUP_USUAL) + 1) * SECTOR);
	bytes_skip(&b, offset);
	*ret = bytes_sub(&b, length);
	if (ret->bad || length < 8)
		return -EBADMSG;
	struct bytes last = bytes_of(ret->end - 4, 4, swap);
	*full = bytes_u32(&last);
	return *full && *full <= UNPACKED_MAX ? 0 : -EBADMSG;
}

static bool unpack_gzip(const struct bytes *b, u8 *to, u32 full)
{
	z_stream s = { .next_in = (u8 *)(uintptr_t)b->at,
		       .avail_in = (uInt)bytes_left(b),
		       .next_out = to,
		       .avail_out = full };
	if (inflateInit2(&s, 16 + MAX_WBITS) != Z_OK)
		return false;
	bool good = inflate(&s, Z_FINISH) == Z_STREAM_END && !s.avail_out;
	inflateEnd(&s);
	return good;
}

/* Stepwise, because the length after it is not part of the frame. */
static bool unpack_zstd(const struct bytes *b, u8 *to, u32 full)
{
	ZSTD_DCtx *d = ZSTD_createDCtx();
	ZSTD_inBuffer in = { b->at, bytes_left(b) - 4, 0 };
	ZSTD_outBuffer out = { to, full, 0 };
	size_t left = d ? ZSTD_decompressStream(d, &out, &in) : 1;
	ZSTD_freeDCtx(d);
	return !left && out.pos == full;
}

static int unpack(const struct bytes *b, u32 full, u8 **ret)
{
	static const u8 gzip[] = { 0x1f, 0x8b }, xz[] = { 0xfd, '7', 'z', 'X', 'Z' },
			zstd[] = { 0x28, 0xb5, 0x2f, 0xfd }, lz4[] = { 0x02, 0x21, 0x4c, 0x18 };
	if (!memcmp(b->at, xz, sizeof(xz))) {
		size_t got;
		int err = xz_expand(b->at, bytes_left(b), full, ret, &got);
		if (!err && got != full) {
			free(*ret);
			err = -EBADMSG;
		}
		return err;
	}
	bool is_gzip = !memcmp(b->at, gzip, sizeof(gzip)), is_lz4 = !memcmp(b->at, lz4, sizeof(lz4));
	if (!is_gzip && !is_lz4 && memcmp(b->at, zstd, sizeof(zstd)))
		return -ENOTSUP;
	u8 *to = malloc(full);
	if (!to)
		return -ENOMEM;
	bool good = is_gzip  ? unpack_gzip(b, to, full)
		    : is_lz4 ? !lz4_expand(b->at, bytes_left(b), to, full)
			     : unpack_zstd(b, to, full);
	if (!good) {
		free(to);
		return -EBADMSG;
	}
	*ret = to;
	return 0;
}

int kimage_unpack(struct elfimg *e, const void *data, size_t size)
{
	struct bytes b;
	u32 full;
	u8 *elf;
	int err = find_payload(data, size, &b, &full);
	if (!err)
		err = unpack(&b, full, &elf);
	if (err)
		return err;
	return elfimg_open_heap(e, elf, full) ? -EBADMSG : 0;
}

int kimage_open(struct elfimg *e, const char *path)
{
	int err = elfimg_open(e, path, NULL);
	if (err != -ENOEXEC)
		return err;
	_cleanup_close_ int fd = foreign_open(path, 0);
	struct stat st;
	if (fd < 0)
		return fd == -EINVAL || fd == -EISDIR ? -ENOEXEC : fd;
	if (fstat(fd, &st))
		return -errno;
	if (st.st_size < SECTOR)
		return -ENOEXEC;
	const void *p;
	err = guard_map(fd, (size_t)st.st_size, false, NULL, &p);
	if (err)
		return err;
	err = kimage_unpack(e, p, (size_t)st.st_size);
	guard_unmap(p, (size_t)st.st_size);
	return err;
}
