#include "file/jitdump.h"

#include <errno.h>

enum { MAGIC = 0x4a695444, VERSION = 1, HEAD_BYTES = 40, PREFIX_BYTES = 16, ARCH_TIMES = 1 };

int jitdump_open(struct jitdump *j, const void *data, size_t size)
{
	struct bytes b = bytes_of(data, size, false);
	u32 magic = bytes_u32(&b);
	b.swap = magic == __builtin_bswap32(MAGIC);
	u32 version = bytes_u32(&b), head = bytes_u32(&b);
	struct jitdump got = { .machine = bytes_u32(&b) };
	bytes_skip(&b, 4);
	got.pid = bytes_u32(&b);
	bytes_skip(&b, 8); /* when it was made */
	got.arch_times = bytes_u64(&b) & ARCH_TIMES;
	if (b.bad || (magic != MAGIC && !b.swap) || version != VERSION || head < HEAD_BYTES)
		return -EBADMSG;
	bytes_skip(&b, head - HEAD_BYTES); /* what a later version has more */
	if (b.bad)
		return -EBADMSG;
	got.left = b;
	*j = got;
	return 0;
}

static void read_load(struct bytes *b, struct jitdump_record *r)
{
	bytes_skip(b, 4 + 4 + 8); /* pid, tid, where it lies while it is written */
	r->addr = bytes_u64(b);
	r->size = bytes_u64(b);
	r->index = bytes_u64(b);
	r->name = bytes_cstr(b);
	r->code = bytes_take(b, r->size);
}

static void read_move(struct bytes *b, struct jitdump_record *r)
{
	bytes_skip(b, 4 + 4 + 8 + 8);
	r->addr = bytes_u64(b);
	r->size = bytes_u64(b);
	r->index = bytes_u64(b);
}

static void read_unwinding(struct bytes *b, struct jitdump_record *r)
{
	r->unwind_size = bytes_u64(b);
	r->unwind_head = bytes_u64(b);
	r->unwind_mapped = bytes_u64(b);
	r->unwind = bytes_take(b, r->unwind_size);
	b->bad |= r->unwind_head > r->unwind_size;
}

int jitdump_next(struct jitdump *j, struct jitdump_record *ret)
{
	if (!bytes_left(&j->left))
		return 0;
	struct jitdump_record r = { .id = bytes_u32(&j->left) };
	u32 size = bytes_u32(&j->left);
	r.time = bytes_u64(&j->left);
	if (j->left.bad || size < PREFIX_BYTES)
		return -EBADMSG;
	struct bytes b = bytes_sub(&j->left, size - PREFIX_BYTES);
	switch (r.id) {
	case JITDUMP_LOAD: read_load(&b, &r); break;
	case JITDUMP_MOVE: read_move(&b, &r); break;
	case JITDUMP_UNWINDING: read_unwinding(&b, &r); break;
	case JITDUMP_DEBUG_INFO:
		r.addr = bytes_u64(&b);
		bytes_skip(&b, 8); /* how many: their end tells as well */
		r.lines = b;
		break;
	default: break;
	}
	if (b.bad)
		return -EBADMSG;
	*ret = r;
	return 1;
}

bool jitdump_line(struct jitdump_record *r, struct jitdump_line *ret)
{
	struct bytes *b = &r->lines;
	struct jitdump_line l = { .addr = bytes_u64(b), .line = bytes_u32(b) };
	bytes_skip(b, 4); /* discriminator */
	l.file = bytes_cstr(b);
	if (b->bad)
		return false;
	/* The same file as before is written as one byte. */
	if ((u8)l.file[0] == 0xff && !l.file[1] && r->last_file)
		l.file = r->last_file;
	r->last_file = l.file;
	*ret = l;
	return true;
}
