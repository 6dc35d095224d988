/* From IR with registers to eBPF. */
#pragma once

#include "lang/registers.h"
#include "model/program.h"

/* The code of a probe, then its callbacks: nr functions in all. -E2BIG: a jump is too long. In the arena. */
int emit_code(struct ir *const *irs, const struct registers *r, u32 nr, struct arena *a,
	      struct program_code *ret) must_check;
/* The types that program_code.funcs refers to: the code of a probe, and a callback. NULL: no memory. */
const void *emit_btf(struct arena *a, u32 *size);
/* A listing, one instruction a line. */
void emit_dump(const struct program_code *c, struct strbuf *to);
