/* Expands an .xz stream held in memory. Built without liblzma, it says -ENOTSUP. */
#pragma once

#include "base/types.h"

/* *ret is the caller's. -EBADMSG: broken, or larger than limit bytes; -ENOTSUP; -ENOMEM. */
int xz_expand(const void *data, size_t len, size_t limit, u8 **ret, size_t *ret_len) must_check;
