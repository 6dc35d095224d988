/*
 * kdump-compressed files (makedumpfile's diskdump_mod.h): one block each of
 *
 *	head │ sub-head │ bitmap: pages that exist │ bitmap: pages that are in here │ a head for each of these │ their bytes
 *
 * The head of a page is found by counting the bits before its own.
 */
#include "memory/vmcore.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum {
	HEAD_SIZE = 464,
	SUB_SIZE = 104,
	UTS_FIELD = 65,
	CHUNK_BYTES = 512, /* of the bitmap: pages are counted up to each */
	PAGE_MIN = 4096,
	PAGE_MAX = 65536,
	CACHED = 256,
	PAGE_HEAD = 24,
};

enum { BY_ZLIB = 1, BY_LZO = 2, BY_SNAPPY = 4, INCOMPLETE = 8, BY_ZSTD = 0x20 };
enum { PACKED = BY_ZLIB | BY_LZO | BY_SNAPPY | BY_ZSTD };

struct kdump_head {
	u32 version, status, block_size, sub_blocks, bitmap_blocks, max_mapnr;
	char release[UTS_FIELD], machine[UTS_FIELD];
};

static int read_head(struct vmcore *v, struct kdump_head *h)
{
	u8 room[HEAD_SIZE];
	int err = dump_file_read(&v->file, 0, room, sizeof(room));
	if (err)
		return err;
	struct bytes b = bytes_of(room, sizeof(room), false);
	bytes_skip(&b, 8);
	h->version = bytes_u32(&b);
	bytes_skip(&b, UTS_FIELD * 2); /* sysname, nodename */
	memcpy(h->release, bytes_take(&b, UTS_FIELD), UTS_FIELD);
	bytes_skip(&b, UTS_FIELD);
	memcpy(h->machine, bytes_take(&b, UTS_FIELD), UTS_FIELD);
	bytes_skip(&b, UTS_FIELD + 6 + 16); /* domain, to the next 8 bytes, time */
	h->release[UTS_FIELD - 1] = h->machine[UTS_FIELD - 1] = '\0';
	h->status = bytes_u32(&b);
	h->block_size = bytes_u32(&b);
	h->sub_blocks = bytes_u32(&b);
	h->bitmap_blocks = bytes_u32(&b);
	h->max_mapnr = bytes_u32(&b);
	return 0;
}

/* The sub-head: what it has depends on the version. */
static int read_sub(struct vmcore *v, const struct kdump_head *h, const char *path, struct diag *d)
{
	u8 room[SUB_SIZE] = { 0 };
	int err = dump_file_read(&v->file, h->block_size, room, sizeof(room));
	if (err)
		return err;
	struct bytes b = bytes_of(room, sizeof(room), false);
	bytes_skip(&b, 12); /* phys_base, dump_level */
	u32 split = bytes_u32(&b);
	bytes_skip(&b, 16);
	u64 info = bytes_u64(&b), info_size = bytes_u64(&b);
	u64 notes = bytes_u64(&b), notes_size = bytes_u64(&b);
	bytes_skip(&b, 32);
	u64 max_mapnr = bytes_u64(&b);
	if (h->version >= 2 && split)
		return diag_error(d, -ENOTSUP,
				  "%s: one of several files that one dump was split into", path);
	v->nr_pages = h->version >= 6 && max_mapnr ? max_mapnr : h->max_mapnr;
	if (h->version >= 4)
		err = vmcore_add_notes(v, notes, notes_size);
	if (err || h->version < 3 || !info_size || v->info)
		return err;
	if (info_size > VMCORE_NOTES_MAX || info_size > v->file.size ||
	    !budget_bytes(&v->file.budget, info_size, "VMCOREINFO"))
		return -EBADMSG;
	v->info = calloc(1, info_size + 1);
	return v->info ? dump_file_read(&v->file, info, v->info, info_size) : -ENOMEM;
}

