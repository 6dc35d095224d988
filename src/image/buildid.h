/* The id that the linker stamped into an image (NT_GNU_BUILD_ID): tells whether two files are the same program. */
#pragma once

#include "image/elf.h"

enum { BUILDID_MAX = 20 };

struct buildid {
	u8 bytes[BUILDID_MAX];
	u8 size; /* 0: none. A longer id is kept by its first 20 bytes, as perf does. */
};

/* From a run of ELF notes, e.g. /sys/kernel/notes; align is 4, or 8 for segments that say so. -ENOENT: none there. */
int buildid_of_notes(const void *notes, size_t len, size_t align, bool swap,
		     struct buildid *ret) must_check;
/* From an image's note sections, or its note segments when it has no sections. -ENOENT: none there. */
int buildid_of_image(const struct elfimg *e, struct buildid *ret) must_check;

/* Recordings pad short ids with zeroes: 16 bytes equal 20 whose last four are 0. Two empty ids are not equal. */
bool buildid_equal(const struct buildid *a, const struct buildid *b);
struct buildid buildid_make(const u8 *bytes, size_t size);

enum { BUILDID_TEXT = 2 * BUILDID_MAX + 1 };
/* Hex digits and a NUL; returns the number of digits. */
size_t buildid_text(const struct buildid *id, char to[BUILDID_TEXT]);
