#include "gen/cfiwrite.h"

#include <string.h>

void cfiwrite_begin(struct cfiwrite *w, bool is_eh, bool arm, u64 addr)
{
	*w = (struct cfiwrite){ .is_eh = is_eh, .arm = arm, .addr = addr };
	strbuf_init(&w->out);
}

static void put(struct cfiwrite *w, u64 v, unsigned n)
{
	strbuf_add(&w->out, &v, n);
}

/* Pads an entry that began at `at` and fills in its length. */
static void close_entry(struct cfiwrite *w, size_t at)
{
	while ((w->out.len - at) % 8 != 4)
		put(w, 0, 1);
	u32 len = (u32)(w->out.len - at - 4);
	memcpy(w->out.data + at, &len, 4);
}

void cfiwrite_cie(struct cfiwrite *w, const char *augmentation)
{
	size_t at = w->cie = w->out.len;
	put(w, 0, 4);
	put(w, w->is_eh ? 0 : UINT32_MAX, 4);
	put(w, w->is_eh ? 1 : 4, 1);
	strbuf_add(&w->out, w->is_eh ? augmentation : "", w->is_eh ? strlen(augmentation) + 1 : 1);
	if (!w->is_eh)
		put(w, 8, 2); /* size of addresses, of segments */
	put(w, w->arm ? 4 : 1, 1); /* code alignment */
	put(w, 0x78, 1); /* data alignment: -8 */
	put(w, w->arm ? 30 : 16, 1);
	if (w->is_eh) {
		put(w, 1, 1); /* augmentation data: */
		put(w, 0x1b, 1); /* addresses are pcrel, sdata4 */
	}
	if (w->arm) { /* the CFA is sp + 0 */
		put(w, 0x001f0c, 3);
	} else { /* rsp + 8; the return address lies below */
		put(w, 0x08070c, 3);
		put(w, 0x0190, 2);
	}
	close_entry(w, at);
}

void cfiwrite_fde(struct cfiwrite *w, u64 start, u64 size, const void *program, size_t len)
{
	size_t at = w->out.len;
	put(w, 0, 4);
	put(w, w->is_eh ? w->out.len - w->cie : w->cie, 4);
	if (w->is_eh) {
		put(w, start - (w->addr + w->out.len), 4);
		put(w, size, 4);
		put(w, 0, 1); /* no augmentation data */
	} else {
		put(w, start, 8);
		put(w, size, 8);
	}
	strbuf_add(&w->out, program, len);
	close_entry(w, at);
}

void cfiwrite_end(struct cfiwrite *w)
{
	if (w->is_eh)
		put(w, 0, 4);
}

void cfiwrite_done(struct cfiwrite *w)
{
	strbuf_done(&w->out);
}
