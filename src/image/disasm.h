/* Machine code as text, one instruction after the other (capstone); what cannot be decoded is shown as bytes. */
#pragma once

#include "base/types.h"

enum disasm_syntax { DISASM_ATT, DISASM_INTEL };

enum disasm_kind {
	DISASM_PLAIN,
	DISASM_JUMP, /* with a known target: conditional or not */
	DISASM_CALL, /* the same */
	DISASM_RETURN,
};

enum { DISASM_TEXT = 192 };

struct disasm_insn {
	u64 addr;
	u64 target; /* of a jump or call */
	u8 size; /* bytes; never 0 */
	enum disasm_kind kind;
	char mnemonic[32];
	char operands[DISASM_TEXT]; /* "" for none; of a jump or call with a known target: "" */
};

struct disasm;

/* machine: EM_*. -ENOTSUP: not one that we can read; -ELIBACC: the library is not here, or we are built without it; -ENOMEM. */
int disasm_open(u16 machine, bool is64, enum disasm_syntax syntax, struct disasm **ret) must_check;
void disasm_close(struct disasm *d);
/* The instruction at the start of the bytes, which lie at addr. false: no bytes left. */
bool disasm_next(struct disasm *d, const u8 *bytes, size_t size, u64 addr, struct disasm_insn *ret);
