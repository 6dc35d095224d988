#include "base/elfnote.h"

#include "base/bytes.h"

enum { NOTE_HEAD = 12, NOTE_GNU_BUILD_ID = 3 };

static size_t round_up(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

const u8 *elfnote_build_id(const void *notes, size_t len, size_t align, bool swap, size_t *size)
{
	if (align != 8)
		align = 4;
	struct bytes b = bytes_of(notes, len, swap);
	while (bytes_left(&b) >= NOTE_HEAD) {
		u32 namesz = bytes_u32(&b), descsz = bytes_u32(&b), type = bytes_u32(&b);
		/* Offsets count from the note's start, which is aligned; so does the descriptor. */
		size_t pad = round_up(NOTE_HEAD + (size_t)namesz, align) - NOTE_HEAD;
		const char *name = bytes_take(&b, pad);
		const u8 *desc = bytes_take(&b, descsz);
		if (!name || !desc)
			return NULL;
		if (type == NOTE_GNU_BUILD_ID && namesz == 4 && !memcmp(name, "GNU", 4) && descsz) {
			*size = descsz;
			return desc;
		}
		/* The last note's padding may be missing. */
		bytes_skip(&b, min(round_up(descsz, align) - descsz, bytes_left(&b)));
	}
	return NULL;
}
