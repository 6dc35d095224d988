#include "memory/kphys.h"

#include "kern/sysroot.h"

#include <stdlib.h>
#include <string.h>

enum { NOTE_WORDS = 12, NOTE_SIZE = 11 };

/* The mapping begins at a multiple of 1 GB, wherever it was moved to. */
static const u64 step = 1ull << 30;
enum { STEPS_MAX = 1 << 14, BATCH = MEMORY_BATCH };

static bool is_note(const char note[NOTE_WORDS + NOTE_SIZE])
{
	return !memcmp(note + NOTE_WORDS, "VMCOREINFO", NOTE_SIZE);
}

/* The note is an ELF note: three words, then its name. */
static bool find_distance(struct kspace *k, u64 addr, u64 note, u64 *ret)
{
	char text[BATCH][NOTE_WORDS + NOTE_SIZE];
	struct memory *m;
	if (kspace_memory(k, &m))
		return false;
	/* addr is in the mapping: it begins there or below. */
	u64 at = addr / step * step;
	for (u32 n = 0; n < STEPS_MAX; n += BATCH) {
		struct memory_piece pieces[BATCH];
		for (u32 p = 0; p < BATCH; p++)
			pieces[p] = (struct memory_piece){ .addr = at - p * step + note,
							   .to = text[p],
							   .size = sizeof(text[p]) };
		if (memory_read_pieces(m, pieces, BATCH))
			return false;
		for (u32 p = 0; p < BATCH; p++)
			if (!pieces[p].err && is_note(text[p])) {
				*ret = at - p * step;
				return true;
			}
		at -= BATCH * step;
	}
	return false;
}

/* "0000000100c66000 1024" */
static bool read_note_place(struct kspace *k, u64 *ret)
{
	struct sysroot r;
	struct strbuf text;
	if (sysroot_open(&r, k->opts.root))
		return false;
	strbuf_init(&text);
	const char *line = sysroot_line(&r, "sys/kernel/vmcoreinfo", &text);
	char *end = NULL;
	*ret = line ? strtoull(line, &end, 16) : 0;
	bool good = line && end > line;
	strbuf_done(&text);
	sysroot_close(&r);
	return good;
}

bool kphys_find(struct kspace *k, u64 addr, u64 *ret)
{
	struct dump_walk w;
	u64 note, distance;
	if (k->dump) {
		bool mapped = !dump_translate(k->dump, addr, &w);
		*ret = mapped ? w.phys : 0;
		return mapped;
	}
	if (!k->linear_start &&
	    (!read_note_place(k, &note) || !find_distance(k, addr, note, &k->linear_start)))
		return false;
	distance = k->linear_start;
	*ret = addr - distance;
	return addr >= distance;
}
