/* Bytes as a gzip file. */
#pragma once

#include "base/strbuf.h"

int gzip_add(const void *data, size_t len, struct strbuf *to) must_check;
