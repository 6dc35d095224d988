/* Between the two files of cfi: the head of a table's block, which is also the head of its file. */
#pragma once

#include "image/cfi.h"

#define CFI_MAGIC                                                                                  \
	{                                                                                          \
		's', 'o', 'n', 'd', 'e', 'c', 'f', '1'                                             \
	}

/* Behind it: starts, rules (u32 a row), units, exprs. */
struct cfi_head {
	char magic[8];
	u32 machine;
	u32 nr_rows;
	u32 nr_units;
	u32 exprs_size;
	u32 nr_framed;
	u32 nr_functions;
};
