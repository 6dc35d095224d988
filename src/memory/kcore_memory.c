/* /proc/kcore as memory: its program headers are read once. */
#include "kern/kcore.h"
#include "memory/memory.h"

#include <errno.h>

struct kcore_memory {
	struct memory m;
	struct kcore core;
};

static int read_pieces(struct memory *m, struct memory_piece *pieces, u32 nr)
{
	struct kcore_memory *k = container_of(m, struct kcore_memory, m);
	for (u32 i = 0; i < nr; i++) {
		struct memory_piece *p = &pieces[i];
		/* -ENOENT: in no segment; -EFAULT, -EIO: the kernel would not copy it. */
		p->err = p->size && kcore_get(&k->core, p->addr, p->to, p->size) ? -EFAULT : 0;
	}
	return 0;
}

static void close_kcore(struct memory *m)
{
	struct kcore_memory *k = container_of(m, struct kcore_memory, m);
	kcore_close(&k->core);
	free(k);
}

static const struct memory_ops kcore_ops = {
	.name = "/proc/kcore",
	.read = read_pieces,
	.close = close_kcore,
};

int memory_open_kcore(const char *root, struct memory **ret)
{
	struct kcore_memory *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->m.ops = &kcore_ops;
	int err = kcore_open(&k->core, root);
	if (err)
		free(k);
	else
		*ret = &k->m;
	return err;
}
