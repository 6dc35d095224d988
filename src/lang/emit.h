/* From IR with registers to eBPF. */
#pragma once

#include "lang/registers.h"
#include "model/program.h"

/* -E2BIG: a jump is too long. In the arena. */
int emit_code(struct ir *ir, const struct registers *r, struct arena *a,
	      struct program_code *ret) must_check;
/* A listing, one instruction a line. */
void emit_dump(const struct program_code *c, struct strbuf *to);
