/* What the verifier said, for the person who wrote the script: which construct, and why. */
#pragma once

#include "base/diag.h"
#include "model/program.h"

struct refusal_place {
	const char *script; /* NULL: none */
	const struct program_probe *probe;
	const struct program_code *code;
	u32 shift; /* instructions that stand before the code's own */
};

/* log: the verifier's words, or NULL. Returns err. */
int refusal_explain(const struct refusal_place *at, int err, const char *log, struct diag *d);

/* The instruction that was looked at last, or -1; the reason is the last line that is neither an instruction nor statistics. */
struct refusal {
	s64 insn;
	const char *reason; /* borrowed from log; NULL: none */
	size_t reason_len;
};
struct refusal refusal_parse(const char *log);
