/* Writes call frame information, byte by byte, for tests: a CIE, functions with their programs, as .eh_frame or .debug_frame. */
#pragma once

#include "base/strbuf.h"
#include "base/types.h"

struct cfiwrite {
	struct strbuf out;
	bool is_eh;
	bool arm; /* else x86_64 */
	u64 addr; /* of the section, in memory */
	size_t cie; /* of the last one */
};

void cfiwrite_begin(struct cfiwrite *w, bool is_eh, bool arm, u64 addr);
/* augmentation: "zR", "zRS"; program: of the CIE, behind what its machine begins every function with. */
void cfiwrite_cie(struct cfiwrite *w, const char *augmentation);
void cfiwrite_fde(struct cfiwrite *w, u64 start, u64 size, const void *program, size_t len);
void cfiwrite_end(struct cfiwrite *w);
void cfiwrite_done(struct cfiwrite *w);