static int read_bitmap(struct vmcore *v, const struct kdump_head *h)
{
	u64 half = (u64)h->bitmap_blocks * h->block_size / 2;
	u64 bytes = v->nr_pages / 8 + (v->nr_pages % 8 != 0);
	u64 chunks = bytes / CHUNK_BYTES + 1;
	u64 at = (1 + (u64)h->sub_blocks) * h->block_size;
	if (!v->nr_pages || bytes > half || at + half * 2 > v->file.size)
		return -EBADMSG;
	if (!budget_bytes(&v->file.budget, bytes + chunks * sizeof(u64), "the bitmap of pages") ||
	    !budget_steps(&v->file.budget, bytes / 8, "the bitmap of pages"))
		return -E2BIG;
	v->present = malloc(bytes);
	v->before = malloc(chunks * sizeof(u64));
	if (!v->present || !v->before)
		return -ENOMEM;
	int err = dump_file_read(&v->file, at + half, v->present, bytes);
	if (err)
		return err;
	if (v->nr_pages % 8)
		v->present[bytes - 1] &= (u8)((1u << v->nr_pages % 8) - 1);
	u64 sum = 0;
	for (u64 n = 0; n < bytes; n++) {
		if (!(n % CHUNK_BYTES))
			v->before[n / CHUNK_BYTES] = sum;
		sum += (u64)__builtin_popcount(v->present[n]);
	}
	v->heads = at + half * 2;
	return 0;
}

static int refuse_packing(const char *path, bool lzo, struct diag *d)
{
	int err = diag_error(d, -ENOTSUP, "%s: its pages are compressed by %s", path,
			     lzo ? "LZO" : "Snappy");
	diag_hint(d, "those by zlib and zstd, and uncompressed ones, can be read: makedumpfile -c "
		     "or -z, or -E for ELF, converts it");
	return err;
}

int vmcore_open_kdump(struct vmcore *v, const char *path, struct diag *d)
{
	struct kdump_head h;
	int err = read_head(v, &h);
	if (err)
		return err;
	if (!strcmp(h.machine, "x86_64"))
		v->machine = EM_X86_64;
	else if (!strcmp(h.machine, "aarch64"))
		v->machine = EM_AARCH64;
	else
		return diag_error(d, -ENOTSUP, "%s: only dumps of x86_64 and arm64 can be read",
				  path);
	if (h.status & (BY_LZO | BY_SNAPPY))
		return refuse_packing(path, h.status & BY_LZO, d);
	if (h.block_size < PAGE_MIN || h.block_size > PAGE_MAX || h.block_size & (h.block_size - 1))
		return -EBADMSG;
	v->format = "kdump-compressed";
	memcpy(v->release, h.release, sizeof(v->release));
	err = read_sub(v, &h, path, d);
	if (!err)
		err = read_bitmap(v, &h);
	if (err)
		return err;
	u8 *pages = malloc((size_t)CACHED * h.block_size);
	v->cache = calloc(CACHED, sizeof(*v->cache));
	v->packed = malloc(h.block_size);
	if (!pages || !v->cache || !v->packed) {
		free(pages);
		free(v->cache);
		v->cache = NULL;
		return -ENOMEM;
	}
	for (u32 n = 0; n < CACHED; n++)
		v->cache[n].bytes = pages + (size_t)n * h.block_size;
	v->page_size = h.block_size;
	return 0;
}

static int unpack(struct vmcore *v, u32 flags, u32 size, u8 *to)
{
	uLongf got = v->page_size;
	flags &= ~(u32)INCOMPLETE;
	if (flags == BY_ZLIB)
		return uncompress(to, &got, v->packed, size) == Z_OK && got == v->page_size
			       ? 0
			       : -EBADMSG;
	if (flags == BY_ZSTD)
		return ZSTD_decompress(to, v->page_size, v->packed, size) == v->page_size ? 0
											  : -EBADMSG;
	return -ENOTSUP; /* BY_LZO, BY_SNAPPY */
}

struct page_head {
	u64 at;
	u32 size, flags;
};

