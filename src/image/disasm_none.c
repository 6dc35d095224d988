/* Built without capstone: nothing can be disassembled. */
#include "image/disasm.h"

#include <errno.h>

int disasm_open(u16 machine, bool is64, enum disasm_syntax syntax, struct disasm **ret)
{
	return -ELIBACC;
}

void disasm_close(struct disasm *d)
{
}

bool disasm_next(struct disasm *d, const u8 *bytes, size_t size, u64 addr, struct disasm_insn *ret)
{
	return false;
}
