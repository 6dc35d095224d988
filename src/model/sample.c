#include "model/sample.h"

const char *branch_type_word(u32 type, u32 new_type)
{
	static const char *const words[] = { "",	 "COND", "UNCOND",  "IND",    "CALL",
					     "IND_CALL", "RET",	 "SYSCALL", "SYSRET", "COND_CALL",
					     "COND_RET", "ERET", "IRQ",	    "SERROR", "NO_TX" };
	static const char *const more[] = { "FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1",
					    "ARCH_2",	  "ARCH_3",	"ARCH_4",     "ARCH_5" };
	if (type < ARRAY_SIZE(words))
		return words[type];
	return new_type < ARRAY_SIZE(more) ? more[new_type] : "";
}
