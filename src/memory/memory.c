#include "memory/memory.h"

#include <errno.h>
#include <string.h>

void memory_close(struct memory *m)
{
	if (m)
		m->ops->close(m);
}

int memory_read_pieces(struct memory *m, struct memory_piece *pieces, size_t nr)
{
	for (size_t done = 0; done < nr;) {
		u32 now = (u32)min(nr - done, (size_t)MEMORY_BATCH);
		int err = m->ops->read(m, pieces + done, now);
		if (err)
			return err;
		m->nr_calls++;
		for (u32 i = 0; i < now; i++)
			m->nr_bytes += pieces[done + i].size;
		done += now;
	}
	return 0;
}

int memory_read(struct memory *m, u64 addr, void *to, size_t size)
{
	struct memory_piece pieces[MEMORY_BATCH];
	if (size && addr + (size - 1) < addr)
		return -EFAULT;
	for (size_t done = 0; done < size;) {
		u32 nr = 0;
		for (; nr < MEMORY_BATCH && done < size; nr++) {
			u32 now = (u32)min(size - done, (size_t)MEMORY_PIECE);
			pieces[nr] = (struct memory_piece){ .addr = addr + done,
							    .to = (u8 *)to + done,
							    .size = now };
			done += now;
		}
		int err = memory_read_pieces(m, pieces, nr);
		for (u32 i = 0; !err && i < nr; i++)
			err = pieces[i].err;
		if (err)
			return err;
	}
	return 0;
}

int memory_read_text(struct memory *m, u64 addr, char *to, size_t size, bool *cut)
{
	enum { STEP = 64 }; /* never across a page in one piece: the next one may not be there */
	*cut = false;
	if (!size)
		return -EINVAL;
	for (size_t at = 0; at < size - 1;) {
		size_t step = STEP - (size_t)((addr + at) % STEP);
		step = min(step, size - 1 - at);
		int err = memory_read(m, addr + at, to + at, step);
		if (err && at == 0)
			return err;
		if (err) {
			to[at] = '\0';
			*cut = true;
			return 0;
		}
		if (memchr(to + at, 0, step))
			return 0;
		at += step;
	}
	to[size - 1] = '\0';
	*cut = true;
	return 0;
}

int memory_current_task(struct memory *m, u64 *ret)
{
	return m->ops->current_task ? m->ops->current_task(m, ret) : -ENOTSUP;
}
