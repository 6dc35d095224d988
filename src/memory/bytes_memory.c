/* A buffer that plays kernel memory. */
#include "memory/memory.h"

#include <errno.h>
#include <string.h>

struct bytes_memory {
	struct memory m;
	u64 addr;
	size_t size;
	u8 data[];
};

static int read_pieces(struct memory *m, struct memory_piece *pieces, u32 nr)
{
	const struct bytes_memory *b = container_of(m, struct bytes_memory, m);
	for (u32 i = 0; i < nr; i++) {
		struct memory_piece *p = &pieces[i];
		bool inside = p->addr >= b->addr && p->addr - b->addr <= b->size &&
			      p->size <= b->size - (p->addr - b->addr);
		p->err = inside ? 0 : -EFAULT;
		if (inside)
			memcpy(p->to, b->data + (p->addr - b->addr), p->size);
	}
	return 0;
}

static void close_bytes(struct memory *m)
{
	free(container_of(m, struct bytes_memory, m));
}

static const struct memory_ops bytes_ops = {
	.name = "a buffer",
	.read = read_pieces,
	.close = close_bytes,
};

int memory_open_bytes(u64 addr, const void *data, size_t size, struct memory **ret)
{
	struct bytes_memory *b = malloc(sizeof(*b) + size);
	if (!b)
		return -ENOMEM;
	*b = (struct bytes_memory){ .m.ops = &bytes_ops, .addr = addr, .size = size };
	memcpy(b->data, data, size);
	*ret = &b->m;
	return 0;
}
