/* The GNU build id among ELF notes, as files, /sys/kernel/notes and the kernel's memory have them. */
#pragma once

#include "base/types.h"

/*
 * align: 4, or 8 for segments that say so. The id's bytes, borrowed from notes, and its length; NULL: there is none. Notes
 * that do not fit into len end the search.
 */
const u8 *elfnote_build_id(const void *notes, size_t len, size_t align, bool swap, size_t *size);
