/* The instructions of one function for `annotate`: its code found, disassembled, with lines and the names of where it goes. */
#pragma once

#include "base/arena.h"
#include "session/symbols.h"
#include "image/disasm.h"
#include "model/annotation.h"
#include "sym/code.h"

struct annotate_code {
	const struct sym_config *cfg;
	struct kernel_list *kernel;
	enum disasm_syntax syntax;
	struct code code; /* open between the calls */
};

/*
 * Fills insns, section and start. What the annotation points to is the arena's, or stays until annotate_code_close(). Negative errno as
 * code_open(), -ENOTSUP: no disassembler for it; then nothing is open.
 */
int annotate_code_open(struct annotate_code *c, const struct image_info *info,
		       const struct name_func *f, struct annotation *to,
		       struct arena *arena) must_check;
void annotate_code_close(struct annotate_code *c);
