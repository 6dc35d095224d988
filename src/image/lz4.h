/* Expands the old frame format of LZ4 (lz4 -l), in which kernels are packed. */
#pragma once

#include "base/types.h"

/* Exactly `full` bytes into `to`; what follows in data is not looked at. -EBADMSG: damaged, or shorter. */
int lz4_expand(const u8 *data, size_t len, u8 *to, size_t full) must_check;
