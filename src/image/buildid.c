#include "image/buildid.h"
#include "base/budget.h"
#include "base/elfnote.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

int buildid_of_notes(const void *notes, size_t len, size_t align, bool swap, struct buildid *ret)
{
	size_t size;
	const u8 *id = elfnote_build_id(notes, len, align, swap, &size);
	if (!id)
		return -ENOENT;
	*ret = buildid_make(id, size);
	return 0;
}

int buildid_of_image(const struct elfimg *e, struct buildid *ret)
{
	struct elfimg_section sec;
	struct budget left;
	budget_init(&left, e->real);
	for (u32 i = 1; elfimg_section(e, i, &sec); i++) {
		const u8 *data = sec.type == SHT_NOTE ? elfimg_section_data(e, &sec) : NULL;
		if (data && !budget_steps(&left, sec.size, "its notes"))
			return -E2BIG;
		if (data && !buildid_of_notes(data, sec.size, sec.align, e->swap, ret))
			return 0;
	}
	struct elfimg_segment seg;
	for (u32 i = 0; elfimg_segment(e, i, &seg); i++) {
		if (seg.type != PT_NOTE || seg.offset > e->size ||
		    seg.filesz > e->size - seg.offset || seg.filesz > e->real)
			continue;
		if (!budget_steps(&left, seg.filesz, "its notes"))
			return -E2BIG;
		if (!buildid_of_notes(e->data + seg.offset, seg.filesz, seg.align, e->swap, ret))
			return 0;
	}
	return -ENOENT;
}

struct buildid buildid_make(const u8 *bytes, size_t size)
{
	struct buildid id = { .size = (u8)min(size, (size_t)BUILDID_MAX) };
	memcpy(id.bytes, bytes, id.size);
	return id;
}

bool buildid_equal(const struct buildid *a, const struct buildid *b)
{
	/* Unused bytes are zero, so the padded form compares equal by itself. */
	return a->size && b->size && !memcmp(a->bytes, b->bytes, BUILDID_MAX);
}

size_t buildid_text(const struct buildid *id, char to[BUILDID_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;
	for (size_t i = 0; i < id->size; i++) {
		to[n++] = digits[id->bytes[i] >> 4];
		to[n++] = digits[id->bytes[i] & 15];
	}
	to[n] = '\0';
	return n;
}
