/* Lines of source files, each file read once. What cannot be read has no lines. */
#pragma once

#include "base/opener.h"
#include "base/strtab.h"
#include "base/vec.h"

struct source_file {
	char *data; /* NULL: not there */
	u32 *starts; /* [line - 1], and one after the last */
	u32 nr;
};

/* Zero-initialised: empty. */
struct source_text {
	struct strtab names;
	VEC(struct source_file) files; /* [id of names] */
	bool ready;
	struct opener *opener; /* NULL: files are opened without a time limit */
	const char *prefix; /* folder that paths are looked for in; NULL: as they are */
	bool for_sharing; /* only what anybody may read and is called like source: debugging information may name any file */
	u64 strip; /* so many folders at the front of an absolute path are left out then */
};

void source_text_done(struct source_text *s);
/* ctx: the source_text. A line without its end; NULL: not there. Valid until source_text_done(). */
const char *source_text_line(void *ctx, const char *path, u32 line, u32 *len);