static int read_page_head(struct vmcore *v, u64 number, struct page_head *ret)
{
	u8 room[PAGE_HEAD];
	u64 chunk = number / 8 / CHUNK_BYTES, nr = v->before[chunk];
	for (u64 n = chunk * CHUNK_BYTES; n < number / 8; n++)
		nr += (u64)__builtin_popcount(v->present[n]);
	nr += (u64)__builtin_popcount(v->present[number / 8] & ((1u << number % 8) - 1));
	int err = dump_file_read(&v->file, v->heads + nr * PAGE_HEAD, room, sizeof(room));
	if (err)
		return err;
	struct bytes b = bytes_of(room, sizeof(room), false);
	ret->at = bytes_u64(&b);
	ret->size = bytes_u32(&b);
	ret->flags = bytes_u32(&b);
	if (ret->size > v->page_size || (!(ret->flags & PACKED) && ret->size != v->page_size))
		return -EBADMSG;
	return 0;
}

static int load_page(struct vmcore *v, u64 number, u8 *to)
{
	struct page_head head;
	int err = read_page_head(v, number, &head);
	if (err)
		return err;
	bool packed = head.flags & PACKED;
	err = dump_file_read(&v->file, head.at, packed ? v->packed : to, head.size);
	return err || !packed ? err : unpack(v, head.flags, head.size, to);
}

static int find_page(struct vmcore *v, u64 number, const u8 **ret)
{
	if (number >= v->nr_pages || !(v->present[number / 8] >> number % 8 & 1))
		return -EFAULT;
	struct vmcore_page *p = &v->cache[number % CACHED];
	if (p->number != number + 1) {
		p->number = 0;
		int err = load_page(v, number, p->bytes);
		if (err)
			return err;
		p->number = number + 1;
	}
	*ret = p->bytes;
	return 0;
}

/* The first bytes of a page that zlib packed, without the rest of the work. */
static int peek_zlib(struct vmcore *v, u32 packed, void *to, u32 size)
{
	z_stream *z = v->peek;
	if (!z) {
		z = calloc(1, sizeof(*z));
		if (!z || inflateInit(z) != Z_OK) {
			free(z);
			return -ENOMEM;
		}
		v->peek = z;
	} else if (inflateReset(z) != Z_OK) {
		return -EBADMSG;
	}
	z->next_in = v->packed;
	z->avail_in = packed;
	z->next_out = to;
	z->avail_out = size;
	int rc = inflate(z, Z_SYNC_FLUSH);
	return (rc == Z_OK || rc == Z_STREAM_END) && !z->avail_out ? 0 : -EBADMSG;
}

void vmcore_close_kdump(struct vmcore *v)
{
	if (v->peek)
		(void)inflateEnd(v->peek);
	free(v->peek);
}

int vmcore_peek_kdump(struct vmcore *v, u64 phys, void *to, u32 size)
{
	u64 number = phys / v->page_size;
	struct page_head head;
	if (phys % v->page_size || size > v->page_size || number >= v->nr_pages ||
	    !(v->present[number / 8] >> number % 8 & 1) ||
	    v->cache[number % CACHED].number == number + 1)
		return vmcore_read_kdump(v, phys, to, size);
	int err = read_page_head(v, number, &head);
	if (err)
		return err;
	if (!(head.flags & PACKED))
		return dump_file_read(&v->file, head.at, to, size);
	if ((head.flags & ~(u32)INCOMPLETE) != BY_ZLIB)
		return vmcore_read_kdump(v, phys, to, size);
	err = dump_file_read(&v->file, head.at, v->packed, head.size);
	return err ? err : peek_zlib(v, head.size, to, size);
}

int vmcore_read_kdump(struct vmcore *v, u64 phys, void *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		const u8 *page;
		u32 skip = (u32)((phys + done) % v->page_size);
		size_t now = min((size_t)(v->page_size - skip), size - done);
		int err = find_page(v, (phys + done) / v->page_size, &page);
		if (err)
			return err;
		memcpy((u8 *)to + done, page + skip, now);
		done += now;
	}
	return 0;
}
